/**
 * The page of a customer: its identity, its actions, and a tab for each group of an operator's questions.
 */
import type { Hono } from 'hono';
import type { Child, FC } from 'hono/jsx';
import { customerId as customerIdField } from '../../contract/fields.ts';
import type { OperatorCustomer } from '../../contract/operator-customers.ts';
import { planIdOf } from '../../domain/plan.ts';
import { readCustomer } from '../../operator/customers.ts';
import { plural } from '../../ui/format.ts';
import { Badge, Code, Notice, Time } from '../../ui/parts.tsx';
import { type ConsoleContext, type ConsoleEnv, customerPath, organizationPath, planPath } from '../context.ts';
import { callsTab } from '../customer/calls-tab.tsx';
import { changesTab } from '../customer/changes-tab.tsx';
import { settingsTab } from '../customer/settings-tab.tsx';
import type { Tab } from '../customer/tab.ts';
import { usageTab } from '../customer/usage-tab.tsx';
import { walletTab } from '../customer/wallet-tab.tsx';
import { refused } from '../refused.tsx';
import { load } from '../send.ts';
import { page } from '../shell.tsx';

const TABS = {
  usage: { title: 'Usage', read: usageTab },
  calls: { title: 'Calls', read: callsTab },
  wallet: { title: 'Wallet', read: walletTab },
  changes: { title: 'Changes', read: changesTab },
  settings: { title: 'Settings', read: settingsTab },
} as const satisfies Record<string, { title: string; read: Tab }>;

type TabName = keyof typeof TABS;

export function mountCustomer(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/customers/:customerId', async (c) => {
    const { organizationId } = c.get('organization');
    const named = customerIdField.safeParse(c.req.param('customerId'));
    if (!named.success) return refused(c, { code: 'CUSTOMER_NOT_FOUND', message: 'no such customer' });
    const customerId = named.data;
    const tab = tabNamed(c.req.query('tab'));
    const inspected = load(c, readCustomer);
    const customer = inspected.then((answer) => (answer.ok ? answer.data : null));
    const [answer, content] = await Promise.all([
      inspected,
      TABS[tab].read({ c, organizationId, customerId, customer, nowMs: Date.now() }),
    ]);
    if (!answer.ok) return refused(c, answer.refusal);
    return customerPage(c, answer.data, tab, content);
  });
}

/** The requested tab, or the first one. */
function tabNamed(asked: string | undefined): TabName {
  return asked !== undefined && Object.hasOwn(TABS, asked) ? (asked as TabName) : 'usage';
}

function customerPage(c: ConsoleContext, customer: OperatorCustomer, tab: TabName, content: Child) {
  const { organizationId } = c.get('organization');
  const { customerId, subscription } = customer;
  const to = (...rest: string[]) => customerPath({ organizationId, customerId }, ...rest);
  return page(
    c,
    {
      title: subscription.customerFriendlyName ?? customerId,
      sub: <Identity customer={customer} />,
      crumbs: [{ text: 'Customers', href: organizationPath(organizationId, 'customers') }],
      actions: (
        <>
          <a class="button" href={to('credit')}>
            Grant credit
          </a>
          <a class="button primary" href={to('plan')}>
            Change plan
          </a>
        </>
      ),
    },
    <>
      <nav class="page-tabs" aria-label="Customer">
        {Object.entries(TABS).map(([name, { title }]) => (
          <a
            href={name === 'usage' ? to() : `${to()}?${new URLSearchParams({ tab: name })}`}
            aria-current={name === tab ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <Notices customer={customer} />
      {content}
    </>,
  );
}

const Identity: FC<{ customer: OperatorCustomer }> = ({ customer }) => {
  const { organizationId, customerId, subscription, canceled } = customer;
  const { usagePlanVersionId, planName, planVersion, customerEmail, customerFriendlyName } = subscription;
  const plan = planPath(organizationId, planIdOf(usagePlanVersionId));
  return (
    <>
      {customerFriendlyName !== undefined && (
        <>
          <Code>{customerId}</Code> ·{' '}
        </>
      )}
      {customerEmail !== undefined && <>{customerEmail} · </>}
      <a href={plan}>{planName}</a>,{' '}
      <a href={`${plan}?${new URLSearchParams({ version: planVersion })}`}>version {planVersion}</a>{' '}
      <Badge tone={canceled ? 'bad' : 'good'}>{canceled ? 'canceled' : 'active'}</Badge>
    </>
  );
};

const Notices: FC<{ customer: OperatorCustomer }> = ({ customer: { organizationId, outbox, subscription } }) => (
  <>
    {outbox.failures > 0 && (
      <Notice tone="warn" title="Reports are behind.">
        {plural(outbox.pending, 'change')} of this customer could not be sent to reports. {outbox.lastError}
      </Notice>
    )}
    {outbox.setAside > 0 && (
      <Notice tone="warn" title="Reports are incomplete.">
        {plural(outbox.setAside, 'change')} of this customer were refused by the reports' database and are set aside:{' '}
        <Code>operator -- outbox list</Code> shows why.
      </Notice>
    )}
    {subscription.pending && (
      <Notice tone="info" title="A plan change is scheduled.">
        <a href={planPath(organizationId, planIdOf(subscription.pending.usagePlanVersionId))}>
          {subscription.pending.usagePlanVersionId}
        </a>{' '}
        applies at <Time at={subscription.pending.effectiveAt} nowMs={Date.now()} />.
      </Notice>
    )}
  </>
);
