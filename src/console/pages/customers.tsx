/**
 * The customers of an organization: with search, filters and order, with cost and earnings of each, and as a file.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { ListCustomersQuery } from '../../contract/customers.ts';
import { brokenRules } from '../../contract/errors.ts';
import { listPlans } from '../../operator/plans.ts';
import { CSV_TYPE } from '../../platform/csv.ts';
import { pageRequest } from '../../platform/page.ts';
import { countByQuestion, countListed } from '../../readings/customer-list/counts.ts';
import { readCustomerFigures } from '../../readings/customer-list/figures.ts';
import { type ListScope, readEndingNames } from '../../readings/customer-list/filters.ts';
import { customersCsv, listCustomers } from '../../readings/customer-list/list-customers.ts';
import { count, plural } from '../../ui/format.ts';
import { Card, Code, Empty } from '../../ui/parts.tsx';
import { Pager } from '../../ui/table.tsx';
import { readTrail } from '../../ui/trail.ts';
import { deferrer } from '../caller.ts';
import { linkTo } from '../chosen-filters.tsx';
import { type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { type Asked, Chosen, isNarrowed, Meaning, Questions, Search } from '../customer-filters.tsx';
import { Customers, type Sort } from '../customers-view.tsx';
import { firstStepsPage } from '../first-steps.tsx';
import { refused } from '../refused.tsx';
import { load } from '../send.ts';
import { page } from '../shell.tsx';

const PAGE_SIZE = 50;

type Query = Omit<ListCustomersQuery, 'limit' | 'cursor'>;

export function mountCustomers(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/customers', async (c) => {
    const nowMs = Date.now();
    const organization = c.get('organization');
    const { organizationId } = organization;
    const scope = { env: c.env, organization: { organizationId, retention: organization }, defer: deferrer(c) };
    const {
      format,
      cursor,
      trail: _trail,
      done: _done,
      ...asked
    } = Object.fromEntries(Object.entries(c.req.query()).filter(([, value]) => value !== ''));
    const checked = ListCustomersQuery.safeParse({ ...asked, limit: PAGE_SIZE });
    const { limit: _limit, ...valid } = checked.success ? checked.data : ListCustomersQuery.parse({});
    const query = { ...valid, sort: chooseSort(asked, valid) };
    const pageAsked = pageRequest({ limit: PAGE_SIZE, cursor }) ?? { limit: PAGE_SIZE, after: null };
    if (format === 'csv' && checked.success) {
      const file = await listCustomers(scope, query, null);
      return file.ok ? sendFile(c, customersCsv(file.data)) : refused(c, file.refusal);
    }
    const [answer, ending, marked, plans] = await Promise.all([
      listCustomers(scope, query, pageAsked),
      readEndingNames(scope, nowMs),
      countByQuestion(scope, nowMs),
      load(c, listPlans),
    ]);
    if (!answer.ok) return refused(c, answer.refusal);
    if (!plans.ok) return refused(c, plans.refusal);
    const { items, nextCursor } = answer.data;
    const first = items.length === 0 && !isNarrowed(asked) ? await firstStepsPage(c, 'Customers') : null;
    if (first) return first;
    const ids = items.map(({ customerId }) => customerId);
    const isWhole = pageAsked.after === null && nextCursor === null;
    const [figures, total] = await Promise.all([
      readCustomerFigures(scope, ids, ending, nowMs),
      isWhole ? plural(items.length, 'customer') : foundText(scope, query, nowMs),
    ]);
    const path = organizationPath(organizationId, 'customers');
    const lines = items.map((item) => ({ ...item, figures: figures.get(item.customerId) }));
    const counts = Object.fromEntries(Object.entries(marked).map(([name, found]) => [name, countText(found)]));
    return page(
      c,
      {
        title: 'Customers',
        sub: 'Changes appear here after a few seconds; meters, costs and last calls are up to a minute old.',
        status: checked.success ? 200 : 400,
        actions: items.length > 0 && (
          <a class="button" href={linkTo(path, { ...asked, sort: query.sort, format: 'csv' })}>
            CSV
          </a>
        ),
      },
      <>
        <Card>
          <Questions path={path} asked={asked} counts={counts} />
          <Search
            path={path}
            asked={asked}
            state={{ values: asked, details: checked.success ? [] : brokenRules(checked.error) }}
            plans={plans.data.items.map((plan) => [plan.planId, `${plan.plan.name} (${plan.planId})`] as const)}
          />
          <Chosen path={path} asked={asked} />
          <Meaning asked={asked} />
        </Card>
        <Card>
          {items.length > 0 ? (
            <Customers
              organizationId={organizationId}
              lines={lines}
              plans={plans.data.items}
              total={total}
              sort={query.sort}
              withEmail={query.search !== undefined}
              sortedBy={(sort) => linkTo(path, { ...asked, sort })}
              nowMs={nowMs}
            />
          ) : (
            <NoCustomers path={path} asked={asked} goesOn={nextCursor !== null} />
          )}
          <Pager
            path={path}
            query={asked}
            next={nextCursor}
            first={pageAsked.after === null}
            previous={readTrail(c.req.query(), items.length)}
          />
        </Card>
      </>,
    );
  });
}

/** The order of the list; without a requested one, an order that an index covers together with the filters. */
function chooseSort(asked: Asked, { sort, nearLimit }: Query): Sort {
  if (asked.sort !== undefined) return sort;
  if (nearLimit !== undefined) return 'worstMeter';
  return isNarrowed(asked) ? 'customerId' : 'cost';
}

async function foundText(scope: ListScope, query: Query, nowMs: number): Promise<string> {
  const { sort: _sort, ...narrowing } = query;
  const found = await countListed(scope, narrowing, nowMs);
  return found.isAll ? plural(found.count, 'customer') : `At least ${plural(found.count, 'customer')}`;
}

function countText({ count: found, isAll }: { count: number; isAll: boolean }): string {
  return isAll ? count(found) : `${count(found)}+`;
}

function sendFile(c: ConsoleContext, csv: string) {
  return c.body(csv, 200, {
    'Content-Type': CSV_TYPE,
    'Content-Disposition': 'attachment; filename="customers.csv"',
  });
}

interface NoCustomersProps {
  path: string;
  asked: Asked;
  /** Whether customers are left that were not checked. */
  goesOn: boolean;
}

const NoCustomers: FC<NoCustomersProps> = ({ path, asked, goesOn }) => {
  if (isNarrowed(asked))
    return goesOn ? (
      <Empty title="No match so far">The next page searches more customers.</Empty>
    ) : (
      <Empty title="No customers match">
        The search covers the id, the display name and the e-mail address. <a href={path}>Show all customers</a>.
      </Empty>
    );
  return (
    <Empty title="No customers">
      A customer is created by the first <Code>call_begin</Code> that names it, on the default plan.
    </Empty>
  );
};
