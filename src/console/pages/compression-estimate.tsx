/**
 * Estimates of the profile's savings. A form starts a job over the stored samples, and the job has a page of its own.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { CompressionJob } from '../../contract/compression.ts';
import { type CompressionExample, readExample } from '../../metering/compression-example.ts';
import { operatorStartCompressionJob, readOrganizationCompressionJob } from '../../operator/compression.ts';
import { Form, type FormSecrets, type FormState, Submit } from '../../ui/form.tsx';
import { compact, count, percent, plural, words } from '../../ui/format.ts';
import { Badge, Card, Code, Compact, Empty, Facts, Notice, Stat, Time, Usd } from '../../ui/parts.tsx';
import { Progress } from '../../ui/small-charts.tsx';
import { Table } from '../../ui/table.tsx';
import { CompressionDiff } from '../compression-diff.tsx';
import { type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { Live } from '../live.tsx';
import { refused } from '../refused.tsx';
import { BodyFields } from '../schema-form.tsx';
import { load } from '../send.ts';
import { page } from '../shell.tsx';
import { STATUS_TONES } from '../statuses.ts';

const REFRESH_SECONDS = 3;

export function mountCompressionEstimate(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/compression/jobs/:jobId', async (c) => {
    const answer = await load(c, readOrganizationCompressionJob);
    if (!answer.ok) return refused(c, answer.refusal);
    // While the job runs, the page reloads, and the example is not final.
    const isDone = answer.data.status === 'COMPLETED';
    return jobPage(c, answer.data, isDone ? await readExample(c.env, c.get('organization'), answer.data) : null);
  });
}

/** The fields that select samples. */
export const ESTIMATED = ['from', 'to', 'customerId', 'feature'];

export const EstimateForm: FC<{ path: string; state: FormState; secrets: FormSecrets }> = ({
  path,
  state,
  secrets,
}) => (
  <Form of={operatorStartCompressionJob} action={`${path}/jobs`} secrets={secrets} state={state}>
    <div class="columns">
      <BodyFields of={operatorStartCompressionJob} paths={ESTIMATED} />
    </div>
    <Submit>Start an estimate</Submit>
  </Form>
);

function jobPage(c: ConsoleContext, job: CompressionJob, example: CompressionExample | null) {
  const { organizationId } = c.get('organization');
  const path = organizationPath(organizationId, 'compression');
  const running = job.status === 'RUNNING';
  return page(
    c,
    {
      title: 'Compression estimate',
      sub: <>What the profile would have saved</>,
      crumbs: [{ text: 'Compression', href: path }],
      ...(running && { refreshSeconds: REFRESH_SECONDS }),
    },
    <Live id="estimate" on={running} says={`Estimate: ${words(job.status)}`}>
      <Card
        title="Progress"
        actions={<Badge tone={STATUS_TONES[job.status] ?? 'plain'}>{words(job.status)}</Badge>}
        note={running ? 'This page updates by itself. The estimate continues if you leave it.' : undefined}
      >
        <Progress
          done={running ? Math.min(job.progress.done, job.progress.total) : 1}
          total={running ? job.progress.total : 1}
          label="Samples processed"
        />
        {job.lastError && (
          <Notice tone="warn">{`${plural(job.failures, 'attempt')} failed and will be retried: ${job.lastError}`}</Notice>
        )}
        <JobFacts job={job} nowMs={Date.now()} />
      </Card>
      <Estimate job={job} />
      {!running && <CompressionDiff example={example} organizationId={organizationId} />}
    </Live>,
  );
}

const JobFacts: FC<{ job: CompressionJob; nowMs: number }> = ({ job, nowMs }) => {
  const { techniques, aggressiveness, protectedPhrases, minInputTokens } = job.profile;
  return (
    <Facts
      items={[
        ['Samples', `${count(job.progress.done)} of ${count(Math.max(job.progress.total, job.progress.done))}`],
        ['Could not be read', job.unreadableSamples > 0 ? count(job.unreadableSamples) : undefined],
        ['Techniques', techniques.map(words).join(', ') || 'none'],
        ['Aggressiveness', String(aggressiveness)],
        ['Meaning', job.meaningMayChange ? 'may change at this aggressiveness' : 'stays'],
        ['Tokens', 'estimated, before and after alike'],
        ['Minimum input tokens', count(minInputTokens)],
        ['Protected phrases', protectedPhrases.length > 0 ? count(protectedPhrases.length) : undefined],
        ['Started', <Time at={job.startedAt} nowMs={nowMs} />],
        ['Done', job.finishedAt === null ? undefined : <Time at={job.finishedAt} nowMs={nowMs} />],
        ['Job', <Code>{job.jobId}</Code>],
      ]}
    />
  );
};

const Estimate: FC<{ job: CompressionJob }> = ({ job }) => (
  <>
    <dl class="stats">
      <Stat
        label="Cost avoided"
        sub={job.unpricedSamples > 0 ? `without ${count(job.unpricedSamples)} unpriced samples` : 'of input tokens'}
      >
        <Usd nano={BigInt(job.costAvoidedUsdNano)} />
      </Stat>
      <Stat label="Tokens saved" sub={`of ${compact(job.originalTokens)}`}>
        <Compact value={job.savedTokens} />
      </Stat>
      <Stat label="Shorter by">{percent(job.tokenSavingsRatio)}</Stat>
    </dl>
    <ByTechnique job={job} />
  </>
);

const ByTechnique: FC<{ job: CompressionJob }> = ({ job }) => {
  const tokens = new Map(job.techniques.map((saving) => [saving.name, saving]));
  return (
    <Card title="By technique" note="Tokens of the texts that the technique changed.">
      {job.byTechnique.length === 0 ? (
        <Empty title="Nothing to shorten">No technique of the profile changed any of the samples.</Empty>
      ) : (
        <Table
          caption="By technique"
          rows={job.byTechnique}
          columns={[
            { title: 'Technique', heading: true, cell: ({ technique }) => words(technique) },
            { title: 'Samples', figure: true, cell: ({ samples }) => count(samples) },
            {
              title: 'Tokens before',
              figure: true,
              cell: ({ technique }) => <Compact value={tokens.get(technique)?.originalTokens ?? 0} />,
            },
            {
              title: 'Tokens after',
              figure: true,
              cell: ({ technique }) => <Compact value={tokens.get(technique)?.compressedTokens ?? 0} />,
            },
            { title: 'Tokens saved', figure: true, cell: ({ savedTokens }) => <Compact value={savedTokens} /> },
            {
              title: 'Cost avoided',
              figure: true,
              cell: ({ costAvoidedUsdNano }) => <Usd nano={BigInt(costAvoidedUsdNano)} />,
            },
          ]}
        />
      )}
    </Card>
  );
};
