/**
 * Promise: an object tells before its storage is full, once for each share of it, and then refuses new work with a clear
 * error, while open calls end and retries get their answers.
 */
import { expect, it } from 'vitest';
import { STORAGE_BYTES_MAX } from '../../durable-objects/customer/storage-size.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';

const START = Date.UTC(2027, 0, 31, 12);
const MINUTE = 60_000;
const PLAN = { name: 'P', limitType: 'NONE', customMeters: { CUSTOM1: { label: 'Pages', included: 90 } } };
const share = (percent: number) => (STORAGE_BYTES_MAX / 100) * percent;

const told = (object: Clockwork) =>
  object
    .query<{ percent: number }>(
      `SELECT record ->> '$.data.percent' AS percent FROM events WHERE record ->> '$.type' = 'customer.storage_high' ORDER BY event_id`,
    )
    .map(({ percent }) => Number(percent));

it('each share is told once, also after a restart, and again after the storage has recovered', async () => {
  await withObject(PLAN, async (object) => {
    let nowMs = START;
    const fill = (percent: number) => {
      object.pretendStored(share(percent));
      nowMs += MINUTE;
      accepted(object.begin(`call-${nowMs}`, nowMs));
      return told(object);
    };
    expect(fill(49)).toEqual([]);
    expect(fill(50)).toEqual([50]);
    expect(fill(79)).toEqual([50]);
    await object.restart();
    expect(fill(79)).toEqual([50]);
    expect(fill(81)).toEqual([50, 80]);
    expect(fill(78)).toEqual([50, 80]);
    expect(fill(81)).toEqual([50, 80]);
    expect(fill(60)).toEqual([50, 80]);
    expect(fill(81)).toEqual([50, 80, 80]);
  });
});

it('a full object begins no call and takes no increment, and still ends open calls and answers retries', async () => {
  await withObject(PLAN, async (object) => {
    const begun = accepted(object.begin('open', START));
    object.pretendStored(share(95));
    const full = { code: 'SERVICE_UNAVAILABLE', members: { reason: 'STORAGE_FULL' }, retryAfterSeconds: 60 };
    expect(object.begin('new', START + MINUTE)).toMatchObject({ ok: false, refusal: full });
    expect(object.beginServiceCall('new', START + MINUTE)).toMatchObject({ ok: false, refusal: full });
    expect(object.increment(1, START + MINUTE)).toMatchObject({ ok: false, refusal: full });
    expect(object.rows('calls')).toBe(1);
    expect(accepted(object.begin('open', START + MINUTE))).toEqual(begun);
    expect(accepted(object.end('open', START + MINUTE)).status).toBe('COMPLETED');
    object.pretendStored(share(60));
    accepted(object.begin('new', START + 2 * MINUTE));
  });
});
