/**
 * Calls: the history of an organization, narrowed by everything that a call has, with totals, and as a file.
 */
import type { Hono } from 'hono';
import type { Child, FC } from 'hono/jsx';
import { CALLS_SEARCHED_MAX, type CallListItem, CallsQuery } from '../../contract/call-list.ts';
import { idempotencyKey } from '../../contract/fields.ts';
import { CALL_STATUSES } from '../../domain/call.ts';
import { DENIAL_CODES } from '../../domain/denial.ts';
import { callFilterOf, callsCsv, readCalls } from '../../metering/list-calls.ts';
import { pageRequest } from '../../platform/page.ts';
import { DAY_MS } from '../../platform/time.ts';
import { type CallTotals, sumCalls } from '../../storage/calls.ts';
import { ErrorSummary, type FormState, Select, TextField } from '../../ui/form.tsx';
import { count, moment, plural, usdColumn, words } from '../../ui/format.ts';
import { Card, Code, Empty, Id, Nothing, Stat, Time, Usd } from '../../ui/parts.tsx';
import { Pager, type Sort, Table } from '../../ui/table.tsx';
import { trailOf } from '../../ui/trail.ts';
import { CallState } from '../calls-view.tsx';
import { type ConsoleContext, type ConsoleEnv, callPath, customerPath, organizationPath } from '../context.ts';
import { ModelName } from '../model-name.tsx';
import { refused } from '../refused.tsx';
import { setupPath } from '../setup-view.tsx';
import { page } from '../shell.tsx';
import { check } from '../submitted.ts';

const PAGE_SIZE = 50;
const TAGS_SHOWN_MAX = 3;

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

type Asked = Record<string, string>;

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
    if (callId !== undefined && idempotencyKey.safeParse(callId).success)
      return c.redirect(callPath(organizationId, callId), 303);
    const checked = check(CallsQuery, { ...asked, ...instantsOf(asked) });
    const query = checked.ok ? checked.value : CallsQuery.parse({});
    const pageAsked = pageRequest({ limit: PAGE_SIZE, cursor }) ?? { limit: PAGE_SIZE, after: null };
    const isFile = format === 'csv' || format === 'json';
    const [found, totals] = await Promise.all([
      readCalls(c.env, organizationId, query, isFile ? null : pageAsked),
      isFile ? null : sumCalls(c.env, organizationId, callFilterOf(query)),
    ]);
    if (!found.ok) return refused(c, found.refusal);
    if (isFile && checked.ok) return sendFile(c, format, found.data.items);
    const state = { values: { ...asked, ...fieldsOf(asked) }, details: checked.ok ? [] : checked.details };
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

/** A time of a form has no zone and no seconds: it is UTC. */
function instantsOf(asked: Asked): Asked {
  const instants = (['from', 'to'] as const).flatMap((name) => {
    const value = asked[name] ?? '';
    return /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(value) ? [[name, `${value}:00Z`] as const] : [];
  });
  return Object.fromEntries(instants);
}

/** An instant as a form's field shows it. */
function fieldsOf(asked: Asked): Asked {
  const fields = (['from', 'to'] as const).flatMap((name) => {
    const atMs = Date.parse(instantsOf(asked)[name] ?? asked[name] ?? '');
    return Number.isNaN(atMs)
      ? []
      : [[name, new Date(atMs).toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length)] as const];
  });
  return Object.fromEntries(fields);
}

function sendFile(c: ConsoleContext, format: 'csv' | 'json', items: CallListItem[]) {
  const isCsv = format === 'csv';
  return c.body(isCsv ? callsCsv({ items }) : JSON.stringify(items, null, 2), 200, {
    'Content-Type': isCsv ? 'text/csv; charset=utf-8; header=present' : 'application/json',
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
        asked.sort === 'cost' ? 'The highest cost first.' : 'Newest first. Changes appear here after about a second.',
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
        <Presets path={path} asked={asked} nowMs={nowMs} />
        <Filters path={path} state={state} />
        <Chosen path={path} asked={asked} />
      </Card>
      {totals && items.length > 0 && <Totals totals={totals} path={path} asked={asked} />}
      <Card>
        {items.length > 0 ? (
          <Calls organizationId={organizationId} path={path} asked={asked} items={items} nowMs={nowMs} />
        ) : (
          <NoCalls path={path} narrowed={isNarrowed} setup={setupPath(organizationId)} />
        )}
        <Pager
          path={path}
          query={asked}
          next={nextCursor}
          first={first}
          previous={trailOf(c.req.query(), items.length)}
        />
      </Card>
    </>,
  );
}

const Presets: FC<{ path: string; asked: Asked; nowMs: number }> = ({ path, asked, nowMs }) => {
  const todayMs = nowMs - (nowMs % DAY_MS);
  const { from: _from, to: _to, ...rest } = asked;
  const iso = (atMs: number) => new Date(atMs).toISOString();
  const presets: [string, Asked][] = [
    ['Today', { from: iso(todayMs) }],
    ['Yesterday', { from: iso(todayMs - DAY_MS), to: iso(todayMs) }],
    ['7 days', { from: iso(todayMs - 6 * DAY_MS) }],
    ['30 days', { from: iso(todayMs - 29 * DAY_MS) }],
    ['All', {}],
  ];
  const isChosen = (period: Asked) => period.from === asked.from && period.to === asked.to;
  return (
    <nav class="tabs" aria-label="Period">
      {presets.map(([name, period]) => (
        <a href={linkTo(path, { ...rest, ...period })} aria-current={isChosen(period) ? 'true' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
};

const Filters: FC<{ path: string; state: FormState }> = ({ path, state }) => (
  <search aria-label="Calls">
    <form method="get" action={path} class="form">
      <ErrorSummary details={state.details} />
      <div class="filters">
        <TextField name="customerId" label="Customer id" state={state} />
        <Select name="status" label="State" state={state} options={[['', 'All'], ...CALL_STATUSES.map(named)]} />
        <Select
          name="reason"
          label="Denied because"
          state={state}
          options={[['', 'Any'], ...DENIAL_CODES.map(named)]}
        />
        <TextField name="model" label="Model" state={state} />
        <TextField name="feature" label="Feature" state={state} />
        <TextField name="callId" label="Call id" state={state} placeholder="Go to one call" />
      </div>
      <details class="fold" open={isOpen(state)}>
        <summary>More filters</summary>
        <div class="filters">
          <TextField name="from" label="From (UTC)" type="datetime-local" state={state} />
          <TextField name="to" label="End (UTC, exclusive)" type="datetime-local" state={state} />
          <TextField name="customerUserId" label="User" state={state} />
          <TextField name="tag" label="Tag" state={state} />
          <TextField name="errorCode" label="Error code" state={state} />
          <Select
            name="priced"
            label="Price"
            state={state}
            options={[
              ['', 'All'],
              ['true', 'Known'],
              ['false', 'Not known'],
            ]}
          />
          <TextField name="costAboveUsd" label="Cost above, USD" state={state} numeric />
          <Select
            name="usageSource"
            label="Usage"
            state={state}
            options={[
              ['', 'All'],
              ['partial', 'Partial'],
              ['estimated', 'Estimated'],
            ]}
          />
          <Select
            name="sort"
            label="Order"
            state={state}
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
    </form>
  </search>
);

const named = (name: string) => [name, words(name)] as const;

const MORE = ['from', 'to', 'customerUserId', 'tag', 'errorCode', 'priced', 'costAboveUsd', 'usageSource', 'sort'];

function isOpen({ values, details }: FormState): boolean {
  return MORE.some((name) => values[name] !== undefined || details.some(({ path }) => path === name));
}

/** What narrows the list, each with a link that takes it away. */
const Chosen: FC<{ path: string; asked: Asked }> = ({ path, asked }) => {
  const chosen = Object.entries(FILTERS).filter(([name]) => asked[name] !== undefined);
  if (chosen.length === 0) return null;
  return (
    <p class="tags">
      {chosen.map(([name, label]) => {
        const { [name]: value = '', ...rest } = asked;
        return (
          <a class="badge" href={linkTo(path, rest)} title="Take this filter away">
            {label}: {shownFilter(name, value)} ×
          </a>
        );
      })}
      {chosen.length > 1 && <a href={path}>Clear all</a>}
    </p>
  );
};

function shownFilter(name: string, value: string): string {
  if (name === 'from' || name === 'to')
    return `${moment(Date.parse(instantsOf({ [name]: value })[name] ?? value))} UTC`;
  if (name === 'priced') return value === 'true' ? 'known' : 'not known';
  return name === 'status' || name === 'reason' ? words(value) : value;
}

const Totals: FC<{ totals: CallTotals; path: string; asked: Asked }> = ({ totals, path, asked }) => {
  const { calls, unpricedCalls, denied, costNanoUsd, searchedFromMs } = totals;
  const among =
    searchedFromMs === null
      ? 'all that are found'
      : `of the newest ${count(CALLS_SEARCHED_MAX)}, since ${moment(searchedFromMs)} UTC`;
  return (
    <dl class="stats">
      <Stat label="Calls" sub={among}>
        <span class="num">{count(calls)}</span>
      </Stat>
      <Stat
        label="Cost"
        sub={
          unpricedCalls > 0 ? (
            <a
              href={linkTo(path, { ...asked, priced: 'false' })}
            >{`without ${plural(unpricedCalls, 'call')} that have no price`}</a>
          ) : (
            'every ended call is priced'
          )
        }
      >
        <Usd nano={costNanoUsd} />
      </Stat>
      <Stat label="Denied">
        {denied > 0 ? (
          <a class="num" href={linkTo(path, { ...asked, status: 'NOT_ALLOWED' })}>
            {count(denied)}
          </a>
        ) : (
          <span class="num">0</span>
        )}
      </Stat>
    </dl>
  );
};

const NoCalls: FC<{ path: string; narrowed: boolean; setup: string }> = ({ path, narrowed, setup }) =>
  narrowed ? (
    <Empty title="No calls match">
      Where no index helps, a search covers the newest {count(CALLS_SEARCHED_MAX)} calls of the period.{' '}
      <a href={path}>Show all calls</a>.
    </Empty>
  ) : (
    <Empty title="No calls yet">
      An application begins a call with <Code>POST /call_begin</Code> and its key, and reports the usage with{' '}
      <Code>POST /call_end</Code>. The <a href={setup}>setup</a> has the commands.
    </Empty>
  );

interface CallsProps {
  organizationId: string;
  path: string;
  asked: Asked;
  items: CallListItem[];
  nowMs: number;
}

/** Every value leads to the calls that have it too. */
const Calls: FC<CallsProps> = ({ organizationId, path, asked, items, nowMs }) => {
  const { cursor: _, ...kept } = asked;
  const only = (name: keyof typeof FILTERS, value: string | null, text?: Child) =>
    value === null || value === '' ? (
      <Nothing />
    ) : (
      <a href={linkTo(path, { ...kept, [name]: value })}>{text ?? value}</a>
    );
  const costs = items.flatMap(({ costUsdNano }) => (costUsdNano === null ? [] : [BigInt(costUsdNano)]));
  const show = usdColumn(costs);
  const { sort, ...unsorted } = kept;
  const sortBy = (order: 'cost' | undefined): Sort => ({
    href: linkTo(path, order === undefined ? unsorted : { ...unsorted, sort: order }),
    order: sort === order ? 'descending' : null,
  });
  return (
    <Table
      caption="Calls"
      rows={items}
      dense
      columns={[
        {
          title: 'Call',
          heading: true,
          cell: ({ callId }) => (
            <a href={callPath(organizationId, callId)}>
              <Id id={callId} />
            </a>
          ),
        },
        {
          title: 'Began',
          sort: sortBy(undefined),
          cell: ({ startedAt }) => <Time at={startedAt} nowMs={nowMs} brief />,
        },
        {
          title: 'Customer',
          cell: ({ customerId }) => (
            <>
              {only('customerId', customerId)} <a href={customerPath(organizationId, customerId)}>→</a>
            </>
          ),
        },
        { title: 'User', phone: 'hidden', cell: ({ customerUserId }) => only('customerUserId', customerUserId) },
        {
          title: 'State',
          cell: ({ status, reversedAt, usageSource, denial, errorCode }) => (
            <>
              {only(
                'status',
                status,
                <CallState status={status} isReversed={reversedAt !== null} usageSource={usageSource} />,
              )}{' '}
              {denial && only('reason', denial.code, words(denial.code))}
              {errorCode !== null && only('errorCode', errorCode)}
            </>
          ),
        },
        { title: 'Feature', cell: ({ feature }) => only('feature', feature) },
        {
          title: 'Tags',
          phone: 'hidden',
          cell: ({ tags }) =>
            tags.length === 0 ? <Nothing /> : tags.slice(0, TAGS_SHOWN_MAX).map((tag) => [only('tag', tag), ' ']),
        },
        {
          title: 'Model',
          cell: ({ modelUsed }) => only('model', modelUsed, modelUsed !== null && <ModelName name={modelUsed} />),
        },
        {
          title: 'Tokens',
          figure: true,
          phone: 'detail',
          cell: ({ inputTokens, responseTokens }) =>
            inputTokens === null ? (
              <Nothing />
            ) : (
              <span class="num">{`${count(inputTokens)} → ${count(responseTokens ?? 0)}`}</span>
            ),
        },
        {
          title: 'Cost',
          figure: true,
          sort: sortBy('cost'),
          phone: 'figure',
          cell: ({ costUsdNano, status }) =>
            costUsdNano !== null ? (
              <Usd nano={BigInt(costUsdNano)} show={show} />
            ) : status === 'COMPLETED' || status === 'FAILED' ? (
              only('priced', 'false', 'no price')
            ) : (
              <Nothing />
            ),
        },
      ]}
    />
  );
};

function linkTo(path: string, query: Asked): string {
  const search = new URLSearchParams(query).toString();
  return search === '' ? path : `${path}?${search}`;
}
