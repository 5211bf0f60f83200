/**
 * Promise: a change that D1 refuses for its content stops nobody. It is set aside, visible, kept, and can be sent
 * again; everything else arrives. While D1 is unavailable, nothing is set aside.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { refusalReason } from '../../durable-objects/projector/refusal.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';
import { bindings } from '../support/worker.ts';

const START = Date.UTC(2027, 2, 1);
const DAY_MS = 86_400_000;
const PLAN = { name: 'P', limitType: 'NONE' };
const REFUSED = 'D1_ERROR: datatype mismatch: SQLITE_MISMATCH';
/** Alarms that a test waits for at most. */
const ALARMS_MAX = 400;

interface Faults {
  /** D1 refuses a batch that brings one of these. */
  refuses?: (id: string) => boolean;
  /** D1 is away for the batch of this number, counted from 1. */
  isAway?: (batch: number) => boolean;
  /** Runs after D1 has taken the batch of this number. */
  taken?: (batch: number) => void;
}

const BOUND = Symbol('the values bound to a statement');
type Bound = D1PreparedStatement & { [BOUND]?: unknown[] };

/** D1 itself, except for its refusals and its outages. Counts the sent batches. */
function faultyD1({ refuses = () => false, isAway = () => false, taken }: Faults): D1Database & { batches: number } {
  const prepare = (sql: string): Bound => {
    const statement = bindings.DB.prepare(sql);
    return Object.assign(Object.create(statement) as Bound, {
      bind: (...values: unknown[]) => Object.assign(statement.bind(...values), { [BOUND]: values }),
    });
  };
  const db = {
    batches: 0,
    // Writes outside of a batch, of the event log, have no faults.
    prepare: (sql: string) =>
      /INTO (customers|calls|meter_events|credit_entries) /.test(sql) ? prepare(sql) : bindings.DB.prepare(sql),
    batch: async (statements: Bound[]) => {
      db.batches += 1;
      if (isAway(db.batches)) throw new Error('D1_ERROR: Network connection lost.');
      // A call, an event and a customer have their id behind the subscription and the organization.
      const rows = statements.flatMap((statement) => JSON.parse(String(statement[BOUND]?.[0] ?? '[]')) as unknown[][]);
      if (rows.some((row) => refuses(String(row[2])))) throw new Error(REFUSED);
      const results = await bindings.DB.batch(statements);
      taken?.(db.batches);
      return results;
    },
  };
  return db as unknown as D1Database & { batches: number };
}

async function callsInD1(organizationId: string): Promise<string[]> {
  const { results } = await bindings.DB.prepare('SELECT call_id FROM calls WHERE organization_id = ? ORDER BY call_id')
    .bind(organizationId)
    .all<{ call_id: string }>();
  return results.map(({ call_id }) => call_id);
}

const setAside = (object: Clockwork) =>
  object.query<{ kind: string; id: string; reason: string }>('SELECT kind, id, reason FROM set_aside ORDER BY id');
const idsSetAside = (object: Clockwork) => setAside(object).map(({ id }) => id);

/** Delivers until nothing waits any more. */
async function drain(object: Clockwork, db: D1Database, fromMs: number): Promise<void> {
  for (let round = 0; round < ALARMS_MAX && object.outbox().pending > 0; round += 1)
    await object.deliver(db, fromMs + round * 60_000);
  expect(object.outbox().pending).toBe(0);
}

const paddedId = (n: number) => `c${String(n).padStart(3, '0')}`;

describe('changes that D1 refuses because of their content', () => {
  test('are set aside at any position, and all others arrive', async () => {
    const cases = fc.integer({ min: 1, max: 60 }).chain((count) =>
      fc.record({
        count: fc.constant(count),
        refused: fc.uniqueArray(fc.nat(count - 1), { maxLength: Math.min(count, 8) }),
        restarts: fc.boolean(),
      }),
    );
    await fc.assert(
      fc.asyncProperty(cases, ({ count, refused, restarts }) =>
        withObject(PLAN, async (object, { organizationId }) => {
          const all = Array.from({ length: count }, (_, n) => paddedId(n));
          const faulty = new Set(refused.map(paddedId));
          for (const id of all) accepted(object.begin(id, START));
          if (restarts) {
            await object.deliver(
              faultyD1({ refuses: (id) => faulty.has(id), isAway: (batch) => batch > 3 }),
              START + 1_000,
            );
            await object.restart();
          }
          await drain(object, faultyD1({ refuses: (id) => faulty.has(id) }), START + 2_000);
          expect(idsSetAside(object)).toEqual([...faulty].sort());
          expect(await callsInD1(organizationId)).toEqual(all.filter((id) => !faulty.has(id)));
        }),
      ),
      { numRuns: 25 },
    );
  });

  test('are found in a bounded number of batches per alarm, even if all 400 of a batch are refused, and logged up to a bound', async () => {
    await withObject(PLAN, async (object, { organizationId }) => {
      for (let n = 0; n < 399; n += 1) accepted(object.begin(paddedId(n), START));
      const refuses = (id: string) => id.startsWith('c');
      let batches = 0;
      for (let round = 0; object.outbox().pending > 0; round += 1) {
        const db = faultyD1({ refuses });
        const { pending } = object.outbox();
        await object.deliver(db, START + round * 1_000);
        expect(db.batches).toBeLessThanOrEqual(50);
        expect(object.outbox().pending).toBeLessThan(pending);
        expect(object.outbox()).toMatchObject({ failures: 0 });
        batches += db.batches;
      }
      expect(object.rows('set_aside')).toBe(400);
      expect(batches).toBeLessThan(1_500);
      expect(await callsInD1(organizationId)).toEqual([]);
      const events = await bindings.DB.prepare('SELECT COUNT(*) AS n FROM operator_events WHERE organization_id = ?')
        .bind(organizationId)
        .first();
      expect(events, 'the event log is bounded').toEqual({ n: 100 });
    });
  });

  test('may be the customer, a ledger entry or a meter event, with the same rule', async () => {
    const plan = { ...PLAN, customMeters: { CUSTOM1: { label: 'Pages', included: 10 } } };
    await withObject(plan, async (object, { customerId }) => {
      accepted(object.begin('a', START));
      accepted(object.grant('USD', 5n, START));
      accepted(object.increment(2, START));
      await drain(object, faultyD1({ refuses: () => true }), START + 1_000);
      expect(
        setAside(object)
          .map(({ kind }) => kind)
          .sort(),
      ).toEqual(['call', 'credit_entry', 'customer', 'meter_event']);
      expect(setAside(object)).toContainEqual({
        kind: 'customer',
        id: customerId,
        reason: 'datatype mismatch: SQLITE_MISMATCH',
      });
    });
  });

  test('match what D1 really refuses: a constraint, and a value that is too large', async () => {
    const failures = [
      bindings.DB.prepare("INSERT INTO organizations (organization_id, name, created_at_ms) VALUES ('x', NULL, 1)"),
      bindings.DB.prepare("SELECT json('{')"),
      bindings.DB.prepare('SELECT SUM(value) FROM (SELECT 9223372036854775807 AS value UNION ALL SELECT 1)'),
      bindings.DB.prepare("SELECT LENGTH(REPLACE(HEX(ZEROBLOB(1000000)), '00', 'xxxxxxxxxx'))"),
    ];
    for (const failure of failures) {
      const error = await bindings.DB.batch([failure]).catch((error: unknown) => error);
      expect(refusalReason(error), String(error)).toMatch(/^\S.*SQLITE_/);
    }
    const missing = await bindings.DB.batch([bindings.DB.prepare('SELECT * FROM not_migrated_yet')]).catch(
      (error: unknown) => error,
    );
    expect(missing).toBeInstanceOf(Error);
    expect(refusalReason(missing)).toBeNull();
  });

  test.each([
    'D1_ERROR: Network connection lost.',
    'D1 did not answer within 15000 ms',
    'D1_ERROR: D1 DB is overloaded. Requests queued for too long.',
    'D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.',
    'D1_ERROR: Exceeded maximum DB size: SQLITE_FULL',
    'D1_ERROR: database is locked: SQLITE_BUSY',
    'D1_ERROR: no such column: later: SQLITE_ERROR',
  ])('are not what D1 means by "%s"', (message) => {
    expect(refusalReason(new Error(message))).toBeNull();
  });
});

describe('a batch that is being halved', () => {
  test('during an outage of D1 sets aside only what was refused alone, and loses nothing', async () => {
    for (let away = 2; away <= 12; away += 1) {
      await withObject(PLAN, async (object, { organizationId }) => {
        for (let n = 0; n < 9; n += 1) accepted(object.begin(paddedId(n), START));
        const refuses = (id: string) => id === paddedId(4);
        await object.deliver(faultyD1({ refuses, isAway: (batch) => batch >= away }), START + 1_000);
        expect([[], [paddedId(4)]]).toContainEqual(idsSetAside(object));
        if (object.outbox().pending > 0) expect(object.outbox()).toMatchObject({ failures: 1, dueAtMs: START + 2_000 });
        await drain(object, faultyD1({ refuses }), START + 60_000);
        expect(idsSetAside(object)).toEqual([paddedId(4)]);
        expect(await callsInD1(organizationId)).toEqual([0, 1, 2, 3, 5, 6, 7, 8].map(paddedId));
      });
    }
  });

  test('continues with what D1 has not stored yet when its object restarts', async () => {
    await withObject(PLAN, async (object, { organizationId }) => {
      for (let n = 0; n < 9; n += 1) accepted(object.begin(paddedId(n), START));
      const refuses = (id: string) => id === paddedId(4) || id === paddedId(5);
      // Dead after D1 has committed and before the object has stored that.
      const died = () => {
        throw new Error('the object died');
      };
      for (let round = 0; round < 8; round += 1) {
        await object.deliver(faultyD1({ refuses, taken: died }), START + 1_000 + round * 60_000);
        await object.restart();
      }
      await drain(object, faultyD1({ refuses }), START + 3_600_000);
      expect(idsSetAside(object)).toEqual([paddedId(4), paddedId(5)]);
      expect(await callsInD1(organizationId)).toEqual([0, 1, 2, 3, 6, 7, 8].map(paddedId));
    });
  });

  test('includes changes that arrive in the meantime', async () => {
    await withObject(PLAN, async (object, { organizationId }) => {
      for (let n = 0; n < 6; n += 1) accepted(object.begin(paddedId(n), START));
      let ended = false;
      const taken = () => {
        if (!ended) accepted(object.end(paddedId(1), START + 500));
        ended = true;
      };
      await drain(object, faultyD1({ refuses: (id) => id === paddedId(4), taken }), START + 1_000);
      const row = await bindings.DB.prepare('SELECT status FROM calls WHERE organization_id = ? AND call_id = ?')
        .bind(organizationId, paddedId(1))
        .first();
      expect([ended, row]).toEqual([true, { status: 'COMPLETED' }]);
    });
  });
});

describe('a change that is set aside', () => {
  const onlyBad = faultyD1({ refuses: (id) => id === 'bad' });

  test('keeps what it records, however old it is, and holds up the pruning of nothing', async () => {
    const plan = { ...PLAN, customMeters: { CUSTOM1: { label: 'Pages', included: 10 } } };
    await withObject(plan, async (object, { organizationId }) => {
      accepted(object.begin('bad', START));
      accepted(object.end('bad', START + 1));
      accepted(object.increment(2, START));
      await drain(object, faultyD1({ refuses: () => true }), START + 1_000);
      object.housekeep(START + 60 * DAY_MS);
      expect([object.rows('calls'), object.rows('meter_events')]).toEqual([0, 0]);
      expect(object.resendSetAside(START + 60 * DAY_MS)).toBe(3);
      await drain(object, bindings.DB, START + 60 * DAY_MS + 1_000);
      expect(await callsInD1(organizationId)).toEqual(['bad']);
      const { results } = await bindings.DB.prepare('SELECT amount FROM meter_events WHERE organization_id = ?')
        .bind(organizationId)
        .all();
      expect(results).toEqual([{ amount: 2 }]);
    });
  });

  test('is sent with the next change of the same row, and if that is refused too it stays, logged once', async () => {
    await withObject(PLAN, async (object, { organizationId, customerId }) => {
      accepted(object.begin('bad', START));
      await drain(object, onlyBad, START + 1_000);
      accepted(object.end('bad', START + 2_000));
      await drain(object, onlyBad, START + 10_000);
      expect(object.query('SELECT id, at_ms FROM set_aside')).toEqual([{ id: 'bad', at_ms: START + 1_000 }]);
      const { results } = await bindings.DB.prepare(
        'SELECT actor, action, subject, before, after FROM operator_events WHERE organization_id = ?',
      )
        .bind(organizationId)
        .all();
      const after = JSON.stringify({ kind: 'call', id: 'bad', reason: 'datatype mismatch: SQLITE_MISMATCH' });
      expect(results).toEqual([
        { actor: 'service', action: 'outbox.set_aside', subject: customerId, before: null, after },
      ]);
    });
  });

  test('is deleted when a later revision of it has arrived', async () => {
    await withObject(PLAN, async (object, { organizationId }) => {
      accepted(object.begin('bad', START));
      await drain(object, onlyBad, START + 1_000);
      accepted(object.end('bad', START + 2_000));
      await drain(object, bindings.DB, START + 10_000);
      expect(idsSetAside(object)).toEqual([]);
      expect(await callsInD1(organizationId)).toEqual(['bad']);
    });
  });
});
