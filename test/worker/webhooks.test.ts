/**
 * Promise: an organization's endpoints get its events, signed as Standard Webhooks are, in order per customer, each until
 * it was taken or given up, and nobody else waits for a slow one.
 */

import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openWebhookSecrets } from '../../src/config/webhook-secrets.ts';
import { findWebhook } from '../../src/config/webhooks.ts';
import { asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import { wakeWebhooks } from '../../src/events/webhooks/endpoints.ts';
import { insertOrganizationEvents } from '../../src/history/organization-events.ts';
import { webhookEndpoint } from '../../src/objects/webhook-endpoints.ts';
import { newEventId } from '../../src/platform/event-id.ts';
import { HOUR_MS } from '../../src/platform/time.ts';
import type { Sent, Tenant } from '../support/api.ts';
import { isSigned, Receivers } from '../support/receiver.ts';
import { bindings, createToldTenant, deliverToD1, operator } from '../support/worker.ts';

const PLAN = { name: 'P', limitType: 'BLOCK', limits: { standardCalls: 2 } };
const URL_OF_ANY = 'https://any.receiver.dev/hooks';

let tenant: Tenant;
let receivers: Receivers;
/** Two endpoints for each test alone: those of others may still get events. */
let A: string;
let B: string;
beforeEach(async () => {
  [A, B] = ['a', 'b'].map((name) => `https://${name}.receiver.dev/${crypto.randomUUID()}`) as [string, string];
  tenant = await createToldTenant(PLAN);
  receivers = Receivers.stub();
});
afterEach(async () => {
  // Waiting events are sent to nobody after the receivers are gone.
  await bindings.DB.prepare('DELETE FROM webhooks').run();
  vi.unstubAllGlobals();
});

const webhookParams = (webhookId: string, more: Record<string, string> = {}) => ({
  params: { org: tenant.organizationId, webhookId, ...more },
});
const put = async (webhookId: string, body: object) =>
  (await operator.send('putWebhook', { ...webhookParams(webhookId), body })).data;
const read = async (webhookId: string) => (await operator.send('readWebhook', webhookParams(webhookId))).data;
const deliveries = async (webhookId: string) =>
  (await operator.send('listDeliveries', webhookParams(webhookId))).data.items;
const log = async () =>
  (await operator.send('listEvents', { query: { organizationId: tenant.organizationId } })).data.items;

/** Events of customers, or without one, as if their objects had recorded them; the webhooks are woken. */
async function tell(...events: { customerId: string | null; type?: string; n?: number }[]): Promise<string[]> {
  const nowMs = Date.now();
  const rows = events.map(({ customerId, type = 'balance.exhausted', n = 0 }, place) => ({
    eventId: newEventId(nowMs, place),
    customerId: customerId === null ? null : asCustomerId(customerId),
    type,
    atMs: nowMs,
    data: { customerId, balanceUsd: `${n}` },
  }));
  await insertOrganizationEvents(bindings, tenant.organizationId, rows);
  await wakeWebhooks(bindings, [tenant.organizationId]);
  return rows.map(({ eventId }) => eventId);
}

const endpointStub = (webhookId: string) =>
  webhookEndpoint(bindings, { organizationId: tenant.organizationId, webhookId })();
const rest = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 20 });

describe('an endpoint', () => {
  test('gets what happens to a customer, signed, by way of the projection, and nothing from before it was registered', async () => {
    await tenant.api.send('provisionCustomer', { body: { customerId: 'before' } });
    await deliverToD1(tenant.organizationId, 'before');
    const { secret = '' } = await put('all', { url: A });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    await tenant.api.send('provisionCustomer', { body: { customerId: 'ann' } });
    await deliverToD1(tenant.organizationId, 'ann');
    await rest(() => expect(receivers.at(A)).toHaveLength(1));
    const [listed] = (await tenant.api.send('readEvents', { query: { customerId: 'ann' } })).data.items;
    const [received] = receivers.at(A);
    if (!received || !listed) throw new Error('nothing came');
    expect(received.body).toEqual({ type: 'customer.created', timestamp: listed.timestamp, data: listed.data });
    expect(received.eventId).toBe(listed.eventId);
    expect(received.headers).toMatchObject({ 'content-type': 'application/json' });
    expect(received.headers['user-agent']).toMatch(/^Callmeter-Webhooks\//);
    expect(isSigned(received, secret)).toBe(true);
    expect(isSigned({ ...received, text: received.text.replace('ann', 'bob') }, secret)).toBe(false);
    await rest(async () =>
      expect(await deliveries('all')).toMatchObject([
        {
          eventId: listed.eventId,
          status: 'DELIVERED',
          attempts: 1,
          answerStatus: 200,
          answer: 'ok',
          customerId: 'ann',
        },
      ]),
    );
    expect(await read('all')).toMatchObject({ pending: 0, failingSince: null });
  });

  test('gets the types that it asks for, and after a change those of the change', async () => {
    await put('some', { url: A, types: ['balance.low'] });
    const [, low = ''] = await tell({ customerId: 'ann' }, { customerId: 'ann', type: 'balance.low' });
    await rest(() => expect(receivers.at(A).map(({ eventId }) => eventId)).toEqual([low]));
    await put('some', { url: A, types: null });
    const [next = ''] = await tell({ customerId: 'ann' });
    await rest(() => expect(receivers.at(A).map(({ eventId }) => eventId)).toEqual([low, next]));
    // Events that wait while the types are narrowed are not sent either.
    receivers.answer(A, 500);
    await tell({ customerId: 'ann' });
    await rest(() => expect(receivers.at(A)).toHaveLength(3));
    await put('some', { url: A, types: ['balance.low'] });
    await operator.send('sendDelivery', webhookParams('some', { eventId: low }));
    receivers.answer(A, 200);
    await runInDurableObject(endpointStub('some'), (_, { storage }) =>
      storage.sql.exec('UPDATE deliveries SET next_attempt_ms = 0 WHERE next_attempt_ms IS NOT NULL'),
    );
    await runDurableObjectAlarm(endpointStub('some'));
    await rest(async () => expect(await read('some')).toMatchObject({ pending: 0 }));
    expect(
      receivers
        .at(A)
        .slice(3)
        .map(({ eventId }) => eventId),
    ).not.toContain(next);
  });

  test('for Slack gets a sentence, and a link if the operator has a console', async () => {
    await put('slack', { url: A, format: 'slack' });
    await tenant.api.send('putOwnWebhook', { params: { webhookId: 'own' }, body: { url: B, format: 'slack' } });
    await tell({ customerId: '<a&b>', n: 3 });
    await rest(() => expect(receivers.received).toHaveLength(2));
    const sentence = '&lt;a&amp;b&gt;: The balance is used up: $3.';
    const link = `<https://callmeter.test/console/organizations/${tenant.organizationId}/customers/%3Ca%26b%3E|Open in the console>`;
    expect(receivers.at(A)[0]?.body).toEqual({ text: `${sentence} ${link}` });
    expect(receivers.at(B)[0]?.body).toEqual({ text: sentence });
  });

  test('that redirects has not taken the event, and the place it names is not asked', async () => {
    receivers.answer(A, () => new Response(null, { status: 307, headers: { location: B } }));
    await put('moved', { url: A });
    await tell({ customerId: 'ann' });
    await rest(async () =>
      expect(await deliveries('moved')).toMatchObject([{ status: 'PENDING', attempts: 1, answerStatus: 307 }]),
    );
    expect(receivers.at(B)).toEqual([]);
    expect((await read('moved')).failingSince).not.toBeNull();
  });

  test('whose answer has no end is read up to a bound', async () => {
    let written = 0;
    receivers.answer(A, () => {
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          written += 1;
          controller.enqueue(new TextEncoder().encode('x'.repeat(1_000)));
        },
      });
      return new Response(body);
    });
    await put('endless', { url: A });
    await tell({ customerId: 'ann' });
    await rest(async () => expect(await deliveries('endless')).toMatchObject([{ status: 'DELIVERED' }]));
    expect((await deliveries('endless'))[0]?.answer).toBe('x'.repeat(300));
    expect(written).toBeLessThan(10);
  });

  test('has ten seconds for its whole answer', async () => {
    receivers.answer(A, () => new Promise<Response>(() => undefined));
    receivers.answer(B, () => new Response(new ReadableStream({ pull: () => new Promise(() => undefined) })));
    await put('silent', { url: A });
    await put('unfinished', { url: B });
    await tell({ customerId: 'ann' });
    for (const webhookId of ['silent', 'unfinished'])
      await vi.waitFor(
        async () =>
          expect(await deliveries(webhookId)).toMatchObject([
            { status: 'PENDING', attempts: 1, answerStatus: null, answer: 'no answer within 10 s' },
          ]),
        { timeout: 60_000, interval: 100 },
      );
  });

  test('that does not answer delays neither another endpoint nor another customer', async () => {
    const held = Promise.withResolvers<Response>();
    receivers.answer(A, ({ body }) => (body.data.customerId === 'slow' ? held.promise : new Response()));
    await put('slow', { url: A });
    await put('quick', { url: B });
    await tell({ customerId: 'slow' }, { customerId: 'slow' }, { customerId: 'quick' }, { customerId: null });
    await rest(() => expect(receivers.at(B)).toHaveLength(4));
    await rest(() => expect(receivers.at(A).map(({ body }) => body.data.customerId)).toEqual(['slow', 'quick', null]));
    // Events that come during the first request do not wait for it either.
    await tell({ customerId: 'later' });
    await rest(() => expect(receivers.at(A).map(({ body }) => body.data.customerId)).toContain('later'));
    held.resolve(new Response());
    await rest(() => expect(receivers.at(A).filter(({ body }) => body.data.customerId === 'slow')).toHaveLength(2));
  });
});

describe('a secret', () => {
  test('is shown once, and stands nowhere in plain text', async () => {
    const first = await put('all', { url: `${A}?token=in-the-address` });
    const again = await put('all', { url: `${A}?token=in-the-address` });
    expect([typeof first.secret, again.secret]).toEqual(['string', undefined]);
    const secret = first.secret ?? '';
    const rotated = (await operator.send('rotateWebhook', webhookParams('all'))).data.secret;
    await tell({ customerId: 'ann' });
    await rest(async () => expect(await deliveries('all')).toHaveLength(1));
    const stored = await Promise.all(
      ['webhooks', 'operator_events', 'operator_idempotency'].map(async (table) =>
        JSON.stringify((await bindings.DB.prepare(`SELECT * FROM ${table}`).all()).results),
      ),
    );
    const object = await runInDurableObject(endpointStub('all'), (_, { storage }) =>
      JSON.stringify(['endpoint', 'deliveries'].map((table) => storage.sql.exec(`SELECT * FROM ${table}`).toArray())),
    );
    const listed = JSON.stringify([
      (await operator.send('listWebhooks', { params: { org: tenant.organizationId } })).data,
      await read('all'),
      await deliveries('all'),
      await log(),
    ]);
    for (const text of [...stored, object, listed])
      for (const known of [secret, rotated]) expect(text).not.toContain(known.slice('whsec_'.length, -1));
    expect(JSON.stringify(await log())).not.toContain('in-the-address');
  });

  test('after a rotation both sign, for a day', async () => {
    const { secret: old = '' } = await put('all', { url: A });
    const key = { 'Idempotency-Key': 'rotate-once' };
    const [rotated, replayed] = [
      (await operator.send('rotateWebhook', { ...webhookParams('all'), headers: key })).data,
      (await operator.send('rotateWebhook', { ...webhookParams('all'), headers: key })).data,
    ];
    expect(replayed).toEqual(rotated);
    await tell({ customerId: 'ann' });
    await rest(() => expect(receivers.at(A)).toHaveLength(1));
    const [received] = receivers.at(A);
    if (!received) throw new Error('nothing came');
    expect(received.headers['webhook-signature']?.split(' ')).toHaveLength(2);
    expect([isSigned(received, old), isSigned(received, rotated.secret)]).toEqual([true, true]);

    const row = await findWebhook(bindings, { organizationId: tenant.organizationId, webhookId: 'all' });
    if (!row) throw new Error('it is gone');
    const untilMs = Date.parse(rotated.previousSecretUntil);
    expect(untilMs).toBeGreaterThan(Date.now() + 23 * HOUR_MS);
    expect(await openWebhookSecrets(bindings, row, untilMs - 1)).toEqual([rotated.secret, old]);
    expect(await openWebhookSecrets(bindings, row, untilMs)).toEqual([rotated.secret]);
    // A second rotation leaves the first secret behind.
    await operator.send('rotateWebhook', webhookParams('all'));
    await tell({ customerId: 'ann' });
    await rest(() => expect(receivers.at(A)).toHaveLength(2));
    const [, second] = receivers.at(A);
    expect(second && [isSigned(second, old), isSigned(second, rotated.secret)]).toEqual([false, true]);
  });

  test('of one webhook opens no other, nor that of another organization', async () => {
    await put('all', { url: A });
    const row = await findWebhook(bindings, { organizationId: tenant.organizationId, webhookId: 'all' });
    if (!row) throw new Error('it is gone');
    expect(await openWebhookSecrets(bindings, { ...row, webhookId: 'other' }, 0)).toEqual([]);
    expect(
      await openWebhookSecrets(bindings, { ...row, organizationId: asOrganizationId(crypto.randomUUID()) }, 0),
    ).toEqual([]);
    expect(await openWebhookSecrets(bindings, row, 0)).toHaveLength(1);
  });
});

describe('switched off', () => {
  test('an endpoint that answers 410 is, which the others are told; switched on again it gets what waited', async () => {
    receivers.answer(A, 410);
    await put('gone', { url: A });
    await put('stays', { url: B });
    const [first = ''] = await tell({ customerId: 'ann' });
    await rest(async () => expect(await read('gone')).toMatchObject({ enabled: false, disabled: { reason: 'GONE' } }));
    await rest(() => expect(receivers.at(B).map(({ body }) => body.type)).toContain('webhook.disabled'));
    expect(receivers.at(B).find(({ body }) => body.type === 'webhook.disabled')?.body.data).toEqual({
      webhookId: 'gone',
      reason: 'GONE',
    });
    expect(await log()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ actor: 'service', action: 'webhook.disable', subject: 'gone' }),
      ]),
    );
    const [told] = (await tenant.api.send('readEvents', { query: { type: 'webhook.disabled' } })).data.items;
    expect(told?.data).toEqual({ webhookId: 'gone', reason: 'GONE' });

    const [second = ''] = await tell({ customerId: 'ann' });
    await rest(() => expect(receivers.at(B).map(({ eventId }) => eventId)).toContain(second));
    expect(receivers.at(A)).toHaveLength(1);
    receivers.answer(A, 200);
    expect(await put('gone', { url: A })).toMatchObject({ enabled: true, disabled: null });
    await rest(() => expect(receivers.at(A)).toHaveLength(4));
    const [before, ...after] = receivers.at(A).map(({ eventId }) => eventId);
    expect(before).toBe(first);
    // The event without a customer is a lane of its own.
    expect(after).toContain(told?.eventId);
    expect(after.filter((eventId) => eventId !== told?.eventId)).toEqual([first, second]);
  });

  test('an endpoint gets nothing after that was acknowledged, and neither does one that was removed', async () => {
    receivers.answer(A, 500);
    await put('off', { url: A });
    await tell({ customerId: 'ann' });
    await rest(() => expect(receivers.at(A)).toHaveLength(1));
    await put('off', { url: A, enabled: false });
    await operator.send('deleteWebhook', webhookParams('off'));
    await put('watch', { url: B });
    await tell({ customerId: 'ann' });
    await rest(() => expect(receivers.at(B)).toHaveLength(1));
    await runDurableObjectAlarm(endpointStub('off'));
    expect(receivers.at(A)).toHaveLength(1);
    const left = await runInDurableObject(endpointStub('off'), (_, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'deliveries'").toArray(),
    );
    expect(left, 'its object keeps nothing').toEqual([]);
  });

  test.each(['testWebhook', 'replayWebhook', 'sendDelivery'] as const)('%s is refused', async (id) => {
    await put('off', { url: A, enabled: false });
    const body = id === 'replayWebhook' ? { from: '2026-11-01T00:00:00Z', to: '2026-12-01T00:00:00Z' } : undefined;
    const sent: Sent = { ...webhookParams('off', { eventId: 'evt_x' }), ...(body && { body }) };
    const { status, refusal } = await operator.send(id, sent);
    expect([status, refusal.code, refusal.message]).toEqual([409, 'CONFLICT', 'the webhook is disabled']);
  });

  test('a new webhook under an old id begins anew', async () => {
    receivers.answer(A, 500);
    await put('same', { url: A });
    await tell({ customerId: 'ann' });
    await rest(() => expect(receivers.at(A)).toHaveLength(1));
    await operator.send('deleteWebhook', webhookParams('same'));
    await put('same', { url: B });
    const [next = ''] = await tell({ customerId: 'ann' });
    await rest(() => expect(receivers.at(B).map(({ eventId }) => eventId)).toEqual([next]));
    expect(await deliveries('same')).toHaveLength(1);
  });
});

describe('sent again', () => {
  test('the events of a time are, with the same ids, in their order', async () => {
    await put('all', { url: A });
    const ids = await tell({ customerId: 'ann' }, { customerId: 'ann' }, { customerId: 'bob' });
    await rest(() => expect(receivers.at(A)).toHaveLength(3));
    const listed = (await tenant.api.send('readEvents')).data.items;
    const items = listed.filter(({ eventId }) => ids.includes(eventId));
    const from = items.at(-1)?.timestamp ?? '';
    const to = new Date(Date.parse(items[0]?.timestamp ?? '') + 1).toISOString();
    const replayed = (await operator.send('replayWebhook', { ...webhookParams('all'), body: { from, to } })).data;
    expect(replayed).toEqual({ webhookId: 'all', from, to });
    await rest(() => expect(receivers.at(A)).toHaveLength(6));
    const again = receivers.at(A).slice(3);
    expect(again.map(({ eventId }) => eventId).toSorted()).toEqual(ids.toSorted());
    const ofAnn = again.filter(({ body }) => body.data.customerId === 'ann').map(({ eventId }) => eventId);
    expect(ofAnn).toEqual(ids.slice(0, 2));
    const earlier = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' };
    await operator.send('replayWebhook', { ...webhookParams('all'), body: earlier });
    const [last = ''] = await tell({ customerId: 'bob' });
    await rest(() =>
      expect(
        receivers
          .at(A)
          .map(({ eventId }) => eventId)
          .slice(6),
      ).toEqual([last]),
    );
  });

  test('one event is, also one that was given up or waits', async () => {
    await put('all', { url: A });
    receivers.answer(A, 500);
    const [first = '', second = ''] = await tell({ customerId: 'ann' }, { customerId: 'ann' });
    await rest(() => expect(receivers.at(A)).toHaveLength(1));
    receivers.answer(A, 200);
    const sent = (await operator.send('sendDelivery', webhookParams('all', { eventId: second }))).data;
    expect(sent).toEqual({ webhookId: 'all', eventId: second });
    await rest(() => expect(receivers.at(A).map(({ eventId }) => eventId)).toEqual([first, first, second]));
    await operator.send('sendDelivery', webhookParams('all', { eventId: first }));
    await rest(() => expect(receivers.at(A).map(({ eventId }) => eventId)).toEqual([first, first, second, first]));
    const unknown = await operator.send('sendDelivery', webhookParams('all', { eventId: 'evt_of_nobody' }));
    expect([unknown.status, unknown.refusal.message]).toEqual([404, 'no such event']);
  });

  test('a test is sent at once, answered with what the endpoint said, and can be sent again', async () => {
    const { secret = '' } = await put('all', { url: A, types: ['balance.low'] });
    receivers.answer(A, () => new Response('not\nready', { status: 503 }));
    const failed = (await operator.send('testWebhook', webhookParams('all'))).data;
    expect(failed).toMatchObject({ delivered: false, answerStatus: 503, answer: 'not ready' });
    receivers.answer(A, 204);
    const tested = (await operator.send('testWebhook', webhookParams('all'))).data;
    expect(tested).toMatchObject({ delivered: true, answerStatus: 204, answer: '' });
    const [, received] = receivers.at(A);
    expect(received?.body).toMatchObject({ type: 'webhook.test', data: { webhookId: 'all' } });
    expect(received && isSigned(received, secret)).toBe(true);
    await operator.send('sendDelivery', webhookParams('all', { eventId: failed.eventId }));
    await rest(() => expect(receivers.at(A)).toHaveLength(3));
    expect(receivers.at(A)[2]?.eventId).toBe(failed.eventId);
    expect((await tenant.api.send('readEvents')).data.items.map(({ type }) => type)).toEqual(['key.created']);
  });
});

describe('an organization', () => {
  test('registers with a key of its own what a stranger may reach, and is told why not', async () => {
    const own = (url: string) => tenant.api.send('putOwnWebhook', { params: { webhookId: 'own' }, body: { url } });
    for (const [url, reason] of [
      ['http://a.receiver.dev/hooks', 'not an https address'],
      ['https://127.0.0.1/hooks', 'the address is loopback'],
      ['https://169.254.169.254/latest', 'the address is link-local'],
      ['https://db.internal/hooks', 'names under internal are not public'],
    ] as const) {
      const { status, refusal } = await own(url);
      expect([status, refusal.message]).toEqual([400, `url: ${reason}`]);
      expect((await operator.send('putWebhook', { ...webhookParams('local'), body: { url } })).status).toBe(200);
    }
    expect((await tenant.api.send('listOwnWebhooks')).data.items.map(({ webhookId }) => webhookId)).toEqual(['local']);
    const saved = (await own(A)).data;
    expect(saved).toMatchObject({ registeredBy: 'tenant', url: A });
    const [event] = await log();
    expect(event).toMatchObject({ action: 'webhook.put', subject: 'own' });
    expect(event?.actor).toMatch(/^key_/);
    await tell({ customerId: 'ann' });
    await rest(() => expect(receivers.at(A)).toHaveLength(1));
  });

  test('reads of the address that the operator registered no more than scheme and host, whatever it asks or changes', async () => {
    const params = { webhookId: 'monitored' };
    const secretPath = '/hooks/T0KEN-of-the-operator';
    const url = `https://a.receiver.dev${secretPath}`;
    await operator.send('putWebhook', { ...webhookParams('monitored'), body: { url } });
    receivers.answer(url, () => new Response(`Cannot POST ${secretPath}`, { status: 404 }));
    const { api } = tenant;
    const [id = ''] = await tell({ customerId: 'ann' });
    await rest(() => expect(receivers.at(url)).toHaveLength(1));
    const asked = async () => [
      await api.send('testOwnWebhook', { params }),
      await api.send('listOwnWebhooks'),
      await api.send('readOwnWebhook', { params }),
      await api.send('listOwnDeliveries', { params }),
      await api.send('sendOwnDelivery', { params: { ...params, eventId: id } }),
      await api.send('rotateOwnWebhook', { params }),
      await api.send('readEvents'),
    ];
    for (const { status, body } of await asked()) {
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain('T0KEN');
    }
    expect((await operator.send('readWebhook', webhookParams('monitored'))).data.url).toBe(url);
    expect(JSON.stringify(await deliveries('monitored'))).toContain('T0KEN');
    // Sent back as it was read, the address stays.
    const { url: shown } = (await api.send('readOwnWebhook', { params })).data;
    expect(shown).toBe('https://a.receiver.dev');
    const kept = await api.send('putOwnWebhook', { params, body: { url: shown, description: 'ours' } });
    expect(kept.data).toMatchObject({ url: shown, registeredBy: 'operator', description: 'ours' });
    expect((await operator.send('readWebhook', webhookParams('monitored'))).data).toMatchObject({
      url,
      description: 'ours',
    });
    // With an address of its own, the organization sees the answers from then on.
    await api.send('putOwnWebhook', { params, body: { url: A } });
    for (const { body } of await asked()) expect(JSON.stringify(body)).not.toContain('T0KEN');
  });

  test('has all operations under its own key, and none without the scope', async () => {
    const params = { webhookId: 'own' };
    const { secret = '' } = (await tenant.api.send('putOwnWebhook', { params, body: { url: A } })).data;
    expect((await tenant.api.send('testOwnWebhook', { params })).data.delivered).toBe(true);
    const [id = ''] = await tell({ customerId: 'ann' });
    await rest(() => expect(receivers.at(A)).toHaveLength(2));
    expect(receivers.at(A).every((received) => isSigned(received, secret))).toBe(true);
    await rest(async () =>
      expect((await tenant.api.send('listOwnDeliveries', { params })).data.items[0]).toMatchObject({
        eventId: id,
        status: 'DELIVERED',
      }),
    );
    expect((await tenant.api.send('sendOwnDelivery', { params: { ...params, eventId: id } })).status).toBe(200);
    const body = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' };
    expect((await tenant.api.send('replayOwnWebhook', { params, body })).status).toBe(200);
    expect((await tenant.api.send('rotateOwnWebhook', { params })).data.secret).not.toBe(secret);
    expect((await tenant.api.send('readOwnWebhook', { params })).data.previousSecretUntil).not.toBeNull();
    const { key } = (
      await operator.send('createKey', {
        params: { org: tenant.organizationId },
        body: { name: 'k', scopes: ['events:read'] },
      })
    ).data;
    const without = await operator.with(key).send('listOwnWebhooks');
    expect([without.status, without.refusal.requiredScope]).toEqual([403, 'webhooks:write']);
    expect((await tenant.api.send('deleteOwnWebhook', { params })).data).toEqual({ webhookId: 'own' });
    expect((await tenant.api.send('readOwnWebhook', { params })).status).toBe(404);
  });

  test('does not see, and does not replay, what another one asked with the same idempotency key', async () => {
    const other = await createToldTenant(PLAN);
    const params = { webhookId: 'own' };
    for (const { api } of [tenant, other]) await api.send('putOwnWebhook', { params, body: { url: A } });
    const headers = { 'Idempotency-Key': 'the-same' };
    const mine = (await tenant.api.send('rotateOwnWebhook', { params, headers })).data;
    const theirs = (await other.api.send('rotateOwnWebhook', { params, headers })).data;
    expect(theirs.secret).not.toBe(mine.secret);
    expect((await tenant.api.send('rotateOwnWebhook', { params, headers })).data).toEqual(mine);
  });

  test('has at most twenty', async () => {
    for (let n = 0; n < 20; n += 1) await put(`w${n}`, { url: A });
    const { status, refusal } = await operator.send('putWebhook', { ...webhookParams('w20'), body: { url: A } });
    expect([status, refusal.message]).toEqual([409, 'an organization has at most 20 webhooks']);
    expect((await operator.send('putWebhook', { ...webhookParams('w19'), body: { url: B } })).status).toBe(200);
    const first = (
      await operator.send('listWebhooks', { params: { org: tenant.organizationId }, query: { limit: '15' } })
    ).data;
    const query = { limit: '15', cursor: first.nextCursor ?? '' };
    const second = (await operator.send('listWebhooks', { params: { org: tenant.organizationId }, query })).data;
    expect([first.items.length, second.items.length, second.nextCursor]).toEqual([15, 5, null]);
  });

  test.each([
    [{}, 'url'],
    [{ url: 'ftp://a.receiver.dev' }, 'url'],
    [{ url: 'https://user:word@a.receiver.dev' }, 'url'],
    [{ url: `${URL_OF_ANY}#part` }, 'url'],
    [{ url: URL_OF_ANY, types: [] }, 'types'],
    [{ url: URL_OF_ANY, types: ['customer.gone'] }, 'types.0'],
    [{ url: URL_OF_ANY, format: 'teams' }, 'format'],
  ])('is refused %j, with the field', async (body, path) => {
    const { status, refusal } = await operator.send('putWebhook', { ...webhookParams('bad'), body });
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect(refusal.details).toMatchObject([{ path }]);
  });
});

test('an erased customer is gone from what waits, and from what was sent', async () => {
  receivers.answer(A, ({ body }) => new Response(null, { status: body.data.customerId === 'gone' ? 500 : 200 }));
  await put('all', { url: A });
  await put('off', { url: B });
  await tenant.api.send('provisionCustomer', { body: { customerId: 'gone' } });
  await deliverToD1(tenant.organizationId, 'gone');
  await tell({ customerId: 'gone' }, { customerId: 'stays' });
  await rest(async () => expect(await deliveries('all')).toHaveLength(3));
  await rest(async () => expect(await deliveries('off')).toHaveLength(3));
  await put('off', { url: B, enabled: false });
  const params = { org: tenant.organizationId, customerId: 'gone' };
  expect((await operator.send('eraseCustomer', { params })).status).toBe(200);
  for (const webhookId of ['all', 'off'])
    expect((await deliveries(webhookId)).map(({ customerId }) => customerId)).toEqual(['stays']);
  expect(await read('all')).toMatchObject({ pending: 0 });
});
