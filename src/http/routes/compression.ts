/**
 * Prompt compression over HTTP: recorded savings, the customers who may be billed, the profile, the summary, estimates.
 */
import type { Hono } from 'hono';
import { operations } from '../../contract/operations.ts';
import {
  authorizeCompression,
  compressPrompt,
  readJob,
  readProfile,
  readSummary,
  replaceProfile,
  startJob,
} from '../../metering/compression.ts';
import type { AppContext, AppEnv } from '../middleware/context.ts';
import { callerOf, headerKeyOf, mount } from './mount.ts';

export function mountCompression(app: Hono<AppEnv>): void {
  mount(app, operations.compressPrompt, (c, { body }) =>
    compressPrompt(callerOf(c), body, headerKeyOf(c), sessionOf(c)),
  );
  mount(app, operations.authorizeCompression, (c, { body }) => authorizeCompression(callerOf(c), body, sessionOf(c)));
  mount(app, operations.readCompressionProfile, (c) => readProfile(callerOf(c)));
  mount(app, operations.saveCompressionProfile, (c, { body }) => replaceProfile(callerOf(c), body));
  mount(app, operations.readCompressionSummary, (c, { query }) => readSummary(callerOf(c), query));
  mount(app, operations.startCompressionJob, (c, { body }) => startJob(callerOf(c), body, headerKeyOf(c)));
  mount(app, operations.readCompressionJob, (c, { params }) => readJob(callerOf(c), params.jobId));
}

/** The customer of a session token; `undefined` for an API key. */
function sessionOf(c: AppContext) {
  return c.get('credential').session;
}
