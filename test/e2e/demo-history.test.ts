/**
 * `npm start -- --demo-history` writes sixty days once, and the objects and D1 agree.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';
import { readDevVars } from '../../src/cli/dev-vars.ts';
import { DEMO_CUSTOMERS } from '../../src/demo/people.ts';
import type { Call } from '../../src/domain/call.ts';
import { NO_USAGE } from '../../src/domain/usage.ts';
import { type LocalServer, newState, startLocal } from './local-server.ts';

const DAY_MS = 86_400_000;
const params = (customerId: string) => ({ params: { customerId } });

let state: Awaited<ReturnType<typeof newState>>;
let server: LocalServer;
beforeAll(async () => {
  state = await newState();
  server = await startLocal(state, ['--demo-history']);
});
afterAll(() => server.stop());

async function summary(query: Record<string, string> = {}) {
  const from = new Date(Date.now() - 62 * DAY_MS).toISOString().slice(0, 10);
  return (await server.demo.send('readUsageSummary', { query: { from, ...query } })).data;
}

describe("the demo's history has", () => {
  test('calls on each of sixty days, fewer at weekends, of several customers, features and three providers', async () => {
    const { byDay, byCustomer, byFeature, byProvider, byOutcome, totals } = await summary();
    expect(byDay.filter(({ calls }) => calls > 0).length).toBeGreaterThanOrEqual(60);
    const mean = (days: number[]) => {
      const chosen = byDay.slice(-30, -1).filter(({ date }) => days.includes(new Date(date).getUTCDay()));
      return chosen.reduce((sum, { calls }) => sum + calls, 0) / chosen.length;
    };
    expect(mean([0, 6])).toBeLessThan(0.8 * mean([1, 2, 3, 4, 5]));
    expect(byCustomer.map(({ customerId }) => customerId).toSorted()).toEqual(
      DEMO_CUSTOMERS.map(({ customerId }) => customerId).toSorted(),
    );
    expect(byFeature.length).toBeGreaterThanOrEqual(5);
    expect(byProvider.map(({ provider }) => provider)).toEqual(
      expect.arrayContaining(['openai', 'anthropic', 'google']),
    );
    expect(byOutcome.map(({ outcome }) => outcome)).toEqual(
      expect.arrayContaining(['COMPLETED', 'FAILED', 'NOT_ALLOWED', 'TIMEOUT']),
    );
    expect(totals.unpricedCalls).toBe(0);
  });

  test('the spike as an anomaly, and savings of compression', async () => {
    const { items } = (await server.demo.send('readUsageAnomalies')).data;
    expect(items).toContainEqual(expect.objectContaining({ customerId: 'northwind-legal', kind: 'SPEND_SPIKE' }));
    expect((await server.demo.send('readCompressionSummary')).data.savedTokens).toBeGreaterThan(0);
  });

  test('no change that waited for hours: none is as old as what it tells of', async () => {
    const { totals } = (await server.operator.send('readHealthHistory', {})).data;
    expect(totals.longestWaitMs).toBeLessThan(3_600_000);
  });

  test('credits, charges against them, and custom meters', async () => {
    const { wallet, meters, ledger } = (
      await server.operator.send('readCustomer', {
        params: { org: DEMO_ORGANIZATION_ID, customerId: 'northwind-legal' },
      })
    ).data;
    expect(Number(wallet.balanceUsd)).toBeGreaterThan(0);
    expect(Number(wallet.balanceUsd)).toBeLessThan(400);
    expect(ledger.some(({ cause }) => cause === 'SPEND')).toBe(true);
    expect(meters.customMeter1?.used).toBeGreaterThan(0);
  });
});

test('the radar on it is what a computation by hand makes of the exported calls', async () => {
  const { items, period } = (await server.demo.send('readModelRadar', { query: { horizonDays: '3650' } })).data;
  const mini = items.find(({ modelKey }) => modelKey === 'openai/gpt-4o-mini-2024-07-18');
  const { OPERATOR_TOKEN } = await readDevVars(state.devVars);
  const { startedAt, endedAt } = period;
  // The export goes by the begin of calls, the radar by their end.
  const from = new Date(Date.parse(startedAt) - 9 * DAY_MS).toISOString().slice(0, 10);
  const response = await fetch(
    `${server.url}/operator/organizations/${DEMO_ORGANIZATION_ID}/export?from=${from}&to=${endedAt.slice(0, 10)}`,
    { headers: { Authorization: `Bearer ${OPERATOR_TOKEN}` } },
  );
  const calls = (await response.text())
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .filter(({ kind }) => kind === 'call')
    .map(({ record }) => record as Call)
    .filter(({ outcome }) => outcome?.modelUsed === 'openai/gpt-4o-mini')
    .filter(({ finishedAtMs }) => (finishedAtMs ?? 0) >= Date.parse(startedAt));
  const sum = (of: (call: Call) => number) => calls.reduce((total, call) => total + of(call), 0);
  const used = (call: Call) => call.outcome?.usage ?? NO_USAGE;
  expect(calls.length).toBeGreaterThan(50);
  expect(mini).toMatchObject({
    usage: {
      calls: calls.length,
      inputTokens: sum((call) => used(call).inputTokens),
      outputTokens: sum((call) => used(call).responseTokens),
    },
    replacement: { modelKey: 'openai/gpt-6-luna', source: 'provider' },
    notPriced: [],
  });
  expect(mini?.customers.map(({ customerId }) => customerId).toSorted()).toEqual(
    [...new Set(calls.map(({ customerId }) => customerId))].toSorted(),
  );
  // gpt-6-luna: 0.10 USD per million in, 0.01 cached, 0.50 out, and a cent for a web search; no prompt is long.
  const nanoUsd = sum((call) => {
    const { inputTokens, cachedInputTokens, responseTokens, searches } = used(call);
    expect(inputTokens).toBeLessThan(272_000);
    return (
      (inputTokens - cachedInputTokens) * 100 + cachedInputTokens * 10 + responseTokens * 500 + searches * 10_000_000
    );
  });
  expect(mini?.replacementCostUSD).toBe(nanoUsd / 1e9);
});

describe('the same calls in the object and in D1', () => {
  test.each(DEMO_CUSTOMERS.map(({ customerId }) => customerId))('on the latest week of %s', async (customerId) => {
    const { weeks } = (await server.demo.send('readUsageContext', params(customerId))).data;
    const { startedAt, endedAt } = weeks.latest;
    const { byOutcome } = await summary({ customerId, from: startedAt.slice(0, 10), to: endedAt.slice(0, 10) });
    const ended = byOutcome.filter(({ outcome }) => outcome === 'COMPLETED' || outcome === 'FAILED');
    const sum = (of: (figures: (typeof ended)[number]) => number) =>
      ended.reduce((total, figures) => total + of(figures), 0);
    expect(weeks).toMatchObject({
      calls: { latest: sum(({ calls }) => calls) },
      inputTokens: { latest: sum(({ inputTokens }) => inputTokens) },
      outputTokens: { latest: sum(({ outputTokens }) => outputTokens) },
      dollars: {
        latest: expect.closeTo(
          sum(({ costUSD }) => costUSD),
          6,
        ),
      },
    });
  });

  test('nothing waits, neither for D1 nor for the archive', async () => {
    const { status, backlog, archive } = (await server.operator.send('readHealth')).data;
    expect([status, backlog.customers, archive?.days]).toEqual(['ok', 0, 0]);
  });
});

test('running it again adds nothing', async () => {
  const before = (await summary()).totals;
  await server.stop();
  server = await startLocal(state, ['--demo-history']);
  expect(server.output()).toContain('it is there already');
  expect((await summary()).totals).toEqual(before);
});
