/**
 * Promise: commands that share a transaction have the same result as one after the other, even if one of them breaks
 * and all have to run again; and if the transaction fails, none of them has an effect.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GroupCommit } from '../../durable-objects/group-commit.ts';
import { NO_USAGE } from '../../src/domain/usage.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';

const PLAN = {
  name: 'P',
  limitType: 'BLOCK',
  limits: { standardCalls: 4 },
  customMeters: { CUSTOM1: { label: 'units', included: 20 } },
};
const START = Date.UTC(2027, 2, 1, 12);
const HOUR = 3_600_000;

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom('begin', 'end', 'fail', 'begin service call', 'end service call', 'increment', 'broken'),
    call: fc.nat(4),
    afterMs: fc.constantFrom(0, 1, HOUR / 2),
    /** Whether it arrives at the same time as the one before it. */
    joins: fc.boolean(),
  }),
  { minLength: 1, maxLength: 25 },
);
type Step = typeof steps extends fc.Arbitrary<(infer One)[]> ? One : never;

/** The answer to a step, as far as it is the same in every object. */
function take(object: Clockwork, { kind, call }: Step, atMs: number, opened: Map<number, string>): unknown {
  const usage = { usage: { ...NO_USAGE, inputTokens: 10 + call } };
  if (kind === 'begin') return object.begin(`call ${call}`, atMs).ok;
  if (kind === 'end') return object.end(`call ${call}`, atMs, usage).ok;
  if (kind === 'fail') return object.end(`call ${call}`, atMs, { ...usage, error: { code: 'E', message: 'm' } }).ok;
  if (kind === 'increment') return accepted(object.increment(1 + call, atMs)).meter.used;
  if (kind === 'begin service call') {
    const answer = object.beginServiceCall(`request ${call}`, atMs);
    if (answer.ok) opened.set(call, answer.admission.callId);
    return answer.ok;
  }
  if (kind === 'end service call') return object.endServiceCall(opened.get(call) ?? 'none', atMs, usage).ok;
  return object.inOneTransaction(atMs, () => {
    object.begin(`broken ${call}`, atMs);
    throw new Error('broken');
  });
}

/** The whole remaining state, except random parts. */
function shownState(object: Clockwork) {
  const { meters, wallet, revision } = object.account() ?? {};
  return {
    account: { meters, wallet, revision },
    calls: object.query(
      `SELECT substr(call_id, -9) AS id, status, started_at_ms, finished_at_ms FROM calls ORDER BY 1`,
    ),
    hours: [object.query('SELECT * FROM usage_hours'), object.query('SELECT current_hour FROM account')],
    changes: object
      .changes()
      .map(({ kind }) => kind)
      .sort(),
  };
}

/** The ways in which the commands of a group run: each in a transaction of its own, or all in one. */
const WAYS = ['alone', 'in one transaction'] as const;

/** Runs the steps in groups that arrive at the same time. */
async function run(object: Clockwork, taken: Step[], way: (typeof WAYS)[number]) {
  const opened = new Map<number, string>();
  accepted(object.begin('the first', START));
  const answers: unknown[] = [];
  let atMs = START;
  for (let from = 0; from < taken.length; ) {
    let to = from + 1;
    while (to < taken.length && taken[to]?.joins) to += 1;
    const group = taken.slice(from, to).map((step) => {
      atMs += step.afterMs;
      const stepMs = atMs;
      return () => take(object, step, stepMs, opened);
    });
    const commits = new GroupCommit(
      way === 'alone' ? {} : { inOneTransaction: (commands) => object.inOneTransaction(atMs, commands) },
    );
    commits.run(() => undefined);
    const outcomes = await Promise.allSettled(group.map((command) => commits.run(command)));
    answers.push(...outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'broken')));
    from = to;
  }
  return { answers, left: shownState(object) };
}

test('commands have the same results and effects, alone and in one transaction', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      const results: unknown[] = [];
      for (const way of WAYS)
        await withObject(PLAN, async (object) => void results.push(await run(object, taken, way)));
      expect(results[1]).toEqual(results[0]);
    }),
    { numRuns: 60 },
  );
});

test('a failed transaction keeps no effect of its commands', async () => {
  await withObject(PLAN, async (object) => {
    accepted(object.begin('a', START));
    accepted(object.end('a', START + 1));
    accepted(object.begin('b', START + 2));
    const before = shownState(object);
    const failing = () =>
      object.inOneTransaction(START + 3, () => {
        accepted(object.end('b', START + 3));
        accepted(object.begin('c', START + 3));
        expect(object.account()?.revision).toBeGreaterThan(before.account.revision ?? 0);
        throw new Error('broken');
      });
    expect(failing).toThrow('broken');
    expect(shownState(object)).toEqual(before);
    expect(accepted(object.end('b', START + 4)).callId).toBe('b');
    expect(object.recorded(START + 4, 'calls')).toBe(2);
  });
});
