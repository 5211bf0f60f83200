/**
 * The sampling policy: which calls an organization keeps for review, and for how long.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { operations } from '../../contract/operations.ts';
import { SetSamplingRequest } from '../../contract/sampling.ts';
import { setSampling } from '../../operator/sampling.ts';
import type { VersionedPolicy } from '../../storage/sampling.ts';
import { readSamplingPolicy } from '../../storage/sampling.ts';
import { Form, type FormSecrets, type FormState, TextArea, TextField } from '../../ui/form.tsx';
import { Card, Code } from '../../ui/parts.tsx';
import type { Fields } from '../context.ts';
import { type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { page, secretsOf } from '../shell.tsx';
import { check, detailsOf, lines, operatorRequest, typedNumber, wrong } from '../submitted.ts';

export function mountSampling(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/sampling', (c) => samplingPage(c, null));

  app.post('/organizations/:org/sampling', async (c) => {
    const { organizationId } = c.get('organization');
    const checked = check(SetSamplingRequest, policyOf(c.get('submitted').fields));
    if (!checked.ok) return samplingPage(c, wrong(c, inPercent(checked.details)));
    const request = await operatorRequest(c, operations.setSampling, {
      params: { org: organizationId },
      body: checked.value,
    });
    const answer = await setSampling(request, organizationId, checked.value);
    if (!answer.ok) return samplingPage(c, wrong(c, inPercent(detailsOf(answer.refusal))));
    return c.redirect(`${organizationPath(organizationId, 'sampling')}?done=sampling`, 303);
  });
}

function policyOf(fields: Fields): unknown {
  const percent = typedNumber(fields, 'percent');
  return {
    // A hundredth of what was typed, without the rounding of binary fractions.
    rate: typeof percent === 'number' ? Number((percent / 100).toPrecision(15)) : percent,
    minInputTokens: typedNumber(fields, 'minInputTokens'),
    features: { include: lines(fields, 'features.include'), exclude: lines(fields, 'features.exclude') },
    customers: { exclude: lines(fields, 'customers.exclude') },
    retentionDays: typedNumber(fields, 'retentionDays'),
  };
}

/** The form asks for percent where the policy has a share. */
function inPercent(details: FormState['details']): FormState['details'] {
  return details.map((detail) =>
    detail.path === 'rate' ? { path: 'percent', message: 'must be a number from 0 to 100' } : detail,
  );
}

async function samplingPage(c: ConsoleContext, state: FormState | null) {
  const { organizationId } = c.get('organization');
  const current = await readSamplingPolicy(c.env, organizationId);
  return page(
    c,
    {
      title: 'Sampling',
      status: state ? 400 : 200,
      sub: (
        <>
          Policy <Code>{current.version}</Code>
        </>
      ),
      actions: (
        <a class="button" href={organizationPath(organizationId, 'samples')}>
          Review samples
        </a>
      ),
    },
    <Card
      title="Policy"
      note="Decides which calls are stored for review. The same call always gets the same decision under the same policy."
    >
      <PolicyForm
        path={organizationPath(organizationId, 'sampling')}
        state={state ?? { values: fieldsOf(current), details: [] }}
        secrets={secretsOf(c)}
      />
    </Card>,
  );
}

function fieldsOf({ policy }: VersionedPolicy): FormState['values'] {
  return {
    percent: String(Number((policy.rate * 100).toPrecision(15))),
    minInputTokens: String(policy.minInputTokens),
    retentionDays: String(policy.retentionDays),
    'features.include': policy.features.include.join('\n'),
    'features.exclude': policy.features.exclude.join('\n'),
    'customers.exclude': policy.customers.exclude.join('\n'),
  };
}

const PolicyForm: FC<{ path: string; state: FormState; secrets: FormSecrets }> = ({ path, state, secrets }) => (
  <Form action={path} secrets={secrets} state={state}>
    <div class="columns">
      <TextField
        name="percent"
        label="Percentage of calls"
        state={state}
        numeric
        required
        hint="0 stores none, 100 stores all eligible calls."
      />
      <TextField
        name="minInputTokens"
        label="Minimum input tokens"
        state={state}
        numeric
        hint="Shorter calls are not stored."
      />
      <TextField
        name="retentionDays"
        label="Kept for days"
        state={state}
        numeric
        required
        hint="1 to 365. Older samples are deleted."
      />
    </div>
    <div class="columns">
      <TextArea name="features.include" label="Only these features" state={state} hint="One per line. Empty: all." />
      <TextArea name="features.exclude" label="Never these features" state={state} hint="One per line." />
      <TextArea name="customers.exclude" label="Never these customers" state={state} hint="One customer id per line." />
    </div>
    <div class="submit">
      <button type="submit" class="primary">
        Save policy
      </button>
    </div>
  </Form>
);
