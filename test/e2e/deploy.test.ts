/**
 * `npm run deploy`, run as a user runs it: wrangler itself, against Cloudflare's API in memory (cloudflare.ts). A
 * server on this machine serves the deployed Worker, with the uploaded secrets.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, cp, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterEach, expect, inject, test } from 'vitest';
import { PROJECT_DIR } from '../../src/cli/server.ts';
import { Api } from '../support/api.ts';
import { swept } from '../support/sweep.ts';
import { Cloudflare } from './cloudflare.ts';
import { type LocalServer, newState, startPrepared, until } from './local-server.ts';

interface Run {
  code: number | null;
  out: string;
  err: string;
}

interface World {
  cloudflare: Cloudflare;
  /** Another configuration than the project's: a Worker that is quickly bundled, with two databases. */
  config: string;
  /** The address of the deployed Worker. */
  url: string;
  secretsFile: string;
  /** Ends the command that runs, and wrangler, when this request has been done and before it is answered. */
  killAt: RegExp | null;
  interrupt(): void;
  /** The output so far of the running command. */
  progress(): string;
  deploy(args?: string[], env?: Record<string, string>): Promise<Run>;
  secrets(): Promise<Record<string, string | undefined>>;
  operator(): Promise<Api>;
}

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function newWorld(): Promise<World> {
  const cloudflare = await Cloudflare.start();
  stops.push(() => cloudflare.stop());
  const secretsFile = join(await mkdtemp(join(tmpdir(), 'callmeter-secrets-')), '.secrets');
  let child: ChildProcess | undefined;
  let printed = { out: '', err: '' };
  let server: LocalServer | undefined;
  const kill = (request: string) => {
    if (!world.killAt?.test(request) || !child?.pid) return false;
    world.killAt = null;
    process.kill(-child.pid, 'SIGKILL');
    return true;
  };
  cloudflare.after = kill;
  cloudflare.deployed = async (secrets) => {
    if (server) return;
    const state = await newState({ ...secrets, CONFIG_TTL_MS: '100' });
    await cp(join(inject('preparedState'), 'bundle'), join(state.stateDir, 'bundle'), { recursive: true });
    server = await startPrepared({ ...state, devVars: state.devVars ?? '' });
    stops.push(() => server?.stop());
  };
  const url = await startFront(() => server?.url, kill);
  const config = await writeConfiguration();
  const world: World = {
    ...{ cloudflare, config, url, secretsFile, killAt: null },
    deploy: (args = ['--yes', '--json', '--url', url, '--config', config], env = {}) =>
      new Promise((resolve) => {
        const { CI: _ci, WORKERS_CI: _workersCi, ...inherited } = process.env;
        child = spawn(process.execPath, ['src/cli/deploy.ts', ...args], {
          ...{ cwd: PROJECT_DIR, detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
          env: { ...inherited, ...cloudflare.environment, SECRETS_FILE: secretsFile, ...env },
        });
        printed = { out: '', err: '' };
        child.stdout?.on('data', (chunk: Buffer) => (printed.out += chunk));
        child.stderr?.on('data', (chunk: Buffer) => (printed.err += chunk));
        child.once('close', (code) => resolve({ code, ...printed }));
      }),
    interrupt: () => child?.kill('SIGINT'),
    progress: () => printed.err,
    secrets: async () => parseEnv(await readFile(secretsFile, 'utf8')),
    operator: async () => new Api(fetch, url, (await world.secrets()).OPERATOR_TOKEN ?? ''),
  };
  return world;
}

async function writeConfiguration(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'callmeter-config-'));
  await writeFile(join(folder, 'worker.js'), 'export default { fetch: () => new Response("") };');
  const migrations_dir = join(PROJECT_DIR, 'd1-migrations');
  const configuration = {
    ...{ name: 'staging', main: 'worker.js', compatibility_date: '2026-10-20' },
    d1_databases: [
      { binding: 'DB', database_name: 'first', migrations_dir },
      { binding: 'DB_2', database_name: 'second', migrations_dir },
    ],
    kv_namespaces: [{ binding: 'KV' }],
    r2_buckets: [{ binding: 'ARCHIVE', bucket_name: 'archive' }],
    secrets: { required: ['OPERATOR_TOKEN', 'VENDOR_KEY_SECRET', 'SESSION_SECRET'] },
  };
  await writeFile(join(folder, 'wrangler.json'), JSON.stringify(configuration));
  return join(folder, 'wrangler.json');
}

/** The address of the Worker: 502 while nothing is deployed. */
async function startFront(origin: () => string | undefined, kill: (request: string) => boolean): Promise<string> {
  const front = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const behind = origin();
    if (!behind) return response.writeHead(502).end('nothing is deployed here');
    const { host: _host, connection: _connection, 'content-length': _length, ...headers } = request.headers;
    const answer = await fetch(behind + request.url, {
      ...{ method: request.method ?? 'GET', headers: headers as Record<string, string>, redirect: 'manual' },
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    const body = Buffer.from(await answer.arrayBuffer());
    if (kill(`${request.method} ${request.url}`)) return request.socket.destroy();
    const type = answer.headers.get('Content-Type') ?? '';
    return response.writeHead(answer.status, { 'Content-Type': type }).end(body);
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  stops.push(() => {
    front.closeAllConnections();
    front.close();
  });
  const address = front.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

/** The results of a deployment. */
async function madeIn({ cloudflare, operator }: World) {
  const api = await operator();
  const organizations = (await api.send('listOrganizations', {})).data.items;
  const params = { org: organizations[0]?.organizationId ?? '' };
  const plans = (await api.send('listPlans', { params })).data.items;
  const keys = (await api.send('listKeys', { params })).data.items;
  const databases = [...cloudflare.databases.values()].map(({ name }) => name);
  const applied = (name: string) => cloudflare.rows(name, 'SELECT name FROM d1_migrations ORDER BY name');
  return {
    organizations: organizations.map(({ name, defaultPlanId }) => ({ name, defaultPlanId })),
    plans: plans.map(({ planId, version }) => ({ planId, version })),
    keys: keys.map(({ name }) => name),
    databases: databases.map((name) => ({ name, migrations: applied(name).map((row) => row.name) })),
    namespaces: [...cloudflare.namespaces.values()],
    buckets: [...cloudflare.buckets],
    workers: [...cloudflare.workers].map(([name, { secrets }]) => ({ name, secrets: Object.keys(secrets).sort() })),
  };
}

async function complete(worker: string, databases: string[], bucket: string) {
  const files = await readdir(join(PROJECT_DIR, 'd1-migrations'));
  const migrations = files.filter((name) => name.endsWith('.sql')).sort();
  return {
    organizations: [{ name: 'My organization', defaultPlanId: 'free' }],
    plans: [{ planId: 'free', version: 1 }],
    keys: ['first key'],
    databases: databases.map((name) => ({ name, migrations })),
    namespaces: [`${worker}-kv`],
    buckets: [bucket],
    workers: [{ name: worker, secrets: ['OPERATOR_TOKEN', 'SESSION_SECRET', 'VENDOR_KEY_SECRET'] }],
  };
}

test('from an empty account to a served request; the second time makes nothing, and keeps every secret', async () => {
  const world = await newWorld();
  const { cloudflare, url, secretsFile } = world;
  const flags = ['--yes', '--json', '--url', url];
  const first = await world.deploy(flags);
  expect([first.code, first.err]).toEqual([0, expect.stringContaining('made the key')]);
  const outcome = JSON.parse(first.out);
  expect(outcome).toMatchObject({
    ...{ worker: 'callmeter', url, secretsFile, databasesMade: ['callmeter'] },
    ...{ secretsMade: ['OPERATOR_TOKEN', 'VENDOR_KEY_SECRET', 'SESSION_SECRET'] },
    call: { allowed: true, cost: expect.stringMatching(/^0\.0+[1-9]/) },
  });
  const made = await complete('callmeter', ['callmeter'], 'callmeter-archive');
  expect(await madeIn(world)).toEqual(made);
  const secrets = await world.secrets();
  const { CALLMETER_KEY, ...uploaded } = secrets;
  expect([uploaded, CALLMETER_KEY]).toEqual([cloudflare.workers.get('callmeter')?.secrets, outcome.key]);
  expect((await stat(secretsFile)).mode & 0o777).toBe(0o600);
  for (const secret of Object.values(uploaded)) expect(first.out + first.err).not.toContain(secret);
  expect(cloudflare.workers.get('callmeter')).toMatchObject({ migrationTag: 'v2', isOnWorkersDev: true });
  expect(cloudflare.unknown).toEqual([]);

  cloudflare.requests.length = 0;
  const second = await world.deploy(flags);
  expect([second.code, second.err]).toEqual([0, expect.stringContaining('left as it is')]);
  expect(JSON.parse(second.out)).toMatchObject({
    ...{ secretsMade: [], databasesMade: [], migrationsApplied: { DB: 0 }, key: null },
    call: { allowed: true },
  });
  expect(await madeIn(world)).toEqual(made);
  expect(await world.secrets()).toEqual(secrets);
  expect(cloudflare.workers.get('callmeter')?.versions).toBe(2);
  const at = (request: RegExp) => cloudflare.requests.findLastIndex((one) => request.test(one));
  expect(at(/^POST \/d1\/database\/.*\/query$/)).toBeLessThan(at(/^POST \/workers\/scripts\/callmeter\/versions$/));
});

test('killed at any moment, with the answer lost, the next run continues; what a Worker has is never overwritten', async () => {
  const world = await newWorld();
  const { cloudflare, secretsFile } = world;
  const moments = [
    /^POST \/d1\/database$/,
    /^POST \/d1\/database\/.*\/query$/,
    /^POST \/storage\/kv\/namespaces$/,
    /^PUT \/workers\/scripts\/staging$/,
    /^POST \/operator\/organizations$/,
    /^POST \/operator\/.*\/keys$/,
  ];
  for (const moment of swept(moments, moments.slice(2, 4))) {
    world.killAt = moment;
    expect([String(moment), (await world.deploy()).code]).toEqual([String(moment), null]);
  }
  const last = await world.deploy();
  expect([last.code, last.err]).toEqual([0, expect.stringContaining('are answered')]);
  expect(await madeIn(world)).toEqual(await complete('staging', ['first', 'second'], 'archive'));
  const { CALLMETER_KEY = '', ...uploaded } = await world.secrets();
  expect([JSON.parse(last.out).key, uploaded]).toEqual([CALLMETER_KEY, cloudflare.workers.get('staging')?.secrets]);
  const read = { params: { customerId: 'deployment-check' } };
  expect((await new Api(fetch, world.url, CALLMETER_KEY).send('readUsage', read)).status).toBe(200);
  // The copy of the configuration that named the namespace is gone, although its run was killed.
  expect(await readdir(dirname(world.config))).not.toContain('.wrangler-deploy.json');

  const before = { ...cloudflare.workers.get('staging')?.secrets };
  const other = [`OPERATOR_TOKEN=${before.OPERATOR_TOKEN}`, 'VENDOR_KEY_SECRET=another', 'STRIPE_SECRET_KEY=sk_test_1'];
  await writeFile(secretsFile, other.join('\n'));
  await chmod(secretsFile, 0o644);
  const mended = await world.deploy();
  expect([mended.code, mended.err]).toEqual([0, expect.stringContaining('could be read by others')]);
  expect(mended.err).toContain('NOTE: the Worker has SESSION_SECRET, and');
  expect(cloudflare.workers.get('staging')?.secrets).toEqual({ ...before, STRIPE_SECRET_KEY: 'sk_test_1' });
  expect((await stat(secretsFile)).mode & 0o777).toBe(0o600);
  // The key that the file had lost is still replayed.
  expect((await world.secrets()).CALLMETER_KEY).toBe(CALLMETER_KEY);

  await writeFile(secretsFile, `OPERATOR_TOKEN=${'x'.repeat(32)}\n`);
  const stranger = await world.deploy();
  expect([stranger.code, stranger.err]).toEqual([1, expect.stringContaining('stopped at "setup"')]);
  expect(stranger.err).toContain(`refused by ${world.url}`);
  expect(stranger.err).toContain(
    'Done before: check, secrets, databases, tables, worker, service. Run the command again',
  );
});

test('if CI is set, no secret is made and no key is shown; secrets come from the environment', async () => {
  const world = await newWorld();
  const lacking = await world.deploy(['--json', '--url', world.url, '--config', world.config], {
    CI: '1',
    OPERATOR_TOKEN: 'o'.repeat(40),
  });
  expect([lacking.code, lacking.err]).toEqual([1, expect.stringContaining('VENDOR_KEY_SECRET, SESSION_SECRET')]);
  expect(world.cloudflare.databases.size).toBe(0);
  const secrets = { OPERATOR_TOKEN: 'o'.repeat(40), VENDOR_KEY_SECRET: 'v'.repeat(40), SESSION_SECRET: 's'.repeat(40) };
  const { code, out } = await world.deploy(['--json', '--url', world.url, '--config', world.config], {
    CI: '1',
    ...secrets,
  });
  expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ secretsMade: [], key: null, call: null })]);
  expect(world.cloudflare.workers.get('staging')?.secrets).toEqual(secrets);
  await expect(stat(world.secretsFile)).rejects.toThrow('ENOENT');
});

test('a failure says what happened and what is done; asked wrongly, nothing is done', async () => {
  const world = await newWorld();
  const { cloudflare } = world;
  const wrong = await world.deploy(['--yes'], { CLOUDFLARE_API_TOKEN: 'wrong' });
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('stopped at "check": wrangler')]);
  expect(wrong.err).toContain('[code: 10000]');
  const home = await mkdtemp(join(tmpdir(), 'callmeter-home-'));
  const nobody = await world.deploy(['--yes'], { CLOUDFLARE_API_TOKEN: '', HOME: home, XDG_CONFIG_HOME: home });
  expect([nobody.code, nobody.err]).toEqual([1, expect.stringContaining('npm run -s wrangler -- login')]);
  cloudflare.requests.length = 0;
  const [dry, asked, unknown] = [
    await world.deploy(['--dry-run', '--json']),
    await world.deploy([]),
    await world.deploy(['--nonsense']),
  ];
  expect([dry.code, JSON.parse(dry.out)]).toEqual([
    0,
    expect.objectContaining({ isFirst: true, databases: ['callmeter'] }),
  ]);
  expect([asked.code, asked.err]).toEqual([2, expect.stringContaining('--yes is required without a terminal')]);
  expect(unknown.code).toBe(2);
  expect(cloudflare.requests.filter((request) => !request.startsWith('GET '))).toEqual([]);

  cloudflare.hasR2 = false;
  const { code, err } = await world.deploy();
  expect([code, err]).toEqual([1, expect.stringContaining('R2 is not enabled in this account')]);
  expect(err).toContain('Done before: check, secrets, databases, tables. Run the command again: it continues.');
});

test('an interruption ends wrangler, or the wait for the address that wrangler named, and exits with 130', async () => {
  const world = await newWorld();
  const { cloudflare } = world;
  cloudflare.after = (request) => {
    if (request === 'POST /d1/database') world.interrupt();
    return false;
  };
  const early = await world.deploy();
  expect([early.code, early.err]).toEqual([130, expect.stringContaining('stopped at "databases": it was interrupted')]);

  cloudflare.after = () => false;
  const late = world.deploy(['--yes', '--config', world.config]);
  await until(() => world.progress().includes('waiting for https://staging.somebody.workers.dev: '));
  world.interrupt();
  expect(await late).toMatchObject({ code: 130, err: expect.stringContaining('stopped at "service"') });
});

test('--help names every step and flag', async () => {
  const { code, out } = await (await newWorld()).deploy(['--help']);
  expect(code).toBe(0);
  for (const word of ['--yes', '--dry-run', '--config', '.secrets', 'tables', 'Exit code']) expect(out).toContain(word);
});
