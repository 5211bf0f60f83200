/**
 * The customers of an organization: found by the beginning of id, name or e-mail address, and by plan.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { type CustomerListItem, ListCustomersQuery } from '../../contract/customers.ts';
import { listCustomers } from '../../customer-list/list-customers.ts';
import { listPlans } from '../../operator/plans.ts';
import { pageRequest } from '../../platform/page.ts';
import { ErrorSummary, type FormState, Select, TextField } from '../../ui/form.tsx';
import { count, percent, words } from '../../ui/format.ts';
import { Badge, Card, Code, Empty, Nothing, Time, Usd } from '../../ui/parts.tsx';
import { Pager, Table } from '../../ui/table.tsx';
import { type ConsoleEnv, customerPath, organizationPath, planPath } from '../context.ts';
import { refused } from '../refused.tsx';
import { setupPath } from '../setup-view.tsx';
import { page } from '../shell.tsx';
import { check } from '../submitted.ts';

const PAGE_SIZE = 50;
/** Plans that the filter lists. */
const PLANS_MAX = 200;

export function mountCustomers(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/customers', async (c) => {
    const { organizationId, defaultPlanId } = c.get('organization');
    const path = organizationPath(organizationId, 'customers');
    const asked = Object.fromEntries(
      Object.entries(c.req.query()).filter(([name, value]) => value !== '' && name !== 'done'),
    );
    const checked = check(ListCustomersQuery, { ...asked, limit: PAGE_SIZE });
    const { search, planId, cursor } = checked.ok ? checked.value : {};
    const pageAsked = pageRequest({ limit: PAGE_SIZE, cursor }) ?? { limit: PAGE_SIZE, after: null };
    const [answer, plans] = await Promise.all([
      listCustomers(c.env, organizationId, { search, planId, sort: 'customerId' }, pageAsked),
      listPlans(c.env, organizationId, { limit: PLANS_MAX, after: null }),
    ]);
    if (!answer.ok) return refused(c, answer.refusal);
    if (!plans.ok) return refused(c, plans.refusal);
    const { items, nextCursor } = answer.data;
    const narrowed = search !== undefined || planId !== undefined;
    const query = { ...(search && { search }), ...(planId && { planId }) };
    const state = { values: asked, details: checked.ok ? [] : checked.details };
    return page(
      c,
      { title: 'Customers', status: checked.ok ? 200 : 400 },
      <Card>
        <Filters
          path={path}
          state={state}
          plans={plans.data.items.map((plan) => [plan.planId, `${plan.plan.name} (${plan.planId})`] as const)}
        />
        {items.length > 0 ? (
          <Customers organizationId={organizationId} items={items} nowMs={Date.now()} />
        ) : narrowed ? (
          <Empty title="No customers match">
            The search matches the beginning of the id, the display name or the e-mail address.{' '}
            <a href={path}>Show all customers</a>.
          </Empty>
        ) : (
          <NoCustomers organizationId={organizationId} hasDefault={defaultPlanId !== null} />
        )}
        <Pager path={path} query={query} next={nextCursor} first={pageAsked.after === null} />
      </Card>,
    );
  });
}

const Filters: FC<{ path: string; state: FormState; plans: readonly (readonly [string, string])[] }> = ({
  path,
  state,
  plans,
}) => (
  <search aria-label="Customers">
    <form method="get" action={path}>
      <ErrorSummary details={state.details} />
      <div class="filters">
        <TextField
          name="search"
          label="Search"
          type="search"
          state={state}
          placeholder="Beginning of id, name or e-mail"
        />
        <Select name="planId" label="Plan" state={state} options={[['', 'All plans'], ...plans]} />
        <button type="submit">Search</button>
      </div>
    </form>
  </search>
);

const NoCustomers: FC<{ organizationId: string; hasDefault: boolean }> = ({ organizationId, hasDefault }) => (
  <Empty title="No customers yet">
    {hasDefault ? (
      <>
        A customer is created by the first <Code>call_begin</Code> that names it, on the default plan. The{' '}
        <a href={setupPath(organizationId)}>setup</a> has commands that make one.
      </>
    ) : (
      <>
        Customers come into being with their first call, on the default plan, and there is none yet.{' '}
        <a href={organizationPath(organizationId, 'settings')}>Choose the default plan</a>, or follow the{' '}
        <a href={setupPath(organizationId)}>setup</a>.
      </>
    )}
  </Empty>
);

const WorstMeter: FC<NonNullable<CustomerListItem['worstMeter']>> = ({ name, used, limit, share }) => (
  <span>
    {percent(share)}
    <span class="sub">{`${words(name)}: ${count(used)} of ${count(limit)}`}</span>
  </span>
);

interface CustomersProps {
  organizationId: string;
  items: CustomerListItem[];
  nowMs: number;
}

const Customers: FC<CustomersProps> = ({ organizationId, items, nowMs }) => (
  <Table
    caption="Customers"
    rows={items}
    columns={[
      {
        title: 'Customer',
        heading: true,
        cell: ({ customerId, customerFriendlyName }) => (
          <span>
            <a href={customerPath(organizationId, customerId)}>{customerId}</a>
            {customerFriendlyName && <span class="sub">{customerFriendlyName}</span>}
          </span>
        ),
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
        title: 'State',
        cell: ({ canceled }) => <Badge tone={canceled ? 'bad' : 'good'}>{canceled ? 'canceled' : 'active'}</Badge>,
      },
      { title: 'E-mail', cell: ({ customerEmail }) => customerEmail ?? <Nothing /> },
      { title: 'Worst meter', cell: ({ worstMeter }) => (worstMeter ? <WorstMeter {...worstMeter} /> : <Nothing />) },
      {
        title: 'Cost',
        figure: true,
        cell: ({ costUsdNano }) => (costUsdNano === null ? <Nothing /> : <Usd nano={BigInt(costUsdNano)} />),
      },
      {
        title: 'Last call',
        cell: ({ lastCallAt }) => (lastCallAt === null ? <Nothing /> : <Time at={lastCallAt} nowMs={nowMs} brief />),
      },
      { title: 'Renews', cell: ({ nextReplenishAt }) => <Time at={nextReplenishAt} nowMs={nowMs} /> },
      { title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} nowMs={nowMs} brief /> },
    ]}
  />
);
