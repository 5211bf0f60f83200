/**
 * The verdict on a run of the cap suite: figures, and a sentence for everything that must not happen.
 *
 * Four accounts of the same calls are compared: the callers' requests and answers, the vendor's bills, the records, and
 * the amounts that left the budget. A budget is a USD balance in nano-USD or a token limit in tokens; the rules are the
 * same. If the free amount at a moment cannot be known from outside, that moment is not judged.
 */

/** How a request went for its caller. */
export type CallerOutcome =
  | 'served'
  /** For lack of budget. */
  | 'refused'
  /** The vendor failed, and the caller was told. */
  | 'failed'
  /** The caller went away before the answer was whole. */
  | 'left'
  /** The answer went away: the server was killed, or the stream broke. */
  | 'lost';

/** One request of a caller. */
export interface Attempt {
  /** Names the request in all four accounts. */
  marker: string;
  customerId: string;
  kind: string;
  sentAtMs: number;
  /** The time at which the caller had the whole answer; `null` if it never had it. */
  answeredAtMs: number | null;
  outcome: CallerOutcome;
  /** The code of a refusal or a failure. */
  code: string | null;
  /** The end of a stream that was served. `nothing`: it just stopped. */
  streamEnd: 'vendor' | 'balance' | 'nothing' | null;
}

/** A vendor's treatment of a request. */
export interface Billed {
  marker: string;
  /**
   * `answered`: all of it, with its usage, was handed over. `refused`: with an error, and nothing was billed.
   * `unfinished`: it broke off, or the other side did.
   */
  outcome: 'answered' | 'refused' | 'unfinished';
  /** The amount that it takes of the budget. */
  owed: bigint;
  /** The part of it that is beyond the bound that the vendor was sent. */
  beyond: bigint;
}

/** The service's record of a request. */
export interface Recorded {
  marker: string;
  customerId: string;
  /** Neither cost nor usage. */
  empty: boolean;
  /** The amount that it took of the budget. */
  took: bigint;
  /** The usage is a count of the service, because the vendor's did not come. */
  provisional: boolean;
  /** When it was recorded; `null` while it is open. */
  endedAtMs: number | null;
}

export interface Budget {
  customerId: string;
  /** The amount that could be spent. */
  granted: bigint;
  /** The highest amount that was ever spent of it, and the amount at the end. */
  spentMost: bigint;
  spent: bigint;
  /** The amount that a request of each kind must find free to be admitted; a kind without one is not judged. */
  bounds: Readonly<Record<string, bigint>>;
  /** The possible codes of a refusal, and those that may come only when all holds together would not suffice. */
  codes: readonly string[];
  finalCodes: readonly string[];
  /** The kind that was requested until it was refused at the end; `null` if there was none. */
  wantedLast: string | null;
}

export interface Facts {
  budgets: readonly Budget[];
  attempts: readonly Attempt[];
  billed: readonly Billed[];
  recorded: readonly Recorded[];
}

/** The refusal that says to wait for open calls, and the one that says not to come back. */
export const HELD = 'BALANCE_HELD';
export const SPENT = 'CREDIT_REQUIRED';
/** The failure of a vendor that was never asked. */
const UNREACHABLE = 'VENDOR_UNREACHABLE';
/** The code for a customer who was denied too often within a minute; its answer also tells clients not to retry. */
export const TOO_OFTEN = 'RATE_LIMITED';

export interface Figures {
  requests: bigint;
  served: bigint;
  refused: bigint;
  failed: bigint;
  left: bigint;
  lost: bigint;
  streamsEndedByBalance: bigint;
  /** Requests that ran, by the log of who billed them. */
  ran: bigint;
  granted: bigint;
  spent: bigint;
  billed: bigint;
  /** The amount that vendors billed and no customer paid: the organization pays it. */
  billedToNobody: bigint;
  /** The amount that customers paid and no vendor billed, because it was estimated. */
  guessedTooMuch: bigint;
  /** The amount that vendors billed beyond the bounds that they got. */
  billedBeyondBound: bigint;
  unused: bigint;
  /** Calls whose usage is the service's own count. */
  provisional: bigint;
  /**
   * The amount spent beyond the budgets, less the vendors' bills beyond their bounds, and the possible overdraft of the
   * last increment.
   */
  spentBeyond: bigint;
  /** Left of budgets that had a bound free although a request was refused last. */
  unusedBeyondBound: bigint;
  refusedAlthoughFree: bigint;
  /** Told not to come back, although open calls could give back enough. */
  refusedForGoodAlthoughHeld: bigint;
  refusedWithAnotherCode: bigint;
  recordedWithNothing: bigint;
  wronglyCharged: bigint;
  streamsWithoutEnd: bigint;
}

/** Figures that have to be zero. */
export const GOALS = [
  'spentBeyond',
  'unusedBeyondBound',
  'refusedAlthoughFree',
  'refusedForGoodAlthoughHeld',
  'refusedWithAnotherCode',
  'recordedWithNothing',
  'wronglyCharged',
  'streamsWithoutEnd',
] as const satisfies (keyof Figures)[];

export interface Verdict {
  figures: Figures;
  /** Sentences; there are some exactly if a goal is missed. */
  wrong: string[];
}

/**
 * A call whose caller had no answer may have a hold for this long after the time in its record. The clock is the
 * callers'.
 */
const SETTLED_MS = 2_000;

/** The accounts of one budget. */
interface Accounts {
  budget: Budget;
  attempts: readonly Attempt[];
  billed: ReadonlyMap<string, Billed>;
  recorded: ReadonlyMap<string, Recorded>;
}

/** A figure that has to be zero, and its meaning. */
interface Count {
  figure: (typeof GOALS)[number];
  amount: bigint;
  sentence: string;
}

export function judge(facts: Facts): Verdict {
  const counts = facts.budgets.flatMap((budget) => {
    const own = accountsOf(facts, budget);
    return [
      ...overspending(own),
      ...unusedBound(own),
      ...wrongRefusals(own),
      ...streamsEndedEarly(own),
      ...nothingRecorded(own),
      ...wrongCharges(own),
      ...stoppedStreams(own),
    ];
  });
  const goals = Object.fromEntries(
    GOALS.map((goal) => [goal, sum(counts, ({ figure, amount }) => (figure === goal ? amount : 0n))]),
  ) as Record<(typeof GOALS)[number], bigint>;
  return { figures: { ...measureSizes(facts), ...goals }, wrong: counts.map(({ sentence }) => sentence) };
}

/** The figures of several verdicts together. */
export function total(verdicts: readonly Verdict[]): Figures {
  const { figures: none } = judge({ budgets: [], attempts: [], billed: [], recorded: [] });
  const names = Object.keys(none) as (keyof Figures)[];
  return Object.fromEntries(
    names.map((name) => [name, sum(verdicts, ({ figures }) => figures[name])]),
  ) as unknown as Figures;
}

function accountsOf({ attempts, billed, recorded }: Facts, budget: Budget): Accounts {
  const own = attempts.filter(({ customerId }) => customerId === budget.customerId);
  const markers = new Set(own.map(({ marker }) => marker));
  const named = <Item extends { marker: string }>(items: readonly Item[]) =>
    new Map(items.filter(({ marker }) => markers.has(marker)).map((item) => [item.marker, item]));
  return { budget, attempts: own, billed: named(billed), recorded: named(recorded) };
}

function measureSizes({ budgets, attempts, billed, recorded }: Facts): Omit<Figures, (typeof GOALS)[number]> {
  const took = new Map(recorded.map((record) => [record.marker, record.took]));
  const owed = new Map(billed.map((bill) => [bill.marker, bill.owed]));
  const count = (outcome: CallerOutcome) => BigInt(attempts.filter((attempt) => attempt.outcome === outcome).length);
  return {
    requests: BigInt(attempts.length),
    served: count('served'),
    refused: count('refused'),
    failed: count('failed'),
    left: count('left'),
    lost: count('lost'),
    streamsEndedByBalance: BigInt(attempts.filter(({ streamEnd }) => streamEnd === 'balance').length),
    ran: BigInt(billed.length),
    granted: sum(budgets, ({ granted }) => granted),
    spent: sum(budgets, ({ spent }) => spent),
    billed: sum(billed, ({ owed }) => owed),
    billedToNobody: sum(billed, ({ marker, owed }) => positive(owed - (took.get(marker) ?? 0n))),
    guessedTooMuch: sum(recorded, ({ marker, took, provisional }) =>
      provisional ? positive(took - (owed.get(marker) ?? 0n)) : 0n,
    ),
    billedBeyondBound: sum(billed, ({ beyond }) => beyond),
    unused: sum(budgets, ({ granted, spent }) => positive(granted - spent)),
    provisional: BigInt(recorded.filter(({ provisional }) => provisional).length),
  };
}

/**
 * An increment needs a balance above zero and holds nothing, so the last one may overdraw the balance by less than its
 * price (docs/plans.md, "Custom meters").
 */
function overspending({ budget, attempts, billed }: Accounts): Count[] {
  const { customerId, granted, spentMost, bounds } = budget;
  const beyond = sum(billed.values(), (bill) => bill.beyond);
  const hasIncrements = attempts.some(({ kind, outcome }) => kind === 'increment' && outcome !== 'refused');
  const byIncrement = hasIncrements && bounds.increment !== undefined ? positive(bounds.increment - 1n) : 0n;
  const amount = positive(spentMost - granted - beyond - byIncrement);
  if (amount === 0n) return [];
  const sentence = `${customerId} spent ${spentMost} of ${granted}: ${amount} too much`;
  return [{ figure: 'spentBeyond', amount, sentence }];
}

function unusedBound({ budget }: Accounts): Count[] {
  const { customerId, granted, spent, bounds, wantedLast } = budget;
  const bound = wantedLast === null ? undefined : bounds[wantedLast];
  const amount = granted - spent;
  if (bound === undefined || amount < bound) return [];
  const sentence = `${customerId} has ${amount} left, a ${wantedLast} call needs ${bound}, and one was refused last`;
  return [{ figure: 'unusedBeyondBound', amount, sentence }];
}

function wrongRefusals({ budget, attempts, recorded }: Accounts): Count[] {
  const uses = attempts.flatMap((attempt) => useOf(attempt, recorded.get(attempt.marker)) ?? []);
  return attempts.flatMap((attempt): Count[] => {
    const { marker, kind, outcome, code } = attempt;
    if (outcome !== 'refused') return [];
    const refused = `${marker} (${kind}) was refused with ${code}`;
    if (!budget.codes.includes(code ?? ''))
      return [{ figure: 'refusedWithAnotherCode', amount: 1n, sentence: refused }];
    const bound = budget.bounds[kind];
    if (bound === undefined) return [];
    const free = freeAt(budget, attempt, uses);
    if (free !== null) {
      if (free < bound) return [];
      const sentence = `${refused}, although ${free} was free and it needs ${bound}`;
      return [{ figure: 'refusedAlthoughFree', amount: 1n, sentence }];
    }
    const unspent = unspentAt(budget, attempt, uses);
    if (!budget.finalCodes.includes(code ?? '') || unspent < bound) return [];
    const sentence = `${refused}, although ${unspent} was not spent yet and it needs ${bound}`;
    return [{ figure: 'refusedForGoodAlthoughHeld', amount: 1n, sentence }];
  });
}

/**
 * Streams that were ended for lack of balance, although the prompt and another step were free. The prompt counts,
 * because a stream holds its bound to the end, which is above its charge.
 */
function streamsEndedEarly({ budget, attempts, recorded }: Accounts): Count[] {
  const bound = budget.bounds.stream;
  const ended = attempts.filter(({ streamEnd }) => streamEnd === 'balance');
  return ended.flatMap((attempt): Count[] => {
    const others = attempts.flatMap((other) =>
      other === attempt ? [] : (useOf(other, recorded.get(other.marker)) ?? []),
    );
    const free = freeAt(budget, attempt, others);
    const left = free === null ? null : free - (recorded.get(attempt.marker)?.took ?? 0n);
    if (bound === undefined || left === null || left < bound) return [];
    const sentence = `${attempt.marker} was ended by the balance, although ${left} was free and a stream needs ${bound}`;
    return [{ figure: 'refusedAlthoughFree', amount: 1n, sentence }];
  });
}

/** How long a call certainly or possibly had a hold, and the amount that it took. */
interface Use {
  fromMs: number;
  /** The time at which it took the amount. */
  tookAtMs: number;
  took: bigint;
  /** From when it certainly holds nothing any more. */
  freeFromMs: number;
}

/** `null` for a request that held nothing. */
function useOf(attempt: Attempt, record: Recorded | undefined): Use | null {
  if (attempt.outcome === 'refused') return null;
  const never = Number.POSITIVE_INFINITY;
  const tookAtMs = record?.endedAtMs ?? never;
  // A caller with the whole answer finds the call recorded.
  const freeFromMs = attempt.answeredAtMs ?? tookAtMs + SETTLED_MS;
  return { fromMs: attempt.sentAtMs, tookAtMs, took: record?.took ?? 0n, freeFromMs: Math.max(freeFromMs, tookAtMs) };
}

/** The free amount while the refusal was made; `null` if a call may have been open, so that it cannot be known. */
function freeAt({ granted }: Budget, { sentAtMs, answeredAtMs }: Attempt, uses: readonly Use[]): bigint | null {
  const untilMs = answeredAtMs ?? Number.POSITIVE_INFINITY;
  const before = uses.filter(({ fromMs }) => fromMs <= untilMs);
  if (before.some(({ freeFromMs }) => freeFromMs >= sentAtMs)) return null;
  return granted - sum(before, ({ took }) => took);
}

/** The amount that would have been free at the refusal's end if all open calls had released their holds. */
function unspentAt({ granted }: Budget, { answeredAtMs }: Attempt, uses: readonly Use[]): bigint {
  const untilMs = answeredAtMs ?? Number.POSITIVE_INFINITY;
  return granted - sum(uses, ({ took, tookAtMs }) => (tookAtMs <= untilMs ? took : 0n));
}

function nothingRecorded({ billed, recorded }: Accounts): Count[] {
  return [...billed.values()].flatMap(({ marker, outcome }): Count[] => {
    const record = recorded.get(marker);
    if (outcome === 'refused' || (record && !record.empty)) return [];
    const sentence = `${marker} ran at the vendor, and is ${record ? 'recorded with nothing' : 'not recorded'}`;
    return [{ figure: 'recordedWithNothing', amount: 1n, sentence }];
  });
}

function wrongCharges({ attempts, billed, recorded }: Accounts): Count[] {
  return attempts.flatMap((attempt): Count[] => {
    const expected = chargeFor(attempt, billed.get(attempt.marker), recorded.get(attempt.marker));
    const { took = 0n, provisional = false } = recorded.get(attempt.marker) ?? {};
    const guessed = provisional && attempt.outcome === 'served' && attempt.streamEnd !== 'balance';
    if (expected === null || (took === expected && !guessed)) return [];
    const sentence = `${attempt.marker} (${attempt.kind}) took ${took}, not ${expected}${guessed ? ', by a guess' : ''}`;
    return [{ figure: 'wronglyCharged', amount: 1n, sentence }];
  });
}

/** The amount that the call must have taken; `null` if an estimate may stand for it, or if nothing else is known. */
function chargeFor(attempt: Attempt, bill: Billed | undefined, record: Recorded | undefined): bigint | null {
  if (attempt.outcome === 'refused') return 0n;
  // A vendor that could not be reached is owed nothing. Any other one may have been asked without knowing of it.
  if (!bill) return attempt.code === UNREACHABLE ? 0n : null;
  if (bill.outcome === 'refused') return attempt.outcome === 'lost' ? null : 0n;
  if (bill.outcome === 'unfinished') return null;
  const isWhole = attempt.outcome === 'served' && attempt.streamEnd !== 'balance';
  const hasUsage = record !== undefined && !record.empty && !record.provisional;
  return isWhole || hasUsage ? bill.owed : null;
}

/** Streams that came to no regular end, although the vendor's did. */
function stoppedStreams({ attempts, billed }: Accounts): Count[] {
  return attempts.flatMap(({ marker, streamEnd }): Count[] => {
    if (streamEnd !== 'nothing' || billed.get(marker)?.outcome !== 'answered') return [];
    return [{ figure: 'streamsWithoutEnd', amount: 1n, sentence: `${marker}: the stream stopped without an end` }];
  });
}

function sum<Item>(items: Iterable<Item>, of: (item: Item) => bigint): bigint {
  let all = 0n;
  for (const item of items) all += of(item);
  return all;
}

function positive(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}
