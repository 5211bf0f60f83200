/**
 * Calls are kept for review by the organization's policy, decided in the application as the service would decide; and
 * prompts are compressed in it, with counts alone on record.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { compressPrompt, DEFAULT_PROFILE, estimateTokens } from '../../src/client/compression.ts';
import { createSampler } from '../../src/client/sampling.ts';
import { DEFAULT_COMPRESSION_PROFILE } from '../../src/contract/compression.ts';
import { decideSampling, decisionId, hashFraction, sampledText } from '../../src/domain/sampling.ts';
import { sha256Hex } from '../../src/platform/hash.ts';
import * as fail from '../support/failing-server.ts';

const NOW_MS = Date.UTC(2026, 10, 20);
const POLICY = {
  rate: 0.5,
  minInputTokens: 10,
  features: { include: [], exclude: ['private'] },
  customers: { exclude: ['bob'] },
  retentionDays: 30,
};
const settings = (version: string) => ({
  version,
  ...POLICY,
  cacheSeconds: 300,
  settingsExpiresAt: '2026-11-20T00:05:00.000Z',
});

let server: fail.FailingServer;
const client = () => createClient({ apiKey: 'utk-test', baseUrl: server.url, retry: { attempts: 1 } });
beforeAll(async () => {
  server = await fail.FailingServer.start(({ operation, body }) => {
    if (operation === 'storeSample')
      return { sampleId: 's1', receivedAt: '', expiresAt: '', retentionDays: 30, policyVersion: 'v1' };
    if (operation === 'compressPrompt') return { callId: body?.callId, updated: true };
    return settings('v1');
  });
});
afterAll(() => server.stop());
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW_MS });
  server.script();
  return () => void vi.useRealTimers();
});

/** The settings in the service's form, left out if the ETag is still theirs. */
const answersSettings = (version: string, maxAge = 300): fail.Step => {
  return ({ seen, response }) => {
    const headers = {
      ETag: `"${version}"`,
      'Cache-Control': `private, max-age=${maxAge}`,
      'Content-Type': 'application/json',
    };
    if (seen.headers['if-none-match'] === headers.ETag) return void response.writeHead(304, headers).end();
    const result = { status: 'ACCEPTED', code: 'SAMPLING_SETTINGS_READ', timestamp: '' };
    response.writeHead(200, headers).end(JSON.stringify({ result, data: settings(version), correlationId: '' }));
  };
};
const asked = () => server.seen.filter(({ operation }) => operation === 'readSamplingSettings');
const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

describe('a decision', () => {
  test('equals that of the service for any key, without sending any data of the call', async () => {
    server.script(answersSettings('v1'));
    const sampler = createSampler(client());
    const reasons = new Set<string>();
    for (let index = 0; index < 40; index += 1) {
      const samplingKey = `call-${index}`;
      const hash = await sha256Hex(sampledText('v1', samplingKey));
      const decision = await sampler.decide({ samplingKey, customerId: 'alice', feature: 'chat', inputTokens: 10 });
      const expected = decideSampling(
        POLICY,
        { customerId: 'alice', feature: 'chat', inputTokens: 10 },
        hashFraction(hash),
      );
      expect(decision).toEqual({
        ...expected,
        decisionId: decisionId(hash),
        samplingKey,
        policyVersion: 'v1',
        settingsExpiresAt: '2026-11-20T00:05:00.000Z',
      });
      reasons.add(decision.reason);
    }
    expect(reasons).toEqual(new Set(['SELECTED', 'NOT_SELECTED']));
    expect(server.seen).toHaveLength(1);
    expect(server.seen[0]).toMatchObject({ method: 'GET', query: '', body: null });
  });

  test.each([
    [{ customerId: 'bob', feature: 'private' }, 'CUSTOMER_EXCLUDED'],
    [{ feature: 'private' }, 'FEATURE_EXCLUDED'],
    [{ inputCharacters: 36 }, 'BELOW_MIN_INPUT_TOKENS'],
    [{}, 'BELOW_MIN_INPUT_TOKENS'],
  ])("keeps the contract's order: %j is %s", async (question, reason) => {
    expect(await createSampler(client()).decide(question)).toMatchObject({
      sample: false,
      reason,
      samplingKey: expect.any(String),
    });
  });
});

describe('the policy', () => {
  test('is revalidated with its ETag as often as its Cache-Control says', async () => {
    server.script(answersSettings('v1', 300), answersSettings('v1', 60), answersSettings('v2', 300));
    const sampler = createSampler(client());
    const decide = async () =>
      (await sampler.decide({ inputTokens: 10 })) as { policyVersion: string; settingsExpiresAt: string };
    expect(await decide()).toMatchObject({ policyVersion: 'v1', settingsExpiresAt: '2026-11-20T00:05:00.000Z' });
    pass(299);
    await decide();
    expect(asked()).toHaveLength(1);
    pass(1);
    expect(await decide()).toMatchObject({ policyVersion: 'v1', settingsExpiresAt: '2026-11-20T00:06:00.000Z' });
    pass(60);
    expect(await decide()).toMatchObject({ policyVersion: 'v2' });
    expect(asked().map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"v1"', '"v1"']);
  });

  test('is requested once by concurrent callers', async () => {
    server.script(answersSettings('v1'));
    const sampler = createSampler(client());
    await Promise.all(Array.from({ length: 20 }, () => sampler.decide({})));
    expect(asked()).toHaveLength(1);
  });

  test('that must not be cached is requested each time', async () => {
    server.script(answersSettings('v1', 0), answersSettings('v1', 0));
    const sampler = createSampler(client());
    await sampler.decide({});
    await sampler.decide({});
    expect(asked()).toHaveLength(2);
  });

  test('that expired and cannot be read samples nothing, because a customer may have been excluded', async () => {
    server.script(answersSettings('v1', 1), fail.html(502), answersSettings('v1', 1));
    const sampler = createSampler(client());
    await sampler.decide({});
    pass(2);
    const unknown = { sample: false, reason: 'POLICY_UNAVAILABLE', error: { code: 'SERVICE_SERVER_ERROR' } };
    expect(await sampler.decide({})).toMatchObject(unknown);
    expect(await sampler.decide({})).toMatchObject(unknown);
    expect(asked()).toHaveLength(2);
    pass(10);
    expect(await sampler.decide({})).toMatchObject({ policyVersion: 'v1' });
  });
});

describe('an offered call', () => {
  const sample = {
    provider: 'openai',
    input: [{ role: 'user', content: 'secret' }],
    output: 'answer',
    inputTokens: 100,
  };

  test('leaves the application only if it is selected', async () => {
    server.script(answersSettings('v1'));
    const sampler = createSampler(client());
    const outcomes = [];
    for (let index = 0; index < 20; index += 1)
      outcomes.push(await sampler.offer({ ...sample, samplingKey: `call-${index}`, feature: 'chat' }));
    const selected = outcomes.filter(({ decision }) => decision.sample);
    const sent = server.seen.filter(({ operation }) => operation === 'storeSample');
    expect(selected.length).toBeGreaterThan(0);
    expect(selected.length).toBeLessThan(20);
    expect(sent).toHaveLength(selected.length);
    const { decisionId } = (selected[0]?.decision ?? {}) as { decisionId?: string };
    const { inputTokens: _tokens, ...kept } = sample;
    expect(sent[0]?.body).toEqual({ ...kept, feature: 'chat', decisionId, policyVersion: 'v1' });
    expect(selected[0]?.stored).toMatchObject({ sampleId: 's1' });
  });

  test('that cannot be stored does not affect the application', async () => {
    server.script(answersSettings('v1'), ...Array(5).fill(fail.html(502)));
    const sampler = createSampler(client());
    let outcome = await sampler.offer({ ...sample, samplingKey: 'call-0' });
    for (let index = 1; !outcome.decision.sample; index += 1)
      outcome = await sampler.offer({ ...sample, samplingKey: `call-${index}` });
    expect(outcome).toMatchObject({ stored: null, error: { code: 'SERVICE_SERVER_ERROR' } });
  });
});

describe('compressPrompt', () => {
  const text = `Please   read this:\n\n\n\n{"rows": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Grace"}, {"id": 3, "name": "Edsger"}]}`;

  test('returns a shorter prompt, and records only token counts', async () => {
    const { prompt, originalTokens, compressedTokens, techniques, recorded, error } = await compressPrompt(client(), {
      callId: 'c1',
      prompt: text,
    });
    expect(prompt.length).toBeLessThan(text.length);
    expect([originalTokens, compressedTokens]).toEqual([estimateTokens(text), estimateTokens(prompt)]);
    expect([recorded, error]).toEqual([{ callId: 'c1', updated: true }, null]);
    const names = techniques.map(({ name }) => name);
    const promptCompression = { provider: 'heuristic', originalTokens, compressedTokens, techniques: names };
    expect(server.seen.map(({ body }) => body)).toEqual([{ callId: 'c1', promptCompression }]);
    expect(JSON.stringify(server.seen)).not.toMatch(/Ada|read this/);
  });

  test('accepts messages, and reports the technique TOON if it is the only one', async () => {
    const messages = [
      { role: 'user' as const, content: text },
      { role: 'assistant' as const, content: 'Please   wait' },
    ];
    const profile = { ...DEFAULT_PROFILE, techniques: ['toon' as const], aggressiveness: 0.7 };
    const { prompt, techniques } = await compressPrompt(client(), { callId: 'c1', prompt: messages, profile });
    expect(prompt[0]?.content).toContain('```toon');
    expect(prompt[1]).toBe(messages[1]);
    expect(techniques.map(({ name }) => name)).toEqual(['toon']);
    expect(server.seen[0]?.body).toMatchObject({ promptCompression: { provider: 'toon' } });
  });

  test('returns the prompt even if recording fails', async () => {
    server.script(fail.html(502));
    const { prompt, recorded, error } = await compressPrompt(client(), { callId: 'c1', prompt: text });
    expect(prompt.length).toBeLessThan(text.length);
    expect([recorded, error?.code]).toEqual([null, 'SERVICE_SERVER_ERROR']);
  });

  test('has the default profile of the service', () => expect(DEFAULT_PROFILE).toEqual(DEFAULT_COMPRESSION_PROFILE));
});
