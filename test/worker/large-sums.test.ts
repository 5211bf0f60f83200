/**
 * However much an organization's calls cost, its sums are exact, its customers' changes reach D1, and nobody else's
 * page breaks.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { TOKENS_MAX, USD_PER_MILLION_MAX } from '../../src/contract/fields.ts';
import { COUNT_USAGE } from '../../src/history/roll-ups.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { countCalls, noteUsage } from '../support/usage.ts';
import { bindings, deliverToD1, operator } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

const MODEL = 'ft:dearest';
/** Input and output of the largest call at the highest rate. */
const COST_MAX = 2n * BigInt(TOKENS_MAX) * BigInt(USD_PER_MILLION_MAX) * 1_000n;
/** Enough of them to leave 64 bits twice. */
const CALLS = 6_000;
const ENDS = 20;
/** The largest value of a 64-bit column. */
const LARGEST = 2n ** 63n - 1n;

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator);
  const params = { org: tenant.organizationId, modelKey: MODEL };
  const rates = { inputUsdPerMillion: USD_PER_MILLION_MAX, outputUsdPerMillion: USD_PER_MILLION_MAX };
  expect((await operator.send('setPrice', { params, body: rates })).status).toBe(200);
});

async function endLargest(callId: string) {
  await tenant.api.send('beginCall', {
    body: { customerId: 'whale', feature: 'dear' },
    headers: { 'Idempotency-Key': callId },
  });
  const body = { callId, modelUsed: MODEL, inputTokens: TOKENS_MAX, responseTokens: TOKENS_MAX };
  return (await tenant.api.send('endCall', { body })).data;
}

/** More calls like the one in D1, and their sums in the object's hour. */
async function copyCall(copies: number): Promise<void> {
  const columns = (await bindings.DB.prepare(`SELECT name FROM pragma_table_info('calls')`).all<{ name: string }>())
    .results;
  const values = columns.map(({ name }) => (name === 'call_id' ? `'copy-' || number.value` : name)).join(', ');
  await bindings.DB.batch([
    bindings.DB.prepare(
      `INSERT INTO calls (${columns.map(({ name }) => name).join(', ')}) SELECT ${values} FROM calls
       CROSS JOIN json_each(?) AS number WHERE organization_id = ? AND call_id = 'end-0'`,
    ).bind(JSON.stringify(Array.from({ length: copies }, (_, n) => n)), tenant.organizationId),
    ...countCalls("call_id LIKE 'copy-%'").map((sql) => bindings.DB.prepare(sql)),
  ]);
}

describe('an organization whose costs exceed 64 bits', () => {
  test('has exact reports in every dimension, sorted by cost, and its ends still reach D1', async () => {
    for (let n = 0; n < ENDS; n += 1) expect((await endLargest(`end-${n}`)).costUsdNano).toBe(String(COST_MAX));
    await tenant.api.send('beginCall', { body: { customerId: 'minnow' }, headers: { 'Idempotency-Key': 'small' } });
    await tenant.api.send('endCall', { body: { callId: 'small', modelUsed: MODEL, inputTokens: 1 } });
    for (const customerId of ['whale', 'minnow']) await deliverToD1(tenant.organizationId, customerId);
    await copyCall(CALLS - ENDS);
    await endLargest('last');
    await deliverToD1(tenant.organizationId, 'whale');
    const { outbox } = (
      await operator.send('readCustomer', { params: { org: tenant.organizationId, customerId: 'whale' } })
    ).data;
    expect(outbox).toMatchObject({ pending: 0 });

    const whole = BigInt(CALLS + 1) * COST_MAX;
    expect(whole > 2n ** 64n).toBe(true);
    const small = 2_000_000n;
    for (const query of [{}, { customerId: 'whale' }, { feature: 'dear' }] as Record<string, string>[]) {
      const { data } = await tenant.api.send('readUsageSummary', { query });
      const others = Object.keys(query).length === 0 ? small : 0n;
      expect([query, data.totals.costUsdNano]).toEqual([query, String(whole + others)]);
      expect(data.totals.inputTokens).toBe((CALLS + 1) * TOKENS_MAX + (others > 0n ? 1 : 0));
      expect(data.byDay.reduce((sum, { costUsdNano }) => sum + BigInt(costUsdNano), 0n)).toBe(whole + others);
      expect(data.byCustomer[0]).toMatchObject({ customerId: 'whale', costUsdNano: String(whole) });
      expect(data.byFeature[0]).toMatchObject({ feature: 'dear', costUsdNano: String(whole) });
      expect(data.byModel[0]).toMatchObject({ model: MODEL, costUsdNano: String(whole + others) });
    }
    for (const query of [{}, { customerId: 'whale' }] as Record<string, string>[])
      expect((await tenant.api.send('readUsageAnomalies', { query })).status).toBe(200);
  });

  test('has an exact summary of what compressing its prompts saved', async () => {
    await bindings.DB.prepare(
      `UPDATE calls SET original_tokens = 1000000000, compressed_tokens = 0, saved_tokens = 1000000000, cost_avoided_nano_usd = ${LARGEST},
         compression_techniques = '["toon"]' WHERE organization_id = ? AND customer_id = 'whale'`,
    )
      .bind(tenant.organizationId)
      .run();
    const { data } = await tenant.api.send('readCompressionSummary');
    const sums = {
      calls: CALLS + 1,
      savedTokens: (CALLS + 1) * 1e9,
      costAvoidedUsdNano: String(BigInt(CALLS + 1) * LARGEST),
    };
    expect([data, data.byFeature[0], data.byTechnique[0]]).toMatchObject([
      sums,
      { feature: 'dear', ...sums },
      { technique: 'toon', ...sums },
    ]);
  });

  test("is shown on the operator's pages", async () => {
    const visitor = new Visitor();
    await visitor.signIn();
    // 6,001 calls of 4 million dollars, and one of 0.2 cents.
    const shown = [
      ['/console', '24004000000.002'],
      [`/console/organizations/${tenant.organizationId}`, '24004000000'],
    ] as const;
    for (const [path, dollars] of shown) {
      const { html } = await visitor.read(path);
      expect([path, html.includes(`value="${dollars}"`)]).toEqual([path, true]);
    }
    await visitor.read(`/console/organizations/${tenant.organizationId}/customers/whale`);
  });
});

test('groups are sorted by cost, however it is split into the two columns', async () => {
  const other = await createTenant(operator);
  const hourMs = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  // Sums are not carried over, and a returned amount may leave a remainder below zero.
  const costs: [string, number, number][] = [
    ['least', 0, 999_999_999],
    ['second', 1, 0],
    ['third', 0, 1_000_000_001],
    ['fourth', 2, -1],
    ['fifth', 0, 5_000_000_000],
    ['sixth', 9_000_000_000, 0],
    ['most', 8_999_999_999, 1_000_000_001],
  ];
  const changes = bindings.DB.prepare(
    noteUsage(
      {
        ...{ organization_id: '?1', customer_id: 'value ->> 0', feature: 'value ->> 0', model: 'value ->> 0' },
        ...{ outcome: "'COMPLETED'", paid_model: 'value ->> 0', hour_ms: 'CAST(?2 AS INTEGER)', calls: '1' },
        ...{ cost_usd: 'value ->> 1', cost_rest_nano_usd: 'value ->> 2' },
      },
      'FROM json_each(?3)',
    ),
  ).bind(other.organizationId, hourMs, JSON.stringify(costs));
  await bindings.DB.batch([changes, ...COUNT_USAGE.map((sql) => bindings.DB.prepare(sql))]);
  const names = costs.map(([name]) => name).reverse();
  const exact = costs.map(([, usd, rest]) => String(BigInt(usd) * 1_000_000_000n + BigInt(rest))).reverse();
  const { byCustomer, byFeature, byModel } = (await other.api.send('readUsageSummary')).data;
  expect(byCustomer.map(({ customerId }) => customerId)).toEqual(names);
  expect(byFeature.map(({ feature }) => feature)).toEqual(names);
  expect(byModel.map(({ model }) => model)).toEqual(names);
  for (const groups of [byCustomer, byFeature, byModel])
    expect(groups.map(({ costUsdNano }) => costUsdNano)).toEqual(exact);
});

test('tokens above 2^53 are rounded to the nearest number', async () => {
  const other = await createTenant(operator);
  const changes = bindings.DB.prepare(
    noteUsage({
      ...{
        organization_id: '?1',
        customer_id: "'c'",
        model: "'m'",
        outcome: "'COMPLETED'",
        hour_ms: 'CAST(?2 AS INTEGER)',
      },
      ...{ calls: '1', input_tokens: '9007199254740993', output_tokens: '4611686018427387905' },
    }),
  ).bind(other.organizationId, Math.floor(Date.now() / 3_600_000) * 3_600_000);
  await bindings.DB.batch([changes, ...COUNT_USAGE.map((sql) => bindings.DB.prepare(sql))]);
  for (const query of [{}, { customerId: 'c' }] as Record<string, string>[]) {
    const { totals } = (await other.api.send('readUsageSummary', { query })).data;
    expect(totals).toMatchObject({ inputTokens: 9_007_199_254_740_992, outputTokens: 2 ** 62 });
  }
});

describe('an organization whose figures cannot be read', () => {
  test('is marked in the overview, and the others are shown', async () => {
    const broken = await createTenant(operator);
    await operator.send('updateOrganization', {
      params: { org: broken.organizationId },
      body: { name: 'Broken figures' },
    });
    // As nothing writes it: no cost is text.
    await bindings.DB.prepare(
      `INSERT INTO organization_days (organization_id, dimension, day_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens,
         output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
       VALUES (?, 'outcome', ?, 'COMPLETED', 1, 0, 0, 0, 0, 0, 0, 1e300, 0)`,
    )
      .bind(broken.organizationId, Math.floor(Date.now() / 86_400_000) * 86_400_000 - 86_400_000)
      .run();
    const visitor = new Visitor();
    await visitor.signIn();
    const { text } = await visitor.read('/console');
    expect(text).toMatch(/Broken figures.*cannot be read/);
    expect(text).toContain('$24,004,000,000.00');
  });
});
