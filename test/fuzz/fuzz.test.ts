/**
 * Promise: whatever is sent, the service answers in its envelope, tells nothing of its inside, changes nothing where it
 * refuses, and writes no secret down. The long form is `npm run test:fuzz`.
 */
import { expect, test } from 'vitest';
import { gatewayOperations } from '../../src/contract/gateway.ts';
import { operations } from '../../src/contract/operations.ts';
import { freshSeed } from '../crash/random.ts';
import { runFuzz } from './run.ts';

const REQUESTS = 3_000;

/** A loaded machine is slow; this only ends what hangs. */
const TEST_MS_MAX = 300_000;

test(
  `${REQUESTS} broken requests: no failure, no leak, no change by a refusal, no secret on disk`,
  async () => {
    const seed = freshSeed();
    const { faults, statuses, refusalsCompared, operations: met, operationsAccepted } = await runFuzz({ requests: REQUESTS, seed });
    expect(faults, `seed ${seed}`).toEqual([]);
    // A run that met no route, or was never refused, proves nothing.
    expect(met).toBeGreaterThan(0.9 * (Object.keys(operations).length + Object.keys(gatewayOperations).length));
    expect(operationsAccepted).toBeGreaterThan(met / 2);
    expect(statuses[200]).toBeGreaterThan(REQUESTS / 20);
    expect(refusalsCompared).toBeGreaterThan(REQUESTS / 4);
  },
  TEST_MS_MAX,
);
