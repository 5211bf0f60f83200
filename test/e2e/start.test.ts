/**
 * `npm start` as a new user runs it.
 */
import { exec, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort, PROJECT_DIR } from '../../src/cli/server.ts';
import { type LocalServer, newState, startLocal, until } from './local-server.ts';

let state: { stateDir: string; port: number };
let server: LocalServer;
beforeAll(async () => {
  state = await newState();
  server = await startLocal(state);
});
afterAll(() => server.stop());

test('the printed curl command works', async () => {
  const line = server
    .output()
    .split('\n')
    .find((text) => text.startsWith('curl '));
  const { stdout } = await promisify(exec)(line ?? 'false');
  expect(JSON.parse(stdout)).toMatchObject({
    result: { code: 'CALL_BEGIN_SUCCESS' },
    data: { allowed: { premium: true } },
  });
});

test('the state survives a restart, and --fresh deletes it', async () => {
  await server.demo.send('provisionCustomer', { body: { customerId: 'keeper' } });
  await server.stop();
  server = await startLocal(state);
  expect((await server.demo.send('provisionCustomer', { body: { customerId: 'keeper' } })).data.newCustomer).toBe(
    false,
  );
  await server.stop();
  server = await startLocal(state, ['--fresh']);
  expect((await server.demo.send('provisionCustomer', { body: { customerId: 'keeper' } })).data.newCustomer).toBe(true);
});

test('every price of the catalog is recorded as a snapshot, and health is ok', async () => {
  expect((await server.operator.send('readHealth')).data).toMatchObject({
    status: 'ok',
    catalog: { models: 316, prices: 230 },
    versions: { schema: expect.stringMatching(/^\d{4}_/) },
  });
});

describe.concurrent('while a server runs', () => {
  test.each(['SIGTERM', 'SIGKILL'] as const)('%s to npm also ends the server, and the port is free', async (signal) => {
    const own = await newState();
    const npm = spawn('npm', ['start'], {
      cwd: PROJECT_DIR,
      env: { ...process.env, PORT: String(own.port), STATE_DIR: own.stateDir },
      stdio: 'pipe',
    });
    let printed = '';
    npm.stdout.on('data', (chunk: Buffer) => (printed += chunk));
    await until(() => printed.includes('Ctrl+C stops'));
    npm.kill(signal);
    await until(() =>
      freePort(own.port).then(
        () => true,
        () => false,
      ),
    );
  });

  test('a used port and an invalid one are reported in one line', async () => {
    await Promise.all([
      expect(startLocal(state)).rejects.toThrow(`port ${state.port} is in use`),
      expect(startLocal({ ...state, port: 0.5 })).rejects.toThrow('PORT must be a port number'),
    ]);
  });

  test('--help lists the options', async () => {
    const { stdout } = await promisify(exec)(`${process.execPath} src/cli/start.ts --help`);
    for (const word of ['--fresh', 'PORT', 'STATE_DIR', '.dev.vars']) expect(stdout).toContain(word);
    expect(await freePort(0)).toBeGreaterThan(0);
  });
});
