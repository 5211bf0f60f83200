/**
 * The kind of a vendor comes from its address, or from its whole name, and never from a part of a name.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { kindAt, kindNamed, kindOfVendor, VENDOR_KINDS, type VendorKind } from '../../src/domain/vendor-kind.ts';
import { ACCEPTED } from '../../src/vendors/kind.ts';

test.each<[string, VendorKind | null]>([
  ['https://api.openai.com/v1', 'openai'],
  ['https://eu.api.openai.com/v1', 'openai'],
  ['https://API.OpenAI.com./v1', 'openai'],
  ['https://evilapi.openai.com/v1', null],
  ['https://api.openai.com.example.com/v1', null],
  ['https://example.com/api.openai.com/v1', null],
  ['https://api.openai.com@example.com/v1', null],
  ['https://api.anthropic.com/v1', 'anthropic'],
  ['https://generativelanguage.googleapis.com/v1beta', 'google'],
  ['https://north.openai.azure.com/openai/v1', 'azure'],
  ['https://north.services.ai.azure.com/openai/v1', 'azure'],
  ['https://north.cognitiveservices.azure.com/openai/v1', 'azure'],
  ['https://notopenai.azure.com/openai/v1', null],
  ['https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1', 'bedrock'],
  ['https://bedrock-runtime-fips.us-east-1.amazonaws.com/openai/v1', 'bedrock'],
  ['https://bedrock-mantle.eu-central-1.api.aws/v1', 'bedrock'],
  ['https://s3.us-west-2.amazonaws.com/v1', null],
  ['https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/openapi', 'vertex'],
  ['https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi', 'vertex'],
  ['https://openrouter.ai/api/v1', 'openrouter'],
  ['https://api.groq.com/openai/v1', null],
  ['http://127.0.0.1:8080/v1', null],
  ['not an address', null],
])('the kind at %s is %j', (address, kind) => {
  expect(kindAt(address)).toBe(kind);
});

test.each<[string, string, VendorKind]>([
  ['azure-north', 'https://north.openai.azure.com/openai/v1', 'azure'],
  ['openai-eu', 'https://eu.api.openai.com/v1', 'openai'],
  // The address tells more than the name.
  ['openai', 'https://openrouter.ai/api/v1', 'openrouter'],
  ['anthropic', 'http://127.0.0.1:8080/v1', 'anthropic'],
  ['azure', 'https://proxy.example.com/v1', 'azure'],
  ['my-openai', 'https://proxy.example.com/v1', 'compatible'],
  // The whole names of these kinds have stood for vendors like any other.
  ['openrouter', 'https://proxy.example.com/v1', 'compatible'],
  ['bedrock', 'https://proxy.example.com/v1', 'compatible'],
  ['vertex', 'https://proxy.example.com/v1', 'compatible'],
])('the vendor %s at %s is of the kind %s', (provider, address, kind) => {
  expect(kindOfVendor(provider, address)).toBe(kind);
});

test('no part of a name decides: at an address that is not known, only four whole names are a kind', () => {
  const part = fc.constantFrom(...VENDOR_KINDS, 'gpt', 'claude', 'gemini', 'eu', 'my', 'toString', '__proto__');
  const name = fc.oneof(
    fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('-')),
    fc.string(),
  );
  fc.assert(
    fc.property(name, fc.webUrl({ withQueryParameters: true }), (provider, address) => {
      fc.pre(kindAt(address) === null);
      const isWhole = ['openai', 'anthropic', 'google', 'azure'].includes(provider);
      expect(kindOfVendor(provider, address)).toBe(isWhole ? provider : 'compatible');
      expect(kindNamed(provider)).toBe(isWhole ? provider : 'compatible');
    }),
  );
});

test('no kind that is not sure to know the newest name of the bound gets it alone', () => {
  const newest = VENDOR_KINDS.filter((kind) => ACCEPTED[kind].chatBound === 'max_completion_tokens');
  expect(newest).toEqual(['openai', 'anthropic', 'google', 'azure']);
});
