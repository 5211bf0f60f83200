/**
 * Promise: an outage of D1 loses nothing. Commands go on, the backlog waits, is visible, and drains by itself; a batch
 * that D1 committed without saying so is sent again and changes nothing.
 */

import { describe, expect, test } from 'vitest';
import type { ProjectionPage } from '../../src/objects/projection-page.ts';
import { customerProjector } from '../../src/objects/projectors.ts';
import { customerKey } from '../support/ids.ts';
import { accepted, withObject } from '../support/object.ts';
import { bindings, fireProjectors, operator, storePage } from '../support/worker.ts';

const START = Date.UTC(2027, 2, 1);
const PLAN = { name: 'P', limitType: 'NONE' };

const away = {
  prepare: bindings.DB.prepare.bind(bindings.DB),
  batch: () => Promise.reject(new Error('D1 is away')),
} as unknown as D1Database;

async function idsInD1(organizationId: string): Promise<string[]> {
  const { results } = await bindings.DB.prepare(
    'SELECT call_id, status FROM calls WHERE organization_id = ? ORDER BY call_id',
  )
    .bind(organizationId)
    .all<{ call_id: string; status: string }>();
  return results.map(({ call_id, status }) => `${call_id} ${status}`);
}

describe('an outage of D1', () => {
  test('stops no command, and afterwards D1 has every call in its last state', async () => {
    await withObject(PLAN, async (object, { organizationId }) => {
      const expected: string[] = [];
      for (let n = 0; n < 30; n += 1) {
        const id = `c${String(n).padStart(2, '0')}`;
        accepted(object.begin(id, START + n * 2_000));
        await object.deliver(away, START + n * 2_000);
        if (n % 3 > 0)
          accepted(
            object.end(id, START + n * 2_000 + 1_000, n % 3 === 2 ? { error: { code: 'E', message: 'm' } } : {}),
          );
        expected.push(`${id} ${['IN_PROGRESS', 'COMPLETED', 'FAILED'][n % 3]}`);
      }
      expect(await idsInD1(organizationId)).toEqual([]);
      // 50 calls, the event that the customer is new, and the customer with each of 30 pages.
      expect(object.outbox()).toMatchObject({ pending: 81, oldestMs: START, lastError: 'Error: D1 is away' });
      await object.restart();
      await object.deliver(bindings.DB, START + 120_000);
      expect(await idsInD1(organizationId)).toEqual(expected);
      expect(object.outbox()).toEqual({ pending: 0, oldestMs: null, failures: 0, dueAtMs: null, lastError: null });
    });
  });

  test('is as old as the change that D1 was to have, not as a call that was open before', async () => {
    await withObject(PLAN, async (object) => {
      accepted(object.begin('first', START));
      await object.deliver(bindings.DB, START);
      accepted(object.begin('long', START + 1_000));
      accepted(object.end('long', START + 25_000));
      expect(object.outbox().oldestMs).toBe(START + 25_000);
      await object.deliver(bindings.DB, START + 25_000);
      accepted(object.begin('open', START + 26_000));
      await object.deliver(away, START + 56_000);
      expect(object.outbox().oldestMs).toBe(START + 56_000);
    });
  });

  test('causes retries with a capped backoff, scheduled after every failure', async () => {
    await withObject(PLAN, async (object) => {
      accepted(object.begin('a', START));
      let nowMs = START + 1_000;
      const delays: number[] = [];
      for (let attempt = 0; attempt < 8; attempt += 1) {
        await object.deliver(away, nowMs);
        const { dueAtMs } = object.outbox();
        delays.push((dueAtMs ?? 0) - nowMs);
        nowMs = dueAtMs ?? 0;
      }
      expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    });
  });

  test('is shown by health while it lasts, and not afterwards', async () => {
    const customer = customerKey(crypto.randomUUID(), 'behind');
    const page: ProjectionPage = { ...customer, subscriptionId: 's', columns: {}, changes: [] };
    const handOver = { ...customer, subscriptionId: 's', changes: 3, page: JSON.stringify(page) };
    const sinceMs = Date.now() - 60_000;
    await storePage(customerProjector(bindings, 'DB', customer)(), {
      ...handOver,
      database: 'DB',
      sinceMs,
      more: false,
    });
    expect((await operator.send('readHealth')).data).toMatchObject({
      status: 'degraded',
      backlog: { customers: 1, oldestAt: new Date(sinceMs).toISOString() },
    });
    await fireProjectors();
    expect((await operator.send('readHealth')).data).toMatchObject({
      status: 'ok',
      backlog: { customers: 0, oldestAt: null },
    });
  });
});

describe('a batch that was committed without an answer', () => {
  test('that arrives late does not overwrite a newer state', async () => {
    await withObject(PLAN, async (object, { organizationId }) => {
      accepted(object.begin('a', START));
      const held: D1PreparedStatement[][] = [];
      const delayed = {
        prepare: bindings.DB.prepare.bind(bindings.DB),
        batch: (statements: D1PreparedStatement[]) => {
          held.push(statements);
          return Promise.reject(new Error('timed out'));
        },
      } as unknown as D1Database;
      await object.deliver(delayed, START + 1_000);
      accepted(object.end('a', START + 1_500));
      await object.deliver(bindings.DB, START + 3_000);
      await bindings.DB.batch(held[0] ?? []);
      expect(await idsInD1(organizationId)).toEqual(['a COMPLETED']);
    });
  });
});

describe('a call that ends while its begin is being delivered', () => {
  test('is sent again with its end, and counts as one change that waits', async () => {
    await withObject(PLAN, async (object, { organizationId }) => {
      accepted(object.begin('a', START));
      accepted(object.begin('b', START));
      // A delivery sends until nothing is left: its second batch does not get through.
      let batches = 0;
      const once = {
        prepare: bindings.DB.prepare.bind(bindings.DB),
        batch: (statements: D1PreparedStatement[]) => {
          batches += 1;
          if (batches > 1) return away.batch(statements);
          accepted(object.end('a', START + 900));
          return bindings.DB.batch(statements);
        },
      } as unknown as D1Database;
      await object.deliver(once, START + 1_000);
      expect(await idsInD1(organizationId)).toEqual(['a IN_PROGRESS', 'b IN_PROGRESS']);
      await object.deliver(bindings.DB, START + 5_000);
      expect(await idsInD1(organizationId)).toEqual(['a COMPLETED', 'b IN_PROGRESS']);
      expect(object.outbox().pending).toBe(0);
    });
  });
});

describe('the projection', () => {
  test('fills every column of its tables', async () => {
    await withObject(PLAN, async (object, { organizationId }) => {
      accepted(object.begin('a', START, { customerUserId: 'u', feature: 'f', tags: ['t'] }));
      const promptCompression = { provider: 'toon', originalTokens: 9, compressedTokens: 5, techniques: ['json'] };
      accepted(
        object.end('a', START, {
          providerUsed: 'openai',
          modelUsed: 'gpt-4o',
          error: { code: 'E', message: 'm' },
          promptCompression,
        }),
      );
      accepted(object.reverseCall('a', START + 1));
      await object.deliver(bindings.DB, START + 5_000);
      const row = await bindings.DB.prepare('SELECT * FROM calls WHERE organization_id = ?')
        .bind(organizationId)
        .first<Record<string, unknown>>();
      const empty = Object.entries(row ?? {}).filter(([, value]) => value === null);
      expect(empty.map(([column]) => column)).toEqual([
        'model_key',
        'usage_source',
        'pricing_snapshot_id',
        'standard_cost_nano_usd',
        'cost_nano_usd',
        'cost_avoided_nano_usd',
        // Only in denied calls.
        'denial_code',
        // Only in calls that the balance pays.
        'charge_nano_usd',
        'charge_basis',
        // Only in calls that the service made.
        'output_rate',
        // Only in calls with usage beyond the columns, with parts, or denied.
        'details',
      ]);
      expect(row).toMatchObject({ tags: '["t"]', error_code: 'E', provider_used: 'openai', status: 'FAILED' });
    });
  });
});
