/**
 * Repricing: a job that gives calls without a price the one that was in force when they ended. The job's id comes from the
 * idempotency key, so that a repeated request finds its job again.
 */

import type { RepriceRequest, Repricing } from '../contract/corrections.ts';
import { type Answer, accept, refuse } from '../contract/errors.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { ask } from '../objects/addresses.ts';
import { sha256Hex } from '../platform/hash.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

const JOB_ID_LENGTH = 32;

export function startRepricing(
  request: OperatorRequest,
  organizationId: OrganizationId,
  { modelKey: model, from, to, dryRun }: RepriceRequest,
): Promise<Answer<{ jobId: string }>> {
  const modelKey = model ?? null;
  return commitChange(request, async () => {
    const { env, actor, idempotencyKey } = request;
    if (!(await findOrganization(env, organizationId))) return noOrganization();
    const jobId =
      idempotencyKey === null
        ? crypto.randomUUID()
        : (await sha256Hex(canonicalJson({ organizationId, reprice: idempotencyKey }))).slice(0, JOB_ID_LENGTH);
    const period = { fromMs: Date.parse(from), toMs: Date.parse(to) };
    await ask(
      () => jobOf(env, jobId),
      (job) => job.start({ jobId, organizationId, ...period, modelKey, dryRun, by: actor }),
    );
    return {
      action: 'calls.reprice',
      organizationId,
      subject: modelKey ?? organizationId,
      before: null,
      after: { jobId, modelKey, from, to, dryRun },
      statements: [],
      replaces: false,
      code: 'REPRICING_STARTED',
      data: { jobId },
    };
  });
}

export async function readRepricing(
  env: Env,
  organizationId: OrganizationId,
  jobId: string,
): Promise<Answer<Repricing>> {
  const progress = await ask(
    () => jobOf(env, jobId),
    (job) => job.read(organizationId),
  );
  return progress ? accept('REPRICING_READ', progress, Date.now()) : refuse('NOT_FOUND', 'no such repricing');
}

function jobOf(env: Env, jobId: string) {
  return env.REPRICINGS.getByName(jobId);
}
