/**
 * Promise: usage that nobody reported in full says so wherever it is read, alone and in sums, until reported figures replace it.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import type { ProvisionalSource } from '../../src/domain/usage.ts';
import { sendCommand } from '../../src/objects/command-text.ts';
import type { EndServiceCallCommand } from '../../src/objects/customer-commands.ts';
import { createTenant, OPERATOR_TOKEN, type Tenant } from '../support/api.ts';
import { forgetCalls } from '../support/archive.ts';
import { rateCard } from '../support/rate-cards.ts';
import { bindings, customerStub, deliverToD1, operator, worker } from '../support/worker.ts';
import { usage } from '../unit/fixtures.ts';
import { Visitor } from './console-visitor.ts';

const PLAN = { name: 'P', limitType: 'BLOCK', limits: { standardCalls: 1_000, premiumCalls: 1_000 } };
/** A thousand input and a hundred output tokens cost 1,200,000 nano-USD. */
const USED = { inputTokens: 1_000, responseTokens: 100 };
const COST = '1200000';
const PRICE: ResolvedPrice = { available: true, card: rateCard({ input: '1000000000', output: '2000000000' }) };
const UNPRICED: ResolvedPrice = { available: false, reason: 'MODEL_NOT_IN_CATALOG' };

/** An organization of its own with one customer, because sums are compared as a whole. */
async function createCustomer(customerId: string) {
  const tenant = await createTenant(operator, PLAN);
  const { organizationId, api } = tenant;
  const stub = customerStub(organizationId, customerId);
  const begin = async () => (await api.send('beginCall', { body: { customerId, feature: crypto.randomUUID() } })).data;
  return {
    tenant,
    stub,
    begin,
    /** A call that the service made, and whose vendor did not report its whole usage. */
    async lost(usageSource: ProvisionalSource, price = PRICE, error?: { code: string; message: string }) {
      const { callId } = await begin();
      const end: EndServiceCallCommand = {
        ...{ organizationId, callId, price, wantsAnswer: true },
        report: { modelUsed: 'm', usage: usage(USED), usageSource, error },
      };
      const ended = JSON.parse(await stub.endServiceCall(sendCommand<EndServiceCallCommand>(end)));
      return { callId, data: ended.answer.data };
    },
    async reported(more: object = {}) {
      const { callId } = await begin();
      await api.send('endCall', { body: { callId, modelUsed: 'gpt-4o-mini', ...USED, ...more } });
      return callId;
    },
    deliver: () => deliverToD1(organizationId, customerId),
    read: async (callId: string) => (await api.send('readCall', { params: { callId } })).data,
    amend: (callId: string) =>
      api.send('amendCall', { params: { callId }, body: { reason: 'the figures came', modelUsed: 'gpt-4o', ...USED } }),
    /** The provisional part of the object's sums and of D1's, which agree. */
    async provisional() {
      const { currentPeriod } = (await api.send('readUsageContext', { params: { customerId } })).data;
      const { calls, provisionalCalls, provisionalDollars } = currentPeriod.quantities;
      await deliverToD1(organizationId, customerId);
      const summary = (await api.send('readUsageSummary')).data;
      for (const query of [{ customerId }, {}] as Record<string, string>[]) {
        const { totals, byCustomer } = (await api.send('readUsageSummary', { query })).data;
        expect([totals, totals.calls]).toEqual([summary.totals, calls]);
        expect(byCustomer.map(({ provisionalCostUsdNano }) => provisionalCostUsdNano)).toEqual(
          calls === 0 ? [] : [totals.provisionalCostUsdNano],
        );
      }
      const { provisionalCostUSD, provisionalCostUsdNano, ...totals } = summary.totals;
      expect([totals.provisionalCalls, provisionalCostUSD]).toEqual([provisionalCalls, provisionalDollars]);
      return [totals.provisionalCalls, provisionalCostUsdNano, totals.calls];
    },
  };
}

describe('a call with provisional usage', () => {
  let tenant: Tenant;
  let ann: Awaited<ReturnType<typeof createCustomer>>;
  let [callId, cut, plain]: string[] = [];
  beforeAll(async () => {
    ann = await createCustomer('ann');
    tenant = ann.tenant;
    callId = (await ann.lost('estimated')).callId;
    cut = (await ann.lost('partial', PRICE, { code: 'VENDOR_STREAM_CUT', message: 'it broke off' })).callId;
    plain = await ann.reported();
    await ann.deliver();
  });

  test('says so in the answer of its end, and to whoever reads it, also from D1', async () => {
    expect((await ann.lost('partial')).data).toMatchObject({ usageSource: 'partial', costUsdNano: COST });
    const sources = async () =>
      Promise.all([callId, cut, plain].map(async (id = '') => (await ann.read(id)).usageSource));
    expect(await sources()).toEqual(['estimated', 'partial', 'reported']);
    await ann.deliver();
    await forgetCalls(tenant, 'ann');
    expect(await sources()).toEqual(['estimated', 'partial', 'reported']);
  });

  test('says nothing before its end', async () => {
    const { callId: open } = await ann.begin();
    expect((await ann.read(open)).usageSource).toBeNull();
  });

  test('says so in the list of its customer, and has a row in D1 that does', async () => {
    const bob = await createCustomer('bob');
    const { callId: lost } = await bob.lost('estimated');
    const known = await bob.reported();
    const params = { org: bob.tenant.organizationId, customerId: 'bob' };
    const { recentCalls } = (await operator.send('readCustomer', { params })).data;
    expect(recentCalls.map(({ callId: id, usageSource }) => [id, usageSource])).toEqual([
      [known, 'reported'],
      [lost, 'estimated'],
    ]);
    await bob.deliver();
    const { results } = await bindings.DB.prepare(
      'SELECT call_id, usage_source FROM calls WHERE organization_id = ? ORDER BY started_at_ms',
    )
      .bind(bob.tenant.organizationId)
      .all();
    expect(results).toEqual([
      { call_id: lost, usage_source: 'estimated' },
      { call_id: known, usage_source: null },
    ]);
  });

  test('has a mark in the console: in the list, which can show such calls alone, and on its page', async () => {
    const visitor = new Visitor();
    await visitor.signIn();
    const path = `/console/organizations/${tenant.organizationId}`;
    const rows = async (query: string) => {
      const { html } = await visitor.read(`${path}/calls?${query}`);
      return [callId, cut, plain].map((id) => html.includes(`/calls/${id}"`));
    };
    expect(await rows('')).toEqual([true, true, true]);
    expect(await rows('usageSource=estimated')).toEqual([true, false, false]);
    expect(await rows('usageSource=partial&status=FAILED')).toEqual([false, true, false]);
    expect((await visitor.send(`${path}/calls?usageSource=reported`)).status).toBe(400);
    const page = (await visitor.read(`${path}/calls/${callId}`)).text;
    expect(page).toContain('estimated usage');
    expect(page).toContain('provisional, by estimated usage');
    expect((await visitor.read(`${path}/calls/${plain}`)).text).not.toMatch(/provisional|estimated/);
    expect((await visitor.read(path)).text).toMatch(/\$0\.\d+ of it provisional/);
  });

  test('says so in an export of FOCUS', async () => {
    const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
    const query = new URLSearchParams({ format: 'focus', from: day(0), to: day(1) });
    const url = `https://callmeter.test/operator/organizations/${tenant.organizationId}/export?${query}`;
    const headers = { Authorization: `Bearer ${OPERATOR_TOKEN}`, Accept: MEDIA_TYPE };
    const lines = (await (await worker.fetch(url, { headers })).text()).split('\r\n');
    const sourcesOf = (id = '') =>
      lines.filter((line) => line.includes(`,${id},`)).map((line) => line.split(',').at(-1));
    expect(sourcesOf(callId)).toEqual(['estimated', 'estimated']);
    expect(sourcesOf(cut)).toEqual(['partial', 'partial']);
    expect(sourcesOf(plain)).toEqual(['reported', 'reported']);
  });
});

describe('sums say how much of them is provisional', () => {
  test('until reported figures replace it', async () => {
    const carol = await createCustomer('carol');
    await carol.reported();
    expect(await carol.provisional()).toEqual([0, '0', 1]);
    const { callId } = await carol.lost('estimated');
    const cut = await carol.lost('partial', PRICE, { code: 'VENDOR_STREAM_CUT', message: 'it broke off' });
    expect(await carol.provisional()).toEqual([2, '2400000', 3]);
    expect((await carol.amend(callId)).status).toBe(200);
    expect(await carol.read(callId)).toMatchObject({ usageSource: 'reported', corrections: [{ costUsdNano: COST }] });
    expect(await carol.provisional()).toEqual([1, COST, 3]);
    await carol.tenant.api.send('reverseCall', { params: { callId: cut.callId }, body: { reason: 'a test' } });
    expect((await carol.read(cut.callId)).usageSource).toBe('partial');
    expect(await carol.provisional()).toEqual([0, '0', 2]);
  });

  test('also if figures that are the same replace it: only their source changes', async () => {
    const dora = await createCustomer('dora');
    const { callId } = await dora.lost('estimated', UNPRICED);
    expect(await dora.provisional()).toEqual([1, '0', 1]);
    const body = { reason: 'as estimated', modelUsed: 'm', ...USED };
    expect((await dora.tenant.api.send('amendCall', { params: { callId }, body })).status).toBe(200);
    expect(await dora.provisional()).toEqual([0, '0', 1]);
  });

  test('and a price that comes later is the price of an estimate', async () => {
    const emma = await createCustomer('emma');
    const { callId } = await emma.lost('estimated', UNPRICED);
    expect(await emma.provisional()).toEqual([1, '0', 1]);
    const { organizationId } = emma.tenant;
    const old = await emma.stub.readCall(organizationId, callId);
    if (!old) throw new Error('the object has the call');
    const why = { jobId: 'job', reason: 'its price became known', by: 'operator' };
    await emma.stub.repriceCalls({ organizationId, ...why, calls: [{ callId, price: PRICE, old }] });
    expect(await emma.read(callId)).toMatchObject({ usageSource: 'estimated', costUsdNano: COST });
    expect(await emma.provisional()).toEqual([1, COST, 1]);
  });
});

test("an application's figures are reported, whatever it says of them", async () => {
  const finn = await createCustomer('finn');
  const callId = await finn.reported({ usageSource: 'estimated' });
  expect((await finn.read(callId)).usageSource).toBe('reported');
  const body = { customerId: 'finn', usage: { modelUsed: 'gpt-4o', ...USED, usageSource: 'estimated' } };
  const { end, endUsage } = (await finn.tenant.api.send('makeCall', { body })).data;
  expect([end?.usageSource, endUsage?.usageSource]).toEqual(['reported', 'reported']);
  expect(await finn.provisional()).toEqual([0, '0', 2]);
});
