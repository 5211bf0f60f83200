/**
 * Promise: an acknowledged write survives kill -9 wherever it hits, under mixed load; and nothing is lost or doubled. The
 * long form is `npm run test:crash`.
 */
import { expect, test } from 'vitest';
import { freshSeed } from './random.ts';
import { runCrashes } from './run.ts';

const KILLS = 4;

/** A loaded machine is slow; this only ends what hangs. */
const TEST_MS_MAX = 300_000;

test(
  `${KILLS} kills under calls, increments, credits and plan changes: zero lost, zero doubled, by id`,
  async () => {
    const seed = freshSeed();
    const report = await runCrashes({ kills: KILLS, seed, customers: 6, workers: 12 });
    expect(report.wrong, `seed ${seed}`).toEqual([]);
    // A run that nothing happened in proves nothing.
    expect(report.unanswered).toBeGreaterThan(0);
    for (const count of [report.calls, report.increments, report.grants, report.subscriptionChanges]) expect(count).toBeGreaterThan(0);
  },
  TEST_MS_MAX,
);
