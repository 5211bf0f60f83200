/**
 * What an organization's usage cost, what it earned, and what is left: by plan, by feature or by model.
 */
import type { Hono } from 'hono';
import type { Child, FC } from 'hono/jsx';
import { badRequest } from '../../contract/errors.ts';
import { type MarginData, type MarginFigures, MarginQuery } from '../../contract/margin.ts';
import type { NanoUsd } from '../../domain/money.ts';
import { readMargin } from '../../readings/margin/read-margin.ts';
import { GROUPINGS, type Grouping } from '../../storage/organization-earnings.ts';
import { count, dayMonth, plural, usdColumn } from '../../ui/format.ts';
import { Card, Empty, Nothing, Usd } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { callerOf } from '../caller.ts';
import { type ConsoleEnv, organizationPath, planPath } from '../context.ts';
import { Cost } from '../cost.tsx';
import { type AskedDays, askedDaysOf, completeSinceText, RangeTabs } from '../day-range.tsx';
import { Margin, shareOf } from '../margin-view.tsx';
import { ModelName } from '../model-name.tsx';
import { refused } from '../refused.tsx';
import { page } from '../shell.tsx';
import { check } from '../submitted.ts';

/** Rows that are shown; the API has all of them. */
const ROWS_MAX = 100;

interface Row extends MarginFigures {
  name: Child;
}

interface Rows {
  /** `null` where they are not known. */
  rows: Row[] | null;
  note: string;
}

export function mountMargin(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/margin', async (c) => {
    const { organizationId, name } = c.get('organization');
    const path = organizationPath(organizationId, 'margin');
    const asked = c.req.query();
    const by = GROUPINGS.find((grouping) => grouping === asked.by) ?? 'plan';
    const days = askedDaysOf(asked, Date.now());
    const checked = check(MarginQuery, days.dates);
    if (!checked.ok) return refused(c, badRequest(...checked.details).refusal);
    const answer = await readMargin(await callerOf(c), checked.value, [by]);
    if (!answer.ok) return refused(c, answer.refusal);
    const { startedAt, endedAt } = answer.data.period;
    return page(
      c,
      {
        title: 'Margin',
        sub: `${name} · ${dayMonth(Date.parse(startedAt))} to ${dayMonth(Date.parse(endedAt) - 1)}, UTC${completeSinceText(answer.data)}`,
        actions: <RangeTabs path={path} query={{ by }} range={days.range} />,
      },
      <>
        <nav class="page-tabs" aria-label="Margin by">
          {GROUPINGS.map((grouping) => (
            <a
              href={`${path}?${new URLSearchParams({ ...days.query, by: grouping })}`}
              aria-current={grouping === by ? 'page' : undefined}
            >
              By {grouping}
            </a>
          ))}
        </nav>
        <MarginCard by={by} {...rowsBy(by, organizationId, answer.data, days)} />
      </>,
    );
  });
}

function rowsBy(
  by: Grouping,
  organizationId: string,
  { byPlan, byFeature, byModel, period }: MarginData,
  days: AskedDays,
): Rows {
  const ownPath = (query: Record<string, string>, ...rest: string[]) =>
    `${organizationPath(organizationId, ...rest)}?${new URLSearchParams(query)}`;
  const shared = 'What plans earned is shared equally over the completed calls.';
  switch (by) {
    case 'plan':
      return {
        note: 'What customers used and paid while they had the plan.',
        rows:
          byPlan?.map((plan) => ({
            ...plan,
            name: (
              <>
                <a href={planPath(organizationId, plan.planId)}>{plan.name}</a>
                {plan.customersWithoutPrice > 0 && (
                  <span class="sub">no price set for {plural(plan.customersWithoutPrice, 'customer')}</span>
                )}
              </>
            ),
          })) ?? null,
      };
    case 'feature':
      return {
        note: shared,
        rows: byFeature.map((group) => ({
          ...group,
          name:
            group.feature === null ? (
              <span class="quiet">none</span>
            ) : (
              <a href={ownPath({ ...days.query, feature: group.feature })}>{group.feature}</a>
            ),
        })),
      };
    case 'model':
      return {
        note: shared,
        rows: byModel.map((group) => ({
          ...group,
          name:
            group.model === null ? (
              'not reported'
            ) : (
              <a href={ownPath({ model: group.model, from: period.startedAt, to: period.endedAt }, 'calls')}>
                <ModelName name={group.model} />
              </a>
            ),
        })),
      };
  }
}

const MarginCard: FC<Rows & { by: Grouping }> = ({ by, rows, note }) => (
  <Card title={`Margin by ${by}`} note={note}>
    {rows === null ? (
      <Empty title="Too many customers">With so many, the margin is known as a whole, and by feature and model.</Empty>
    ) : rows.length === 0 ? (
      <Empty title="Nothing in this period">Figures appear here as soon as calls end or time passes on a plan.</Empty>
    ) : (
      <>
        <MarginTable by={by} rows={rows.slice(0, ROWS_MAX)} />
        {rows.length > ROWS_MAX && <p class="quiet hint">and {count(rows.length - ROWS_MAX)} more</p>}
      </>
    )}
  </Card>
);

const TITLES = { plan: 'Plan', feature: 'Feature', model: 'Model' } as const satisfies Record<Grouping, string>;

const MarginTable: FC<{ by: Grouping; rows: readonly Row[] }> = ({ by, rows }) => {
  const column = (of: (row: Row) => string) => {
    const show = usdColumn([largest(rows.map((row) => BigInt(of(row))))]);
    return (row: Row) => ({ nano: BigInt(of(row)), show });
  };
  const cost = column(({ costUsdNano }) => costUsdNano);
  const revenue = column(({ revenueUsdNano }) => revenueUsdNano);
  const margin = column(({ marginUsdNano }) => marginUsdNano);
  return (
    <Table
      caption={`Margin by ${by}`}
      rows={rows}
      columns={[
        { title: TITLES[by], heading: true, cell: ({ name }) => <span>{name}</span> },
        {
          title: 'Cost',
          figure: true,
          cell: (row) => {
            const { nano, show } = cost(row);
            return <Cost costNanoUsd={nano} unpricedCalls={row.unpricedCalls} show={show} />;
          },
        },
        { title: 'Revenue', figure: true, cell: (row) => <Usd {...revenue(row)} /> },
        {
          title: 'Margin',
          figure: true,
          cell: (row) => (
            <span>
              <Margin {...margin(row)} />
              {row.unpricedCalls > 0 && <span class="sub">at most</span>}
            </span>
          ),
        },
        {
          title: 'Of revenue',
          figure: true,
          cell: (row) => shareOf(BigInt(row.marginUsdNano), BigInt(row.revenueUsdNano)) ?? <Nothing />,
        },
      ]}
    />
  );
};

/** The amount that decides how many decimals a column has. */
function largest(amounts: readonly NanoUsd[]): NanoUsd {
  return amounts.map((nano) => (nano < 0n ? -nano : nano)).reduce((most, nano) => (nano > most ? nano : most), 0n);
}
