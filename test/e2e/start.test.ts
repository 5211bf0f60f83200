/**
 * `npm start` as a new user runs it.
 */
import { exec, spawn } from 'node:child_process';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';
import { ensureDevVars, readDevVars } from '../../src/cli/dev-vars.ts';
import { prepareState } from '../../src/cli/prepare.ts';
import { freePort, PROJECT_DIR } from '../../src/cli/server.ts';
import {
  environmentOf,
  type LocalServer,
  type LocalState,
  newState,
  openD1,
  preparedState,
  startLocal,
  until,
} from './local-server.ts';

let state: LocalState;
let server: LocalServer;
beforeAll(async () => {
  state = await newState();
  server = await startLocal(state);
});
afterAll(() => server.stop());

test('the printed curl commands work, and a model answers without a key of its vendor', async () => {
  const lines = server
    .output()
    .split('\n')
    .filter((text) => text.startsWith('curl '));
  const answers = await Promise.all(lines.map(async (line) => JSON.parse((await promisify(exec)(line)).stdout)));
  expect(answers).toMatchObject([
    { result: { code: 'CALL_BEGIN_SUCCESS' }, data: { allowed: { premium: true } } },
    { choices: [{ message: { content: expect.stringContaining('This answer is made up') } }] },
  ]);
  expect(server.output()).toContain('answers for openai, anthropic, google: its answers are made up');
});

test('D1 and KV are where they were when wrangler.toml still had ids, so that no state is lost', async () => {
  const listObjectFiles = (folder: string, kind: string) =>
    readdir(join(state.stateDir, folder, `miniflare-${kind}Object`));
  // Miniflare names a file by a hash of the id.
  expect(await listObjectFiles('d1', 'D1Database')).toContain(
    '9ba2b04bf514d9facfd57ed57d849e77241a7adc99d1c1545d06688b43d84248.sqlite',
  );
  expect(await listObjectFiles('kv', 'KVNamespace')).toContain(
    '1ce34801eb0d7520faecc9eb9d9dc1bb8372940b1d8312d25ac599f06bdb8780.sqlite',
  );
});

test('the demo key is told to the pages of this machine alone', async () => {
  const { DEMO_API_KEY = '' } = await readDevVars();
  const { port } = new URL(server.url);
  const ask = (host: string, site: string | undefined) =>
    new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const headers = { Host: host, ...(site && { 'Sec-Fetch-Site': site }) };
      get(`${server.url}/docs/demo-key`, { headers }, (answer) => {
        let text = '';
        answer
          .on('data', (chunk: Buffer) => (text += chunk))
          .on('end', () => resolve({ status: answer.statusCode, text }));
      }).on('error', reject);
    });
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`])
    expect(await ask(host, 'same-origin')).toEqual({ status: 200, text: JSON.stringify({ key: DEMO_API_KEY }) });
  for (const [host, site] of [
    [`127.0.0.1:${port}`, 'cross-site'],
    [`127.0.0.1:${port}`, 'same-site'],
    [`127.0.0.1:${port}`, undefined],
    ['rebound.example', 'same-origin'],
    ['127.0.0.1.rebound.example', 'same-origin'],
  ] as const) {
    const answer = await ask(host, site);
    expect([host, site, answer.status, answer.text.includes(DEMO_API_KEY)]).toEqual([host, site, 404, false]);
  }
});

test("OpenAI's SDK reaches the models of three vendors through the gateway, plain, streamed and in a batch", async () => {
  const { DEMO_API_KEY = '' } = await readDevVars();
  const openai = new OpenAI({ apiKey: DEMO_API_KEY, baseURL: `${server.url}/v1` });
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  for (const model of ['openai/gpt-6-luna', 'anthropic/claude-haiku-5-5', 'google/gemini-3.8-flash']) {
    const { data, response } = await openai.chat.completions.create({ model, messages }).withResponse();
    expect(data.choices[0]?.message.content).toContain('This answer is made up');
    const callId = response.headers.get('x-service-call-id') ?? '';
    const call = (await server.demo.send('readCall', { params: { callId } })).data;
    expect([call.status, call.usageSource]).toEqual(['COMPLETED', 'reported']);
    expect(call.costBreakdown?.lines).toMatchObject([
      { component: 'input', quantity: data.usage?.prompt_tokens },
      { component: 'output', quantity: data.usage?.completion_tokens },
    ]);
  }
  const model = 'openai/gpt-6-luna';
  const final = await openai.responses.stream({ model, input: 'Hello' }).finalResponse();
  expect(final.output_text).toContain('This answer is made up');
  const { data } = await openai.embeddings.create({ model: 'google/gemini-embedding-2', input: 'Hello' });
  expect(data).toHaveLength(1);

  const line = { custom_id: '1', method: 'POST', url: '/v1/chat/completions', body: { model: 'gpt-6-luna', messages } };
  const file = await openai.files.create({
    file: await toFile(Buffer.from(JSON.stringify(line)), 'batch.jsonl'),
    purpose: 'batch',
  });
  const asked = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  let batch = await openai.batches.create(asked);
  await until(async () => {
    batch = await openai.batches.retrieve(batch.id);
    return batch.status === 'completed';
  });
  const output = await (await openai.files.content(batch.output_file_id ?? '')).text();
  expect(JSON.parse(output)).toMatchObject({ custom_id: '1', response: { status_code: 200 } });
});

const OWN_VENDOR = { apiKey: 'sk-own-key', baseUrl: 'https://vendor.invalid/v1' };
const ADDRESSED = { org: DEMO_ORGANIZATION_ID, provider: 'openai' };

let restart: Promise<void> | undefined;
/** One restart for all that must survive one: a customer on a Pro plan of before, and a vendor of the operator's own. */
function restarted(): Promise<void> {
  restart ??= (async () => {
    await server.demo.send('provisionCustomer', { body: { customerId: 'keeper' } });
    const { status } = await server.operator.send('setVendor', { params: ADDRESSED, body: OWN_VENDOR });
    expect(status).toBe(200);
    await server.stop();
    using d1 = await openD1(state);
    d1.exec("UPDATE plan_versions SET content = json_set(content, '$.customMeters', json('{}')) WHERE plan_id = 'pro'");
    // Another port is not another vendor.
    state = { ...state, vendorPort: await freePort(0) };
    server = await startLocal(state);
  })();
  return restart;
}

test("an operator's own vendor replaces the one for trying out, and stays", async () => {
  await restarted();
  const baseUrlOf = async (provider: string) =>
    (await server.operator.send('readVendor', { params: { ...ADDRESSED, provider } })).data.baseUrl;
  expect(await baseUrlOf('openai')).toBe(OWN_VENDOR.baseUrl);
  expect(await baseUrlOf('anthropic')).toBe(`http://127.0.0.1:${state.vendorPort}/v1`);
  expect(await baseUrlOf('google')).toBe(`http://127.0.0.1:${state.vendorPort}/v1beta/openai`);
  expect(server.output()).toContain('answers for anthropic, google: ');
});

test("without an operator's own key, the vendor for trying out answers the next request", async () => {
  await restarted();
  expect((await server.operator.send('deleteVendor', { params: ADDRESSED })).status).toBe(200);
  const { DEMO_API_KEY = '' } = await readDevVars();
  const openai = new OpenAI({ apiKey: DEMO_API_KEY, baseURL: `${server.url}/v1`, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  const { choices } = await openai.chat.completions.create({ model: 'openai/gpt-6-luna', messages });
  expect(choices[0]?.message.content).toContain('This answer is made up');
});

test('customers on the Pro plan of an earlier start, which counted nothing of its own, get its custom meter', async () => {
  await restarted();
  const params = { org: DEMO_ORGANIZATION_ID, planId: 'pro' };
  const { plan, usagePlanVersionId } = (await server.operator.send('readPlan', { params })).data;
  expect([usagePlanVersionId, plan.customMeters.CUSTOM1?.label]).toEqual(['pro:v2', 'Pages']);
  const ofKeeper = () => server.demo.send('readUsage', { params: { customerId: 'keeper' } });
  await until(async () => (await ofKeeper()).data.subscription.usagePlanVersionId === 'pro:v2');
});

test('a Pro plan that an operator changed stays as it is', async () => {
  const own = await preparedState();
  using d1 = await openD1(own);
  const changed = "SET version = 2, content = json_set(content, '$.customMeters', json('{}'))";
  d1.exec(`UPDATE plan_versions ${changed} WHERE plan_id = 'pro'`);
  const { secrets } = await ensureDevVars();
  await prepareState(own.stateDir, { secrets, vendorUrl: `http://127.0.0.1:${own.vendorPort}` });
  const versions = d1.prepare("SELECT version FROM plan_versions WHERE plan_id = 'pro'").all();
  expect(versions).toEqual([{ version: 2 }]);
});

test('the state survives a restart, and --fresh deletes it', async () => {
  await restarted();
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
    catalog: { models: 322, prices: 233 },
    versions: { schema: expect.stringMatching(/^\d{4}_/) },
  });
});

describe.concurrent('while a server runs', () => {
  test.each(['SIGTERM', 'SIGKILL'] as const)(
    '%s to npm also ends the server and its vendor, and the ports are free',
    async (signal) => {
      const own = await newState();
      const npm = spawn('npm', ['start'], {
        cwd: PROJECT_DIR,
        env: { ...process.env, ...environmentOf(own) },
        stdio: 'pipe',
      });
      let printed = '';
      npm.stdout.on('data', (chunk: Buffer) => (printed += chunk));
      await until(() => printed.includes('Ctrl+C stops'));
      npm.kill(signal);
      const isFree = (port: number) =>
        freePort(port).then(
          () => true,
          () => false,
        );
      await until(async () => (await isFree(own.port)) && (await isFree(own.vendorPort)));
    },
  );

  test('a used port and an invalid one are reported in one line', async () => {
    await Promise.all([
      newState().then((own) =>
        expect(startLocal({ ...own, port: state.port })).rejects.toThrow(`port ${state.port} is in use`),
      ),
      expect(startLocal({ ...state, port: 0.5 })).rejects.toThrow('PORT must be a port number'),
      newState().then((own) =>
        expect(startLocal({ ...own, vendorPort: state.port })).rejects.toThrow('choose another with VENDOR_PORT'),
      ),
    ]);
  });

  test('a second server on the same state is refused by process and port, also with --fresh, and the first goes on', async () => {
    const second = { ...state, port: await freePort(0), vendorPort: await freePort(0) };
    const { pid } = JSON.parse(await readFile(join(state.stateDir, 'server.json'), 'utf8'));
    const refused = `the server on port ${state.port} (process ${pid}) uses the state`;
    await server.demo.send('provisionCustomer', { body: { customerId: 'stays' } });
    await expect(startLocal(second)).rejects.toThrow(refused);
    await expect(startLocal(second, ['--fresh'])).rejects.toThrow(refused);
    const { data } = await server.demo.send('provisionCustomer', { body: { customerId: 'stays' } });
    expect(data.newCustomer).toBe(false);
  });

  test('a STATE_DIR that cannot be written is an error at once', async () => {
    const folder = join(state.stateDir, 'server.json', 'below-a-file');
    const refused = `the state cannot be kept in ${folder} (ENOTDIR); choose another folder with STATE_DIR=...`;
    await expect(startLocal({ ...(await newState()), stateDir: folder })).rejects.toThrow(refused);
  });

  test('an option that npm took for itself is noticed', async () => {
    const own = await newState();
    const started = promisify(exec)('npm start --demo-history', {
      cwd: PROJECT_DIR,
      env: { ...process.env, ...environmentOf(own) },
    });
    await expect(started).rejects.toThrow('npm took --demo-history for itself; write npm start -- --demo-history');
  });

  test('new secrets beside an old state are said', async () => {
    const own = await newState({});
    await mkdir(join(own.stateDir, 'v3'));
    const again = await startLocal(own);
    await again.stop();
    expect(again.output()).toMatch(/New secrets were made: OPERATOR_TOKEN.*\. The state in .* is of an earlier start/);
  });

  test('--help lists the options', async () => {
    const { stdout } = await promisify(exec)(`${process.execPath} src/cli/start.ts --help`);
    for (const word of ['--fresh', '--temporary', 'PORT', 'VENDOR_PORT', 'STATE_DIR', '.dev.vars'])
      expect(stdout).toContain(word);
    expect(await freePort(0)).toBeGreaterThan(0);
  });
});
