/**
 * Promise: a path that the operator opened is reached through a real server, and no spelling of a path, not even one
 * that no SDK would send, reaches another one.
 */
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTrialVendor, type TrialVendor } from '../../src/cli/vendor/server.ts';
import { tokensAtMost } from '../../src/vendors/token-count.ts';
import { type GatewayTenant, type Setting, startGateway } from './gateway-tenant.ts';

const SECRET = `sk-open-${'k'.repeat(20)}`;
const RERANK = {
  model: 'jina-reranker-v3',
  query: 'the longest river',
  documents: ['A mountain', 'The longest river'],
};

let setting: Setting;
let trial: TrialVendor;
let tenant: GatewayTenant;
beforeAll(async () => {
  [setting, trial] = await Promise.all([startGateway(), startTrialVendor({ port: 0 })]);
  tenant = await setting.tenant(undefined, []);
  const price = {
    params: { org: tenant.organizationId, modelKey: 'jina/jina-reranker-v3' },
    body: { inputUsdPerMillion: 2, outputUsdPerMillion: 0 },
  };
  expect((await setting.server.operator.send('setPrice', price)).status).toBe(200);
  for (const [provider, url] of [
    ['jina', trial.url],
    ['recorded', setting.vendor.url],
  ] as const) {
    const params = { org: tenant.organizationId, provider };
    const body = { apiKey: SECRET, baseUrl: `${url}/v1`, passthrough: ['/v1/rerank', '/v1/jobs/*'] };
    expect((await setting.server.operator.send('setVendor', { params, body })).status).toBe(200);
  }
});
afterAll(async () => {
  await setting.stop();
  await trial.stop();
});

/** Sends the path as it is written: `fetch` would normalize it. */
function sendRaw(path: string): Promise<number> {
  const { hostname, port } = new URL(setting.server.url);
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${tenant.key}`, 'Content-Type': 'application/json' };
    const sent = request({ hostname, port, path, method: 'POST', headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject).end(JSON.stringify(RERANK));
  });
}

test('an open path is a call with the usage that its answer reports', async () => {
  const response = await tenant.send('/v1/passthrough/jina/v1/rerank', { body: { ...RERANK, customer: 'rita' } });
  expect(response.status).toBe(200);
  const { results } = (await response.json()) as { results: { index: number }[] };
  expect(results.map(({ index }) => index)).toEqual([1, 0]);
  const inputTokens = [RERANK.query, ...RERANK.documents].reduce((sum, text) => sum + tokensAtMost(text, 'wide'), 0);
  const { recentCalls } = await tenant.settled('rita');
  expect(recentCalls).toHaveLength(1);
  expect(await tenant.call(response.headers.get('x-service-call-id') ?? '')).toMatchObject({
    status: 'COMPLETED',
    modelUsed: 'jina-reranker-v3',
    pricingStatus: 'FINAL',
    // 2 USD per million.
    costUsdNano: String(inputTokens * 2_000),
  });
});

test('a path reaches the vendor as one that is open, or not at all, however it is written', async () => {
  const written = [
    ...['/v1/rerank', '/v1/rerank/', '/v1/rerank?x=/../files', '/v1/files/../rerank', '/v1/./rerank', '/v1%2Frerank'],
    ...['/v1/rerank/../files', '/v1/rerank/%2e%2e/files', '/v1/rerank%2f%2e%2e%2ffiles', '/v1/rerank\\..\\files'],
    ...['/v1/jobs/../files', '/v1/jobs/%2E%2E/files', '/v1/jobs/..%2f..%2ffiles', '/v1/jobs/%252e%252e%252ffiles'],
    ...['/v1/jobs/x/../../files', '/v1/jobs/..;/files', '/v1/jobs/a%5c..%5c..%5cfiles', '/v1/jobs//files'],
    ...['//v1/rerank', '//127.0.0.1:1/v1/rerank', '/\\127.0.0.1:1/v1/rerank', '/@127.0.0.1:1/v1/rerank'],
    ...[
      '/../jina/v1/files',
      '/../recorded/v1/files',
      '/../../files',
      '/%2e%2e/%2e%2e/files',
      '/v1/jobs/%c0%ae%c0%ae/x',
    ],
  ];
  const before = setting.vendor.requests.length;
  for (const path of written)
    expect(await sendRaw(`/v1/passthrough/recorded${path}`), path).toBeGreaterThanOrEqual(400);
  const reached = setting.vendor.requests.slice(before).map(({ path }) => path);
  // The vendor does not know its own path, so that each request that reaches it is 404.
  expect(reached).toEqual(['/v1/rerank', '/v1/rerank?x=/../files', '/v1/rerank', '/v1/rerank', '/v1/rerank']);
});
