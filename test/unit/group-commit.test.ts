/**
 * Commands of one moment share a turn of the object, and each keeps an outcome of its own.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
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
