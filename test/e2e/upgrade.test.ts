/**
 * Promise: an upgrade keeps what the release before has stored. Open calls end at their exact cost, balances and ledgers
 * stay, a batch goes on, the archive is read, events that were queued arrive, and D1 gets the changes that waited.
 *
 * `RECORD_STATE=1` records the state of the release that is checked out, before the first change of what it stores.
 */
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MIGRATIONS } from '../../durable-objects/customer/migrations.ts';
import { bundle } from '../../src/cli/bundle.ts';
import { seedState } from '../../src/cli/prepare.ts';
import { type Server, startServer } from '../../src/cli/server.ts';
import { readObjects } from '../crash/state.ts';
import { Api, createTenant } from '../support/api.ts';
import { storeRecordsAsText } from '../support/call-records.ts';
import { type Loopback, serveOnLoopback } from '../vendors/loopback.ts';
import { type LocalState, newState, openD1, until } from './local-server.ts';
import { type Facts, readFacts, recordState, restoreState } from './released-state.ts';

const DAY_MS = 86_400_000;
const ARCHIVED_DAYS_AGO = 20;
const CLASSES = ['Customer', 'Projector', 'WebhookEndpoint', 'OrganizationWatch', 'CallDirectory'];
/** Calls of the recorded state are open for as long as it may be old when it is restored. */
const VARS = {
  OPERATOR_TOKEN: 'operator-token-of-the-release-before',
  VENDOR_KEY_SECRET: 'vendor-key-secret-of-the-release-before',
  SESSION_SECRET: 'session-secret-of-the-release-before',
  CONFIG_TTL_MS: '100',
  CALL_DEADLINE_SECONDS: '604800',
};
const PLAN = {
  name: 'Credit',
  limitType: 'BLOCK',
  limits: { premiumCalls: 0 },
  payg: { enabled: true, markupPercent: 20 },
};
const MODEL = 'gpt-5.2';
/** $0.00315: 1,000 tokens at $1.75 and 100 at $14 per million; $0.00378 with the plan's markup. */
const USAGE = { modelUsed: MODEL, inputTokens: 1_000, responseTokens: 100 };
const INPUT = JSON.stringify({
  custom_id: 'line',
  method: 'POST',
  url: '/v1/chat/completions',
  body: { model: MODEL, messages: [{ role: 'user', content: 'hello' }], max_completion_tokens: 50 },
});

/** A vendor that has one batch of one line, and a receiver of webhooks. */
class Outside {
  isBatchDone = false;
  takesEvents = false;
  readonly eventIds: string[] = [];
  #vendor: Loopback | undefined;
  #receiver: Loopback | undefined;

  async start(): Promise<Facts['urls']> {
    this.#vendor = await serveOnLoopback(async (request, response) => {
      for await (const _ of request);
      response.setHeader('content-type', 'application/json');
      response.end(this.#answer(`${request.method} ${request.url}`));
    });
    this.#receiver = await serveOnLoopback(async (request, response) => {
      for await (const _ of request);
      if (this.takesEvents) this.eventIds.push(String(request.headers['webhook-id']));
      response.writeHead(this.takesEvents ? 200 : 500).end();
    });
    return { vendor: this.#vendor.url, receiver: this.#receiver.url };
  }

  async stop(): Promise<void> {
    await this.#vendor?.close();
    await this.#receiver?.close();
  }

  #answer(request: string): string {
    const file = {
      id: 'file_1',
      object: 'file',
      bytes: 1,
      created_at: 1,
      filename: 'in.jsonl',
      purpose: 'batch',
      status: 'processed',
    };
    const batch = {
      id: 'batch_1',
      object: 'batch',
      endpoint: '/v1/chat/completions',
      input_file_id: 'file_1',
      completion_window: '24h',
      created_at: 1,
      status: this.isBatchDone ? 'completed' : 'in_progress',
      request_counts: { total: 1, completed: this.isBatchDone ? 1 : 0, failed: 0 },
      ...(this.isBatchDone && { output_file_id: 'file_2' }),
    };
    switch (request) {
      case 'POST /v1/files':
        return JSON.stringify(file);
      case 'GET /v1/files/file_1/content':
        return INPUT;
      case 'POST /v1/batches':
      case 'GET /v1/batches/batch_1':
        return JSON.stringify(batch);
      case 'GET /v1/files/file_2/content': {
        const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
        const message = { role: 'assistant', content: 'hi' };
        const body = {
          id: 'x',
          object: 'chat.completion',
          created: 1,
          model: MODEL,
          choices: [{ index: 0, message, finish_reason: 'stop' }],
          usage,
        };
        return `${JSON.stringify({ id: 'r', custom_id: 'line', response: { status_code: 200, request_id: 'r', body }, error: null })}\n`;
      }
      default:
        return JSON.stringify({ object: 'list', data: [batch], has_more: false });
    }
  }
}

const outside = new Outside();
let state: LocalState;
let server: Server;
let operator: Api;
let api: Api;
let facts: Facts;

const start = () => startServer({ port: state.port, stateDir: state.stateDir, vars: facts.vars });
const read = async (customerId: string) =>
  (await operator.send('readCustomer', { params: { org: facts.organizationId, customerId } })).data;
const begin = (customerId: string, callId: string) =>
  api.send('beginCall', { body: { customerId, requested: { premium: true } }, headers: { 'Idempotency-Key': callId } });
const end = (callId: string) => api.send('endCall', { body: { callId, ...USAGE } });
async function calls(customerId: string, callId: string): Promise<void> {
  expect((await begin(customerId, callId)).data.allowed.premium).toBe(true);
  expect((await end(callId)).status).toBe(200);
}
const statusInD1 = async (callId: string) =>
  (await server.db.prepare('SELECT status FROM calls WHERE call_id = ?').bind(callId).first<{ status: string }>())
    ?.status;
/** Times are moved when the state is restored. */
const withoutTimes = (answer: unknown) =>
  JSON.parse(JSON.stringify(answer).replace(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"time"')) as unknown;
const rowsOf = (className: string, table: string) =>
  readObjects(state.stateDir, className).flatMap(({ tables }) => tables.get(table) ?? []);

async function record(): Promise<void> {
  const urls = await outside.start();
  state = await newState();
  await bundle(state.stateDir);
  await seedState(state.stateDir);
  facts = { recordedAtMs: 0, vars: VARS, organizationId: '', key: '', urls, answers: {} };
  server = await start();
  operator = new Api(fetch, server.url, VARS.OPERATOR_TOKEN);
  const tenant = await createTenant(operator, PLAN);
  const params = { org: tenant.organizationId };
  api = tenant.api;
  const { key } = (await operator.send('createKey', { params, body: { name: 'gateway' } })).data;
  Object.assign(facts, { organizationId: tenant.organizationId, key });
  api = operator.with(key);
  const vendor = { apiKey: `sk-${'k'.repeat(20)}`, baseUrl: `${urls.vendor}/v1` };
  await operator.send('setVendor', { params: { ...params, provider: 'openai' }, body: vendor });
  await operator.send('putWebhook', {
    params: { ...params, webhookId: 'hook' },
    body: { url: `${urls.receiver}/hook` },
  });
  for (const customerId of ['ann', 'bob', 'cid', 'old']) {
    await api.send('provisionCustomer', { body: { customerId } });
    const grant = { params: { ...params, customerId }, body: { kind: 'USD', amountUsd: '10' } };
    expect((await operator.send('grantCredit', grant)).status).toBe(200);
  }
  await calls('old', 'archived');
  await until(async () => (await statusInD1('archived')) === 'COMPLETED');
  await storeRecordsAsText(server.db, 'call_id = ?', 'archived');
  await server.db
    .prepare(
      `UPDATE calls SET started_at_ms = started_at_ms - ?1, finished_at_ms = finished_at_ms - ?1, record = json_set(record,
         '$.startedAtMs', started_at_ms - ?1, '$.finishedAtMs', finished_at_ms - ?1) WHERE call_id = 'archived'`,
    )
    .bind(ARCHIVED_DAYS_AGO * DAY_MS)
    .run();
  const archivedDays = server.db.prepare(`SELECT COUNT(*) AS days FROM history_days WHERE state = 'ARCHIVED'`);
  await until(async () => {
    await server.housekeep();
    return (await archivedDays.first<{ days: number }>())?.days === 1;
  });
  // As D1 forgets it when its retention is over.
  await server.db.prepare(`DELETE FROM calls WHERE call_id = 'archived'`).run();
  const archivedDay = new Date(Date.now() - ARCHIVED_DAYS_AGO * DAY_MS).toISOString().slice(0, 10);

  await operator.send('putPlan', { params: { ...params, planId: 'test' }, body: { ...PLAN, name: 'Credit again' } });
  const migration = { params: { ...params, planId: 'test' }, body: { when: 'NOW' } };
  const { jobId } = (await operator.send('migratePlan', migration)).data;
  const job = async () => (await operator.send('readMigration', { params: { ...params, jobId } })).data;
  await until(async () => (await job()).status === 'COMPLETED');

  await calls('ann', 'ended');
  const sdk = new OpenAI({ apiKey: key, baseURL: `${server.url}/v1`, maxRetries: 0 });
  const file = await sdk.files.create({ file: await toFile(Buffer.from(INPUT), 'in.jsonl'), purpose: 'batch' });
  await sdk.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    customer: 'ann',
  } as never);
  expect((await begin('ann', 'open')).data.allowed.premium).toBe(true);
  await until(async () => {
    const { wallet, outbox } = await read('ann');
    return wallet.openCharges === 0 && outbox.pending === 0;
  });
  await until(() => rowsOf('WebhookEndpoint', 'deliveries').some(({ status }) => status === 'PENDING'));
  facts.answers = {
    ann: withoutTimes(await read('ann')),
    ledger: withoutTimes(
      (await operator.send('listCustomerLedger', { params: { ...params, customerId: 'ann' } })).data,
    ),
    job: withoutTimes(await job()),
    jobId,
    archivedDay,
  };

  const d1 = await openD1(state);
  d1.exec('BEGIN EXCLUSIVE');
  await calls('cid', 'waiting');
  await until(() => rowsOf('Projector', 'pages').length > 0);
  await calls('bob', 'left');
  await server.stop();
  d1.exec('ROLLBACK');
  d1.close();
  await recordState(state.stateDir, { ...facts, recordedAtMs: Date.now() });
}

describe.skipIf(process.env.RECORD_STATE === undefined)('with RECORD_STATE=1', () => {
  test('the state of this release is recorded', record);
  afterAll(() => outside.stop());
});

describe.skipIf(process.env.RECORD_STATE !== undefined)('after an upgrade', () => {
  beforeAll(async () => {
    const urls = await outside.start();
    state = await newState();
    facts = await readFacts();
    await Promise.all([bundle(state.stateDir), restoreState(state.stateDir, urls, Date.now())]);
    server = await start();
    operator = new Api(fetch, server.url, facts.vars.OPERATOR_TOKEN ?? '');
    api = operator.with(facts.key);
  });
  afterAll(async () => {
    await server.stop();
    await outside.stop();
  });

  test('customers, ledgers and jobs are as they were', async () => {
    const params = { org: facts.organizationId };
    expect(withoutTimes(await read('ann'))).toEqual(facts.answers.ann);
    const ledger = await operator.send('listCustomerLedger', { params: { ...params, customerId: 'ann' } });
    expect(withoutTimes(ledger.data)).toEqual(facts.answers.ledger);
    const job = await operator.send('readMigration', { params: { ...params, jobId: String(facts.answers.jobId) } });
    expect(withoutTimes(job.data)).toEqual(facts.answers.job);
  });

  test('an open call ends at its exact cost', async () => {
    const before = await read('ann');
    expect((await end('open')).data).toMatchObject({ costUSD: 0.00315 });
    await until(async () => (await read('ann')).wallet.openCharges === 0);
    const after = await read('ann');
    expect(Number(before.wallet.balanceUsd) - Number(after.wallet.balanceUsd)).toBeCloseTo(0.00378, 9);
    await until(async () => (await statusInD1('open')) === 'COMPLETED');
  });

  test('a batch under way is metered once, and holds nothing afterwards', async () => {
    outside.isBatchDone = true;
    const callId = 'batch:batch_1:line';
    const sdk = new OpenAI({ apiKey: facts.key, baseURL: `${server.url}/v1`, maxRetries: 0 });
    await sdk.batches.retrieve('batch_1');
    await until(async () => (await statusInD1(callId)) === 'COMPLETED');
    expect((await api.send('readCall', { params: { callId } })).data).toMatchObject({ costUSD: 0.001575 });
    await until(async () => (await read('ann')).wallet.heldUsd === '0');
  });

  test('D1 gets what waited at a projector and at a customer', async () => {
    await until(async () => (await statusInD1('waiting')) === 'COMPLETED');
    await until(async () => (await statusInD1('left')) === 'COMPLETED');
    await until(async () => (await read('bob')).wallet.balanceUsd === '9.99622');
  });

  test('a day in the archive is read and verified', async () => {
    const from = String(facts.answers.archivedDay);
    const to = new Date(Date.parse(from) + DAY_MS).toISOString().slice(0, 10);
    const url = `${server.url}/operator/organizations/${facts.organizationId}/export?from=${from}&to=${to}`;
    const headers = { Authorization: `Bearer ${facts.vars.OPERATOR_TOKEN}` };
    const lines = (await (await fetch(url, { headers })).text()).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ kind: 'call', id: 'archived', customerId: 'old' }]);
    expect((await operator.send('verifyArchive')).data).toMatchObject({ problems: [] });
  });

  test('events that were queued are delivered', async () => {
    const queued = rowsOf('WebhookEndpoint', 'deliveries').filter(({ status }) => status === 'PENDING');
    expect(queued.length).toBeGreaterThan(0);
    outside.takesEvents = true;
    for (const { event_id: eventId } of queued)
      await operator.send('sendDelivery', {
        params: { org: facts.organizationId, webhookId: 'hook', eventId: String(eventId) },
      });
    await until(() => queued.every(({ event_id: eventId }) => outside.eventIds.includes(String(eventId))));
  });

  test('every class with tables has noted how far its objects have come', () => {
    const noted = CLASSES.filter((className) => rowsOf(className, 'schema_version').length > 0);
    expect(noted).toEqual(CLASSES);
    // An object that nobody has opened since stays as it was.
    const versions = rowsOf('Customer', 'schema_version').map(({ version }) => version);
    expect(Math.max(...versions.map(Number))).toBe(MIGRATIONS.length);
  });
});
