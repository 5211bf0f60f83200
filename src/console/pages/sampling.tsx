/**
 * The sampling policy: the calls that an organization keeps for review, and for how long.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { SamplingPolicy } from '../../contract/sampling.ts';
import { readSampling, setSampling } from '../../operator/sampling.ts';
import { Form, type FormSecrets, type FormState, Submit, TextField } from '../../ui/form.tsx';
import { Card, Code } from '../../ui/parts.tsx';
import type { Fields } from '../context.ts';
import { type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { refused } from '../refused.tsx';
import { BodyFields, bodyIn, storedIn } from '../schema-form.tsx';
import { load, send, wrong } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { typedNumber } from '../submitted.ts';

export function mountSampling(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/sampling', (c) => samplingPage(c, null));

  app.post('/organizations/:org/sampling', async (c) => {
    const answer = await send(c, setSampling, { body: readPolicy(c.get('submitted').fields) });
    if (!answer.ok) return samplingPage(c, inPercent(wrong(c, answer.refusal)));
    return c.redirect(`${c.req.path}?done=sampling`, 303);
  });
}

function readPolicy(fields: Fields) {
  const percent = typedNumber(fields, 'percent');
  // Divides by 100 without the rounding of binary fractions.
  const rate = typeof percent === 'number' ? Number((percent / 100).toPrecision(15)) : percent;
  return { ...bodyIn(setSampling, fields), rate };
}

/** Moves errors of the policy's `rate` to the form's field, which is in percent. */
function inPercent({ values, details }: FormState): FormState {
  const percent = { path: 'percent', message: 'must be a number from 0 to 100' };
  return { values, details: details.map((detail) => (detail.path === 'rate' ? percent : detail)) };
}

async function samplingPage(c: ConsoleContext, state: FormState | null) {
  const { organizationId } = c.get('organization');
  const current = await load(c, readSampling);
  if (!current.ok) return refused(c, current.refusal);
  return page(
    c,
    {
      title: 'Sampling',
      status: state ? 400 : 200,
      sub: (
        <>
          Policy <Code>{current.data.version}</Code>
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
        state={state ?? policyValues(current.data)}
        secrets={formSecrets(c)}
      />
    </Card>,
  );
}

function policyValues(policy: SamplingPolicy): FormState {
  const { values, details } = storedIn(setSampling, policy);
  return { values: { ...values, percent: String(Number((policy.rate * 100).toPrecision(15))) }, details };
}

const PolicyForm: FC<{ path: string; state: FormState; secrets: FormSecrets }> = ({ path, state, secrets }) => (
  <Form of={setSampling} action={path} secrets={secrets} state={state}>
    <div class="columns">
      <TextField
        name="percent"
        label="Percentage of calls"
        numeric
        required
        hint="0 stores none, 100 stores all eligible calls."
      />
      <BodyFields of={setSampling} paths={['minInputTokens', 'retentionDays']} />
    </div>
    <div class="columns">
      <BodyFields of={setSampling} paths={['features.include', 'features.exclude', 'customers.exclude']} />
    </div>
    <Submit>Save policy</Submit>
  </Form>
);
