/**
 * A sum of cost with the number of calls that it lacks. An unknown price is never shown as zero: if no call has a
 * price, there is no sum; if some calls have none, their number stands beside the sum.
 */
import type { FC } from 'hono/jsx';
import { type NanoUsd, usd } from '../domain/money.ts';
import { count, plural } from '../ui/format.ts';
import { Usd } from '../ui/parts.tsx';

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
