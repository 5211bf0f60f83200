/**
 * Calls of a customer, shown as in the explorer; a link leads there for filters, order and download.
 */
import { CallsQuery } from '../../contract/call-list.ts';
import { readCalls, readCallTotals } from '../../metering/list-calls.ts';
import { pageRequest } from '../../platform/page.ts';
import { Card, Empty } from '../../ui/parts.tsx';
import { Pager } from '../../ui/table.tsx';
import { readTrail } from '../../ui/trail.ts';
import { CallPeriods, CallSums, CallsTable } from '../calls-table.tsx';
import { customerPath, organizationPath } from '../context.ts';
import type { Tab } from './tab.ts';

const PAGE_SIZE = 50;

export const callsTab: Tab = async ({ c, organizationId, customerId, nowMs }) => {
  const { from, to, cursor } = c.req.query();
  const period = { ...(from && { from }), ...(to && { to }) };
  const checked = CallsQuery.safeParse({ ...period, customerId });
  const query = checked.success ? checked.data : CallsQuery.parse({ customerId });
  const asked = checked.success ? period : {};
  const page = pageRequest({ limit: PAGE_SIZE, cursor }) ?? { limit: PAGE_SIZE, after: null };
  const [found, totals] = await Promise.all([
    readCalls(c.env, organizationId, query, page),
    readCallTotals(c.env, organizationId, query),
  ]);
  if (!found.ok) return null;
  const { items, nextCursor } = found.data;
  const path = customerPath({ organizationId, customerId });
  const explorer = organizationPath(organizationId, 'calls');
  const ofCustomer = { ...asked, customerId };
  return (
    <>
      <div class="toolbar">
        <a href={`${explorer}?${new URLSearchParams(ofCustomer)}`}>Filter, sort and download in the calls explorer</a>
        <CallPeriods path={path} asked={{ tab: 'calls', ...asked }} nowMs={nowMs} />
      </div>
      {items.length > 0 && <CallSums totals={totals} path={explorer} asked={ofCustomer} />}
      <Card>
        {items.length === 0 ? (
          <Empty title={from || to ? 'No calls in this period' : 'No calls yet'}>
            Calls of this customer appear here about a second after they begin.
          </Empty>
        ) : (
          <CallsTable organizationId={organizationId} asked={ofCustomer} items={items} nowMs={nowMs} ofCustomer />
        )}
        <Pager
          path={path}
          query={{ tab: 'calls', ...asked }}
          next={nextCursor}
          first={page.after === null}
          previous={readTrail(c.req.query(), items.length)}
        />
      </Card>
    </>
  );
};
