/**
 * Promise: commands that arrive before the next turn of the event loop share a transaction, and each has an outcome of
 * its own.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { GroupCommit } from '../../durable-objects/group-commit.ts';

/** The object is idle so long after a command. */
const IDLE_MS = 50;

/** Commands that log their effects; a transaction that throws undoes them, as in an object's storage. */
function logged() {
  const log: string[] = [];
  const commits = new GroupCommit({
    inOneTransaction: (commands) => {
      const before = log.length;
      try {
        const results = commands();
        log.push('commit');
        return results;
      } catch (error) {
        log.splice(before, log.length, 'undone');
        throw error;
      }
    },
  });
  const run = (name: string) =>
    commits.run(() => {
      log.push(name);
      if (name === 'broken') throw new Error(name);
      return name;
    });
  return { log, run };
}

describe('commands', () => {
  it('run at once if the object is idle', async () => {
    const { log, run } = logged();
    expect(run('first')).toBe('first');
    await wait(IDLE_MS);
    expect(run('later')).toBe('later');
    expect(log).toEqual(['first', 'later']);
  });

  it('set no timer if the object is idle', () => {
    vi.useFakeTimers();
    try {
      const { run } = logged();
      run('first');
      vi.advanceTimersByTime(IDLE_MS);
      run('later');
      expect(vi.getTimerCount()).toBe(0);
      void run('at the same time');
      expect(vi.getTimerCount()).toBe(1);
    } finally {
      vi.useRealTimers();
    }
  });

  it('share a transaction, in the order in which they arrived', async () => {
    const { log, run } = logged();
    run('first');
    const names = Array.from({ length: 40 }, (_, index) => `${index}`);
    expect(await Promise.all(names.map(run))).toEqual(names);
    expect(log).toEqual(['first', ...names, 'commit']);
  });

  it('wait for the next turn of the event loop and no longer', async () => {
    const { log, run } = logged();
    run('first');
    const second = run('second');
    setTimeout(() => log.push('next turn'), 0);
    await second;
    const third = run('third');
    expect(log, 'the second ran in this turn').toEqual(['first', 'second']);
    await third;
    expect(log).toEqual(['first', 'second', 'next turn', 'third']);
  });

  it('are all answered, each caller in order, while callers come back as soon as they are answered', async () => {
    const { run } = logged();
    const answers = Array.from({ length: 20 }, async (_, caller) => {
      for (let turn = 0; turn < 50; turn += 1) expect(await run(`${caller} ${turn}`)).toBe(`${caller} ${turn}`);
      return 50;
    });
    expect((await Promise.all(answers)).reduce((sum, count) => sum + count)).toBe(1_000);
  });

  it('run again by themselves if one of them throws, which alone fails', async () => {
    const { log, run } = logged();
    run('first');
    const outcomes = await Promise.allSettled(['a', 'broken', 'b'].map(run));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(log).toEqual(['first', 'undone', 'a', 'broken', 'b']);
    expect(await run('next')).toBe('next');
    await wait(IDLE_MS);
    expect(() => run('broken')).toThrow('broken');
  });

  it('do not wait once a hundred are waiting', () => {
    const { log, run } = logged();
    run('first');
    for (let index = 0; index < 250; index += 1) void run(`${index}`);
    expect(log.filter((entry) => entry !== 'commit')).toHaveLength(201);
    expect(log.filter((entry) => entry === 'commit')).toHaveLength(2);
  });

  it('do not wait once they hold eight million characters', async () => {
    let held = 0;
    let heldMost = 0;
    const commits = new GroupCommit({ gatherMs: 50 });
    const take = (length: number) => {
      held += length;
      heldMost = Math.max(heldMost, held);
      return commits.run(() => {
        held -= length;
      }, length);
    };
    await Promise.all(Array.from({ length: 1_000 }, () => take(800_000)));
    expect([heldMost, held]).toEqual([8_000_000, 0]);
  });

  it('without a transaction run by themselves, in one turn', async () => {
    const commits = new GroupCommit();
    commits.run(() => 'first');
    const broken = () => {
      throw new Error('broken');
    };
    const outcomes = await Promise.allSettled([commits.run(() => 1), commits.run(broken), commits.run(() => 3)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});
