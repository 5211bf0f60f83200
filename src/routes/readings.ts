/**
 * Readings over HTTP: what was used, what is coming, and what stands out.
 */
import type { Hono } from 'hono';
import { operations } from '../contract/operations.ts';
import { readUsageSummary } from '../metering/usage-summary.ts';
import type { AppEnv } from '../middleware/context.ts';
import { answerResponse } from '../middleware/errors.ts';
import { callerOf, mount } from './mount.ts';

export function mountReadings(app: Hono<AppEnv>): void {
  mount(app, operations.readUsageSummary, async (c, { query }) => answerResponse(c, await readUsageSummary(callerOf(c), query)));
}
