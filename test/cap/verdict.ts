/**
 * What a run of the cap suite came to: figures, and a sentence for everything that must not happen.
 *
 * Four accounts of the same calls are compared: what callers sent and were answered, what the vendor billed, what was
 * recorded, and what left the budget. A budget is a USD balance in nano-USD or a token limit in tokens; the rules are
 * the same. Where it cannot be known from outside what was free at a moment, nothing is said about that moment.
 */

/** How a request went for its caller. */
export type CallerOutcome =
  | 'served'
  /** For want of budget. */
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
  /** When the caller had the whole answer; `null` where it never had it. */
  answeredAtMs: number | null;
  outcome: CallerOutcome;
  /** Of a refusal or a failure. */
  code: string | null;
  /** What ended a stream that was served. `nothing`: it just stopped. */
  streamEnd: 'vendor' | 'balance' | 'nothing' | null;
}

/** What a vendor did with a request. */
export interface Billed {
  marker: string;
  /**
   * `answered`: all of it, with its usage, was handed over. `refused`: with an error, and nothing was billed.
   * `unfinished`: it broke off, or the other side did.
   */
  outcome: 'answered' | 'refused' | 'unfinished';
  /** What it comes to on the budget. */
  owed: bigint;
  /** The part of it that is beyond the bound that the vendor was sent. */
  beyond: bigint;
}

/** What the service says of a request. */
export interface Recorded {
  marker: string;
  customerId: string;
  /** Neither cost nor usage. */
  empty: boolean;
  /** What it took of the budget. */
  took: bigint;
  /** The usage is a count of the service, because the vendor's did not come. */
  provisional: boolean;
  /** When it was recorded; `null` while it is open. */
  endedAtMs: number | null;
}

export interface Budget {
  customerId: string;
  /** What there was to spend. */
  granted: bigint;
  /** The most that was ever spent of it, and what is spent at the end. */
  spentMost: bigint;
  spent: bigint;
  /** What a request of each kind must find free to be admitted; a kind without one is not judged. */
  bounds: Readonly<Record<string, bigint>>;
  /** Codes that a refusal may have, and those of them that may come only once nothing that is held would be enough. */
  codes: readonly string[];
  finalCodes: readonly string[];
  /** The kind that was wanted until it was refused at the end; `null` where none was. */
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
/** What a customer is told who was denied too often within a minute, which says not to come back either. */
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
  /** What vendors billed and no customer paid: the tenant pays it. */
  billedToNobody: bigint;
  /** What customers paid and no vendor billed, because it was guessed. */
  guessedTooMuch: bigint;
  /** What vendors billed beyond the bounds that they were sent. */
  billedBeyondBound: bigint;
  unused: bigint;
  /** Calls whose usage is a count of the service. */
  provisional: bigint;
  /** Spent beyond the budgets, less what vendors billed beyond their bounds, and what the last increment may overdraw. */
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
  /** Sentences; there are some exactly where a goal is missed. */
  wrong: string[];
}

/**
 * A call of which the caller had no answer may hold something for so long after the time that its record says. The clock
 * is that of the callers.
 */
const SETTLED_MS = 2_000;

/** The accounts of one budget. */
interface Accounts {
  budget: Budget;
  attempts: readonly Attempt[];
  billed: ReadonlyMap<string, Billed>;
  recorded: ReadonlyMap<string, Recorded>;
}

/** A figure that has to be zero, and what it counts. */
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
  return { figures: { ...sizesOf(facts), ...goals }, wrong: counts.map(({ sentence }) => sentence) };
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

function sizesOf({ budgets, attempts, billed, recorded }: Facts): Omit<Figures, (typeof GOALS)[number]> {
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
 * Streams that were ended for want of balance, although prompt and another step were free. The prompt counts, because a
 * stream holds the bound of it to the end, which is above what it is charged.
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

/** How long a call certainly or possibly held something, and what it took. */
interface Use {
  fromMs: number;
  /** When it took what it took. */
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
  // Whoever has the whole answer finds the call recorded.
  const freeFromMs = attempt.answeredAtMs ?? tookAtMs + SETTLED_MS;
  return { fromMs: attempt.sentAtMs, tookAtMs, took: record?.took ?? 0n, freeFromMs: Math.max(freeFromMs, tookAtMs) };
}

/** What was free while the refusal came about; `null` where a call may have been open, so that it cannot be told. */
function freeAt({ granted }: Budget, { sentAtMs, answeredAtMs }: Attempt, uses: readonly Use[]): bigint | null {
  const untilMs = answeredAtMs ?? Number.POSITIVE_INFINITY;
  const before = uses.filter(({ fromMs }) => fromMs <= untilMs);
  if (before.some(({ freeFromMs }) => freeFromMs >= sentAtMs)) return null;
  return granted - sum(before, ({ took }) => took);
}

/** What would have been free at the refusal's end if all open calls had given back what they held. */
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

/** What the call must have taken; `null` where a guess may stand for it, or where nothing else is known. */
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
