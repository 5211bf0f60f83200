/**
 * The widget's statements about the payer are true: if it names the balance, the next call is charged to it, and only
 * if it says that nothing is left is the next call denied. It shows a customer's charges, and never the cost of the
 * organization's calls.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { fundedCustomer } from '../support/customer.ts';
import { operator, worker } from '../support/worker.ts';

/** On gpt-4o: 1,000 x 2.50 + 500 x 10.00 USD per million = 0.0075 USD; with the markup 0.009. */
const USED = { modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 500 };
const PREMIUM = { requested: { premium: true } };
const PAYG = { enabled: true, markupPercent: 20 };

let serial = 0;

/** A customer of a plan of its own, in the view of its widget and its calls. */
async function customer(plan: object, { of, ...funds }: { usd?: string; units?: number; of?: Tenant } = {}) {
  const tenant = of ?? (await createTenant(operator, { name: 'Team', limitType: 'BLOCK', ...plan }));
  serial += 1;
  const customerId = `customer-${serial}`;
  const funded = await fundedCustomer(tenant, customerId, funds);
  const { key } = (
    await operator.send('createKey', { params: { org: tenant.organizationId }, body: { name: 'w', prefix: 'ek-' } })
  ).data;
  const begin = async (body: object = PREMIUM) => {
    serial += 1;
    const headers = { 'Idempotency-Key': `embed-${serial}` };
    return (await tenant.api.send('beginCall', { body: { customerId, ...body }, headers })).data;
  };
  return {
    ...funded,
    tenant,
    customerId,
    begin,
    call: async (body: object = PREMIUM) => {
      const { callId } = await begin(body);
      return (await tenant.api.send('endCall', { body: { callId, ...USED } })).data;
    },
    increment: (amount: number) =>
      tenant.api.send('incrementMeter', { body: { customerId, meterSlot: 'CUSTOM1', amount } }),
    html: async (more: object = {}) => {
      const { token } = (
        await operator.with(key).send('createEmbedSession', { body: { customerId, variant: 'detailed', ...more } })
      ).data;
      const body = new URLSearchParams({ token }).toString();
      return (await worker.fetch('https://callmeter.test/embed', { method: 'POST', body })).text();
    },
  };
}

const words = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ([.:,])/g, '$1')
    .replaceAll('&#39;', "'");
const DAY = '\\d+ [A-Z][a-z]{2}';

describe('of a customer with a balance, the widget says', () => {
  test('the balance, what was charged to it in the period, and that it pays now', async () => {
    const { call, html } = await customer({ limits: { premiumCalls: 1 }, payg: PAYG }, { usd: '12.4' });
    await call();
    expect((await call()).payg?.chargedUsd).toBe(0.009);
    const text = words(await html());
    expect(text).toContain("Your plan's premium calls are used up. Your balance of $12.39 pays from here.");
    expect(text).toContain('2 calls in this period $12.39 balance $0.009 spent in this period');
    expect(text).toMatch(/Premium calls 1 \/ 1 used up: your balance pays/);
    // The organization's cost and markup.
    expect(text).not.toMatch(/nothing left|0\.0075|20 ?%|markup|denied/);
  });

  test('the same of a plan that includes nothing, and a charge that a correction gave back no longer', async () => {
    const { call, html, tenant, settle } = await customer(
      { limits: { standardCalls: 0, premiumCalls: 0 }, payg: PAYG },
      { usd: '5' },
    );
    const { callId } = await call();
    await call();
    const before = words(await html());
    expect(before).toContain('Your plan includes no standard or premium calls. Your balance of $4.98 pays from here.');
    expect(before).toContain('$0.018 spent in this period');
    expect(before).toMatch(/Premium calls your balance pays/);
    await settle();
    const reversal = { params: { org: tenant.organizationId, callId }, body: { reason: 'a mistake' } };
    expect((await tenant.api.send('reverseCall', reversal)).status).toBe(200);
    await settle();
    expect(words(await html())).toContain('1 call in this period $4.99 balance $0.009 spent in this period');
  });

  test('that it may be too low, if a call usually needs more', async () => {
    const { html, begin } = await customer({ limits: { premiumCalls: 0 }, payg: PAYG }, { usd: '0.004' });
    expect(words(await html())).toContain(
      'Your plan includes no premium calls. Your balance of $0.004 may be too low for the next call. One usually needs $0.01.',
    );
    expect((await begin()).denial?.code).toBe('CREDIT_REQUIRED');
  });

  test('that nothing is left if the next call is denied, and what it is overdrawn by', async () => {
    const plan = { limits: { premiumCalls: 1 }, payg: PAYG };
    const { html, begin, tenant } = await customer(plan, { usd: '0.02' });
    const [first, second] = [await begin(), await begin({ ...PREMIUM, holdUsd: 0.01 })];
    expect([first.allowed.premium, second.allowed.premium]).toEqual([true, true]);
    // Open calls hold the most that they may cost.
    expect(words(await html())).toContain('Your balance of $0.02 pays from here.');
    const third = await begin({ ...PREMIUM, holdUsd: 0.01 });
    expect(third.allowed.premium).toBe(true);
    expect(words(await html())).toContain(
      'Calls in progress hold your balance: the next one has to wait for them. They hold $0.02 of $0.02.',
    );
    for (const { callId } of [first, second, third])
      await tenant.api.send('endCall', { body: { callId, ...USED, responseTokens: 2_000 } });
    const text = words(await html());
    expect(text).toMatch(
      new RegExp(
        `Your plan's premium calls are used up, and nothing is left of your balance: premium calls are denied until ${DAY}\\.`,
      ),
    );
    expect(text).toContain('Your balance is overdrawn by $0.034, which the next credit that you buy repays first.');
    expect(text).toContain('-$0.034 balance');
    expect(text).toMatch(/Premium calls 1 \/ 1 nothing left/);
    expect((await begin()).denial?.code).toBe('CREDIT_REQUIRED');
  });

  test('the sum of the latest refusal, until a credit covers it or another plan pays', async () => {
    const { html, begin, grant, tenant } = await customer({ limits: { premiumCalls: 0 }, payg: PAYG }, { usd: '0.05' });
    const held = await begin({ ...PREMIUM, holdUsd: 0.02 });
    expect(held.allowed.premium).toBe(true);
    expect(words(await html())).not.toContain('Your latest denied call');
    // Its input alone costs 0.03 USD with the markup, and each token of its answer 0.000012.
    const estimate = { model: 'gpt-4o', inputTokens: 10_000, maxOutputTokens: 4_000 };
    const { denial } = await begin({ ...PREMIUM, estimate });
    expect(denial).toMatchObject({ neededUsd: expect.closeTo(0.078, 6), availableUsd: 0.03, heldUsd: 0.02 });
    expect(words(await html())).toContain(
      'Your latest denied call needed $0.0781 of your balance, and $0.03 was free; calls in progress held $0.02.',
    );
    await tenant.api.send('endCall', { body: { callId: held.callId, ...USED } });
    const small = await begin({ ...PREMIUM, estimate: { ...estimate, inputTokens: 100, maxOutputTokens: 300 } });
    expect(small.allowed.premium).toBe(true);
    expect(words(await html())).toContain('Your latest denied call needed $0.0781');
    await grant({ kind: 'USD', amountUsd: '1' });
    expect(words(await html())).not.toContain('Your latest denied call');
  });

  test('the length of an answer with which the refused call would have run', async () => {
    const { html, begin } = await customer({ limits: { premiumCalls: 0 }, payg: PAYG }, { usd: '0.05' });
    const estimate = { model: 'gpt-4o', inputTokens: 1_000, maxOutputTokens: 8_000 };
    const { denial } = await begin({ ...PREMIUM, estimate });
    const tokens = denial?.maxTokensThatPass?.toLocaleString('en') ?? 'none';
    expect(words(await html())).toContain(
      `Your latest denied call needed $0.0991 of your balance, and $0.05 was free. With an answer of at most ${tokens} tokens it would have run.`,
    );
  });

  test('that units were bought, how many are left, and that nothing is left only if an increment is blocked', async () => {
    const funding = { credits: true, payg: false };
    const plan = { customMeters: { CUSTOM1: { label: 'Pages read', included: 100, funding } } };
    const { html, increment } = await customer(plan, { units: 300 });
    await increment(90);
    expect(words(await html())).toContain('Pages read 90 / 100 10 left and 300 of 300 bought units');
    await increment(60);
    expect(words(await html())).toContain('Pages read 150 / 100 used up: 250 of 300 bought units left');
    expect((await increment(250)).data.blocked).toBe(false);
    expect(words(await html())).toContain('Pages read 400 / 100 nothing left');
    expect((await increment(1)).data.blocked).toBe(true);
  });
});

describe('without a balance, the widget says', () => {
  test('that a lower tier answers, and until when', async () => {
    const { call, begin, html } = await customer({ limitType: 'DOWNGRADE', limits: { premiumCalls: 1 } });
    await call();
    const text = words(await html());
    expect(text).toMatch(new RegExp(`Your plan's premium calls are used up: standard models answer until ${DAY}\\.`));
    expect(text).toContain('used up: standard models answer');
    expect(text).not.toContain('nothing left');
    expect((await begin()).allowed).toMatchObject({ standard: true, premium: false });
  });

  test('that calls are counted under the policy NONE', async () => {
    const { call, begin, html } = await customer({ limitType: 'NONE', limits: { premiumCalls: 1 } });
    await call();
    const text = words(await html());
    expect(text).toContain(
      "Your plan's premium calls are used up. There is no limit: further premium calls are counted.",
    );
    expect(text).toContain('Premium calls 1 / 1 used up: no limit, counted');
    expect((await begin()).allowed.premium).toBe(true);
  });

  test('that calls are denied, and until when', async () => {
    const { call, begin, html } = await customer({ limits: { premiumCalls: 1 } });
    await call();
    const text = words(await html());
    expect(text).toMatch(new RegExp(`Your plan's premium calls are used up: premium calls are denied until ${DAY}\\.`));
    expect(text).toContain('Premium calls 1 / 1 nothing left');
    expect(await begin()).toMatchObject({ allowed: { premium: false }, denial: { code: 'ALLOWANCE_EXHAUSTED' } });
  });

  test('of what a plan does not include that it is not in the plan, without a bar', async () => {
    const { html } = await customer({
      limits: { premiumCalls: 0, premiumTokens: 0, searches: 10 },
      features: { search: false },
    });
    const shown = await html();
    const text = words(shown);
    expect(text).toContain('Premium calls Not in your plan');
    expect(text).toContain('Searches Not in your plan');
    expect(text).not.toMatch(/Premium tokens|nothing left|denied|balance/);
    expect(shown).not.toContain('class="bar ');
    expect(words(await html({ variant: 'compact' }))).not.toContain('Not in your plan');
  });

  test('that a canceled subscription gets no calls', async () => {
    const { html, params, begin } = await customer({ limits: { premiumCalls: 5 }, payg: PAYG }, { usd: '3' });
    await operator.send('cancelCustomer', { params });
    const text = words(await html());
    expect(text).toMatch(new RegExp(`Team Canceled .*Your subscription was canceled on ${DAY}: calls are denied\\.`));
    expect(text).toContain('$3.00 balance');
    expect(text).not.toMatch(/\d left|pays/);
    expect((await begin()).denial?.code).toBe('SUBSCRIPTION_CANCELED');
  });
});

describe('the upgrade link', () => {
  let tenant: Tenant;
  const set = (upgradeUrl: unknown) =>
    operator.send('updateOrganization', { params: { org: tenant.organizationId }, body: { upgradeUrl } });
  beforeAll(async () => {
    tenant = await createTenant(operator, { name: 'Team', limitType: 'BLOCK' });
  });

  test('is what the organization names, opens a tab of its own without a way back, and goes with it', async () => {
    const { html, customerId } = await customer({}, { of: tenant });
    expect(await html()).not.toContain('Upgrade');
    expect((await set('https://shop.example/plans?from="widget"')).data.upgradeUrl).toContain('shop.example');
    expect(await html()).toContain(
      '<a class="upgrade" href="https://shop.example/plans?from=&quot;widget&quot;" target="_blank" rel="noopener noreferrer">',
    );
    const context = { params: { customerId }, query: { includeForecast: 'false' } };
    const { funding } = (await tenant.api.send('readUsageContext', context)).data;
    expect(funding.upgradeUrl).toContain('shop.example');
    expect((await set(null)).data.upgradeUrl).toBeNull();
    expect(await html()).not.toContain('Upgrade');
    expect((await tenant.api.send('readUsageContext', context)).data.funding).not.toHaveProperty('upgradeUrl');
  });

  test.each([
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'JaVaScRiPt://%0aalert(1)',
    'data:text/html,<script>alert(1)</script>',
    'http://shop.example/plans',
    'https:shop.example',
    'https://user:secret@shop.example/',
    'https://shop.example/a b',
    '/plans',
    '',
    `https://shop.example/${'x'.repeat(1_000)}`,
  ])('is never %j', async (url) => {
    const refused = await set(url);
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).toContain('upgradeUrl');
  });

  test('may be on the own machine', async () => {
    for (const url of ['http://localhost:3000/plans', 'http://127.0.0.1/plans'])
      expect((await set(url)).data.upgradeUrl).toBe(url);
  });
});

test('the usage context says the same of who pays next', async () => {
  const funding = { credits: true, payg: true };
  const overage = { model: 'SINGLE', priceUsd: '0.01', per: '1' };
  const { call, increment, customerId, tenant } = await customer(
    {
      limitType: 'DOWNGRADE',
      limits: { premiumCalls: 1, standardCalls: 5 },
      payg: PAYG,
      customMeters: { CUSTOM1: { label: 'Pages', included: 1, funding, overage } },
    },
    { usd: '1', units: 2 },
  );
  const read = async () =>
    (await tenant.api.send('readUsageContext', { params: { customerId }, query: { includeForecast: 'false' } })).data
      .funding;
  expect((await read()).next).toEqual([
    { of: 'standard', payer: 'ALLOWANCE' },
    { of: 'premium', payer: 'ALLOWANCE' },
    { of: 'customMeter1', payer: 'ALLOWANCE' },
  ]);
  await call();
  await increment(1);
  expect((await read()).next).toMatchObject([{}, { payer: 'BALANCE' }, { payer: 'PURCHASED_UNITS' }]);
  await call();
  await increment(4);
  expect(await read()).toMatchObject({ chargedUsd: 0.029, next: [{}, { payer: 'BALANCE' }, { payer: 'BALANCE' }] });
  await increment(200);
  expect((await read()).next).toEqual([
    { of: 'standard', payer: 'ALLOWANCE' },
    { of: 'premium', payer: 'NOBODY', reason: 'CREDIT_REQUIRED', instead: 'standard' },
    { of: 'customMeter1', payer: 'NOBODY', reason: 'CREDIT_REQUIRED' },
  ]);
});
