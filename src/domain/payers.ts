/**
 * The credits that paid for a mistake, according to the ledger: they get the amount back.
 *
 * Without the mistake, those credits would have paid for later usage, and so on: in the end, the credits of all later
 * payments would have more, the one that is spent last first. The later payments are the present payments less those
 * before the mistake. If an earlier mistake was reversed only after this one, the ledger still says that its credits
 * paid before this one; so the amount that it had freed by then is first taken out, by the same rule.
 */
import { type Credit, type LedgerEntry, lastSpentFirst, type Payer, type Recorded } from './wallet.ts';

/** The most entries of a unit that are read: the newest ones. Earlier payments are not known. */
export const ENTRIES_MAX = 5_000;
/** The most earlier corrections of charges that are looked at: the last ones. */
const CORRECTIONS_MAX = 50;

export interface Mistake extends Recorded {
  /**
   * Earlier mistakes that were reversed after this one, in order, and the amount that they had taken from credits by
   * the time of this one.
   */
  earlier: readonly { mistake: Mistake; freed: bigint }[];
}

/** The payments of each credit, less its returns; `null` is the overdraft. */
type Paid = ReadonlyMap<string | null, bigint>;

/**
 * The credits that get back the amount of the mistake: first for their later payments, then for their earlier ones.
 * `entries` are those of the unit, in order.
 */
export function findPayers(entries: readonly LedgerEntry[], credits: readonly Credit[], mistake: Mistake): Payer[][] {
  const order = [null, ...[...credits].sort(lastSpentFirst).map(({ creditId }) => creditId)];
  const known = new Map<Mistake, Paid>();
  const paidBefore = (of: Mistake): Paid => {
    const found = known.get(of) ?? of.earlier.reduce(without, paidBy(entries.slice(0, entryIndex(entries, of))));
    known.set(of, found);
    return found;
  };
  const without = (paid: Paid, { mistake: of, freed }: Mistake['earlier'][number]): Paid =>
    subtract(paid, lastSpent(subtract(paid, paidBefore(of)), freed, order));
  const paid = paidBy(entries);
  const since = subtract(paid, paidBefore(mistake));
  const stages = credits.map((credit) => {
    const inAll = paid.get(credit.creditId) ?? 0n;
    const sinceThen = least(since.get(credit.creditId) ?? 0n, inAll);
    return [
      { credit, paid: sinceThen },
      { credit, paid: sinceThen > 0n ? inAll - sinceThen : inAll },
    ] as const;
  });
  return [stages.map(([sinceThen]) => sinceThen), stages.map(([, other]) => other)];
}

/**
 * The mistake of a charge, with the earlier corrections in the entries. Each freed the whole amount that it gave back.
 */
export function mistakenCharge(entries: readonly LedgerEntry[], charge: Recorded): Mistake {
  const corrections = new Map<string | null, { of: Recorded; returned: number; freed: bigint }>();
  for (const [index, { corrects, reference, amount }] of entries.entries()) {
    if (!corrects) continue;
    const { returned = index, freed = 0n } = corrections.get(reference) ?? {};
    corrections.set(reference, { of: corrects, returned, freed: freed + BigInt(amount) });
  }
  const before: { mistake: Mistake; place: number; returned: number; freed: bigint }[] = [];
  const mistakeAt = (place: number, of: Recorded): Mistake => ({
    ...of,
    earlier: before.filter((each) => each.place < place && place <= each.returned),
  });
  const placed = [...corrections.values()]
    .slice(-CORRECTIONS_MAX)
    .map((correction) => ({ ...correction, place: entryIndex(entries, correction.of) }))
    .sort((a, b) => a.place - b.place);
  for (const { of, place, returned, freed } of placed)
    before.push({ mistake: mistakeAt(place, of), place, returned, freed });
  return mistakeAt(entryIndex(entries, charge), charge);
}

/** The first entry of the record, or after it. */
function entryIndex(entries: readonly LedgerEntry[], { reference, atMs }: Recorded): number {
  const own = entries.findIndex((entry) => entry.cause === 'SPEND' && entry.reference === reference);
  const place = own === -1 ? entries.findIndex((entry) => entry.atMs >= atMs) : own;
  return place === -1 ? entries.length : place;
}

/** An overdraft that a credit repaid counts as paid by it. */
function paidBy(entries: readonly LedgerEntry[]): Paid {
  const paid = new Map<string | null, bigint>();
  const add = (creditId: string | null, amount: bigint) => paid.set(creditId, (paid.get(creditId) ?? 0n) + amount);
  for (const { cause, creditId, amount, balance } of entries) {
    if (cause === 'SPEND' || cause === 'RETURN') add(creditId, -BigInt(amount));
    if (cause !== 'GRANT') continue;
    const repaid = least(BigInt(amount), BigInt(amount) - BigInt(balance));
    if (repaid <= 0n) continue;
    add(creditId, repaid);
    add(null, -repaid);
  }
  return paid;
}

/** As much of the amount as was paid, in that order. */
function lastSpent(paid: Paid, amount: bigint, order: readonly (string | null)[]): Paid {
  let left = amount;
  const taken = new Map<string | null, bigint>();
  for (const creditId of order) {
    const part = least(left, paid.get(creditId) ?? 0n);
    if (part <= 0n) continue;
    taken.set(creditId, part);
    left -= part;
  }
  return taken;
}

function subtract(from: Paid, paid: Paid): Paid {
  const result = new Map(from);
  for (const [creditId, amount] of paid) result.set(creditId, (result.get(creditId) ?? 0n) - amount);
  return result;
}

const least = (a: bigint, b: bigint) => (a < b ? a : b);
