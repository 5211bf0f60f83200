/**
 * Promise: the archive survives a restart of the server; its commands list it, verify it and export it, and exit with 1
 * if an object has changed since it was written.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readDevVars } from '../../src/cli/dev-vars.ts';
import { type Server, startServer } from '../../src/cli/server.ts';
import { Api, createTenant, type Tenant } from '../support/api.ts';
import { storeRecordsAsText } from '../support/call-records.ts';
import { type PreparedState, preparedState, until } from './local-server.ts';
import { operatorCli, type Run } from './operator-cli.ts';

const DAYS_AGO = 20;
const DAY_MS = 86_400_000;
/** How such a file begins. */
const GZIP = Buffer.from([0x1f, 0x8b]);
const day = (daysAgo: number) => new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10);

let state: PreparedState;
let vars: Record<string, string>;
let server: Server;
let tenant: Tenant;

const start = () => startServer({ port: state.port, stateDir: state.stateDir, vars });

beforeAll(async () => {
  state = await preparedState();
  const { DEMO_API_KEY: _, ...own } = await readDevVars(state.devVars);
  vars = own as Record<string, string>;
  server = await start();
  tenant = await createTenant(new Api(fetch, server.url, vars.OPERATOR_TOKEN ?? ''));
  const { callId } = (await tenant.api.send('beginCall', { body: { customerId: 'ann' } })).data;
  await tenant.api.send('endCall', {
    body: { callId, modelUsed: 'gpt-4o-mini', inputTokens: 1_000, responseTokens: 500 },
  });
  await arrived();
  // As if it had been some weeks ago.
  const agoMs = DAYS_AGO * DAY_MS;
  await storeRecordsAsText(server.db, 'organization_id = ?', tenant.organizationId);
  await server.db
    .prepare(
      `UPDATE calls SET started_at_ms = started_at_ms - ?1, finished_at_ms = finished_at_ms - ?1, record = json_set(record,
         '$.startedAtMs', started_at_ms - ?1, '$.finishedAtMs', finished_at_ms - ?1) WHERE organization_id = ?2`,
    )
    .bind(agoMs, tenant.organizationId)
    .run();
  await server.housekeep();
});
afterAll(() => server.stop());

async function arrived(): Promise<void> {
  const count = server.db
    .prepare(`SELECT COUNT(*) AS n FROM calls WHERE organization_id = ? AND status = 'COMPLETED'`)
    .bind(tenant.organizationId);
  await until(async () => (await count.first<{ n: number }>())?.n === 1);
}

function operator(...args: string[]): Promise<Run> {
  return operatorCli(args, { env: { ...process.env, CALLMETER_URL: server.url, DEV_VARS_FILE: state.devVars } });
}

test('list shows the days, and health that none is missing', async () => {
  const { code, out } = await operator('archive', 'list', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(out).items).toContainEqual({
    organizationId: tenant.organizationId,
    day: day(DAYS_AGO),
    rows: 1,
    archivedAt: expect.any(String),
  });
  expect((await operator('archive', 'list')).out).toMatch(/^Organization id +Day +Rows +Archived at$/m);
  expect(JSON.parse((await operator('health', '--json')).out).archive).toEqual({
    days: 0,
    oldestDay: null,
    erasures: 0,
    isLate: false,
  });
});

test('export writes JSON Lines, and FOCUS as CSV', async () => {
  const period = ['--from', day(DAYS_AGO), '--to', day(DAYS_AGO - 1)];
  const lines = await operator('export', tenant.organizationId, ...period);
  expect([lines.code, JSON.parse(lines.out).kind]).toEqual([0, 'call']);
  const focus = await operator('export', tenant.organizationId, '--format', 'focus', ...period);
  const [header = '', ...rows] = focus.out.trimEnd().split('\r\n');
  expect(header).toMatch(/^BilledCost,BillingAccountId,/);
  expect(rows.map((row) => row.split(',')[0])).toEqual(['0.00015', '0.0003']);
  const refused = await operator('export', tenant.organizationId, '--from', day(1), '--to', day(2));
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('to: must be after `from`')]);
  expect((await operator('export', tenant.organizationId)).code).toBe(2);
});

test('verify finds nothing, also after a restart, and then a flipped byte', async () => {
  await server.stop();
  server = await start();
  const good = await operator('archive', 'verify');
  expect([good.code, good.err]).toEqual([0, '']);
  expect(good.out).toMatch(/^Problems +0$/m);

  await flipByteOfObject();
  const bad = await operator('archive', 'verify', '--json');
  expect(bad.code).toBe(1);
  const { problems } = JSON.parse(bad.out);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatchObject({ object: expect.stringContaining(tenant.organizationId), problem: 'DAMAGED' });
  expect(bad.err).toContain(problems[0].object);
});

/** Flips a byte of the one file in the state that is a gzip. */
async function flipByteOfObject(): Promise<void> {
  const files = await readdir(join(state.stateDir, 'r2'), { recursive: true, withFileTypes: true });
  for (const file of files.filter((entry) => entry.isFile())) {
    const path = join(file.parentPath, file.name);
    const bytes = await readFile(path);
    // SQLite's own files lie beside it, and one of them may be empty.
    if (!bytes.subarray(0, 2).equals(GZIP)) continue;
    const middle = Math.floor(bytes.length / 2);
    bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
    await writeFile(path, bytes);
    return;
  }
  throw new Error('the state has no gzip');
}
