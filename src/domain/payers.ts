/**
 * Which credits gave what a mistake took, by the ledger: those that get it back.
 *
 * Without the mistake, what came after it would have been paid by the credits that paid for it, and so on: in the end the
 * credits of all that was paid since then would have more, the one that is spent last first. "Paid since then" is what is
 * paid now less what was paid before the mistake. Where an earlier mistake was taken back only after this one, the ledger
 * still says that its credits paid before this one; so what it had freed by then is first taken out, by the same rule.
 */
import { type Credit, type LedgerEntry, lastSpentFirst, type Payer, type Recorded } from './wallet.ts';

/** Entries of a unit that are read, the newest ones. What was paid before them is not known. */
export const ENTRIES_MAX = 5_000;
/** Earlier corrections of charges that are looked at, the last ones. */
const CORRECTIONS_MAX = 50;

export interface Mistake extends Recorded {
  /** Those before it that were taken back after it, in order, and what they had taken of credits by the time of this one. */
  earlier: readonly { mistake: Mistake; freed: bigint }[];
}

/** What each credit paid, less what it got back; `null` is the overdraft. */
type Paid = ReadonlyMap<string | null, bigint>;

/**
 * The credits that get back what the mistake took: first for what they paid since then, then for what they paid before.
 * `entries` are those of the unit, in order.
 */
export function payersOf(entries: readonly LedgerEntry[], credits: readonly Credit[], mistake: Mistake): Payer[][] {
  const order = [null, ...[...credits].sort(lastSpentFirst).map(({ creditId }) => creditId)];
  const known = new Map<Mistake, Paid>();
  const paidBefore = (of: Mistake): Paid => {
    const found = known.get(of) ?? of.earlier.reduce(without, paidBy(entries.slice(0, placeOf(entries, of))));
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

/** The mistake of a charge, with the corrections before it that the entries tell of. Each freed all that it gave back. */
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
    .map((correction) => ({ ...correction, place: placeOf(entries, correction.of) }))
    .sort((a, b) => a.place - b.place);
  for (const { of, place, returned, freed } of placed)
    before.push({ mistake: mistakeAt(place, of), place, returned, freed });
  return mistakeAt(placeOf(entries, charge), charge);
}

/** The first entry of what was recorded, or after it. */
function placeOf(entries: readonly LedgerEntry[], { reference, atMs }: Recorded): number {
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
