/**
 * Promise: agents can use most of a balance before they are refused, and nothing is spent beyond it, whatever dies.
 *
 * The rules are those of `npm run bench -- usable`, with fixed seeds.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agents, startAgents } from '../bench/usable/agents.ts';
import { GOALS } from '../bench/usable/usable.ts';

const SETTING = { promptKilobytes: 200, usd: 5, seed: 45, kills: 0 };

const scope = new AsyncDisposableStack();
let agents: Agents;
beforeAll(async () => {
  agents = await startAgents(scope);
});
afterAll(() => scope.disposeAsync());

describe('with exact holds', () => {
  test('one agent after another uses most of the balance before the first refusal', async () => {
    const outcome = await agents.run({ ...SETTING, holds: 'EXACT', atOnce: 1 });
    expect(outcome.untilRefused).toBeGreaterThanOrEqual(GOALS.oneExact);
    expect(outcome).toMatchObject({ overshootNanoUsd: 0n, mischargedNanoUsd: 0n });
  });

  test('six at once use their part before the first refusal, and most of it if they wait', async () => {
    const outcome = await agents.run({ ...SETTING, holds: 'EXACT', atOnce: 6 });
    expect(outcome.untilRefused).toBeGreaterThanOrEqual(GOALS.sixExact);
    expect(outcome.untilSpent).toBeGreaterThanOrEqual(GOALS.oneExact);
    expect(outcome).toMatchObject({ overshootNanoUsd: 0n, mischargedNanoUsd: 0n });
  });
});

test('with expected holds six at once use nearly all of it before the first refusal', async () => {
  const outcome = await agents.run({ ...SETTING, holds: 'EXPECTED', atOnce: 6 });
  expect(outcome.untilRefused).toBeGreaterThanOrEqual(GOALS.sixExpected);
});

test('with exact holds nothing is spent beyond the balance if the server is killed and callers leave', async () => {
  const outcome = await agents.run({ ...SETTING, holds: 'EXACT', promptKilobytes: 20, usd: 1, atOnce: 6, kills: 1 });
  expect(outcome.kills).toBe(1);
  expect(outcome.overshootNanoUsd).toBe(0n);
});
