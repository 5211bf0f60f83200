/**
 * Promise: objects bring what they have stored up to date. Tables of the first release, which had no version, are
 * accepted; rows are rewritten by alarms, in steps of a bounded size, while commands run; and what a newer release has
 * stored is refused, stays as it is, and is looked at again later.
 */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { MIGRATIONS as WATCH } from '../../durable-objects/organization-watch/migrations.ts';
import { MIGRATIONS as PROJECTOR } from '../../durable-objects/projector/migrations.ts';
import { type Migration, ObjectSchema, ROWS_PER_ALARM } from '../../durable-objects/schema.ts';
import { StoredValue } from '../../durable-objects/stored-value.ts';
import { MIGRATIONS as ENDPOINT } from '../../durable-objects/webhook-endpoint/migrations.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator, { name: 'Kept', limitType: 'NONE' });
});

const withStorage = <Result>(name: string, run: (storage: DurableObjectStorage) => Result | Promise<Result>) =>
  runInDurableObject(customerStub('migrations', name), (_, { storage }) => run(storage));

const versionOf = ({ sql }: DurableObjectStorage) => sql.exec('SELECT version FROM schema_version').one().version;

describe('tables without a version', () => {
  test.each([
    ['Projector', PROJECTOR, "INSERT INTO history_database (id, name) VALUES (1, 'DB')"],
    ['WebhookEndpoint', ENDPOINT, "INSERT INTO replays (after_id, before_id) VALUES ('a', 'b')"],
    ['OrganizationWatch', WATCH, "INSERT INTO customers (customer_id) VALUES ('ann')"],
  ] as [string, readonly Migration[], string][])(
    'of %s get one, and keep their rows',
    async (name, migrations, insert) => {
      await withStorage(`unversioned ${name}`, (storage) => {
        storage.sql.exec(String(migrations[0]));
        storage.sql.exec(insert);
        new ObjectSchema(storage, name, migrations).migrate();
        expect(versionOf(storage)).toBe(migrations.length);
        const table = /INTO (\w+)/.exec(insert)?.[1];
        expect(storage.sql.exec(`SELECT COUNT(*) AS rows FROM ${table}`).one().rows).toBe(1);
      });
    },
  );
});

describe('a migration of 10,000 rows', () => {
  const ROWS = 10_000;
  const CREATE = 'CREATE TABLE amounts (id INTEGER PRIMARY KEY, cents INTEGER, nano TEXT, times INTEGER DEFAULT 0)';
  /** The amount in either form. */
  const sum = ({ sql }: DurableObjectStorage) =>
    sql.exec('SELECT SUM(COALESCE(CAST(nano AS INTEGER), cents * 10000000)) AS sum FROM amounts').one().sum;
  const count = ({ sql }: DurableObjectStorage) =>
    Number(sql.exec('SELECT SUM(times) AS times FROM amounts').one().times);

  const fill = (storage: DurableObjectStorage) => {
    new ObjectSchema(storage, 'Test', [CREATE]).migrate();
    storage.sql.exec(`INSERT INTO amounts (cents)
      WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ${ROWS}) SELECT value FROM n`);
  };

  function rewriting(beforeEach: () => void = () => undefined): Migration[] {
    const rewrite: Extract<Migration, object>['rewrite'] = (sql, after, rowsMax) => {
      const ids = sql.exec<{ id: number }>(
        'SELECT id FROM amounts WHERE id > ? ORDER BY id LIMIT ?',
        after ?? 0,
        rowsMax,
      );
      const last = ids.toArray().at(-1)?.id ?? null;
      if (last === null) return null;
      const update = `UPDATE amounts SET nano = CAST(cents * 10000000 AS TEXT), cents = NULL, times = times + 1
        WHERE id > ? AND id <= ?`;
      sql.exec(update, after ?? 0, last);
      beforeEach();
      return last;
    };
    return [CREATE, { sql: 'CREATE INDEX amounts_by_nano ON amounts (nano) WHERE nano IS NOT NULL', rewrite }];
  }

  test('rewrites none of them when the object opens', async () => {
    await withStorage('opens', (storage) => {
      fill(storage);
      const schema = new ObjectSchema(storage, 'Test', rewriting());
      schema.migrate();
      expect([versionOf(storage), schema.hasUnfinished, count(storage)]).toEqual([2, true, 0]);
    });
  });

  test('is done by alarms of a bounded size, while commands run, and goes on where an object was killed', async () => {
    await withStorage('alarms', async (storage) => {
      fill(storage);
      const whole = sum(storage);
      let batches = 0;
      const migrations = rewriting(() => {
        batches += 1;
        // As if the object had been killed within a transaction.
        if (batches % 17 === 0) throw new Error('killed');
      });
      let commands = 0;
      for (let alarm = 1; alarm <= ROWS; alarm += 1) {
        const schema = new ObjectSchema(storage, 'Test', migrations);
        schema.migrate();
        if (!schema.hasUnfinished) break;
        const before = count(storage);
        const work = schema.rewriteRows().catch(() => undefined);
        for (let turn = 0; turn < 3; turn += 1) {
          expect(sum(storage)).toBe(whole);
          storage.sql.exec('UPDATE amounts SET nano = nano WHERE id = 1');
          commands += 1;
          await scheduler.wait(0);
        }
        await work;
        expect(count(storage) - before).toBeLessThanOrEqual(ROWS_PER_ALARM);
      }
      expect([sum(storage), count(storage)]).toEqual([whole, ROWS]);
      expect(storage.sql.exec('SELECT COUNT(*) AS n FROM amounts WHERE times <> 1').one().n).toBe(0);
      expect(commands).toBeGreaterThan(ROWS / ROWS_PER_ALARM);
    });
  });

  test('has nothing to rewrite in a new object', async () => {
    await withStorage('new', (storage) => {
      const schema = new ObjectSchema(storage, 'Test', rewriting());
      schema.migrate();
      expect([versionOf(storage), schema.hasUnfinished]).toEqual([2, false]);
    });
  });
});

describe('state of a newer release', () => {
  /** Lets the object start again, with what is stored changed in between. */
  async function restart(stub: DurableObjectStub, change: (storage: DurableObjectStorage) => void): Promise<void> {
    await runInDurableObject(stub, (_, { storage }) => change(storage));
    await evictDurableObject(stub);
  }
  const setVersion = (version: number) => (storage: DurableObjectStorage) =>
    void storage.sql.exec('UPDATE schema_version SET version = ?', version);
  const rows = (stub: DurableObjectStub) =>
    runInDurableObject(stub, (_, { storage }) => storage.sql.exec('SELECT value FROM account').toArray());

  test("in a customer's object is 503, and stays as it is until the newer release is back", async () => {
    const body = { customerId: 'newer' };
    await tenant.api.send('provisionCustomer', { body });
    const stub = () => customerStub(tenant.organizationId, 'newer');
    const before = await rows(stub());
    const version = Number(await runInDurableObject(stub(), (_, { storage }) => versionOf(storage)));
    await restart(stub(), setVersion(version + 1));
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const refused = await tenant.api.send('beginCall', { body });
      expect([refused.status, refused.refusal.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    }
    await runInDurableObject(stub(), (_, { storage }) => storage.setAlarm(Date.now() + 60_000));
    await runDurableObjectAlarm(stub());
    expect(await runInDurableObject(stub(), (_, { storage }) => storage.getAlarm())).not.toBeNull();
    expect(await rows(stub())).toEqual(before);
    await restart(stub(), setVersion(version));
    expect((await tenant.api.send('beginCall', { body })).status).toBe(200);
  });

  test('in a job is refused, and the job goes on later', async () => {
    const stub = () => bindings.PLAN_MIGRATIONS.getByName('newer job');
    const put = (value: unknown) => runInDurableObject(stub(), (_, { storage }) => storage.put('state', value));
    await put({ storedVersion: 2, value: { jobId: 'newer job' } });
    const params = { org: tenant.organizationId, jobId: 'newer job' };
    expect((await operator.send('readMigration', { params })).status).toBe(503);
    await runInDurableObject(stub(), (_, { storage }) => storage.setAlarm(Date.now() + 60_000));
    await runDurableObjectAlarm(stub());
    const left = await runInDurableObject(stub(), async (_, { storage }) => [
      await storage.get('state'),
      (await storage.getAlarm()) !== null,
    ]);
    expect(left).toEqual([{ storedVersion: 2, value: { jobId: 'newer job' } }, true]);
  });
});

test('a value by key is read in each of its versions, and written in the newest', async () => {
  await withStorage('value', async (storage) => {
    const first = new StoredValue<{ name: string }>('thing', [(stored) => stored as { name: string }]);
    const second = new StoredValue<{ names: string[] }>('thing', [
      (stored) => ({ names: [(stored as { name: string }).name] }),
      (stored) => stored as { names: string[] },
    ]);
    await first.put(storage, { name: 'a' });
    expect(await second.get(storage)).toEqual({ names: ['a'] });
    await second.put(storage, { names: ['a', 'b'] });
    expect(await second.get(storage)).toEqual({ names: ['a', 'b'] });
    await expect(first.get(storage)).rejects.toThrow('a newer release wrote what is stored');
  });
});
