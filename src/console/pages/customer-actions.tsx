/**
 * What an operator does to a customer, each on a page of its own that says what will happen: grant credit and
 * take it back, cancel, reactivate, erase.
 */

import type { Hono } from 'hono';
import type { FC, PropsWithChildren } from 'hono/jsx';
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
import { Choice, Form, type FormSecrets, type FormState, Select, TextField } from '../../ui/form.tsx';
import { count, words } from '../../ui/format.ts';
import { Card, Code, Empty, Facts, Notice } from '../../ui/parts.tsx';
import {
  type ConsoleContext,
  type ConsoleEnv,
  customerInPath,
  customerPath,
  type Fields,
  organizationPath,
} from '../context.ts';
import { refused } from '../refused.tsx';
import { load, send, sends, wrong } from '../send.ts';
import { page, secretsOf } from '../shell.tsx';
import { optionalText, text, typedNumber } from '../submitted.ts';

const BASE = '/organizations/:org/customers/:customerId';
const BLANK: FormState = { values: { kind: 'USD', meterSlot: 'CUSTOM1' }, details: [] };

export function mountCustomerActions(app: Hono<ConsoleEnv>): void {
  app.get(`${BASE}/credit`, (c) => creditPage(c, BLANK));

  app.post(`${BASE}/credit`, async (c) => {
    const answer = await send(c, grantCredit, { body: grantOf(c.get('submitted').fields) });
    return answer.ok ? toTab(c, 'wallet', 'credit') : creditPage(c, wrong(c, answer.refusal));
  });

  app.get(`${BASE}/credits/:creditId/revoke`, (c) => revokePage(c, { values: {}, details: [] }));

  app.post(`${BASE}/credits/:creditId/revoke`, async (c) => {
    const answer = await send(c, revokeCredit, { body: { reason: text(c.get('submitted').fields, 'reason') } });
    if (answer.ok) return toTab(c, 'wallet', 'credit-revoked');
    const { refusal } = answer;
    return refusal.code === 'BAD_REQUEST' ? revokePage(c, wrong(c, refusal)) : refused(c, refusal);
  });

  app.get(`${BASE}/cancel`, (c) => cancelPage(c));
  app.post(`${BASE}/cancel`, async (c) => toSettings(c, await send(c, cancelCustomer), 'canceled'));

  app.get(`${BASE}/reactivate`, (c) => reactivatePage(c));
  app.post(`${BASE}/reactivate`, async (c) => toSettings(c, await send(c, reactivateCustomer), 'reactivated'));

  app.get(`${BASE}/erase`, (c) => erasePage(c, { values: {}, details: [] }));

  app.post(`${BASE}/erase`, sends(eraseCustomer), async (c) => {
    const { customerId } = addressOf(c);
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

/** To a tab of the customer's page, which says what was done. */
function toTab(c: ConsoleContext, tab: string, done: string) {
  const { organizationId, customerId } = addressOf(c);
  return c.redirect(`${customerPath({ organizationId, customerId })}?${new URLSearchParams({ tab, done })}`, 303);
}

function addressOf(c: ConsoleContext): CustomerKey {
  return { organizationId: c.get('organization').organizationId, customerId: customerInPath(c) };
}

/** The fields as the operator API takes them. */
function grantOf(fields: Fields): unknown {
  const day = optionalText(fields, 'expiresOn');
  const terms = {
    ...(day && { expiresAt: `${day}T00:00:00Z` }),
    ...optional('reference', optionalText(fields, 'reference')),
  };
  return text(fields, 'kind') === 'METER'
    ? { kind: 'METER', meterSlot: text(fields, 'meterSlot'), units: typedNumber(fields, 'units'), ...terms }
    : { kind: 'USD', amountUsd: text(fields, 'amountUsd').replace(/^\$/, ''), ...terms };
}

function optional(name: string, value: string | undefined) {
  return value === undefined ? {} : { [name]: value };
}

/** A page about a customer, below the customer's own. Nothing is offered for one that does not exist. */
async function actionPage(
  c: ConsoleContext,
  title: string,
  status: 200 | 400,
  content: (path: string, secrets: FormSecrets) => unknown,
) {
  const { organizationId, customerId } = addressOf(c);
  const known = await load(c, readCustomer);
  if (!known.ok) return refused(c, known.refusal);
  const path = customerPath({ organizationId, customerId });
  const crumbs = [
    { text: 'Customers', href: organizationPath(organizationId, 'customers') },
    { text: customerId, href: path },
  ];
  return page(c, { title, status, crumbs }, <Card>{content(path, secretsOf(c)) as never}</Card>);
}

const Buttons: FC<PropsWithChildren<{ back: string; danger?: boolean }>> = ({ back, danger, children }) => (
  <div class="submit">
    <button type="submit" class={danger ? 'danger' : 'primary'}>
      {children}
    </button>
    <a href={back}>Go back</a>
  </div>
);

const statusOf = ({ details }: FormState) => (details.length > 0 ? 400 : 200);

function creditPage(c: ConsoleContext, state: FormState) {
  // What a broken expiry is called in the API; the form asks for a day.
  const details = state.details.map((detail) =>
    detail.path === 'expiresAt' ? { ...detail, path: 'expiresOn' } : detail,
  );
  return actionPage(c, 'Grant credit', statusOf(state), (path, secrets) => (
    <CreditForm path={path} secrets={secrets} state={{ ...state, details }} />
  ));
}

const CreditForm: FC<{ path: string; secrets: FormSecrets; state: FormState }> = ({ path, secrets, state }) => (
  <Form of={grantCredit} action={`${path}/credit`} secrets={secrets} state={state}>
    <Choice
      name="kind"
      label="Credit type"
      state={state}
      options={[
        ['USD', 'US dollars', 'pay for calls and units beyond the allowance, on pay-as-you-go plans'],
        ['METER', 'Units of a custom meter', 'are spent before dollars'],
      ]}
    />
    <div class="columns">
      <TextField
        name="amountUsd"
        label="Amount in USD"
        state={state}
        numeric
        placeholder="25.00"
        hint="For US dollars, up to nine decimals."
      />
      <Select
        name="meterSlot"
        label="Custom meter"
        state={state}
        hint="For units."
        options={[
          ['CUSTOM1', 'Custom 1'],
          ['CUSTOM2', 'Custom 2'],
          ['AGENTIC_API', 'Agentic API'],
        ]}
      />
      <TextField name="units" label="Units" state={state} numeric placeholder="1,000" hint="For a custom meter." />
    </div>
    <div class="columns">
      <TextField
        name="expiresOn"
        label="Expires on"
        type="date"
        state={state}
        hint="Expires at 00:00 UTC of that day. Empty: never."
      />
      <TextField
        name="reference"
        label="Reference"
        state={state}
        hint="Your own, such as a payment id. Shown in the ledger."
      />
    </div>
    <Buttons back={path}>Grant credit</Buttons>
  </Form>
);

function revokePage(c: ConsoleContext, state: FormState) {
  const creditId = c.req.param('creditId') ?? '';
  return actionPage(c, 'Revoke credit', statusOf(state), (path, secrets) => (
    <Form
      of={revokeCredit}
      action={`${path}/credits/${encodeURIComponent(creditId)}/revoke`}
      secrets={secrets}
      state={state}
    >
      <p>
        What is left of <Code>{creditId}</Code> is taken back. What is spent stays spent.
      </p>
      <TextField name="reason" label="Reason" state={state} required hint="Shown in the ledger." />
      <Buttons back={path} danger>
        Revoke credit
      </Buttons>
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
      <Buttons back={path} danger>
        Cancel subscription
      </Buttons>
    </Form>
  ));
}

function reactivatePage(c: ConsoleContext) {
  return actionPage(c, 'Reactivate subscription', 200, (path, secrets) => (
    <Form of={reactivateCustomer} action={`${path}/reactivate`} secrets={secrets}>
      <p>Calls are allowed again, within the plan and the rest of the period's allowances.</p>
      <Buttons back={path}>Reactivate subscription</Buttons>
    </Form>
  ));
}

function erasePage(c: ConsoleContext, state: FormState) {
  const { customerId } = addressOf(c);
  return actionPage(c, 'Erase customer', statusOf(state), (path, secrets) => (
    <Form of={eraseCustomer} action={`${path}/erase`} secrets={secrets} state={state}>
      <Notice tone="bad" title="This cannot be undone.">
        Everything of <strong>{customerId}</strong> goes: account, usage, calls, credits and what is left of them,
        samples. The event log keeps that it was done.
      </Notice>
      <TextField name="confirmation" label={`Type ${customerId} to confirm`} state={state} required />
      <Buttons back={path} danger>
        Erase everything
      </Buttons>
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
        Nothing of <Code>{customerId}</Code> is left. <a href={path}>Back to the customers</a>.
      </Empty>
      <Facts items={rows} />
    </Card>,
  );
}
