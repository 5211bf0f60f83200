/**
 * Promise: an endpoint's object, with a clock of the test's own: retries for 72 hours and then goes on with the customer's next
 * event, switches an endpoint off that fails for five days, and sends every event in order per customer, whatever fails and
 * whenever it is killed.
 */

import { runInDurableObject } from 'cloudflare:test';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ProjectorStore } from '../../durable-objects/projector/store.ts';
import { type RunResult, run, Signal } from '../../durable-objects/webhook-endpoint/run.ts';
import { EndpointStore, PENDING_MAX } from '../../durable-objects/webhook-endpoint/store.ts';
import { findWebhook } from '../../src/config/webhooks.ts';
import { asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import type { WebhookKey } from '../../src/domain/webhook-delivery.ts';
import type { Env } from '../../src/env.ts';
import { insertOrganizationEvents } from '../../src/history/organization-events.ts';
import type { ProjectionPage } from '../../src/objects/projection-page.ts';
import type { DeliveryRow } from '../../src/objects/webhook-commands.ts';
import { newEventId } from '../../src/platform/event-id.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/platform/time.ts';
import { customerKey } from '../support/ids.ts';
import { Receivers } from '../support/receiver.ts';
import { bindings, createToldTenant, operator } from '../support/worker.ts';

const START_MS = Date.UTC(2026, 10, 1);

let receivers: Receivers;
beforeEach(() => {
  receivers = Receivers.stub();
});
afterEach(async () => {
  // Waiting events are sent to nobody after the receivers are gone.
  await bindings.DB.prepare('DELETE FROM webhooks').run();
  vi.unstubAllGlobals();
});

interface Driven {
  webhook: WebhookKey;
  url: string;
  /** Records events of customers, at the clock's time. */
  tell(...customerIds: string[]): Promise<string[]>;
  /** Runs the object at a time, as an alarm does. */
  runAt(atMs: number, env?: Env): Promise<RunResult>;
  /** Runs it whenever something is due, up to a time. */
  runUntil(untilMs: number): Promise<void>;
  /** As after a kill: nothing in memory. */
  restart(): void;
  deliveries(): DeliveryRow[];
  store(): EndpointStore;
}

/** An endpoint's object that nobody wakes, and its webhook. */
async function driven(steps: (object: Driven) => Promise<void>): Promise<void> {
  const { organizationId } = await createToldTenant();
  const webhook = { organizationId, webhookId: 'driven' };
  const url = `https://driven.receiver.dev/${crypto.randomUUID()}`;
  const put = { params: { org: organizationId, webhookId: 'driven' }, body: { url } };
  expect((await operator.send('putWebhook', put)).status).toBe(200);
  // Another object than the webhook's own, which would run by itself.
  const stub = bindings.WEBHOOK_ENDPOINTS.getByName(`driven ${organizationId}`);
  await runInDurableObject(stub, async (_, { storage }) => {
    let store = new EndpointStore(storage);
    store.know(webhook);
    let nowMs = START_MS;
    let place = 0;
    const runAt = async (atMs: number, env = bindings) => {
      nowMs = atMs;
      return run({ store, env, webhook, objectId: 'driven', news: new Signal(), now: () => nowMs });
    };
    await steps({
      webhook,
      url,
      runAt,
      async tell(...customerIds) {
        const events = customerIds.map((customerId) => {
          place += 1;
          const data = { customerId, n: place };
          return {
            eventId: newEventId(nowMs, place),
            customerId: asCustomerId(customerId),
            type: 'balance.low',
            atMs: nowMs,
            data,
          };
        });
        await insertOrganizationEvents(bindings, organizationId, events);
        return events.map(({ eventId }) => eventId);
      },
      async runUntil(untilMs) {
        for (let dueMs = store.nextDueMs(); dueMs !== null && dueMs <= untilMs; dueMs = store.nextDueMs())
          if ((await runAt(Math.max(dueMs, nowMs))).webhook !== 'on') break;
        nowMs = untilMs;
      },
      restart: () => {
        store = new EndpointStore(storage);
      },
      deliveries: () => store.list(null, 1_000),
      store: () => store,
    });
  });
}

describe('an endpoint that fails', () => {
  test("gets an event for 72 hours, and then the customer's next one", async () => {
    await driven(async ({ url, tell, runAt, runUntil, deliveries }) => {
      receivers.answer(url, 503);
      const [first = ''] = await tell('ann', 'ann');
      await runAt(START_MS);
      await runUntil(START_MS + 60 * HOUR_MS);
      expect(new Set(receivers.at(url).map(({ eventId }) => eventId))).toEqual(new Set([first]));
      expect(deliveries().map(({ status }) => status)).toEqual(['PENDING', 'PENDING']);
      await runUntil(START_MS + 73 * HOUR_MS);
      expect(receivers.at(url).filter(({ eventId }) => eventId === first)).toHaveLength(17);
      expect(deliveries().map(({ status, attempts }) => [status, attempts > 0])).toEqual([
        ['PENDING', true],
        ['GIVEN_UP', true],
      ]);
      receivers.answer(url, 200);
      await runUntil(START_MS + 80 * HOUR_MS);
      expect(deliveries().map(({ status }) => status)).toEqual(['DELIVERED', 'GIVEN_UP']);
      const times = receivers.at(url).map(({ headers }) => Number(headers['webhook-timestamp']) * 1_000 - START_MS);
      expect(times.slice(0, 4)).toEqual([0, 5_000, 35_000, 155_000]);
    });
  });

  test('is switched off after five days without a success, and not before', async () => {
    await driven(async ({ webhook, url, tell, runAt, runUntil, store }) => {
      receivers.answer(url, 500);
      await tell('ann', 'ann', 'ann');
      await runAt(START_MS);
      await runUntil(START_MS + 5 * DAY_MS - 1);
      expect((await findWebhook(bindings, webhook))?.enabled).toBe(true);
      expect(store().state().failingSinceMs).toBe(START_MS);
      await runUntil(START_MS + 6 * DAY_MS);
      const row = await findWebhook(bindings, webhook);
      expect(row).toMatchObject({ enabled: false, disabledReason: 'FAILING' });
      expect(row?.disabledAtMs).toBeGreaterThanOrEqual(START_MS + 5 * DAY_MS);
      const sent = receivers.at(url).length;
      await runAt(START_MS + 7 * DAY_MS);
      expect(receivers.at(url)).toHaveLength(sent);
    });
  });

  test('is not switched off by one failure long after another, if nothing was sent in between', async () => {
    await driven(async ({ webhook, url, tell, runAt, runUntil, store }) => {
      receivers.answer(url, 500);
      await tell('ann');
      await runAt(START_MS);
      await runUntil(START_MS + 73 * HOUR_MS);
      const laterMs = START_MS + 9 * DAY_MS;
      await tell('ann');
      await runAt(laterMs);
      expect(store().state().failingSinceMs).toBe(laterMs);
      expect((await findWebhook(bindings, webhook))?.enabled).toBe(true);
    });
  });

  test('and takes something in between, is not switched off', async () => {
    await driven(async ({ webhook, url, tell, runAt, runUntil }) => {
      receivers.answer(url, ({ body }) => new Response(null, { status: body.data.customerId === 'bob' ? 200 : 500 }));
      await tell('ann', 'ann', 'ann');
      await runAt(START_MS);
      await runUntil(START_MS + 4 * DAY_MS);
      await tell('bob');
      await runAt(START_MS + 4 * DAY_MS);
      await runUntil(START_MS + 8 * DAY_MS);
      expect((await findWebhook(bindings, webhook))?.enabled).toBe(true);
    });
  });

  test('whose switching off was interrupted is switched off by the next run, and told once', async () => {
    await driven(async ({ webhook, url, tell, runAt, restart }) => {
      receivers.answer(url, 410);
      await tell('ann');
      // The configuration is away when the object wants to change it.
      const { DB } = bindings;
      const away = { prepare: DB.prepare.bind(DB), batch: () => Promise.reject(new Error('D1 is away')) };
      await expect(runAt(START_MS, { ...bindings, DB: away as unknown as D1Database })).rejects.toThrow('D1 is away');
      expect((await findWebhook(bindings, webhook))?.enabled).toBe(true);
      restart();
      await runAt(START_MS + MINUTE_MS);
      await runAt(START_MS + 2 * MINUTE_MS);
      expect(await findWebhook(bindings, webhook)).toMatchObject({ enabled: false, disabledReason: 'GONE' });
      const { results } = await bindings.DB.prepare(
        "SELECT event_id FROM organization_events WHERE organization_id = ? AND type = 'webhook.disabled'",
      )
        .bind(webhook.organizationId)
        .all();
      expect(results).toHaveLength(1);
      expect(receivers.at(url)).toHaveLength(1);
    });
  });
});

test('every event comes, and those of a customer in their order, whatever fails and whenever the object is killed', async () => {
  const step = fc.oneof(
    fc.record({ told: fc.array(fc.constantFrom('ann', 'bob', 'cho'), { minLength: 1, maxLength: 6 }) }),
    fc.record({ failures: fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }), waitMs: fc.nat(20 * MINUTE_MS) }),
    fc.constant('kill' as const),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (stepsOfRun) => {
      await driven(async ({ url, tell, runAt, runUntil, restart, store }) => {
        const told = new Map<string, string[]>();
        let atMs = START_MS;
        for (const each of stepsOfRun) {
          if (each === 'kill') restart();
          else if ('told' in each) {
            const ids = await tell(...each.told);
            for (const [index, customerId] of each.told.entries())
              told.set(customerId, [...(told.get(customerId) ?? []), ids[index] ?? '']);
          } else {
            const failures = [...each.failures];
            // Taken or not: an answer that is lost looks the same.
            receivers.answer(url, () => new Response(null, { status: failures.shift() ? 500 : 200 }));
            await runAt(atMs);
            atMs += each.waitMs;
            await runUntil(atMs);
          }
        }
        receivers.answer(url, 200);
        await runAt(atMs);
        await runUntil(atMs + 7 * HOUR_MS);
        expect(store().pending()).toBe(0);
        for (const [customerId, ids] of told) {
          const received = receivers.at(url).filter(({ body }) => body.data.customerId === customerId);
          // A repeat is known by its id.
          expect([...new Set(received.map(({ eventId }) => eventId))]).toEqual(ids);
        }
      });
    }),
    { numRuns: 25 },
  );
});

test('an event that comes late, with an older id, is sent, and one that waits is sent after it', async () => {
  await driven(async ({ webhook, url, tell, runAt, runUntil }) => {
    receivers.answer(url, 500);
    const [second = ''] = await tell('ann');
    await runAt(START_MS);
    const late = {
      eventId: newEventId(START_MS - 1),
      customerId: asCustomerId('ann'),
      type: 'balance.low',
      atMs: START_MS - 1,
      data: {},
    };
    await insertOrganizationEvents(bindings, webhook.organizationId, [late]);
    receivers.answer(url, 200);
    await runAt(START_MS + 1);
    await runUntil(START_MS + MINUTE_MS);
    expect(receivers.at(url).map(({ eventId }) => eventId)).toEqual([second, late.eventId, second]);
  });
});

test('what is beyond the bound waits in D1', async () => {
  await driven(async ({ webhook, url, runAt, store }) => {
    receivers.answer(url, 500);
    const events = Array.from({ length: PENDING_MAX + 1_500 }, (_, n) => ({
      eventId: newEventId(START_MS, n),
      customerId: asCustomerId('ann'),
      type: 'balance.low',
      atMs: START_MS,
      data: { customerId: 'ann' },
    }));
    await insertOrganizationEvents(bindings, webhook.organizationId, events);
    await runAt(START_MS);
    expect(store().pending()).toBe(PENDING_MAX);
    store().erase(asCustomerId('ann'));
    await runAt(START_MS + 1);
    expect(store().pending()).toBe(1_500);
  });
});

test('a projector remembers whom to wake until they were, also through a kill and what comes meanwhile', async () => {
  const stub = bindings.PROJECTORS.getByName(`wakes ${crypto.randomUUID()}`);
  await runInDurableObject(stub, async (_, { storage }) => {
    const projectionPage = (organizationId: string, kind: 'event' | 'call'): ProjectionPage => ({
      organizationId: asOrganizationId(organizationId),
      customerId: asCustomerId('ann'),
      subscriptionId: 's',
      columns: {},
      changes: [{ kind, id: 'x', revision: 1, values: '[]' }],
    });
    const taken = (store: ProjectorStore, ...pages: ProjectionPage[]) =>
      store.taken({ pages, changes: pages.length, lastWhole: 0, rest: null }, Date.now());
    let store = new ProjectorStore(storage);
    taken(
      store,
      projectionPage('a', 'event'),
      projectionPage('a', 'event'),
      projectionPage('b', 'call'),
      projectionPage('c', 'event'),
    );
    store = new ProjectorStore(storage);
    const told = store.toWake();
    expect(told.map(({ organizationId }) => organizationId)).toEqual(['a', 'c']);
    taken(store, projectionPage('c', 'event'));
    store.woken(told);
    expect(store.toWake().map(({ organizationId }) => organizationId)).toEqual(['c']);
    store.wakeForWebhooks(Date.now());
    expect(await storage.getAlarm()).toBeGreaterThan(Date.now());
    // A page does not wait for that alarm.
    const page = { ...customerKey('a', 'ann'), subscriptionId: 's', sinceMs: 0, changes: 1, more: false, page: '{}' };
    store.take({ ...page, database: 'DB' }, Date.now());
    expect(await storage.getAlarm()).toBeLessThan(Date.now() + 2_000);
    await storage.deleteAlarm();
    await storage.deleteAll();
  });
});
