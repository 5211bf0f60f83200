/**
 * Wallet of a customer: balance, credits, and the ledger, whose entries link to the calls that they paid for.
 */

import { createContext, type FC, useContext } from 'hono/jsx';
import type { LedgerItem } from '../../contract/ledger.ts';
import type { OperatorCustomer } from '../../contract/operator-customers.ts';
import { asCallId } from '../../domain/ids.ts';
import { meterTitle } from '../../domain/meter-names.ts';
import { METER_SLOTS, type MeterSlot, SLOT_METERS } from '../../domain/meters.ts';
import { planIdOf } from '../../domain/plan.ts';
import { type PlanDetail, readPlan } from '../../operator/plans.ts';
import { listCustomerLedger } from '../../operator/readings.ts';
import { pageRequest } from '../../platform/page.ts';
import { count, parseNanoUsd, plural, usdColumn, words } from '../../ui/format.ts';
import { Badge, Card, Code, Empty, Nothing, Stat, Time, type Tone, Usd, Warnings } from '../../ui/parts.tsx';
import { Pager, Table } from '../../ui/table.tsx';
import { readTrail } from '../../ui/trail.ts';
import { shortened } from '../calls-table.tsx';
import { callPath, customerPath } from '../context.ts';
import { CopyCallId } from '../live.tsx';
import { planAtVersion } from '../plan-versions.ts';
import { load } from '../send.ts';
import type { Tab } from './tab.ts';

const PAGE_SIZE = 50;

export const walletTab: Tab = async ({ c, organizationId, customerId, customer: reading, nowMs }) => {
  const { cursor } = c.req.query();
  const page = pageRequest({ limit: PAGE_SIZE, cursor }) ?? { limit: PAGE_SIZE, after: null };
  const [customer, listed] = await Promise.all([reading, load(c, listCustomerLedger, { page })]);
  if (!customer || !listed.ok) return null;
  const { wallet, failedCharges, warnings, subscription } = customer;
  const planId = planIdOf(subscription.usagePlanVersionId);
  const plan = await load(c, readPlan, { params: { planId } });
  const { items, nextCursor } = listed.data;
  return (
    <CustomersPlan.Provider value={plan.ok ? planAtVersion([plan.data], subscription.usagePlanVersionId) : undefined}>
      <Warnings title="Credit that cannot pay." texts={warnings} />
      <Balances wallet={wallet} />
      {failedCharges.length > 0 && (
        <Card
          title="Charges that Stripe does not take"
          wide
          note="The balance has paid them. Callmeter retries what Stripe refuses for 23 hours."
        >
          <FailedCharges customer={customer} nowMs={nowMs} />
        </Card>
      )}
      <Card
        title="Credits"
        wide
        note="In the order in which they are spent."
        actions={<a href={customerPath({ organizationId, customerId }, 'credit')}>Grant credit</a>}
      >
        <Credits customer={customer} nowMs={nowMs} />
      </Card>
      <Card title="Ledger" wide note="Balance changes, newest first.">
        <Ledger customer={customer} ledger={items} nowMs={nowMs} />
        <Pager
          path={customerPath({ organizationId, customerId })}
          query={{ tab: 'wallet' }}
          next={nextCursor}
          first={page.after === null}
          previous={readTrail(c.req.query(), items.length)}
        />
      </Card>
    </CustomersPlan.Provider>
  );
};

/** The plan that names the units of custom meters. */
const CustomersPlan = createContext<PlanDetail['plan'] | undefined>(undefined);

/** The name of what a credit has units of. */
const Unit: FC<{ slot: MeterSlot }> = ({ slot }) => <>{meterTitle(SLOT_METERS[slot], useContext(CustomersPlan))}</>;

const Balances: FC<{ wallet: OperatorCustomer['wallet'] }> = ({ wallet }) => (
  <dl class="stats">
    <Stat label="Available" sub="what new usage may spend">
      <Usd nano={parseNanoUsd(wallet.availableUsd)} />
    </Stat>
    <Stat label="Balance">
      <Usd nano={parseNanoUsd(wallet.balanceUsd)} />
    </Stat>
    <Stat label="Held" sub="by open calls">
      <Usd nano={parseNanoUsd(wallet.heldUsd)} />
    </Stat>
    <Stat label="Not settled yet" sub={plural(wallet.openCharges, 'charge')}>
      <Usd nano={parseNanoUsd(wallet.unsettledUsd)} />
    </Stat>
    {METER_SLOTS.map((slot) => {
      const units = wallet.units[slot];
      return (
        units > 0 && (
          <Stat label={<Unit slot={slot} />} sub="purchased units left">
            <span class="num">{count(units)}</span>
          </Stat>
        )
      );
    })}
  </dl>
);

/** An amount with its unit; dollars have the decimals of their column. */
const Amount: FC<{ unit: 'USD' | MeterSlot; exact: string; show: (nano: bigint) => string }> = ({
  unit,
  exact,
  show,
}) =>
  unit === 'USD' ? (
    <Usd nano={parseNanoUsd(exact)} show={show} />
  ) : (
    <span class="num">
      {count(BigInt(exact))} <Unit slot={unit} />
    </span>
  );

/** A common format for the dollars of a column. */
function dollarColumn(amounts: readonly { unit: string; exact: string }[]): (nano: bigint) => string {
  return usdColumn(amounts.flatMap(({ unit, exact }) => (unit === 'USD' ? [parseNanoUsd(exact)] : [])));
}

/** The anchor of the credit in the list of credits. */
const creditAnchor = (creditId: string) => `credit-${creditId}`;

const Credits: FC<{ customer: OperatorCustomer; nowMs: number }> = ({
  customer: { organizationId, customerId, credits },
  nowMs,
}) => {
  if (credits.length === 0)
    return (
      <Empty title="No credit">
        Credit pays for what the plan's allowance does not cover, if the plan is pay-as-you-go.
      </Empty>
    );
  const show = dollarColumn(
    credits.flatMap(({ unit, granted, remaining }) => [granted, remaining].map((exact) => ({ unit, exact }))),
  );
  return (
    <Table
      caption="Credits"
      rows={credits}
      columns={[
        {
          title: 'Credit',
          heading: true,
          cell: ({ creditId }) => (
            <span id={creditAnchor(creditId)} title={creditId}>
              <Code>{shortened(creditId)}</Code>
            </span>
          ),
        },
        { title: 'Reference', cell: ({ reference }) => reference ?? <Nothing /> },
        { title: 'Granted', cell: ({ grantedAt }) => <Time at={grantedAt} nowMs={nowMs} brief /> },
        {
          title: 'Expires',
          cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Time at={expiresAt} nowMs={nowMs} />),
        },
        {
          title: 'Amount',
          figure: true,
          phone: 'detail',
          cell: ({ unit, granted }) => <Amount unit={unit} exact={granted} show={show} />,
        },
        {
          title: 'Left',
          figure: true,
          phone: 'figure',
          cell: ({ unit, remaining }) => <Amount unit={unit} exact={remaining} show={show} />,
        },
        {
          title: 'Correction',
          cell: ({ creditId }) => (
            <a href={customerPath({ organizationId, customerId }, 'credits', creditId, 'revoke')}>Revoke</a>
          ),
        },
      ]}
    />
  );
};

const FailedCharges: FC<{ customer: OperatorCustomer; nowMs: number }> = ({
  customer: { organizationId, failedCharges },
  nowMs,
}) => {
  const show = dollarColumn(failedCharges.map(({ amountUsd }) => ({ unit: 'USD', exact: amountUsd })));
  return (
    <Table
      caption="Charges that Stripe does not take"
      rows={failedCharges}
      columns={[
        { title: 'When', heading: true, cell: ({ at }) => <Time at={at} nowMs={nowMs} /> },
        {
          title: 'For',
          cell: ({ subject, subjectId }) =>
            subject === 'call' ? (
              <>
                <a href={callPath(organizationId, asCallId(subjectId))} title={subjectId}>
                  {shortened(subjectId)}
                </a>
                <CopyCallId callId={subjectId} />
              </>
            ) : (
              <span title={subjectId}>increment {shortened(subjectId)}</span>
            ),
        },
        { title: 'Customer at Stripe', cell: ({ stripeCustomerId }) => <Code>{stripeCustomerId}</Code> },
        { title: 'Reason', cell: ({ reason }) => <Code>{reason}</Code> },
        {
          title: 'Tried again',
          cell: ({ nextAttemptAt }) =>
            nextAttemptAt === null ? 'never' : <Time at={nextAttemptAt} nowMs={nowMs} brief />,
        },
        {
          title: 'Amount',
          figure: true,
          cell: ({ amountUsd }) => <Amount unit="USD" exact={amountUsd} show={show} />,
        },
      ]}
    />
  );
};

const CAUSES: Record<LedgerItem['cause'], { name: string; tone: Tone }> = {
  GRANT: { name: 'Granted', tone: 'good' },
  SPEND: { name: 'Spent', tone: 'plain' },
  EXPIRY: { name: 'Expired', tone: 'warn' },
  REVOKE: { name: 'Revoked', tone: 'warn' },
  RETURN: { name: 'Returned', tone: 'good' },
};

const Ledger: FC<{ customer: OperatorCustomer; ledger: readonly LedgerItem[]; nowMs: number }> = ({
  customer,
  ledger,
  nowMs,
}) => {
  if (ledger.length === 0)
    return <Empty title="No entries yet">Grants, charges, expiries and revocations appear here.</Empty>;
  const changes = dollarColumn(ledger.map(({ unit, amount }) => ({ unit, exact: amount })));
  const balances = dollarColumn(ledger.map(({ unit, balance }) => ({ unit, exact: balance })));
  return (
    <Table
      caption="Ledger"
      rows={ledger}
      dense
      columns={[
        { title: 'When', heading: true, cell: ({ at }) => <Time at={at} nowMs={nowMs} /> },
        {
          title: 'Cause',
          cell: ({ cause, correction }) => (
            <>
              <Badge tone={CAUSES[cause].tone}>{CAUSES[cause].name}</Badge>
              {correction !== null && <span class="sub">{words(correction).toLowerCase()}</span>}
            </>
          ),
        },
        { title: 'For', cell: (entry) => <Reference customer={customer} entry={entry} /> },
        { title: 'Credit', cell: (entry) => <CreditOf customer={customer} entry={entry} /> },
        {
          title: 'Change',
          figure: true,
          cell: ({ unit, amount }) => <Amount unit={unit} exact={amount} show={changes} />,
        },
        {
          title: 'Balance',
          figure: true,
          cell: ({ unit, balance }) => <Amount unit={unit} exact={balance} show={balances} />,
        },
      ]}
    />
  );
};

/**
 * The call or the increment that an entry paid or refunded; the stored reference for other entries and for old ones.
 */
const Reference: FC<{ customer: OperatorCustomer; entry: LedgerItem }> = ({
  customer: { organizationId, customerId },
  entry: { callId, eventId, feature, chargeId, reference },
}) => {
  const of = feature === null ? null : <span class="sub">{feature}</span>;
  if (callId !== null)
    return (
      <>
        call{' '}
        <a href={callPath(organizationId, callId)} title={callId}>
          {shortened(callId)}
        </a>
        <CopyCallId callId={callId} />
        {of}
      </>
    );
  if (eventId !== null) {
    const reverse = customerPath({ organizationId, customerId }, 'reverse-increment');
    return (
      <>
        increment <a href={`${reverse}?${new URLSearchParams({ eventId })}`}>{shortened(eventId)}</a>
        {of}
      </>
    );
  }
  if (chargeId !== null) return <span title={chargeId}>charge {shortened(chargeId)}</span>;
  return reference === null ? <Nothing /> : <span>{reference}</span>;
};

const CreditOf: FC<{ customer: OperatorCustomer; entry: LedgerItem }> = ({
  customer: { credits },
  entry: { creditId },
}) => {
  if (creditId === null) return <span class="quiet">overdraft</span>;
  const isLeft = credits.some((credit) => credit.creditId === creditId);
  return isLeft ? (
    <a href={`#${creditAnchor(creditId)}`}>{shortened(creditId)}</a>
  ) : (
    <span class="quiet" title={`${creditId}: nothing is left of it`}>
      {shortened(creditId)}
    </span>
  );
};
