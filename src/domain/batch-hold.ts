/**
 * The part of its customer's allowance and balance that a batch holds while its lines run at the vendor.
 *
 * Lines that the allowance covers hold a call each, and their output if the plan reserves output; the others hold
 * credit. The order of the answers is unknown, so the hold of some of the lines is the most that any of them can cost:
 * all lines together, or that many of the largest one, whichever is less. Each recorded line frees the part that the
 * others do not need. The vendor runs the file as it is, so no bound of the plan applies to the output.
 */
import { type Account, isCanceled } from './account.ts';
import { isTierLeft, summarize } from './allowances.ts';
import { admitCall, type CallDecision, creditLeft, heldByOthers } from './begin-call.ts';
import type { CallOutcome } from './call.ts';
import { withMarkup } from './charge.ts';
import {
  blockedCapability,
  blockingLimit,
  denialByCapability,
  lastToRenew,
  limitFigures,
  otherLimits,
  type RecordedDenial,
  type TierReason,
} from './denial.ts';
import { moneySums } from './denial-sums.ts';
import { decideEntitlements, type Entitlements } from './entitlements.ts';
import { addQuantities, type MeterName, type Quantities, subtractQuantities } from './meters.ts';
import type { NanoUsd } from './money.ts';
import type { Capability } from './plan.ts';
import { TIERS, type Tier } from './tiers.ts';
import { hold } from './wallet.ts';

/** Lines of one tier: the most that they may cost and answer. Plain JSON. */
export interface Lines {
  count: number;
  /** Whether all of them have a price. */
  isPriced: boolean;
  /** The most decimal nano-USD: of all lines together, and of the costliest one. */
  costNanoUsd: string;
  highestCostNanoUsd: string;
  /** The most output tokens: of all lines together, and of the longest answer. */
  outputTokens: number;
  highestOutputTokens: number;
  /** The tokens of the costliest line, which stand for those of a line that cannot be read. */
  costliest: { inputTokens: number; outputTokens: number };
}

export type LinesByTier = Partial<Record<Tier, Lines>>;

interface HeldLines extends Lines {
  /** The lines among them for which a call is reserved; credit is held for the others. */
  calls: number;
}

/** The hold of a batch for its lines that are not recorded yet. Plain JSON. */
export interface BatchHold {
  tiers: Partial<Record<Tier, HeldLines>>;
  /** The searches that the lines can make. Only the answers show the lines that made one. */
  searches: number;
  markupPercent: number;
  /** The plan reserves output tokens. */
  reservesTokens: boolean;
  /** When it is given back although lines are missing; `null` if that is done. */
  expiresAtMs: number | null;
}

/** A share of the allowance and of the balance. */
export interface Held {
  reserved: Quantities;
  nanoUsd: NanoUsd;
}

const NOTHING: Held = { reserved: {}, nanoUsd: 0n };

/** A batch that wants to begin. */
export interface BatchToHold {
  lines: LinesByTier;
  searches: number;
  needs: readonly Capability[];
}

export interface BatchDenial extends RecordedDenial {
  /** The allowed part of the lines' request besides text. */
  allowed: Entitlements;
  /** The kind that is requested too often, lines or searches, and the number for which the allowance suffices. */
  exceeds?: { kind: Tier | 'search'; lines: number; left: number };
}

/** The hold of the batch; or why it may not begin. */
export function decideBatch(
  account: Account,
  { lines, searches, needs }: BatchToHold,
  { expiresAtMs, nowMs }: { expiresAtMs: number; nowMs: number },
): { ok: true; hold: BatchHold; onCredit: Tier[] } | { ok: false; denial: BatchDenial } {
  const { plan } = account.subscription.plan;
  const canceled = isCanceled(account);
  const requested = Object.fromEntries(needs.map((capability) => [capability, true]));
  const { allowed } = decideEntitlements(plan, account.meters, requested, canceled, () => false);
  const deny = (denial: RecordedDenial, exceeds?: BatchDenial['exceeds']) =>
    ({ ok: false, denial: { ...denial, allowed, ...(exceeds && { exceeds }) } }) as const;
  if (canceled) return deny({ code: 'SUBSCRIPTION_CANCELED' });
  const lacking = needs.filter((capability) => !allowed[capability]);
  const ofCapabilities = lacking.flatMap((capability) => blockedCapability(account, capability).reasons);
  const lackingMost = lastToRenew(ofCapabilities);
  if (lackingMost !== undefined) return deny(denialByCapability(lackingMost, ofCapabilities));
  const informs = plan.limitType === 'NONE';
  const searchesLeft = left(account, 'searches');
  if (searches > searchesLeft && !informs)
    return deny(
      { code: 'ALLOWANCE_EXHAUSTED', ...limitFigures(blockingLimit(account, 'searches')) },
      { kind: 'search', lines: searches, left: searchesLeft },
    );
  const covered: Partial<Record<Tier, HeldLines>> = {};
  for (const tier of TIERS) {
    const wanted = lines[tier];
    if (wanted) covered[tier] = { ...wanted, calls: coveredLines(account, tier, wanted) };
  }
  const exceeding = TIERS.filter((tier) => beyond(covered[tier]) > 0);
  const ofTiers = [...exceeding].reverse().flatMap((tier) => tierReasons(account, tier, covered[tier]));
  const named = lastToRenew(ofTiers);
  const { enabled, markupPercent } = plan.payg;
  const reservesTokens = plan.reserveOutputTokens !== null;
  const held: BatchHold = { tiers: covered, searches, markupPercent, reservesTokens, expiresAtMs };
  if (named === undefined) return { ok: true, hold: held, onCredit: [] };
  const needed = sumHeld(held).nanoUsd;
  if (enabled && creditLeft(account, needed)) return { ok: true, hold: held, onCredit: exceeding };
  if (informs) return { ok: true, hold: { ...held, tiers: reservedWhole(covered) }, onCredit: [] };
  const { count = 0, calls = 0 } = covered[named.tier] ?? {};
  const exceeds = { kind: named.tier, lines: count, left: calls };
  const reason = { ...limitFigures(named.limit), ...otherLimits(named, ofTiers) };
  if (!enabled) return deny({ code: 'ALLOWANCE_EXHAUSTED', ...reason }, exceeds);
  const code = heldByOthers(account, { heldNanoUsd: needed, nowMs }) ? 'BALANCE_HELD' : 'CREDIT_REQUIRED';
  // The vendor runs the file as it is, so no bound on its lines would help.
  const money = moneySums(account.wallet, needed, [], plan, () => false);
  return deny({ code, ...reason, money }, exceeds);
}

/** A plan that only informs denies no line for lack of allowance. */
function reservedWhole(tiers: BatchHold['tiers']): BatchHold['tiers'] {
  return Object.fromEntries(Object.entries(tiers).map(([tier, lines]) => [tier, { ...lines, calls: lines.count }]));
}

/** The lines that the allowance covers. */
function coveredLines(account: Account, tier: Tier, lines: Lines): number {
  const tokensLeft = left(account, `${tier}Tokens`);
  if (tokensLeft === 0) return 0;
  const calls = Math.min(lines.count, left(account, `${tier}Calls`));
  if (account.subscription.plan.plan.reserveOutputTokens === null || boundOutputTokens(lines, calls) <= tokensLeft)
    return calls;
  return Math.min(calls, Math.floor(tokensLeft / lines.highestOutputTokens));
}

/** The limits that keep lines of the tier from running. */
function tierReasons(account: Account, tier: Tier, lines: HeldLines | undefined): TierReason[] {
  if (!lines) return [];
  const [callsLeft, tokensLeft] = [left(account, `${tier}Calls`), left(account, `${tier}Tokens`)];
  const reservesTokens = account.subscription.plan.plan.reserveOutputTokens !== null;
  const areTokensMissing = reservesTokens && boundOutputTokens(lines, Math.min(lines.count, callsLeft)) > tokensLeft;
  const meters = [
    ...(callsLeft < lines.count ? ([`${tier}Calls`] as const) : []),
    ...(tokensLeft === 0 || areTokensMissing ? ([`${tier}Tokens`] as const) : []),
  ];
  return meters.map((meter) => ({ tier, limit: blockingLimit(account, meter) }));
}

function left({ subscription, meters }: Account, meter: MeterName): number {
  const { unlimited, remaining } = summarize(subscription.plan.plan, meters, meter);
  return unlimited ? Number.POSITIVE_INFINITY : remaining;
}

function beyond(lines: HeldLines | undefined): number {
  return lines ? lines.count - lines.calls : 0;
}

/** The most that this many of the lines cost. */
export function costOfLines({ costNanoUsd, highestCostNanoUsd }: Lines, count: number): NanoUsd {
  const [all, some] = [BigInt(costNanoUsd), BigInt(highestCostNanoUsd) * BigInt(count)];
  return all < some ? all : some;
}

/** The most output tokens of this many of the lines. */
export function boundOutputTokens({ outputTokens, highestOutputTokens }: Lines, count: number): number {
  return Math.min(outputTokens, highestOutputTokens * count);
}

/** The amounts that the batch holds. */
export function sumHeld({ tiers, searches, markupPercent, reservesTokens, expiresAtMs }: BatchHold): Held {
  if (expiresAtMs === null) return NOTHING;
  let reserved: Quantities = { searches };
  let nanoUsd = 0n;
  for (const tier of TIERS) {
    const lines = tiers[tier];
    if (!lines) continue;
    const tokens = reservesTokens ? boundOutputTokens(lines, lines.calls) : 0;
    reserved = { ...reserved, [`${tier}Calls`]: lines.calls, [`${tier}Tokens`]: tokens };
    nanoUsd += creditFor(lines, beyond(lines), markupPercent);
  }
  return { reserved, nanoUsd };
}

/** The most charges of this many of the lines: each is rounded by itself. */
function creditFor(lines: Lines, count: number, markupPercent: number): NanoUsd {
  const cost = costOfLines(lines, count);
  return cost === 0n ? 0n : withMarkup({ costNanoUsd: cost, markupPercent }) + BigInt(count);
}

/** The account after the hold of the batch changed. */
function exchange(account: Account, before: Held, after: Held): Account {
  const reserved = subtractQuantities(addQuantities(account.meters.reserved, after.reserved), before.reserved);
  return {
    ...account,
    meters: { ...account.meters, reserved },
    wallet: hold(account.wallet, after.nanoUsd - before.nanoUsd),
    revision: account.revision + 1,
  };
}

export function holdBatch(account: Account, held: BatchHold): Account {
  return exchange(account, NOTHING, sumHeld(held));
}

export function releaseBatch(account: Account, held: BatchHold): Account {
  return exchange(account, sumHeld(held), NOTHING);
}

/** A line that is to be recorded, and the part of its batch's hold that its call holds now. */
export interface AdmittedLine {
  decision: CallDecision;
  share: Held;
}

/**
 * Admits a line, which has run. If a call is reserved for it, that pays; after these, the rest of the allowance pays;
 * and if nothing is left, the credit that is held for it. If the plan reserves output, only the reserved tokens are
 * left.
 */
export function admitLine(account: Account, decision: CallDecision, held: BatchHold | null, tier: Tier): AdmittedLine {
  const lines = held?.tiers[tier];
  const { plan } = account.subscription.plan;
  const asDecided = { decision: admitCall(decision), share: NOTHING };
  if (!held || held.expiresAtMs === null || !lines || lines.count === 0) return asDecided;
  if (lines.calls === 0 && !held.reservesTokens && isTierLeft(plan, account.meters, tier)) return asDecided;
  const { call } = decision;
  const onCredit = lines.calls === 0;
  const tokens = held.reservesTokens ? boundOutputTokens(lines, 1) : 0;
  const share: Held = onCredit
    ? { reserved: {}, nanoUsd: creditFor(lines, 1, held.markupPercent) }
    : { reserved: { [`${tier}Calls`]: 1, [`${tier}Tokens`]: tokens }, nanoUsd: 0n };
  const { markupPercent } = held;
  // The bound of the lines does not separate the prompt from the output.
  const credit = { tiers: [tier], markupPercent, heldNanoUsd: share.nanoUsd.toString(), heldForInputNanoUsd: null };
  const { credit: _credit, ifLost: _ifLost, ...plain } = call;
  const taken = {
    ...plain,
    allowed: { ...call.allowed, [tier]: true },
    reserved: share.reserved,
    ...(onCredit && { credit }),
  };
  // The batch already holds the call's share: the account stays.
  const { revision } = decision.account;
  return { decision: admitCall({ ...decision, account: { ...account, revision }, call: taken }), share };
}

/** The hold of the batch after one of its lines was recorded. */
export function afterLine(held: BatchHold, tier: Tier, { usage, price }: CallOutcome): BatchHold {
  const lines = held.tiers[tier];
  const searches = Math.max(0, held.searches - usage.searches);
  if (!lines) return { ...held, searches };
  const cost = BigInt(lines.costNanoUsd) - BigInt(price.status === 'FINAL' ? price.costNanoUsd : 0);
  const others: HeldLines = {
    ...lines,
    count: Math.max(0, lines.count - 1),
    calls: Math.max(0, lines.calls - 1),
    costNanoUsd: (cost > 0n ? cost : 0n).toString(),
    outputTokens: Math.max(0, lines.outputTokens - usage.responseTokens),
  };
  return { ...held, tiers: { ...held.tiers, [tier]: others }, searches };
}

/** The account after a recorded line gave back its share: the batch holds the amounts that the other lines need. */
export function giveBackLine(account: Account, share: Held, before: BatchHold, after: BatchHold): Account {
  const { reserved, nanoUsd } = sumHeld(after);
  return exchange(account, sumHeld(before), {
    reserved: addQuantities(reserved, share.reserved),
    nanoUsd: nanoUsd + share.nanoUsd,
  });
}
