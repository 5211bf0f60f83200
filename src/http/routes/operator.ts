/**
 * The operator API over HTTP: every use case of `src/operator`, and the operations whose answers are not JSON
 * envelopes.
 */
import type { Hono } from 'hono';
import { accept } from '../../contract/errors.ts';
import { operations } from '../../contract/operations.ts';
import { exportHistory } from '../../operator/export.ts';
import { implemented } from '../../operator/implemented.ts';
import { exportSamples } from '../../operator/samples.ts';
import { CSV_TYPE } from '../../platform/csv.ts';
import type { AppEnv } from '../middleware/context.ts';
import { mount } from './mount.ts';
import { mountUseCase } from './use-cases.ts';

/** One line of JSON per item. */
const LINES_TYPE = 'application/jsonl; charset=utf-8';

export function mountOperator(app: Hono<AppEnv>): void {
  // Mounted before the loop: `samples/export` would be read as the id of a sample.
  mount(app, operations.exportSamples, async (c, { params, query }) => {
    const answer = await exportSamples(c.env, params.org, query);
    return answer.ok ? c.body(answer.data, 200, { 'Content-Type': LINES_TYPE }) : answer;
  });
  mount(app, operations.exportHistory, async (c, { params, query }) => {
    const answer = await exportHistory(c.env, params.org, query);
    const type = query.format === 'focus' ? CSV_TYPE : LINES_TYPE;
    return answer.ok ? c.body(answer.data, 200, { 'Content-Type': type }) : answer;
  });
  mount(app, operations.readIdentity, async (c) => {
    const { name, role } = c.get('operator');
    if (role === null) throw new Error('the route is open to roles alone');
    return accept('IDENTITY_READ', { name, role }, Date.now());
  });

  for (const useCase of Object.values(implemented)) mountUseCase(app, useCase);
}
