/**
 * Corrections by the operator, each on its own page that states the effect first: reverse or amend a call, reverse an
 * increment of a custom meter.
 */

import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { badRequest, type Result } from '../../contract/errors.ts';
import { type GoodwillDecision, goodwillOfCall, goodwillOfEvent } from '../../contract/goodwill.ts';
import type { Call } from '../../domain/call.ts';
import type { CustomerId } from '../../domain/ids.ts';
import { usd } from '../../domain/money.ts';
import { readOrganizationCall, recordedCall } from '../../operator/calls.ts';
import { operatorAmendCall, operatorReverseCall, operatorReverseMeterEvent } from '../../operator/corrections.ts';
import { grantCredit } from '../../operator/customers.ts';
import { listCustomerLedger } from '../../operator/readings.ts';
import {
  BLANK,
  Choice,
  Form,
  type FormSecrets,
  type FormState,
  Select,
  type Sends,
  Submit,
  TextField,
} from '../../ui/form.tsx';
import { Card, Code } from '../../ui/parts.tsx';
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
import { BodyFields, bodyIn, storedIn } from '../schema-form.tsx';
import { load, send, wrong } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { optionalText, text } from '../submitted.ts';

const CALL = '/organizations/:org/calls/:callId';
const INCREMENT = '/organizations/:org/customers/:customerId/reverse-increment';

/** The reported values that an amendment may replace. An empty field keeps its value. */
const NAMED = ['modelUsed', 'providerUsed', 'pricingMode'];
const QUANTITIES = [
  'inputTokens',
  'cachedInputTokens',
  'cacheWriteInputTokens',
  'responseTokens',
  'reasoningTokens',
  'searches',
  'audio',
  'audioSeconds',
];

const PRICING_MODES = [
  ['', 'As before'],
  ['standard', 'Standard'],
  ['batch', 'Batch'],
] as const;

export function mountCorrections(app: Hono<ConsoleEnv>): void {
  app.get(`${CALL}/reverse`, (c) => reversePage(c, { values: { act: 'reverse' }, details: [] }));

  app.post(`${CALL}/reverse`, async (c) => {
    const { organizationId, callId } = callKey(c);
    if (isGoodwill(c)) {
      const given = await giveGoodwill(c, await decideGoodwill(c));
      return given.ok
        ? c.redirect(`${customerPath({ organizationId, customerId: given.customerId })}?tab=wallet&done=goodwill`, 303)
        : reversePage(c, wrong(c, given.refusal));
    }
    const answer = await send(c, operatorReverseCall, { body: bodyIn(operatorReverseCall, c.get('submitted').fields) });
    if (!answer.ok) return reversePage(c, wrong(c, answer.refusal));
    return c.redirect(`${callPath(organizationId, callId)}?done=reversed`, 303);
  });

  app.get(`${CALL}/amend`, async (c) => {
    const { organizationId, callId } = callKey(c);
    return amendPage(c, reportedIn(await recordedCall(c.env, organizationId, callId)));
  });

  app.post(`${CALL}/amend`, async (c) => {
    const { organizationId, callId } = callKey(c);
    const answer = await send(c, operatorAmendCall, { body: amendmentIn(c.get('submitted').fields) });
    if (!answer.ok) return amendPage(c, wrong(c, answer.refusal));
    return c.redirect(`${callPath(organizationId, callId)}?done=amended`, 303);
  });

  app.get(INCREMENT, (c) =>
    incrementPage(c, { values: { act: 'reverse', eventId: c.req.query('eventId') ?? '' }, details: [] }),
  );

  app.post(INCREMENT, async (c) => {
    const { organizationId } = c.get('organization');
    const customerId = customerInPath(c);
    const { fields } = c.get('submitted');
    if (isGoodwill(c)) {
      const given = await giveGoodwill(c, await goodwillOfIncrement(c, customerId, text(fields, 'eventId')));
      return given.ok
        ? c.redirect(`${customerPath({ organizationId, customerId })}?tab=wallet&done=goodwill`, 303)
        : incrementPage(c, wrong(c, given.refusal));
    }
    const params = { eventId: text(fields, 'eventId') };
    const answer = await send(c, operatorReverseMeterEvent, {
      params,
      body: { ...bodyIn(operatorReverseMeterEvent, fields), customerId },
    });
    if (!answer.ok) return incrementPage(c, wrong(c, answer.refusal));
    return c.redirect(`${customerPath({ organizationId, customerId })}?tab=changes&done=increment-reversed`, 303);
  });
}

/** Whether the operator chose goodwill; a form without the choice is a reversal. */
const isGoodwill = (c: ConsoleContext) => text(c.get('submitted').fields, 'act') === 'goodwill';

async function decideGoodwill(c: ConsoleContext): Promise<GoodwillDecision> {
  const call = await load(c, readOrganizationCall);
  return call.ok ? goodwillOfCall(call.data) : { ok: false, reason: call.refusal.message };
}

async function goodwillOfIncrement(
  c: ConsoleContext,
  customerId: CustomerId,
  eventId: string,
): Promise<GoodwillDecision> {
  const entries = await load(c, listCustomerLedger, { query: { eventId } });
  return entries.ok
    ? goodwillOfEvent(eventId, customerId, entries.data.items)
    : { ok: false, reason: entries.refusal.message };
}

/** Grants the credit once; if it was granted before, the form shows an error. */
async function giveGoodwill(
  c: ConsoleContext,
  decision: GoodwillDecision,
): Promise<Result<{ customerId: CustomerId }>> {
  const refuse = (message: string) => badRequest({ path: 'act', message });
  if (!decision.ok) return refuse(decision.reason);
  const { customerId, grant, idempotencyKey } = decision.goodwill;
  const earlier = await load(c, listCustomerLedger, {
    params: { customerId },
    query: { cause: 'GRANT', reference: grant.reference },
    page: { limit: 1, after: null },
  });
  const at = earlier.ok ? earlier.data.items[0]?.at : undefined;
  if (at !== undefined) return refuse(`goodwill was granted for it already, at ${at}`);
  const answer = await send(c, grantCredit, { params: { customerId }, body: grant }, idempotencyKey);
  return answer.ok ? { ok: true, customerId } : refuse(answer.refusal.message);
}

const Acts: FC<{ what: string; goodwill: GoodwillDecision | null }> = ({ what, goodwill }) => (
  <Choice
    name="act"
    label="What was it?"
    options={[
      [
        'reverse',
        'The record was wrong',
        `It is reversed: the ${what} and its cost no longer count, and what paid gets it back.`,
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

function callKey(c: ConsoleContext) {
  return { organizationId: c.get('organization').organizationId, callId: callInPath(c) };
}

/** The fields as a body of the operator API. */
function amendmentIn(fields: Fields) {
  const [code, message] = [optionalText(fields, 'error.code'), optionalText(fields, 'error.message')];
  return {
    ...bodyIn(operatorAmendCall, fields, [...NAMED, ...QUANTITIES, 'reason']),
    ...((code ?? message) !== undefined && { error: { code, message } }),
    ...(text(fields, 'ended') === 'COMPLETED' && { error: null }),
  };
}

/** The call's reported values, as far as D1 has them. */
function reportedIn(call: Call | null): FormState {
  if (!call?.outcome) return BLANK;
  const { usage, error, ...outcome } = call.outcome;
  const { values, details } = storedIn(operatorAmendCall, { ...usage, ...outcome });
  return { values: { ...values, 'error.code': error?.code ?? '', 'error.message': error?.message ?? '' }, details };
}

function correctionPage(
  c: ConsoleContext,
  title: string,
  { details }: FormState,
  crumbs: { text: string; href: string }[],
  content: (secrets: FormSecrets) => unknown,
) {
  const status = details.length > 0 ? 400 : 200;
  return page(c, { title, status, crumbs }, <Card>{content(formSecrets(c)) as never}</Card>);
}

function callCrumbs(c: ConsoleContext) {
  const { organizationId, callId } = callKey(c);
  return [
    { text: 'Calls', href: organizationPath(organizationId, 'calls') },
    { text: shortened(callId), href: callPath(organizationId, callId) },
  ];
}

/** The reason of a correction; goodwill requires none. */
const Reason: FC<{ of: Sends }> = ({ of }) => (
  <BodyFields
    of={of}
    paths={['reason']}
    overrides={{ reason: { required: false, hint: 'Kept with the record that is reversed.' } }}
  />
);

async function reversePage(c: ConsoleContext, state: FormState) {
  const { organizationId, callId } = callKey(c);
  const goodwill = await decideGoodwill(c);
  const path = callPath(organizationId, callId);
  return correctionPage(c, 'Reverse call', state, callCrumbs(c), (secrets) => (
    <Form of={operatorReverseCall} action={`${path}/reverse`} secrets={secrets} state={state}>
      <p>
        If <Code>{callId}</Code> is reversed, it no longer counts: the allowance and the balance get back what it took,
        and every report leaves it out. The record stays and says so. This cannot be undone.
      </p>
      <Acts what="call" goodwill={goodwill} />
      <Reason of={operatorReverseCall} />
      <Submit back={path} danger>
        Give back
      </Submit>
    </Form>
  ));
}

function amendPage(c: ConsoleContext, state: FormState) {
  const { organizationId, callId } = callKey(c);
  const path = callPath(organizationId, callId);
  return correctionPage(c, 'Amend call', state, callCrumbs(c), (secrets) => (
    <Form of={operatorAmendCall} action={`${path}/amend`} secrets={secrets} state={state}>
      <p>
        What the end of <Code>{callId}</Code> should have reported; an empty field stays as it was. The allowance and
        the balance follow the difference; what it said before stays in the record.
      </p>
      <div class="columns">
        <BodyFields
          of={operatorAmendCall}
          paths={NAMED}
          overrides={{ pricingMode: { options: PRICING_MODES, hint: 'A batch call costs half.' } }}
        />
      </div>
      <div class="columns">
        <BodyFields of={operatorAmendCall} paths={QUANTITIES} />
      </div>
      <div class="columns">
        <Select
          name="ended"
          label="Ended"
          options={[
            ['', 'As before, or with this error'],
            ['COMPLETED', 'Without an error'],
          ]}
        />
        <TextField name="error.code" label="Error code" hint="For a call that failed." />
        <TextField name="error.message" label="Error message" />
      </div>
      <BodyFields of={operatorAmendCall} paths={['reason']} />
      <Submit back={path} danger>
        Amend call
      </Submit>
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
    <Form of={operatorReverseMeterEvent} action={`${path}/reverse-increment`} secrets={secrets} state={state}>
      <p>
        If an increment of a custom meter is reversed, it no longer counts: what paid for its units gets them back. The
        record stays and says so. This cannot be undone.
      </p>
      <Acts what="increment" goodwill={null} />
      <TextField name="eventId" label="Event id" required hint="The eventId in the answer to the increment." />
      <Reason of={operatorReverseMeterEvent} />
      <Submit back={path} danger>
        Give back
      </Submit>
    </Form>
  ));
}
