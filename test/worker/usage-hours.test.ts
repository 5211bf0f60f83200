/**
 * Promise: what is used in the hour under way takes no row of its own, and is as exact as what was used before, whatever
 * comes between: another hour, a restart, a command that failed, a correction.
 */
import { expect, test } from 'vitest';
import { accepted, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { NO_USAGE } from '../unit/fixtures.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2027, 0, 31, 12);
const PLAN = {
  name: 'P',
  limitType: 'NONE',
  customMeters: { CUSTOM1: { enabled: true, included: 1_000, overage: { model: 'SINGLE', priceUsd: '1' } } },
};
/** A dollar a token, so that sums exceed 2^53 nano-USD. */
const PRICE = { available: true as const, card: rateCard({ input: '0', output: '1000000000000000' }) };
const USED = { modelUsed: 'm', usage: { ...NO_USAGE, inputTokens: 2, responseTokens: 10_000_000 } };

test('an hour is written when the next one is used, and every sum is the same before and after', async () => {
  await withObject(PLAN, async (object) => {
    const call = (callId: string, atMs: number) => {
      accepted(object.begin(callId, atMs));
      return accepted(object.end(callId, atMs, USED, PRICE));
    };
    const hours = (atMs: number) => object.hours(atMs, ['completedCalls', 'inputTokens', 'customMeter1', 'costUsd']);
    const shown = (...parts: [startMs: number, calls: number, units: number][]) => ({
      startMs: parts.map(([startMs]) => startMs),
      columns: {
        completedCalls: parts.map(([, calls]) => calls),
        inputTokens: parts.map(([, calls]) => 2 * calls),
        customMeter1: parts.map(([, , units]) => units),
        costUsd: parts.map(([, calls]) => 10_000_000 * calls),
      },
    });
    call('a', START);
    call('b', START + 1);
    accepted(object.increment(3, START + 2));
    accepted(object.increment(4, START + 3));
    expect(hours(START + 4)).toEqual(shown([START, 2, 7]));
    await object.restart();
    expect(hours(START + 4)).toEqual(shown([START, 2, 7]));
    expect(object.rows('usage_hours')).toBe(0);

    const { spendVelocity } = call('c', START + HOUR);
    expect(spendVelocity?.windows).toMatchObject({
      hour: { completedCalls: 1, completedCostUsd: 10_000_000 },
      day: { completedCalls: 3, completedCostUsd: 30_000_000 },
    });
    expect(hours(START + HOUR)).toEqual(shown([START, 2, 7], [START + HOUR, 1, 0]));
    expect(object.rows('usage_hours')).toBe(1);

    // A correction reaches into the hour under way, and a later call adds to what it left.
    accepted(object.reverseCall('c', START + HOUR + 1));
    call('d', START + HOUR + 2);
    call('e', START + HOUR + 3);
    await object.restart();
    expect(hours(START + HOUR + 4)).toEqual(shown([START, 2, 7], [START + HOUR, 2, 0]));
  });
});

test('a command that fails leaves nothing in the hour under way', async () => {
  await withObject(PLAN, async (object) => {
    accepted(object.begin('a', START));
    accepted(object.begin('b', START));
    accepted(object.end('a', START, USED, PRICE));
    const failing = () =>
      object.inOneTransaction(START + 1, () => {
        accepted(object.end('b', START + 1, USED, PRICE));
        accepted(object.increment(5, START + 1));
        throw new Error('broken');
      });
    expect(failing).toThrow('broken');
    expect(object.hours(START + 2, ['completedCalls', 'customMeter1'])).toEqual({
      startMs: [START],
      columns: { completedCalls: [1], customMeter1: [0] },
    });
  });
});
