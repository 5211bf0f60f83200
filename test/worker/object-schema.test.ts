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
      // Until version 5 the queue was kept by key, not by place.
      sql.exec(`INSERT INTO outbox (kind, id, revision, queued_at_ms) VALUES ('call', 'call-1', 7, 20), ('customer', 'customer-1', 3, 10)`);
      sql.exec(`INSERT INTO derived_keys (hash, fingerprint, generation, call_id, at_ms) VALUES ('hash', 'print', 5, 'call-1', 1)`);

      const store = new CustomerStore(storage);

      expect(store.outboxPage(10).rows.map(({ kind, id }) => `${kind} ${id}`)).toEqual(['customer customer-1', 'call call-1']);
      expect(store.derivedCall('hash', 'print')).toMatchObject({ newest: 5, call: { beginFingerprint: 'print' } });
      expect(sql.exec('SELECT version FROM schema_version').one().version).toBe(MIGRATIONS.length);
      store.outboxSent(store.outboxPage(1), 30);
      expect(store.outboxState()).toEqual({ pending: 1, oldestMs: 20 });
    });
  },
);
