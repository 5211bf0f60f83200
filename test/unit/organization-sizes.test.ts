/**
 * Promise: the numbers of customers and samples that D1 keeps of each organization are those of its rows.
 *
 * The triggers run on SQLite itself, like in D1.
 */
import type { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openD1 } from '../support/d1.ts';

const ORGANIZATIONS = ['one', 'other'];

type Step =
  | { kind: 'customer' | 'gone customer'; organizationId: string; id: number }
  | { kind: 'sample'; organizationId: string; id: number; bytes: number; customerId: string | null }
  | { kind: 'gone sample'; organizationId: string; id: number };

const organizationId = fc.constantFrom(...ORGANIZATIONS);
const id = fc.nat(5);
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom('customer' as const, 'gone customer' as const), organizationId, id }),
    fc.record({
      kind: fc.constant('sample' as const),
      organizationId,
      id,
      bytes: fc.nat(1_000),
      customerId: fc.option(fc.string({ unit: 'grapheme', maxLength: 9 })),
    }),
    fc.record({ kind: fc.constant('gone sample' as const), organizationId, id }),
  ),
  { maxLength: 30 },
);

function run(db: DatabaseSync, step: Step): void {
  const { kind, organizationId: of, id: number } = step;
  switch (kind) {
    case 'customer':
      db.prepare(
        `INSERT INTO customers (organization_id, customer_id, subscription_id, subscription_version, plan_id, usage_plan_version_id,
           created_at_ms, last_replenished_at_ms, next_replenish_at_ms, revision)
         VALUES (?, ?, 's', 1, 'p', 'p:v1', 1, 1, 2, 1) ON CONFLICT DO UPDATE SET revision = revision + 1`,
      ).run(of, `c${number}`);
      return;
    case 'gone customer':
      db.prepare('DELETE FROM customers WHERE organization_id = ? AND customer_id = ?').run(of, `c${number}`);
      return;
    case 'sample':
      db.prepare(
        `INSERT INTO samples (organization_id, sample_id, fingerprint, received_at_ms, expires_at_ms, retention_days, policy_version,
           customer_id, tags, provider, payload_bytes, payload)
         VALUES (?, ?, 'f', 1, 2, 30, 'v', ?, '[]', 'openai', ?, '{}') ON CONFLICT DO NOTHING`,
      ).run(of, `s${number}`, step.customerId, step.bytes);
      return;
    case 'gone sample':
      db.prepare('DELETE FROM samples WHERE organization_id = ? AND sample_id = ?').run(of, `s${number}`);
  }
}

const COUNTED =
  'SELECT organization_id, customers, samples, sample_bytes FROM organization_sizes WHERE customers > 0 OR samples > 0 ORDER BY 1';
const THERE = `SELECT organization_id, (SELECT COUNT(*) FROM customers c WHERE c.organization_id = o.organization_id) AS customers,
    (SELECT COUNT(*) FROM samples s WHERE s.organization_id = o.organization_id) AS samples,
    (SELECT COALESCE(SUM(payload_bytes + 1024 + LENGTH(CAST(sample_id || COALESCE(customer_id, '') || tags || provider AS BLOB))), 0)
      FROM samples s WHERE s.organization_id = o.organization_id) AS sample_bytes
  FROM organizations o WHERE customers > 0 OR samples > 0 ORDER BY 1`;

test('the counts of an organization equal its rows after any additions and removals', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const db = openD1();
      try {
        for (const name of ORGANIZATIONS)
          db.prepare('INSERT INTO organizations (organization_id, name, created_at_ms) VALUES (?, ?, 1)').run(
            name,
            name,
          );
        for (const step of all) {
          run(db, step);
          expect(db.prepare(COUNTED).all()).toEqual(db.prepare(THERE).all());
        }
      } finally {
        db.close();
      }
    }),
    { numRuns: 60 },
  );
});
