/**
 * A sum of cost with the number of calls that it lacks. An unknown price is never shown as zero: if no call has a
 * price, there is no sum; if some calls have none, their number stands beside the sum.
 */
import type { Child, FC } from 'hono/jsx';
import { type NanoUsd, usd } from '../domain/money.ts';
import { count, percent, plural } from '../ui/format.ts';
import { Stat, Usd } from '../ui/parts.tsx';

export interface Summed {
  costNanoUsd: NanoUsd;
  /** Ended calls without a price, which the cost does not include. */
  unpricedCalls: number;
}

/** Whether no cost at all is known. */
export function isCostUnknown({ costNanoUsd, unpricedCalls }: Summed): boolean {
  return unpricedCalls > 0 && costNanoUsd === 0n;
}

/** For example `3 calls without a price`. */
export function withoutPrice(calls: number): string {
  return `${plural(calls, 'call')} without a price`;
}

/** The sum alone; the caller shows the number of calls without a price beside it. */
export const KnownCost: FC<Summed & { show?: ((nano: NanoUsd) => string) | undefined }> = ({
  costNanoUsd,
  unpricedCalls,
  show,
}) =>
  isCostUnknown({ costNanoUsd, unpricedCalls }) ? (
    <span class="quiet">no price</span>
  ) : (
    <Usd nano={costNanoUsd} {...(show && { show })} />
  );

/** The cell of a table: the sum, and below it the number of calls that it lacks. */
export const Cost: FC<Summed & { show?: (nano: NanoUsd) => string }> = ({ costNanoUsd, unpricedCalls, show }) => (
  <span>
    <KnownCost costNanoUsd={costNanoUsd} unpricedCalls={unpricedCalls} show={show} />
    {unpricedCalls > 0 && <span class="sub">{withoutPrice(unpricedCalls)}</span>}
  </span>
);

/** The cost as one text: `$1.20`, `$1.20 + 3 without a price`, `no price (3 calls)`. */
export function costText(cost: Summed): string {
  if (isCostUnknown(cost)) return `no price (${plural(cost.unpricedCalls, 'call')})`;
  return `${usd(cost.costNanoUsd)}${cost.unpricedCalls > 0 ? ` + ${count(cost.unpricedCalls)} without a price` : ''}`;
}

interface CostStatProps extends Summed {
  /** The part of the cost from calls whose usage is partial or estimated. */
  provisionalCostNanoUsd: NanoUsd;
  /** The address of the list of calls without a price. */
  unpricedHref: string;
  /** Stands below the sum too. */
  note?: Child;
}

/** The sum as a figure of a page, with what it lacks and what of it is provisional. */
export const CostStat: FC<CostStatProps> = ({ costNanoUsd, unpricedCalls, provisionalCostNanoUsd, ...rest }) => {
  const { unpricedHref, note } = rest;
  const lacks = `${costNanoUsd > 0n ? '+ ' : ''}${withoutPrice(unpricedCalls)}`;
  const notes = [
    unpricedCalls > 0 && <a href={unpricedHref}>{lacks}</a>,
    provisionalCostNanoUsd > 0n && `${usd(provisionalCostNanoUsd)} of it provisional`,
    note,
  ].filter(Boolean);
  return (
    <Stat
      label="Cost"
      sub={notes.length === 0 ? 'every call is priced' : notes.flatMap((one, at) => (at === 0 ? [one] : [', ', one]))}
    >
      <KnownCost costNanoUsd={costNanoUsd} unpricedCalls={unpricedCalls} />
    </Stat>
  );
};

/** From this ratio on, a change reads "times as much" or "times as many" instead of percent. */
const TIMES_FROM = 2;
/** The smallest change, as a share, that is shown as one. */
const SAME_BELOW = 0.01;

/** The change since the period before, in words, of an amount (a bigint) or a count; `null` if both are zero. */
export function changeWords({ now, before }: { now: bigint | number; before: bigint | number }): string | null {
  if (before <= 0) return now > 0 ? 'new' : null;
  const ratio = Number(now) / Number(before);
  if (Math.abs(ratio - 1) < SAME_BELOW) return 'as before';
  if (ratio >= TIMES_FROM)
    return `${count(Math.round(ratio * 10) / 10)} times as ${typeof now === 'bigint' ? 'much' : 'many'}`;
  return ratio > 1 ? `up ${percent(ratio - 1)}` : `down ${percent(1 - ratio)}`;
}
