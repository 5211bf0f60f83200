/**
 * The console's search over everything, and the side that leads to all pages: their results, limited to the
 * organization, and the data that they never show.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { ORGANIZATION_GROUPS, SERVICE_GROUP } from '../../src/console/navigation.tsx';
import { sha256Hex } from '../../src/platform/hash.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { deliverToD1, operator } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

let visitor: Visitor;
/** Two organizations that have the same things. */
let ours: Tenant;
let theirs: Tenant;
let callId: string;
let openCallId: string;
let keyId: string;
let key: string;

beforeAll(async () => {
  visitor = new Visitor();
  await visitor.signIn();
  [ours, theirs] = await Promise.all([createTenant(operator), createTenant(operator)]);
  const org = ours.organizationId;
  const begin = { customerId: 'lovelace-1', customerFriendlyName: 'Ada Lovelace', customerEmail: 'ada@example.com' };
  callId = (await ours.api.send('beginCall', { body: begin })).data.callId;
  const end = { callId, modelUsed: 'openai/gpt-6-luna', inputTokens: 10, responseTokens: 5 };
  expect((await ours.api.send('endCall', { body: end })).status).toBe(200);
  openCallId = (await ours.api.send('beginCall', { body: begin })).data.callId;
  await theirs.api.send('beginCall', { body: { customerId: 'lovelace-2' } });
  const made = (await operator.send('createKey', { params: { org }, body: { name: 'Zanzibar backend' } })).data;
  ({ keyId, key } = made);
  const rates = { inputUsdPerMillion: 2, outputUsdPerMillion: 9.5 };
  await operator.send('setPrice', { params: { org, modelKey: 'ft:zanzibar:own' }, body: rates });
  await operator.send('putPlan', { params: { org, planId: 'zanzibar' }, body: { name: 'Spice', limitType: 'BLOCK' } });
  await deliverToD1(org, 'lovelace-1');
  await deliverToD1(theirs.organizationId, 'lovelace-2');
});

const inOurs = (query: string, part = '') =>
  visitor.read(`/console/search${part}?${new URLSearchParams({ q: query, org: ours.organizationId })}`);

/** The targets of a page's results, in their order. */
const hitsOf = (html: string) =>
  [...html.matchAll(/<ul class="hits">([\s\S]*?)<\/ul>/g)].flatMap(([, list = '']) =>
    [...list.matchAll(/href="([^"]*)"/g)].map(([, href]) => href),
  );

describe('the search', () => {
  test('finds each kind of thing by each of its names, and leads to its page', async () => {
    const org = `/console/organizations/${ours.organizationId}`;
    const customer = `${org}/customers/lovelace-1`;
    const expected: [string, string][] = [
      ['lovelace-1', customer],
      ['ADA LOVE', customer],
      ['ada@example.com', customer],
      [callId, `${org}/calls/${callId}`],
      [openCallId, `${org}/calls/${openCallId}`],
      ['spice', `${org}/plans/zanzibar`],
      ['zanzibar back', `${org}/keys/${keyId}`],
      [keyId, `${org}/keys/${keyId}`],
      [`utk-…${key.slice(-4)}`, `${org}/keys/${keyId}`],
      ['ft:zanzibar:own', `${org}/models`],
      ['gpt-6-luna', '/console/catalog/models/openai/gpt-6-luna'],
      [theirs.organizationId, `/console/organizations/${theirs.organizationId}`],
      ['webhooks', `${org}/webhooks`],
      ['health', '/console/health'],
    ];
    for (const [query, href] of expected) {
      const { html } = await inOurs(query);
      expect([query, hitsOf(html)[0]]).toEqual([query, href]);
      expect((await visitor.read(href)).status).toBe(200);
    }
  });

  test('shows exact matches first, with the group that has one before the others', async () => {
    const { html } = await inOurs('zanzibar');
    const titles = [...html.matchAll(/<h2>([^<]*)<\/h2>\s*<\/header>\s*<ul class="hits">/g)].map(([, title]) => title);
    expect(titles).toEqual(['Plans', 'API keys', 'Models']);
  });

  test('of an organization finds nothing of another one, and without one names whose each result is', async () => {
    const { html } = await inOurs('lovelace');
    expect(html).toContain('lovelace-1');
    expect(html).not.toContain('lovelace-2');
    expect((await inOurs(openCallId.replace(/.$/, '#'))).text).toContain('No results');
    const { html: both } = await visitor.read('/console/search?q=lovelace');
    expect(hitsOf(both)).toEqual(
      expect.arrayContaining([
        `/console/organizations/${ours.organizationId}/customers/lovelace-1`,
        `/console/organizations/${theirs.organizationId}/customers/lovelace-2`,
      ]),
    );
  });

  test('never shows a key or its hash, also where a whole key is searched for', async () => {
    const { html } = await inOurs(key);
    expect(hitsOf(html)).toEqual([`/console/organizations/${ours.organizationId}/keys/${keyId}`]);
    // It appears only in the field in which it was typed.
    expect(html.split(key)).toHaveLength(2);
    for (const query of ['zanzibar', keyId, 'utk-']) {
      const { html: other } = await inOurs(query);
      expect([query, other.includes(key.slice(4, 20)), other.includes(await sha256Hex(key))]).toEqual([
        query,
        false,
        false,
      ]);
    }
  });

  test('has at most six results of a kind, and is shown as text', async () => {
    const { html } = await inOurs('gpt');
    expect(hitsOf(html).length).toBeGreaterThan(0);
    expect(hitsOf(html).filter((href) => href?.startsWith('/console/catalog/')).length).toBeLessThanOrEqual(6);
    const { html: marked, text } = await inOurs('<b>bold</b>');
    expect(marked).not.toContain('<b>bold');
    expect(text).toContain('No results for “<b>bold</b>”');
    expect((await inOurs('x'.repeat(3_000))).text).toContain('No results');
  });

  test('lists the same for the script as options, and pages of the console before anything is typed', async () => {
    const { html } = await inOurs('ada', '/list');
    expect(html).toMatch(/^<div id="found" role="listbox"/);
    expect(html).toContain(`href="/console/organizations/${ours.organizationId}/customers/lovelace-1"`);
    const { html: empty } = await inOurs('', '/list');
    expect(empty.match(/role="option"/g)?.length).toBe(6);
  });

  test('finds the same over the API, and says whose each thing is and how it matches', async () => {
    const { organizationId } = ours;
    const find = async (q: string, whose: { organizationId?: string }) =>
      (await operator.send('searchEverything', { query: { q, ...whose } })).data;
    const found = async (q: string) => (await find(q, { organizationId })).items[0];
    const customer = { kind: 'CUSTOMER', id: 'lovelace-1', name: 'Ada Lovelace', detail: 'ada@example.com' };
    expect(await found('ADA LOVE')).toMatchObject({ ...customer, organizationId, match: 'BEGINNING' });
    expect(await found(openCallId)).toMatchObject({ kind: 'CALL', id: openCallId, name: null, match: 'WHOLE' });
    expect(await found('zanzibar')).toMatchObject({ kind: 'PLAN', id: 'zanzibar', name: 'Spice', match: 'WHOLE' });
    expect(await found(key)).toMatchObject({ kind: 'KEY', id: keyId, detail: `utk-…${key.slice(-4)}`, state: null });
    expect(JSON.stringify(await find(key, { organizationId }))).not.toContain(key.slice(4, 20));
    expect(await found('ft:zanzibar')).toMatchObject({ kind: 'MODEL', detail: 'own price', organizationId });
    expect(await found('gpt-6-luna')).toMatchObject({ id: 'openai/gpt-6-luna', organizationId: null });
    const both = await find('lovelace', {});
    expect(both.searched.organizations).toBeGreaterThan(1);
    expect(both.items.map((item) => [item.id, item.organizationId])).toEqual(
      expect.arrayContaining([
        ['lovelace-1', organizationId],
        ['lovelace-2', theirs.organizationId],
      ]),
    );
    for (const query of [{ q: '' }, { q: 'x'.repeat(201) }, {}])
      expect((await operator.send('searchEverything', { query: query as never })).refusal?.message).toMatch(/^q: /);
    const nobody = { q: 'ada', organizationId: crypto.randomUUID() };
    expect((await operator.send('searchEverything', { query: nobody })).status).toBe(404);
  });

  test('is answered to a signed-in operator alone', async () => {
    for (const path of ['/console/search?q=ada', '/console/search/list?q=ada'])
      expect([path, (await new Visitor().send(path)).status]).toEqual([path, 303]);
  });
});

describe('the side', () => {
  test('leads to every page of the organization and of the service, and says where the reader is', async () => {
    const org = `/console/organizations/${ours.organizationId}`;
    const { html } = await visitor.read(`${org}/samples`);
    const links = [
      ...ORGANIZATION_GROUPS.flatMap(({ pages }) => pages.map(({ path }) => (path === '' ? org : `${org}/${path}`))),
      ...SERVICE_GROUP.pages.map(({ path }) => (path === '' ? '/console' : `/console/${path}`)),
    ];
    for (const href of links) {
      expect(html).toContain(`href="${href}"`);
      await visitor.read(href);
    }
    // A page that the side does not list belongs to one that it lists; the side is there twice, for both widths.
    const here = [...html.matchAll(/href="([^"]*)" aria-current="page"/g)].map(([, href]) => href);
    expect(here).toEqual([`${org}/sampling`, `${org}/sampling`]);
  });

  test('switches to the same page of another organization', async () => {
    const from = `/console/organizations/${ours.organizationId}`;
    const to = `/console/organizations/${theirs.organizationId}`;
    expect((await visitor.read(`${from}/customers/lovelace-1`)).html).toContain(`href="${to}/customers"`);
    expect((await visitor.read(from)).html).toContain(`href="${to}"`);
  });
});
