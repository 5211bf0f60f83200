/**
 * A customer in the operator's hand: its page, credit, plan change with its preview, cancellation, erasure.
 */
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { formatUsd } from '../../src/domain/money.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { operator } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

const visitor = new Visitor();
let tenant: Tenant;
let org: string;
let customers: string;

beforeAll(async () => {
  await visitor.signIn();
  tenant = await createTenant(operator, { name: 'Small', limitType: 'BLOCK', limits: { premiumCalls: 10 } });
  org = tenant.organizationId;
  customers = `/console/organizations/${org}/customers`;
  const large = {
    name: 'Large',
    limitType: 'BLOCK',
    limits: { premiumCalls: 100 },
    replenish: { every: 1, unit: 'YEAR' },
  };
  await operator.send('putPlan', { params: { org, planId: 'large' }, body: large });
});

/** A customer with calls behind it. */
async function customerWith(calls: number, customerId = crypto.randomUUID()): Promise<string> {
  await tenant.api.send('provisionCustomer', { body: { customerId } });
  for (let call = 0; call < calls; call += 1) {
    const { callId } = (await tenant.api.send('beginCall', { body: { customerId, requested: { premium: true } } }))
      .data;
    await tenant.api.send('endCall', {
      body: { callId, modelUsed: 'anthropic/claude-opus-5-5', inputTokens: 10, responseTokens: 10 },
    });
  }
  return customerId;
}

const readState = async (customerId: string) =>
  (await operator.send('readCustomer', { params: { org, customerId } })).data;
const customerPath = (customerId: string) => `${customers}/${encodeURIComponent(customerId)}`;

async function events(customerId: string) {
  const { items } = (await operator.send('listEvents', { query: { organizationId: org, limit: '200' } })).data;
  return items.filter(({ subject }) => subject === customerId);
}

describe('the page of a customer', () => {
  const customerId = 'payg/1';
  const path = () => customerPath(customerId);
  /** The exact value of a figure of the headline. */
  const figure = (html: string, label: string) =>
    new RegExp(`<dt>${label}</dt><dd><span class="stat-value">(?:<a[^>]*>)?<data value="([^"]*)"`).exec(html)?.[1];
  const callIds: string[] = [];

  beforeAll(async () => {
    const payg = {
      name: 'Payg',
      limitType: 'BLOCK',
      limits: { premiumCalls: 2, audioSeconds: 0 },
      payg: { enabled: true, markupPercent: 50 },
    };
    await operator.send('putPlan', { params: { org, planId: 'payg' }, body: payg });
    const contact = { customerFriendlyName: 'Ada Ltd', customerEmail: 'ada@example.com' };
    await tenant.api.send('provisionCustomer', { body: { customerId, ...contact } });
    await operator.send('operatorChangePlan', { params: { org, customerId }, body: { planId: 'payg' } });
    await operator.send('grantCredit', {
      params: { org, customerId },
      body: { kind: 'USD', amountUsd: '12', reference: 'invoice 9' },
    });
    for (const modelUsed of ['unknown/model', ...Array.from({ length: 3 }, () => 'anthropic/claude-opus-5-5')]) {
      const begin = { customerId, feature: 'chat', requested: { premium: true } };
      const { callId } = (await tenant.api.send('beginCall', { body: begin })).data;
      await tenant.api.send('endCall', { body: { callId, modelUsed, inputTokens: 1_000, responseTokens: 500 } });
      callIds.push(callId);
    }
    await vi.waitFor(
      async () => {
        expect((await summary()).totals.calls).toBe(4);
        expect((await readState(customerId)).wallet.openCharges).toBe(0);
      },
      { timeout: 60_000, interval: 500 },
    );
  });

  const summary = async () => (await tenant.api.send('readUsageSummary', { query: { customerId } })).data;

  test('shows cost, charges, margin and calls without a price as the API has them', async () => {
    const { html, text } = await visitor.read(path());
    const { totals } = await summary();
    const calls = await Promise.all(
      callIds.map(async (callId) => (await tenant.api.send('readCall', { params: { callId } })).data),
    );
    const charged = calls.reduce((sum, { payg }) => sum + BigInt(payg.chargeNanoUsd ?? 0), 0n);
    expect(charged).toBeGreaterThan(0n);
    expect(figure(html, 'Cost')).toBe(formatUsd(BigInt(totals.costUsdNano)));
    expect(figure(html, 'Charged')).toBe(formatUsd(charged));
    expect(figure(html, 'Margin')).toBe(formatUsd(charged - BigInt(totals.costUsdNano)));
    expect(text).toContain('no price set');
    expect(totals.unpricedCalls).toBe(1);
    expect(text).toContain('1 call without a price');
    expect(html).toMatch(/calls\?customerId=payg%2F1&amp;priced=false&amp;from=/);
    // Another period is empty, and the address names it.
    const yesterday = await visitor.read(`${path()}?period=yesterday`);
    expect(figure(yesterday.html, 'Cost')).toBe('0');
    expect(yesterday.text).toContain('No calls in this period');
    expect(figure((await visitor.read(`${path()}?period=usage`)).html, 'Cost')).toBe(figure(html, 'Cost'));
  });

  test('says who it is, and leads to its plan and version', async () => {
    const { html, text } = await visitor.read(path());
    expect(text).toContain('Ada Ltd payg/1 · ada@example.com · Payg , version 1');
    const plan = `/console/organizations/${org}/plans/payg`;
    expect(html).toContain(`href="${plan}"`);
    expect(html).toContain(`href="${plan}?version=1"`);
  });

  test('says what pays next, and draws no bar of what the plan does not include', async () => {
    const { html, text } = await visitor.read(path());
    const { wallet } = await readState(customerId);
    expect(text).toContain('The allowance of premium calls is used up: the balance of $');
    expect(html).toContain(`Balance <data value="${wallet.balanceUsd}"`);
    expect(text).toContain('Not in the plan: audio seconds.');
    expect(html).not.toMatch(/meter-name">Audio seconds/);
  });

  test('leads from the chart, a model and a feature to the calls', async () => {
    const { html } = await visitor.read(path());
    const calls = `/console/organizations/${org}/calls?customerId=payg%2F1&amp;`;
    expect(html).toContain(`${calls}model=anthropic%2Fclaude-opus-5-5&amp;from=`);
    expect(html).toContain(`${calls}feature=chat&amp;from=`);
    expect(html).toContain(`${calls}from=`);
  });

  test('has a tab for calls, the wallet, changes and settings, each with an address of its own', async () => {
    const tabs = {
      calls: ['unknown/model', 'Filter, sort and download'],
      wallet: ['invoice 9', 'Spent'],
      changes: ['All events of this customer'],
      settings: ['Cancel subscription', 'Reverse increment', 'Erase customer', 'ada@example.com'],
    };
    for (const [tab, texts] of Object.entries(tabs)) {
      const { html, text } = await visitor.read(`${path()}?tab=${tab}`);
      expect(html).toContain(`${path()}?tab=${tab}" aria-current="page"`);
      for (const said of texts) expect([tab, text.includes(said)]).toEqual([tab, true]);
    }
    expect((await visitor.read(`${path()}?tab=none`)).html).toContain(`href="${path()}" aria-current="page"`);
    expect((await visitor.send(`${customerPath('nobody')}?tab=calls`)).status).toBe(404);
  });

  test('the ledger leads to the calls that were charged and to the credit that paid', async () => {
    const { ledger, credits } = await readState(customerId);
    const charged = ledger.filter(({ cause }) => cause === 'SPEND');
    expect(charged.map(({ subject }) => subject)).toEqual(
      callIds
        .slice(2)
        .toReversed()
        .map((id) => ({ kind: 'call', id })),
    );
    const { html } = await visitor.read(`${path()}?tab=wallet`);
    for (const { subject } of charged)
      expect(html).toContain(`href="/console/organizations/${org}/calls/${encodeURIComponent(subject?.id ?? '')}"`);
    expect(html).toContain(`href="#credit-${credits[0]?.creditId}"`);
    expect(html).toContain(`id="credit-${credits[0]?.creditId}"`);
  });
});

describe('credit', () => {
  test('is granted once, in dollars or in units', async () => {
    const path = customerPath(await customerWith(0, 'wallet/ü'));
    const values = await visitor.form(`${path}/credit`, `${path}/credit`, {
      kind: 'USD',
      amountUsd: '$25.50',
      reference: 'invoice 7',
    });
    for (let sent = 0; sent < 3; sent += 1) expect((await visitor.post(`${path}/credit`, values)).status).toBe(303);
    expect((await readState('wallet/ü')).wallet.balanceUsd).toBe('25.5');
    const units = { kind: 'METER', meterSlot: 'CUSTOM2', units: '1,000', expiresAt: '2999-01-01T00:00' };
    expect((await visitor.submit(`${path}/credit`, `${path}/credit`, units)).status).toBe(303);
    const { wallet, credits } = await readState('wallet/ü');
    expect(wallet.units.CUSTOM2).toBe(1_000);
    expect(credits.find(({ unit }) => unit === 'CUSTOM2')?.expiresAt).toBe('2999-01-01T00:00:00.000Z');
    const { text } = await visitor.read(`${path}?tab=wallet`);
    expect(text).toContain('$25.50');
    expect(text).toContain('invoice 7');
    expect((await events('wallet/ü')).map(({ actor, action }) => [actor, action])).toEqual([
      ['console', 'credit.grant'],
      ['console', 'credit.grant'],
    ]);
  });

  test('is taken back with a reason', async () => {
    const customerId = await customerWith(0);
    const path = customerPath(customerId);
    await operator.send('grantCredit', { params: { org, customerId }, body: { kind: 'USD', amountUsd: '250' } });
    const { creditId } = (await readState(customerId)).credits[0] ?? {};
    const revoke = `${path}/credits/${creditId}/revoke`;
    expect((await visitor.read(`${path}?tab=wallet`)).html).toContain(`href="${revoke}"`);
    expect((await visitor.submit(revoke, revoke, { reason: '' })).status).toBe(400);
    expect((await visitor.submit(revoke, revoke, { reason: 'a zero too many' })).status).toBe(303);
    expect((await readState(customerId)).wallet.balanceUsd).toBe('0');
    expect((await visitor.read(`${path}?tab=wallet`)).text).toContain('a zero too many');
    expect((await events(customerId)).map(({ actor, action }) => [actor, action])).toContainEqual([
      'console',
      'credit.revoke',
    ]);
  });

  test('says which field is wrong', async () => {
    const path = customerPath(await customerWith(0));
    const cases = [
      [{ kind: 'USD', amountUsd: '' }, 'f-amountUsd', 'Amount, USD: is required'],
      [{ kind: 'USD', amountUsd: 'ten' }, 'f-amountUsd', 'must be a decimal number of USD'],
      [{ kind: 'USD', amountUsd: '0' }, 'f-amountUsd', 'must be above 0'],
      [{ kind: 'METER', meterSlot: 'CUSTOM1', units: '1.5' }, 'f-units', 'must be a whole number, such as 100'],
      [{ kind: 'USD', amountUsd: '1', expiresAt: '31.12.2999' }, 'f-expiresAt', 'must be a date and time'],
    ] as const;
    for (const [values, id, rule] of cases) {
      const { status, html, text } = await visitor.submit(`${path}/credit`, `${path}/credit`, values);
      expect([values, status, html.includes(`href="#${id}"`), text.includes(rule)]).toEqual([values, 400, true, true]);
    }
  });
});

describe('a plan change', () => {
  const preview = (path: string, strategy: string, planId = 'large') =>
    visitor.read(`${path}/plan?planId=${planId}&strategy=${strategy}`);

  test.each([
    ['IMMEDIATE_PRORATED', 'Premium calls 3 7 of 10 97 of 100', 'as before'],
    ['IMMEDIATE_RESET', 'Premium calls 3 7 of 10 100 of 100', 'instead of'],
    ['AT_NEXT_REPLENISH', 'Premium calls 3 7 of 10 100 of 100', 'instead of'],
  ])('by %s has the result that its preview showed', async (strategy, left, renewal) => {
    const customerId = await customerWith(3);
    const path = customerPath(customerId);
    const before = await readState(customerId);
    const { text } = await preview(path, strategy);
    expect(text).toContain(left);
    expect(text).toContain(renewal);
    expect(await readState(customerId)).toEqual(before);

    const [, promised = ''] = /Next renewal (\d+ \w+ \d{4}, \d\d:\d\d) UTC/.exec(text) ?? [];
    const values = await visitor.form(`${path}/plan?planId=large&strategy=${strategy}`, `${path}/plan`);
    for (let sent = 0; sent < 2; sent += 1) expect((await visitor.post(`${path}/plan`, values)).status).toBe(303);
    const after = await readState(customerId);
    const shown = (await visitor.read(path)).text;
    if (strategy === 'AT_NEXT_REPLENISH') {
      expect(after.subscription.pending?.usagePlanVersionId).toBe('large:v1');
      expect(after.meters).toEqual(before.meters);
      expect(shown).toContain('A plan change is scheduled');
    } else {
      expect(left.endsWith(`${after.meters.premiumCalls?.remaining} of 100`)).toBe(true);
      expect(shown).toContain(`renews ${promised} UTC`);
    }
    expect((await events(customerId)).map(({ actor, action }) => [actor, action])).toEqual([
      ['console', 'customer.change_plan'],
    ]);
  });

  test('that changes nothing says so, and offers nothing', async () => {
    const path = customerPath(await customerWith(0));
    const { text, html } = await preview(path, 'IMMEDIATE_PRORATED', 'test');
    expect(text).toContain('is on test:v1 already');
    expect(html.includes('type="hidden" name="strategy"')).toBe(false);
    expect((await preview(path, 'IMMEDIATE_RESET', 'test')).text).toContain('Change the plan now');
  });

  test('to a plan or by a strategy that does not exist is refused', async () => {
    const customerId = await customerWith(0);
    const path = customerPath(customerId);
    for (const query of [
      'planId=none&strategy=IMMEDIATE_RESET',
      'planId=large&strategy=SOON',
      'planId=&strategy=IMMEDIATE_RESET',
    ]) {
      expect((await visitor.send(`${path}/plan?${query}`)).status).toBe(400);
    }
    const values = await visitor.form(`${path}/plan?planId=large&strategy=IMMEDIATE_RESET`, `${path}/plan`);
    expect((await visitor.post(`${path}/plan`, { ...values, planId: 'none' })).text).toContain('no such plan');
    expect((await visitor.send(`${customerPath('nobody')}/plan?planId=large`)).status).toBe(404);
  });
});

describe('a subscription', () => {
  test('is canceled and reactivated', async () => {
    const customerId = await customerWith(0);
    const path = customerPath(customerId);
    expect((await visitor.submit(`${path}/cancel`, `${path}/cancel`)).headers.get('Location')).toBe(
      `${path}?tab=settings&done=canceled`,
    );
    expect((await readState(customerId)).canceled).toBe(true);
    expect((await visitor.read(path)).text).toContain('canceled');
    expect((await visitor.submit(`${path}/reactivate`, `${path}/reactivate`)).status).toBe(303);
    expect((await readState(customerId)).canceled).toBe(false);
    const values = await visitor.form(`${path}/cancel`, `${path}/cancel`);
    expect((await visitor.post(`${customerPath('nobody')}/cancel`, values)).status).toBe(404);
  });
});

describe('an erasure', () => {
  test('needs the exact customer id to be typed', async () => {
    const customerId = await customerWith(1, 'Erase me');
    const path = customerPath(customerId);
    for (const confirmation of ['', 'erase me', 'yes']) {
      const { status, text } = await visitor.submit(`${path}/erase`, `${path}/erase`, { confirmation });
      expect([confirmation, status, text.includes('must be Erase me')]).toEqual([confirmation, 400, true]);
    }
    expect((await readState(customerId)).customerId).toBe(customerId);
    const values = await visitor.form(`${path}/erase`, `${path}/erase`, { confirmation: customerId });
    expect((await visitor.post(`${path}/erase`, values)).text).toContain('The customer is erased');
    // Sent again, it reports the earlier result.
    expect((await visitor.post(`${path}/erase`, values)).text).toContain('The customer is erased');
    expect((await visitor.send(path)).status).toBe(404);
    expect((await events(customerId)).map(({ actor, action }) => [actor, action])).toEqual([
      ['console', 'customer.erase'],
    ]);
  });
});

describe('the list of customers', () => {
  test('is searched, filtered by plan, and read in pages', async () => {
    const ids = Array.from({ length: 53 }, (_, index) => `list-${String(index).padStart(2, '0')}`);
    for (const customerId of ids) await tenant.api.send('provisionCustomer', { body: { customerId } });
    const read = (query: string) => visitor.read(`${customers}?${query}`);
    await expect
      .poll(async () => (await read('search=list-5')).text, { timeout: 60_000 })
      .toMatch(/list-50.*list-51.*list-52/);
    expect((await read('search=list-5&planId=large')).text).toContain('No customers match');
    expect((await read('search=list-5&planId=test')).text).toContain('list-52');
    await expect
      .poll(async () => (await read('search=list-')).text.match(/list-\d\d/g)?.length, { timeout: 60_000 })
      .toBe(50);
    const { html } = await read('search=list-');
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(html) ?? [];
    const second = await visitor.read(next.replaceAll('&amp;', '&'));
    expect(second.text.match(/list-\d\d/g)).toEqual(['list-50', 'list-51', 'list-52']);
  });
});
