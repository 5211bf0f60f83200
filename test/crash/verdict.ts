/**
 * The conditions after the last retry is acknowledged and D1 has everything: nothing is lost or duplicated, by id.
 *
 * Sent and acknowledged requests, the objects' rows and D1 are compared with each other, and every sum is recomputed
 * from single rows. Each line of the verdict is a sentence about an id.
 */
import { REPEATED_COLUMNS, type StoredRecord, unpackRecord } from '../../src/history/packed-record.ts';
import type { Sent } from './load.ts';
import { wrongRollUps } from './roll-ups.ts';
import type { ObjectState, Row } from './state.ts';

export interface Facts {
  organizations: { organizationId: string; sent: Sent }[];
  /** The first has the configuration. */
  databases: Map<string, Row[]>[];
  customers: ObjectState[];
  directories: ObjectState[];
}

// biome-ignore lint/suspicious/noExplicitAny: records are read as they stand on disk
type Json = any;

/** One object with its rows parsed. */
interface CustomerFacts {
  account: Json;
  calls: Map<string, Json>;
  events: Map<string, Json>;
  ledger: Map<number, Json>;
  usageHours: Row[];
  waiting: { outbox: number; charges: number };
}

/** All faults, as sentences; empty if the promise held. */
export function judge({ organizations, databases, customers, directories }: Facts): string[] {
  const wrong: string[] = [];
  const all = customers.map((object) => parseCustomer(object));
  for (const { organizationId, sent } of organizations) {
    const own = all.filter(({ account }) => account.organizationId === organizationId);
    wrong.push(...judgeOrganization(organizationId, sent, databases, own));
  }
  judgeDirectory(
    organizations.map(({ sent }) => sent),
    directories,
    (sentence) => void wrong.push(sentence),
  );
  return wrong;
}

/** How many databases have history. */
export function usedDatabases(databases: readonly Map<string, Row[]>[]): number {
  return databases.filter((tables) => (tables.get('customers') ?? []).length > 0).length;
}

function judgeOrganization(
  organizationId: string,
  sent: Sent,
  databases: readonly Map<string, Row[]>[],
  customers: CustomerFacts[],
): string[] {
  const wrong = [...sent.violations];
  const say = (sentence: string) => void wrong.push(sentence);
  const rowsIn = (tables: Map<string, Row[]> | undefined, table: string) =>
    (tables?.get(table) ?? []).filter((row) => row.organization_id === organizationId);
  const own = databases.filter((tables) => rowsIn(tables, 'customers').length > 0);
  if (own.length > 1) say(`${organizationId} has customers in ${own.length} databases`);
  const [history] = own;
  const rows = (table: string) => rowsIn(history, table);
  for (const tables of databases.filter((other) => other !== history))
    for (const table of tables.keys())
      if (rowsIn(tables, table).length > 0 && !(tables === databases[0] && CONFIGURATION.includes(table)))
        say(`${organizationId} has rows of ${table} in a database of others`);
  const objects = new Map(customers.map((known) => [known.account.customerId as string, known]));

  sameIds('customers with an object', [...sent.subscriptions.keys()], [...objects.keys()], say);
  judgeCalls(sent, rows('calls'), objects, say);
  judgeIncrements(sent, rows('meter_events'), objects, say);
  judgeLedger(sent, rows('credit_entries'), objects, say);
  judgeUsageHours(rows('calls'), rows('usage_hours'), objects, say);
  wrong.push(...wrongRollUps(rows('calls'), { denied: rows('denied_hours'), failed: rows('failed_hours') }, rows));
  for (const [customerId, object] of objects) {
    judgeSubscription(sent, customerId, object, rows('customers'), say);
    judgeMeters(customerId, object, say);
    if (object.waiting.outbox > 0 || object.waiting.charges > 0) {
      say(`${customerId}: ${object.waiting.outbox} changes and ${object.waiting.charges} charges still wait`);
    }
  }
  const granted = rowsIn(databases[0], 'operator_events')
    .filter(({ action }) => action === 'credit.grant')
    .map(({ after }) => String(JSON.parse(String(after)).reference));
  sameIds('logged grants', [...sent.grants.keys()], granted, say);
  return wrong;
}

/** Tables of the configuration that name an organization. */
const CONFIGURATION = ['organizations', 'plan_versions', 'api_keys', 'operator_events'];

type Say = (sentence: string) => void;

function parseCustomer({ tables }: ObjectState): CustomerFacts {
  const [account] = tables.get('account') ?? [];
  const listed = JSON.parse(String(account?.pending ?? '[]')) as unknown[];
  const records = (table: string, key: string) =>
    new Map((tables.get(table) ?? []).map((row) => [row[key] as string, JSON.parse(String(row.record)) as Json]));
  const currentHour = JSON.parse(String(account?.current_hour ?? 'null')) as Row | null;
  return {
    account: JSON.parse(String(account?.value ?? '{}')),
    calls: records('calls', 'call_id'),
    events: records('meter_events', 'event_id'),
    ledger: new Map(
      (tables.get('ledger') ?? []).map((row) => [Number(row.entry_id), JSON.parse(String(row.record)) as Json]),
    ),
    // The hour under way is in the account's row.
    usageHours: [...(tables.get('usage_hours') ?? []), ...(currentHour ? [currentHour] : [])],
    waiting: {
      outbox: (tables.get('outbox')?.length ?? 0) + listed.length,
      charges: tables.get('charges')?.length ?? 0,
    },
  };
}

/** Each expected id is found once, and no other. */
function sameIds(what: string, expected: readonly string[], found: readonly string[], say: Say): void {
  const times = new Map<string, number>();
  for (const id of found) times.set(id, (times.get(id) ?? 0) + 1);
  const wanted = new Set(expected);
  for (const id of wanted) if (!times.has(id)) say(`${what}: ${id} is lost`);
  for (const [id, count] of times) {
    if (!wanted.has(id)) say(`${what}: ${id} was never sent`);
    if (count > 1) say(`${what}: ${id} is there ${count} times`);
  }
}

function equal(what: string, expected: unknown, found: unknown, say: Say): void {
  const [left, right] = [expected, found].map((value) => canonical(value));
  if (left !== right) say(`${what}: ${right}, not ${left}`);
}

/** As text that does not depend on the order of members; an absent member is as one that is undefined. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member) => {
    if (typeof member === 'bigint') return `${member}n`;
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function judgeCalls(sent: Sent, rows: Row[], objects: Map<string, CustomerFacts>, say: Say): void {
  sameIds(
    'calls in D1',
    [...sent.calls.keys()],
    rows.map(({ call_id }) => String(call_id)),
    say,
  );
  sameIds(
    'calls in the objects',
    [...sent.calls.keys()],
    [...objects.values()].flatMap(({ calls }) => [...calls.keys()]),
    say,
  );
  for (const row of rows) {
    const id = String(row.call_id);
    const call = sent.calls.get(id);
    if (!call) continue;
    equal(
      `${id} in D1 and in its object`,
      objects.get(call.customerId)?.calls.get(id),
      JSON.parse(textOfRecord(row)),
      say,
    );
    equal(`customer of ${id}`, call.customerId, row.customer_id, say);
    equal(`status of ${id}`, call.leftOpen ? 'IN_PROGRESS' : call.failed ? 'FAILED' : 'COMPLETED', row.status, say);
    if (call.leftOpen) continue;
    equal(`tokens of ${id}`, [call.inputTokens, call.responseTokens], [row.input_tokens, row.response_tokens], say);
    equal(`tier of ${id}`, call.premium ? 'premium' : 'standard', row.tier, say);
    equal(`acknowledged cost of ${id}`, call.costUsdNano, String(row.cost_nano_usd), say);
  }
}

/** A call's record in D1, which is packed. */
function textOfRecord(row: Row): string {
  const repeated = REPEATED_COLUMNS.map((name) => {
    const value = (row[name] ?? null) as string | number | null;
    return name === 'cost_nano_usd' && value !== null ? String(value) : value;
  });
  return unpackRecord(row.record as StoredRecord, repeated);
}

function judgeIncrements(sent: Sent, rows: Row[], objects: Map<string, CustomerFacts>, say: Say): void {
  // The feature of an increment is the key that it was sent under.
  const keys = (events: Json[]) => events.map(({ feature }) => String(feature));
  sameIds('increments in D1', [...sent.increments.keys()], keys(rows), say);
  const own = [...objects.values()].flatMap(({ events }) => [...events.values()]);
  sameIds('increments in the objects', [...sent.increments.keys()], keys(own), say);
  for (const row of rows) {
    const increment = sent.increments.get(String(row.feature));
    if (!increment) continue;
    const { id, customerId, amount, eventId } = increment;
    equal(`acknowledged event of ${id}`, eventId, row.event_id, say);
    equal(`units of ${id}`, amount, row.amount, say);
    const funded = Number(row.included) + Number(row.credits) + Number(row.overage) + Number(row.unfunded);
    equal(`units of ${id}, by who paid`, amount, funded, say);
    equal(
      `${id} in D1 and in its object`,
      objects.get(customerId)?.events.get(String(row.event_id)),
      JSON.parse(String(row.record)),
      say,
    );
  }
}

/**
 * An amount that a charge took of the balance stands with the usage that caused it, and every other entry is a grant.
 */
function judgeLedger(sent: Sent, rows: Row[], objects: Map<string, CustomerFacts>, say: Say): void {
  const grants = rows.filter(({ cause }) => cause === 'GRANT');
  sameIds(
    'grants in the ledger',
    [...sent.grants.keys()],
    grants.map(({ reference }) => String(reference)),
    say,
  );
  for (const row of grants) {
    const grant = sent.grants.get(String(row.reference));
    if (grant)
      equal(
        `${grant.id}`,
        [grant.unit, String(grant.amount), grant.creditId],
        [row.unit, row.amount, row.credit_id],
        say,
      );
  }
  for (const [customerId, { account, calls, events, ledger }] of objects) {
    const own = rows.filter((row) => row.customer_id === customerId);
    equal(
      `ledger of ${customerId} in D1 and in its object`,
      Object.fromEntries(
        [...ledger].map(([id, entry]) => [id, [entry.unit, entry.cause, entry.amount, entry.balance, entry.reference]]),
      ),
      Object.fromEntries(
        own.map((row) => [row.entry_id, [row.unit, row.cause, row.amount, row.balance, row.reference]]),
      ),
      say,
    );
    const sum = (unit: string) =>
      own.reduce((total, row) => (row.unit === unit ? total + BigInt(String(row.amount)) : total), 0n);
    const credit = (unit: string) =>
      account.wallet.credits.reduce(
        (total: bigint, item: Json) => (item.unit === unit ? total + BigInt(item.remaining) : total),
        0n,
      );
    equal(`USD balance of ${customerId}`, sum('USD'), credit('USD') - BigInt(account.wallet.overdraft), say);
    equal(`purchased units of ${customerId}`, sum('CUSTOM1'), credit('CUSTOM1'), say);
    equal(`unsettled USD of ${customerId}`, '0', account.wallet.unsettled, say);

    const owed = new Map<string, bigint>();
    const charges = [
      ...[...calls.values()].map(({ outcome }) => outcome?.charge),
      ...[...events.values()].map(({ charge }) => charge),
    ];
    for (const charge of charges.filter(Boolean)) {
      equal(`settlement of ${charge.chargeId}`, 'POSTED', charge.status, say);
      if (charge.amountNanoUsd !== '0') owed.set(charge.chargeId, BigInt(charge.amountNanoUsd));
    }
    for (const event of events.values())
      if (event.funding.credits > 0) owed.set(event.eventId, BigInt(event.funding.credits));
    const spent = new Map<string, bigint>();
    for (const { cause, reference, amount } of own) {
      if (cause !== 'GRANT')
        spent.set(String(reference), (spent.get(String(reference)) ?? 0n) - BigInt(String(amount)));
    }
    equal(`what ${customerId} spent, by charge and event`, Object.fromEntries(owed), Object.fromEntries(spent), say);
  }
}

function judgeDirectory(sent: readonly Sent[], directories: ObjectState[], say: Say): void {
  const claims = directories.flatMap(({ tables }) => tables.get('claims') ?? []);
  const owners = new Map(
    sent.flatMap(({ calls }) => [...calls.values()]).map(({ id, customerId }) => [id, customerId]),
  );
  for (const { provisionings } of sent)
    for (const [key, customerId] of provisionings) owners.set(`provision ${key}`, customerId);
  sameIds(
    'claimed keys',
    [...owners.keys()],
    claims.map(({ call_id }) => String(call_id)),
    say,
  );
  for (const { call_id, customer_id } of claims)
    equal(`owner of ${call_id}`, owners.get(String(call_id)), customer_id, say);
}

/** Hourly sums equal the sums of the hour's calls, in D1 and in each object. */
function judgeUsageHours(calls: Row[], hours: Row[], objects: Map<string, CustomerFacts>, say: Say): void {
  const finished = calls.filter(({ status }) => status === 'COMPLETED' || status === 'FAILED');
  const total = (of: Row[], column: string) => of.reduce((sum, row) => sum + BigInt(String(row[column] ?? 0)), 0n);
  const cost = (of: Row[], kind: string) =>
    total(of, `${kind}cost_usd`) * 1_000_000_000n + total(of, `${kind}cost_rest_nano_usd`);
  for (const [customerId, { usageHours }] of objects) {
    const own = finished.filter((row) => row.customer_id === customerId);
    const sums = [
      BigInt(own.length),
      total(own, 'input_tokens'),
      total(own, 'response_tokens'),
      total(own, 'cost_nano_usd'),
    ];
    const inD1 = hours.filter(
      (row) => row.customer_id === customerId && (row.outcome === 'COMPLETED' || row.outcome === 'FAILED'),
    );
    equal(
      `usage hours of ${customerId} in D1`,
      sums,
      [...['calls', 'input_tokens', 'output_tokens'].map((column) => total(inD1, column)), cost(inD1, '')],
      say,
    );
    const inObject = [
      total(usageHours, 'completed_calls') + total(usageHours, 'failed_calls'),
      total(usageHours, 'input_tokens'),
      total(usageHours, 'output_tokens'),
      cost(usageHours, 'completed_') + cost(usageHours, 'failed_'),
    ];
    equal(`usage hours of ${customerId} in its object`, sums, inObject, say);
  }
}

function judgeSubscription(
  sent: Sent,
  customerId: string,
  { account }: CustomerFacts,
  customers: Row[],
  say: Say,
): void {
  const { subscription } = account;
  const expected = sent.subscriptions.get(customerId);
  equal(
    `subscription of ${customerId}`,
    expected,
    { planId: subscription.plan.planId, version: subscription.version },
    say,
  );
  const rows = customers.filter((row) => row.customer_id === customerId);
  equal(
    `row of ${customerId} in D1`,
    [
      [
        subscription.version,
        subscription.plan.usagePlanVersionId,
        subscription.lastReplenishedAtMs,
        subscription.nextReplenishAtMs,
      ],
    ],
    rows.map((row) => [
      row.subscription_version,
      row.usage_plan_version_id,
      row.last_replenished_at_ms,
      row.next_replenish_at_ms,
    ]),
    say,
  );
}

/** The consumed and held amounts of the meters equal the sums of the period's calls and increments. */
function judgeMeters(customerId: string, { account, calls, events }: CustomerFacts, say: Say): void {
  const sinceMs: number = account.subscription.lastReplenishedAtMs;
  const ended = [...calls.values()].filter(({ outcome }) => outcome && outcome.charge === null);
  const open = [...calls.values()].filter(({ status }) => status === 'IN_PROGRESS');
  const consumed = (meter: string) => Number(account.meters.consumed[meter] ?? 0);
  const between = (meter: string, found: number, items: { atMs: number; amount: number }[]) => {
    // A replenishment in the very millisecond of an end may have come before or after it.
    const after = items.filter(({ atMs }) => atMs > sinceMs).reduce((sum, { amount }) => sum + amount, 0);
    const from = items.filter(({ atMs }) => atMs >= sinceMs).reduce((sum, { amount }) => sum + amount, 0);
    if (found < after || found > from)
      say(`${meter} of ${customerId}: ${found}, not ${after === from ? from : `${after} to ${from}`}`);
  };
  for (const tier of ['standard', 'premium']) {
    const own = ended.filter(({ outcome }) => outcome.tier === tier);
    const items = (amountOf: (call: Json) => number) =>
      own.map((call) => ({ atMs: call.finishedAtMs as number, amount: amountOf(call) }));
    between(
      `${tier}Calls`,
      consumed(`${tier}Calls`),
      items(() => 1),
    );
    between(
      `${tier}Tokens`,
      consumed(`${tier}Tokens`),
      items(({ outcome }) => outcome.usage.responseTokens),
    );
    const held = open.reduce((sum, { reserved }) => sum + Number(reserved[`${tier}Calls`] ?? 0), 0);
    equal(`${tier}Calls held of ${customerId}`, held, Number(account.meters.reserved[`${tier}Calls`] ?? 0), say);
  }
  const units = (amountOf: (event: Json) => number) =>
    [...events.values()].map((event) => ({ atMs: event.atMs as number, amount: amountOf(event) }));
  between(
    'customMeter1',
    consumed('customMeter1'),
    units(({ funding }) => funding.included),
  );
  between(
    'units of CUSTOM1',
    Number(account.slots?.CUSTOM1?.usage ?? 0),
    units(({ amount }) => amount),
  );
  const heldUsd = open.reduce((sum, { credit }) => sum + BigInt(credit?.heldNanoUsd ?? 0), 0n);
  equal(`USD held of ${customerId}`, String(heldUsd), account.wallet.held, say);
}
