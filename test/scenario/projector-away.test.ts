/**
 * Promise: while a projector is away, a customer's object keeps each change once, sends it one page per attempt, and adds nothing
 * with an attempt that fails; when the projector is back, it has every change, in the order in which they came.
 */
import { runInDurableObject } from 'cloudflare:test';
import { expect, test, vi } from 'vitest';
import { handOver } from '../../durable-objects/customer/hand-over.ts';
import { CustomerStore } from '../../durable-objects/customer/store.ts';
import type { Env } from '../../src/env.ts';
import type { ProjectionPage } from '../../src/objects/projection-page.ts';
import type { HandOver } from '../../src/objects/projector-commands.ts';
import { accepted, withObject } from '../support/object.ts';
import { bindings, customerStub } from '../support/worker.ts';

const START = Date.UTC(2027, 2, 1);
const AWAY_MS = 600_000;
const CALLS = 600;
/** As `hand-over.ts` has it. */
const PAGE_CHANGES_MAX = 400;
/** As `outbox.ts` has it. */
const LISTED_MAX = 400;

test('ten minutes of one customer', async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  await withObject({ name: 'P', limitType: 'NONE' }, async (object, names) => {
    for (let n = 0; n < CALLS; n += 1) {
      accepted(object.begin(`call-${n}`, START));
      accepted(object.end(`call-${n}`, START));
    }
    await runInDurableObject(customerStub(names.organizationId, names.customerId), async (_, { storage, id }) => {
      const store = new CustomerStore(storage);
      await store.load();
      const taken: HandOver[] = [];
      let isAway = true;
      let requests = 0;
      const take = async (page: HandOver) => {
        requests += 1;
        if (isAway) throw new Error('the projector is away');
        taken.push(page);
        return { isBusy: false };
      };
      const env = { DB: bindings.DB, PROJECTORS: { getByName: () => ({ take }) } } as unknown as Env;
      const rows = (table: string) => storage.sql.exec<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`).one().n;
      const tables = () => ['outbox', 'delivery', 'calls'].map(rows);
      const before = tables();
      // The list has the customer, the event that it is new, and each of the first calls once; the table, a begin and an end of
      // each other.
      expect(before).toEqual([2 * (CALLS - (LISTED_MAX - 2)), 1, CALLS]);

      let nowMs = START;
      let attempts = 0;
      const attempt = () => handOver({ store, env, objectId: id.toString(), now: () => nowMs });
      for (; nowMs < START + AWAY_MS; attempts += 1) {
        await storage.deleteAlarm();
        store.alarmFired(nowMs);
        await attempt();
        const { dueAtMs, failures } = store.delivery();
        expect(failures).toBe(attempts + 1);
        expect(await storage.getAlarm()).toBe(dueAtMs);
        // An attempt before its time asks nobody.
        await attempt();
        nowMs = dueAtMs ?? 0;
      }
      expect(requests, 'one for each attempt').toBe(attempts);
      expect(attempts).toBeLessThanOrEqual(24);
      expect(tables()).toEqual(before);

      isAway = false;
      expect(await attempt()).toEqual({ more: false });
      const pages = taken.map(({ page }) => JSON.parse(page) as ProjectionPage);
      expect(Math.max(...pages.map(({ changes }) => changes.length))).toBeLessThanOrEqual(PAGE_CHANGES_MAX);
      const calls = pages.flatMap(({ changes }) => changes.filter(({ kind }) => kind === 'call').map(({ id }) => id));
      expect(new Set(calls).size).toBe(CALLS);
      expect(calls.filter((call, at) => calls.indexOf(call) === at)).toEqual(
        Array.from({ length: CALLS }, (_, n) => `call-${n}`),
      );
      expect(store.outboxState().pending).toBe(0);
      store.transaction(nowMs, () => undefined);
      expect(tables(), 'forgotten by the next transaction').toEqual([0, 1, CALLS]);
      const account = store.account();
      if (account)
        store.transaction(nowMs, () => store.saveAccount({ ...account, contact: { email: 'a@b.c' } }, nowMs));
      expect([rows('outbox'), store.outboxState().pending], 'new changes are listed again').toEqual([0, 1]);
    });
  });
});
