/**
 * Promise: `GET /customers/{id}/ledger` has every change of a balance once, in its order, with its payment, as pages
 * and as CSV; including changes that D1 does not have yet, or has refused.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import type { LedgerItem } from '../../src/contract/ledger.ts';
import { asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import { findLedger } from '../../src/history/credits.ts';
import { parseNanoUsd } from '../../src/ui/format.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { type FundedCustomer, fundedCustomer } from '../support/customer.ts';
import { queryPlansOf } from '../support/query-plans.ts';
import { bindings, operator, worker } from '../support/worker.ts';

const PLAN = {
  name: 'As you go',
  limitType: 'BLOCK',
  limits: { premiumCalls: 0 },
  payg: { enabled: true, markupPercent: 20 },
  customMeters: {
    CUSTOM1: {
      enabled: true,
      label: 'Pages',
      included: 0,
      unlimited: false,
      funding: { credits: true, payg: true },
      overage: { model: 'GRADUATED', tiers: [{ upTo: null, priceUsd: '0.01', per: '1' }] },
    },
  },
};
/** On gpt-4o: 0.0075 USD; with the markup 0.009. */
const USED = { modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 500 };

let tenant: Tenant;
let ann: FundedCustomer;
const calls: string[] = [];
const events: string[] = [];

const list = async (query: Record<string, string> = {}, customerId = 'ann', { api }: Tenant = tenant) =>
  (await api.send('listLedger', { params: { customerId }, query })).data;

async function call(customerId: string, feature: string): Promise<string> {
  const body = { customerId, feature, requested: { premium: true } };
  const { callId } = (await tenant.api.send('beginCall', { body })).data;
  await tenant.api.send('endCall', { body: { callId, ...USED } });
  return callId;
}

async function count(amount: number): Promise<string> {
  const body = { customerId: 'ann', meterSlot: 'CUSTOM1' as const, amount, feature: '=pages' };
  return (await tenant.api.send('incrementMeter', { body })).data.eventId;
}

async function pages(query: Record<string, string>): Promise<LedgerItem[]> {
  const items: LedgerItem[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await list({ ...query, ...(cursor && { cursor }) });
    items.push(...page.items);
    cursor = page.nextCursor;
  }
  return items;
}

beforeAll(async () => {
  tenant = await createTenant(operator, PLAN);
  ann = await fundedCustomer(tenant, 'ann', { usd: '10', units: 5 });
  for (const feature of ['chat', 'search', 'chat']) calls.push(await call('ann', feature));
  events.push(await count(3), await count(4));
  await ann.settle();
  const { org } = ann.params;
  const reason = 'sent twice';
  await operator.send('operatorReverseCall', { params: { org, callId: calls[0] ?? '' }, body: { reason } });
  await operator.send('operatorAmendCall', {
    params: { org, callId: calls[1] ?? '' },
    body: { reason, inputTokens: 2_000 },
  });
  await operator.send('operatorReverseMeterEvent', { params: { org, eventId: events[0] ?? '' }, body: { reason } });
  const given = (await ann.grant({ kind: 'USD', amountUsd: '1', reference: '=goodwill' })).data;
  await operator.send('revokeCredit', { params: { ...ann.params, creditId: given.creditId }, body: { reason } });
  await ann.settle();
});

describe('the ledger', () => {
  test('names the call or the increment of each payment, its charge, and the correction that it comes from', async () => {
    const { items, nextCursor } = await list();
    expect(nextCursor).toBeNull();
    expect(items.map(({ entryId }) => entryId)).toEqual(items.map((_, index) => items.length - index));
    const paid = items.filter(({ cause }) => cause === 'SPEND' || cause === 'RETURN');
    const of = (id: string | undefined) =>
      paid
        .filter(({ callId, eventId }) => callId === id || eventId === id)
        .map(({ unit, cause, amount, correction }) => [unit, cause, amount, correction]);
    expect(of(calls[0])).toEqual([
      ['USD', 'RETURN', '0.009', 'REVERSED'],
      ['USD', 'SPEND', '-0.009', null],
    ]);
    expect(of(calls[1])).toEqual([
      ['USD', 'SPEND', '-0.003', 'AMENDED'],
      ['USD', 'SPEND', '-0.009', null],
    ]);
    expect(of(calls[2])).toEqual([['USD', 'SPEND', '-0.009', null]]);
    expect(of(events[1])).toContainEqual(['CUSTOM1', 'SPEND', '-2', null]);
    expect(of(events[0])).toContainEqual(['CUSTOM1', 'SPEND', '-3', null]);
    expect(of(events[0]).filter(([, , , correction]) => correction === 'REVERSED').length).toBeGreaterThan(0);
    expect(paid.find(({ callId }) => callId === calls[1])).toMatchObject({ feature: 'search', modelUsed: 'gpt-4o' });
    expect(paid.find(({ eventId }) => eventId === events[1])).toMatchObject({ feature: '=pages', modelUsed: null });
    for (const { unit, chargeId, reference } of paid)
      expect([chargeId === null, reference]).toEqual([unit !== 'USD', null]);
    expect(items.find(({ cause }) => cause === 'REVOKE')).toMatchObject({ reference: 'sent twice', chargeId: null });
  });

  test('continues from entry to entry, to the balance that the customer has', async () => {
    const ofUsd = (await list({ unit: 'USD' })).items;
    let before = 0n;
    for (const { amount, balance } of ofUsd.toReversed()) {
      before += parseNanoUsd(amount);
      expect(parseNanoUsd(balance)).toBe(before);
    }
    expect(ofUsd[0]?.balance).toBe((await ann.wallet()).balanceUsd);
  });

  test('is the same in pages of any size, and as the operator reads it', async () => {
    const whole = (await list()).items;
    for (const limit of ['1', '2', '3', '200']) expect(await pages({ limit })).toEqual(whole);
    const read = await operator.send('listCustomerLedger', { params: ann.params });
    expect([read.body.result.code, read.data.items]).toEqual(['LEDGER_LISTED', whole]);
  });

  test.each<[Record<string, string>, (item: LedgerItem) => boolean]>([
    [{ unit: 'CUSTOM1' }, ({ unit }) => unit === 'CUSTOM1'],
    [{ cause: 'RETURN' }, ({ cause }) => cause === 'RETURN'],
    [{ unit: 'USD', cause: 'GRANT' }, ({ unit, cause }) => unit === 'USD' && cause === 'GRANT'],
  ])('by %j gives what picking by hand gives', async (query, picked) => {
    const whole = (await list()).items;
    expect((await list(query)).items).toEqual(whole.filter(picked));
    expect(await pages({ ...query, limit: '1' })).toEqual(whole.filter(picked));
  });

  test('of one call, one increment or one reference has its entries alone, also before D1 has them', async () => {
    const whole = (await list()).items;
    const [callId = '', eventId = ''] = [calls[0], events[0]];
    expect((await list({ callId })).items).toEqual(whole.filter((item) => item.callId === callId));
    expect((await list({ eventId })).items).toEqual(whole.filter((item) => item.eventId === eventId));
    expect((await list({ reference: '=goodwill' })).items).toEqual(
      whole.filter((item) => item.reference === '=goodwill'),
    );
    expect((await list({ reference: whole.find((item) => item.chargeId !== null)?.chargeId ?? '' })).items).toEqual([]);
    const both = await tenant.api.send('listLedger', { params: { customerId: 'ann' }, query: { callId, eventId } });
    expect([both.status, both.refusal.message]).toEqual([400, expect.stringContaining('eventId: must not be given')]);
    const fay = await fundedCustomer(tenant, 'fay', { usd: '10' });
    await fay.grant({ kind: 'USD', amountUsd: '1', reference: 'invoice 9' });
    expect((await list({ reference: 'invoice 9' }, 'fay')).items.map(({ amount }) => amount)).toEqual(['1']);
    const fresh = await call('fay', 'chat');
    await fay.handedOver();
    expect((await list({ callId: fresh }, 'fay')).items.map(({ amount }) => amount)).toEqual(['-0.009']);
    expect((await list({ callId: 'another' }, 'fay')).items).toEqual([]);
  });

  test('has a half-open period', async () => {
    const whole = (await list()).items;
    const [from, to] = [whole[6]?.at ?? '', whole[2]?.at ?? ''];
    const within = whole.filter(({ at }) => at >= from && at < to);
    expect((await list({ from, to })).items).toEqual(within);
  });

  test('as CSV has every entry in a line, with exact numbers and no formula', async () => {
    const { items } = await list();
    const { key } = (await operator.send('createKey', { params: { org: ann.params.org }, body: { name: 'csv' } })).data;
    const response = await worker.fetch('https://callmeter.test/customers/ann/ledger?limit=1', {
      headers: { Authorization: `Bearer ${key}`, Accept: `text/csv, ${MEDIA_TYPE};q=0.5` },
    });
    expect(response.headers.get('Content-Type')).toContain('text/csv');
    const [titles, ...lines] = (await response.text()).trimEnd().split('\r\n');
    expect(titles?.split(',')).toEqual(Object.keys(items[0] ?? {}));
    expect(lines).toHaveLength(items.length);
    for (const [index, { entryId, at, unit, cause, amount, balance }] of items.entries())
      expect(lines[index]).toMatch(new RegExp(`^${[entryId, at, unit, cause, amount, balance].join(',')},`));
    expect(lines.join('\n')).toContain(",'=goodwill");
    expect(lines.join('\n')).not.toContain(',=');
  });

  test('refuses a cursor of something else, and an unknown cause, by name', async () => {
    for (const query of [
      { cursor: btoa('nonsense').replaceAll('=', '') },
      { cause: 'GIFT' },
      { from: 'yesterday' },
      { to: 'tomorrow' },
    ]) {
      const { status, refusal } = await tenant.api.send('listLedger', { params: { customerId: 'ann' }, query });
      expect([status, (refusal.details as { path: string }[])[0]?.path]).toEqual([400, Object.keys(query)[0]]);
    }
  });

  test('is found in D1 by the customer and the entry, whatever narrows it', async () => {
    const { org, customerId } = ann.params;
    for (const filter of [{}, { fromMs: 1, toMs: Date.now() }, { unit: 'USD', cause: 'SPEND' }] as const) {
      const plan = await queryPlansOf((env) =>
        findLedger(
          env,
          { organizationId: asOrganizationId(org), customerId: asCustomerId(customerId) },
          filter,
          1_000,
          50,
        ),
      );
      expect(plan[0]).toBe(
        'SEARCH credit_entries USING PRIMARY KEY (organization_id=? AND customer_id=? AND entry_id<?)',
      );
      expect(plan.filter((line) => !line.startsWith('SEARCH'))).toEqual([]);
    }
  });
});

describe('what D1 does not have', () => {
  afterAll(() => bindings.DB.prepare('DROP TRIGGER IF EXISTS refuse_entries').run());

  test('is in the list before it is delivered, and if D1 refused it', async () => {
    const customerId = 'ben';
    const ben = await fundedCustomer(tenant, customerId, { usd: '10' });
    const first = await list({}, customerId);
    expect(first.items.map(({ cause, balance }) => [cause, balance])).toEqual([['GRANT', '10']]);
    await ben.settle();
    await bindings.DB.prepare(
      `CREATE TRIGGER refuse_entries BEFORE INSERT ON credit_entries WHEN NEW.amount = '2000000000' BEGIN SELECT RAISE(ABORT, 'not this one'); END`,
    ).run();
    await ben.grant({ kind: 'USD', amountUsd: '2', reference: 'refused by D1' });
    const callId = await call(customerId, 'chat');
    await ben.settle();
    await ben.grant({ kind: 'USD', amountUsd: '3' });
    const { results } = await bindings.DB.prepare(
      'SELECT entry_id FROM credit_entries WHERE organization_id = ? AND customer_id = ? ORDER BY 1',
    )
      .bind(tenant.organizationId, customerId)
      .all();
    expect(results.map(({ entry_id }) => entry_id)).toEqual([1, 3]);

    const { items } = await list({}, customerId);
    expect(items.map(({ entryId, amount }) => [entryId, amount])).toEqual([
      [4, '3'],
      [3, '-0.009'],
      [2, '2'],
      [1, '10'],
    ]);
    expect(items[1]).toMatchObject({ callId, feature: 'chat', modelUsed: 'gpt-4o' });
    const one = await list({ limit: '1' }, customerId);
    const next = await list({ limit: '2', cursor: one.nextCursor ?? '' }, customerId);
    expect(next.items.map(({ entryId }) => entryId)).toEqual([3, 2]);
  });
});
