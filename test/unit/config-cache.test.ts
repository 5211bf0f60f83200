/**
 * Promise: while its source fails, a configuration is used as long as nobody can have changed it: an hour if another
 * source says that it is unchanged, ten minutes if that one fails too, and no longer once it has changed.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ConfigCache } from '../../src/config/config-cache.ts';

const TTL_MS = 2_000;
const MINUTE_MS = 60_000;
const away = () => Promise.reject(new Error('D1 is away'));

let cache: ConfigCache<string>;
const get = (load: () => Promise<string | null>, hasChanged?: () => Promise<boolean>) =>
  cache.get('key', TTL_MS, load, () => undefined, hasChanged);
const later = (minutes: number) => vi.advanceTimersByTimeAsync(minutes * MINUTE_MS);

beforeEach(async () => {
  vi.useFakeTimers();
  cache = new ConfigCache(10);
  expect(await get(async () => 'old')).toBe('old');
});
afterEach(() => {
  vi.useRealTimers();
});

test('an unchanged value lasts an hour', async () => {
  const unchanged = async () => false;
  await later(59);
  expect(await get(away, unchanged)).toBe('old');
  await later(1);
  await expect(get(away, unchanged)).rejects.toThrow('D1 is away');
});

test('a value of which nobody can say whether it has changed lasts ten minutes', async () => {
  await later(9);
  expect(await get(away, away)).toBe('old');
  expect(await get(away)).toBe('old');
  await later(1);
  await expect(get(away, away)).rejects.toThrow('D1 is away');
  await expect(get(away)).rejects.toThrow('D1 is away');
});

test('a changed value is used no more, and the new one is once the source answers', async () => {
  await later(1);
  await expect(get(away, async () => true)).rejects.toThrow('D1 is away');
  expect(
    await get(
      async () => 'new',
      async () => true,
    ),
  ).toBe('new');
});

test('a source that answers is believed at once, whatever failed before', async () => {
  await later(1);
  expect(await get(away, async () => false)).toBe('old');
  await later(1);
  expect(await get(async () => null)).toBeNull();
  await later(1);
  await expect(get(away, async () => false)).rejects.toThrow('D1 is away');
});

test('a failing source is asked once a second', async () => {
  await later(1);
  const load = vi.fn(away);
  for (let n = 0; n < 100; n += 1) expect(await get(load, async () => false)).toBe('old');
  expect(load).toHaveBeenCalledTimes(1);
});

test('a source that does not answer counts as failing after three seconds', async () => {
  await later(1);
  const answer = get(
    () => new Promise(() => undefined),
    async () => false,
  );
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await answer).toBe('old');
});
