/**
 * One customer as the object knows it now: subscription, meters, wallet, calls, ledger.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { customerId as customerIdField } from '../../contract/fields.ts';
import type { OperatorCustomer } from '../../contract/operator-customers.ts';
import { METER_NAMES } from '../../domain/meters.ts';
import { inspectCustomer } from '../../operator/customers.ts';
import { nanoOf, plural, words } from '../../ui/format.ts';
import { Badge, Card, Code, Empty, Facts, Nothing, Notice, Time, Usd } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { shortened } from '../calls-table.tsx';
import { CallState } from '../calls-view.tsx';
import { type ConsoleContext, type ConsoleEnv, callPath, customerPath, organizationPath } from '../context.ts';
import { Meters } from '../meters-view.tsx';
import { ModelName } from '../model-name.tsx';
import { refused } from '../refused.tsx';
import { page } from '../shell.tsx';

export function mountCustomer(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/customers/:customerId', async (c) => {
    const { organizationId } = c.get('organization');
    const customerId = c.req.param('customerId');
    if (!customerIdField.safeParse(customerId).success)
      return refused(c, { code: 'CUSTOMER_NOT_FOUND', message: 'no such customer' });
    const answer = await inspectCustomer(c.env, organizationId, customerId);
    if (!answer.ok) return refused(c, answer.refusal);
    return customerPage(c, answer.data);
  });
}

function customerPage(c: ConsoleContext, customer: OperatorCustomer) {
  const { organizationId } = c.get('organization');
  const { customerId, subscription, canceled } = customer;
  const nowMs = Date.now();
  const to = (...rest: string[]) => customerPath(organizationId, customerId, ...rest);
  return page(
    c,
    {
      title: subscription.customerFriendlyName ?? customerId,
      sub: (
        <>
          <Code>{customerId}</Code> · {subscription.planName}, version {subscription.planVersion}{' '}
          <Badge tone={canceled ? 'bad' : 'good'}>{canceled ? 'canceled' : 'active'}</Badge>
        </>
      ),
      crumbs: [{ text: 'Customers', href: organizationPath(organizationId, 'customers') }],
      actions: (
        <>
          <a class="button" href={to('credit')}>
            Grant credit
          </a>
          <a class="button" href={to('reverse-increment')}>
            Reverse increment
          </a>
          <a class="button" href={to(canceled ? 'reactivate' : 'cancel')}>
            {canceled ? 'Reactivate' : 'Cancel'}
          </a>
          <a class="button primary" href={to('plan')}>
            Change plan
          </a>
        </>
      ),
    },
    <>
      {customer.outbox.failures > 0 && (
        <Notice tone="warn" title="Reports are behind.">
          {plural(customer.outbox.pending, 'change')} of this customer could not be sent to reports.{' '}
          {customer.outbox.lastError}
        </Notice>
      )}
      {customer.outbox.setAside > 0 && (
        <Notice tone="warn" title="Reports are incomplete.">
          {plural(customer.outbox.setAside, 'change')} of this customer were refused by the reports' database and are
          set aside: <Code>operator -- outbox list</Code> shows why.
        </Notice>
      )}
      {subscription.pending && (
        <Notice tone="info" title="A plan change is scheduled.">
          <Code>{subscription.pending.usagePlanVersionId}</Code> applies at{' '}
          <Time at={subscription.pending.effectiveAt} nowMs={nowMs} />.
        </Notice>
      )}
      <Card title="Meters of the period" wide note={<Period customer={customer} nowMs={nowMs} />}>
        <Meters rows={METER_NAMES.flatMap((name) => rowOf(name, customer))} />
      </Card>
      <div class="grid">
        <Card title="Subscription">
          <Subscription customer={customer} nowMs={nowMs} />
        </Card>
        <Card title="Wallet" actions={<a href={to('credit')}>Grant credit</a>}>
          <Wallet wallet={customer.wallet} />
        </Card>
        <Card
          title="Last calls"
          wide
          actions={
            <a href={`${organizationPath(organizationId, 'calls')}?${new URLSearchParams({ customerId })}`}>
              All calls
            </a>
          }
        >
          <RecentCalls organizationId={organizationId} calls={customer.recentCalls} nowMs={nowMs} />
        </Card>
        <Card title="Credits" wide>
          <Credits customer={customer} nowMs={nowMs} />
        </Card>
        <Card title="Ledger" wide note="The latest balance changes, newest first.">
          <Ledger ledger={customer.ledger} nowMs={nowMs} />
        </Card>
        <section class="card wide danger-zone" aria-label="Erasure">
          <h2>Erasure</h2>
          <p class="quiet">Removes all data of this customer: usage, credits, calls, samples. This cannot be undone.</p>
          <div class="submit">
            <a class="button" href={to('erase')}>
              Erase customer
            </a>
          </div>
        </section>
      </div>
    </>,
  );
}

/** A custom slot that the plan does not have is left out. */
function rowOf(name: (typeof METER_NAMES)[number], { meters }: OperatorCustomer) {
  const meter = meters[name];
  const isSlot = name === 'agenticApi' || name.startsWith('custom');
  return !meter || (isSlot && meter.limit === 0 && meter.used === 0) ? [] : [{ name: words(name), meter }];
}

const Period: FC<{ customer: OperatorCustomer; nowMs: number }> = ({
  customer: { subscription, openCalls },
  nowMs,
}) => (
  <>
    Since <Time at={subscription.lastReplenishedAt} nowMs={nowMs} /> · renews{' '}
    <Time at={subscription.nextReplenishAt} nowMs={nowMs} />
    {openCalls > 0 && ` · ${plural(openCalls, 'call')} in progress, with what they reserve`}
  </>
);

const Subscription: FC<{ customer: OperatorCustomer; nowMs: number }> = ({ customer, nowMs }) => {
  const { subscription, policy, createdAt, stripeCustomerId } = customer;
  return (
    <Facts
      items={[
        ['Plan', <Code>{subscription.usagePlanVersionId}</Code>],
        ['When used up', words(policy)],
        ['Reasoning ceiling', words(subscription.reasoningLevel)],
        ['E-mail', subscription.customerEmail],
        ['Stripe customer', stripeCustomerId && <Code>{stripeCustomerId}</Code>],
        ['Customer since', <Time at={createdAt} nowMs={nowMs} />],
        ['Subscription', <Code>{subscription.id}</Code>],
        ['Changes so far', String(subscription.subscriptionVersion)],
      ]}
    />
  );
};

const Wallet: FC<{ wallet: OperatorCustomer['wallet'] }> = ({ wallet }) => (
  <Facts
    items={[
      ['Available', <strong>{<Usd nano={nanoOf(wallet.availableUsd)} />}</strong>],
      ['Balance', <Usd nano={nanoOf(wallet.balanceUsd)} />],
      ['Held by open calls', <Usd nano={nanoOf(wallet.heldUsd)} />],
      [
        'Not settled yet',
        <>
          <Usd nano={nanoOf(wallet.unsettledUsd)} />{' '}
          <span class="quiet">of {plural(wallet.openCharges, 'charge')}</span>
        </>,
      ],
      ...Object.entries(wallet.units)
        .filter(([, units]) => units > 0)
        .map(([slot, units]) => [`${words(slot)} units`, units.toLocaleString('en-US')] as const),
    ]}
  />
);

const Amount: FC<{ unit: string; exact: string }> = ({ unit, exact }) =>
  unit === 'USD' ? (
    <Usd nano={nanoOf(exact)} />
  ) : (
    <span class="num">{`${Number(exact).toLocaleString('en-US')} ${words(unit)}`}</span>
  );

const Credits: FC<{ customer: OperatorCustomer; nowMs: number }> = ({ customer, nowMs }) =>
  customer.credits.length === 0 ? (
    <Empty title="No credit">
      Credit pays for what the plan's allowance does not cover, where the plan is pay-as-you-go.
    </Empty>
  ) : (
    <Table
      caption="Credits"
      rows={customer.credits}
      columns={[
        { title: 'Credit', heading: true, cell: ({ creditId }) => <Code>{creditId}</Code> },
        { title: 'Reference', cell: ({ reference }) => reference ?? <Nothing /> },
        { title: 'Granted', cell: ({ grantedAt }) => <Time at={grantedAt} nowMs={nowMs} brief /> },
        {
          title: 'Expires',
          cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Time at={expiresAt} nowMs={nowMs} />),
        },
        { title: 'Amount', figure: true, cell: ({ unit, granted }) => <Amount unit={unit} exact={granted} /> },
        { title: 'Left', figure: true, cell: ({ unit, remaining }) => <Amount unit={unit} exact={remaining} /> },
        {
          title: 'Correction',
          cell: ({ creditId }) => (
            <a href={customerPath(customer.organizationId, customer.customerId, 'credits', creditId, 'revoke')}>
              Revoke
            </a>
          ),
        },
      ]}
    />
  );

const Ledger: FC<{ ledger: OperatorCustomer['ledger']; nowMs: number }> = ({ ledger, nowMs }) =>
  ledger.length === 0 ? (
    <Empty title="No entries yet">Grants, charges, expiries and revocations appear here.</Empty>
  ) : (
    <Table
      caption="Ledger"
      rows={ledger}
      columns={[
        { title: 'When', heading: true, cell: ({ at }) => <Time at={at} nowMs={nowMs} /> },
        {
          title: 'Cause',
          cell: ({ cause }) => (
            <Badge
              tone={
                cause === 'GRANT' || cause === 'RETURN'
                  ? 'good'
                  : cause === 'EXPIRY' || cause === 'REVOKE'
                    ? 'warn'
                    : 'plain'
              }
            >
              {words(cause)}
            </Badge>
          ),
        },
        { title: 'Reference', cell: ({ reference }) => reference ?? <Nothing /> },
        { title: 'Change', figure: true, cell: ({ unit, amount }) => <Amount unit={unit} exact={amount} /> },
        { title: 'Balance', figure: true, cell: ({ unit, balance }) => <Amount unit={unit} exact={balance} /> },
      ]}
    />
  );

interface RecentCallsProps {
  organizationId: string;
  calls: OperatorCustomer['recentCalls'];
  nowMs: number;
}

const RecentCalls: FC<RecentCallsProps> = ({ organizationId, calls, nowMs }) =>
  calls.length === 0 ? (
    <Empty title="No calls yet">Calls of this customer appear here as soon as they begin.</Empty>
  ) : (
    <Table
      caption="Last calls"
      rows={calls}
      columns={[
        {
          title: 'Call',
          heading: true,
          cell: ({ callId }) => <a href={callPath(organizationId, callId)}>{shortened(callId)}</a>,
        },
        {
          title: 'State',
          cell: ({ status, reversedAt, usageSource }) => (
            <CallState status={status} isReversed={reversedAt !== undefined} usageSource={usageSource} />
          ),
        },
        {
          title: 'Model',
          cell: ({ modelUsed }) => (modelUsed === null ? <Nothing /> : <ModelName name={modelUsed} />),
        },
        { title: 'Began', cell: ({ startTime }) => <Time at={startTime} nowMs={nowMs} /> },
        {
          title: 'Cost',
          figure: true,
          cell: ({ costUSD }) => (costUSD === null ? <Nothing /> : <Usd nano={nanoOf(costUSD.toFixed(9))} />),
        },
      ]}
    />
  );
