/**
 * Usage of a customer in a chosen period: cost and earnings, the next thing to run out, the course by model, and the
 * meters of the usage period with the next payer of each.
 */

import type { FC } from 'hono/jsx';
import type { OperatorCustomer } from '../../contract/operator-customers.ts';
import type { UsageSummaryData } from '../../contract/usage-summary.ts';
import { planGap } from '../../domain/funding.ts';
import type { CustomerKey, OrganizationId } from '../../domain/ids.ts';
import { meterTitle } from '../../domain/meter-names.ts';
import { METER_NAMES, type MeterName } from '../../domain/meters.ts';
import { planIdOf } from '../../domain/plan.ts';
import { readOrganizationUsage } from '../../operator/readings.ts';
import { HOUR_MS, utcDay } from '../../platform/time.ts';
import { type Outlook, readOutlook } from '../../readings/forecast/outlook.ts';
import { type CustomerEarnings, readCustomerEarnings } from '../../readings/margin/customer-earnings.ts';
import { readUsageCourse, type UsageCourse } from '../../readings/usage/course.ts';
import { plural, timeSpan, usdColumn } from '../../ui/format.ts';
import { Badge, Card, Empty, Notice, Stat, Time, Usd } from '../../ui/parts.tsx';
import { buildReader } from '../caller.ts';
import { customerPath, organizationPath, planPath } from '../context.ts';
import { KnownCost, withoutPrice } from '../cost.tsx';
import { Meters } from '../meters-view.tsx';
import { load } from '../send.ts';
import { ModelAndFeatureRankings, UsageCharts } from '../usage-view.tsx';
import { isPaidByBalance, payerSentences, payersInPlace, runsOutFirst } from './outlook-words.ts';
import { PERIODS, type Period, type PeriodName, periodNamed, resolvePeriod } from './period.ts';
import type { Tab } from './tab.ts';

/** The most models that the charts name, by cost. */
const CHARTED_MODELS_MAX = 3;

export const usageTab: Tab = async ({ c, organizationId, customerId, customer: reading, nowMs }) => {
  const name = periodNamed(c.req.query('period'));
  // Only the usage period depends on the customer; other periods are read at once.
  const known = name === 'usage' ? await reading : null;
  const period = resolvePeriod(name, { replenishedAtMs: known ? replenishedAtMs(known) : nowMs, nowMs });
  const query = { customerId, from: utcDay(period.fromMs), to: utcDay(period.toMs) };
  const [customer, summary, earnings, outlook] = await Promise.all([
    reading,
    load(c, readOrganizationUsage, { query }),
    readCustomerEarnings(c.env, { organizationId, customerId }, period, nowMs),
    readOutlook(buildReader(c), customerId, nowMs),
  ]);
  if (!customer || !outlook || !summary.ok) return null;
  const models = summary.data.byModel.slice(0, CHARTED_MODELS_MAX).map(({ model }) => model ?? '');
  const beganMs = replenishedAtMs(customer);
  const [course, spent] = await Promise.all([
    readUsageCourse(c.env, organizationId, { ...period, customerId }, models, nowMs),
    outlook.balance
      ? readCustomerEarnings(
          c.env,
          { organizationId, customerId },
          { fromMs: beganMs - (beganMs % HOUR_MS), toMs: nowMs - (nowMs % HOUR_MS) + HOUR_MS },
          nowMs,
        )
      : null,
  ]);
  const shown: Shown = { organizationId, customer, period, earnings, outlook, nowMs };
  return (
    <>
      <Periods name={name} period={period} path={customerPath({ organizationId, customerId })} />
      {summary.data.backlog.customers > 0 && (
        <Notice tone="warn" title="Reports are behind.">
          The changes of {plural(summary.data.backlog.customers, 'customer')} could not be sent yet. The figures follow.
        </Notice>
      )}
      <Headline {...shown} />
      <PaysNext {...shown} spent={spent} />
      <UsageOf {...shown} summary={summary.data} course={course} />
      <Card
        title="Meters of the usage period"
        id="meters"
        wide
        note={<UsagePeriod customer={customer} nowMs={nowMs} />}
      >
        <Meters rows={METER_NAMES.flatMap((meter) => meterRow(meter, shown))} />
      </Card>
    </>
  );
};

function replenishedAtMs({ subscription }: OperatorCustomer): number {
  return Date.parse(subscription.lastReplenishedAt);
}

interface Shown {
  organizationId: OrganizationId;
  customer: OperatorCustomer;
  period: Period;
  /** `null` if the reports do not have the customer yet. */
  earnings: CustomerEarnings | null;
  outlook: Outlook;
  nowMs: number;
}

const Periods: FC<{ name: PeriodName; period: Period; path: string }> = ({ name, period, path }) => (
  <div class="toolbar">
    <p class="quiet">{timeSpan(period.fromMs, period.toMs)}</p>
    <nav class="tabs" aria-label="Period">
      {Object.entries(PERIODS).map(([of, text]) => (
        <a href={`${path}?${new URLSearchParams({ period: of })}`} aria-current={of === name ? 'true' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  </div>
);

const UNREPORTED = 'not in the reports yet';

const Headline: FC<Shown> = (shown) => {
  const { organizationId, customer, period, earnings, outlook, nowMs } = shown;
  const path = customerPath({ organizationId, customerId: customer.customerId });
  const calls = customerCallsLink({ organizationId, customerId: customer.customerId });
  const runsOut = runsOutFirst(outlook, nowMs);
  const total = earnings?.total;
  const show = moneyColumn(earnings);
  return (
    <dl class="stats">
      <Stat label="Cost" sub={total ? <CostNote {...shown} /> : UNREPORTED}>
        {total ? (
          <a href={calls({}, period)}>
            <KnownCost {...total} show={show} />
          </a>
        ) : (
          '–'
        )}
      </Stat>
      <Stat
        label="Charged"
        sub={total ? (outlook.plan.payg.enabled ? 'to the balance' : 'the plan has no pay-as-you-go') : UNREPORTED}
      >
        {total ? (
          <a href={`${path}?tab=wallet`}>
            <Usd nano={total.chargedNanoUsd} show={show} />
          </a>
        ) : (
          '–'
        )}
      </Stat>
      <Margin {...shown} />
      <Stat label="Runs out" sub={runsOut.note}>
        <a href={runsOut.of === 'balance' ? `${path}?tab=wallet` : '#meters'}>{runsOut.value}</a>
      </Stat>
    </dl>
  );
};

/** A common format for the headline's amounts, so that the shown revenue less the shown cost is the shown margin. */
function moneyColumn(earnings: CustomerEarnings | null): (nano: bigint) => string {
  const { costNanoUsd = 0n, chargedNanoUsd = 0n, revenueNanoUsd = 0n, marginNanoUsd = 0n } = earnings?.total ?? {};
  return usdColumn([costNanoUsd, chargedNanoUsd, revenueNanoUsd, marginNanoUsd]);
}

const CostNote: FC<Shown> = ({ organizationId, customer, period, earnings }) => {
  const { calls = 0, unpricedCalls = 0, costNanoUsd = 0n } = earnings?.total ?? {};
  if (unpricedCalls === 0) return <>{`of ${plural(calls, 'call')}`}</>;
  const unpriced = customerCallsLink({ organizationId, customerId: customer.customerId })({ priced: 'false' }, period);
  return <a href={unpriced}>{`${costNanoUsd > 0n ? '+ ' : ''}${withoutPrice(unpricedCalls)}`}</a>;
};

/** The margin. If the plan has no price, only charges are revenue; without charges no margin is shown. */
const Margin: FC<Shown> = ({ organizationId, customer, earnings }) => {
  const plan = planPath(organizationId, planIdOf(customer.subscription.usagePlanVersionId));
  if (!earnings)
    return (
      <Stat label="Margin" sub={UNREPORTED}>
        –
      </Stat>
    );
  const { total, isPlanPriced } = earnings;
  const { marginNanoUsd, revenueNanoUsd, chargedNanoUsd } = total;
  const isKnown = isPlanPriced || chargedNanoUsd !== 0n;
  const show = moneyColumn(earnings);
  const revenue = `${marginNanoUsd < 0n ? 'a loss: ' : ''}revenue ${show(revenueNanoUsd)} less cost`;
  return (
    <Stat
      label="Margin"
      sub={
        isPlanPriced ? (
          <a href={plan}>{revenue}</a>
        ) : (
          <>
            {isKnown && `${revenue}; `}
            <a href={plan}>no price set</a>
            {` for ${customer.subscription.planName}`}
          </>
        )
      }
    >
      {isKnown ? <Usd nano={marginNanoUsd} show={show} /> : '–'}
    </Stat>
  );
};

/** The payers of the next calls, and the past and future course of the balance. */
const PaysNext: FC<Shown & { spent: CustomerEarnings | null }> = ({
  organizationId,
  customer: { customerId },
  outlook,
  spent,
  nowMs,
}) => {
  const { balance } = outlook;
  const sentences = payerSentences(outlook, nowMs);
  return (
    <Card
      title="What pays next"
      actions={balance && <a href={customerPath({ organizationId, customerId }, 'credit')}>Grant credit</a>}
    >
      <ul class="sentences">
        {sentences.map(({ text, tone, badge }) => (
          <li>
            {badge && <Badge tone={tone}>{badge}</Badge>} {text}
          </li>
        ))}
      </ul>
      {balance && (
        <p class="quiet">
          Balance <Usd nano={balance.balanceNanoUsd} />
          {balance.availableNanoUsd !== balance.balanceNanoUsd && (
            <>
              , <Usd nano={balance.availableNanoUsd} /> available
            </>
          )}
          {spent && (
            <>
              {' · '}
              <Usd nano={spent.total.chargedNanoUsd} /> spent in this usage period
            </>
          )}
          {!isPaidByBalance(outlook) && balance.availableNanoUsd > 0n && ` · ${laterUse(outlook)}`}
        </p>
      )}
    </Card>
  );
};

/** The later use of a balance that pays for nothing now. */
function laterUse({ plan, isCanceled }: Outlook): string {
  if (isCanceled) return 'pays for nothing while the subscription is canceled';
  return planGap(plan, 'USD') === null ? 'pays once an allowance is used up' : 'pays for nothing on this plan';
}

const UsageOf: FC<Shown & { summary: UsageSummaryData; course: UsageCourse }> = ({
  organizationId,
  customer: { customerId },
  period,
  summary,
  course,
}) => {
  const calls = customerCallsLink({ organizationId, customerId });
  if (summary.totals.calls === 0)
    return (
      <Card>
        <Empty title="No calls in this period">
          Calls appear here within seconds of their end. <a href={calls({})}>All calls of this customer</a>.
        </Empty>
      </Card>
    );
  return (
    <>
      <UsageCharts course={course} linkOf={(of) => calls({}, of)} />
      <div class="grid">
        <ModelAndFeatureRankings
          summary={summary}
          model={(model) => calls({ model }, period)}
          feature={(feature) => calls({ feature }, period)}
        />
      </div>
    </>
  );
};

/** The address of the customer's calls in the explorer. */
function customerCallsLink({ organizationId, customerId }: CustomerKey) {
  return (narrowed: Record<string, string>, period?: Period) => {
    const times = period && {
      from: new Date(period.fromMs).toISOString(),
      to: new Date(period.toMs).toISOString(),
    };
    return `${organizationPath(organizationId, 'calls')}?${new URLSearchParams({ customerId, ...narrowed, ...times })}`;
  };
}

/** The row of a meter; none for a custom slot that the plan does not have. */
function meterRow(name: MeterName, { customer: { meters }, outlook }: Shown) {
  const meter = meters[name];
  const isSlot = name === 'agenticApi' || name.startsWith('custom');
  if (!meter || (isSlot && meter.limit === 0 && meter.used === 0)) return [];
  const runsOutAtMs = outlook.meters.find((one) => one.meter === name)?.runsOutAtMs ?? null;
  return [{ name: meterTitle(name, outlook.plan), meter, runsOutAtMs, inPlace: payersInPlace(outlook, name) }];
}

const UsagePeriod: FC<{ customer: OperatorCustomer; nowMs: number }> = ({
  customer: { subscription, openCalls },
  nowMs,
}) => (
  <>
    Since <Time at={subscription.lastReplenishedAt} nowMs={nowMs} /> · renews{' '}
    <Time at={subscription.nextReplenishAt} nowMs={nowMs} />
    {openCalls > 0 && ` · ${plural(openCalls, 'call')} in progress, with what they reserve`}
  </>
);
