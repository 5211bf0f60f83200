/**
 * Corrections by the operator, each on a page of its own that says what will happen: a call is reversed or amended, an
 * increment of a custom meter is reversed.
 */

import type { Hono } from 'hono';
import type { FC, PropsWithChildren } from 'hono/jsx';
import { AmendCallRequest, CorrectionRequest, eventId as eventIdField } from '../../contract/corrections.ts';
import { type GoodwillDecision, goodwillOfCall, goodwillOfEvent } from '../../contract/goodwill.ts';
import { operations } from '../../contract/operations.ts';
import type { Call } from '../../domain/call.ts';
import type { CallId, CustomerId } from '../../domain/ids.ts';
import { usd } from '../../domain/money.ts';
import { listLedger } from '../../metering/ledger.ts';
import { readCall } from '../../metering/read-call.ts';
import { deferrer } from '../../middleware/context.ts';
import { operatorAmendCall, operatorReverseCall, operatorReverseMeterEvent } from '../../operator/corrections.ts';
import { grantCredit } from '../../operator/customers.ts';
import { findOldCall } from '../../storage/calls.ts';
import { Choice, Form, type FormSecrets, type FormState, Select, TextField } from '../../ui/form.tsx';
import { Card, Code } from '../../ui/parts.tsx';
import { callerOf } from '../caller.ts';
import { shortened } from '../calls-table.tsx';
import {
  type ConsoleContext,
  type ConsoleEnv,
  callInPath,
  callPath,
  customerInPath,
  customerPath,
  type Fields,
  organizationPath,
} from '../context.ts';
import { page, secretsOf } from '../shell.tsx';
import { check, detailsOf, operatorRequest, optionalText, text, typedNumber, wrong } from '../submitted.ts';

const CALL = '/organizations/:org/calls/:callId';
const INCREMENT = '/organizations/:org/customers/:customerId/reverse-increment';
/** Entries of one increment: of its charge, of its units, and of a reversal. */
const ENTRIES_MAX = 200;
const BLANK: FormState = { values: {}, details: [] };

/** What a call reports in numbers, as the form asks for it. */
const QUANTITIES = [
  ['inputTokens', 'Input tokens', 'All of them, cached ones included.'],
  ['cachedInputTokens', 'Read from the cache', ''],
  ['cacheWriteInputTokens', 'Written to the cache', ''],
  ['responseTokens', 'Output tokens', 'Reasoning included.'],
  ['reasoningTokens', 'Reasoning tokens', ''],
  ['searches', 'Searches', ''],
  ['audio', 'Audio units', ''],
  ['audioSeconds', 'Audio seconds', ''],
] as const;

export function mountCorrections(app: Hono<ConsoleEnv>): void {
  app.get(`${CALL}/reverse`, (c) => reversePage(c, BLANK));

  app.post(`${CALL}/reverse`, async (c) => {
    const { organizationId, callId, params } = callOf(c);
    if (isGoodwill(c)) {
      const given = await giveGoodwill(c, await goodwillOf(c, callId));
      return given.ok
        ? c.redirect(`${customerPath({ organizationId, customerId: given.customerId })}?tab=wallet&done=goodwill`, 303)
        : reversePage(c, wrong(c, given.details));
    }
    const checked = check(CorrectionRequest, reasonIn(c.get('submitted').fields));
    if (!checked.ok) return reversePage(c, wrong(c, checked.details));
    const request = await operatorRequest(c, operations.operatorReverseCall, { params, body: checked.value });
    const answer = await operatorReverseCall(request, organizationId, callId, checked.value);
    if (!answer.ok) return reversePage(c, wrong(c, detailsOf(answer.refusal)));
    return c.redirect(`${callPath(organizationId, callId)}?done=reversed`, 303);
  });

  app.get(`${CALL}/amend`, async (c) => {
    const { organizationId, callId } = callOf(c);
    return amendPage(c, { values: valuesOf(await findOldCall(c.env, organizationId, callId)), details: [] });
  });

  app.post(`${CALL}/amend`, async (c) => {
    const { organizationId, callId, params } = callOf(c);
    const checked = check(AmendCallRequest, amendmentIn(c.get('submitted').fields));
    if (!checked.ok) return amendPage(c, wrong(c, checked.details));
    const request = await operatorRequest(c, operations.operatorAmendCall, { params, body: checked.value });
    const answer = await operatorAmendCall(request, organizationId, callId, checked.value, deferrer(c as never));
    if (!answer.ok) return amendPage(c, wrong(c, detailsOf(answer.refusal)));
    return c.redirect(`${callPath(organizationId, callId)}?done=amended`, 303);
  });

  app.get(INCREMENT, (c) => incrementPage(c, { values: { eventId: c.req.query('eventId') ?? '' }, details: [] }));

  app.post(INCREMENT, async (c) => {
    const { organizationId } = c.get('organization');
    const customerId = customerInPath(c);
    const { fields } = c.get('submitted');
    if (isGoodwill(c)) {
      const given = await giveGoodwill(c, await goodwillOfIncrement(c, customerId, text(fields, 'eventId')));
      return given.ok
        ? c.redirect(`${customerPath({ organizationId, customerId })}?tab=wallet&done=goodwill`, 303)
        : incrementPage(c, wrong(c, given.details));
    }
    const checked = check(CorrectionRequest.extend({ eventId: eventIdField }), {
      ...reasonIn(fields),
      eventId: text(fields, 'eventId'),
    });
    if (!checked.ok) return incrementPage(c, wrong(c, checked.details));
    const { eventId, reason } = checked.value;
    const input = { params: { org: organizationId, eventId }, body: { reason, customerId } };
    const request = await operatorRequest(c, operations.operatorReverseMeterEvent, input);
    const answer = await operatorReverseMeterEvent(request, organizationId, eventId, input.body);
    if (!answer.ok) return incrementPage(c, wrong(c, detailsOf(answer.refusal)));
    return c.redirect(`${customerPath({ organizationId, customerId })}?tab=changes&done=increment-reversed`, 303);
  });
}

/** What a dispute ends with; a form without the choice is a reversal. */
const isGoodwill = (c: ConsoleContext) => text(c.get('submitted').fields, 'act') === 'goodwill';

async function goodwillOf(c: ConsoleContext, callId: CallId): Promise<GoodwillDecision> {
  const call = await readCall(await callerOf(c), callId);
  return call.ok ? goodwillOfCall(call.data) : { ok: false, reason: call.refusal.message };
}

async function goodwillOfIncrement(
  c: ConsoleContext,
  customerId: CustomerId,
  eventId: string,
): Promise<GoodwillDecision> {
  const entries = await listLedger(await callerOf(c), customerId, { eventId }, { limit: ENTRIES_MAX, after: null });
  return entries.ok
    ? goodwillOfEvent(eventId, customerId, entries.data.items)
    : { ok: false, reason: entries.refusal.message };
}

/** Grants the credit, once: of what was granted before, the form says so. */
async function giveGoodwill(c: ConsoleContext, decision: GoodwillDecision) {
  const refuse = (message: string) => ({ ok: false, details: [{ path: 'act', message }] }) as const;
  if (!decision.ok) return refuse(decision.reason);
  const { organizationId } = c.get('organization');
  const { customerId, grant, idempotencyKey } = decision.goodwill;
  const query = { cause: 'GRANT', reference: grant.reference } as const;
  const earlier = await listLedger(await callerOf(c), customerId, query, { limit: 1, after: null });
  const at = earlier.ok ? earlier.data.items[0]?.at : undefined;
  if (at !== undefined) return refuse(`goodwill was granted for it already, at ${at}`);
  const input = { params: { org: organizationId, customerId }, body: grant };
  const request = { ...(await operatorRequest(c, operations.grantCredit, input)), idempotencyKey };
  const answer = await grantCredit(request, { organizationId, customerId }, grant);
  return answer.ok ? ({ ok: true, customerId } as const) : refuse(answer.refusal.message);
}

const Acts: FC<{ state: FormState; what: string; goodwill: GoodwillDecision | null }> = ({ state, what, goodwill }) => (
  <Choice
    name="act"
    label="What was it?"
    state={{ ...state, values: { act: 'reverse', ...state.values } }}
    options={[
      [
        'reverse',
        'The record was wrong',
        `It is reversed: the ${what} and its cost count no longer, and what paid gets it back.`,
      ],
      [
        'goodwill',
        'Goodwill',
        goodwill?.ok === false
          ? `Not possible: ${goodwill.reason}.`
          : `A USD credit of ${goodwill ? usd(goodwill.goodwill.amountNanoUsd) : 'its charge'} is granted, with the ${what} in its reference; the record and its cost stay.`,
      ],
    ]}
  />
);

function callOf(c: ConsoleContext) {
  const { organizationId } = c.get('organization');
  const callId = callInPath(c);
  return { organizationId, callId, params: { org: organizationId, callId } };
}

const reasonIn = (fields: Fields) => ({ reason: text(fields, 'reason') });

/** The fields as the operator API takes them; an empty one stays as it was. */
function amendmentIn(fields: Fields): unknown {
  const quantities = QUANTITIES.map(([name]) => [name, typedNumber(fields, name)] as const);
  const [code, message] = [optionalText(fields, 'error.code'), optionalText(fields, 'error.message')];
  const named = ['providerUsed', 'modelUsed', 'pricingMode'].map((name) => [name, optionalText(fields, name)] as const);
  return {
    ...reasonIn(fields),
    ...Object.fromEntries([...quantities, ...named].filter(([, value]) => value !== undefined)),
    ...((code ?? message) !== undefined && { error: { code, message } }),
    ...(text(fields, 'ended') === 'COMPLETED' && { error: null }),
  };
}

/** What the call reports now, as far as D1 knows it. */
function valuesOf(call: Call | null): FormState['values'] {
  if (!call?.outcome) return {};
  const { usage, providerUsed, modelUsed, pricingMode, error } = call.outcome;
  return {
    ...Object.fromEntries(QUANTITIES.map(([name]) => [name, String(usage[name])])),
    providerUsed: providerUsed ?? '',
    modelUsed: modelUsed ?? '',
    pricingMode,
    ...(error && { 'error.code': error.code, 'error.message': error.message }),
  };
}

function correctionPage(
  c: ConsoleContext,
  title: string,
  { details }: FormState,
  crumbs: { text: string; href: string }[],
  content: (secrets: FormSecrets) => unknown,
) {
  const status = details.length > 0 ? 400 : 200;
  return page(c, { title, status, crumbs }, <Card>{content(secretsOf(c)) as never}</Card>);
}

function callCrumbs(c: ConsoleContext) {
  const { organizationId, callId } = callOf(c);
  return [
    { text: 'Calls', href: organizationPath(organizationId, 'calls') },
    { text: shortened(callId), href: callPath(organizationId, callId) },
  ];
}

/** `optional` where the form may end without a correction, whose reason it is. */
const Reason: FC<{ state: FormState; optional?: boolean }> = ({ state, optional = false }) => (
  <TextField
    name="reason"
    label="Reason"
    state={state}
    required={!optional}
    hint={optional ? 'Kept with the record that is reversed.' : 'Kept with the record.'}
  />
);

const Buttons: FC<PropsWithChildren<{ back: string }>> = ({ back, children }) => (
  <div class="submit">
    <button type="submit" class="danger">
      {children}
    </button>
    <a href={back}>Cancel</a>
  </div>
);

async function reversePage(c: ConsoleContext, state: FormState) {
  const { organizationId, callId } = callOf(c);
  const goodwill = await goodwillOf(c, callId);
  const path = callPath(organizationId, callId);
  return correctionPage(c, 'Reverse call', state, callCrumbs(c), (secrets) => (
    <Form action={`${path}/reverse`} secrets={secrets} state={state}>
      <p>
        If <Code>{callId}</Code> is reversed, it counts no longer: the allowance and the balance get back what it took,
        and every report leaves it out. The record stays and says so. That cannot be undone.
      </p>
      <Acts state={state} what="call" goodwill={goodwill} />
      <Reason state={state} optional />
      <Buttons back={path}>Give back</Buttons>
    </Form>
  ));
}

function amendPage(c: ConsoleContext, state: FormState) {
  const { organizationId, callId } = callOf(c);
  const path = callPath(organizationId, callId);
  return correctionPage(c, 'Amend call', state, callCrumbs(c), (secrets) => (
    <Form action={`${path}/amend`} secrets={secrets} state={state}>
      <p>
        What the end of <Code>{callId}</Code> should have reported; an empty field stays as it was. The allowance and
        the balance follow the difference; what it said before stays in the record.
      </p>
      <div class="columns">
        <TextField name="modelUsed" label="Model" state={state} />
        <TextField name="providerUsed" label="Vendor" state={state} />
        <Select
          name="pricingMode"
          label="Price"
          state={state}
          options={[
            ['', 'As before'],
            ['standard', 'Standard'],
            ['batch', 'Batch'],
          ]}
        />
      </div>
      <div class="columns">
        {QUANTITIES.map(([name, label, hint]) => (
          <TextField name={name} label={label} state={state} numeric {...(hint && { hint })} />
        ))}
      </div>
      <div class="columns">
        <Select
          name="ended"
          label="Ended"
          state={state}
          options={[
            ['', 'As before, or with this error'],
            ['COMPLETED', 'Without an error'],
          ]}
        />
        <TextField name="error.code" label="Error code" state={state} hint="Of a call that failed." />
        <TextField name="error.message" label="Error message" state={state} />
      </div>
      <Reason state={state} />
      <Buttons back={path}>Amend call</Buttons>
    </Form>
  ));
}

function incrementPage(c: ConsoleContext, state: FormState) {
  const { organizationId } = c.get('organization');
  const customerId = customerInPath(c);
  const path = customerPath({ organizationId, customerId });
  const crumbs = [
    { text: 'Customers', href: organizationPath(organizationId, 'customers') },
    { text: customerId, href: path },
  ];
  return correctionPage(c, 'Reverse increment', state, crumbs, (secrets) => (
    <Form action={`${path}/reverse-increment`} secrets={secrets} state={state}>
      <p>
        If an increment of a custom meter is reversed, it counts no longer: what paid for its units gets them back. The
        record stays and says so. That cannot be undone.
      </p>
      <Acts state={state} what="increment" goodwill={null} />
      <TextField name="eventId" label="Event id" state={state} required hint="As the increment was answered with." />
      <Reason state={state} optional />
      <Buttons back={path}>Give back</Buttons>
    </Form>
  ));
}
