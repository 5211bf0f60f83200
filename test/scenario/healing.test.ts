/**
 * Promise: temporary failures heal without a person. An alarm that fails more often than the runtime repeats it is
 * still set; a backlog of any length drains in steps of a bounded size.
 *
 * With `VITE_OUTBOX_ROWS=100000` the backlog has its full length.
 */

import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { asCallId, asCustomerId } from '../../src/domain/ids.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { accepted, withObject } from '../support/object.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';
import { faultyEnv } from './faulty-bindings.ts';

/** The runtime gives an alarm up after six retries. */
const FAILURES = 9;
const OUTBOX_ROWS = Number(process.env.VITE_OUTBOX_ROWS ?? 12_000);
const START = Date.UTC(2027, 4, 1);

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator, { name: 'Healing', limitType: 'NONE' });
});

/** Replaces the environment of a living object, as if its bindings had broken; `null` makes them whole. */
function breakBindings(stub: DurableObjectStub, binding: 'DB' | 'KV' | 'CUSTOMERS' | null): Promise<void> {
  return runInDurableObject(stub, (instance) => {
    const env = binding === null ? bindings : faultyEnv((on) => (on === binding ? 'throws' : null));
    (instance as unknown as { env: unknown }).env = env;
  });
}

const alarmOf = (stub: DurableObjectStub) => runInDurableObject(stub, (_, { storage }) => storage.getAlarm());

/** Fires the alarm as often as the runtime would, and more. Each time another one stands afterwards. */
async function failAlarms(stub: DurableObjectStub): Promise<void> {
  for (let failure = 0; failure < FAILURES; failure += 1) {
    await runDurableObjectAlarm(stub);
    expect(await alarmOf(stub), `after failure ${failure + 1}`).not.toBeNull();
  }
}

async function untilTrue(condition: () => Promise<boolean>, stub: DurableObjectStub): Promise<void> {
  for (let round = 0; !(await condition()); round += 1) {
    if (round > 100) throw new Error('it does not heal');
    await runDurableObjectAlarm(stub);
    await scheduler.wait(50);
  }
}

describe("a customer's object", () => {
  const inspect = async (customerId: string) =>
    (await operator.send('readCustomer', { params: { org: tenant.organizationId, customerId } })).data;

  test(`delivers everything after ${FAILURES} alarms without D1`, async () => {
    const stub = customerStub(tenant.organizationId, 'patient');
    await tenant.api.send('provisionCustomer', { body: { customerId: 'patient' } });
    await breakBindings(stub, 'DB');
    await tenant.api.send('beginCall', {
      body: { customerId: 'patient' },
      headers: { 'Idempotency-Key': 'patient-1' },
    });
    await failAlarms(stub);
    expect((await inspect('patient')).outbox.pending).toBeGreaterThan(0);
    await breakBindings(stub, null);
    // A failed delivery waits for its backoff, which the test does not.
    await runInDurableObject(stub, (_, { storage }) => void storage.sql.exec('UPDATE delivery SET due_at_ms = 0'));
    await untilTrue(async () => (await inspect('patient')).outbox.pending === 0, stub);
    const row = await bindings.DB.prepare('SELECT status FROM calls WHERE call_id = ?').bind('patient-1').first();
    expect(row).toEqual({ status: 'IN_PROGRESS' });
  });

  test(`recovers after ${FAILURES} alarms with an unexpected failure`, async () => {
    const stub = customerStub(tenant.organizationId, 'surprised');
    await tenant.api.send('beginCall', {
      body: { customerId: 'surprised' },
      headers: { 'Idempotency-Key': 'surprised-1' },
    });
    const rename = (from: string, to: string) =>
      runInDurableObject(stub, (_, { storage }) => void storage.sql.exec(`ALTER TABLE ${from} RENAME TO ${to}`));
    await rename('charges', 'misplaced');
    await failAlarms(stub);
    await rename('misplaced', 'charges');
    await untilTrue(async () => (await inspect('surprised')).outbox.pending === 0, stub);
  });
});

describe('the call directory', () => {
  test(`prunes again after ${FAILURES} alarms that failed`, async () => {
    const stub = bindings.CALL_DIRECTORY.getByName(`${crypto.randomUUID()}:0`);
    await stub.claim(asCallId('old'), asCustomerId('anybody'), 'token');
    const sql = (text: string) => runInDurableObject(stub, (_, { storage }) => void storage.sql.exec(text));
    await sql('ALTER TABLE claims RENAME TO misplaced');
    await failAlarms(stub);
    await sql('ALTER TABLE misplaced RENAME TO claims');
    await sql('UPDATE claims SET claimed_at_ms = 0');
    await runDurableObjectAlarm(stub);
    expect(await stub.find(asCallId('old'))).toBeNull();
  });
});

describe('the migration of a plan', () => {
  test.each(['DB', 'CUSTOMERS'] as const)(`continues after ${FAILURES} alarms without %s`, async (binding) => {
    const customerId = `moved-without-${binding}`;
    const plan = { name: `Moved ${binding}`, limitType: 'NONE' };
    const params = { org: tenant.organizationId, planId: `moved-${binding}` };
    await operator.send('putPlan', { params, body: plan });
    await tenant.api.send('provisionCustomer', { body: { customerId } });
    await tenant.api.send('changePlan', { params: { customerId }, body: { planId: params.planId } });
    const stub = customerStub(tenant.organizationId, customerId);
    const readRow = () =>
      bindings.DB.prepare('SELECT plan_id FROM customers WHERE customer_id = ?')
        .bind(customerId)
        .first<{ plan_id: string }>();
    await untilTrue(async () => (await readRow())?.plan_id === params.planId, stub);
    await operator.send('putPlan', { params, body: { ...plan, limitType: 'BLOCK' } });
    const { jobId } = (await operator.send('migratePlan', { params, body: { when: 'NOW' } })).data;

    const job = bindings.PLAN_MIGRATIONS.getByName(jobId);
    await breakBindings(job, binding);
    await failAlarms(job);
    await breakBindings(job, null);
    const progress = async () =>
      (await operator.send('readMigration', { params: { org: tenant.organizationId, jobId } })).data;
    await untilTrue(async () => (await progress()).migrated === 1, job);
    expect((await progress()).failures).toBeGreaterThan(0);
    const usage = (await tenant.api.send('readUsage', { params: { customerId } })).data;
    expect(usage.subscription.limitType).toBe('BLOCK');
  });
});

describe('a backlog', () => {
  /** The calls, the customer, and the event that it is new. */
  const ALL_ROWS = OUTBOX_ROWS + 2;
  const BATCH_ROWS_MAX = 2_000;
  /** Changes that an object hands over in one alarm. */
  const HANDED_OVER_MAX = 10_000;
  /** The size of everything that one batch binds: far below the 128 MB of an object. */
  const BATCH_LENGTH_MAX = 16_000_000;

  test(
    `of ${OUTBOX_ROWS} calls drains in batches of a bounded size, and D1 has each of them once`,
    async () => {
      await withObject({ name: 'P', limitType: 'NONE' }, async (object, { organizationId }) => {
        const tags = Array.from({ length: 10 }, (_, index) => `${index}`.padEnd(100, 'x'));
        for (let index = 0; index < OUTBOX_ROWS; index += 1)
          accepted(object.begin(`backlog-${index}`, START, { tags }));
        expect(object.outbox().pending).toBe(ALL_ROWS);
        const batches: { rows: number; length: number }[] = [];
        const watched = watchedD1(batches);
        const rounds = Math.ceil(ALL_ROWS / HANDED_OVER_MAX);
        for (let round = 1; round <= rounds; round += 1) {
          const { more } = await object.deliver(watched, START + 1_000 + round);
          const waiting = Math.max(0, ALL_ROWS - round * HANDED_OVER_MAX);
          expect(object.outbox()).toMatchObject({ pending: waiting, failures: 0 });
          expect(more, 'the object goes on').toBe(waiting > 0);
        }
        expect(Math.max(...batches.map(({ rows }) => rows))).toBeLessThanOrEqual(BATCH_ROWS_MAX);
        expect(Math.max(...batches.map(({ length }) => length))).toBeLessThan(BATCH_LENGTH_MAX);
        const { results } = await bindings.DB.prepare(
          `SELECT COUNT(*) AS n, COUNT(DISTINCT call_id) AS ids, MIN(CAST(substr(call_id, 9) AS INTEGER)) AS first,
             MAX(CAST(substr(call_id, 9) AS INTEGER)) AS last FROM calls WHERE organization_id = ?`,
        )
          .bind(organizationId)
          .all();
        expect(results).toEqual([{ n: OUTBOX_ROWS, ids: OUTBOX_ROWS, first: 0, last: OUTBOX_ROWS - 1 }]);
      });
    },
    30_000 + OUTBOX_ROWS * 4,
  );

  /** A D1 that writes down how much each batch brings. */
  function watchedD1(batches: { rows: number; length: number }[]): D1Database {
    const weights = new WeakMap<object, { rows: number; length: number }>();
    const prepare = (sql: string) => {
      const statement = bindings.DB.prepare(sql);
      const bind = statement.bind.bind(statement);
      statement.bind = (text, ...more) => {
        const bound = bind(text, ...more);
        // Rows that a table receives; the statements that count their usage name the same rows again.
        const rows = /INTO (?:usage_change_parts|output_rates)/.test(sql)
          ? 0
          : (JSON.parse(String(text)) as unknown[]).length;
        weights.set(bound, { rows, length: String(text).length });
        return bound;
      };
      return statement;
    };
    const batch = (statements: D1PreparedStatement[]) => {
      const all = statements.map((statement) => weights.get(statement) ?? { rows: 0, length: 0 });
      const sum = (of: 'rows' | 'length') => all.reduce((total, weight) => total + weight[of], 0);
      batches.push({ rows: sum('rows'), length: sum('length') });
      return bindings.DB.batch(statements);
    };
    return { prepare, batch } as unknown as D1Database;
  }
});
