/**
 * Margins: cost, earnings, and the difference; a badge marks a loss in words.
 */

import type { Child, FC } from 'hono/jsx';
import { type MarginFigures, MarginQuery } from '../contract/margin.ts';
import type { Plan } from '../contract/plans.ts';
import type { CustomerId } from '../domain/ids.ts';
import type { NanoUsd } from '../domain/money.ts';
import { marginPercent } from '../readings/margin/earnings.ts';
import { readCustomerMargin, readMargin } from '../readings/margin/read-margin.ts';
import { count, plural, usdColumn } from '../ui/format.ts';
import { Badge, Card, Empty, Facts, Stat, Usd } from '../ui/parts.tsx';
import { buildReader } from './caller.ts';
import type { ConsoleContext } from './context.ts';
import { KnownCost, withoutPrice } from './cost.tsx';

/** The days of the margin on a plan's page, as many as the query's default. */
const PLAN_DAYS = 30;
/** The largest loss that is shown as an exact share of the revenue. */
const SHOWN_LOSS_PERCENT_MAX = 1_000;

/** The price of a plan, such as `$20 every month`; a missing price is not shown as zero. */
export const PlanPrice: FC<{ plan: Plan }> = ({ plan: { priceUsd, replenish } }) =>
  priceUsd == null ? (
    <span class="quiet">no price set</span>
  ) : (
    <span class="num">
      ${priceUsd}
      {replenish === null && <span class="quiet"> once: it earns nothing by time</span>}
    </span>
  );

/** An amount of margin; a negative one has the badge "loss". */
export const Margin: FC<{ nano: NanoUsd; show?: (nano: NanoUsd) => string }> = ({ nano, show }) => (
  <span>
    {nano < 0n && <Badge tone="bad">loss</Badge>} <Usd nano={nano} {...(show && { show })} />
  </span>
);

export type Earned = MarginFigures & {
  /** The calls without a price, in words; empty if every call has one. */
  lacks: string;
};

/** Revenue and margin as figures; `href` leads to the details of the margin. */
export const EarnedStats: FC<{ earned: Earned; href?: string }> = ({ earned, href }) => {
  const [revenue, margin] = [BigInt(earned.revenueUsdNano), BigInt(earned.marginUsdNano)];
  return (
    <>
      <Stat label="Revenue" sub={earned.lacks || revenueSources(earned)}>
        <Usd nano={revenue} />
      </Stat>
      <Stat label="Margin" sub={href === undefined ? marginNote(earned) : <a href={href}>{marginNote(earned)}</a>}>
        <Margin nano={margin} />
      </Stat>
    </>
  );
};

/** The figures of all rows of a page. */
export const MarginTotals: FC<{ totals: MarginFigures; lacks: string }> = ({ totals, lacks }) => {
  const { calls, unpricedCalls } = totals;
  return (
    <dl class="stats">
      <Stat label="Cost" sub={unpricedCalls > 0 ? withoutPrice(unpricedCalls) : `of ${plural(calls, 'call')}`}>
        <KnownCost costNanoUsd={BigInt(totals.costUsdNano)} unpricedCalls={unpricedCalls} />
      </Stat>
      <Stat label="Charged" sub="to balances">
        <Usd nano={BigInt(totals.chargedUsdNano)} />
      </Stat>
      <Stat label="From plans" sub="the price for the time">
        <Usd nano={BigInt(totals.planUsdNano)} />
      </Stat>
      <EarnedStats earned={{ ...totals, lacks }} />
    </dl>
  );
};

/** A common format for amounts of a table. */
export function amountTexts<Row>(rows: readonly Row[], of: (row: Row) => string) {
  const sizes = rows.map((row) => BigInt(of(row))).map((nano) => (nano < 0n ? -nano : nano));
  const show = usdColumn([sizes.reduce((most, nano) => (nano > most ? nano : most), 0n)]);
  return (row: Row) => ({ nano: BigInt(of(row)), show });
}

function revenueSources({ chargedUsdNano, planUsdNano }: MarginFigures): string {
  const [charged, plan] = [BigInt(chargedUsdNano), BigInt(planUsdNano)];
  if (charged === 0n && plan === 0n) return 'nothing was charged';
  if (charged === 0n) return 'from plans';
  return plan === 0n ? 'charged to balances' : 'plans and charges';
}

function marginNote({ unpricedCalls, revenueUsdNano, marginUsdNano }: MarginFigures): string {
  if (unpricedCalls > 0) return `at most: ${plural(unpricedCalls, 'call')} without a price`;
  const share = marginShare({ marginNanoUsd: BigInt(marginUsdNano), revenueNanoUsd: BigInt(revenueUsdNano) });
  return share === null ? 'revenue less cost' : `${share} of revenue`;
}

/** The margin in percent with one decimal; `null` without revenue. A very large loss is only shown as a bound. */
export function marginShare({
  marginNanoUsd: margin,
  revenueNanoUsd: revenue,
}: {
  marginNanoUsd: NanoUsd;
  revenueNanoUsd: NanoUsd;
}): string | null {
  const percent = marginPercent({ marginNanoUsd: margin, revenueNanoUsd: revenue });
  if (percent === null) return null;
  return percent < -SHOWN_LOSS_PERCENT_MAX ? `below -${count(SHOWN_LOSS_PERCENT_MAX)}%` : `${percent.toFixed(1)}%`;
}

/**
 * The earnings of the organization or of one customer in the page's days; `null` for a feature, or if nothing is known.
 */
export async function readEarned(
  c: ConsoleContext,
  asked: {
    from?: string | undefined;
    to?: string | undefined;
    customerId?: CustomerId | undefined;
    feature?: string | undefined;
  },
): Promise<Earned | null> {
  if (asked.feature !== undefined) return null;
  const reader = buildReader(c);
  const query = { from: asked.from, to: asked.to, timezone: 'UTC' };
  if (asked.customerId !== undefined) {
    const answer = await readCustomerMargin(reader, asked.customerId, query);
    if (!answer.ok) return null;
    const lacks = answer.data.planPriceKnown ? '' : 'the plan has no price set';
    return { ...answer.data.totals, lacks };
  }
  const answer = await readMargin(reader, query, []);
  if (!answer.ok) return null;
  return { ...answer.data.totals, lacks: lackingPrices(answer.data) };
}

export function lackingPrices({ customersWithoutPrice }: { customersWithoutPrice: number }): string {
  return customersWithoutPrice === 0 ? '' : `no plan price set for ${plural(customersWithoutPrice, 'customer')}`;
}

/** Cost and earnings of a plan's customers while they had the plan. */
export async function planMarginCard(c: ConsoleContext, planId: string): Promise<Child> {
  const answer = await readMargin(buildReader(c), MarginQuery.parse({}), ['plan']);
  if (!answer.ok) return null;
  const { byPlan } = answer.data;
  const plan = byPlan?.find((one) => one.planId === planId);
  return (
    <Card title={`Margin of ${PLAN_DAYS} days`} note="What customers used and paid while they had the plan.">
      {plan ? (
        <Facts
          items={[
            ['Customers', count(plan.customers)],
            ['Without a price', plan.customersWithoutPrice > 0 ? count(plan.customersWithoutPrice) : undefined],
            ['Cost', <KnownCost costNanoUsd={BigInt(plan.costUsdNano)} unpricedCalls={plan.unpricedCalls} />],
            ['Unpriced calls', plan.unpricedCalls > 0 ? `${count(plan.unpricedCalls)}, not in the cost` : undefined],
            ['Charged to balances', <Usd nano={BigInt(plan.chargedUsdNano)} />],
            [
              'Price of the plan',
              plan.customers > 0 && plan.customers === plan.customersWithoutPrice ? (
                <span class="quiet">no price set</span>
              ) : (
                <Usd nano={BigInt(plan.planUsdNano)} />
              ),
            ],
            ['Margin', <Margin nano={BigInt(plan.marginUsdNano)} />],
          ]}
        />
      ) : (
        <Empty title={byPlan === null ? 'Too many customers' : 'No customers'}>
          {byPlan === null
            ? 'With so many customers, the margin is not computed by plan.'
            : 'No customer had the plan in these days.'}
        </Empty>
      )}
    </Card>
  );
}
