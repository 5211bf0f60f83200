/**
 * The table of customers: usage near a limit, cost and earnings of each, and problems.
 */

import type { FC } from 'hono/jsx';
import type { CustomerListItem } from '../contract/customers.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { meterTitle } from '../domain/meter-names.ts';
import { type NanoUsd, usd } from '../domain/money.ts';
import type { PlanDetail } from '../operator/plans.ts';
import type { CustomerFigures } from '../readings/customer-list/figures.ts';
import { failedSince } from '../readings/customer-list/filters.ts';
import { calendarDay, count, parseNanoUsd, percent, plural, usdColumn } from '../ui/format.ts';
import { Badge, Nothing, Time, Usd } from '../ui/parts.tsx';
import { MeterBar, Sparkline } from '../ui/small-charts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { customerPath, organizationPath, planPath } from './context.ts';
import { changeWords } from './cost.tsx';
import { planAtVersion } from './plan-versions.ts';

/** The smallest share of failed calls that the list shows. */
const FAILING_SHARE = 0.1;

interface CustomerLine extends CustomerListItem {
  figures: CustomerFigures | undefined;
}

export type Sort = 'customerId' | 'worstMeter' | 'cost' | 'lastCall';

interface CustomersProps {
  organizationId: OrganizationId;
  lines: readonly CustomerLine[];
  /** Each customer's meters are named by its own plan. */
  plans: readonly PlanDetail[];
  total: string;
  sort: Sort;
  sortedBy: (sort: Sort) => string;
  /** Whether the email is shown, because a search may have matched it. */
  withEmail: boolean;
  nowMs: number;
}

export const Customers: FC<CustomersProps> = (props) => {
  const { organizationId, lines, plans, total, sort, sortedBy, withEmail, nowMs } = props;
  const by = (name: Sort) => ({
    href: sortedBy(name),
    order: name !== sort ? null : name === 'customerId' ? ('ascending' as const) : ('descending' as const),
  });
  const column = (of: (line: CustomerLine) => NanoUsd | null | undefined) =>
    usdColumn(lines.flatMap((line) => of(line) ?? []));
  const periodUsd = column(({ costUsdNano }) => (costUsdNano === null ? null : BigInt(costUsdNano)));
  const costUsd = column(({ figures }) => figures?.costNanoUsd);
  const marginUsd = column(({ figures }) => (figures?.earnings?.isPlanPriced ? figures.earnings.marginNanoUsd : null));
  const columns: Column<CustomerLine>[] = [
    {
      title: 'Customer',
      heading: true,
      sort: by('customerId'),
      cell: (line) => <Name organizationId={organizationId} line={line} withEmail={withEmail} />,
    },
    {
      title: 'Plan',
      cell: ({ planId, usagePlanVersionId }) => (
        <span>
          <a href={planPath(organizationId, planId)}>{planId}</a>{' '}
          <span class="quiet">{usagePlanVersionId.slice(planId.length + 1)}</span>
        </span>
      ),
    },
    {
      title: 'Worst meter',
      sort: by('worstMeter'),
      cell: ({ worstMeter, usagePlanVersionId }) =>
        worstMeter ? (
          <WorstMeter {...worstMeter} title={meterTitle(worstMeter.name, planAtVersion(plans, usagePlanVersionId))} />
        ) : (
          <Nothing />
        ),
    },
    {
      title: 'Period cost',
      figure: true,
      sort: by('cost'),
      phone: 'hidden',
      cell: ({ costUsdNano }) =>
        costUsdNano === null ? <Nothing /> : <Usd nano={BigInt(costUsdNano)} show={periodUsd} />,
    },
    {
      title: 'Cost, 30 days',
      figure: true,
      phone: 'figure',
      cell: ({ figures }) => (figures ? <Cost figures={figures} show={costUsd} /> : <Nothing />),
    },
    {
      title: 'Trend',
      phone: 'hidden',
      cell: ({ customerId, figures }) =>
        figures && figures.costNanoUsd > 0n ? (
          <Sparkline
            values={figures.dayCosts.map(Number)}
            label={`Cost a day of ${customerId}, 30 days`}
            format={(nano) => usd(BigInt(nano))}
          />
        ) : (
          <Nothing />
        ),
    },
    {
      title: 'Margin, 30 days',
      figure: true,
      cell: ({ figures }) => <Margin figures={figures} show={marginUsd} />,
    },
    {
      title: 'Last call',
      sort: by('lastCall'),
      phone: 'hidden',
      cell: ({ lastCallAt }) =>
        lastCallAt === null ? (
          <Nothing />
        ) : (
          <span class="whole">
            <Time at={lastCallAt} nowMs={nowMs} brief />
          </span>
        ),
    },
    { title: 'State', cell: (line) => <States organizationId={organizationId} line={line} nowMs={nowMs} /> },
  ];
  return <Table caption="Customers" rows={lines} total={total} columns={columns} />;
};

const Name: FC<{ organizationId: OrganizationId; line: CustomerListItem; withEmail: boolean }> = ({
  organizationId,
  line: { customerId, customerFriendlyName, customerEmail },
  withEmail,
}) => (
  <span>
    <a href={customerPath({ organizationId, customerId })}>{customerFriendlyName ?? customerId}</a>
    {customerFriendlyName !== null && <span class="sub">{customerId}</span>}
    {withEmail && customerEmail !== null && <span class="sub">{customerEmail}</span>}
  </span>
);

const WorstMeter: FC<NonNullable<CustomerListItem['worstMeter']> & { title: string }> = ({
  title,
  used,
  limit,
  share,
}) => (
  <div>
    <MeterBar used={used} limit={limit} />
    <span class="num">{percent(share)}</span> {title}
    <span class="sub">{`${count(used)} of ${count(limit)}`}</span>
  </div>
);

const Cost: FC<{ figures: CustomerFigures; show: (nano: NanoUsd) => string }> = ({ figures, show }) => {
  const { costNanoUsd, costBeforeNanoUsd, calls, unpricedCalls } = figures;
  const isUnknown = calls > 0 && calls === unpricedCalls;
  const change =
    costBeforeNanoUsd === null || isUnknown ? null : changeWords({ now: costNanoUsd, before: costBeforeNanoUsd });
  return (
    <span>
      {isUnknown ? <span class="quiet">not known</span> : <Usd nano={costNanoUsd} show={show} />}
      {change !== null && (
        <span
          class="sub"
          title={`$${usd(costBeforeNanoUsd ?? 0n).slice(1)} in the 30 days before, up to the same hour`}
        >
          {change}
        </span>
      )}
      {unpricedCalls > 0 && <span class="sub">{`${plural(unpricedCalls, 'call')} without a price`}</span>}
    </span>
  );
};

const Margin: FC<{ figures: CustomerFigures | undefined; show: (nano: NanoUsd) => string }> = ({ figures, show }) => {
  const earnings = figures?.earnings;
  if (!earnings) return <Nothing />;
  const { marginNanoUsd, revenueNanoUsd, unpricedCalls, isPlanPriced } = earnings;
  if (!isPlanPriced)
    return (
      <span class="quiet">
        not known<span class="sub">plan has no price</span>
      </span>
    );
  return (
    <span class={marginNanoUsd < 0n ? 'loss' : undefined}>
      <Usd nano={marginNanoUsd} show={show} />
      <span class="sub">
        {`of ${usd(revenueNanoUsd)}`}
        {unpricedCalls > 0 && ', at most'}
      </span>
    </span>
  );
};

const States: FC<{ organizationId: OrganizationId; line: CustomerLine; nowMs: number }> = (props) => {
  const { organizationId, line, nowMs } = props;
  const { customerId, canceled, onCredit, balanceUsd, denied, figures } = line;
  const calls = (query: Record<string, string>) =>
    `${organizationPath(organizationId, 'calls')}?${new URLSearchParams({ customerId, ...query })}`;
  const failed = figures && figures.recentCalls > 0 ? figures.recentlyFailed / figures.recentCalls : 0;
  const ending = figures?.endingModels ?? [];
  const periodFrom = figures?.periodFromMs == null ? {} : { from: new Date(figures.periodFromMs).toISOString() };
  const states = [
    canceled && <Badge tone="bad">canceled</Badge>,
    onCredit && (
      <span>
        <Badge tone="info">on credit</Badge>
        {balanceUsd !== null && <span class="sub">{`${usd(parseNanoUsd(balanceUsd))} left`}</span>}
      </span>
    ),
    denied && (
      <Badge tone="warn">
        <a href={calls({ status: 'NOT_ALLOWED', ...periodFrom })}>denied in this period</a>
      </Badge>
    ),
    failed >= FAILING_SHARE && (
      <Badge tone="bad" title="Share of the calls that ended in the last 7 days">
        <a
          href={calls({ status: 'FAILED', from: new Date(failedSince(nowMs)).toISOString() })}
        >{`${percent(failed)} failed in 7 days`}</a>
      </Badge>
    ),
    ...ending.map(({ modelKey, names, shutdownAt, status }) => (
      <span>
        <Badge tone="warn">
          <a href={calls({ model: names[0] ?? modelKey })}>
            {status === 'RETIRED' || shutdownAt === null ? 'model has ended' : `model ends ${calendarDay(shutdownAt)}`}
          </a>
        </Badge>
        <span class="sub">{modelKey}</span>
      </span>
    )),
  ].filter((state) => state !== false);
  return states.length === 0 ? <span class="quiet">active</span> : <span class="tags">{states}</span>;
};
