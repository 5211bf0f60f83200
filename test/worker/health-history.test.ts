/**
 * The last 24 hours of the service: the figures of calls, requests, deliveries and the cron are true, by API and
 * console.
 */

import {
  createExecutionContext,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { beforeAll, expect, test, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { asCustomerId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import handlers from '../../src/index.ts';
import { customerProjector, listProjectors } from '../../src/objects/projectors.ts';
import { recordRequests, recordRun } from '../../src/operator/service-figures.ts';
import { noLatencies } from '../../src/platform/latency.ts';
import { HOUR_MS } from '../../src/platform/time.ts';
import { Api, createTenant, OPERATOR_TOKEN } from '../support/api.ts';
import { bindings, createToldTenant, customerStub, deliverToD1, fireProjectors, operator } from '../support/worker.ts';
import { ORIGIN, Visitor } from './console-visitor.ts';

const app = createApp();
const visitor = new Visitor();

beforeAll(() => visitor.signIn());

const history = async () => (await operator.send('readHealthHistory')).data;
const lastHour = async () => (await history()).hours.at(-1);

/** The status of a request through an app whose deferred work is awaited. */
async function sent(env: Env, path: string, bearer: string): Promise<number> {
  const context = createExecutionContext();
  const headers = { Authorization: `Bearer ${bearer}`, Accept: 'application/vnd.service.v1+json' };
  const { status } = await app.fetch(new Request(ORIGIN + path, { headers }), env, context);
  await waitOnExecutionContext(context);
  return status;
}

test('there is an hour for each of the last 24 and for now, in order and without gaps', async () => {
  const { hours, period } = await history();
  expect(hours).toHaveLength(25);
  const starts = hours.map(({ startedAt }) => Date.parse(startedAt));
  for (const [place, startMs] of starts.entries()) expect(startMs).toBe((starts[0] ?? 0) + place * HOUR_MS);
  expect(hours[0]?.startedAt).toBe(period.startedAt);
  expect(Date.parse(period.endedAt)).toBeLessThan((starts.at(-1) ?? 0) + HOUR_MS);
});

test('calls count in the hour of their end, by how they ended, and what their delivery waited is told', async () => {
  const before = await lastHour();
  const { api: tenant, organizationId } = await createToldTenant({
    name: 'Free',
    limitType: 'BLOCK',
    limits: { premiumCalls: 0 },
  });
  for (const [index, errorMessage] of [undefined, 'the model failed'].entries()) {
    const { data } = await tenant.send('beginCall', { body: { customerId: 'ann' } });
    await tenant.send('endCall', {
      body: {
        callId: data.callId,
        providerUsed: 'openai',
        modelUsed: 'gpt-6-sol',
        inputTokens: 10 + index,
        responseTokens: 1,
        ...(errorMessage && { error: { code: 'MODEL_FAILED', message: errorMessage } }),
      },
    });
  }
  await tenant.send('beginCall', { body: { customerId: 'ann', requested: { premium: true } } });
  await deliverToD1(organizationId, 'ann');
  const after = await lastHour();
  const grown = (figure: 'calls' | 'failedCalls' | 'deniedCalls') => (after?.[figure] ?? 0) - (before?.[figure] ?? 0);
  expect([grown('calls'), grown('failedCalls'), grown('deniedCalls')]).toEqual([3, 1, 1]);
  expect(after?.deliveries).toBeGreaterThan(before?.deliveries ?? 0);
  expect(after?.deliveredChanges).toBeGreaterThanOrEqual((before?.deliveredChanges ?? 0) + 3);
  expect(after?.longestWaitMs).not.toBeNull();
});

test('a delivery that D1 does not take counts as failed, and its changes arrive with the next one', async () => {
  const { api, organizationId } = await createToldTenant();
  await fireProjectors();
  await api.send('beginCall', { body: { customerId: 'bob' } });
  const before = await lastHour();
  const batch = () => Promise.reject(new Error('D1_ERROR: Network connection lost.'));
  const DB = { prepare: bindings.DB.prepare.bind(bindings.DB), batch } as unknown as D1Database;
  const projector = customerProjector(bindings, 'DB', { organizationId, customerId: asCustomerId('bob') })();
  await runInDurableObject(projector as never, (instance) => {
    Object.defineProperty(instance, 'env', { value: { ...bindings, DB } });
  });
  await runDurableObjectAlarm(customerStub(organizationId, 'bob'));
  await evictDurableObject(projector as never);
  const failed = await lastHour();
  expect(failed?.failedDeliveries).toBeGreaterThan(before?.failedDeliveries ?? 0);
  expect(failed?.deliveredChanges).toBe(before?.deliveredChanges);
  await fireProjectors();
  expect((await lastHour())?.deliveredChanges).toBeGreaterThan(failed?.deliveredChanges ?? 0);
});

test('requests of all isolates add up by kind, with the share that was answered within a time', async () => {
  const latencies = noLatencies();
  latencies[3] = 19;
  latencies[8] = 1;
  const nowMs = Date.now();
  const figures = { hourMs: nowMs - (nowMs % HOUR_MS), kind: 'end' as const, requests: 20, serverErrors: 2, latencies };
  const before = (await history()).requests.find(({ kind }) => kind === 'end');
  await recordRequests(bindings, [figures]);
  await recordRequests(bindings, [figures]);
  const after = (await history()).requests.find(({ kind }) => kind === 'end');
  expect([after?.requests, after?.serverErrors]).toEqual([
    (before?.requests ?? 0) + 40,
    (before?.serverErrors ?? 0) + 4,
  ]);
  expect(after?.medianMs).toBe(15);
});

test('an isolate sends what it answered, strangers aside, and a failure to send fails no request', async () => {
  const { organizationId } = await createTenant(operator);
  const { key } = (await operator.send('createKey', { params: { org: organizationId }, body: { name: 'more' } })).data;
  const asked = async () => (await history()).requests.reduce((sum, { requests }) => sum + requests, 0);
  const startMs = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now: startMs });
  /** So much later that the held figures are sent with it. */
  const later = (path: string, bearer: string, env = bindings) => {
    vi.setSystemTime(Date.now() + 11_000);
    return sent(env, path, bearer);
  };
  try {
    await later('/customers', key);
    const before = await asked();
    await sent(bindings, '/customers', key);
    await sent(bindings, '/customers', 'nobody');
    await sent(bindings, '/nowhere', key);
    await later('/customers', key);
    expect(await asked()).toBe(before + 2);
    const PROJECTORS = { getByName: () => ({ recordRequests: () => Promise.reject(new Error('away')) }) };
    expect(await later('/customers', key, { ...bindings, PROJECTORS } as unknown as Env)).toBe(200);
  } finally {
    vi.useRealTimers();
  }
});

test('a run of the cron is on record with what came of it, and one that failed with why', async () => {
  const context = createExecutionContext();
  const run = (cron: string) =>
    handlers.scheduled({ cron, scheduledTime: Date.now(), noRetry() {} } as never, bindings, context);
  await run('17 * * * *');
  await run('47 3 * * *');
  const { cron } = await history();
  expect(cron.find(({ name }) => name === 'housekeeping')).toMatchObject({ ok: true, message: null });
  expect(cron.find(({ name }) => name === 'import')).toMatchObject({
    ok: true,
    message: 'disabled: CATALOG_UPSTREAM_URL is not set',
  });
  const broken = { ...bindings, KV: undefined, DB: undefined } as unknown as Env;
  await expect(handlers.scheduled({ cron: '17 * * * *' } as never, broken, context)).rejects.toThrow();
  expect((await history()).cron.filter(({ ok }) => !ok)).toHaveLength(1);
});

test('what is older than two days is forgotten, and of the cron what is older than a week', async () => {
  const nowMs = Date.now();
  const oldMs = nowMs - (nowMs % HOUR_MS) - 49 * HOUR_MS;
  await recordRequests(bindings, [
    { hourMs: oldMs, kind: 'begin', requests: 1, serverErrors: 0, latencies: noLatencies() },
  ]);
  await recordRun(bindings, {
    name: 'import',
    startedMs: nowMs - 8 * 24 * HOUR_MS,
    tookMs: 1,
    ok: false,
    message: 'old',
  });
  await recordRun(bindings, { name: 'import', startedMs: nowMs, tookMs: 1, ok: true, message: null });
  await recordRequests(bindings, [
    { hourMs: nowMs - (nowMs % HOUR_MS), kind: 'gateway', requests: 1, serverErrors: 0, latencies: noLatencies() },
  ]);
  const [first] = listProjectors(bindings, 'DB');
  if (!first) throw new Error('there is no projector');
  const kept = await first().figures(0);
  expect(kept.runs.some(({ message }) => message === 'old')).toBe(false);
  expect(kept.requests.some(({ hourMs }) => hourMs === oldMs)).toBe(false);
});

test("the console's page has the same figures, and stands if they cannot be read", async () => {
  const { totals, hours } = await history();
  const { html: page } = await visitor.read('/console/health');
  expect(page).toContain('Last 24 hours');
  expect(page).toContain(`<data value="${totals.longestWaitMs}"`);
  expect(hours.reduce((sum, { calls }) => sum + calls, 0)).toBe(totals.calls);
  const PROJECTORS = { getByName: () => ({ figures: () => Promise.reject(new Error('away')) }) };
  const api = new Api(
    (url, init) =>
      Promise.resolve(
        app.fetch(new Request(url, init), { ...bindings, PROJECTORS } as unknown as Env, createExecutionContext()),
      ),
    ORIGIN,
    OPERATOR_TOKEN,
  );
  expect((await api.send('readHealth')).data.status).toBe('degraded');
  const answer = await app.fetch(
    new Request(`${ORIGIN}/console/health`, { headers: { Cookie: visitor.cookie } }),
    { ...bindings, PROJECTORS } as unknown as Env,
    createExecutionContext(),
  );
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain('cannot be read for the moment');
});
