/**
 * Commands of one moment share a turn of the object, and each keeps an outcome of its own.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GroupCommit } from '../../durable-objects/group-commit.ts';

describe('commands that come at the same time', () => {
  it('run at once where the object is idle', async () => {
    const commits = new GroupCommit();
    expect(commits.run(() => 'first')).toBe('first');
    await wait(20);
    expect(commits.run(() => 'much later')).toBe('much later');
  });

  it('run in one turn, in the order in which they came', async () => {
    const commits = new GroupCommit();
    const ran: number[] = [];
    let turns = 0;
    const command = (index: number) => () => {
      if (ran.push(index) === 2) queueMicrotask(() => (turns = ran.length));
      return index;
    };
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => commits.run(command(index))));
    expect(answers).toEqual(Array.from({ length: 40 }, (_, index) => index));
    expect(ran).toEqual(answers);
    expect(turns, 'all had run before anything else did').toBe(40);
  });

  it('go on being gathered while they keep coming, and all are answered', async () => {
    const commits = new GroupCommit();
    const counts = Array.from({ length: 20 }, async (_, client) => {
      for (let turn = 0; turn < 50; turn += 1) expect(await commits.run(() => client * turn)).toBe(client * turn);
      return 50;
    });
    expect((await Promise.all(counts)).reduce((sum, count) => sum + count)).toBe(1_000);
  });

  it('fail alone: one that throws takes no other with it', async () => {
    const commits = new GroupCommit();
    commits.run(() => 'takes the first turn');
    const broken = () => {
      throw new Error('broken');
    };
    const outcomes = await Promise.allSettled([commits.run(() => 1), commits.run(broken), commits.run(() => 3)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(() => new GroupCommit().run(broken)).toThrow('broken');
    expect(await commits.run(() => 'still works')).toBe('still works');
  });

  it('share one transaction; where one of them throws, each runs once more by itself, in the same order', async () => {
    const log: string[] = [];
    // What a transaction that throws did is undone, as in the object's storage.
    const together = <Results>(commands: () => Results): Results => {
      const before = log.length;
      try {
        const results = commands();
        log.push('commit');
        return results;
      } catch (error) {
        log.splice(before, log.length, 'undone');
        throw error;
      }
    };
    const commits = new GroupCommit(together);
    const command = (name: string) => () => {
      log.push(name);
      if (name === 'broken') throw new Error(name);
      return name;
    };
    commits.run(command('first'));
    expect(await Promise.all([commits.run(command('a')), commits.run(command('b'))])).toEqual(['a', 'b']);
    const outcomes = await Promise.allSettled(['c', 'broken', 'd'].map((name) => commits.run(command(name))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(log).toEqual(['first', 'a', 'b', 'commit', 'undone', 'c', 'broken', 'd']);
    expect(await commits.run(command('alone'))).toBe('alone');
    expect(log.slice(-2), 'one command is a transaction of its own already').toEqual(['d', 'alone']);
  });

  it('run in this turn where they were gathered already, with whoever waits, and none fails for another', async () => {
    let turns = 0;
    const commits = new GroupCommit((commands) => {
      turns += 1;
      return commands();
    });
    expect(commits.run(() => 'takes the first turn')).toBe('takes the first turn');
    const waiting = commits.run(() => 'waits');
    const ran: string[] = [];
    const settled = commits.runNow(['a', 'b'].map((name) => () => ran.push(name)));
    expect([ran, turns]).toEqual([['a', 'b'], 1]);
    expect(await settled).toEqual([1, 2].map((value) => ({ status: 'fulfilled', value })));
    expect(await waiting).toBe('waits');
    const broken = () => {
      throw new Error('broken');
    };
    expect((await commits.runNow([() => 1, broken, () => 3])).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(await commits.runNow([() => 'alone'])).toEqual([{ status: 'fulfilled', value: 'alone' }]);
  });

  it('do not wait for a turn once a hundred are waiting', () => {
    const commits = new GroupCommit();
    commits.run(() => 'takes the first turn');
    let ran = 0;
    for (let index = 0; index < 250; index += 1)
      void commits.run(() => {
        ran += 1;
      });
    expect(ran).toBe(200);
  });
});

/** The event loop has seen what else has arrived. */
const look = () => vi.advanceTimersToNextTimer();

describe('commands of callers who come back as soon as they are answered', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /**
   * An object that is busy with groups of so many commands; `come` lets more of them in, `ran` says how large the
   * groups were.
   */
  function busyWith(count: number) {
    const commits = new GroupCommit((commands) => {
      groups.push(0);
      return commands();
    });
    const groups: number[] = [];
    const come = (commands: number) => {
      for (let index = 0; index < commands; index += 1) void commits.run(() => groups.push((groups.pop() ?? 0) + 1));
    };
    come(1);
    come(count);
    look();
    const ran = () => groups.splice(0);
    expect(ran().at(-1)).toBe(count);
    return { come, ran };
  }

  it('run as soon as as many are there as came before, once nobody else followed', () => {
    const { come, ran } = busyWith(5);
    come(5);
    expect(ran(), 'others may follow').toEqual([]);
    look();
    expect(ran()).toEqual([5]);
    for (let group = 0; group < 16; group += 1) {
      come(5);
      expect(ran(), 'nobody did').toEqual([5]);
    }
    come(5);
    expect(ran(), 'now and then it is looked again').toEqual([]);
    come(3);
    look();
    come(1);
    look();
    expect(ran()).toEqual([]);
    look();
    expect(ran()).toEqual([9]);
  });

  it('wait for each other for 20 ms at most, and for fewer where fewer come', () => {
    const { come, ran } = busyWith(8);
    come(2);
    vi.advanceTimersByTime(19);
    expect(ran()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(ran()).toEqual([2]);
    // Five were expected then, three after that.
    come(2);
    vi.advanceTimersByTime(20);
    expect(ran()).toEqual([2]);
    come(3);
    look();
    expect(ran()).toEqual([3]);
  });

  it('have their whole time, whenever the group before them ran', () => {
    const { come, ran } = busyWith(5);
    come(5);
    look();
    vi.advanceTimersByTime(6);
    come(5);
    expect(ran()).toEqual([5, 5]);
    come(2);
    vi.advanceTimersByTime(19);
    expect(ran()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(ran()).toEqual([2]);
  });

  it('do not wait for ever for those who keep following one by one', () => {
    const { come, ran } = busyWith(2);
    come(2);
    let looks = 0;
    for (let groups: number[] = []; groups.length === 0; groups = ran()) {
      come(1);
      look();
      looks += 1;
      expect(looks).toBeLessThanOrEqual(10);
    }
    expect(looks).toBe(10);
  });
});
