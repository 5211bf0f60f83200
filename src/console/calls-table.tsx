/**
 * Calls as a list, with their totals and the presets of their period, for the explorer and for the page of a customer.
 * Every value of a call links to all calls in the explorer with the same value.
 */

import type { Child, FC } from 'hono/jsx';
import { CALLS_SEARCHED_MAX, type CallListItem, type CallsQuery } from '../contract/call-list.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { CallTotals } from '../metering/list-calls.ts';
import { DAY_MS } from '../platform/time.ts';
import { count, moment, usdColumn, words } from '../ui/format.ts';
import { Nothing, Stat, Time, Usd } from '../ui/parts.tsx';
import { type Sort, Table } from '../ui/table.tsx';
import { CallState } from './calls-view.tsx';
import { linkTo } from './chosen-filters.tsx';
import { callPath, customerPath, organizationPath } from './context.ts';
import { KnownCost, withoutPrice } from './cost.tsx';
import { CopyCallId } from './live.tsx';
import { ModelName } from './model-name.tsx';

const TAGS_SHOWN_MAX = 3;

/** The filters of a list, by their names in the query. */
export type Asked = Record<string, string>;

export const CallPeriods: FC<{ path: string; asked: Asked; nowMs: number }> = ({ path, asked, nowMs }) => {
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

/** The sums of all calls that match `asked`, with links to the explorer. */
export const CallSums: FC<{ totals: CallTotals; path: string; asked: Asked }> = ({ totals, path, asked }) => {
  const { calls, unpricedCalls, denied, costNanoUsd, chargedNanoUsd, searchedFromMs } = totals;
  const among =
    searchedFromMs === null
      ? 'by their begin, with open and denied ones'
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
            >{`${costNanoUsd > 0n ? '+ ' : ''}${withoutPrice(unpricedCalls)}`}</a>
          ) : (
            'every ended call is priced'
          )
        }
      >
        <KnownCost costNanoUsd={costNanoUsd} unpricedCalls={unpricedCalls} />
      </Stat>
      <Stat label="Charged" sub="to balances">
        {chargedNanoUsd === 0n ? <Nothing /> : <Usd nano={chargedNanoUsd} />}
      </Stat>
      <Stat label="Denied calls" sub="of these calls">
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

interface CallsProps {
  organizationId: OrganizationId;
  asked: Asked;
  items: CallListItem[];
  nowMs: number;
  /** Whether all calls belong to the customer of the page. */
  ofCustomer?: boolean;
}

/** Calls as a table. Every value links to all calls with the same value. */
export const CallsTable: FC<CallsProps> = ({ organizationId, asked, items, nowMs, ofCustomer = false }) => {
  const path = organizationPath(organizationId, 'calls');
  const { cursor: _, ...kept } = asked;
  const only = (name: keyof CallsQuery, value: string | null, text?: Child) =>
    value === null || value === '' ? (
      <Nothing />
    ) : (
      <a href={linkTo(path, { ...kept, [name]: value })}>{text ?? value}</a>
    );
  const column = (of: (item: CallListItem) => string | null) =>
    usdColumn(items.map(of).flatMap((nano) => (nano === null ? [] : [BigInt(nano)])));
  const show = column(({ costUsdNano }) => costUsdNano);
  const showCharged = column(({ chargedUsdNano }) => chargedUsdNano);
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
            <span class="whole">
              <a href={callPath(organizationId, callId)} title={callId}>
                {inRow(callId)}
              </a>
              <CopyCallId callId={callId} />
            </span>
          ),
        },
        {
          title: 'Started',
          sort: sortBy(undefined),
          cell: ({ startedAt }) => <Time at={startedAt} nowMs={nowMs} brief />,
        },
        ...(ofCustomer
          ? []
          : [
              {
                title: 'Customer',
                cell: ({ customerId }: CallListItem) => (
                  <span class="whole">
                    {only('customerId', customerId)} <a href={customerPath({ organizationId, customerId })}>→</a>
                  </span>
                ),
              },
            ]),
        { title: 'User', cell: ({ customerUserId }) => only('customerUserId', customerUserId) },
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
        {
          title: 'Charged',
          figure: true,
          cell: ({ chargedUsdNano }) =>
            chargedUsdNano === null ? <Nothing /> : <Usd nano={BigInt(chargedUsdNano)} show={showCharged} />,
        },
      ]}
    />
  );
};

/** Shortens an id to fit one line. The end stays, because ids of one organization differ there. */
function inRow(id: string): string {
  return id.length > 16 ? `${id.slice(0, 4)}…${id.slice(-8)}` : id;
}

/** Shortens a derived id, which is long; links use the whole one. */
export function shortened(id: string): string {
  return id.length > 28 ? `${id.slice(0, 12)}…${id.slice(-10)}` : id;
}
