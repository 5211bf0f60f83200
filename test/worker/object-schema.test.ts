/**
 * A customer's object that was written by an earlier version of the service is brought up to date when it wakes, and
 * loses nothing.
 */
import { runInDurableObject } from 'cloudflare:test';

import { expect, it } from 'vitest';
import { MIGRATIONS } from '../../durable-objects/customer/migrations.ts';
import { CustomerStore } from '../../durable-objects/customer/store.ts';
import { customerStub } from '../support/worker.ts';

it.each(MIGRATIONS.slice(1).map((_, index) => index + 1))(
  'an object of schema version %i keeps its queue, its keys and its calls',
  async (version) => {
    const stub = customerStub('schema', String(version));
    await runInDurableObject(stub, async (_object, { storage }) => {
      const { sql } = storage;
      sql.exec('CREATE TABLE schema_version (version INTEGER NOT NULL)');
      sql.exec('INSERT INTO schema_version (version) VALUES (?)', version);
      for (const migration of MIGRATIONS.slice(0, version)) sql.exec(migration);
      const record = JSON.stringify({ callId: 'call-1', status: 'IN_PROGRESS' });
      sql.exec(
        `INSERT INTO calls (call_id, status, started_at_ms, deadline_at_ms, record, begin_fingerprint) VALUES ('call-1', 'IN_PROGRESS', 1, 2, ?, 'print')`,
        record,
      );
      if (version < 5) {
        // The queue was kept by key, not by place.
        sql.exec(
          `INSERT INTO outbox (kind, id, revision, queued_at_ms) VALUES ('call', 'call-1', 7, 20), ('customer', 'customer-1', 3, 10)`,
        );
      } else {
        sql.exec(
          `INSERT INTO outbox (kind, id, queued_at_ms) VALUES ('customer', 'customer-1', 10), ('call', 'call-1', 20)`,
        );
      }
      sql.exec(
        `INSERT INTO derived_keys (hash, fingerprint, generation, call_id, at_ms) VALUES ('hash', 'print', 5, 'call-1', 1)`,
      );

      const store = new CustomerStore(storage);

      expect(store.outboxPage(10).rows.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
        'customer customer-1',
        'call call-1',
      ]);
      expect(store.derivedCall('hash', 'print')).toMatchObject({ newest: 5, call: { beginFingerprint: 'print' } });
      expect(sql.exec('SELECT version FROM schema_version').one().version).toBe(MIGRATIONS.length);
      store.outboxSent(store.outboxPage(1), 30);
      expect(store.outboxState()).toEqual({ pending: 1, oldestMs: 20 });
    });
  },
);

const HOUR = 3_600_000;
const LARGEST = 2n ** 63n - 1n;

it.each<[string, string, bigint]>([
  ['one that is split', '1234567890123', 1_234_567_890_123n],
  ['one of less than a dollar', '999999999', 999_999_999n],
  ['the largest of 64 bits', String(LARGEST), LARGEST],
  // Two of the largest were a floating-point number, which ends at the dollar here.
  ['one that had left 64 bits', `${LARGEST} + ${LARGEST}`, 18_446_744_073_000_000_000n],
])('sums of cost from before they had two columns are read, and added to: %s', async (name, stored, read) => {
  await runInDurableObject(customerStub('schema', name), async (_object, { storage }) => {
    const { sql } = storage;
    sql.exec('CREATE TABLE schema_version (version INTEGER NOT NULL)');
    sql.exec('INSERT INTO schema_version (version) VALUES (5)');
    for (const migration of MIGRATIONS.slice(0, 5)) sql.exec(migration);
    sql.exec(
      `INSERT INTO usage_hours (hour_ms, completed_calls, completed_cost_nano_usd) VALUES (${HOUR}, 2, ${stored})`,
    );
    const { usageHours } = new CustomerStore(storage);
    expect(usageHours.velocity(HOUR)).toMatchObject({
      hour: { calls: 2, costNanoUsd: read },
      day: { costNanoUsd: read },
    });
    const used = {
      completedCalls: 1,
      failedCalls: 0,
      inputTokens: 0,
      outputTokens: 0,
      failedCostNanoUsd: 0n,
      unpricedCalls: 0,
    };
    for (let n = 0; n < 3; n += 1) {
      usageHours.add(2 * HOUR, { ...used, completedCostNanoUsd: LARGEST });
      usageHours.flush();
    }
    expect(usageHours.velocity(2 * HOUR)).toEqual({
      hour: { calls: 3, costNanoUsd: 3n * LARGEST },
      day: { calls: 5, costNanoUsd: 3n * LARGEST + read },
    });
    const { costNanoUsd } = JSON.parse(usageHours.asJson(['costNanoUsd'], 0)) as { costNanoUsd: number[] };
    expect(costNanoUsd).toEqual([Number(read), Number(3n * LARGEST)]);
  });
});

it('units of a custom meter beyond 64 bits in an hour are recorded, and read as the nearest number', async () => {
  await runInDurableObject(customerStub('schema', 'units'), async (_object, { storage }) => {
    storage.sql.exec('CREATE TABLE schema_version (version INTEGER NOT NULL)');
    storage.sql.exec('INSERT INTO schema_version (version) VALUES (0)');
    const { usageHours } = new CustomerStore(storage);
    for (let n = 0; n < 1_200; n += 1) usageHours.addUnits(HOUR, 'CUSTOM1', Number.MAX_SAFE_INTEGER);
    const { customMeter1 } = JSON.parse(usageHours.asJson(['customMeter1'], 0)) as { customMeter1: number[] };
    expect(customMeter1[0]).toBeCloseTo(1_200 * Number.MAX_SAFE_INTEGER, -9);
  });
});
