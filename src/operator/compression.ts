/**
 * Prompt compression of an organization, set and read by the operator: the same as the organization's own key can do,
 * with an event for each change.
 */
import { operations } from '../contract/operations.ts';
import { readJob, readProfile, readSummary, replaceProfile, startJob } from '../metering/compression.ts';
import { asTenant, change, read } from './operation.ts';

export const readOrganizationCompressionProfile = read(operations.readOrganizationCompressionProfile, (request) =>
  asTenant(request, readProfile),
);

export const operatorSaveCompressionProfile = change(operations.operatorSaveCompressionProfile, {
  action: 'compression_profile.put',
  subject: ({ params }) => params.org,
  decide: (request) =>
    asTenant(request, async (caller) => {
      const before = await readProfile(caller);
      if (!before.ok) return before;
      const saved = await replaceProfile(caller, request.body);
      return saved.ok ? { before: before.data, after: saved.data, data: saved.data } : saved;
    }),
});

export const readOrganizationCompressionSummary = read(operations.readOrganizationCompressionSummary, (request) =>
  asTenant(request, (caller) => readSummary(caller, request.query)),
);

/** A job that an earlier request started without its event is found by the idempotency key, and logged now. */
export const operatorStartCompressionJob = change(operations.operatorStartCompressionJob, {
  action: 'compression_job.start',
  subject: ({ params }) => params.org,
  decide: (request) =>
    asTenant(request, async (caller) => {
      const { body, idempotencyKey } = request;
      const started = await startJob(caller, body, idempotencyKey);
      if (!started.ok) return started;
      return { before: null, after: { jobId: started.data.jobId, ...body }, data: started.data };
    }),
});

export const readOrganizationCompressionJob = read(operations.readOrganizationCompressionJob, (request) =>
  asTenant(request, (caller) => readJob(caller, request.params.jobId)),
);
