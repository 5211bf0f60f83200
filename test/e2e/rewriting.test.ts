/**
 * Promise: a migration that rewrites the 10,000 calls of a customer does so in alarms of a bounded size. Calls begin and end
 * meanwhile, and after a SIGKILL it goes on behind the last rewritten row: each row is rewritten once.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, expect, test } from 'vitest';
import { ROWS_PER_ALARM } from '../../durable-objects/schema.ts';
import { bundle } from '../../src/cli/bundle.ts';
import { type Api, createTenant } from '../support/api.ts';
import { type PreparedState, preparedState, startPrepared, until } from './local-server.ts';

const ROWS = 10_000;
const REWRITING = { script: 'test/e2e/rewriting-worker.ts', folder: 'rewriting' };

let state: PreparedState;
let api: Api;
let file: string;
/** A state whose customer has so many calls, made by copies of one. */
beforeAll(async () => {
  state = await preparedState();
  await bundle(state.stateDir, REWRITING);
  const server = await startPrepared(state);
  ({ api } = await createTenant(server.operator, { name: 'Free', limitType: 'NONE' }));
  await meter();
  await server.stop();
  const folder = join(state.stateDir, 'do', 'callmeter-Customer');
  file = join(folder, readdirSync(folder).find((name) => /^[0-9a-f]{64}\.sqlite$/.test(name)) ?? '');
  using object = new DatabaseSync(file);
  const copied = 'status, started_at_ms, deadline_at_ms, finished_at_ms, record, begin_fingerprint';
  object.exec(`WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ${ROWS})
    INSERT INTO calls (call_id, ${copied}) SELECT 'copy-' || n.value, ${copied} FROM n, (SELECT * FROM calls LIMIT 1)`);
});

async function meter(): Promise<void> {
  const { callId } = (await api.send('beginCall', { body: { customerId: 'ann' } })).data;
  expect((await api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', responseTokens: 1 } })).status).toBe(200);
}

test('rows are rewritten in bounded alarms, between commands, and once although the server is killed', async () => {
  using object = new DatabaseSync(file, { timeout: 10_000 });
  const count = (times: string) => {
    const sql = `SELECT COUNT(*) AS rows FROM calls WHERE call_id LIKE 'copy-%' AND times ${times}`;
    return Number(object.prepare(sql).get()?.rows);
  };
  const hasColumn = () => object.prepare(`SELECT 1 FROM pragma_table_info('calls') WHERE name = 'times'`).get();

  let server = await startPrepared(state, { bundled: REWRITING });
  // The first command opens the object.
  const first = meter().catch(() => undefined);
  await until(() => hasColumn() !== undefined && count('> 0') > 0);
  await server.kill();
  await first;
  const killedAt = count('> 0');
  expect(killedAt).toBeLessThan(ROWS);

  server = await startPrepared(state, { bundled: REWRITING });
  let between = 0;
  await until(async () => {
    await meter();
    const rewritten = count('> 0');
    if (rewritten > killedAt && rewritten < ROWS) between += 1;
    return rewritten === ROWS;
  });
  await server.stop();
  expect(between).toBeGreaterThan(0);
  expect(count('<> 1')).toBe(0);
  const most = object.prepare('SELECT MAX(rows) AS most, SUM(rows) AS sum FROM alarms').get();
  expect(Number(most?.most)).toBeLessThanOrEqual(ROWS_PER_ALARM);
  expect(Number(most?.sum)).toBeGreaterThanOrEqual(ROWS);
});
