/**
 * Promise: `callmeter/client/testing` gives the tests of an application a real server with the demo organization, each
 * with ports, a state and secrets of its own, and leaves nothing behind, in whatever way its process ends.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort, PROJECT_DIR } from '../../src/cli/server.ts';
import { createClient } from '../../src/client/index.ts';
import { type CallmeterServer, startCallmeter } from '../../src/client/testing.ts';
import { Api } from '../support/api.ts';
import { until } from './local-server.ts';

let folder: string;
/** A folder that contains only the servers' states. */
let temporary: string;
let first: CallmeterServer;
let second: CallmeterServer;
const inherited = process.env.TMPDIR;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'callmeter-testing-'));
  temporary = join(folder, 'tmp');
  await mkdir(temporary);
  process.env.TMPDIR = temporary;
  [first, second] = await Promise.all([
    startCallmeter({ folder: PROJECT_DIR }),
    startCallmeter({ folder: PROJECT_DIR }),
  ]);
});
afterAll(async () => {
  await Promise.all([first?.stop(), second?.stop()]);
  if (inherited === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = inherited;
  await rm(folder, { recursive: true, force: true });
});

const connect = ({ url, apiKey }: CallmeterServer) => createClient({ baseUrl: url, apiKey });

test('a call begins and ends with its exact cost, and a model answers through the gateway', async () => {
  const callmeter = connect(first);
  const begun = await callmeter.beginCall({ customerId: 'alice', requested: { premium: true } });
  expect(begun.allowed.premium).toBe(true);
  const usage = { providerUsed: 'openai', modelUsed: 'gpt-6-sol', inputTokens: 1_200, responseTokens: 350 } as const;
  const { costUSD } = await callmeter.endCall({ callId: begun.callId, ...usage });
  expect(costUSD).toBeGreaterThan(0);
  const ask = (content: string) =>
    fetch(`${first.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${first.apiKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: 'service/premium', customer: 'alice', messages: [{ role: 'user', content }] }),
    });
  expect(await (await ask('Hello')).text()).toContain('This answer is made up');
  expect((await ask('error 400')).status).toBe(400);
});

test('a plan that the operator puts counts for the next request', async () => {
  const operator = new Api(fetch, first.url, first.operatorToken);
  const params = { org: first.organizationId, planId: 'trial' };
  const limits = { standardCalls: 1, premiumCalls: 0 };
  const { status } = await operator.send('putPlan', { params, body: { name: 'Trial', limitType: 'BLOCK', limits } });
  expect(status).toBe(200);
  const callmeter = connect(first);
  await callmeter.provisionCustomer({ customerId: 'zoe' });
  await callmeter.changePlan({ customerId: 'zoe', planId: 'trial' });
  const begin = () => callmeter.beginCall({ customerId: 'zoe', requested: { standard: true } });
  const { allowed, callId } = await begin();
  expect(allowed.standard).toBe(true);
  await callmeter.endCall({ callId, providerUsed: 'openai', modelUsed: 'gpt-6-luna', inputTokens: 10 });
  expect((await begin()).allowed.standard).toBe(false);
});

test('servers at the same time share no address, no secret and no customer', async () => {
  const parts = [first, second].flatMap(({ url, vendorUrl, apiKey, operatorToken }) => [
    url,
    vendorUrl,
    apiKey,
    operatorToken,
  ]);
  expect(new Set(parts).size).toBe(parts.length);
  await connect(first).provisionCustomer({ customerId: 'of-the-first' });
  const { newCustomer } = await connect(second).provisionCustomer({ customerId: 'of-the-first' });
  expect(newCustomer).toBe(true);
});

const statesThere = async () => (await readdir(temporary)).filter((name) => name.startsWith('callmeter-temporary-'));
const isFree = (url: string) =>
  freePort(Number(new URL(url).port)).then(
    () => true,
    () => false,
  );

test('stop ends it and its vendor and removes its state, also if it is called twice', async () => {
  const before = await statesThere();
  const own = await startCallmeter({ folder: PROJECT_DIR });
  expect(await statesThere()).toHaveLength(before.length + 1);
  await Promise.all([own.stop(), own.stop()]);
  expect([await isFree(own.url), await isFree(own.vendorUrl)]).toEqual([true, true]);
  expect(await statesThere()).toEqual(before);
});

/** A process that starts a server, prints its addresses, and then runs `rest`. */
async function program(rest: string): Promise<{ child: ChildProcess; server: CallmeterServer }> {
  const file = join(folder, `program-${rest.length}.mts`);
  const testing = JSON.stringify(join(PROJECT_DIR, 'src/client/testing.ts'));
  await writeFile(
    file,
    `import { startCallmeter } from ${testing};
const server = await startCallmeter({ folder: ${JSON.stringify(PROJECT_DIR)} });
console.log(JSON.stringify(server));
${rest}`,
  );
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return { child, server: JSON.parse(line) };
}

const gone = async ({ url, vendorUrl }: CallmeterServer, before: readonly string[]) => {
  const states = (await statesThere()).filter((name) => !before.includes(name));
  return states.length === 0 && (await isFree(url)) && (await isFree(vendorUrl));
};

test.each([
  ['its process', (pid: number) => process.kill(pid, 'SIGKILL')],
  ['all processes at the same time', (pid: number) => process.kill(-pid, 'SIGKILL')],
])('if a signal kills %s, it ends and its state is removed', async (_what, kill) => {
  const before = await statesThere();
  const { child, server } = await program('setInterval(() => undefined, 1_000);');
  kill(child.pid ?? 0);
  await until(() => gone(server, before));
});

test('a process that never stops it ends by itself, and it with that', async () => {
  const before = await statesThere();
  const { child, server } = await program('');
  const exit = child.exitCode === null ? once(child, 'exit') : [child.exitCode];
  expect((await exit)[0]).toBe(0);
  await until(() => gone(server, before));
});

test('it changes nothing in the clone: neither its state nor its secrets', async () => {
  const read = (name: string) => readFile(join(PROJECT_DIR, name), 'utf8').catch(() => 'none');
  const secrets = await read('.dev.vars');
  for (const { apiKey, operatorToken } of [first, second])
    expect([secrets.includes(apiKey), secrets.includes(operatorToken)]).toEqual([false, false]);
});

test('what is no clone, or has no packages, is refused by name', async () => {
  await expect(startCallmeter({ folder })).rejects.toThrow(
    `folder must be a clone of Callmeter, and ${folder} is none`,
  );
  const bare = join(folder, 'bare');
  await mkdir(join(bare, 'src/cli'), { recursive: true });
  await writeFile(join(bare, 'src/cli/start.ts'), '');
  await expect(startCallmeter({ folder: bare })).rejects.toThrow(
    `folder must have its packages: run npm ci in ${bare}`,
  );
});

test('a start that fails says what was printed', async () => {
  const broken = join(folder, 'broken');
  await mkdir(join(broken, 'src/cli'), { recursive: true });
  await mkdir(join(broken, 'node_modules'));
  await writeFile(join(broken, 'src/cli/node.mjs'), "console.error('the reason'); process.exitCode = 1;");
  await writeFile(join(broken, 'src/cli/start.ts'), '');
  const refused = 'Callmeter did not start: it ended with 1\nthe reason';
  await expect(startCallmeter({ folder: broken })).rejects.toThrow(refused);
});

test('npm start refuses another option beside --temporary', async () => {
  const started = promisify(execFile)(process.execPath, ['src/cli/start.ts', '--temporary', '--fresh'], {
    cwd: PROJECT_DIR,
  });
  await expect(started).rejects.toThrow('--temporary takes no other option');
});
