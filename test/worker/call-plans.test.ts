/**
 * Promise: no question about calls reads the whole table, nor the calls of all customers for one of them: each follows the
 * index that is meant for it.
 */
import { beforeAll, expect, test } from 'vitest';
import { CONFIG_DATABASE } from '../../src/config/database.ts';
import { asCallId, asCustomerId, asOrganizationId, type OrganizationId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import { readHistory } from '../../src/history/archive/days.ts';
import { countDeniedSince, countUnpricedSince } from '../../src/history/attention.ts';
import { type CallFilter, findOldCall, findOldCalls, listCalls, sumCalls } from '../../src/history/calls.ts';
import { findLedger } from '../../src/history/credits.ts';
import { eraseProjection } from '../../src/history/erasure.ts';
import { readModelTraffic } from '../../src/history/model-traffic.ts';
import { deleteExpiredHistory } from '../../src/history/retention.ts';
import { sumSavings } from '../../src/history/savings.ts';
import { findCalled } from '../../src/history/setup.ts';
import { findUnpricedCalls, sumUnpricedByModel, unpricedModels } from '../../src/history/unpriced-calls.ts';
import { createTenant } from '../support/api.ts';
import { queryPlansOf } from '../support/query-plans.ts';
import { operator } from '../support/worker.ts';

const NOW = Date.UTC(2027, 4, 5);
const DAY = 86_400_000;
const FIRST = { after: null, limit: 50 };
const customerId = asCustomerId('ann');
const id = asCallId('a');

let organizationId: OrganizationId;
beforeAll(async () => {
  organizationId = asOrganizationId((await createTenant(operator)).organizationId);
});

/** How the table of calls is searched. */
async function searches(send: (env: Env) => Promise<unknown>): Promise<string[]> {
  const plans = await queryPlansOf(send);
  return [...new Set(plans.filter((detail) => /^(?:SCAN|SEARCH) calls\b/.test(detail)))].sort();
}

const BY_ID = 'SEARCH calls USING INDEX sqlite_autoindex_calls_1 (organization_id=? AND call_id=?)';
const by = (index: string, conditions: string) => `SEARCH calls USING INDEX ${index} (organization_id=?${conditions})`;
const covered = (index: string, conditions: string) =>
  `SEARCH calls USING COVERING INDEX ${index} (organization_id=?${conditions})`;
const PERIOD = ' AND started_at_ms>? AND started_at_ms<?';
const within = { fromMs: NOW - DAY, toMs: NOW };
const unpriced = () => ({ organizationId, names: null, ...within });

test.each<[string, CallFilter, string[]]>([
  ['all calls', {}, [by('calls_by_time', '')]],
  ['a period', within, [by('calls_by_time', PERIOD)]],
  ['a customer', { customerId }, [by('calls_by_customer', ' AND customer_id=?')]],
  ["a customer's period", { customerId, ...within }, [by('calls_by_customer', ` AND customer_id=?${PERIOD}`)]],
  ['the reason of a denial', { reason: 'CREDIT_REQUIRED' }, [by('calls_denied', ' AND denial_code=?')]],
  ['denied calls', { status: 'NOT_ALLOWED' }, [by('calls_not_allowed', '')]],
  ['calls without a price', { priced: false }, [by('calls_unpriced', '')]],
  ['a feature', { feature: 'chat' }, [by('calls_by_time', ''), covered('calls_by_time', '')]],
])('a list by %s follows its index', async (_, filter, expected) => {
  expect(await searches((env) => listCalls(env, organizationId, filter, FIRST))).toEqual(expected.sort());
});

test.each<[string, (env: Env) => Promise<unknown>, () => string[]]>([
  ['one call', (env) => findOldCall(env, organizationId, id), () => [BY_ID]],
  ['some calls', (env) => findOldCalls(env, organizationId, [id, id]), () => [BY_ID]],
  [
    'sums',
    (env) => sumCalls(env, organizationId, within),
    () => [by('calls_by_time', PERIOD), covered('calls_by_time', PERIOD)],
  ],
  [
    'the calls of an entry of the ledger',
    (env) => findLedger(env, { organizationId, customerId }, {}, 100, 50),
    () => [`${BY_ID} LEFT-JOIN`],
  ],
  ['calls to price', (env) => findUnpricedCalls(env, unpriced(), null, 10), () => [by('calls_unpriced', PERIOD)]],
  [
    'models to price',
    (env) => unpricedModels(env, { ...unpriced(), names: ['a'] }),
    () => [by('calls_unpriced', PERIOD)],
  ],
  [
    'models without a price',
    (env) => sumUnpricedByModel(env, organizationId, NOW),
    () => [by('calls_unpriced', ' AND started_at_ms>?')],
  ],
  ['savings', (env) => sumSavings(env, organizationId, within, 10), () => [by('calls_with_compression', PERIOD)]],
  ['the newest calls', (env) => findCalled(env, organizationId), () => [by('calls_by_time', '')]],
  [
    "a model's calls",
    (env) => readModelTraffic(env, { organizationId, names: ['a'], thresholds: [], ...within }),
    () => [by('calls_by_time', PERIOD), covered('calls_by_time', PERIOD)],
  ],
  [
    'counts that need attention',
    async (env) => {
      const of = { database: CONFIG_DATABASE, organizationIds: [organizationId] } as const;
      await Promise.all([countUnpricedSince(env, of, NOW), countDeniedSince(env, of, NOW)]);
    },
    () => [covered('calls_not_allowed', ' AND started_at_ms>?'), by('calls_unpriced', ' AND started_at_ms>?')],
  ],
  [
    'a day of the archive',
    (env) => readHistory(env, { organizationId, dayMs: NOW }, null),
    () => [by('calls_by_time', PERIOD)],
  ],
  [
    'the retention',
    (env) => deleteExpiredHistory(env, CONFIG_DATABASE, NOW),
    () => [by('calls_by_time', ' AND started_at_ms<?').replace('calls', 'calls EXISTS')],
  ],
  [
    'an erasure',
    (env) => eraseProjection(env, { organizationId, customerId }),
    () => [covered('calls_by_customer', ' AND customer_id=?'), 'SEARCH calls USING INTEGER PRIMARY KEY (rowid=?)'],
  ],
])('%s: found by an index', async (_, send, expected) => {
  expect(await searches(send)).toEqual(expected().sort());
});
