/**
 * The begin of a call: the decision about what is allowed, and the amounts that the call sets aside until it ends.
 *
 * A tier is paid by its allowance, of which the call reserves a part, or by credit, of which it holds the most that it
 * may cost.
 */

import { type Account, expireDue, isCanceled } from './account.ts';
import {
  type AllowanceBound,
  type AllowedOutput,
  allowedOutput,
  limitedUses,
  reservedUses,
  searchGap,
} from './allowance-bound.ts';
import { summarize } from './allowances.ts';
import { type CallBound, costAtMost, type Gap } from './bound.ts';
import type { BeginRequest, Call, CreditTerms, LostCall } from './call.ts';
import { withMarkup } from './charge.ts';
import { buildDenial, type RecordedDenial } from './denial.ts';
import { moneySums } from './denial-sums.ts';
import { allowedTiers, decideEntitlements, type EntitlementDecision, type Entitlements } from './entitlements.ts';
import type { Expectation } from './expected-hold.ts';
import {
  affordableTokens,
  computeHold,
  type ExpectedCharge,
  type Hold,
  LAST_STEP_TOKENS,
  OUTPUT_TOKENS_MAX_DEFAULT,
  STEP_TOKENS,
} from './hold.ts';
import type { CallId } from './ids.ts';
import { addQuantities, type Quantities } from './meters.ts';
import { type NanoUsd, nanoFromUsd } from './money.ts';
import { TIERS, type Tier } from './tiers.ts';
import { availableUsd, hold, release } from './wallet.ts';

/** The decision about a call that wants to begin: the call, and the account with the call's holds. */
export interface CallDecision {
  account: Account;
  call: Call;
  decision: EntitlementDecision;
  /** Why the call is not allowed; `null` if it is. */
  denial: RecordedDenial | null;
  /** Why credit does not pay for the call although it would have to; `null` if it does, or need not. */
  gap: Gap | null;
  /**
   * Why the plan's limit on searches keeps the call from running: nothing bounds its searches; `null` if something
   * does.
   */
  searchGap: Gap | null;
}

/** The expected cost of a call that wants to begin. */
export interface Expected {
  /** The bounds of the models that may run, in their order; empty if they are not known. */
  bounds: readonly CallBound[];
  /** The usual charge of this customer's calls. */
  usualCharge: () => NanoUsd;
  /** Absent if no model has an expected charge. */
  expectedCharge?: ExpectedCharge;
}

export function beginCall(
  account: Account,
  callId: CallId,
  request: BeginRequest,
  { bounds, usualCharge, expectedCharge = () => null }: Expected,
  { deadlineAtMs, nowMs }: { deadlineAtMs: number; nowMs: number },
): CallDecision {
  const { plan, usagePlanVersionId } = account.subscription.plan;
  const { markupPercent } = plan.payg;
  const askedNanoUsd = request.holdUsd === undefined ? null : nanoFromUsd(request.holdUsd);
  const holdWith = (of: readonly CallBound[], tiers: readonly Tier[]) =>
    computeHold(payableBounds(boundsAtTiers(of, tiers)), plan, {
      markupPercent,
      askedNanoUsd,
      usualCharge,
      expectedCharge,
    });
  const holdFor = (...tiers: Tier[]) => holdWith(bounds, tiers);
  const outputs = {
    standard: allowedOutput(plan, account.meters, 'standard', boundsAtTiers(bounds, ['standard'])),
    premium: allowedOutput(plan, account.meters, 'premium', boundsAtTiers(bounds, ['premium'])),
  } satisfies Record<Tier, AllowedOutput>;
  const uses = limitedUses(plan, bounds);
  const decided = decideEntitlements(
    plan,
    account.meters,
    request.requested,
    isCanceled(account),
    // A request that nothing can pay for is refused as such, whatever is left.
    (tier) => creditLeft(account, isClosed(bounds, tier) ? 0n : holdFor(tier).leastNanoUsd),
    {
      isTierLeft: (tier) =>
        outputs[tier].isEnough &&
        !(plan.payg.enabled && !isClosed(bounds, tier) && isBetterPaid(account, outputs[tier], holdFor(tier))),
      uses: { searches: uses.searches?.least ?? 0, audioSeconds: uses.audioSeconds?.least ?? 0 },
    },
  );
  const needs = request.needs ?? [];
  const runs = (allowed: Entitlements) =>
    allowedTiers(allowed).filter((tier) => request.runsOn?.includes(tier) ?? true);
  const closed = runs(decided.allowed).filter((tier) => decided.onCredit.includes(tier) && isClosed(bounds, tier));
  const hasOthers = runs(decided.allowed).length > closed.length;
  const payable = hasOthers ? withoutTiers(decided, closed) : decided;
  const wanted = runs(payable.allowed).filter((tier) => payable.onCredit.includes(tier));
  // Credit covers each tier alone. A hold for all of them may need more, if one is held in steps and another as a
  // whole.
  const isCovered = wanted.length < 2 || creditLeft(account, holdFor(...wanted).leastNanoUsd);
  const decision = isCovered ? payable : withoutTiers(payable, wanted.slice(0, -1));
  const { suggestedModelTier } = decision.hints;
  const tiers = runs(decision.allowed);
  const mayRun = request.runsOn === undefined || tiers.length > 0;
  const admitted = decision.admitted && mayRun && needs.every((capability) => decision.allowed[capability]);
  const onCredit = admitted ? tiers.filter((tier) => decision.onCredit.includes(tier)) : [];
  const held = onCredit.length > 0 ? holdFor(...onCredit) : null;
  const credit = held && creditFor(account, onCredit, held, markupPercent, isPrice(held, bounds, request));
  const fromAllowance = tiers.filter((tier) => !onCredit.includes(tier));
  // One search is reserved for searches that cannot be counted, so that concurrent calls do not all get the last one.
  const reservedForUses = {
    ...(decision.allowed.search && { searches: 1 }),
    ...reservedUses(plan, account.meters, uses),
  };
  const allowance = admitted ? allowanceBound(fromAllowance, outputs, uses.searches && reservedForUses.searches) : null;
  const reserved = admitted ? { ...reservedForUses, ...reservationFor(account, fromAllowance, bounds, allowance) } : {};
  const gap = hasOthers || onCredit.length === 0 ? null : (boundsAtTiers(bounds, onCredit)[0]?.gap ?? null);
  const ifLost = admitted
    ? lostCall(bounds, tiers, decision, outputTokensByTier({ reserved, credit, allowance }))
    : null;
  const revision = account.revision + 1;
  const meters = { ...account.meters, reserved: addQuantities(account.meters.reserved, reserved) };
  const denial = admitted
    ? null
    : buildDenial(account, request, decision, {
        wouldPass: (tier) => heldByOthers(account, { heldNanoUsd: holdFor(tier).leastNanoUsd, nowMs }),
        sums: (wanted, offered) =>
          moneySums(
            account.wallet,
            holdFor(wanted).leastNanoUsd,
            payableBounds(boundsAtTiers(bounds, offered)),
            plan,
            (lowered) => offered.some((tier) => creditLeft(account, holdWith(lowered, [tier]).leastNanoUsd)),
          ),
      });
  const call: Call = {
    ...request,
    callId,
    customerId: account.customerId,
    status: admitted ? 'IN_PROGRESS' : 'NOT_ALLOWED',
    startedAtMs: nowMs,
    deadlineAtMs,
    usagePlanVersionId,
    allowed: decision.allowed,
    suggestedTier: suggestedModelTier,
    reserved,
    ...(credit && { credit }),
    ...(allowance && { allowance }),
    ...(ifLost && { ifLost }),
    ...(denial && { denial }),
    finishedAtMs: admitted ? null : nowMs,
    outcome: null,
    revision,
  };
  const wallet = credit ? hold(account.wallet, BigInt(credit.heldNanoUsd)) : account.wallet;
  return {
    account: { ...account, meters, wallet, revision },
    call,
    decision,
    denial,
    gap,
    searchGap: admitted && needs.includes('search') ? searchGap(plan, boundsAtTiers(bounds, tiers)) : null,
  };
}

/** Whether credit pays for the whole request, and allows it more output than the rest of the allowance. */
function isBetterPaid(account: Account, { tokens, isCut }: AllowedOutput, hold: Hold): boolean {
  const { cost, outputTokens, nanoUsd } = hold;
  if (!isCut || tokens === null || outputTokens === null || outputTokens <= tokens) return false;
  const { markupPercent } = account.subscription.plan.plan.payg;
  const whole = cost ? withMarkup({ costNanoUsd: costAtMost(cost, outputTokens), markupPercent }) : nanoUsd;
  return creditLeft(account, whole > nanoUsd ? whole : nanoUsd);
}

/** The most that the call may use of the allowances that pay for it; `null` if they do not limit it. */
function allowanceBound(
  tiers: readonly Tier[],
  outputs: Record<Tier, AllowedOutput>,
  searches: number | undefined,
): AllowanceBound | null {
  const bounded = tiers.flatMap((tier) =>
    outputs[tier].tokens === null ? [] : [[tier, outputs[tier].tokens] as const],
  );
  if (bounded.length === 0 && searches === undefined) return null;
  return { outputTokens: Object.fromEntries(bounded), ...(searches !== undefined && { searches }) };
}

/** Whether credit does not pay for any of the models that would run on it. */
function isClosed(bounds: readonly CallBound[], tier: Tier): boolean {
  const own = boundsAtTiers(bounds, [tier]);
  return own.length > 0 && own.every(({ gap }) => gap !== undefined);
}

/** The models that credit pays for; all of them if it pays for none, because then none runs. */
function payableBounds(bounds: CallBound[]): CallBound[] {
  const payable = bounds.filter(({ gap }) => gap === undefined);
  return payable.length > 0 ? payable : bounds;
}

/** The bounds of the models that would run on credit for the tiers. */
function boundsAtTiers(bounds: readonly CallBound[], tiers: readonly Tier[]): CallBound[] {
  return bounds.filter(({ tier }) => tier === null || tiers.includes(tier));
}

/** The decision without these tiers. */
function withoutTiers(decision: EntitlementDecision, tiers: readonly Tier[]): EntitlementDecision {
  const allowed = { ...decision.allowed };
  for (const tier of tiers) allowed[tier] = false;
  return { ...decision, allowed, onCredit: decision.onCredit.filter((tier) => allowed[tier]) };
}

/** Whether the available USD balance is above zero and covers the hold. */
export function creditLeft({ wallet }: Account, heldNanoUsd: NanoUsd): boolean {
  const available = availableUsd(wallet);
  return available > 0n && available >= heldNanoUsd;
}

/**
 * Whether credit would pay if nothing were held of the balance. The part of an expired credit that holds keep would
 * then be gone.
 */
export function heldByOthers(
  account: Account,
  { heldNanoUsd, nowMs }: { heldNanoUsd: NanoUsd; nowMs: number },
): boolean {
  const { wallet } = account;
  const held = BigInt(wallet.held);
  return held > 0n && creditLeft(expireDue({ ...account, wallet: release(wallet, held) }, nowMs), heldNanoUsd);
}

/**
 * Whether the hold stands for uses that have no rate at the end: if the service makes the call, or if a bound limits
 * the cost of the caller's own call. The report of a call that has already run states its own usage.
 */
function isPrice({ inputNanoUsd }: Hold, bounds: readonly CallBound[], { openedBy }: BeginRequest): boolean {
  const isMadeHere = bounds.some(({ ifLost }) => ifLost !== undefined);
  return isMadeHere || (openedBy === undefined && inputNanoUsd !== null);
}

/** How credit pays for the tiers: with a hold that is covered, if necessary for fewer output tokens. */
function creditFor(
  { wallet }: Account,
  tiers: Tier[],
  hold: Hold,
  markupPercent: number,
  standsForPrice: boolean,
): CreditTerms {
  const available = availableUsd(wallet);
  const held = hold.nanoUsd < available ? hold.nanoUsd : available;
  const { cost, outputTokens, inSteps, inputNanoUsd, expected } = hold;
  const { nanoUsd: expectedNanoUsd = null } = expected ?? {};
  const isExpected = expectedNanoUsd !== null && expectedNanoUsd <= available;
  const terms: CreditTerms = {
    tiers,
    markupPercent,
    heldNanoUsd: (isExpected ? expectedNanoUsd : held).toString(),
    ...(standsForPrice && { heldForInputNanoUsd: inputNanoUsd?.toString() ?? null }),
    ...(outputTokens !== null && { outputTokens }),
    ...(expected && {
      expectation: buildExpectation(expected, { isHeld: isExpected, heldNanoUsd: inSteps ? null : held }),
    }),
  };
  if (isExpected || !cost || outputTokens === null) return terms;
  const wanted = inSteps ? Math.min(STEP_TOKENS, outputTokens) : outputTokens;
  const heldTokens = affordableTokens(cost, { markupPercent, wanted, availableNanoUsd: held });
  return inSteps ? { ...terms, steps: { ...cost, heldTokens } } : { ...terms, outputTokens: heldTokens };
}

/**
 * The facts that the end will use for later calls. If the call is limited to fewer output tokens than it asks for, its
 * bound is its hold.
 */
function buildExpectation(
  { model, boundNanoUsd }: NonNullable<Hold['expected']>,
  { isHeld, heldNanoUsd }: { isHeld: boolean; heldNanoUsd: NanoUsd | null },
): Expectation {
  const isFewer = !isHeld && heldNanoUsd !== null && heldNanoUsd < boundNanoUsd;
  return { model, boundNanoUsd: (isFewer ? heldNanoUsd : boundNanoUsd).toString(), isHeld };
}

/**
 * Holds more output tokens of an open call: `wanted` in all, or as many as the balance allows. Below the last step,
 * nothing more is held. `null` if the call is not open or is not held in steps.
 */
export function extendSteps(
  account: Account,
  call: Call,
  wanted: number,
): { account: Account; call: Call; heldTokens: number } | null {
  const { credit, status } = call;
  if (status !== 'IN_PROGRESS' || !credit?.steps || credit.outputTokens === undefined) return null;
  const { steps, outputTokens, markupPercent } = credit;
  const { heldTokens } = steps;
  const held = BigInt(credit.heldNanoUsd);
  const most = Math.min(wanted, outputTokens);
  const affordable = affordableTokens(steps, {
    markupPercent,
    wanted: most,
    availableNanoUsd: held + availableUsd(account.wallet),
  });
  const isStep = affordable === most || affordable >= heldTokens + LAST_STEP_TOKENS;
  if (!isStep || affordable <= heldTokens) return { account, call, heldTokens };
  const needed = withMarkup({ costNanoUsd: costAtMost(steps, affordable), markupPercent });
  const more = needed > held ? needed - held : 0n;
  const revision = account.revision + 1;
  return {
    account: { ...account, wallet: hold(account.wallet, more), revision },
    call: {
      ...call,
      credit: { ...credit, heldNanoUsd: (held + more).toString(), steps: { ...steps, heldTokens: affordable } },
      revision,
    },
    heldTokens: affordable,
  };
}

/**
 * Reserves one call of each tier that the caller may run on. If the plan has `reserveOutputTokens`, it also reserves
 * the bound of the output, that number at most, or the rest. Every allowed tier is reserved, because only the end says
 * which one ran. A tier on credit reserves nothing.
 */
function reservationFor(
  account: Account,
  tiers: readonly Tier[],
  bounds: readonly CallBound[],
  allowance: AllowanceBound | null,
): Quantities {
  const { plan } = account.subscription.plan;
  const reserved: Quantities = {};
  for (const tier of tiers) {
    reserved[`${tier}Calls`] = 1;
    if (plan.reserveOutputTokens === null) continue;
    const { unlimited, remaining } = summarize(plan, account.meters, `${tier}Tokens`);
    const bounded = !unlimited && plan.limitType !== 'NONE';
    const wanted = Math.min(plan.reserveOutputTokens, outputTokensAsked(boundsAtTiers(bounds, [tier])));
    reserved[`${tier}Tokens`] = allowance?.outputTokens[tier] ?? (bounded ? Math.min(wanted, remaining) : wanted);
  }
  return reserved;
}

/** The most output tokens, of all answers together, that requests and models allow. */
function outputTokensAsked(bounds: readonly CallBound[]): number {
  if (bounds.length === 0) return Number.POSITIVE_INFINITY;
  return Math.max(...bounds.map(({ outputTokens, answers }) => (outputTokens ?? Number.POSITIVE_INFINITY) * answers));
}

/**
 * The output tokens, of all answers together, within which a call of each tier must stay: the held, remaining or
 * reserved ones.
 */
export function outputTokensByTier({
  reserved,
  credit,
  allowance,
}: {
  reserved: Quantities;
  credit?: CreditTerms | null | undefined;
  allowance?: AllowanceBound | null | undefined;
}): Partial<Record<Tier, number>> {
  return Object.fromEntries(
    TIERS.flatMap((tier) => {
      const ofAllowance = allowance?.outputTokens[tier] ?? reserved[`${tier}Tokens`];
      const tokens = credit?.tiers.includes(tier) ? credit.outputTokens : ofAllowance;
      return tokens === undefined ? [] : [[tier, tokens]];
    }),
  );
}

/** The record to make if the vendor never answers: for the model that is asked first. */
function lostCall(
  bounds: readonly CallBound[],
  tiers: readonly Tier[],
  { hints }: EntitlementDecision,
  outputTokens: Partial<Record<Tier, number>>,
): LostCall | null {
  const isRun = ({ tier, onDowngrade }: CallBound) =>
    (tier === null || tiers.includes(tier)) && (!onDowngrade || hints.downgrade !== undefined);
  const first = bounds.find(isRun);
  if (!first?.ifLost) return null;
  const tier = first.tier ?? tiers.at(-1);
  const asked = (first.outputTokens ?? OUTPUT_TOKENS_MAX_DEFAULT) * first.answers;
  const { outputTokens: likely = asked, ...ifLost } = first.ifLost;
  const outputTokensMax = Math.min(asked, likely, (tier && outputTokens[tier]) ?? asked);
  return { ...ifLost, outputTokensMax };
}

/** Admits a call whatever is left: it has already run, and its usage must be recorded. */
export function admitCall(decision: CallDecision): CallDecision {
  const { denial: _denial, ...call } = decision.call;
  return { ...decision, call: { ...call, status: 'IN_PROGRESS', finishedAtMs: null }, denial: null };
}
