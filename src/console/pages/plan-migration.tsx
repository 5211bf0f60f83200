/**
 * Moving the customers of a plan to its newest version: their number, then the button, then the progress.
 */
import type { Hono } from 'hono';
import { badRequest, brokenRules } from '../../contract/errors.ts';
import type { MigratePlanRequest, PlanMigration } from '../../contract/operator-customers.ts';
import { countMigration, migratePlan, type PlanDetail, readMigration, readPlan } from '../../operator/plans.ts';
import { Form, Submit } from '../../ui/form.tsx';
import { count, plural, words } from '../../ui/format.ts';
import { Badge, Card, Code, Facts, Notice, Time } from '../../ui/parts.tsx';
import { Progress } from '../../ui/small-charts.tsx';
import { type ConsoleContext, type ConsoleEnv, organizationPath, planPath } from '../context.ts';
import { Live } from '../live.tsx';
import { refused } from '../refused.tsx';
import { bodyIn } from '../schema-form.tsx';
import { load, send } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { STATUS_TONES } from '../statuses.ts';

/** For browsers without script. */
const REFRESH_SECONDS = 2;

export function mountPlanMigration(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/plans/:planId/migrate', async (c) => {
    const { organizationId } = c.get('organization');
    const body = migratePlan.operation.body.safeParse({ when: c.req.query('when') });
    if (!body.success) return refused(c, badRequest(...brokenRules(body.error)).refusal);
    const plan = await load(c, readPlan);
    if (!plan.ok) return refused(c, plan.refusal);
    const { when } = body.data;
    return migratePage(c, plan.data, when, await countMigration(c.env, organizationId, plan.data, when));
  });

  app.post('/organizations/:org/plans/:planId/migrate', async (c) => {
    const { organizationId } = c.get('organization');
    const answer = await send(c, migratePlan, { body: bodyIn(migratePlan, c.get('submitted').fields) });
    if (!answer.ok) return refused(c, answer.refusal);
    return c.redirect(planPath(organizationId, c.req.param('planId'), 'migrations', answer.data.jobId), 303);
  });

  app.get('/organizations/:org/plans/:planId/migrations/:jobId', async (c) => {
    const answer = await load(c, readMigration);
    return answer.ok ? migrationPage(c, answer.data) : refused(c, answer.refusal);
  });
}

function migratePage(
  c: ConsoleContext,
  { planId, version, plan }: PlanDetail,
  when: MigratePlanRequest['when'],
  customers: number,
) {
  const { organizationId } = c.get('organization');
  const path = planPath(organizationId, planId);
  return page(
    c,
    {
      title: 'Move customers',
      crumbs: [
        { text: 'Plans', href: organizationPath(organizationId, 'plans') },
        { text: plan.name, href: path },
      ],
    },
    <Card>
      <Form of={migratePlan} action={`${path}/migrate`} secrets={formSecrets(c)}>
        <input type="hidden" name="when" value={when} />
        <p>
          <strong>{plural(customers, 'customer')}</strong> of {plan.name} will be on version {version},{' '}
          {when === 'NOW' ? 'at once' : 'each at its next renewal'}. To move them back, save a version with the old
          content and move them again.
        </p>
        <Submit back={path} danger>
          Move {plural(customers, 'customer')}
        </Submit>
      </Form>
    </Card>,
  );
}

function migrationPage(c: ConsoleContext, job: PlanMigration) {
  const { organizationId } = c.get('organization');
  const nowMs = Date.now();
  const running = job.status === 'RUNNING';
  const done = job.migrated + job.unchanged;
  return page(
    c,
    {
      title: 'Migration',
      sub: (
        <>
          to <Code>{job.usagePlanVersionId}</Code>
        </>
      ),
      crumbs: [
        { text: 'Plans', href: organizationPath(organizationId, 'plans') },
        { text: job.planId, href: planPath(organizationId, job.planId) },
      ],
      ...(running && { refreshSeconds: REFRESH_SECONDS }),
    },
    <Live id="migration" on={running} says={`Migration: ${words(job.status)}`}>
      <Card
        title="Progress"
        actions={<Badge tone={STATUS_TONES[job.status] ?? 'plain'}>{words(job.status)}</Badge>}
        note={running ? 'This page updates by itself. The migration continues if you leave it.' : undefined}
      >
        <Progress
          done={running ? Math.min(done, job.total) : 1}
          total={running ? job.total : 1}
          label="Subscriptions moved"
        />
        {job.lastError && (
          <Notice tone="warn">{`${plural(job.failures, 'attempt')} failed and will be retried: ${job.lastError}`}</Notice>
        )}
        <Facts
          items={[
            // The plan may have more customers than at the count.
            ['Moved', `${count(job.migrated)} of ${count(Math.max(job.total, done))}`],
            ['Needed no change', count(job.unchanged)],
            ['When', job.when === 'NOW' ? 'at once' : 'at each next renewal'],
            ['Started', <Time at={job.startedAt} nowMs={nowMs} />],
            ['Done', job.finishedAt === null ? undefined : <Time at={job.finishedAt} nowMs={nowMs} />],
            ['Job', <Code>{job.jobId}</Code>],
          ]}
        />
      </Card>
    </Live>,
  );
}
