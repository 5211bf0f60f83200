/**
 * Actions of an operator on a customer, each on its own page that states the effect first: grant credit, revoke it,
 * cancel, reactivate, erase.
 */

import type { Hono } from 'hono';
import { type Answer, badRequest } from '../../contract/errors.ts';
import type { CustomerId, CustomerKey } from '../../domain/ids.ts';
import {
  cancelCustomer,
  eraseCustomer,
  grantCredit,
  reactivateCustomer,
  readCustomer,
  revokeCredit,
} from '../../operator/customers.ts';
import { BLANK, Form, type FormSecrets, type FormState, Submit, TextField } from '../../ui/form.tsx';
import { count, words } from '../../ui/format.ts';
import { Card, Code, Empty, Facts, Notice } from '../../ui/parts.tsx';
import { type ConsoleContext, type ConsoleEnv, customerInPath, customerPath, organizationPath } from '../context.ts';
import { refused } from '../refused.tsx';
import { BodyFields, bodyIn } from '../schema-form.tsx';
import { load, send, sends, wrong } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { text } from '../submitted.ts';

const BASE = '/organizations/:org/customers/:customerId';
const CREDIT_KINDS = [
  ['USD', 'US dollars', 'pay for calls and units beyond the allowance, on pay-as-you-go plans'],
  ['METER', 'Units of a custom meter', 'are spent before dollars'],
] as const;

const USD_CREDIT: FormState = { values: { kind: 'USD' }, details: [] };

export function mountCustomerActions(app: Hono<ConsoleEnv>): void {
  app.get(`${BASE}/credit`, (c) => creditPage(c, USD_CREDIT));

  app.post(`${BASE}/credit`, async (c) => {
    const answer = await send(c, grantCredit, { body: bodyIn(grantCredit, c.get('submitted').fields) });
    return answer.ok ? toTab(c, 'wallet', 'credit') : creditPage(c, wrong(c, answer.refusal));
  });

  app.get(`${BASE}/credits/:creditId/revoke`, (c) => revokePage(c, BLANK));

  app.post(`${BASE}/credits/:creditId/revoke`, async (c) => {
    const answer = await send(c, revokeCredit, { body: bodyIn(revokeCredit, c.get('submitted').fields) });
    if (answer.ok) return toTab(c, 'wallet', 'credit-revoked');
    const { refusal } = answer;
    return refusal.code === 'BAD_REQUEST' ? revokePage(c, wrong(c, refusal)) : refused(c, refusal);
  });

  app.get(`${BASE}/cancel`, (c) => cancelPage(c));
  app.post(`${BASE}/cancel`, async (c) => toSettings(c, await send(c, cancelCustomer), 'canceled'));

  app.get(`${BASE}/reactivate`, (c) => reactivatePage(c));
  app.post(`${BASE}/reactivate`, async (c) => toSettings(c, await send(c, reactivateCustomer), 'reactivated'));

  app.get(`${BASE}/erase`, (c) => erasePage(c, BLANK));

  app.post(`${BASE}/erase`, sends(eraseCustomer), async (c) => {
    const { customerId } = customerKey(c);
    if (text(c.get('submitted').fields, 'confirmation') !== customerId) {
      const other = badRequest({ path: 'confirmation', message: `must be ${customerId}, exactly as shown` });
      return erasePage(c, wrong(c, other.refusal));
    }
    const answer = await send(c, eraseCustomer);
    return answer.ok ? erasedPage(c, customerId, answer.data.erased) : refused(c, answer.refusal);
  });
}

function toSettings(c: ConsoleContext, answer: Answer<unknown>, done: string) {
  return answer.ok ? toTab(c, 'settings', done) : refused(c, answer.refusal);
}

/** Redirects to a tab of the customer's page, which confirms the action. */
function toTab(c: ConsoleContext, tab: string, done: string) {
  const { organizationId, customerId } = customerKey(c);
  return c.redirect(`${customerPath({ organizationId, customerId })}?${new URLSearchParams({ tab, done })}`, 303);
}

function customerKey(c: ConsoleContext): CustomerKey {
  return { organizationId: c.get('organization').organizationId, customerId: customerInPath(c) };
}

/** The page of an action, below the customer's own. If the customer does not exist, the page offers nothing. */
async function actionPage(
  c: ConsoleContext,
  title: string,
  status: 200 | 400,
  content: (path: string, secrets: FormSecrets) => unknown,
) {
  const { organizationId, customerId } = customerKey(c);
  const known = await load(c, readCustomer);
  if (!known.ok) return refused(c, known.refusal);
  const path = customerPath({ organizationId, customerId });
  const crumbs = [
    { text: 'Customers', href: organizationPath(organizationId, 'customers') },
    { text: customerId, href: path },
  ];
  return page(c, { title, status, crumbs }, <Card>{content(path, formSecrets(c)) as never}</Card>);
}

const formStatus = ({ details }: FormState) => (details.length > 0 ? 400 : 200);

function creditPage(c: ConsoleContext, state: FormState) {
  return actionPage(c, 'Grant credit', formStatus(state), (path, secrets) => (
    <Form of={grantCredit} action={`${path}/credit`} secrets={secrets} state={state}>
      <BodyFields
        of={grantCredit}
        paths={['kind']}
        overrides={{ kind: { label: 'Credit type', hint: 'What the customer gets.', options: CREDIT_KINDS } }}
      />
      <div class="columns">
        <BodyFields of={grantCredit} paths={['amountUsd', 'meterSlot', 'units']} />
      </div>
      <div class="columns">
        <BodyFields of={grantCredit} paths={['expiresAt', 'reference']} />
      </div>
      <Submit back={path}>Grant credit</Submit>
    </Form>
  ));
}

function revokePage(c: ConsoleContext, state: FormState) {
  const creditId = c.req.param('creditId') ?? '';
  return actionPage(c, 'Revoke credit', formStatus(state), (path, secrets) => (
    <Form
      of={revokeCredit}
      action={`${path}/credits/${encodeURIComponent(creditId)}/revoke`}
      secrets={secrets}
      state={state}
    >
      <p>
        What is left of <Code>{creditId}</Code> is revoked. What is spent stays spent.
      </p>
      <BodyFields of={revokeCredit} />
      <Submit back={path} danger>
        Revoke credit
      </Submit>
    </Form>
  ));
}

function cancelPage(c: ConsoleContext) {
  return actionPage(c, 'Cancel subscription', 200, (path, secrets) => (
    <Form of={cancelCustomer} action={`${path}/cancel`} secrets={secrets}>
      <p>
        New calls of this customer are denied. Usage, credits and history are kept, calls in progress may end, and you
        can reactivate the subscription.
      </p>
      <Submit back={path} danger>
        Cancel subscription
      </Submit>
    </Form>
  ));
}

function reactivatePage(c: ConsoleContext) {
  return actionPage(c, 'Reactivate subscription', 200, (path, secrets) => (
    <Form of={reactivateCustomer} action={`${path}/reactivate`} secrets={secrets}>
      <p>Calls are allowed again, within the plan and the rest of the period's allowances.</p>
      <Submit back={path}>Reactivate subscription</Submit>
    </Form>
  ));
}

function erasePage(c: ConsoleContext, state: FormState) {
  const { customerId } = customerKey(c);
  return actionPage(c, 'Erase customer', formStatus(state), (path, secrets) => (
    <Form of={eraseCustomer} action={`${path}/erase`} secrets={secrets} state={state}>
      <Notice tone="bad" title="This cannot be undone.">
        Everything of <strong>{customerId}</strong> goes: account, usage, calls, credits and what is left of them,
        samples. The event log keeps that it was done.
      </Notice>
      <TextField name="confirmation" label={`Type ${customerId} to confirm`} required />
      <Submit back={path} danger>
        Erase everything
      </Submit>
    </Form>
  ));
}

function erasedPage(c: ConsoleContext, customerId: CustomerId, erased: Record<string, number | boolean>) {
  const { organizationId } = c.get('organization');
  const path = organizationPath(organizationId, 'customers');
  const rows = Object.entries(erased).map(
    ([name, value]) => [words(name), typeof value === 'number' ? count(value) : value ? 'erased' : 'was gone'] as const,
  );
  return page(
    c,
    { title: 'Erased', crumbs: [{ text: 'Customers', href: path }] },
    <Card>
      <Empty title="The customer is erased">
        No data of <Code>{customerId}</Code> is left. <a href={path}>Back to the customers</a>.
      </Empty>
      <Facts items={rows} />
    </Card>,
  );
}
