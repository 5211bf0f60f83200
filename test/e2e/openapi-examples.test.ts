/**
 * Promise: every example of the API reference runs when pasted into a shell, on the demo organization of a fresh start,
 * and its response matches the OpenAPI document.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';
import { readDevVars } from '../../src/cli/dev-vars.ts';
import { PROJECT_DIR } from '../../src/cli/server.ts';
import { startTrialVendor, type TrialVendor } from '../../src/cli/vendor/server.ts';
import { gatewayOperations } from '../../src/contract/gateway/operations.ts';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import type { AnswerObject, OpenApiDocument, OpenApiOperation } from '../../src/http/openapi/types.ts';
import ANSWERS from '../../src/site/docs/answers.json' with { type: 'json' };
import { ORIGIN } from '../../src/site/docs/template.ts';
import { describeShape, exampleOf } from '../support/answer-examples.ts';
import { brokenRules } from '../support/json-schema.ts';
import { type LocalServer, preparedState, startPrepared } from './local-server.ts';

/** The address of the vendor for trying out, in the examples. */
const VENDOR_URL = 'http://127.0.0.1:8788';

/** With RECORD_ANSWERS set, the answers become those of the API reference. */
const isRecording = process.env.RECORD_ANSWERS !== undefined;
const ANSWERS_FILE = join(PROJECT_DIR, 'src/site/docs/answers.json');
const recorded: Record<string, unknown> = {};

let server: LocalServer;
let vendor: TrialVendor;
/** The environment of the examples. */
let secrets: Record<string, string>;
let document: OpenApiDocument;

beforeAll(async () => {
  const state = await preparedState();
  [server, vendor, secrets] = await Promise.all([
    startPrepared(state),
    startTrialVendor({ port: 0 }),
    readDevVars(state.devVars),
  ]);
  document = (await (await fetch(`${server.url}/openapi.json`)).json()) as OpenApiDocument;
});
afterAll(async () => {
  await server?.stop();
  await vendor?.stop();
  if (!isRecording) return;
  const inOrder = all.map((id) => [id, recorded[id]] as const);
  await writeFile(ANSWERS_FILE, `${JSON.stringify(Object.fromEntries(inOrder), null, 2)}\n`);
});

function operationOf(id: string): OpenApiOperation {
  const found = Object.values(document.paths)
    .flatMap((item) => Object.values(item))
    .find(({ operationId }) => operationId === id);
  if (!found) throw new Error(`the document has no ${id}`);
  return found;
}

function pointed(reference: string): unknown {
  const steps = reference.slice('#/'.length).split('/');
  return closed(steps.reduce<unknown>((node, step) => (node as Record<string, unknown>)[step], document));
}

/** The schema of an answer, with every object closed that is not open by name: an answer has no field that it lacks. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([keyword, part]) => [keyword, closed(part)]));
  return 'properties' in inner && inner.type === 'object' ? { additionalProperties: false, ...inner } : inner;
}

/** Runs the unchanged example, and adds the status of its last request to the output. */
async function paste(source: string): Promise<{ status: number; text: string }> {
  const env = { ...process.env, ...secrets, OPENAI_API_KEY: 'sk-example-of-no-vendor' };
  const local = source.replaceAll(VENDOR_URL, vendor.url);
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', `${local} -w '\\n%{http_code}'`], {
    cwd: PROJECT_DIR,
    env,
    maxBuffer: 2 ** 26,
  });
  expect(stderr).toBe('');
  const end = stdout.lastIndexOf('\n');
  const text = stdout.slice(0, end).replaceAll(server.url, ORIGIN);
  return { status: Number(stdout.slice(end + 1)), text };
}

async function holds(id: string): Promise<void> {
  const operation = operationOf(id);
  for (const { source } of operation['x-codeSamples']) {
    const { status, text } = await paste(source);
    expect(status, text.slice(0, 500)).toBe(200);
    const { content = {} } = operation.responses['200'] as AnswerObject;
    const [[type, { schema }] = ['', { schema: {} }]] = Object.entries(content);
    const isJson = type.endsWith('json') && id !== 'readFileContent';
    const values = type.endsWith('ndjson') ? text.split('\n').filter(Boolean) : isJson ? [text] : [];
    for (const value of values)
      expect(brokenRules(closed(schema), JSON.parse(value), pointed), text.slice(0, 500)).toEqual([]);
    if (isRecording) recorded[id] = exampleOf(type, text);
    else expect(describeShape(exampleOf(type, text))).toEqual(describeShape((ANSWERS as Record<string, unknown>)[id]));
  }
}

const all = Object.values(openApiDocument('', 'http://localhost').paths)
  .flatMap((item) => Object.values(item))
  .map(({ operationId }) => operationId);
const atVendors = Object.keys(gatewayOperations);

test('the document is that of the contract, for this server', () => {
  const made = openApiDocument(document.info.version, server.url);
  expect(document).toEqual(JSON.parse(JSON.stringify(made)));
  expect(all.length).toBeGreaterThan(70);
});

describe('the example of', () => {
  test.each(all.filter((id) => !atVendors.includes(id) && id !== 'publishCatalog'))('%s', (id) => holds(id));
});

describe('with a vendor, the example of', () => {
  beforeAll(async () => {
    for (const provider of ['openai', 'anthropic', 'google']) {
      const params = { org: DEMO_ORGANIZATION_ID, provider };
      const body = {
        apiKey: 'sk-of-a-vendor-in-this-test',
        baseUrl: `${vendor.url}/${provider === 'google' ? 'v1beta' : 'v1'}`,
      };
      expect((await server.operator.send('setVendor', { params, body })).status).toBe(200);
    }
  });

  test.each(atVendors)('%s', (id) => holds(id));
});

test('a catalog can be published: the built-in one from its file, and the one of the example', async () => {
  await holds('publishCatalog');
  const { example } = operationOf('publishCatalog').requestBody?.content['application/json'] ?? {};
  const published = (await server.operator.send('publishCatalog', { body: example })).data;
  expect(published.differences.removed.length).toBeGreaterThan(100);
});
