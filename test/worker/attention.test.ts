/**
 * Items that need attention: each count equals that of the list that it links to, in the API and in the console; an
 * item that cannot be read is named, and the rest is shown. An unknown price is never shown as zero.
 */

import { createExecutionContext, runDurableObjectAlarm } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { findWebhook, switchWebhookOff } from '../../src/config/webhooks.ts';
import type { Attention, AttentionKind } from '../../src/contract/attention.ts';
import { ATTENTION_KINDS } from '../../src/contract/attention.ts';
import { asCustomerId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import { insertOrganizationEvents } from '../../src/history/organization-events.ts';
import { newEventId } from '../../src/platform/event-id.ts';
import { createTenant, OPERATOR_TOKEN, type Tenant } from '../support/api.ts';
import { bindings, deliverToD1, operator, worker } from '../support/worker.ts';
import { ORIGIN, Visitor } from './console-visitor.ts';

const DAY = 86_400_000;
const PLAN = { name: 'Free', limitType: 'BLOCK', limits: { premiumCalls: 5 } };
/** As the test makes them. */
const EXPECTED: Partial<Record<AttentionKind, number>> = {
  UNPRICED_CALLS: 3,
  ENDING_MODELS: 1,
  CUSTOMERS_NEAR_LIMIT: 2,
  DENIED_CALLS: 2,
  FAILED_CHARGES: 2,
  ANOMALIES: 1,
  FAILING_WEBHOOKS: 1,
};

let tenant: Tenant;
let quiet: Tenant;
let visitor: Visitor;
const own = (path = '') => `/console/organizations/${tenant.organizationId}${path}`;

async function call(customerId: string, end: object | null, requested = {}): Promise<string> {
  const { callId } = (await tenant.api.send('beginCall', { body: { customerId, requested, feature: 'chat' } })).data;
  if (end) await tenant.api.send('endCall', { body: { callId, inputTokens: 1_000, responseTokens: 100, ...end } });
  return callId;
}

/** The data of the events of the two counted kinds. */
const FAILED_CHARGE = { chargeId: 'charge', subject: 'call', subjectId: 'call', amountUsd: '1.00', reason: 'refused' };
const ANOMALY = { summary: 'Spent more than usual.' };

beforeAll(async () => {
  tenant = await createTenant(operator, PLAN);
  quiet = await createTenant(operator, PLAN);
  const { organizationId } = tenant;
  await operator.send('updateOrganization', { params: { org: organizationId }, body: { name: 'Busy' } });
  await operator.send('updateOrganization', { params: { org: quiet.organizationId }, body: { name: 'Quiet' } });
  // One is denied twice, one is at four fifths, and one is far from its limit.
  for (let n = 0; n < 5; n += 1) await call('full', { modelUsed: 'gpt-6-luna', isPremium: true }, { premium: true });
  for (let n = 0; n < 2; n += 1) await call('full', null, { premium: true });
  for (let n = 0; n < 4; n += 1) await call('near', { modelUsed: 'gpt-4o-mini', isPremium: true }, { premium: true });
  await call('far', { modelUsed: 'house-model' });
  await call('far', { modelUsed: 'house-model' });
  await call('other', { modelUsed: 'another-model' });
  const { callId } = (await quiet.api.send('beginCall', { body: { customerId: 'calm', feature: 'chat' } })).data;
  const used = { modelUsed: 'gpt-6-luna', inputTokens: 1_000, responseTokens: 100 };
  await quiet.api.send('endCall', { body: { callId, ...used } });
  await deliverToD1(quiet.organizationId, 'calm');
  // Counts no longer.
  const reversed = await call('other', { modelUsed: 'another-model' });
  await tenant.api.send('reverseCall', { params: { callId: reversed }, body: { reason: 'a test' } });
  for (const customerId of ['full', 'near', 'far', 'other']) await deliverToD1(organizationId, customerId);
  const event = (type: string, agoMs: number) => {
    const atMs = Date.now() - agoMs;
    return {
      eventId: newEventId(atMs),
      type,
      atMs,
      customerId: asCustomerId('far'),
      data: { customerId: 'far', ...(type === 'anomaly.detected' ? ANOMALY : FAILED_CHARGE) },
    };
  };
  await insertOrganizationEvents(bindings, organizationId, [
    event('charge.failed', 3 * DAY),
    event('charge.failed', 6 * DAY),
    event('charge.failed', 8 * DAY),
    event('anomaly.detected', DAY),
    event('anomaly.detected', 3 * DAY),
  ]);
  for (const webhookId of ['gone', 'fine'])
    await operator.send('putWebhook', {
      params: { org: organizationId, webhookId },
      body: { url: `https://example.com/${webhookId}` },
    });
  const gone = await findWebhook(bindings, { organizationId, webhookId: 'gone' });
  if (!gone) throw new Error('the webhook was registered');
  const atMs = Date.now();
  await switchWebhookOff(bindings, gone, { reason: 'GONE', atMs, eventId: newEventId(atMs), correlationId: 'test' });
  visitor = new Visitor();
  await visitor.signIn();
});

const read = async (organizationId?: string): Promise<Attention> =>
  (await operator.send('readAttention', { query: organizationId === undefined ? {} : { organizationId } })).data;

/** The items of a list of the API; for webhooks, the disabled ones. */
async function listed(path: string): Promise<unknown[]> {
  const response = await worker.fetch(ORIGIN + path, { headers: { Authorization: `Bearer ${OPERATOR_TOKEN}` } });
  const { data } = (await response.json()) as { data: { items: { disabled?: unknown }[] } };
  return path.endsWith('/webhooks') ? data.items.filter(({ disabled }) => disabled !== null) : data.items;
}

describe('a count', () => {
  test('is that of the list of the API, of the organization that has something alone', async () => {
    for (const attention of [await read(), await read(tenant.organizationId)]) {
      const items = attention.items.filter(({ organizationId }) => organizationId !== null);
      expect(Object.fromEntries(items.map(({ kind, count }) => [kind, count]))).toEqual(EXPECTED);
      for (const { kind, organizationId, organizationName, list, count, isMore } of items) {
        expect([kind, organizationId, organizationName, isMore]).toEqual([kind, tenant.organizationId, 'Busy', false]);
        expect([kind, (await listed(list)).length]).toEqual([kind, count]);
      }
      expect(attention.notRead).toEqual([]);
      expect(attention.lookedAt.kinds).toEqual([...ATTENTION_KINDS]);
    }
    expect((await read()).lookedAt.organizations).toBe(2);
    expect((await read(quiet.organizationId)).items.filter((item) => item.organizationId !== null)).toEqual([]);
    const nobody = { organizationId: crypto.randomUUID() };
    expect((await operator.send('readAttention', { query: nobody })).status).toBe(404);
  });

  test('is that of the page that its line leads to', async () => {
    for (const path of ['/console', own()]) {
      const { html } = await visitor.read(path);
      const card = /<section[^>]*id="attention"[\s\S]*?<\/section>/.exec(html)?.[0] ?? '';
      const lines = [...card.matchAll(/<li><strong><a href="([^"]+)">(?:More than )?([\d,]+) /g)];
      const links = lines.map(([, href = '', count]) => [href.replaceAll('&amp;', '&'), Number(count)] as const);
      const ofOrganization = links.filter(([href]) => href.includes(`/organizations/${tenant.organizationId}/`));
      expect(ofOrganization.map(([, count]) => count)).toEqual(Object.values(EXPECTED));
      for (const [href, count] of ofOrganization) {
        const page = await visitor.read(href);
        expect([href, await countOn(href, page.html)]).toEqual([href, count]);
      }
    }
  });

  /** Rows of the list; of calls without a price, the calls of all models. */
  async function countOn(href: string, html: string): Promise<number> {
    const rows = [...html.matchAll(/<tr role="row">([\s\S]*?)<\/tr>/g)].map(([, row = '']) => row).slice(1);
    if (!href.endsWith('/unpriced')) return rows.length;
    return rows.reduce((sum, row) => sum + Number(/aria-label="(\d+) call/.exec(row)?.[1]), 0);
  }

  test('of calls without a price is the sum of the lists that the models lead to', async () => {
    const { html } = await visitor.read(own('/unpriced'));
    const links = [...html.matchAll(/<a href="([^"]+)" aria-label="(\d+) calls? without a price of ([^"]+)"/g)];
    expect(links.map(([, , count, name]) => [name, count])).toEqual([
      ['house-model', '2'],
      ['another-model', '1'],
    ]);
    for (const [, href = '', count] of links) {
      const page = await visitor.read(href.replaceAll('&amp;', '&'));
      expect(page.html.match(/<tr role="row">/g)?.length).toBe(1 + Number(count));
    }
  });
});

test('if nothing is counted, it says so, and what was looked for', async () => {
  const { text } = await visitor.read(`/console/organizations/${quiet.organizationId}`);
  expect(text).toMatch(
    /Nothing needs attention\. Looked for calls without a price, models that end, .* of the service\./,
  );
});

test('a reading that fails is said, and neither the others nor the page fail', async () => {
  const env: Env = {
    ...bindings,
    WEBHOOK_ENDPOINTS: {
      getByName: () => {
        throw new Error('no such object now');
      },
    } as unknown as Env['WEBHOOK_ENDPOINTS'],
  };
  const fetchFrom = async (path: string, headers: Record<string, string>) =>
    createApp().fetch(new Request(ORIGIN + path, { headers }), env, createExecutionContext());
  const answer = await fetchFrom('/operator/attention', { Authorization: `Bearer ${OPERATOR_TOKEN}` });
  const { data } = (await answer.json()) as { data: Attention };
  expect(data.notRead).toEqual([
    { kind: 'FAILING_WEBHOOKS', organizationId: expect.any(String) },
    { kind: 'FAILING_WEBHOOKS', organizationId: expect.any(String) },
  ]);
  expect(data.items.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['UNPRICED_CALLS', 'DENIED_CALLS']));
  for (const path of ['/console', own()]) {
    const page = await fetchFrom(path, { Cookie: visitor.cookie });
    const html = await page.text();
    expect([page.status, html.includes('failing webhooks. They may need attention too.')]).toEqual([200, true]);
    expect(html).toContain('3 calls without a price');
  }
});

describe('an unknown price', () => {
  let only: Tenant;

  beforeAll(async () => {
    only = await createTenant(operator, { name: 'P', limitType: 'NONE' });
    const { callId } = (await only.api.send('beginCall', { body: { customerId: 'alice', feature: 'chat' } })).data;
    await only.api.send('endCall', { body: { callId, modelUsed: 'house-model', inputTokens: 10, responseTokens: 10 } });
    await deliverToD1(only.organizationId, 'alice');
  });

  test('is no zero: not in the totals, charts and rankings of usage, nor over a list of calls', async () => {
    const organization = `/console/organizations/${only.organizationId}`;
    const usage = await visitor.read(organization);
    expect(usage.text).toMatch(/Cost no price 1 call without a price/);
    for (const ranking of ['By model', 'By feature', 'By customer']) {
      const [, list = ''] =
        new RegExp(`<ol class="ranking" aria-label="${ranking}">([\\s\\S]*?)</ol>`).exec(usage.html) ?? [];
      expect([ranking, list.includes('no price'), list.includes('$0')]).toEqual([ranking, true, false]);
    }
    // Days without calls did cost nothing; the one with the call is not among them.
    const [, figures = ''] =
      /<caption class="unseen">Cost per day<\/caption>([\s\S]*?)<\/table>/.exec(usage.html) ?? [];
    const last = [...figures.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].at(-1)?.[1] ?? '';
    expect([last.includes('no price (1 call)'), last.split('Period before')[0]?.includes('>$0.00<')]).toEqual([
      true,
      true,
    ]);
    const calls = await visitor.read(`${organization}/calls?priced=false`);
    expect(calls.text).toMatch(/Cost no price 1 call without a price/);
    expect(calls.text).not.toContain('$0.00');
  });

  test('is no zero in the list of organizations, and stands beside what is known', async () => {
    const { html, text } = await visitor.read('/console');
    const rows = [...html.matchAll(/<tr role="row">([\s\S]*?)<\/tr>/g)].map(([, row = '']) => row);
    const row = rows.find((one) => one.includes(only.organizationId)) ?? '';
    expect([row.includes('no price'), row.includes('1 call without a price'), row.includes('$0')]).toEqual([
      true,
      true,
      false,
    ]);
    expect(text).toMatch(/Cost \$0\.0\d+ \+ 4 calls without a price/);
  });
});

test('a ranking shows models without a price, however many have a cost', async () => {
  const many = await createTenant(operator, { name: 'P', limitType: 'NONE' });
  const models = [
    'gpt-5',
    'gpt-4o',
    'gpt-4o-mini',
    'gpt-4.1',
    'gpt-4.1-mini',
    'gpt-4.1-nano',
    'o3',
    'gpt-5-mini',
    'gpt-5-nano',
    'gpt-6-luna',
  ];
  for (const modelUsed of [...models, 'house-model']) {
    const { callId } = (await many.api.send('beginCall', { body: { customerId: 'alice' } })).data;
    await many.api.send('endCall', { body: { callId, modelUsed, inputTokens: 1_000, responseTokens: 10 } });
  }
  await deliverToD1(many.organizationId, 'alice');
  const { html } = await visitor.read(`/console/organizations/${many.organizationId}`);
  const [, list = ''] = /<ol class="ranking" aria-label="By model">([\s\S]*?)<\/ol>/.exec(html) ?? [];
  expect(list).toContain('house-model');
});

test('a price is set and the calls are repriced, from the page of calls without a price', async () => {
  const { html } = await visitor.read(own('/unpriced'));
  const [, setPrice = ''] = /<a class="button" href="([^"]+modelKey=house-model#set-price)"/.exec(html) ?? [];
  expect((await visitor.read(setPrice.split('#')[0] ?? '')).html).toMatch(/name="modelKey"[^>]*value="house-model"/);
  const [, preview = ''] = /<form method="post" action="([^"]+reprice\?modelKey=house-model[^"]*)"/.exec(html) ?? [];

  const startAction = async (page: string, action: string): Promise<string> => {
    const form = await visitor.form(page, action);
    const started = await visitor.post(action.replaceAll('&amp;', '&'), form);
    expect(started.status).toBe(303);
    const path = started.headers.get('Location') ?? '';
    const job = bindings.REPRICINGS.getByName(path.split('/').at(-1) ?? '');
    for (let round = 0; round < 5; round += 1) await runDurableObjectAlarm(job);
    return path;
  };
  const without = await startAction(own('/unpriced'), preview);
  expect((await visitor.read(without)).text).toContain('No call would get a price');

  await operator.send('setPrice', {
    params: { org: tenant.organizationId, modelKey: 'house-model' },
    body: { inputUsdPerMillion: 1, outputUsdPerMillion: 2 },
  });
  const previewed = await startAction(own('/unpriced'), preview);
  const shown = await visitor.read(previewed);
  expect(shown.text).toContain('Reprice 2 calls');
  expect((await visitor.read(own('/unpriced'))).html).toContain('2 calls without a price of house-model');
  const [, action = ''] =
    /<form method="post" action="([^"]+\/reprice\?modelKey=house-model[^"]*)"/.exec(shown.html) ?? [];
  const done = await startAction(previewed, action);
  expect((await visitor.read(done)).text).toContain('The calls have their price');
  await deliverToD1(tenant.organizationId, 'far');
  expect((await visitor.read(own('/unpriced'))).html).not.toContain('house-model');
  expect((await read(tenant.organizationId)).items.find(({ kind }) => kind === 'UNPRICED_CALLS')?.count).toBe(1);
});
