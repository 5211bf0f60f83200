/**
 * The margin of each customer of an organization: a table that sorts and has pages, a chart of both ends, and a file.
 */

import type { FC } from 'hono/jsx';
import { badRequest } from '../contract/errors.ts';
import { type CustomerMarginsData, CustomerMarginsQuery } from '../contract/margin.ts';
import type { CustomerId, OrganizationId } from '../domain/ids.ts';
import { usd } from '../domain/money.ts';
import { findNames } from '../operator/names.ts';
import { CSV_TYPE } from '../platform/csv.ts';
import { pageRequest } from '../platform/page.ts';
import { type MarginSort, marginOrder } from '../readings/margin/customer-margins.ts';
import {
  endsOfMargins,
  marginsCsv,
  pageOfMargins,
  type ReadMargins,
  readMargins,
} from '../readings/margin/list-margins.ts';
import { TimeChart } from '../ui/charts.tsx';
import { count, plural } from '../ui/format.ts';
import { Card, Empty, Nothing, Usd } from '../ui/parts.tsx';
import { type Column, Pager, Table } from '../ui/table.tsx';
import { readTrail, type Trail } from '../ui/trail.ts';
import { buildReader } from './caller.ts';
import { type ConsoleContext, customerPath, organizationPath } from './context.ts';
import { Cost, withoutPrice } from './cost.tsx';
import type { AskedDays } from './day-range.tsx';
import { amountTexts, Margin, marginShare } from './margin-view.tsx';
import { refused } from './refused.tsx';
import { check } from './submitted.ts';
import { axisUsd, nanoNumber, usdNumber } from './usage-view.tsx';

const PAGE_SIZE = 50;
/** The most customers at each end of the chart. */
const CHARTED_MAX = 10;

type Item = CustomerMarginsData['items'][number];

interface Shown {
  organizationId: OrganizationId;
  asked: ReadMargins['asked'];
  items: Item[];
  names: ReadonlyMap<string, string>;
  ends: Item[];
  days: AskedDays;
  query: Pick<CustomerMarginsQuery, 'sort' | 'order'>;
  /** Parameters that the links to the list's other pages keep. */
  kept: Record<string, string>;
  nextCursor: string | null;
  trail: Trail;
}

/** The data of the page, or the requested file; `null` if there are too many customers to read each. */
export async function readMarginCustomers(c: ConsoleContext, days: AskedDays): Promise<Shown | Response | null> {
  const { organizationId } = c.get('organization');
  const { sort, order, cursor, format } = c.req.query();
  const ordering = { ...(sort && { sort }), ...(order && { order }) };
  const checked = check(CustomerMarginsQuery, { ...days.dates, ...ordering });
  if (!checked.ok) return refused(c, badRequest(...checked.details).refusal);
  const query = checked.value;
  const read = await readMargins(buildReader(c), query);
  if (!read.ok) return read.refusal.code === 'CONFLICT' ? null : refused(c, read.refusal);
  const isFile = format === 'csv';
  const page = pageRequest({ limit: PAGE_SIZE, cursor }) ?? { limit: PAGE_SIZE, after: null };
  const found = pageOfMargins(read.data, query, isFile ? null : page);
  if (!found.ok) return refused(c, found.refusal);
  const { items, nextCursor } = found.data;
  if (isFile)
    return c.body(marginsCsv({ items }), 200, {
      'Content-Type': CSV_TYPE,
      'Content-Disposition': 'attachment; filename="margin-by-customer.csv"',
    });
  return {
    ...{ organizationId, asked: read.data.asked, items, days, query, nextCursor },
    names: (await findNames(c.env, organizationId, { customer: items.map(({ customerId }) => customerId) })).customer,
    ends: endsOfMargins(read.data, CHARTED_MAX),
    kept: { ...days.query, by: 'customer', ...ordering },
    trail: readTrail(c.req.query(), items.length),
  };
}

export const CustomersMargin: FC<Shown> = (shown) => {
  const { organizationId, asked, items, kept, nextCursor, trail } = shown;
  const path = organizationPath(organizationId, 'margin');
  if (asked.customers === 0)
    return (
      <Card title="Margin by customer">
        <Empty title="No customers in this period">Customers appear here as soon as they are created.</Empty>
      </Card>
    );
  return (
    <>
      <Ends {...shown} />
      <Card
        title="Margin by customer"
        note="The figures above are the sum of all of them."
        actions={
          <a class="button" href={`${path}?${new URLSearchParams({ ...kept, format: 'csv' })}`}>
            CSV
          </a>
        }
      >
        <CustomersTable {...shown} />
        <Pager path={path} query={kept} next={nextCursor} first={trail.cursor === ''} previous={trail} />
        {items.length === 0 && <Empty title="No customers on this page">The list has become shorter.</Empty>}
      </Card>
    </>
  );
};

/** The address of a customer's own margin, with the same days. */
function ownPath({ organizationId, days }: Shown, customerId: CustomerId): string {
  return `${organizationPath(organizationId)}?${new URLSearchParams({ ...days.query, customerId })}`;
}

const Ends: FC<Shown> = (shown) => {
  const { asked, ends } = shown;
  const isWhole = ends.length === asked.customers;
  return (
    <Card
      title="Lowest and highest margin"
      note={
        isWhole
          ? `${plural(ends.length, 'customer')}, the lowest margin first.`
          : `The ${count(CHARTED_MAX)} lowest and the ${count(CHARTED_MAX)} highest of ${plural(asked.customers, 'customer')}.`
      }
      wide
    >
      <TimeChart
        title="Margin by customer"
        step="Customer"
        labels={ends.map(({ customerId }) => customerId)}
        series={[
          {
            name: 'Margin',
            values: ends.map(({ marginUsdNano }) => usdNumber(BigInt(marginUsdNano))),
            lacking: ends.map(({ unpricedCalls }) => unpricedCalls),
          },
        ]}
        format={marginText}
        tick={axisUsd}
        lackingName="Calls without a price: at most this margin"
        links={ends.map(({ customerId }) => ownPath(shown, customerId))}
      />
    </Card>
  );
};

function marginText(value: number, unpricedCalls: number): string {
  const amount = usd(nanoNumber(value));
  return `${value < 0 ? 'loss ' : ''}${amount}${unpricedCalls > 0 ? `, at most: ${withoutPrice(unpricedCalls)}` : ''}`;
}

const CustomersTable: FC<Shown> = (shown) => {
  const { organizationId, asked, items, names, query, kept } = shown;
  const now = marginOrder(query.sort, query.order);
  const sortBy = (sort: MarginSort) => {
    const { order: _, ...others } = kept;
    // A second click on a head reverses the order.
    const turned = sort === now.sort && { order: now.descends ? 'ascending' : 'descending' };
    return {
      href: `${organizationPath(organizationId, 'margin')}?${new URLSearchParams({ ...others, sort, ...turned })}`,
      order: sort !== now.sort ? null : now.descends ? ('descending' as const) : ('ascending' as const),
    };
  };
  const cost = amountTexts(items, ({ costUsdNano }) => costUsdNano);
  const charged = amountTexts(items, ({ chargedUsdNano }) => chargedUsdNano);
  const plan = amountTexts(items, ({ planUsdNano }) => planUsdNano);
  const revenue = amountTexts(items, ({ revenueUsdNano }) => revenueUsdNano);
  const margin = amountTexts(items, ({ marginUsdNano }) => marginUsdNano);
  const columns: Column<Item>[] = [
    {
      title: 'Customer',
      heading: true,
      sort: sortBy('customerId'),
      cell: ({ customerId }) => (
        <span>
          <a href={ownPath(shown, customerId)}>{customerId}</a>{' '}
          <a href={customerPath({ organizationId, customerId })} aria-label={`Page of ${customerId}`}>
            →
          </a>
          {names.has(customerId) && <span class="sub">{names.get(customerId)}</span>}
        </span>
      ),
    },
    {
      title: 'Cost',
      figure: true,
      sort: sortBy('cost'),
      cell: (item) => {
        const { nano, show } = cost(item);
        return <Cost costNanoUsd={nano} unpricedCalls={item.unpricedCalls} show={show} />;
      },
    },
    { title: 'Charged', figure: true, sort: sortBy('charged'), cell: (item) => <Usd {...charged(item)} /> },
    {
      title: 'From plans',
      figure: true,
      sort: sortBy('plan'),
      cell: (item) => (
        <span>
          <Usd {...plan(item)} />
          {!item.planPriceKnown && <span class="sub">no price set</span>}
        </span>
      ),
    },
    { title: 'Revenue', figure: true, sort: sortBy('revenue'), cell: (item) => <Usd {...revenue(item)} /> },
    {
      title: 'Margin',
      figure: true,
      phone: 'figure',
      sort: sortBy('margin'),
      cell: (item) => (
        <span>
          <Margin {...margin(item)} />
          {item.unpricedCalls > 0 && <span class="sub">at most</span>}
        </span>
      ),
    },
    {
      title: 'Share of revenue',
      figure: true,
      sort: sortBy('marginPercent'),
      cell: (item) =>
        marginShare({ marginNanoUsd: BigInt(item.marginUsdNano), revenueNanoUsd: BigInt(item.revenueUsdNano) }) ?? (
          <Nothing />
        ),
    },
  ];
  return (
    <Table caption="Margin by customer" rows={items} columns={columns} total={plural(asked.customers, 'customer')} />
  );
};
