/**
 * A customer's object that stands at an earlier version of the schema is brought up to date when it wakes; and sums
 * that its columns hold stay readable beyond 64 bits.
 */
import { runInDurableObject } from 'cloudflare:test';

import { expect, it } from 'vitest';
import { MIGRATIONS } from '../../durable-objects/customer/migrations.ts';
import { CustomerStore } from '../../durable-objects/customer/store.ts';
import { UNUSED_HOUR } from '../../durable-objects/customer/tables/usage-hours.ts';
import { customerStub } from '../support/worker.ts';

const HOUR = 3_600_000;
const LARGEST = 2n ** 63n - 1n;

/** The store of an object that has run none of the migrations yet. */
async function withOldStore(name: string, test: (store: CustomerStore, sql: SqlStorage) => void): Promise<void> {
  await runInDurableObject(customerStub('schema', name), async (_object, { storage }) => {
    storage.sql.exec('CREATE TABLE schema_version (version INTEGER NOT NULL)');
    storage.sql.exec('INSERT INTO schema_version (version) VALUES (0)');
    test(new CustomerStore(storage), storage.sql);
  });
}

it('an object runs each new migration once', async () => {
  await withOldStore('version', (store, sql) => {
    expect(sql.exec('SELECT version FROM schema_version').one().version).toBe(MIGRATIONS.length);
    expect(store.outboxState()).toEqual({ pending: 0, oldestMs: null });
  });
  await runInDurableObject(customerStub('schema', 'version'), async (_object, { storage }) => {
    expect(new CustomerStore(storage).outboxState()).toEqual({ pending: 0, oldestMs: null });
  });
});

it('an object with credits from before remembers their terms, so that they can get back what they pay', async () => {
  const credit = { creditId: 'c', unit: 'USD', granted: '9', remaining: '4', grantedAtMs: 1, expiresAtMs: null };
  await runInDurableObject(customerStub('schema', 'credits'), async (_object, { storage }) => {
    const { sql } = storage;
    sql.exec('CREATE TABLE schema_version (version INTEGER NOT NULL)');
    sql.exec('INSERT INTO schema_version (version) VALUES (1)');
    sql.exec(String(MIGRATIONS[0]));
    sql.exec('INSERT INTO account (id, value) VALUES (1, ?)', JSON.stringify({ wallet: { credits: [credit] } }));
    const { corrections } = new CustomerStore(storage);
    expect(corrections.credit('c')).toEqual(credit);
  });
});

it('a charge that was on its way before may be at the provider, and waits for a key if it was debited under one', async () => {
  await runInDurableObject(customerStub('schema', 'charges'), async (_object, { storage }) => {
    const { sql } = storage;
    sql.exec('CREATE TABLE schema_version (version INTEGER NOT NULL)');
    const before = MIGRATIONS.findIndex((migration) => String(migration).includes('charges_reported'));
    sql.exec('INSERT INTO schema_version (version) VALUES (?)', before);
    for (const migration of MIGRATIONS.slice(0, before)) sql.exec(String(migration));
    sql.exec(`INSERT INTO charges (charge_id, kind, subject_id, amount_nano_usd, stripe_customer_id, at_ms, debited_at_ms, attempts,
      due_at_ms) VALUES ('new', 'call', 'a', '5', 'cus_1', 1, NULL, 0, 2), ('asked', 'call', 'b', '7', 'cus_1', 1, 2, 1, 3)`);
    const store = new CustomerStore(storage);
    expect(store.charge('new')).toMatchObject({ keyed: false, eventNanoUsd: null, mayBeThere: false });
    expect(store.charge('asked')).toMatchObject({ keyed: true, eventNanoUsd: 7n, mayBeThere: true });
  });
});

it('sums of cost beyond 64 bits in an hour are exact', async () => {
  await withOldStore('costs', ({ usageHours }) => {
    const used = { ...UNUSED_HOUR, completedCalls: 1 };
    usageHours.add(HOUR, { ...used, completedCostNanoUsd: 999_999_999n });
    for (let n = 0; n < 3; n += 1) usageHours.add(2 * HOUR, { ...used, completedCostNanoUsd: LARGEST });
    expect(usageHours.velocity(2 * HOUR)).toEqual({
      hour: { calls: 3, costNanoUsd: 3n * LARGEST },
      day: { calls: 4, costNanoUsd: 3n * LARGEST + 999_999_999n },
    });
    const { costNanoUsd } = JSON.parse(usageHours.asJson(['costNanoUsd'], 0)) as { costNanoUsd: number[] };
    expect(costNanoUsd).toEqual([999_999_999, Number(3n * LARGEST)]);
  });
});

it('units of a custom meter beyond 64 bits in an hour are recorded, and read as the nearest number', async () => {
  await withOldStore('units', ({ usageHours }) => {
    for (let n = 0; n < 1_200; n += 1) usageHours.addUnits(HOUR, 'CUSTOM1', Number.MAX_SAFE_INTEGER);
    const { customMeter1 } = JSON.parse(usageHours.asJson(['customMeter1'], 0)) as { customMeter1: number[] };
    expect(customMeter1[0]).toBeCloseTo(1_200 * Number.MAX_SAFE_INTEGER, -9);
  });
});
