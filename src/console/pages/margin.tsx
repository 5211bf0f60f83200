/**
 * An organization's cost, revenue and margin, by plan, by customer, by feature or by model.
 */

import type { Hono } from 'hono';
import type { Child, FC } from 'hono/jsx';
import { badRequest } from '../../contract/errors.ts';
import { type MarginData, type MarginFigures, MarginQuery } from '../../contract/margin.ts';
import type { OrganizationId } from '../../domain/ids.ts';
import { readMargin } from '../../readings/margin/read-margin.ts';
import { count, plural, timeSpan } from '../../ui/format.ts';
import { Card, Empty, Nothing, Usd } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { buildReader } from '../caller.ts';
import { type ConsoleContext, type ConsoleEnv, organizationPath, planPath } from '../context.ts';
import { Cost } from '../cost.tsx';
import { type AskedDays, completeSinceText, parseAskedDays, RangeTabs } from '../day-range.tsx';
import { firstStepsPage } from '../first-steps.tsx';
import { CustomersMargin, readMarginCustomers } from '../margin-customers.tsx';
import { amountTexts, lackingPrices, Margin, MarginTotals, marginShare } from '../margin-view.tsx';
import { ModelName } from '../model-name.tsx';
import { refused } from '../refused.tsx';
import { page } from '../shell.tsx';
import { check } from '../submitted.ts';

/** The most rows on the page; the API has all. */
const ROWS_MAX = 100;

interface Row extends MarginFigures {
  name: Child;
}

interface Rows {
  /** `null` if they are unknown. */
  rows: Row[] | null;
  note: string;
}

/** The groupings of the margin, as the tabs of the page. */
const BY = ['plan', 'customer', 'feature', 'model'] as const;
type By = (typeof BY)[number];

export function mountMargin(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/margin', async (c) => {
    const { organizationId } = c.get('organization');
    const asked = c.req.query();
    const by = BY.find((one) => one === asked.by) ?? 'plan';
    const days = parseAskedDays(asked, Date.now());
    const checked = check(MarginQuery, days.dates);
    if (!checked.ok) return refused(c, badRequest(...checked.details).refusal);
    if (by === 'customer') {
      const customers = await readMarginCustomers(c, days);
      if (customers instanceof Response) return customers;
      const first = customers?.items.length === 0 ? await firstStepsPage(c, 'Margin') : null;
      if (first) return first;
      if (customers) return marginPage(c, by, days, customers.asked, <CustomersMargin {...customers} />);
    }
    const answer = await readMargin(buildReader(c), checked.value, by === 'customer' ? [] : [by]);
    if (!answer.ok) return refused(c, answer.refusal);
    const shown: Rows =
      by === 'customer'
        ? { rows: null, note: 'What each customer used and paid.' }
        : rowsBy(by, organizationId, answer.data, days);
    const first = shown.rows?.length === 0 ? await firstStepsPage(c, 'Margin') : null;
    return first ?? marginPage(c, by, days, answer.data, <MarginCard by={by} {...shown} />);
  });
}

function marginPage(
  c: ConsoleContext,
  by: By,
  days: AskedDays,
  data: Pick<MarginData, 'period' | 'completeSince' | 'totals' | 'customersWithoutPrice'>,
  body: Child,
) {
  const { organizationId, name } = c.get('organization');
  const path = organizationPath(organizationId, 'margin');
  const { startedAt, endedAt } = data.period;
  return page(
    c,
    {
      title: 'Margin',
      sub: `${name} · ${timeSpan(Date.parse(startedAt), Date.parse(endedAt))}${completeSinceText(data)}`,
      actions: <RangeTabs path={path} query={{ by }} range={days.range} />,
    },
    <>
      <nav class="page-tabs" aria-label="Margin by">
        {BY.map((one) => (
          <a
            href={`${path}?${new URLSearchParams({ ...days.query, by: one })}`}
            aria-current={one === by ? 'page' : undefined}
          >
            By {one}
          </a>
        ))}
      </nav>
      <MarginTotals totals={data.totals} lacks={lackingPrices(data)} />
      {body}
    </>,
  );
}

function rowsBy(
  by: Exclude<By, 'customer'>,
  organizationId: OrganizationId,
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

const MarginCard: FC<Rows & { by: By }> = ({ by, rows, note }) => (
  <Card title={`Margin by ${by}`} note={note}>
    {rows === null ? (
      <Empty title="Too many customers">
        With so many customers, the margin is computed only as a whole, and by feature and model.
      </Empty>
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

const TITLES = {
  plan: 'Plan',
  customer: 'Customer',
  feature: 'Feature',
  model: 'Model',
} as const satisfies Record<By, string>;

const MarginTable: FC<{ by: By; rows: readonly Row[] }> = ({ by, rows }) => {
  const cost = amountTexts(rows, ({ costUsdNano }) => costUsdNano);
  const revenue = amountTexts(rows, ({ revenueUsdNano }) => revenueUsdNano);
  const margin = amountTexts(rows, ({ marginUsdNano }) => marginUsdNano);
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
          title: 'Share of revenue',
          figure: true,
          cell: (row) =>
            marginShare({ marginNanoUsd: BigInt(row.marginUsdNano), revenueNanoUsd: BigInt(row.revenueUsdNano) }) ?? (
              <Nothing />
            ),
        },
      ]}
    />
  );
};
