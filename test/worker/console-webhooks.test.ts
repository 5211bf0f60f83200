/**
 * Promise: an operator runs the webhooks of an organization by the console's forms. A secret is in the answer to the
 * form that made it, and on no page that can be read; the changes are in the event log.
 */

import { runDurableObjectAlarm } from 'cloudflare:test';
import { Webhook } from 'standardwebhooks';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { asOrganizationId } from '../../src/domain/ids.ts';
import { webhookEndpoint } from '../../src/objects/webhook-endpoints.ts';
import type { Tenant } from '../support/api.ts';
import { bindings, createToldTenant, deliverToD1, operator } from '../support/worker.ts';
import { type Shown, type Values, Visitor } from './console-visitor.ts';

const visitor = new Visitor();
let tenant: Tenant;
let org: string;
let base: string;

interface Received {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** The requests of endpoints, and their answers. */
let received: Received[] = [];
let answer: () => Response;

beforeAll(async () => {
  await visitor.signIn();
  tenant = await createToldTenant({ name: 'Test', limitType: 'BLOCK', limits: { standardCalls: 2 } });
  org = tenant.organizationId;
  base = `/console/organizations/${org}`;
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
    const { headers, body } = init as { headers: Record<string, string>; body: string };
    received.push({ url: String(url), headers, body });
    return answer();
  });
});
beforeEach(() => {
  received = [];
  answer = () => new Response('taken');
});

const read = async (webhookId: string) => (await operator.send('readWebhook', { params: { org, webhookId } })).data;

async function lastEvent() {
  const { items } = (await operator.send('listEvents', { query: { organizationId: org, limit: '1' } })).data;
  return items[0];
}

/** Registers a webhook by its form, and answers its secret. */
async function register(webhookId: string, values: Values = {}): Promise<string> {
  const url = `https://example.com/hooks/${webhookId}`;
  const shown = await visitor.submit(`${base}/new-webhook`, `${base}/webhooks`, { webhookId, url, ...values });
  expect([shown.status, shown.text.includes('Copy it now')]).toEqual([200, true]);
  return secretIn(shown);
}

function secretIn({ html }: Shown): string {
  const [, secret = ''] = /<code class="secret"[^>]*>([^<]+)</.exec(html) ?? [];
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  return secret;
}

/** Opens a page below the webhook's own, and sends its form. */
function act(webhookId: string, action: string, values: Values = {}): Promise<Shown> {
  const page = `${base}/webhooks/${webhookId}/${action}`;
  return visitor.submit(page, page, values);
}

/** Presses a button of the webhook's page. */
function press(webhookId: string, action: string): Promise<Shown> {
  return visitor.submit(`${base}/webhooks/${webhookId}`, `${base}/webhooks/${webhookId}/${action}`);
}

/** Events of a customer: it is created, and two calls reach the limit's thresholds. */
async function makeEvents(customerId: string): Promise<void> {
  for (const feature of ['a', 'b']) {
    const { callId } = (await tenant.api.send('beginCall', { body: { customerId, feature } })).data;
    await tenant.api.send('endCall', { body: { callId, modelUsed: 'gpt-4o-mini', inputTokens: 1, responseTokens: 1 } });
  }
  await deliverToD1(org, customerId);
}

/** Sends an endpoint all events, and waits until the page says so. */
async function replayAll(webhookId: string, until: string): Promise<Shown> {
  const shown = await act(webhookId, 'replay', { from: '2020-01-01T00:00', to: '2100-01-01T00:00' });
  expect([shown.status, shown.headers.get('Location')]).toEqual([
    303,
    `${base}/webhooks/${webhookId}?done=webhook-replay`,
  ]);
  return vi.waitFor(
    async () => {
      await runDurableObjectAlarm(webhookEndpoint(bindings, { organizationId: asOrganizationId(org), webhookId })());
      const page = await visitor.read(`${base}/webhooks/${webhookId}`);
      expect(page.text).toContain(until);
      return page;
    },
    { timeout: 60_000 },
  );
}

describe('a new webhook', () => {
  test('is registered once however often the form is sent, and each answer shows the same secret', async () => {
    const action = `${base}/webhooks`;
    const values = await visitor.form(`${base}/new-webhook`, action, {
      webhookId: 'once',
      url: 'https://example.com/hidden-path?token=hidden-token',
    });
    const answers = await Promise.all([visitor.post(action, values), visitor.post(action, values)]);
    answers.push(await visitor.post(action, values));
    const secrets = new Set(answers.map(secretIn));
    expect(secrets.size).toBe(1);
    expect(await lastEvent()).toMatchObject({ actor: 'console', action: 'webhook.put', subject: 'once' });
    const [secret = ''] = secrets;
    const pages = ['', '/once', '/once/edit', '/once/rotate', '/once/replay', '/once/delete'].map(
      (path) => `${base}/webhooks${path}`,
    );
    for (const page of [...pages, `${base}/new-webhook`, `${base}/events`, '/console/events']) {
      const { html } = await visitor.read(page);
      for (const hidden of [secret, secret.slice(6, 20), 'hidden-path', 'hidden-token'])
        expect([page, hidden, html.includes(hidden)]).toEqual([page, hidden, false]);
    }
  });

  test('has what the form says: types, format, description, and whether it is enabled', async () => {
    await register('chosen', {
      types: ['balance.low', 'call.denied'],
      format: 'slack',
      description: 'Ops',
      enabled: [],
    });
    expect(await read('chosen')).toMatchObject({
      url: 'https://example.com/hooks/chosen',
      types: ['balance.low', 'call.denied'],
      format: 'slack',
      description: 'Ops',
      enabled: false,
      registeredBy: 'operator',
    });
    await register('all', { types: [] });
    expect(await read('all')).toMatchObject({ types: null, format: 'standard', description: null, enabled: true });
  });

  test('with a broken rule is refused at the field, with what was typed, and registers nothing', async () => {
    for (const [values, field, rule] of [
      [{ webhookId: 'a b' }, 'webhookId', 'letters, digits, dots'],
      [{ webhookId: 'wrong', url: 'ftp://example.com' }, 'url', 'must be an http or https address'],
      [{ webhookId: 'wrong', url: '' }, 'url', 'http or https address'],
      [{ webhookId: 'wrong', types: ['balance.high'] }, 'types', 'must be one of'],
      [{ webhookId: 'wrong', description: 'x'.repeat(201) }, 'description', '200'],
    ] as [Values, string, string][]) {
      const typed: Values = { url: 'https://example.com/typed', ...values };
      const shown = await visitor.submit(`${base}/new-webhook`, `${base}/webhooks`, typed);
      expect([field, shown.status, shown.text.includes(rule)]).toEqual([field, 400, true]);
      expect(shown.html).toContain(`href="#f-${field}"`);
      expect(shown.html).toContain(`id="f-${field}"`);
      expect(shown.html).toContain(`value="${typed.webhookId}"`);
    }
    expect((await operator.send('readWebhook', { params: { org, webhookId: 'wrong' } })).status).toBe(404);
  });

  test('does not take the place of another one', async () => {
    await register('taken');
    const shown = await visitor.submit(`${base}/new-webhook`, `${base}/webhooks`, {
      webhookId: 'taken',
      url: 'https://example.com/other',
    });
    expect([shown.status, shown.text.includes('is the id of another webhook')]).toEqual([400, true]);
    expect(shown.html).toContain('href="#f-webhookId"');
    expect((await read('taken')).url).toBe('https://example.com/hooks/taken');
  });
});

describe('an edited webhook', () => {
  test('keeps its address where none is typed, and its secret', async () => {
    const secret = await register('edited');
    const shown = await act('edited', 'edit', { description: 'New', types: ['call.denied'] });
    expect(shown.headers.get('Location')).toBe(`${base}/webhooks/edited?done=webhook`);
    expect((await visitor.read(shown.headers.get('Location') ?? '')).text).toContain('The webhook is saved');
    expect(await read('edited')).toMatchObject({
      url: 'https://example.com/hooks/edited',
      description: 'New',
      types: ['call.denied'],
    });
    expect(await lastEvent()).toMatchObject({ actor: 'console', action: 'webhook.put', before: { types: null } });
    await act('edited', 'edit', { url: 'https://example.org/elsewhere' });
    expect(await read('edited')).toMatchObject({ url: 'https://example.org/elsewhere', types: ['call.denied'] });
    await press('edited', 'test');
    const [{ url, body, headers } = { url: '', body: '', headers: {} }] = received;
    expect(url).toBe('https://example.org/elsewhere');
    new Webhook(secret).verify(body, headers);
  });

  test('with a broken rule stays as it is', async () => {
    await register('kept');
    const shown = await act('kept', 'edit', { types: ['balance.high'], description: 'New' });
    expect([shown.status, shown.text.includes('must be one of'), shown.html.includes('value="New"')]).toEqual([
      400,
      true,
      true,
    ]);
    expect(await read('kept')).toMatchObject({ description: null, types: null });
  });

  test('can be disabled, and then offers nothing that would send', async () => {
    await register('quiet');
    await act('quiet', 'edit', { enabled: [] });
    const { text, html } = await visitor.read(`${base}/webhooks/quiet`);
    expect(text).toMatch(/State\s+disabled/);
    for (const action of ['test', 'replay'])
      expect([action, html.includes(`/quiet/${action}"`)]).toEqual([action, false]);
    const values = { from: '2020-01-01T00:00', to: '2020-01-02T00:00' };
    const refused = await act('quiet', 'replay', values);
    expect([refused.status, refused.text.includes('the webhook is disabled')]).toEqual([400, true]);
    await act('quiet', 'edit', { enabled: 'on' });
    expect((await visitor.read(`${base}/webhooks/quiet`)).html).toContain(`/quiet/test"`);
  });
});

describe('a test event', () => {
  test('shows what the endpoint answered, is sent once however often the form is, and stands in the log', async () => {
    await register('tested');
    answer = () => new Response('<b>not now</b>', { status: 503 });
    const action = `${base}/webhooks/tested/test`;
    const values = await visitor.form(`${base}/webhooks/tested`, action);
    const answers = [await visitor.post(action, values), await visitor.post(action, values)];
    for (const { status, text, html } of answers) {
      expect([status, text.includes('Not delivered')]).toEqual([200, true]);
      expect(text).toMatch(/Status\s+503/);
      expect([text.includes('<b>not now</b>'), html.includes('<b>')]).toEqual([true, false]);
    }
    expect(received).toHaveLength(1);
    expect(await lastEvent()).toMatchObject({
      actor: 'console',
      action: 'webhook.test',
      subject: 'tested',
      after: { delivered: false, answerStatus: 503 },
    });
    answer = () => new Response('thanks');
    const delivered = await press('tested', 'test');
    expect(delivered.text).toMatch(/Delivered\. .*Status\s+200\s+Answer\s+thanks/);
    answer = () => {
      throw new TypeError('no connection');
    };
    expect((await press('tested', 'test')).text).toMatch(/No answer came\. .*Why\s+the connection failed/);
    // The page lists the three, the latest first.
    const { text, html } = await visitor.read(`${base}/webhooks/tested`);
    expect(text).toMatch(/given up .*none: the connection failed.*delivered .*200\s+thanks.*given up .*503/);
    expect(html).not.toContain('<b>not now');
  });
});

describe('a rotation', () => {
  test('shows the new secret once, and until when the one before signs', async () => {
    const before = await register('rotated');
    const shown = await act('rotated', 'rotate');
    const after = secretIn(shown);
    expect(after).not.toBe(before);
    const { previousSecretUntil } = await read('rotated');
    expect(shown.html).toContain(`datetime="${previousSecretUntil}"`);
    expect(await lastEvent()).toMatchObject({ actor: 'console', action: 'webhook.rotate', subject: 'rotated' });
    await press('rotated', 'test');
    const [{ body, headers } = { body: '', headers: {} }] = received;
    for (const secret of [before, after]) new Webhook(secret).verify(body, headers);
    const page = await visitor.read(`${base}/webhooks/rotated/rotate`);
    expect([page.html.includes(after), page.html.includes(previousSecretUntil ?? '-')]).toEqual([false, true]);
  });
});

describe('deliveries', () => {
  test('of a period are sent again, and each is listed with its event, its customer and its answer', async () => {
    await makeEvents('alice');
    await register('period');
    answer = () => new Response('<i>ok</i>', { status: 202 });
    const { text, html } = await replayAll('period', 'Customer created');
    const mine = received.filter(({ url }) => url.endsWith('/period'));
    const { items } = (await tenant.api.send('readEvents')).data;
    expect(mine.map(({ headers }) => headers['webhook-id'])).toEqual(items.map(({ eventId }) => eventId).reverse());
    expect(text).toMatch(/Customer created\s+alice\s+just now\s+delivered\s+1\s+, last just now\s+202\s+<i>ok<\/i>/);
    expect(html).not.toContain('<i>');
    expect(await lastEvent()).toMatchObject({ actor: 'console', action: 'webhook.replay', subject: 'period' });
    for (const { eventId } of items) {
      expect(html).toContain(`href="${base}/alerts/${eventId}"`);
      await visitor.read(`${base}/alerts/${eventId}`);
    }
    const reached = items.find(({ type }) => type === 'meter.threshold_reached');
    const event = await visitor.read(`${base}/alerts/${reached?.eventId}`);
    expect(event.text).toContain('Standard calls reached 100% of the limit: 2 of 2 used');
    expect(event.text).toContain('The usage of a limited meter reached thresholds.');
    expect(event.html).toContain(`href="${base}/customers/alice"`);
    expect((await visitor.read(`${base}/alerts`)).html).toContain(`href="${base}/alerts/${reached?.eventId}"`);
  });

  test('can be sent again one by one', async () => {
    await makeEvents('again');
    await register('again');
    await replayAll('again', 'delivered');
    const { items } = (await tenant.api.send('readEvents', { query: { customerId: 'again' } })).data;
    const { eventId = '' } = items[0] ?? {};
    received = [];
    const shown = await press('again', `deliveries/${eventId}/send`);
    expect(shown.headers.get('Location')).toBe(`${base}/webhooks/again?done=webhook-sent`);
    await vi.waitFor(
      async () => {
        await runDurableObjectAlarm(
          webhookEndpoint(bindings, { organizationId: asOrganizationId(org), webhookId: 'again' })(),
        );
        expect(received.map(({ headers }) => headers['webhook-id'])).toEqual([eventId]);
      },
      { timeout: 60_000 },
    );
    expect(await lastEvent()).toMatchObject({ actor: 'console', action: 'webhook.send_again', after: { eventId } });
  });

  test('come in pages, and each is on one of them', async () => {
    await register('paged');
    for (let n = 0; n < 27; n += 1) await operator.send('testWebhook', { params: { org, webhookId: 'paged' } });
    const idsIn = ({ html }: Shown) => [...html.matchAll(/deliveries\/(evt_\w+)\/send"/g)].map(([, id]) => id);
    const first = await visitor.read(`${base}/webhooks/paged`);
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(first.html) ?? [];
    const second = await visitor.read(next);
    expect([idsIn(first).length, idsIn(second).length]).toEqual([25, 2]);
    expect(new Set([...idsIn(first), ...idsIn(second)]).size).toBe(27);
    expect(second.html).toContain(`href="${base}/webhooks/paged"`);
    expect(second.html).not.toContain('rel="next"');
  });

  test('of a time that is none, or ends before it starts, are not sent', async () => {
    await register('times');
    const wrong = await act('times', 'replay', { from: 'yesterday', to: '2026-01-01T00:00' });
    expect([wrong.status, wrong.text.includes('must be a date and time')]).toEqual([400, true]);
    expect(wrong.html).toContain('href="#f-from"');
    const turned = await act('times', 'replay', { from: '2026-01-02T00:00:30', to: '2026-01-01T00:00' });
    expect([turned.status, turned.text.includes('must be after from')]).toEqual([400, true]);
    expect(turned.html).toContain('href="#f-to"');
    expect(received).toEqual([]);
  });
});

describe('the list', () => {
  test('says of each host, types and state in words: enabled, disabled, failing, and why Callmeter disabled it', async () => {
    const { organizationId } = await createToldTenant();
    const list = `/console/organizations/${organizationId}/webhooks`;
    expect((await visitor.read(list)).text).toContain('A webhook tells an application');
    await makeEvents('listed');
    await register('gone-one', { url: 'https://gone.example.com/x' });
    answer = () => new Response('', { status: 410 });
    await replayAll('gone-one', 'it answered 410');
    answer = () => new Response('', { status: 500 });
    await register('failing-one', {
      url: 'https://failing.example.com/x',
      types: ['customer.created'],
    });
    await replayAll('failing-one', 'failed');
    await register('off-one', { url: 'https://off.example.com/x', enabled: [] });
    const { text } = await visitor.read(`${base}/webhooks`);
    expect(text).toMatch(/gone-one\s+gone\.example\.com\s+all\s+disabled\s+it answered 410/);
    expect(text).toMatch(/failing-one\s+failing\.example\.com\s+Customer created\s+enabled, failing\s+\d+ \w+ \d{4}/);
    expect(text).toMatch(/off-one\s+off\.example\.com\s+all\s+disabled\s+–/);
    const gone = await visitor.read(`${base}/webhooks/gone-one`);
    expect(gone.text).toMatch(
      /Callmeter disabled the webhook: it answered 410.*waiting\s+until the webhook is enabled/,
    );
    const { text: alerts, html } = await visitor.read(`${base}/alerts`);
    expect(alerts).toContain('gone-one was disabled: its endpoint answered 410');
    expect(html).toContain(`href="${base}/webhooks"`);
  });
});

describe('a deleted webhook', () => {
  test('is gone after a confirmation, and stands in the log', async () => {
    await register('deleted');
    const { text } = await visitor.read(`${base}/webhooks/deleted/delete`);
    expect(text).toContain('This cannot be undone');
    const shown = await act('deleted', 'delete');
    expect(shown.headers.get('Location')).toBe(`${base}/webhooks?done=webhook-deleted`);
    expect((await visitor.read(shown.headers.get('Location') ?? '')).text).toContain('The webhook is deleted');
    expect(await lastEvent()).toMatchObject({ actor: 'console', action: 'webhook.delete', subject: 'deleted' });
    for (const path of ['', '/edit', '/rotate', '/replay', '/delete'])
      expect([path, (await visitor.send(`${base}/webhooks/deleted${path}`)).status]).toEqual([path, 404]);
  });
});
