/**
 * Promise: clients that are generated from `/openapi.json` call the service unmodified, typed and without a header of
 * their own. The output of each generator for a running server's document is type-checked with a program, and the
 * program is run.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readDevVars } from '../../src/cli/dev-vars.ts';
import { PROJECT_DIR } from '../../src/cli/server.ts';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { type LocalServer, preparedState, startPrepared } from './local-server.ts';

const run = promisify(execFile);
const MODULES = join(PROJECT_DIR, 'node_modules');
/**
 * Both generators use the compiler's programming interface, which TypeScript has up to version 6. This copy of it has no
 * command of its own, which would take the place of the project's `tsc`.
 */
const COMPILER = '@ts-morph/common/dist/typescript.js';
const WITH_COMPILER = `import { registerHooks } from 'node:module';
registerHooks({ resolve: (name, context, next) => next(name === 'typescript' ? '${COMPILER}' : name, context) });`;

const OPENAPI_FETCH = `import createClient from 'openapi-fetch';
import type { paths } from './schema.ts';

const { URL: baseUrl = '', KEY = '' } = process.env;
const client = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${KEY}\` } });
const begun = await client.POST('/call_begin', { body: { customerId: 'alice', feature: 'chat' } });
const callId = begun.data?.data.callId ?? '';
const body = { callId, providerUsed: 'openai', modelUsed: 'gpt-6-luna', inputTokens: 120, responseTokens: 30 };
const ended = await client.POST('/call_end', { body });
const read = await client.GET('/calls/{callId}', { params: { path: { callId } } });
const usage = await client.GET('/customers/{customerId}/usage', { params: { path: { customerId: 'alice' } } });
const summary = await client.GET('/usage/summary', { params: { query: { customerId: 'alice', feature: 'chat' } } });
const missing = await client.GET('/calls/{callId}', { params: { path: { callId: 'missing' } } });
const model = await client.GET('/v1/model-alternatives/{provider}/{model}', {
  params: { path: { provider: 'openai', model: 'gpt-4o' }, query: { allowPreview: true, response: 'light' } },
});
`;

const HEY_API = `import { client } from './client/client.gen';
import * as api from './client';

const { URL: baseUrl = '', KEY = '' } = process.env;
client.setConfig({ baseUrl, auth: KEY });
const begun = await api.beginCall({ body: { customerId: 'bob', feature: 'chat' } });
const callId = begun.data?.data.callId ?? '';
const body = { callId, providerUsed: 'openai', modelUsed: 'gpt-6-luna', inputTokens: 120, responseTokens: 30 };
const ended = await api.endCall({ body });
const read = await api.readCall({ path: { callId } });
const usage = await api.readUsage({ path: { customerId: 'bob' } });
const summary = await api.readUsageSummary({ query: { customerId: 'bob', feature: 'chat' } });
const missing = await api.readCall({ path: { callId: 'missing' } });
const model = await api.resolveModel({
  path: { provider: 'openai', model: 'gpt-4o' },
  query: { allowPreview: true, response: 'light' },
});
`;

/** The answers in the client's form, whose types are also checked. */
const RESULT = `
console.log(
  JSON.stringify({
    status: ended.data?.data.status satisfies string | undefined,
    cost: ended.data?.data.costUSD satisfies number | undefined,
    readCost: read.data?.data.costUSD satisfies number | null | undefined,
    policy: usage.data?.data.policy satisfies string | undefined,
    // History follows within seconds.
    isSum: Number.isInteger(summary.data?.data.totals.calls satisfies number | undefined),
    missing: missing.error?.error.code satisfies string | undefined,
    types: [begun, ended, read, usage, summary, missing].map(({ response }) => response?.headers.get('content-type')),
    lifecycle: model.data?.lifecycle.status satisfies string | undefined,
  }),
);
export {};
`;

let server: LocalServer;
let folder: string;
let key: string;
beforeAll(async () => {
  const state = await preparedState();
  key = (await readDevVars(state.devVars)).DEMO_API_KEY ?? '';
  [server, folder] = await Promise.all([startPrepared(state), mkdtemp(join(tmpdir(), 'callmeter-clients-'))]);
  const document = await (await fetch(`${server.url}/openapi.json`)).text();
  await Promise.all([
    writeFile(join(folder, 'openapi.json'), document),
    writeFile(join(folder, 'compiler.mjs'), WITH_COMPILER),
    writeFile(join(folder, 'package.json'), '{ "type": "module" }'),
    symlink(MODULES, join(folder, 'node_modules'), 'junction'),
  ]);
});
afterAll(async () => {
  await server?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const generate = (script: string, ...args: string[]) =>
  run(process.execPath, ['--import', './compiler.mjs', join(MODULES, script), ...args], { cwd: folder });

/** The output of the program, after its types are checked against the generated ones. */
async function runProgram(name: string, program: string): Promise<unknown> {
  const file = join(folder, `${name}.ts`);
  await writeFile(file, program + RESULT);
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--allowImportingTsExtensions', '--types', 'node'];
  const target = ['--target', 'es2024', '--module', 'esnext', '--moduleResolution', 'bundler'];
  const checked = run(process.execPath, [join(MODULES, 'typescript/bin/tsc'), ...options, ...target, file], {
    cwd: folder,
  });
  const outfile = join(folder, `${name}.mjs`);
  await Promise.all([
    checked.catch(({ stdout }) => expect.fail(String(stdout))),
    build({ entryPoints: [file], outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'silent' }),
  ]);
  const { stdout } = await run(process.execPath, [outfile], { env: { ...process.env, URL: server.url, KEY: key } });
  return JSON.parse(stdout);
}

const ANSWERS = {
  status: 'COMPLETED',
  cost: expect.any(Number),
  readCost: expect.any(Number),
  policy: expect.stringMatching(/^(NONE|BLOCK|DOWNGRADE)$/),
  isSum: true,
  missing: 'CALL_NOT_FOUND',
  types: Array.from({ length: 6 }, () => MEDIA_TYPE),
  lifecycle: expect.stringMatching(/^(ACTIVE|DEPRECATED|RETIRED)$/),
};

test('openapi-fetch with the types of openapi-typescript', async () => {
  await generate('openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'schema.ts');
  expect(await runProgram('openapi-fetch', OPENAPI_FETCH)).toEqual(ANSWERS);
});

test('the client of @hey-api/openapi-ts', async () => {
  await generate('@hey-api/openapi-ts/dist/run.mjs', '-i', 'openapi.json', '-o', 'client', '--no-log-file');
  expect(await runProgram('hey-api', HEY_API)).toEqual(ANSWERS);
});
