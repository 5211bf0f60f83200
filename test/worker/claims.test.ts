/**
 * Promise: a call id stays taken for as long as the organization keeps the call, also in the archive, and little longer.
 */
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { asCallId, asCustomerId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import { createTenant } from '../support/api.ts';
import { bindings, operator } from '../support/worker.ts';

const DAY_MS = 86_400_000;

/** A directory of an organization that keeps calls for so long, and the ids that are left after its alarm. */
async function directory(callRetentionDays: number) {
  const { organizationId } = await createTenant(operator, { name: 'P', limitType: 'NONE' });
  await operator.send('updateOrganization', { params: { org: organizationId }, body: { callRetentionDays } });
  const stub = bindings.CALL_DIRECTORY.getByName(`${organizationId}:0`);
  return {
    async claim(ageDays: number) {
      await stub.claim(asCallId(`${ageDays} days`), asCustomerId('ann'), 'token');
      await runInDurableObject(stub, (_, { storage }) => {
        const sql = 'UPDATE claims SET claimed_at_ms = ? WHERE call_id = ?';
        storage.sql.exec(sql, Date.now() - ageDays * DAY_MS, `${ageDays} days`);
      });
    },
    claimMany: (count: number, ageDays: number) =>
      runInDurableObject(stub, (_, { storage }) => {
        storage.sql.exec(
          `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
           INSERT INTO claims (call_id, customer_id, claimed_at_ms) SELECT 'many-' || n, 'ann', ? FROM numbers`,
          count,
          Date.now() - ageDays * DAY_MS,
        );
      }),
    alarmInDays: () =>
      runInDurableObject(stub, async (_, { storage }) => (((await storage.getAlarm()) ?? 0) - Date.now()) / DAY_MS),
    async leftAfterAlarm(hasArchive: boolean): Promise<string[]> {
      await runInDurableObject(stub, (object) => {
        const { ARCHIVE, ...env } = bindings;
        (object as unknown as { env: Env }).env = hasArchive ? bindings : env;
        expect(ARCHIVE).toBeDefined();
      });
      await runDurableObjectAlarm(stub);
      return runInDurableObject(stub, (_, { storage }) =>
        storage.sql
          .exec<{ call_id: string }>('SELECT call_id FROM claims ORDER BY claimed_at_ms')
          .toArray()
          .map(({ call_id }) => call_id),
      );
    },
  };
}

let claims: Awaited<ReturnType<typeof directory>>;
beforeEach(async () => {
  claims = await directory(60);
});

it('an id is free again ten days after its call is deleted', async () => {
  for (const days of [1, 69, 71, 500]) await claims.claim(days);
  expect(await claims.leftAfterAlarm(false)).toEqual(['69 days', '1 days']);
});

it('an id stays taken for 40 days, however soon calls are deleted: lines of batches come late', async () => {
  claims = await directory(1);
  for (const days of [1, 39, 41]) await claims.claim(days);
  expect(await claims.leftAfterAlarm(false)).toEqual(['39 days', '1 days']);
});

it('an id whose call may be in the archive stays taken for ten years', async () => {
  for (const days of [71, 3_649, 3_651]) await claims.claim(days);
  expect(await claims.leftAfterAlarm(true)).toEqual(['3649 days', '71 days']);
});

it('old ids are removed 5,000 at a time, by a walk that begins again after a fifth of the time for which they are kept', async () => {
  await claims.claim(1);
  await claims.claimMany(5_000, 71);
  await claims.claim(500);
  const left = await claims.leftAfterAlarm(false);
  expect([left.length, left.at(-1)], 'the walk has not come to the last two ids yet').toEqual([3, '1 days']);
  expect(await claims.alarmInDays()).toBeLessThan(1);
  // An id of before the place of the walk waits for the next one.
  await claims.claim(72);
  expect(await claims.leftAfterAlarm(false)).toEqual(['72 days', '1 days']);
  const days = await claims.alarmInDays();
  expect([days > 13, days < 15]).toEqual([true, true]);
  expect(await claims.leftAfterAlarm(false)).toEqual(['1 days']);
});

it('the walk of an archive of ten years begins again after a month', async () => {
  await claims.claim(71);
  await claims.leftAfterAlarm(true);
  expect(Math.round(await claims.alarmInDays())).toBe(30);
});
