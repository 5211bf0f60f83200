/**
 * Promise: the operator sees how full each database is, how fast it grows, and when it will be full.
 */
import { describe, expect, test } from 'vitest';
import { deleteExpired } from '../../src/history/housekeeping.ts';
import { createTenant } from '../support/api.ts';
import { bindings, operator } from '../support/worker.ts';

const DAY_MS = 86_400_000;

describe('a list of databases', () => {
  test('has the size and the organizations of each, and no growth before there are two days', async () => {
    await createTenant(operator);
    const { status, data } = await operator.send('listDatabases');
    expect(status).toBe(200);
    expect(data.items).toEqual([
      {
        name: 'DB',
        bytes: expect.any(Number),
        bytesMax: 10_000_000_000,
        growthBytesPerDay: null,
        fullAt: null,
        isNearlyFull: false,
        organizations: expect.any(Number),
      },
    ]);
    expect(data.items[0]?.organizations).toBeGreaterThan(0);
  });

  test('has the growth of the last week and the day on which the database is full', async () => {
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const put = bindings.DB.prepare(
      'INSERT INTO database_sizes (day_ms, bytes) VALUES (?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes',
    );
    await bindings.DB.batch([put.bind(today - 20 * DAY_MS, 0), put.bind(today - 5 * DAY_MS, 1)]);
    const [database] = (await operator.send('listDatabases')).data.items;
    if (!database) throw new Error('there is a database');
    const days = (Date.now() - (today - 5 * DAY_MS)) / DAY_MS;
    expect(database.growthBytesPerDay).toBeCloseTo((database.bytes - 1) / days, -2);
    const daysLeft = (Date.parse(database.fullAt ?? '') - Date.now()) / DAY_MS;
    expect(daysLeft).toBeCloseTo((database.bytesMax - database.bytes) / (database.growthBytesPerDay ?? 0), 1);
  });

  test('keeps the first size of each day, for thirty days', async () => {
    await bindings.DB.prepare('DELETE FROM database_sizes').run();
    const nowMs = Date.now();
    await deleteExpired(bindings, nowMs - 31 * DAY_MS);
    await deleteExpired(bindings, nowMs);
    await deleteExpired(bindings, nowMs + 60_000);
    const { results } = await bindings.DB.prepare('SELECT day_ms, bytes > 0 AS has_bytes FROM database_sizes').all();
    expect(results.length).toBeLessThanOrEqual(2);
    expect(results[0]).toMatchObject({ has_bytes: 1 });
    expect(results.map(({ day_ms }) => Number(day_ms)).every((dayMs) => dayMs >= nowMs - DAY_MS)).toBe(true);
  });
});
