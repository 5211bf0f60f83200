/**
 * Repricing: a job that gives each call without a price the price that was in force when the call ended. The job's id
 * comes from the idempotency key, so that a repeated request finds the same job.
 */
import { refuse } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { Env } from '../env.ts';
import { ask } from '../objects/addresses.ts';
import { sha256Hex } from '../platform/hash.ts';
import { change, read } from './operation.ts';

const JOB_ID_LENGTH = 32;

export const startRepricing = change(operations.startRepricing, {
  action: 'calls.reprice',
  subject: ({ params, body }) => body.modelKey ?? params.org,
  decide: async ({ env, actor, onceKey, organization: { organizationId }, body }) => {
    const { modelKey = null, from, to, dryRun } = body;
    const jobId = (await sha256Hex(canonicalJson({ organizationId, reprice: onceKey }))).slice(0, JOB_ID_LENGTH);
    const period = { fromMs: Date.parse(from), toMs: Date.parse(to) };
    await ask(
      () => repricingJob(env, jobId),
      (job) => job.start({ jobId, organizationId, ...period, modelKey, dryRun, by: actor }),
    );
    return { before: null, after: { jobId, modelKey, from, to, dryRun }, data: { jobId } };
  },
});

export const readRepricing = read(operations.readRepricing, async ({ env, params: { org, jobId } }) => {
  const progress = await ask(
    () => repricingJob(env, jobId),
    (job) => job.read(org),
  );
  return progress ?? refuse('NOT_FOUND', 'no such repricing');
});

function repricingJob(env: Env, jobId: string) {
  return env.REPRICINGS.getByName(jobId);
}
