/**
 * Plans: the list, one plan with its versions, a comparison of two versions, and the move of customers to the newest
 * one.
 */

import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { Answer } from '../../contract/errors.ts';
import { planWarnings } from '../../contract/funding-warnings.ts';
import type { Plan } from '../../contract/plans.ts';
import { alertThresholds } from '../../domain/alerts.ts';
import type { OrganizationId } from '../../domain/ids.ts';
import { meterTitle } from '../../domain/meter-names.ts';
import { LIMIT_NAMES, METER_SLOTS, SLOT_METERS } from '../../domain/meters.ts';
import { ANSWERS_MAX_DEFAULT, CAPABILITIES, hasCapability } from '../../domain/plan.ts';
import { archivePlan, listPlans, type PlanDetail, readPlan, restorePlan } from '../../operator/plans.ts';
import { pageRequest } from '../../platform/page.ts';
import { Choice, Form, type FormSecrets, GetForm, Submit } from '../../ui/form.tsx';
import { compact, count, plural, words } from '../../ui/format.ts';
import { Badge, Card, Code, Empty, Facts, Json, Nothing, Notice, Time, Warnings } from '../../ui/parts.tsx';
import { type Orders, sorted } from '../../ui/sorting.ts';
import { Pager, Table, totalText } from '../../ui/table.tsx';
import { readTrail } from '../../ui/trail.ts';
import { renderChanges } from '../changes-view.tsx';
import { type ConsoleContext, type ConsoleEnv, organizationPath, planPath } from '../context.ts';
import { PlanPrice, planMarginCard } from '../margin-view.tsx';
import { refused } from '../refused.tsx';
import { load, send } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';

const PAGE_SIZE = 50;

export function mountPlans(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/plans', async (c) => {
    const { organizationId, defaultPlanId } = c.get('organization');
    const asked = pageRequest({ limit: PAGE_SIZE, cursor: c.req.query('cursor') }) ?? { limit: PAGE_SIZE, after: null };
    const answer = await load(c, listPlans, { page: asked });
    if (!answer.ok) return refused(c, answer.refusal);
    const { items, nextCursor } = answer.data;
    const isWhole = asked.after === null && nextCursor === null;
    const path = organizationPath(organizationId, 'plans');
    const actions = (
      <a class="button primary" href={organizationPath(organizationId, 'new-plan')}>
        New plan
      </a>
    );
    return page(
      c,
      { title: 'Plans', sub: 'What customers may use in a period.', actions },
      <Card>
        {items.length === 0 ? (
          <Empty title="No plan yet">
            A plan says what a customer may use in a period, and what happens when that is used up.{' '}
            <a href={organizationPath(organizationId, 'new-plan')}>Create the first one</a>.
          </Empty>
        ) : (
          <PlanTable
            organizationId={organizationId}
            items={items}
            defaultPlanId={defaultPlanId}
            isWhole={isWhole}
            sort={c.req.query('sort')}
          />
        )}
        <Pager
          path={path}
          query={{}}
          next={nextCursor}
          first={asked.after === null}
          previous={readTrail(c.req.query(), items.length)}
        />
      </Card>,
    );
  });

  app.get('/organizations/:org/plans/:planId', async (c) => planPage(c));

  const plan = '/organizations/:org/plans/:planId';
  app.post(`${plan}/archive`, async (c) => toPlan(c, await send(c, archivePlan)));
  app.post(`${plan}/restore`, async (c) => toPlan(c, await send(c, restorePlan)));
}

function toPlan(c: ConsoleContext, answer: Answer<PlanDetail>) {
  if (!answer.ok) return refused(c, answer.refusal);
  return c.redirect(planPath(c.get('organization').organizationId, answer.data.planId), 303);
}

function periodText(replenish: Plan['replenish']): string {
  if (!replenish) return 'never';
  const unit = replenish.unit.toLowerCase();
  return replenish.every === 1 ? `every ${unit}` : `every ${replenish.every} ${unit}s`;
}

const limitText = (value: number | null) => (value === null ? '∞' : compact(value));

interface PlanTableProps {
  organizationId: OrganizationId;
  items: PlanDetail[];
  defaultPlanId: string | null;
  isWhole: boolean;
  sort: string | undefined;
}

/** A limit for sorting; no limit is the largest. */
const sortedLimit = (value: number | null) => value ?? Number.POSITIVE_INFINITY;

const ORDERS: Orders<PlanDetail, 'plan' | 'version' | 'standardCalls' | 'premiumCalls' | 'premiumTokens'> = {
  plan: ({ plan }) => plan.name,
  version: ({ version }) => version,
  standardCalls: ({ plan }) => sortedLimit(plan.limits.standardCalls),
  premiumCalls: ({ plan }) => sortedLimit(plan.limits.premiumCalls),
  premiumTokens: ({ plan }) => sortedLimit(plan.limits.premiumTokens),
};

const PlanTable: FC<PlanTableProps> = ({ organizationId, items, defaultPlanId, isWhole, sort }) => {
  const { rows, by } = sorted(items, ORDERS, { path: organizationPath(organizationId, 'plans'), sort }, isWhole);
  return (
    <Table
      caption="Plans"
      rows={rows}
      total={totalText(items.length, 'plan', isWhole)}
      columns={[
        {
          title: 'Plan',
          heading: true,
          sort: by('plan'),
          cell: ({ planId, plan, archivedAt }) => (
            <span>
              <a href={planPath(organizationId, planId)}>{plan.name}</a>{' '}
              {planId === defaultPlanId && <Badge tone="info">default</Badge>}
              {archivedAt !== null && <Badge>archived</Badge>}
              <span class="sub">{planId}</span>
            </span>
          ),
        },
        {
          title: 'Version',
          figure: true,
          sort: by('version'),
          phone: 'detail',
          cell: ({ version }) => String(version),
        },
        { title: 'At the limit', cell: ({ plan }) => words(plan.limitType) },
        { title: 'Renews', cell: ({ plan }) => periodText(plan.replenish) },
        { title: 'Price', figure: true, cell: ({ plan }) => <PlanPrice plan={plan} /> },
        {
          title: 'Standard calls',
          figure: true,
          sort: by('standardCalls'),
          cell: ({ plan }) => limitText(plan.limits.standardCalls),
        },
        {
          title: 'Premium calls',
          figure: true,
          sort: by('premiumCalls'),
          cell: ({ plan }) => limitText(plan.limits.premiumCalls),
        },
        {
          title: 'Premium tokens',
          figure: true,
          sort: by('premiumTokens'),
          cell: ({ plan }) => limitText(plan.limits.premiumTokens),
        },
        {
          title: 'Pay-as-you-go',
          cell: ({ plan }) => (plan.payg.enabled ? `cost + ${plan.payg.markupPercent}%` : <Nothing />),
        },
      ]}
    />
  );
};

async function planPage(c: ConsoleContext) {
  const { organizationId, defaultPlanId } = c.get('organization');
  const answer = await load(c, readPlan);
  if (!answer.ok) return refused(c, answer.refusal);
  const { planId, version: newest, versions } = answer.data;
  const asked = Number(c.req.query('version') ?? newest);
  const shown = versions.find(({ version }) => version === asked);
  if (!shown) return refused(c, { code: 'PLAN_NOT_FOUND', message: 'the plan has no such version' });
  const { plan, version } = shown;
  const warnings = planWarnings(plan);
  const path = planPath(organizationId, planId);
  const nowMs = Date.now();
  const changes = await renderChanges(c, {
    organizationId,
    subject: { kind: 'plan', id: planId },
    cursor: c.req.query('cursor'),
  });
  return page(
    c,
    {
      title: plan.name,
      sub: (
        <>
          <Code>{planId}</Code> · version {version} {planId === defaultPlanId && <Badge tone="info">default</Badge>}
          {answer.data.archivedAt !== null && <Badge>archived</Badge>}
        </>
      ),
      crumbs: [{ text: 'Plans', href: organizationPath(organizationId, 'plans') }],
      actions: (
        <a class="button primary" href={`${path}/edit`}>
          Edit plan
        </a>
      ),
    },
    <div class="grid">
      {version !== newest && (
        <div class="wide">
          <Notice tone="warn" title={`This is version ${version}.`}>
            <a href={path}>Show the newest, version {newest}</a>, or{' '}
            <a href={`${path}/compare?a=${version}&b=${newest}`}>what differs</a>.
          </Notice>
        </div>
      )}
      {warnings.length > 0 && (
        <div class="wide">
          <Warnings title="Funding that has no effect." texts={warnings} />
        </div>
      )}
      <Card title="Allowances and features">
        <PlanFacts plan={plan} />
      </Card>
      <div class="stack">
        {await planMarginCard(c, planId)}
        <Card title="Versions" note="A version never changes. Subscriptions keep their version until you move them.">
          <Versions detail={answer.data} path={path} nowMs={nowMs} />
        </Card>
        {planId !== defaultPlanId && (
          <Card title="New subscriptions">
            <ArchiveForm path={path} archived={answer.data.archivedAt !== null} secrets={formSecrets(c)} />
          </Card>
        )}
        {versions.length > 1 && (
          <Card title="Move customers to the newest version">
            <MigrateForm path={path} version={newest} />
          </Card>
        )}
      </div>
      {changes}
      <Card title="As a document" wide>
        <details class="fold">
          <summary>Show</summary>
          <Json value={plan} />
        </details>
      </Card>
    </div>,
  );
}

const PlanFacts: FC<{ plan: Plan }> = ({ plan }) => (
  <Facts
    items={[
      ['At the limit', words(plan.limitType)],
      ['Reasoning ceiling', words(plan.reasoningLevel)],
      ['Renews', periodText(plan.replenish)],
      ['Price', <PlanPrice plan={plan} />],
      ...LIMIT_NAMES.map((name) => {
        const limit = plan.limits[name];
        return [meterTitle(name), limit === null ? 'unlimited' : count(limit)] as const;
      }),
      ['Features', CAPABILITIES.filter((name) => hasCapability(plan, name)).join(', ') || 'none'],
      [
        'Rolling limit',
        plan.rollingCalls
          ? `${plural(plan.rollingCalls.limit, 'call')} in ${count(plan.rollingCalls.windowSeconds)} s`
          : 'none',
      ],
      [
        'Reserved per call',
        plan.reserveOutputTokens === null ? 'nothing' : plural(plan.reserveOutputTokens, 'output token'),
      ],
      ['Output tokens of an answer', plan.maxOutputTokens == null ? 'no limit' : count(plan.maxOutputTokens)],
      ['Answers of a call', `at most ${count(plan.maxAnswers ?? ANSWERS_MAX_DEFAULT)}`],
      ['Pay-as-you-go', plan.payg.enabled ? `cost + ${plan.payg.markupPercent}%` : 'disabled'],
      ['Alerts at percent of a limit', alertThresholds(plan).join(', ') || 'none'],
      ['Alert below a balance of', plan.alerts?.balanceBelowUsd == null ? 'none' : `$${plan.alerts.balanceBelowUsd}`],
      [
        'Alert below a balance for',
        plan.alerts?.balanceBelowDays == null ? 'none' : plural(plan.alerts.balanceBelowDays, 'day'),
      ],
      ...METER_SLOTS.flatMap((slot) => {
        const meter = plan.customMeters[slot];
        if (!meter) return [];
        const includes = meter.unlimited ? 'unlimited' : `${count(meter.included)} included`;
        const name = meterTitle(SLOT_METERS[slot]);
        return [
          [meterTitle(SLOT_METERS[slot], plan), `${name}: ${includes}${meter.enabled ? '' : ', disabled'}`] as const,
        ];
      }),
    ]}
  />
);

const Versions: FC<{ detail: PlanDetail; path: string; nowMs: number }> = ({ detail: { versions }, path, nowMs }) => (
  <>
    <Table
      caption="Versions"
      rows={versions}
      columns={[
        {
          title: 'Version',
          heading: true,
          cell: ({ version }) => <a href={`${path}?version=${version}`}>Version {version}</a>,
        },
        { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} nowMs={nowMs} /> },
        {
          title: 'Changes',
          cell: ({ version }) =>
            version > 1 ? (
              <a href={`${path}/compare?a=${version - 1}&b=${version}`}>against version {version - 1}</a>
            ) : (
              <Nothing />
            ),
        },
      ]}
    />
  </>
);

const ArchiveForm: FC<{ path: string; archived: boolean; secrets: FormSecrets }> = ({ path, archived, secrets }) => (
  <Form
    of={archived ? restorePlan : archivePlan}
    action={`${path}/${archived ? 'restore' : 'archive'}`}
    secrets={secrets}
  >
    <p class="quiet">
      {archived
        ? 'The plan takes no new subscriptions. Customers who have it keep it.'
        : 'An archived plan takes no new subscriptions. Customers who have it, or wait for it, keep it.'}
    </p>
    <div class="submit">
      <button type="submit">{archived ? 'Restore plan' : 'Archive plan'}</button>
    </div>
  </Form>
);

const MigrateForm: FC<{ path: string; version: number }> = ({ path, version }) => (
  <GetForm action={`${path}/migrate`} state={{ values: { when: 'NOW' }, details: [] }}>
    <p class="quiet">
      Every subscription of an older version goes to version {version}, in the background. Changes to another plan that
      are scheduled stay.
    </p>
    <Choice
      name="when"
      label="When"
      options={[
        ['NOW', 'Now', 'usage and renewal date are kept'],
        ['AT_NEXT_REPLENISH', 'At each next renewal', 'nothing changes until then'],
      ]}
    />
    <Submit>Move customers</Submit>
  </GetForm>
);
