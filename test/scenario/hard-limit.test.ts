/**
 * Promise: a hard limit stays hard under concurrency, also when the customer is new: of calls, of reserved tokens, of searches.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { operator } from '../support/worker.ts';

const LIMIT = 50;
const BEGINS = 200;

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator, {
    name: 'Limited',
    limitType: 'BLOCK',
    limits: { standardCalls: LIMIT, premiumCalls: null, premiumTokens: 1_000 },
    reserveOutputTokens: 100,
  });
});

describe('a hard limit stays hard', () => {
  test(`${BEGINS} concurrent begins of a customer never seen before allow exactly ${LIMIT}`, async () => {
    const begins = await Promise.all(
      Array.from({ length: BEGINS }, (_, n) =>
        tenant.api.send('beginCall', { body: { customerId: 'crowd' }, headers: { 'Idempotency-Key': `crowd-${n}` } }),
      ),
    );
    const answered = begins.filter(({ status }) => status === 200);
    expect(answered.filter(({ data }) => data.allowed.standard)).toHaveLength(LIMIT);
    expect(answered.filter(({ data }) => data.newCustomer)).toHaveLength(1);
    // So many denials of a customer are recorded within a minute.
    expect(answered).toHaveLength(LIMIT + 60);
    const others = begins.filter(({ status }) => status !== 200);
    expect(new Set(others.map(({ refusal }) => refusal.code))).toEqual(new Set(['RATE_LIMITED']));
    const usage = (await tenant.api.send('readUsage', { params: { customerId: 'crowd' } })).data;
    expect(usage.meters.standardCalls).toMatchObject({ used: LIMIT, remaining: 0, ratio: 0 });
  });

  test('ended calls still count in the limit', async () => {
    const ids = Array.from({ length: LIMIT }, (_, n) => `ended-${n}`);
    for (const id of ids) {
      await tenant.api.send('beginCall', { body: { customerId: 'steady' }, headers: { 'Idempotency-Key': id } });
      await tenant.api.send('endCall', { body: { callId: id, responseTokens: 1 } });
    }
    const last = (
      await tenant.api.send('beginCall', {
        body: { customerId: 'steady' },
        headers: { 'Idempotency-Key': 'ended-last' },
      })
    ).data;
    expect(last.allowed.standard).toBe(false);
    expect((await tenant.api.send('readCall', { params: { callId: 'ended-last' } })).data).toMatchObject({
      status: 'NOT_ALLOWED',
      pricingStatus: 'UNAVAILABLE',
      pricingUnavailableReason: 'NOT_ALLOWED',
    });
  });

  test('a token limit is exact for callers that stay within the reserved output tokens', async () => {
    const begins = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        tenant.api.send('beginCall', {
          body: { customerId: 'tokens', requested: { premium: true } },
          headers: { 'Idempotency-Key': `tokens-${n}` },
        }),
      ),
    );
    const allowed = begins.map(({ data }) => data).filter((data) => data.allowed.premium);
    expect(allowed).toHaveLength(10);
    expect(allowed.map(({ vendorHints }) => vendorHints?.maxResponseTokens)).toEqual(Array(10).fill(100));
    await Promise.all(
      allowed.map(({ callId }) =>
        tenant.api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', responseTokens: 100 } }),
      ),
    );
    const usage = (await tenant.api.send('readUsage', { params: { customerId: 'tokens' } })).data;
    expect(usage.meters.premiumTokens).toMatchObject({ used: 1_000, remaining: 0 });
  });

  test.each([
    ['alone', { search: true }],
    ['beside a tier', { standard: true, search: true }],
  ])('of ten concurrent begins that ask for search %s, as many get one as are left', async (_how, requested) => {
    const limits = { searches: 1 };
    const { api } = await createTenant(operator, { name: 'Searching', limitType: 'BLOCK', limits });
    const begin = async (key: string) => {
      const headers = { 'Idempotency-Key': key };
      return (await api.send('beginCall', { body: { customerId: 'seeker', requested }, headers })).data;
    };
    const begun = await Promise.all(Array.from({ length: 10 }, (_, n) => begin(`search-${n}`)));
    const [first, ...others] = begun.filter(({ allowed }) => allowed.search);
    expect(others).toEqual([]);
    // The tier is left, and the call may run without a search.
    const isTierAsked = 'standard' in requested;
    for (const { callId, allowed, denial } of begun.filter(({ allowed }) => !allowed.search)) {
      expect([allowed.standard, denial?.meter]).toEqual(isTierAsked ? [true, undefined] : [false, 'searches']);
      const { status } = (await api.send('readCall', { params: { callId } })).data;
      expect(status).toBe(isTierAsked ? 'IN_PROGRESS' : 'NOT_ALLOWED');
    }
    await api.send('endCall', { body: { callId: first?.callId ?? '', searches: 0 } });
    const next = await begin('search-next');
    expect(next.allowed.search).toBe(true);
    await api.send('endCall', { body: { callId: next.callId, searches: 1 } });
    expect((await begin('search-last')).allowed.search).toBe(false);
  });
});
