/**
 * Reads the service's record of a run from its own routes: every call, increment and entry of the ledger from the
 * export of the organization's history, and open calls and holds from the customers.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { OperatorCustomer } from '../../src/contract/operator-customers.ts';
import { parseUsd } from '../../src/domain/money.ts';
import type { Recorded } from './verdict.ts';
import type { Customer, Organization, World } from './world.ts';

interface LedgerEntry {
  customerId: string;
  cause: string;
  amount: bigint;
  /** The USD balance after it. */
  balance: bigint;
  reference: string | null;
}

interface RecordedCall extends Recorded {
  outputTokens: number;
}

export interface History {
  recorded: RecordedCall[];
  /** The USD entries, in order for each customer. */
  ledger: LedgerEntry[];
}

const POLL_MS = 100;
const DAY_MS = 86_400_000;

type Named = Pick<Customer, 'customerId'>;

async function readCustomer(world: Organization, { customerId }: Named): Promise<OperatorCustomer> {
  const params = { org: world.organizationId, customerId };
  return (await world.operator.send('readCustomer', { params })).data;
}

/** The present holds of a customer, in nano-USD. */
export async function heldBy(world: World, customer: Customer): Promise<bigint> {
  return parseUsd((await readCustomer(world, customer)).wallet.heldUsd) ?? 0n;
}

/** Waits until the customers have no open call and no charge under way; the ones that still have at the end of the time. */
export async function settled(world: Organization, customers: readonly Named[], msMax: number): Promise<string[]> {
  return waitFor(world, customers, msMax, ({ openCalls, wallet }) => openCalls > 0 || wallet.openCharges > 0);
}

/** Waits until D1 has everything about the customers; returns those with waiting changes at the end of the time. */
export async function drained(world: Organization, customers: readonly Named[], msMax: number): Promise<string[]> {
  return waitFor(world, customers, msMax, ({ outbox }) => outbox.pending > 0);
}

async function waitFor(
  world: Organization,
  customers: readonly Named[],
  msMax: number,
  isBusy: (customer: OperatorCustomer) => boolean,
): Promise<string[]> {
  const giveUpAtMs = Date.now() + msMax;
  const busy: string[] = [];
  for (const customer of customers) {
    while (isBusy(await readCustomer(world, customer))) {
      if (Date.now() > giveUpAtMs) {
        busy.push(customer.customerId);
        break;
      }
      await sleep(POLL_MS);
    }
  }
  return busy;
}

/** Everything since the day of `sinceMs`. Calls are named by the marker in their tags. */
export async function readHistory(
  { server, organizationId, operatorToken }: Organization,
  sinceMs: number,
): Promise<History> {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const query = new URLSearchParams({ from: day(sinceMs), to: day(Date.now() + DAY_MS) });
  const response = await fetch(`${server.url}/operator/organizations/${organizationId}/export?${query}`, {
    headers: { Authorization: `Bearer ${operatorToken}`, Accept: '*/*' },
  });
  if (!response.ok) throw new Error(`the history cannot be exported: ${response.status} ${await response.text()}`);
  const rows = (await response.text())
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row);
  const ledger = rows.flatMap((row) =>
    row.kind === 'credit_entry' && row.record.unit === 'USD' ? [entryOf(row)] : [],
  );
  const paid = new Map<string, bigint>();
  for (const { reference, amount } of ledger)
    if (reference !== null) paid.set(reference, (paid.get(reference) ?? 0n) - amount);
  return { recorded: rows.flatMap((row) => recordedOf(row, paid)), ledger };
}

/** A line of the export. */
interface Row {
  kind: 'call' | 'meter_event' | 'credit_entry';
  id: string;
  customerId: string;
  atMs: number;
  // biome-ignore lint/suspicious/noExplicitAny: records are read as they stand
  record: any;
}

/** Its charge is of the difference, and the call's outcome names that one too: the charge before it is named only here. */
interface Correction {
  charge: { chargeId: string } | null;
  previous: { charge?: { chargeId: string } | null } | null;
}

function entryOf({ customerId, record }: Row): LedgerEntry {
  const { cause, amount, balance, reference } = record;
  return { customerId, cause, amount: BigInt(amount), balance: BigInt(balance), reference };
}

/** The amount that the ledger took for a call or an increment, and the record of its usage. */
function recordedOf({ kind, customerId, atMs, record }: Row, paid: ReadonlyMap<string, bigint>): RecordedCall[] {
  const [marker] = (record.tags ?? []) as string[];
  if (kind === 'credit_entry' || marker === undefined) return [];
  const took = (charges: ({ chargeId: string } | null | undefined)[]) =>
    [...new Set(charges.map((charge) => charge?.chargeId ?? ''))].reduce((sum, id) => sum + (paid.get(id) ?? 0n), 0n);
  if (kind === 'meter_event')
    return [
      {
        marker,
        customerId,
        empty: false,
        took: took([record.charge]),
        provisional: false,
        endedAtMs: atMs,
        outputTokens: 0,
      },
    ];
  const { outcome, corrections = [] } = record;
  const outputTokens = Number(outcome?.usage?.responseTokens ?? 0);
  const tokens = outputTokens + Number(outcome?.usage?.inputTokens ?? 0);
  const cost = BigInt(outcome?.price?.costNanoUsd ?? 0);
  return [
    {
      marker,
      customerId,
      empty: tokens === 0 && cost === 0n,
      took: took([
        outcome?.charge,
        ...(corrections as Correction[]).flatMap((one) => [one.charge, one.previous?.charge]),
      ]),
      provisional: (outcome?.usageSource ?? 'reported') !== 'reported',
      endedAtMs: record.finishedAtMs,
      outputTokens,
    },
  ];
}
