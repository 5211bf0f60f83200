/**
 * One word counts the same on every page of the console, and as many as the API says: calls, failed and denied calls.
 */
import { beforeAll, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { deliverToD1, operator } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

const MADE = { completed: 3, failed: 2, denied: 4 };
const ALL = MADE.completed + MADE.failed + MADE.denied;

let tenant: Tenant;
let visitor: Visitor;
const own = (path = '') => `/console/organizations/${tenant.organizationId}${path}`;

async function call(customerId: string, end: object | null): Promise<void> {
  const { callId } = (await tenant.api.send('beginCall', { body: { customerId, requested: { premium: true } } })).data;
  if (!end) return;
  const answer = await tenant.api.send('endCall', {
    body: { callId, inputTokens: 1_000, responseTokens: 100, ...end },
  });
  expect(answer.status).toBe(200);
}

/** The text of the figure with this label. */
function figure(html: string, label: string): string {
  const [, value = ''] = new RegExp(`<dt>${label}</dt><dd><span class="stat-value">(.*?)</span>`).exec(html) ?? [];
  return value.replaceAll(/<[^>]*>/g, '');
}

beforeAll(async () => {
  tenant = await createTenant(operator, {
    name: 'Free',
    limitType: 'BLOCK',
    limits: { premiumCalls: MADE.completed + MADE.failed },
  });
  const ended = { modelUsed: 'gpt-6-luna', isPremium: true };
  for (let n = 0; n < MADE.completed; n += 1) await call('ann', ended);
  for (let n = 0; n < MADE.failed; n += 1)
    await call('ann', { ...ended, error: { code: 'AWAY', message: 'the vendor was away' } });
  for (let n = 0; n < MADE.denied; n += 1) await call('ann', null);
  await deliverToD1(tenant.organizationId, 'ann');
  visitor = new Visitor();
  await visitor.signIn();
});

test('the overview, usage, and the list of calls count what the API counts', async () => {
  const { totals, byOutcome } = (
    await operator.send('readOrganizationUsage', { params: { org: tenant.organizationId } })
  ).data;
  const outcomes = Object.fromEntries(byOutcome.map(({ outcome, calls }) => [outcome, calls]));
  expect([totals.calls, outcomes]).toEqual([
    ALL,
    { COMPLETED: MADE.completed, FAILED: MADE.failed, NOT_ALLOWED: MADE.denied },
  ]);

  const overview = (await visitor.read('/console')).html;
  expect(['Calls', 'Failed calls', 'Denied calls'].map((label) => figure(overview, label))).toEqual([
    String(ALL),
    String(MADE.failed),
    String(MADE.denied),
  ]);

  const usage = await visitor.read(own());
  expect(figure(usage.html, 'Calls')).toBe(String(ALL));
  expect(usage.text).toContain(`${MADE.denied} denied`);
  for (const [name, calls] of [
    ['Completed', MADE.completed],
    ['Failed', MADE.failed],
    ['Denied', MADE.denied],
  ])
    expect(usage.text).toMatch(new RegExp(`${name} \\$[\\d.]+ [\\d.]+% · ${calls} calls`));

  const calls = await visitor.read(own('/calls'));
  expect([figure(calls.html, 'Calls'), figure(calls.html, 'Denied calls')]).toEqual([String(ALL), String(MADE.denied)]);
});

test('a denied call has one name, and so has the customer whose calls are denied', async () => {
  const { text } = await visitor.read(own('/calls?status=NOT_ALLOWED'));
  expect(text).toContain('State: Denied');
  expect(text).not.toContain('Not allowed');
  const customers = await visitor.read(own('/customers'));
  expect(customers.text).toMatch(/Denied in this usage period 1/);
  expect(customers.text).toContain('denied in this period');
  // The link leads to those of the period alone.
  expect(customers.html).toMatch(/status=NOT_ALLOWED&amp;from=\d{4}-[^"]+">denied in this period/);
});

test('each filter of customers names its time, and the failed calls that it leads to are of that time', async () => {
  const { text, html } = await visitor.read(own('/customers'));
  for (const filter of [
    'Denied in this usage period',
    'Failing in the last 7 days',
    'Unprofitable in the last 30 days',
    'Used a model that ends, in the last 30 days',
  ])
    expect(text).toContain(filter);
  const [, href = '', share] = /<a href="([^"]*status=FAILED[^"]*)">([\d.]+)% failed in 7 days/.exec(html) ?? [];
  expect(Number(share)).toBeCloseTo((100 * MADE.failed) / (MADE.completed + MADE.failed), 1);
  const failed = await visitor.read(href.replaceAll('&amp;', '&'));
  expect(figure(failed.html, 'Calls')).toBe(String(MADE.failed));
});
