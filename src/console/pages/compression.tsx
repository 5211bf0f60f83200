/**
 * Prompt compression: its savings, the profile of the applications, and the start of an estimate.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { CompressionSummary, RecordedSavings, TECHNIQUE_NAMES } from '../../contract/compression.ts';
import {
  operatorSaveCompressionProfile,
  operatorStartCompressionJob,
  readOrganizationCompressionProfile,
  readOrganizationCompressionSummary,
} from '../../operator/compression.ts';
import { BLANK, Form, type FormSecrets, type FormState, Submit } from '../../ui/form.tsx';
import { compact, compactPlural, percent, plural } from '../../ui/format.ts';
import { Card, Compact, Empty, Stat, Usd } from '../../ui/parts.tsx';
import { Ranking } from '../../ui/small-charts.tsx';
import { type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { refused } from '../refused.tsx';
import { BodyFields, bodyIn, storedIn } from '../schema-form.tsx';
import { load, send, wrong } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { ESTIMATED, EstimateForm } from './compression-estimate.tsx';

const TECHNIQUES = Object.entries({
  json: 'JSON without spaces',
  toon: 'Tables of JSON as TOON',
  whitespace: 'Needless white space',
  decoration: 'Decoration',
  politeness: 'Politeness',
  filler: 'Filler words',
  duplicates: 'Repeated passages',
} satisfies Record<(typeof TECHNIQUE_NAMES)[number], string>);

export function mountCompression(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/compression', (c) => compressionPage(c));

  app.post('/organizations/:org/compression', async (c) => {
    const answer = await send(c, operatorSaveCompressionProfile, {
      body: bodyIn(operatorSaveCompressionProfile, c.get('submitted').fields),
    });
    if (!answer.ok) return compressionPage(c, { profile: wrong(c, answer.refusal) });
    return c.redirect(`${c.req.path}?done=profile`, 303);
  });

  app.post('/organizations/:org/compression/jobs', async (c) => {
    const started = await send(c, operatorStartCompressionJob, {
      body: bodyIn(operatorStartCompressionJob, c.get('submitted').fields, ESTIMATED),
    });
    if (!started.ok) return compressionPage(c, { estimate: wrong(c, started.refusal) });
    return c.redirect(`${c.req.path}/${started.data.jobId}`, 303);
  });
}

/** The page; `sent` holds a form to show again with its errors. */
async function compressionPage(c: ConsoleContext, sent: { profile?: FormState; estimate?: FormState } = {}) {
  const [profile, summary] = await Promise.all([
    load(c, readOrganizationCompressionProfile),
    load(c, readOrganizationCompressionSummary),
  ]);
  if (!profile.ok) return refused(c, profile.refusal);
  if (!summary.ok) return refused(c, summary.refusal);
  const path = organizationPath(c.get('organization').organizationId, 'compression');
  return page(
    c,
    {
      title: 'Compression',
      status: sent.profile || sent.estimate ? 400 : 200,
      sub: 'What shorter prompts saved in the last 30 days.',
    },
    <>
      <Savings summary={summary.data} />
      <Card title="Profile" note="The profile that applications use by default.">
        <ProfileForm
          path={path}
          state={sent.profile ?? storedIn(operatorSaveCompressionProfile, profile.data)}
          secrets={formSecrets(c)}
        />
      </Card>
      <Card title="Estimate" note="What the saved profile would have saved on the stored samples. Changes nothing.">
        <EstimateForm path={path} state={sent.estimate ?? BLANK} secrets={formSecrets(c)} />
      </Card>
    </>,
  );
}

const Savings: FC<{ summary: CompressionSummary }> = ({ summary }) => (
  <>
    <dl class="stats">
      <Stat
        label="Cost avoided"
        sub={
          summary.unpricedCalls > 0 ? `without ${plural(summary.unpricedCalls, 'unpriced call')}` : 'of input tokens'
        }
      >
        <Usd nano={BigInt(summary.costAvoidedUsdNano)} />
      </Stat>
      <Stat label="Tokens saved" sub={`of ${compact(summary.originalTokens)}`}>
        <Compact value={summary.savedTokens} />
      </Stat>
      <Stat label="Shorter by">{percent(summary.tokenSavingsRatio)}</Stat>
      <Stat label="Calls" sub="with recorded savings">
        <Compact value={summary.calls} />
      </Stat>
    </dl>
    {summary.calls === 0 ? (
      <Card>
        <Empty title="No savings recorded yet">
          The client library compresses prompts and reports the counts with the call. Only token counts are sent, no
          content.
        </Empty>
      </Card>
    ) : (
      <div class="grid">
        <SavingsRanking
          title="By feature"
          total={summary.savedTokens}
          rows={summary.byFeature.map((group) => ({ ...group, name: group.feature ?? 'none' }))}
        />
        <SavingsRanking
          title="By technique"
          total={summary.savedTokens}
          rows={summary.byTechnique.map((group) => ({ ...group, name: group.technique }))}
          note="A call with several techniques counts for each of them."
        />
      </div>
    )}
  </>
);

const SavingsRanking: FC<{
  title: string;
  total: number;
  rows: (RecordedSavings & { name: string })[];
  note?: string;
}> = ({ title, total, rows, note }) => (
  <Card title={title} note={note}>
    <Ranking
      label={title}
      rows={rows.map(({ name, savedTokens, calls, costAvoidedUsdNano }) => ({
        name,
        share: total > 0 ? savedTokens / total : 0,
        value: `${compact(savedTokens)} tokens`,
        sub: (
          <>
            <Usd nano={BigInt(costAvoidedUsdNano)} /> · {compactPlural(calls, 'call')}
          </>
        ),
      }))}
    />
  </Card>
);

const ProfileForm: FC<{ path: string; state: FormState; secrets: FormSecrets }> = ({ path, state, secrets }) => (
  <Form of={operatorSaveCompressionProfile} action={path} secrets={secrets} state={state}>
    <BodyFields of={operatorSaveCompressionProfile} overrides={{ techniques: { options: TECHNIQUES } }} />
    <Submit>Save profile</Submit>
  </Form>
);
