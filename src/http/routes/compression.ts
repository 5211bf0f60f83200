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
import { getCaller, headerKey, mount } from './mount.ts';

export function mountCompression(app: Hono<AppEnv>): void {
  mount(app, operations.compressPrompt, (c, { body }) =>
    compressPrompt(getCaller(c), body, headerKey(c), callerSession(c)),
  );
  mount(app, operations.authorizeCompression, (c, { body }) =>
    authorizeCompression(getCaller(c), body, callerSession(c)),
  );
  mount(app, operations.readCompressionProfile, (c) => readProfile(getCaller(c)));
  mount(app, operations.saveCompressionProfile, (c, { body }) => replaceProfile(getCaller(c), body));
  mount(app, operations.readCompressionSummary, (c, { query }) => readSummary(getCaller(c), query));
  mount(app, operations.startCompressionJob, (c, { body }) => startJob(getCaller(c), body, headerKey(c)));
  mount(app, operations.readCompressionJob, (c, { params }) => readJob(getCaller(c), params.jobId));
}

/** The customer of a session token; `undefined` for an API key. */
function callerSession(c: AppContext) {
  return c.get('credential').session;
}
