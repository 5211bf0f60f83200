/**
 * Repricing: a preview with the number of calls and their cost, then the button, then the progress.
 */
import type { Hono } from 'hono';
import type { Repricing } from '../../contract/corrections.ts';
import { readRepricing, startRepricing } from '../../operator/repricing.ts';
import { ButtonForm } from '../../ui/form.tsx';
import { calendarDay, count, plural, words } from '../../ui/format.ts';
import { Badge, Card, Code, Facts, Notice, Time, Usd } from '../../ui/parts.tsx';
import { Progress } from '../../ui/small-charts.tsx';
import { type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { Live } from '../live.tsx';
import { refused } from '../refused.tsx';
import { load, send } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { STATUS_TONES } from '../statuses.ts';

/** For browsers without script. */
const REFRESH_SECONDS = 2;

export function mountRepricing(app: Hono<ConsoleEnv>): void {
  app.post('/organizations/:org/reprice', async (c) => {
    const { modelKey, from, to = new Date().toISOString(), dryRun } = c.req.query();
    const body = { ...(modelKey && { modelKey }), from, to, dryRun: dryRun === 'true' };
    const answer = await send(c, startRepricing, { body });
    if (!answer.ok) return refused(c, answer.refusal);
    return c.redirect(organizationPath(c.get('organization').organizationId, 'reprice', answer.data.jobId), 303);
  });

  app.get('/organizations/:org/reprice/:jobId', async (c) => {
    const answer = await load(c, readRepricing);
    return answer.ok ? repricingPage(c, answer.data) : refused(c, answer.refusal);
  });
}

function repricingPage(c: ConsoleContext, job: Repricing) {
  const { organizationId } = c.get('organization');
  const isRunning = job.status === 'RUNNING';
  const nowMs = Date.now();
  const { modelKey, dryRun, repriced, total } = job;
  return page(
    c,
    {
      title: dryRun ? 'Preview of a repricing' : 'Repricing',
      sub: modelKey === null ? 'of all models' : <Code>{modelKey}</Code>,
      crumbs: [{ text: 'Calls without a price', href: organizationPath(organizationId, 'unpriced') }],
      ...(isRunning && { refreshSeconds: REFRESH_SECONDS }),
    },
    <Live id="repricing" on={isRunning} says={`Repricing: ${words(job.status)}`}>
      <Card
        title={dryRun ? 'What would change' : 'Progress'}
        actions={<Badge tone={STATUS_TONES[job.status] ?? 'plain'}>{words(job.status)}</Badge>}
        note={isRunning ? 'This page updates by itself. The job continues if you leave it.' : undefined}
      >
        <Progress done={isRunning ? job.done : 1} total={isRunning ? total : 1} label="Calls checked" />
        {job.lastError && (
          <Notice tone="warn">{`${plural(job.failures, 'attempt')} failed and will be retried: ${job.lastError}`}</Notice>
        )}
        {!isRunning && <Outcome c={c} job={job} />}
        <Facts
          items={[
            ['Calls without a price', count(total)],
            [dryRun ? 'Would get a price' : 'Have a price now', count(repriced)],
            [
              dryRun ? 'Would cost' : 'They cost',
              repriced === 0 ? undefined : <Usd nano={BigInt(job.differenceNanoUsd)} />,
            ],
            ['Ended', `from ${calendarDay(Date.parse(job.from))} to ${calendarDay(Date.parse(job.to))}`],
            ['Started', <Time at={job.startedAt} nowMs={nowMs} />],
            ['Done', job.finishedAt === null ? undefined : <Time at={job.finishedAt} nowMs={nowMs} />],
          ]}
        />
      </Card>
    </Live>,
  );
}

/** The result of a finished job, and the next step. */
const Outcome = ({ c, job }: { c: ConsoleContext; job: Repricing }) => {
  const { organizationId } = c.get('organization');
  const { modelKey, from, to, dryRun, repriced } = job;
  const unpriced = organizationPath(organizationId, 'unpriced');
  if (!dryRun) {
    return (
      <p>
        {repriced === 0 ? 'No call got a price.' : 'The calls have their price. Reports follow after about a second.'}{' '}
        <a href={unpriced}>Calls without a price</a>
      </p>
    );
  }
  if (repriced === 0) {
    const query = modelKey === null ? '' : `?${new URLSearchParams({ modelKey })}`;
    return (
      <p>
        No call would get a price, because none was in force when they ended.{' '}
        <a href={`${organizationPath(organizationId, 'models')}${query}#set-price`}>Set a price</a>, then preview again.
      </p>
    );
  }
  const query = new URLSearchParams({ ...(modelKey !== null && { modelKey }), from, to });
  return (
    <div class="submit">
      <ButtonForm
        of={startRepricing}
        action={`${organizationPath(organizationId, 'reprice')}?${query}`}
        secrets={formSecrets(c)}
        danger
      >
        Reprice {plural(repriced, 'call')}
      </ButtonForm>
      <a href={unpriced}>Not now</a>
    </div>
  );
};
