/**
 * The operator commands, the demo and the vendor for trying out, against a separate server. Commands of the operator run
 * in this process, but for one that streams and one that is interrupted; documents.test.ts starts the other forms.
 */
import { execFile, spawn } from 'node:child_process';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO_ORGANIZATION_ID as DEMO } from '../../src/cli/demo-organization.ts';
import { COMMANDS } from '../../src/cli/operator-commands.ts';
import { PROJECT_DIR } from '../../src/cli/server.ts';
import { operations } from '../../src/contract/operations.ts';
import { createTenant } from '../support/api.ts';
import { type LocalServer, preparedState, startPrepared, until } from './local-server.ts';
import { operatorCli, type Run } from './operator-cli.ts';

let server: LocalServer;
/** The environment of the commands, with the secrets of `npm start`. */
let environment: Record<string, string>;
beforeAll(async () => {
  const state = await preparedState();
  server = await startPrepared(state);
  environment = { CALLMETER_URL: server.url, DEV_VARS_FILE: state.devVars };
});
afterAll(() => server.stop());

/** Runs a command in a process of its own. */
function run(script: string, args: string[]): Promise<Run> {
  return new Promise((resolve) => {
    const options = { cwd: PROJECT_DIR, env: { ...process.env, ...environment } };
    execFile(process.execPath, [`src/cli/${script}.ts`, ...args], options, (error, out, err) => {
      resolve({ code: error ? Number(error.code) : 0, out, err });
    });
  });
}

const operatorWith = (args: string[], input: string, env: Record<string, string> = {}) =>
  operatorCli(args, { env: { ...process.env, ...environment, ...env }, input });
const operator = (...args: string[]) => operatorWith(args, '');

/** The table and the JSON of a successful command. */
async function both(...args: string[]) {
  const [text, json] = await Promise.all([operator(...args), operator(...args, '--json')]);
  expect([text.err, text.code, json.code]).toEqual(['', 0, 0]);
  return { text: text.out, json: JSON.parse(json.out) };
}

async function changed(...args: string[]) {
  const { code, out, err } = await operator(...args, '--json');
  expect([err, code]).toEqual(['', 0]);
  return JSON.parse(out);
}

// No command reads data that another one changes.
describe.concurrent('npm run operator', () => {
  let org: string;
  beforeAll(async () => {
    org = (await changed('organizations', 'create', '--name', 'Acme Ltd')).organizationId;
  });

  test('has a command for every operation of the operator API', () => {
    const ids = Object.values(operations).flatMap(({ operationId, security }) =>
      security.kind === 'operator' ? [operationId] : [],
    );
    expect([...new Set(COMMANDS.map(({ id }) => id))].toSorted()).toEqual(ids.toSorted());
  });

  test('organizations: create, list, show, update', async () => {
    const { text, json } = await both('organizations', 'list');
    expect(text).toMatch(/^Organization id +Name/);
    expect(json.items).toContainEqual(expect.objectContaining({ organizationId: org, name: 'Acme Ltd' }));
    expect(await changed('organizations', 'update', org, '--name', 'Acme')).toMatchObject({ name: 'Acme' });
    expect((await both('organizations', 'show', org)).text).toMatch(/^Name +Acme$/m);
    for (const value of [true, false]) {
      expect(await changed('organizations', 'update', org, '--allow-unpriced-models', String(value))).toMatchObject({
        allowUnpricedModels: value,
      });
    }
    const opened = await changed('organizations', 'update', org, '--credit-open', 'field:chat/min_p,component:images');
    expect(opened.creditOpen).toEqual(['field:chat/min_p', 'component:images']);
    expect((await both('organizations', 'show', org)).text).toMatch(
      /^Credit open +field:chat\/min_p, component:images$/m,
    );
    expect((await changed('organizations', 'update', org, '--credit-open', '')).creditOpen).toEqual([]);
  });

  test('radar: what ended fails a pipeline, and an organization without such models does not', async () => {
    const { organizationId } = await changed('organizations', 'create', '--name', 'Late');
    const { key } = await changed('keys', 'create', organizationId, '--name', 'radar');
    const tenant = server.operator.with(key);
    const end = async (modelUsed: string) => {
      const { callId } = (await tenant.send('beginCall', { body: { customerId: 'alice' } })).data;
      const body = { callId, modelUsed, inputTokens: 1_000_000, responseTokens: 10 };
      expect((await tenant.send('endCall', { body })).status).toBe(200);
    };
    const planned = { params: { org: organizationId, planId: 'free' }, body: { name: 'Free', limitType: 'NONE' } };
    expect((await server.operator.send('putPlan', planned)).status).toBe(200);
    await changed('organizations', 'update', organizationId, '--default-plan-id', 'free');
    await end('gpt-6-luna');
    expect((await operator('radar', organizationId, '--fail-within', '30')).code).toBe(0);

    // Retired since 2026-10-23.
    await end('gpt-4o-2024-05-13');
    await until(async () => (await operator('radar', organizationId)).out.includes('gpt-4o-2024-05-13'));
    const { text, json } = await both('radar', organizationId, '--horizon-days', '30');
    expect(text).toMatch(/^Model +Ends +Days left +Why +Calls/);
    expect(text).toMatch(/^Catalog \d{4}-\d{2}-\d{2}/m);
    expect(text).toMatch(/^openai\/gpt-4o-2024-05-13 +2026-10-23 +-\d+ +RETIRED, OFFICIAL_SUCCESSOR/m);
    expect(json.items).toMatchObject([{ status: 'RETIRED', customers: [{ customerId: 'alice' }], plans: ['free'] }]);
    const failing = await operator('radar', organizationId, '--fail-within', '0', '--json');
    expect([failing.code, JSON.parse(failing.out).items]).toEqual([1, json.items]);
    for (const wrong of ['-1', '1.5', 'soon'])
      expect((await operator('radar', organizationId, `--fail-within=${wrong}`)).code).toBe(2);
  });

  test('outbox: list and resend, with its size in health', async () => {
    const { text, json } = await both('outbox', 'list', org);
    expect([text, json]).toEqual(['(none)\n', { items: [], nextCursor: null }]);
    expect(await changed('outbox', 'resend', org)).toEqual({ rows: 0, customers: 0, more: false });
    expect((await changed('organizations', 'update', org, '--sample-bytes-max', '2097152')).sampleBytesMax).toBe(
      2_097_152,
    );
    const health = await both('health');
    expect(health.json).toMatchObject({ setAside: { rows: 0, oldestAt: null }, d1: { bytes: expect.any(Number) } });
    expect(health.text).toMatch(/^Set aside\n {2}Rows +0$/m);
    expect(health.text).toMatch(
      /^ +Organization id +Name +Customers +Calls last week +Samples +Sample bytes +Sample bytes max$/m,
    );
  });

  test('plans: a document from standard input or a file, then its versions', async () => {
    const plan = JSON.stringify({ name: 'Team', limitType: 'BLOCK', limits: { premiumCalls: 1500 } });
    const put = await operatorWith(['plans', 'put', org, 'team', '-', '--json'], plan);
    expect(JSON.parse(put.out)).toMatchObject({ planId: 'team', version: 1 });
    expect((await both('plans', 'list', org)).text).toMatch(
      /team +Team +1 +-? *BLOCK +every month +-? *unlimited +1,500/,
    );
    const { text, json } = await both('plans', 'show', org, 'team');
    expect(text).toMatch(/premiumCalls +1,500/);
    expect(json.plan.limits.premiumCalls).toBe(1500);
  });

  test('models: put', async () => {
    const put = `models put ${org} --standard openai/gpt-6-luna --premium a/b,c/d --premium e/f`;
    const data = await changed(...put.split(' '));
    expect(data).toEqual({
      standard: ['openai/gpt-6-luna'],
      premium: ['a/b', 'c/d', 'e/f'],
      warnings: ['a/b', 'c/d', 'e/f'].map((name) => `${name} is not in the catalog`),
    });
  });

  test('prices: put, strict or completed by the catalog, and list', async () => {
    const rates = ['--input-usd-per-million', '1', '--output-usd-per-million', '2'];
    expect(await changed('prices', 'put', org, 'gpt-6-sol', ...rates)).toMatchObject({ strict: false });
    expect(await changed('prices', 'put', org, 'house', ...rates, '--strict', 'true')).toMatchObject({ strict: true });
    const { text, json } = await both('prices', 'list', org);
    expect(json.items).toMatchObject([
      { modelKey: 'house', strict: true },
      { modelKey: 'openai/gpt-6-sol', strict: false },
    ]);
    expect(text).toMatch(/^Model .* Strict$/m);
  });

  test('models: put-mappings with aliases and autopilots, and switch-back', async () => {
    const { organizationId } = await changed('organizations', 'create', '--name', 'Mapped');
    const switched = {
      ...{ model: 'openai/gpt-6-luna', switchTo: 'official', switchDaysBefore: 14, maxPriceIncreasePercent: 0 },
      ...{ requiredCapabilities: ['tools'], switchedFrom: 'openai/gpt-6-sol', switchedAt: '2026-11-01T00:00:00.000Z' },
    };
    const mappings = { standard: ['openai/gpt-6-luna'], premium: [], aliases: { cheap: [switched] } };
    const put = await operatorWith(['models', 'put-mappings', organizationId, '-', '--json'], JSON.stringify(mappings));
    expect(JSON.parse(put.out)).toEqual(mappings);
    const back = ['models', 'switch-back', organizationId, 'cheap', 'openai/gpt-6-luna'];
    expect(await changed(...back)).toMatchObject({ aliases: { cheap: ['openai/gpt-6-sol'] } });
    const again = await operator(...back);
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('the autopilot did not set')]);
    expect((await operator('models', 'switch-back', organizationId)).code).toBe(2);
  });

  test('keys: create, list, update, revoke; a repeated key creates nothing', async () => {
    const create = ['keys', 'create', org, '--name', 'ci', '--scopes', 'usage:read', '--idempotency-key', 'cli-1'];
    const { keyId, key } = await changed(...create);
    expect(await changed(...create)).toMatchObject({ keyId, key });
    expect((await operator('keys', 'create', org, '--name', 'other')).out).toContain('shown this once');
    expect(await changed('keys', 'update', org, keyId, '--scopes', 'usage:read,usage:write')).toMatchObject({
      name: 'ci',
      scopes: ['usage:read', 'usage:write'],
    });
    const limits = ['--models', 'gpt-4o,service/standard', '--features', 'chat', '--features', 'search'];
    expect(await changed('keys', 'update', org, keyId, ...limits)).toMatchObject({
      models: ['gpt-4o', 'service/standard'],
      features: ['chat', 'search'],
    });
    expect((await operator('keys', 'list', org)).out).toContain('gpt-4o, service/standard');
    expect(await changed('keys', 'update', org, keyId, '--models', 'null')).toMatchObject({
      models: null,
      features: ['chat', 'search'],
    });
    const { text, json } = await both('keys', 'list', org);
    expect(json.items).toHaveLength(2);
    expect(text).not.toContain(key);
    expect((await changed('keys', 'revoke', org, keyId)).revokedAt).not.toBeNull();
  });

  test('webhooks: put, list, test, deliveries, send again, rotate, delete; the secret is shown once', async () => {
    const url = 'http://127.0.0.1:9/hooks';
    const put = ['webhooks', 'put', org, 'hook', '--webhook-url', url, '--types', 'balance.low,call.denied'];
    const created = await operator(...put);
    expect([created.code, /whsec_\S{44}/.test(created.out)]).toEqual([0, true]);
    expect(created.out).toContain('shown this once');
    expect((await changed(...put)).secret).toBeUndefined();
    const { text, json } = await both('webhooks', 'list', org);
    expect(json.items).toMatchObject([{ webhookId: 'hook', url, types: ['balance.low', 'call.denied'] }]);
    expect(text).not.toContain('whsec_');
    const { eventId, delivered } = await changed('webhooks', 'test', org, 'hook');
    expect(delivered).toBe(false);
    expect(await changed('webhooks', 'send-again', org, 'hook', eventId)).toEqual({ webhookId: 'hook', eventId });
    expect((await operator('webhooks', 'deliveries', org, 'hook')).out).toContain(eventId);
    const day = ['--from', '2026-11-24T00:00:00Z', '--to', '2026-11-25T00:00:00Z'];
    expect(await changed('webhooks', 'replay', org, 'hook', ...day)).toMatchObject({ webhookId: 'hook' });
    expect((await operator('webhooks', 'rotate', org, 'hook')).out).toContain('shown this once');
    expect((await operator('webhooks', 'show', org, 'hook')).out).toContain(url);
    expect((await operator('webhooks', 'delete', org, 'hook')).code).toBe(2);
    expect(await changed('webhooks', 'delete', org, 'hook', '--yes')).toEqual({ webhookId: 'hook' });
  });

  test('ids are followed by what they name; --json has the ids alone', async () => {
    const { organizationId: own } = await changed('organizations', 'create', '--name', 'Named Ltd');
    const { keyId } = await changed('keys', 'create', own, '--name', 'backend');
    const events = await both('events', 'list', '--organization-id', own);
    expect(events.text).toContain(`key.create  ${keyId} (backend)`);
    expect(events.text).toContain(`organization.create  ${own} (Named Ltd)`);
    expect(JSON.stringify(events.json)).not.toContain(`${own} (`);

    await server.demo.send('provisionCustomer', { body: { customerId: 'named' } });
    const planId = (await changed('organizations', 'show', DEMO)).defaultPlanId;
    const { name } = (await changed('plans', 'show', DEMO, planId)).plan;
    await until(async () => (await operator('customers', 'list', DEMO, '--limit', '200')).out.includes('named '));
    const { text, json } = await both('customers', 'list', DEMO, '--limit', '200');
    expect(text).toMatch(new RegExp(`^named +- +${planId}:v\\d+ \\(${name}\\) `, 'm'));
    expect(JSON.stringify(json)).not.toContain(`(${name})`);
  });

  test('customers: show, cancel, reactivate', async () => {
    const { customerId } = (await server.demo.send('provisionCustomer', { body: { customerId: 'cli customer/1' } }))
      .data;
    const { text, json } = await both('customers', 'show', DEMO, customerId);
    expect(text).toMatch(/premiumCalls +0 +500 +500 +100 %/);
    expect(json).toMatchObject({ customerId, openCalls: 0 });
    expect((await operator('customers', 'cancel', DEMO, customerId)).out).toContain(', canceled');
    expect(await changed('customers', 'reactivate', DEMO, customerId)).toMatchObject({ canceled: false });
  });

  test('margin customers: each customer in the order asked for, and the sum of all of them', async () => {
    const { organizationId: own } = await createTenant(server.operator, { name: 'Free', limitType: 'NONE' });
    const customers = ['m1', 'm2', 'm3'];
    for (const customerId of customers) await changed('customers', 'create', own, customerId);
    const asked = ['margin', 'customers', own, '--sort', 'customerId', '--order', 'descending'];
    await until(async () => (await changed(...asked)).items.length === 3);
    const { text, json } = await both(...asked);
    expect(json.items.map(({ customerId }: { customerId: string }) => customerId)).toEqual(customers.toReversed());
    expect(json).toMatchObject({ customers: 3, customersWithoutPrice: 3, totals: { calls: 0, marginUsdNano: '0' } });
    expect(text).toMatch(/Customers, whose sum this is +3\n/);
    expect(text).toMatch(/m3 +0 +\$0 +\$0 +\$0 +\$0 +\$0 +- +0 +not set/);
    const { out, err } = await operator(...asked, '--limit', '2');
    expect([out.includes('m2'), out.includes('m1')]).toEqual([true, false]);
    expect(err).toContain('There are more than 2');
  });

  test('credits: grant in USD and in units, seen in customers show; a repeated key grants nothing', async () => {
    await server.demo.send('provisionCustomer', { body: { customerId: 'payer' } });
    await server.demo.send('changePlan', { params: { customerId: 'payer' }, body: { planId: 'free' } });
    const toPayer = ['credits', 'grant', DEMO, 'payer'];
    const grant = [...toPayer, '--kind', 'USD', '--amount-usd', '25.50', '--reference', 'invoice 7'];
    const key = ['--idempotency-key', 'cli-grant-1'];
    expect(await changed(...grant, ...key)).toMatchObject({ balanceUsd: '25.5' });
    expect(await changed(...grant, ...key)).toMatchObject({ balanceUsd: '25.5' });
    const units = await operator(...toPayer, '--kind', 'METER', '--meter-slot', 'CUSTOM1', '--units', '1000');
    expect(units.out).toMatch(/^Units left +1,000$/m);
    // The plan has neither pay-as-you-go nor the meter.
    expect(units.out).toMatch(/^Warnings\n {2}1,000 purchased units of CUSTOM1 pay for nothing: the plan Free /m);
    const { text, json } = await both('customers', 'show', DEMO, 'payer');
    expect(json.wallet).toMatchObject({ balanceUsd: '25.5', units: { CUSTOM1: 1000 } });
    expect(text).toMatch(/Balance +\$25\.5$/m);
    expect(text).toMatch(/Units +1,000 CUSTOM1$/m);
    expect(text).toMatch(/^Warnings\n {2}\$25\.50 of credit pays for nothing: .*\n {2}1,000 purchased units/m);
    expect(text).toMatch(/\$25\.5 +\$25\.5 +never +invoice 7$/m);
    expect(text).toMatch(/1 +\S+ +GRANT +\$25\.5 +\$25\.5 +invoice 7 +-$/m);
    const refused = await operator(...toPayer, '--kind', 'USD', '--amount-usd', '1,5');
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('amountUsd: must be a decimal number') });
    expect(await operator(...toPayer)).toMatchObject({
      code: 2,
      err: expect.stringContaining('--kind is required'),
    });
    const help = (await operator('credits', 'grant', '--help')).out.replace(/\s+/g, ' ');
    expect(help).toContain(
      '--kind USD: Adds to the USD balance; METER: Adds units of a custom meter (USD, METER) (required)',
    );
  });

  test('customers erase: never without --yes if nobody can be asked; what it erased is said', async () => {
    for (const customerId of ['erased-1', 'erased-2'])
      await server.demo.send('provisionCustomer', { body: { customerId } });
    expect(await operator('customers', 'erase', DEMO, 'erased-1')).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        `customers erase ${DEMO} erased-1 at ${server.url} cannot be undone: --yes is required`,
      ),
    });
    expect((await server.demo.send('readUsage', { params: { customerId: 'erased-1' } })).status).toBe(200);
    const erased = await operator('customers', 'erase', DEMO, 'erased-1', '--yes');
    expect(erased).toMatchObject({ code: 0, out: expect.stringMatching(/^Erased +erased-1\nObject +erased\n/) });
    expect(await changed('customers', 'erase', DEMO, 'erased-2', '--yes')).toMatchObject({
      customerId: 'erased-2',
      erased: { object: true },
    });
    expect((await server.demo.send('readUsage', { params: { customerId: 'erased-1' } })).status).toBe(404);
    expect(await operator('customers', 'erase', DEMO, 'erased-1', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('NOT_FOUND'),
    });
  });

  test('plans migrate: starts a job, shows its progress with --wait, and can be left alone', async () => {
    const plan = (limit: number) => JSON.stringify({ name: 'Moving', limitType: 'BLOCK', limits: { searches: limit } });
    await operatorWith(['plans', 'put', DEMO, 'moving', '-'], plan(1));
    await server.demo.send('provisionCustomer', { body: { customerId: 'mover' } });
    await server.demo.send('changePlan', { params: { customerId: 'mover' }, body: { planId: 'moving' } });
    await operatorWith(['plans', 'put', DEMO, 'moving', '-'], plan(2));

    const migrate = ['plans', 'migrate', DEMO, 'moving', '--when', 'NOW'];
    const started = await operator(...migrate);
    const jobId = /^Job +(\S+)/.exec(started.out)?.[1] ?? '';
    expect(started).toMatchObject({ code: 0, out: expect.stringContaining(`migrations show <org> ${jobId}`) });
    const { text, json } = await both('migrations', 'show', DEMO, jobId);
    expect(json).toMatchObject({ jobId, planId: 'moving', usagePlanVersionId: 'moving:v2', when: 'NOW' });
    expect(text).toMatch(/^Moved +\d+ of \d+$/m);

    const waited = await operator(...migrate, '--wait', '--json');
    expect([waited.code, JSON.parse(waited.out).status]).toEqual([0, 'COMPLETED']);
    expect(waited.err).toMatch(/^moved \d+ of \d+$/m);
    expect((await server.demo.send('readUsage', { params: { customerId: 'mover' } })).data.meters.searches?.limit).toBe(
      2,
    );

    const child = spawn(process.execPath, ['src/cli/operator.ts', ...migrate, '--wait'], {
      cwd: PROJECT_DIR,
      env: { ...process.env, ...environment },
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk));
    await until(() => said.includes('moved'));
    child.kill('SIGINT');
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(130);
    expect(said).toMatch(new RegExp(`no longer waiting; the migration goes on: migrations show ${DEMO} [0-9a-f]{32}`));
  });

  test('sampling and samples: a policy from a document; list, show, export as JSON Lines, delete', async () => {
    const put = await operatorWith(['sampling', 'put', DEMO, '-', '--json'], '{"rate":1,"retentionDays":2}');
    expect(JSON.parse(put.out)).toMatchObject({ rate: 1, retentionDays: 2, features: { include: [], exclude: [] } });
    for (const n of [1, 2, 3]) {
      const body = {
        sampleId: `cli-${n}`,
        provider: 'openai',
        model: 'gpt-4o',
        feature: `f${n}`,
        input: `prompt ${n}`,
      };
      expect((await server.demo.send('storeSample', { body })).data.retentionDays).toBe(2);
    }
    const { text, json } = await both('samples', 'list', DEMO, '--provider', 'openai');
    expect(text).toMatch(/^Sample id +Received at/);
    expect(json.items).toHaveLength(3);
    expect((await both('samples', 'show', DEMO, 'cli-1')).json).toMatchObject({ sampleId: 'cli-1', input: 'prompt 1' });
    // A streaming command needs a real standard output.
    const { out, code } = await run('operator', ['samples', 'export', DEMO, '--feature', 'f2']);
    expect([
      code,
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).input),
    ]).toEqual([0, ['prompt 2']]);
    expect(await operator('samples', 'export', 'nowhere')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('no such organization'),
    });
    expect(await changed('samples', 'delete', DEMO, 'cli-1', '--yes')).toEqual({ sampleId: 'cli-1' });
    expect((await operator('samples', 'show', DEMO, 'cli-1')).code).toBe(1);
  });

  test('events: pages are followed up to the limit', async () => {
    const { json } = await both('events', 'list', '--organization-id', org);
    expect(json.items.at(-1)).toMatchObject({ action: 'organization.create', organizationId: org });
    const { out, err } = await operator('events', 'list', '--limit', '1');
    expect(out).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect(err).toContain('There are more');
  });

  test('health', async () => {
    const { text, json } = await both('health');
    expect(text).toMatch(/^Status +ok/);
    expect(text).toMatch(/Source +built-in/);
    expect(json.checks).toHaveLength(6);
  });

  test('a rejected request names field, rule and server, with exit code 1', async () => {
    const { code, out, err } = await operatorWith(
      ['plans', 'put', org, 'bad', '-'],
      '{"name":"Bad","limitType":"BLOCK","limits":{"searches":-1}}',
    );
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(`limits.searches: must be at least 0\nrefused by ${server.url}`);
    expect(await operator('organizations', 'show', 'nope')).toMatchObject({
      code: 1,
      err: expect.stringMatching(new RegExp(`no such organization\\nrefused by ${server.url}`)),
    });
  });

  test('a change at a server other than this machine says which one; a look does not', async () => {
    // Nothing answers there.
    const target = ['--url', 'http://127.0.0.2:9'];
    for (const args of [
      ['keys', 'revoke', org, 'key'],
      ['plans', 'migrate', org, 'free', '--when', 'NOW'],
      ['webhooks', 'delete', org, 'hook', '--yes'],
      ['credits', 'revoke', org, 'alice', 'credit', '--reason', 'mistake'],
    ]) {
      const { code, err } = await operator(...args, ...target);
      expect([args.join(' '), code, err]).toEqual([
        args.join(' '),
        1,
        expect.stringMatching(/^at http:\/\/127\.0\.0\.2:9\n/),
      ]);
    }
    expect((await operator('keys', 'list', org, ...target)).err).toMatch(/^nothing answers at http:\/\/127\.0\.0\.2:9/);
  });

  test.each([
    [[], 'a noun is missing'],
    [['nouns'], 'there is no noun nouns'],
    [['keys'], 'create, list, show, rotate, update, revoke'],
    [['keys', 'revoke', 'x'], 'keys revoke <org> <keyId>'],
    [['organizations', 'create'], '--name is required'],
    [['organizations', 'update', 'x'], '--default-plan-id'],
    [
      ['organizations', 'update', 'x', '--allow-unpriced-models', 'maybe'],
      '--allow-unpriced-models must be true or false',
    ],
    [['organizations', 'list', '--nonsense'], '--nonsense'],
    [['organizations', 'list', '--limit', '0'], '--limit'],
    [['plans', 'put', 'x', 'y', 'no-such-file'], 'cannot be read'],
    [['health', '--url', 'localhost'], '--url'],
  ])('wrong usage, with exit code 2: %j', async (args, reason) => {
    expect(await operator(...args)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(reason) });
  });

  test('--help at the top, of a noun, of a command', async () => {
    expect((await operator('--help')).out).toContain('customers reactivate');
    expect((await operator('keys', '--help')).out).toContain('keys revoke <org> <keyId>');
    const one = (await operator('keys', 'create', '--help')).out;
    expect(one).toContain('--scopes');
    expect(one).not.toContain('keys revoke');
  });

  test('an unreachable server is reported, with the key to repeat a POST safely', async () => {
    const { code, err } = await operatorWith(['organizations', 'create', '--name', 'x'], '', {
      CALLMETER_URL: 'http://127.0.0.1:9',
    });
    expect(code).toBe(1);
    expect(err).toMatch(/nothing answers at http:\/\/127\.0\.0\.1:9 .*npm start[\s\S]*--idempotency-key [0-9a-f-]{36}/);
  });
});

describe('npm run demo', () => {
  test('shows three providers, a downgrade, a repeated and a failed call, each time it runs', async () => {
    for (const _ of [1, 2]) {
      const { code, out, err } = await run('demo', []);
      expect([err, code]).toEqual(['', 0]);
      for (const model of ['openai/gpt-6-sol', 'anthropic/claude-opus-5-5', 'google/gemini-4-argon'])
        expect(out).toContain(model);
      expect(out).toContain('PREMIUM_QUOTA_EXHAUSTED, fallback tier standard');
      expect(out).toContain('gets the stored answer');
      expect(out).toMatch(/kept +overloaded_error: .*\[credential\] for \[email\]: \[body\]/);
      expect(out).toMatch(/premiumCalls +3 +3 +0 +3/);
      const costs = [...out.matchAll(/(?:COMPLETED|FAILED) +[\d,]+ +[\d,]+ +0\.(\d{9})/g)].map(([, nano]) =>
        Number(nano),
      );
      expect(costs).toHaveLength(5);
      expect(out).toMatch(
        new RegExp(`Total .* 0\\.${String(costs.reduce((sum, nano) => sum + nano)).padStart(9, '0')}`),
      );
    }
  });

  test('without a server it explains how to start one', async () => {
    const { code, err } = await run('demo', ['--url', 'http://127.0.0.1:9']);
    expect(code).toBe(1);
    expect(err).toContain('npm start');
  });

  test('--help', async () => {
    expect((await run('demo', ['--help'])).out).toContain('npm run demo');
  });
});

describe('npm run vendor', () => {
  test('answers an SDK, tells each request in a line, and ends at SIGINT', async () => {
    const child = spawn(process.execPath, ['src/cli/vendor.ts', '--port', '0', '--json'], { cwd: PROJECT_DIR });
    const exit = new Promise((resolve) => child.once('exit', resolve));
    const printed = { out: '', err: '' };
    child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk));
    child.stderr.on('data', (chunk: Buffer) => (printed.err += chunk));
    await until(() => printed.err.includes('Ctrl+C stops'));
    const [, baseURL = ''] = /OPENAI_BASE_URL=(\S+)/.exec(printed.err) ?? [];
    const openai = new OpenAI({ baseURL, apiKey: 'any', maxRetries: 0 });
    const messages = [{ role: 'user' as const, content: 'hello' }];
    const { usage } = await openai.chat.completions.create({ model: 'gpt-6-luna', messages });
    await until(() => printed.out.endsWith('\n'));
    expect(JSON.parse(printed.out)).toEqual({
      ...{ method: 'POST', path: '/v1/chat/completions', status: 200, stream: false, model: 'gpt-6-luna' },
      ...{ inputTokens: usage?.prompt_tokens, outputTokens: usage?.completion_tokens },
    });
    const { port } = new URL(baseURL);
    const second = await run('vendor', ['--port', port]);
    expect(second).toMatchObject({ code: 1, err: expect.stringContaining(`port ${port} is in use; choose another`) });
    child.kill('SIGINT');
    expect(await exit).toBe(0);
  });

  test('--help names what it answers and the words of a prompt; a wrong port is wrong usage', async () => {
    const { out } = await run('vendor', ['--help']);
    for (const word of [
      '/v1/messages',
      ':streamGenerateContent',
      '--port',
      '--json',
      'error 429',
      'slow',
      'cut',
      'tool',
    ])
      expect(out).toContain(word);
    expect(out).toContain('made up');
    const wrong = { code: 2, err: expect.stringContaining('--port must be a port number') };
    expect(await run('vendor', ['--port', 'x'])).toMatchObject(wrong);
  });
});
