/**
 * Lines of a batch that ran, but whose answers cannot be read: the record that is made for them.
 *
 * No single line is known, so all lines of a tier that the allowance pays are one record, and so are those on credit.
 * They count as the calls that were reserved for them, or are charged their hold. That is provisional.
 */
import { type Account, countOnBalance } from './account.ts';
import { type BatchHold, boundOutputTokens, costOfLines } from './batch-hold.ts';
import { type Call, type CallOutcome, chargedToBalance, computeOutcome } from './call.ts';
import { newCharge, pendingAmount, withMarkup } from './charge.ts';
import { addQuantities, type Quantities } from './meters.ts';
import type { NanoUsd } from './money.ts';
import { buildBreakdown, heldCost } from './pricing.ts';
import { TIERS, type Tier } from './tiers.ts';
import { NO_USAGE } from './usage.ts';
import { addUnsettled } from './wallet.ts';

/** Lines of one tier with one payer. */
export interface UnreadLines {
  tier: Tier;
  payer: 'allowance' | 'credit';
  lines: number;
  searches: number;
  outputTokens: number;
  /** `null` if it is not known. */
  costNanoUsd: NanoUsd | null;
  markupPercent: number;
}

/**
 * At most `linesMax` of the lines that the batch still holds for; which lines ran is unknown, so the lowest tier is
 * first.
 */
export function unreadLines(held: BatchHold, linesMax: number): UnreadLines[] {
  const { markupPercent, reservesTokens } = held;
  let [linesLeft, searchesLeft] = [linesMax, held.searches];
  const parts: UnreadLines[] = [];
  for (const tier of TIERS) {
    const of = held.tiers[tier];
    const ran = Math.min(linesLeft, of?.count ?? 0);
    if (!of || ran === 0) continue;
    linesLeft -= ran;
    const calls = Math.min(of.calls, ran);
    const onCredit = ran - calls;
    const charged = costOfLines(of, onCredit);
    const rest = { ...of, costNanoUsd: (BigInt(of.costNanoUsd) - charged).toString() };
    const shares = [
      ['allowance', calls, costOfLines(rest, calls), reservesTokens ? boundOutputTokens(of, calls) : 0],
      ['credit', onCredit, charged, boundOutputTokens(of, onCredit)],
    ] as const;
    for (const [payer, lines, cost, outputTokens] of shares) {
      if (lines === 0) continue;
      const searches = Math.min(searchesLeft, lines);
      searchesLeft -= searches;
      const costNanoUsd = of.isPriced ? cost : null;
      parts.push({ tier, payer, lines, searches, outputTokens, costNanoUsd, markupPercent });
    }
  }
  return parts;
}

/** Ends a call that stands for the lines. */
export function endUnread(
  account: Account,
  call: Call,
  { tier, payer, lines, searches, outputTokens, costNanoUsd, markupPercent }: UnreadLines,
  ran: { providerUsed: string; modelUsed: string | undefined },
  chargeId: string,
  nowMs: number,
): { account: Account; call: Call } {
  const usage = { ...NO_USAGE, responseTokens: outputTokens, searches };
  const report = { ...ran, usage, usageSource: 'estimated' } as const;
  const unknown = { available: false, reason: 'USAGE_NOT_REPORTED' } as const;
  const { outcome, status } = computeOutcome(account, call, report, unknown, chargeId, nowMs, () => null);
  const onAllowance: Quantities = { [`${tier}Calls`]: lines, [`${tier}Tokens`]: outputTokens };
  const consumed = addQuantities({}, { ...(payer === 'allowance' && onAllowance), searches });
  const facts = { provider: ran.providerUsed, modelKey: ran.modelUsed ?? '' };
  const cost = costNanoUsd === null ? null : heldCost(facts, costNanoUsd, lines);
  const charged = cost && withMarkup({ costNanoUsd: cost.totalNanoUsd, markupPercent });
  const counted: CallOutcome = {
    ...outcome,
    tier,
    calls: lines,
    consumed,
    charge: payer === 'credit' ? newCharge(chargeId, { amountNanoUsd: charged, markupPercent }) : null,
    ...(cost && {
      price: { status: 'FINAL', costNanoUsd: cost.totalNanoUsd.toString(), breakdown: buildBreakdown(cost) },
    }),
  };
  const revision = account.revision + 1;
  const meters = { ...account.meters, consumed: addQuantities(account.meters.consumed, consumed) };
  const wallet = addUnsettled(account.wallet, pendingAmount(counted.charge));
  return {
    account: countOnBalance({ ...account, meters, wallet, revision }, chargedToBalance(counted)),
    call: { ...call, status, finishedAtMs: nowMs, revision, outcome: counted },
  };
}
