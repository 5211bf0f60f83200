/**
 * Calls: the history of an organization, with filters for everything that a call has, with totals, and as a file.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { CALLS_SEARCHED_MAX, type CallListItem, CallsQuery } from '../../contract/call-list.ts';
import { callId as callIdField } from '../../contract/fields.ts';
import { CALL_STATUSES } from '../../domain/call.ts';
import { DENIAL_CODES } from '../../domain/denial.ts';
import { type CallTotals, callsCsv, readCalls, readCallTotals } from '../../metering/list-calls.ts';
import { CSV_TYPE } from '../../platform/csv.ts';
import { pageRequest } from '../../platform/page.ts';
import { type FormState, GetForm, Select, TextField } from '../../ui/form.tsx';
import { count, moment, words } from '../../ui/format.ts';
import { Card, Code, Empty } from '../../ui/parts.tsx';
import { Pager } from '../../ui/table.tsx';
import { readTrail } from '../../ui/trail.ts';
import { type Asked, CallPeriods, CallSums, CallsTable } from '../calls-table.tsx';
import { ChosenFilters } from '../chosen-filters.tsx';
import { type ConsoleContext, type ConsoleEnv, callPath, organizationPath } from '../context.ts';
import { firstStepsPage } from '../first-steps.tsx';
import { instantFields, readInstants } from '../form-instants.ts';
import { refused } from '../refused.tsx';
import { setupPath } from '../setup-view.tsx';
import { page } from '../shell.tsx';
import { statusWords } from '../statuses.ts';
import { check } from '../submitted.ts';

const PAGE_SIZE = 50;

/** The filters, with their names for people. */
const FILTERS = {
  customerId: 'Customer',
  customerUserId: 'User',
  feature: 'Feature',
  model: 'Model',
  tag: 'Tag',
  status: 'State',
  reason: 'Denied because',
  errorCode: 'Error',
  priced: 'Price',
  costAboveUsd: 'Cost above',
  usageSource: 'Usage',
  from: 'From',
  to: 'Before',
} as const satisfies Partial<Record<keyof CallsQuery, string>>;

export function mountCalls(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/calls', async (c) => {
    const { organizationId } = c.get('organization');
    const {
      callId,
      format,
      cursor,
      trail: _trail,
      ...asked
    } = Object.fromEntries(Object.entries(c.req.query()).filter(([, value]) => value !== ''));
    const named = callIdField.safeParse(callId);
    if (named.success) return c.redirect(callPath(organizationId, named.data), 303);
    const checked = check(CallsQuery, { ...asked, ...readInstants(asked) });
    const query = checked.ok ? checked.value : CallsQuery.parse({});
    const pageAsked = pageRequest({ limit: PAGE_SIZE, cursor }) ?? { limit: PAGE_SIZE, after: null };
    const isFile = format === 'csv' || format === 'json';
    const [found, totals] = await Promise.all([
      readCalls(c.env, organizationId, query, isFile ? null : pageAsked),
      isFile ? null : readCallTotals(c.env, organizationId, query),
    ]);
    if (!found.ok) return refused(c, found.refusal);
    if (isFile && checked.ok) return sendFile(c, format, found.data.items);
    const first = found.data.items.length === 0 && checked.ok ? await firstStepsPage(c, 'Calls') : null;
    if (first) return first;
    const state = { values: { ...asked, ...instantFields(asked) }, details: checked.ok ? [] : checked.details };
    return callsPage(c, { asked, state, totals, first: pageAsked.after === null, ...found.data });
  });
}

interface Found {
  asked: Asked;
  state: FormState;
  totals: CallTotals | null;
  items: CallListItem[];
  nextCursor: string | null;
  first: boolean;
}

function sendFile(c: ConsoleContext, format: 'csv' | 'json', items: CallListItem[]) {
  const isCsv = format === 'csv';
  return c.body(isCsv ? callsCsv({ items }) : JSON.stringify(items, null, 2), 200, {
    'Content-Type': isCsv ? CSV_TYPE : 'application/json',
    'Content-Disposition': `attachment; filename="calls.${format}"`,
  });
}

function callsPage(c: ConsoleContext, { asked, state, totals, items, nextCursor, first }: Found) {
  const { organizationId } = c.get('organization');
  const path = organizationPath(organizationId, 'calls');
  const nowMs = Date.now();
  const file = (format: string) => `${path}?${new URLSearchParams({ ...asked, format })}`;
  const isNarrowed = Object.keys(asked).some((name) => Object.hasOwn(FILTERS, name));
  return page(
    c,
    {
      title: 'Calls',
      sub:
        asked.sort === 'cost'
          ? 'The highest cost first.'
          : 'Newest first. A call appears here three seconds after its end, or half a minute after its begin.',
      status: state.details.length > 0 ? 400 : 200,
      actions: (
        <>
          <a class="button" href={file('csv')}>
            CSV
          </a>
          <a class="button" href={file('json')}>
            JSON
          </a>
        </>
      ),
    },
    <>
      <Card>
        <CallPeriods path={path} asked={asked} nowMs={nowMs} />
        <Filters path={path} state={state} />
        <ChosenFilters path={path} asked={asked} names={FILTERS} show={shownFilter} />
      </Card>
      {totals && items.length > 0 && <CallSums totals={totals} path={path} asked={asked} />}
      <Card>
        {items.length > 0 ? (
          <CallsTable organizationId={organizationId} asked={asked} items={items} nowMs={nowMs} />
        ) : (
          <NoCalls path={path} narrowed={isNarrowed} setup={setupPath(organizationId)} />
        )}
        <Pager
          path={path}
          query={asked}
          next={nextCursor}
          first={first}
          previous={readTrail(c.req.query(), items.length)}
        />
      </Card>
    </>,
  );
}

const Filters: FC<{ path: string; state: FormState }> = ({ path, state }) => (
  <GetForm label="Calls" action={path} state={state}>
    <div class="filters">
      <TextField name="customerId" label="Customer id" />
      <Select
        name="status"
        label="State"
        options={[['', 'All'], ...CALL_STATUSES.map((status) => [status, statusWords(status)] as const)]}
      />
      <Select name="reason" label="Denial reason" options={[['', 'Any'], ...DENIAL_CODES.map(named)]} />
      <TextField name="model" label="Model" />
      <TextField name="feature" label="Feature" />
      <TextField name="callId" label="Call id" placeholder="Go to one call" />
    </div>
    <details class="fold" open={isOpen(state)}>
      <summary>More filters</summary>
      <div class="filters">
        <TextField name="from" label="Start date (UTC)" type="datetime-local" />
        <TextField name="to" label="End date (exclusive)" type="datetime-local" />
        <TextField name="customerUserId" label="User" />
        <TextField name="tag" label="Tag" />
        <TextField name="errorCode" label="Error code" />
        <Select
          name="priced"
          label="Price"
          options={[
            ['', 'All'],
            ['true', 'Known'],
            ['false', 'Not known'],
          ]}
        />
        <TextField name="costAboveUsd" label="Cost above, USD" numeric />
        <Select
          name="usageSource"
          label="Usage"
          options={[
            ['', 'All'],
            ['partial', 'Partial'],
            ['estimated', 'Estimated'],
          ]}
        />
        <Select
          name="sort"
          label="Order"
          options={[
            ['', 'Newest first'],
            ['cost', 'Highest cost first'],
          ]}
        />
      </div>
    </details>
    <div class="submit">
      <button type="submit">Search</button>
    </div>
  </GetForm>
);

const named = (name: string) => [name, words(name)] as const;

const MORE = ['from', 'to', 'customerUserId', 'tag', 'errorCode', 'priced', 'costAboveUsd', 'usageSource', 'sort'];

function isOpen({ values, details }: FormState): boolean {
  return MORE.some((name) => values[name] !== undefined || details.some(({ path }) => path === name));
}

function shownFilter(name: string, value: string): string {
  if (name === 'from' || name === 'to')
    return `${moment(Date.parse(readInstants({ [name]: value })[name] ?? value))} UTC`;
  if (name === 'priced') return value === 'true' ? 'known' : 'not known';
  if (name === 'status') return statusWords(value);
  return name === 'reason' ? words(value) : value;
}

const NoCalls: FC<{ path: string; narrowed: boolean; setup: string }> = ({ path, narrowed, setup }) =>
  narrowed ? (
    <Empty title="No calls match">
      Some searches cover only the newest {count(CALLS_SEARCHED_MAX)} calls of the period.{' '}
      <a href={path}>Show all calls</a>.
    </Empty>
  ) : (
    <Empty title="No calls yet">
      An application begins a call with <Code>POST /call_begin</Code> and its key, and reports the usage with{' '}
      <Code>POST /call_end</Code>. The <a href={setup}>setup</a> has the commands.
    </Empty>
  );
