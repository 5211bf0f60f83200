/**
 * Changes on the console: the author of each change, on the page of a plan, a key, a webhook and the mappings, and in
 * the log with its filters and pages.
 */
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { operator } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

const visitor = new Visitor();
let tenant: Tenant;
let org: string;
let base: string;
let keyId: string;

const PLAN = { name: 'Team', limitType: 'BLOCK', limits: { premiumCalls: 500 } } as const;

beforeAll(async () => {
  await visitor.signIn();
  tenant = await createTenant(operator);
  org = tenant.organizationId;
  base = `/console/organizations/${org}`;
  const params = { org, planId: 'team' };
  expect((await operator.send('putPlan', { params, body: PLAN })).body).toMatchObject({ data: { version: 1 } });
  expect(
    (await operator.send('putPlan', { params, body: { ...PLAN, limits: { premiumCalls: 600 } } })).data.version,
  ).toBe(2);
  // A customer with the id of the plan.
  const customer = { customerId: 'team', customerFriendlyName: 'The Team' };
  await operator.send('operatorCreateCustomer', { params: { org }, body: customer });
  // Lists follow the customer's object.
  await vi.waitFor(async () => expect((await visitor.read(`${base}/customers`)).text).toContain('The Team'), 60_000);
  const key = await operator.send('createKey', {
    params: { org },
    body: { name: 'web-prod', scopes: ['usage:write'] },
  });
  keyId = key.data.keyId;
  await operator.send('updateKey', { params: { org, keyId }, body: { models: ['openai/gpt-5.1'] } });
  const models = { standard: ['openai/gpt-5.1'], premium: [] };
  await operator.send('setModels', { params: { org }, body: models });
  const webhook = { url: 'https://hooks.example.com/a', types: ['call.denied'] as ['call.denied'] };
  await operator.send('putWebhook', { params: { org, webhookId: 'billing' }, body: webhook });
});

describe('a page shows its own changes', () => {
  test('of a plan: what changed, in which version, and by whom; nothing of a customer with the same id', async () => {
    const { text, html } = await visitor.read(`${base}/plans/team`);
    expect(text).toContain('Premium calls 500 → 600 on Team ( version 2 ), by the operator token');
    expect(text).toContain('Created the plan Team ( version 1 )');
    expect(text).not.toContain('Created the customer');
    expect(html).toContain(`href="${base}/plans/team?version=1"`);
  });

  test('of a plan in any version, which says that it is not the newest', async () => {
    const old = await visitor.read(`${base}/plans/team?version=1`);
    expect(old.text).toContain('This is version 1.');
    expect(old.text).toContain('Premium calls 500');
    expect((await visitor.read(`${base}/plans/team`)).text).not.toContain('This is version');
    for (const version of ['9', 'x', '']) {
      const shown = await visitor.send(`${base}/plans/team?version=${version}`);
      expect([version, shown.status]).toEqual([version, 404]);
    }
  });

  test('of a key, also after it is revoked', async () => {
    const page = `${base}/keys/${keyId}`;
    const { text } = await visitor.read(page);
    expect(text).toContain('Created the API key web-prod with usage:write');
    expect(text).toContain('Only these models any → openai/gpt-5.1 on the API key web-prod');
    const other = await operator.send('createKey', { params: { org }, body: { name: 'gone' } });
    await operator.send('revokeKey', { params: { org, keyId: other.data.keyId } });
    expect((await visitor.read(`${base}/keys/${other.data.keyId}`)).text).toContain('Revoked the API key gone');
  });

  test('of a webhook, and of the mappings, whose models link', async () => {
    const webhook = await visitor.read(`${base}/webhooks/billing`);
    expect(webhook.text).toContain('Added the webhook https://hooks.example.com for Call denied');
    const models = await visitor.read(`${base}/models`);
    expect(models.text).toContain('Mapped standard to openai/gpt-5.1');
    expect(models.html).toContain('href="/console/catalog/models/openai/gpt-5.1');
  });
});

describe('the log', () => {
  const countChanges = (html: string) => html.split('<li').filter((part) => part.includes(', by')).length;

  test('names customers and plans, and links what a sentence names', async () => {
    const { text, html } = await visitor.read(`${base}/events`);
    expect(text).toContain('Created the customer The Team on Test version 1 , by the operator token');
    expect(html).toContain(`href="${base}/customers/team"`);
    expect(html).toContain(`href="${base}/keys/${keyId}"`);
    expect(html).toContain(`href="${base}/webhooks/billing"`);
  });

  test.each([
    ['kind=key', 'Created the API key web-prod', 'on Team ( version 2 )'],
    ['action=plan.put', 'on Team ( version 2 )', 'Created the API key'],
    ['subject=team&kind=customer', 'Created the customer The Team', 'on Team ( version 2 )'],
    ['subject=team', 'on Team ( version 2 )', 'Created the API key'],
    ['actor=operator', 'Created the API key web-prod', 'No changes match'],
    ['actor=anna%40example.com', 'No changes match', 'Created'],
    ['kind=key&action=plan.put', 'No changes match', 'Created'],
    ['to=2020-01-01T00%3A00', 'No changes match', 'Created'],
    ['from=2020-01-01T00%3A00', 'Created the API key web-prod', 'No changes match'],
  ])('narrowed by %s has only that, and a chip for each filter', async (query, has, hasNot) => {
    const { text, html } = await visitor.read(`${base}/events?${query}`);
    expect(text).toContain(has);
    expect(text).not.toContain(hasNot);
    expect(html.split('Remove filter').length - 1).toBe(query.split('&').length);
  });

  test('of the service is narrowed by organization too, and names it', async () => {
    const other = await createTenant(operator);
    const { text } = await visitor.read(`/console/events?organizationId=${org}&kind=key`);
    expect(text).toContain('web-prod');
    const none = await visitor.read(`/console/events?organizationId=${other.organizationId}&subject=team`);
    expect(none.text).toContain('No changes match');
  });

  test('of an organization has nothing of another one, whatever the address asks for', async () => {
    const other = await createTenant(operator);
    const { text } = await visitor.read(`/console/organizations/${other.organizationId}/events?organizationId=${org}`);
    expect(text).not.toContain('web-prod');
  });

  test('has pages that keep the filter, and lead back', async () => {
    const names = Array.from({ length: 43 }, (_, number) => `paged-${number}`);
    const own = await createTenant(operator);
    const params = { org: own.organizationId };
    for (const name of names) await operator.send('createKey', { params, body: { name } });
    const first = await visitor.read(`/console/organizations/${own.organizationId}/events?action=key.create`);
    expect(countChanges(first.html)).toBe(40);
    const next = /rel="next" href="([^"]*)"/.exec(first.html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const second = await visitor.read(next);
    // The tenant came with a key.
    expect([countChanges(second.html), second.text.includes('paged-0')]).toEqual([4, true]);
    const back =
      /<a[^>]*href="([^"]*)"[^>]*>(?:First|Previous) page/.exec(second.html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const again = await visitor.read(back);
    expect([countChanges(again.html), again.text.includes('paged-42')]).toEqual([40, true]);
  });

  test('has pages in the card of a plan, which keep the version that is shown', async () => {
    const params = { org, planId: 'long' };
    for (let calls = 1; calls <= 21; calls += 1)
      await operator.send('putPlan', { params, body: { ...PLAN, name: 'Long', limits: { premiumCalls: calls } } });
    const newest = await visitor.read(`${base}/plans/long?version=20`);
    expect(countChanges(newest.html)).toBe(20);
    const older = /rel="next" href="([^"]*)"/.exec(newest.html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(older).toContain(`${base}/plans/long?`);
    const shown = await visitor.read(older);
    expect(shown.text).toContain('This is version 20.');
    expect([countChanges(shown.html), shown.text.includes('Created the plan Long')]).toEqual([1, true]);
  });

  test('names a wrong filter at its field, and still shows the page', async () => {
    for (const [query, field] of [
      ['kind=planet', 'kind'],
      ['action=plan.eat', 'action'],
      ['from=2026-02-01T00%3A00&to=2026-01-01T00%3A00', 'to'],
    ] as const) {
      const shown = await visitor.send(`${base}/events?${query}`);
      expect([query, shown.status, shown.html.includes(`href="#f-${field}"`)]).toEqual([query, 400, true]);
    }
  });
});

describe('the operator API', () => {
  const subjectsOf = async (query: Record<string, string>) => {
    const { items } = (await operator.send('listEvents', { query: { organizationId: org, limit: '200', ...query } }))
      .data;
    return [...new Set(items.map(({ action, subject }) => `${action} ${subject}`))].sort();
  };

  test('lists events with the same filters', async () => {
    expect(await subjectsOf({ kind: 'plan', subject: 'team' })).toEqual(['plan.put team']);
    expect(await subjectsOf({ subject: 'team' })).toEqual(['customer.create team', 'plan.put team']);
    expect(await subjectsOf({ action: 'key.update' })).toEqual([`key.update ${keyId}`]);
    expect(await subjectsOf({ actor: 'nobody' })).toEqual([]);
    const at = new Date().toISOString();
    expect(await subjectsOf({ from: at })).toEqual([]);
    expect((await subjectsOf({ to: new Date(Date.now() + 60_000).toISOString() })).length).toBeGreaterThan(3);
  });

  test('names a filter that it does not know', async () => {
    const answer = await operator.send('listEvents', { query: { kind: 'planet' } });
    expect(answer.status).toBe(400);
    expect(answer.refusal.message).toContain('kind');
  });
});
