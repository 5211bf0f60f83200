/**
 * Prompt compression over HTTP: recorded savings, who may be billed, the profile, the summary, estimates.
 */
import type { Hono } from 'hono';
import { operations } from '../contract/operations.ts';
import {
  authorizeCompression,
  compressPrompt,
  readJob,
  readProfile,
  readSummary,
  replaceProfile,
  startJob,
} from '../metering/compression.ts';
import type { AppContext, AppEnv } from '../middleware/context.ts';
import { answerResponse } from '../middleware/errors.ts';
import { callerOf, headerKeyOf, mount } from './mount.ts';

export function mountCompression(app: Hono<AppEnv>): void {
  mount(app, operations.compressPrompt, async (c, { body }) =>
    answerResponse(c, await compressPrompt(callerOf(c), body, headerKeyOf(c), sessionOf(c))),
  );
  mount(app, operations.authorizeCompression, async (c, { body }) =>
    answerResponse(c, await authorizeCompression(callerOf(c), body, sessionOf(c))),
  );
  mount(app, operations.readCompressionProfile, async (c) => answerResponse(c, await readProfile(callerOf(c))));
  mount(app, operations.saveCompressionProfile, async (c, { body }) =>
    answerResponse(c, await replaceProfile(callerOf(c), body)),
  );
  mount(app, operations.readCompressionSummary, async (c, { query }) =>
    answerResponse(c, await readSummary(callerOf(c), query)),
  );
  mount(app, operations.startCompressionJob, async (c, { body }) =>
    answerResponse(c, await startJob(callerOf(c), body, headerKeyOf(c))),
  );
  mount(app, operations.readCompressionJob, async (c, { params }) =>
    answerResponse(c, await readJob(callerOf(c), params.jobId)),
  );
}

/** Whom a browser's token speaks for; `undefined` where a key is used. */
function sessionOf(c: AppContext) {
  return c.get('credential').session;
}
