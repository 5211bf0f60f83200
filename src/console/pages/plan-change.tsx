/**
 * Changing a customer's plan: choose, see what it will do, confirm.
 */

import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { ChangePlanBody } from '../../contract/customers.ts';
import { creditWarnings } from '../../contract/funding-warnings.ts';
import { operations } from '../../contract/operations.ts';
import type { Account } from '../../domain/account.ts';
import { type MeterSummary, summarizeAll } from '../../domain/allowances.ts';
import { METER_NAMES, type MeterName } from '../../domain/meters.ts';
import { inspectCustomer } from '../../operator/customers.ts';
import { listPlans } from '../../operator/plans.ts';
import { operatorChangePlan } from '../../operator/subscriptions.ts';
import { Choice, ErrorSummary, Form, type FormSecrets, type FormState, Select } from '../../ui/form.tsx';
import { count, words } from '../../ui/format.ts';
import { Card, Code, Empty, Facts, Notice, Time, Warnings } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { callerOf, deferrer } from '../caller.ts';
import { type PlanChangePreview, previewPlanChange } from '../change-plan.ts';
import { type ConsoleContext, type ConsoleEnv, customerInPath, customerPath, organizationPath } from '../context.ts';
import { refused } from '../refused.tsx';
import { page, secretsOf } from '../shell.tsx';
import { check, detailsOf, operatorRequest, text } from '../submitted.ts';

const PATH = '/organizations/:org/customers/:customerId/plan';
const PLANS_MAX = 200;

const STRATEGIES = [
  ['IMMEDIATE_PRORATED', 'Now, usage and date kept', 'usage is kept'],
  ['IMMEDIATE_RESET', 'Now, as a new period', 'full allowances from this moment'],
  ['AT_NEXT_REPLENISH', 'At the next renewal', 'nothing changes until then'],
] as const;

export function mountPlanChange(app: Hono<ConsoleEnv>): void {
  app.get(PATH, async (c) => {
    const { planId, strategy } = c.req.query();
    const values = { planId: planId ?? '', strategy: strategy ?? 'IMMEDIATE_PRORATED' };
    if (planId === undefined) return changePage(c, { values, details: [] }, null);
    const checked = check(ChangePlanBody, values);
    if (!checked.ok) return changePage(c, { values, details: checked.details }, null);
    const preview = await previewPlanChange(await callerOf(c), customerInPath(c), checked.value, Date.now());
    if (!preview.ok) return changePage(c, { values, details: detailsOf(preview.refusal) }, null);
    return changePage(c, { values, details: [] }, preview.data);
  });

  app.post(PATH, async (c) => {
    const { fields } = c.get('submitted');
    const { organizationId } = c.get('organization');
    const customerId = customerInPath(c);
    const values = { planId: text(fields, 'planId'), strategy: text(fields, 'strategy') };
    const checked = check(ChangePlanBody, values);
    if (!checked.ok) return changePage(c, { values, details: checked.details }, null);
    const request = await operatorRequest(c, operations.operatorChangePlan, {
      params: { org: organizationId, customerId },
      body: checked.value,
    });
    const answer = await operatorChangePlan(request, { organizationId, customerId }, checked.value, deferrer(c));
    if (!answer.ok) return changePage(c, { values, details: detailsOf(answer.refusal) }, null);
    return c.redirect(`${customerPath({ organizationId, customerId })}?done=plan-changed`, 303);
  });
}

async function changePage(c: ConsoleContext, state: FormState, preview: PlanChangePreview | null) {
  const { organizationId } = c.get('organization');
  const customerId = customerInPath(c);
  const [known, plans] = await Promise.all([
    inspectCustomer(c.env, { organizationId, customerId }),
    listPlans(c.env, organizationId, { limit: PLANS_MAX, after: null }),
  ]);
  if (!known.ok) return refused(c, known.refusal);
  if (!plans.ok) return refused(c, plans.refusal);
  const path = customerPath({ organizationId, customerId });
  const { subscription } = known.data;
  const offered = plans.data.items.filter(({ archivedAt }) => archivedAt === null);
  const options = offered.map(
    ({ planId, version, plan }) => [planId, `${plan.name} (${planId}, version ${version})`] as const,
  );
  return page(
    c,
    {
      title: 'Change plan',
      status: state.details.length > 0 ? 400 : 200,
      sub: `Now ${subscription.planName}, version ${subscription.planVersion}`,
      crumbs: [
        { text: 'Customers', href: organizationPath(organizationId, 'customers') },
        { text: customerId, href: path },
      ],
    },
    <>
      <Card title="The change">
        <ChangeForm path={path} state={state} options={options} />
      </Card>
      {preview && <Preview preview={preview} path={path} secrets={secretsOf(c)} nowMs={Date.now()} />}
    </>,
  );
}

/** Asks for the preview: nothing is changed by it. */
const ChangeForm: FC<{ path: string; state: FormState; options: readonly (readonly [string, string])[] }> = ({
  path,
  state,
  options,
}) => (
  <form method="get" action={`${path}/plan`} class="form">
    <ErrorSummary details={state.details} />
    <Select name="planId" label="Plan" state={state} options={options} hint="The newest version applies." />
    <Choice name="strategy" label="When and how" state={state} options={STRATEGIES} />
    <div class="submit">
      <button type="submit">Preview the change</button>
      <a href={path}>Cancel</a>
    </div>
  </form>
);

interface PreviewProps {
  preview: PlanChangePreview;
  path: string;
  secrets: FormSecrets;
  nowMs: number;
}

const Preview: FC<PreviewProps> = ({ preview, path, secrets, nowMs }) => {
  const { before, after, target, strategy, replenished } = preview;
  if (after === before) {
    return (
      <Card title="Preview">
        <Empty title="Nothing">
          The subscription is on <Code>{target.usagePlanVersionId}</Code> already, or this change is scheduled.
        </Empty>
      </Card>
    );
  }
  const left = replenished ?? after;
  const unscheduled = before.subscription.pending !== null && after.subscription.pending === null;
  return (
    <Card title="Preview">
      <Facts
        items={[
          ['Plan', <PlanStep before={before} after={left} />],
          ['Applies', replenished ? <Time at={after.subscription.nextReplenishAtMs} nowMs={nowMs} /> : 'at once'],
          ['Next renewal', <Renewal before={before} after={left} nowMs={nowMs} />],
          ['Scheduled change', unscheduled ? 'is dropped' : undefined],
        ]}
      />
      <LeftTable before={before} after={left} when={replenished ? 'Remaining after the renewal' : 'Left after'} />
      {after.subscription.canceledAtMs !== null && (
        <Notice tone="warn">The subscription stays canceled: calls are denied on any plan.</Notice>
      )}
      <Warnings title="Credit that cannot pay." texts={creditWarnings(after)} />
      <Form action={`${path}/plan`} secrets={secrets} label="Confirm the change">
        <input type="hidden" name="planId" value={target.planId} />
        <input type="hidden" name="strategy" value={strategy} />
        <div class="submit">
          <button type="submit" class="primary">
            {replenished ? 'Schedule the change' : 'Change the plan now'}
          </button>
        </div>
      </Form>
    </Card>
  );
};

const PlanStep: FC<{ before: Account; after: Account }> = ({ before, after }) => (
  <>
    <Code>{before.subscription.plan.usagePlanVersionId}</Code> →{' '}
    <Code>{after.subscription.plan.usagePlanVersionId}</Code>
  </>
);

const Renewal: FC<{ before: Account; after: Account; nowMs: number }> = ({ before, after, nowMs }) => {
  const [was, will] = [before.subscription.nextReplenishAtMs, after.subscription.nextReplenishAtMs];
  return (
    <>
      <Time at={will} nowMs={nowMs} />{' '}
      <span class="quiet">
        {was === will ? (
          'as before'
        ) : (
          <>
            instead of <Time at={was} nowMs={nowMs} />
          </>
        )}
      </span>
    </>
  );
};

const LeftTable: FC<{ before: Account; after: Account; when: string }> = ({ before, after, when }) => {
  const [was, will] = [before, after].map(({ subscription, meters }) =>
    summarizeAll(subscription.plan.plan, meters),
  ) as [Summaries, Summaries];
  const rows = METER_NAMES.filter((name) =>
    [was[name], will[name]].some(({ limit, used }) => limit !== 0 || used !== 0),
  );
  return (
    <Table
      caption="Remaining before and after"
      rows={rows}
      columns={[
        { title: 'Meter', heading: true, cell: (name) => words(name) },
        { title: 'Used now', figure: true, cell: (name) => count(was[name].used) },
        { title: 'Left now', figure: true, cell: (name) => <Left meter={was[name]} /> },
        {
          title: when,
          figure: true,
          cell: (name) => <Left meter={will[name]} changed={was[name].remaining !== will[name].remaining} />,
        },
      ]}
    />
  );
};

type Summaries = Record<MeterName, MeterSummary>;

const Left: FC<{ meter: MeterSummary; changed?: boolean }> = ({ meter: { unlimited, remaining, limit }, changed }) => {
  const text = unlimited ? 'unlimited' : `${count(remaining)} of ${count(limit ?? 0)}`;
  return changed ? <strong>{text}</strong> : <span>{text}</span>;
};
