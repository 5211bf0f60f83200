/**
 * Changing a customer's plan: choose a plan, see the effect, confirm.
 */

import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { PlanChangePreview } from '../../contract/customers.ts';
import { meterTitle } from '../../domain/meter-names.ts';
import { METER_NAMES } from '../../domain/meters.ts';
import { readCustomer } from '../../operator/customers.ts';
import { listPlans, type PlanDetail } from '../../operator/plans.ts';
import { operatorChangePlan, previewPlanChange } from '../../operator/subscriptions.ts';
import { Choice, Form, type FormSecrets, type FormState, GetForm, Select, Submit, typed } from '../../ui/form.tsx';
import { count } from '../../ui/format.ts';
import { Card, Code, Empty, Facts, Notice, Time, Warnings } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { type ConsoleContext, type ConsoleEnv, customerInPath, customerPath, organizationPath } from '../context.ts';
import { refused } from '../refused.tsx';
import { bodyIn } from '../schema-form.tsx';
import { load, refusalDetails, send, wrong } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';

const PATH = '/organizations/:org/customers/:customerId/plan';

const STRATEGIES = [
  ['IMMEDIATE_PRORATED', 'Now, usage and date kept', 'usage is kept'],
  ['IMMEDIATE_RESET', 'Now, as a new period', 'full allowances from this moment'],
  ['AT_NEXT_REPLENISH', 'At the next renewal', 'nothing changes until then'],
] as const;

export function mountPlanChange(app: Hono<ConsoleEnv>): void {
  app.get(PATH, async (c) => {
    const { planId, strategy = 'IMMEDIATE_PRORATED' } = c.req.query();
    const values = { planId: planId ?? '', strategy };
    if (planId === undefined) return changePage(c, { values, details: [] }, null);
    const preview = await load(c, previewPlanChange, { query: values });
    return preview.ok
      ? changePage(c, { values, details: [] }, preview.data)
      : changePage(c, { values, details: refusalDetails(preview.refusal) }, null);
  });

  app.post(PATH, async (c) => {
    const { organizationId } = c.get('organization');
    const answer = await send(c, operatorChangePlan, { body: bodyIn(operatorChangePlan, c.get('submitted').fields) });
    if (!answer.ok) return changePage(c, wrong(c, answer.refusal), null);
    return c.redirect(`${customerPath({ organizationId, customerId: customerInPath(c) })}?done=plan-changed`, 303);
  });
}

async function changePage(c: ConsoleContext, state: FormState, preview: PlanChangePreview | null) {
  const { organizationId } = c.get('organization');
  const customerId = customerInPath(c);
  const [known, plans] = await Promise.all([load(c, readCustomer), load(c, listPlans)]);
  if (!known.ok) return refused(c, known.refusal);
  if (!plans.ok) return refused(c, plans.refusal);
  const path = customerPath({ organizationId, customerId });
  const { subscription } = known.data;
  const offered = plans.data.items.filter(({ archivedAt }) => archivedAt === null);
  const next = offered.find(({ planId }) => planId === state.values.planId);
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
      {preview && (
        <Preview
          preview={preview}
          plan={next?.plan}
          asked={state}
          path={path}
          secrets={formSecrets(c)}
          nowMs={Date.now()}
        />
      )}
    </>,
  );
}

/** Requests the preview, which changes nothing. */
const ChangeForm: FC<{ path: string; state: FormState; options: readonly (readonly [string, string])[] }> = ({
  path,
  state,
  options,
}) => (
  <GetForm action={`${path}/plan`} state={state}>
    <Select name="planId" label="Plan" options={options} hint="The newest version applies." />
    <Choice name="strategy" label="When and how" options={STRATEGIES} />
    <Submit back={path}>Preview the change</Submit>
  </GetForm>
);

interface PreviewProps {
  preview: PlanChangePreview;
  /** The plan that follows. */
  plan: PlanDetail['plan'] | undefined;
  /** The submitted form, for the confirmation. */
  asked: FormState;
  path: string;
  secrets: FormSecrets;
  nowMs: number;
}

const Preview: FC<PreviewProps> = ({ preview, plan, asked, path, secrets, nowMs }) => {
  const { isChange, usagePlanVersionId, appliesAt, dropsScheduled, canceled, before, after, warnings = [] } = preview;
  if (!isChange) {
    return (
      <Card title="Preview">
        <Empty title="No change">
          The subscription is on <Code>{usagePlanVersionId}</Code> already, or this change is scheduled.
        </Empty>
      </Card>
    );
  }
  return (
    <Card title="Preview">
      <Facts
        items={[
          [
            'Plan',
            <>
              <Code>{before.usagePlanVersionId}</Code> → <Code>{after.usagePlanVersionId}</Code>
            </>,
          ],
          ['Applies', appliesAt === null ? 'at once' : <Time at={appliesAt} nowMs={nowMs} />],
          ['Next renewal', <Renewal was={before.nextReplenishAt} will={after.nextReplenishAt} nowMs={nowMs} />],
          ['Scheduled change', dropsScheduled ? 'is dropped' : undefined],
        ]}
      />
      <LeftTable
        plan={plan}
        before={before.meters}
        after={after.meters}
        when={appliesAt === null ? 'Left after' : 'Remaining after the renewal'}
      />
      {canceled && <Notice tone="warn">The subscription stays canceled: calls are denied on any plan.</Notice>}
      <Warnings title="Credit that cannot pay." texts={warnings} />
      <Form of={operatorChangePlan} action={`${path}/plan`} secrets={secrets} label="Confirm the change">
        <input type="hidden" name="planId" value={typed(asked, 'planId')} />
        <input type="hidden" name="strategy" value={typed(asked, 'strategy')} />
        <Submit>{appliesAt === null ? 'Change the plan now' : 'Schedule the change'}</Submit>
      </Form>
    </Card>
  );
};

const Renewal: FC<{ was: string; will: string; nowMs: number }> = ({ was, will, nowMs }) => (
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

type Meters = PlanChangePreview['after']['meters'];

/** Named by the plan that follows. */
const LeftTable: FC<{ before: Meters; after: Meters; when: string; plan: PreviewProps['plan'] }> = (props) => {
  const { before, after, when, plan } = props;
  const rows = METER_NAMES.flatMap((name) => {
    const [was, will] = [before[name], after[name]];
    const isShown = [was, will].some((meter) => meter && (meter.limit !== 0 || meter.used !== 0));
    return was && will && isShown ? [{ name, was, will }] : [];
  });
  return (
    <Table
      caption="Remaining before and after"
      rows={rows}
      columns={[
        { title: 'Meter', heading: true, cell: ({ name }) => meterTitle(name, plan) },
        { title: 'Used now', figure: true, cell: ({ was }) => count(was.used) },
        { title: 'Left now', figure: true, cell: ({ was }) => <Left meter={was} /> },
        {
          title: when,
          figure: true,
          cell: ({ was, will }) => <Left meter={will} changed={was.remaining !== will.remaining} />,
        },
      ]}
    />
  );
};

const Left: FC<{ meter: Meters[string]; changed?: boolean }> = ({
  meter: { unlimited, remaining, limit },
  changed,
}) => {
  const text = unlimited ? 'unlimited' : `${count(remaining)} of ${count(limit ?? 0)}`;
  return changed ? <strong>{text}</strong> : <span>{text}</span>;
};
