/**
 * Promise: D1 keeps the object's record of a call byte for byte, with matching columns; for a customer it has the
 * newest account.
 *
 * The statements run on SQLite itself, like in D1.
 */

import type { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { beginCall } from '../../src/domain/begin-call.ts';
import { type Call, endCall } from '../../src/domain/call.ts';
import { asCallId } from '../../src/domain/ids.ts';
import { REPEATED_VALUES, type Repeated, type StoredRecord, unpackRecord } from '../../src/history/packed-record.ts';
import { projectionStatements } from '../../src/history/projection.ts';
import { projectPage, usageProvider } from '../../src/history/projection-rows.ts';
import { CHARACTER } from '../support/characters.ts';
import { asD1, openD1, runBatch } from '../support/d1.ts';
import { rateCard } from '../support/rate-cards.ts';
import { swept } from '../support/sweep.ts';
import { account, NOTHING_KNOWN, plan, usage } from './fixtures.ts';

const NOW = Date.UTC(2027, 2, 1, 20);
const CARD = rateCard({ input: '2500000003', output: '7' }, [], {
  snapshotId: 'a/b@1',
  provider: 'a',
  modelKey: 'a/b',
});

const open: DatabaseSync[] = [];
afterEach(() => {
  for (const db of open.splice(0)) db.close();
});

/** Delivers the calls. */
function send(db: DatabaseSync, calls: readonly Call[]): void {
  const rows = calls.map((call) => ({ kind: 'call' as const, id: call.callId, record: JSON.stringify(call) }));
  runBatch(
    db,
    projectionStatements(asD1(db), [
      projectPage(account(plan()), rows, () => ({ periodCostNanoUsd: 0n, lastCallAtMs: null })),
    ]),
  );
}

const word = fc.oneof(
  fc.string({ unit: CHARACTER, maxLength: 12 }),
  fc.constantFrom('"', '\\', '\\u0041', '\u2028', '\ud800', '[', '},{', 'é\n'),
);

const ended: fc.Arbitrary<Call> = fc
  .record({
    id: fc.uuid(),
    feature: fc.option(word, { nil: undefined }),
    tags: fc.option(fc.array(word, { maxLength: 4 }), { nil: undefined }),
    message: fc.option(word, { nil: undefined }),
    holdUsd: fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { nil: undefined }),
    tokens: fc.nat(1e9),
    techniques: fc.array(fc.constantFrom('filler_words', 'whitespace', 'toon'), { maxLength: 4 }),
  })
  .map(({ id, feature, tags, message, holdUsd, tokens, techniques }) => {
    const request = { feature, tags, holdUsd, requested: {}, pricingMode: 'standard' as const };
    const { account: after, call } = beginCall(account(plan()), asCallId(id), request, NOTHING_KNOWN, {
      deadlineAtMs: NOW + 60_000,
      nowMs: NOW,
    });
    const end = {
      usage: usage({ inputTokens: tokens }),
      modelUsed: 'b',
      error: message === undefined ? undefined : { code: 'E', message },
      ...(techniques.length > 0 && {
        promptCompression: { provider: 'toon', originalTokens: 10, compressedTokens: 4, techniques },
      }),
    };
    return endCall(after, call, end, { available: true, card: CARD }, 'charge', NOW + 1_000).call;
  });

test('D1 stores the record of a call unchanged, with columns that match it', () => {
  fc.assert(
    fc.property(fc.uniqueArray(ended, { minLength: 1, maxLength: 8, selector: ({ callId }) => callId }), (calls) => {
      const db = openD1();
      open.push(db);
      send(db, calls);
      for (const call of calls) {
        const row = db
          .prepare(`SELECT *, ${REPEATED_VALUES} AS repeated FROM calls WHERE call_id = ?`)
          .get(call.callId);
        const { outcome } = call;
        expect(unpackRecord(row?.record as StoredRecord, JSON.parse(String(row?.repeated)) as Repeated)).toBe(
          JSON.stringify(call),
        );
        expect(row).toMatchObject({
          tags: call.tags ? JSON.stringify(call.tags) : null,
          compression_techniques: call.compression ? JSON.stringify([...new Set(call.compression.techniques)]) : null,
          status: call.status,
          input_tokens: outcome?.usage.inputTokens,
          cost_nano_usd: outcome?.price.status === 'FINAL' ? Number(outcome.price.costNanoUsd) : null,
          error_code: outcome?.error?.code ?? null,
          revision: call.revision,
        });
      }
    }),
    { numRuns: swept(100, 50) },
  );
});

test('a repeated delivery of a call changes nothing, nor does an older revision', () => {
  const db = openD1();
  open.push(db);
  const [call] = fc.sample(ended, { numRuns: 1, seed: 1 });
  if (!call) throw new Error('a sample is there');
  send(db, [{ ...call, revision: 5 }]);
  const before = db.prepare('SELECT total_changes() AS n').get()?.n;
  send(db, [{ ...call, revision: 5 }]);
  send(db, [{ ...call, revision: 4, status: 'TIMEOUT' }]);
  expect(db.prepare('SELECT total_changes() AS n').get()?.n).toBe(before);
});

/** A customer's row as D1 has it after these accounts, with the cost of their period, in the order in which they came. */
function rowAfter(
  db: DatabaseSync,
  accounts: readonly { account: Account; costNanoUsd: bigint; lastCallAtMs: number | null }[],
) {
  for (const { account, costNanoUsd, lastCallAtMs } of accounts) {
    const rows = [{ kind: 'customer' as const, id: account.customerId, record: null }];
    const page = projectPage(account, rows, () => ({ periodCostNanoUsd: costNanoUsd, lastCallAtMs }));
    runBatch(db, projectionStatements(asD1(db), [page]));
  }
  return db.prepare('SELECT * FROM customers').get();
}

const described: fc.Arbitrary<{ account: Account; costNanoUsd: bigint; lastCallAtMs: number | null }> = fc
  .record({
    revision: fc.integer({ min: 1, max: 9 }),
    name: fc.option(fc.string({ unit: CHARACTER, maxLength: 12 }), { nil: undefined }),
    email: fc.option(fc.string({ unit: CHARACTER, maxLength: 12 }), { nil: undefined }),
    calls: fc.nat(20),
    canceledAtMs: fc.option(fc.nat(5), { nil: null }),
    costNanoUsd: fc.bigInt({ min: 0n, max: 10n ** 22n }),
    lastCallAtMs: fc.option(fc.nat(99), { nil: null }),
  })
  .map(({ revision, name, email, calls, canceledAtMs, costNanoUsd, lastCallAtMs }) => {
    const from = account(plan({ limits: { standardCalls: 10 } }));
    const contact = { friendlyName: name, email };
    const meters = { consumed: { standardCalls: calls }, reserved: {} };
    const subscription = { ...from.subscription, canceledAtMs };
    return { account: { ...from, revision, contact, meters, subscription }, costNanoUsd, lastCallAtMs };
  });

test("a customer's row is that of the newest account, its last call the latest, and says when its figures fell", () => {
  fc.assert(
    fc.property(fc.array(described, { minLength: 1, maxLength: 6 }), (accounts) => {
      const db = openD1();
      open.push(db);
      const taken = accounts.filter(({ account }, index) =>
        accounts.slice(0, index).every((earlier) => earlier.account.revision < account.revision),
      );
      const newest = taken.at(-1);
      if (!newest) throw new Error('the first is taken');
      const share = (of: Account) => (of.meters.consumed.standardCalls ?? 0) / 10;
      const fell = taken.some(({ account, costNanoUsd }, index) => {
        const before = taken[index - 1];
        return before && (share(account) < share(before.account) || costNanoUsd < before.costNanoUsd);
      });
      const row = rowAfter(db, accounts);
      expect(row).toMatchObject({
        friendly_name: newest.account.contact.friendlyName ?? null,
        email: newest.account.contact.email ?? null,
        canceled_at_ms: newest.account.subscription.canceledAtMs,
        worst_meter: 'standardCalls',
        worst_meter_used: newest.account.meters.consumed.standardCalls,
        worst_meter_limit: 10,
        worst_meter_share: share(newest.account),
        last_call_at_ms: Math.max(0, ...taken.map(({ lastCallAtMs }) => lastCallAtMs ?? 0)),
        revision: newest.account.revision,
      });
      expect(
        BigInt(Number(row?.period_cost_usd)) * 1_000_000_000n + BigInt(Number(row?.period_cost_rest_nano_usd)),
      ).toBe(newest.costNanoUsd);
      expect(Number(row?.lowered_at_ms) > 0).toBe(fell);
    }),
    { numRuns: swept(200, 100) },
  );
});

test('a customer is found by its key, however many there are', () => {
  const db = openD1();
  open.push(db);
  const sent: string[] = [];
  const prepare = (text: string) => {
    sent.push(text);
    return { bind: () => null };
  };
  const rows = [{ kind: 'customer' as const, id: 'customer', record: null }];
  const page = projectPage(account(plan()), rows, () => ({ periodCostNanoUsd: 0n, lastCallAtMs: null }));
  projectionStatements({ prepare } as unknown as D1Database, [page]);
  const plans = sent.flatMap((text) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all('[]')
      .map(({ detail }) => String(detail)),
  );
  const ofCustomers = plans.filter((detail) => /\bcustomers\b/.test(detail));
  expect(ofCustomers).toEqual([
    expect.stringMatching(/^SEARCH customers USING INDEX .*organization_id=\? AND customer_id=\?/),
  ]);
});

test.each([
  ['the vendor of its price', 'openai/gpt-4o', 'Azure', 'openai'],
  ['the vendor of a price of two slashes', 'fireworks/models/llama', null, 'fireworks'],
  ['no vendor where the price has an empty one', '/gpt-4o', 'Azure', ''],
  ['what the caller named where the price is of no vendor', 'ft:mine', 'OpenAI', 'openai'],
  ['what the caller named where there is no price', null, 'ÖAI', 'Öai'],
  ['nothing where nothing is known', null, null, ''],
])('a call counts under %s', (_, modelKey, providerUsed, provider) => {
  expect(usageProvider(modelKey, providerUsed)).toBe(provider);
});
