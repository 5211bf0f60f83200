/**
 * Runs the `py` blocks of the documents on a server like that of `npm start`, each after the setup of its page. Blocks
 * with OpenAI's SDK run if a Python here has it; otherwise their syntax is checked.
 */
import { execFile, spawnSync } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ensureDemoVendors } from '../../src/cli/demo-organization.ts';
import { readDevVars } from '../../src/cli/dev-vars.ts';
import { startTrialVendor, type TrialVendor } from '../../src/cli/vendor/server.ts';
import { type Block, blockPlace, blocksOf } from '../support/documents.ts';
import { serveOnLoopback } from '../vendors/loopback.ts';
import { type LocalServer, preparedState, startPrepared } from './local-server.ts';

/** The user's own first, then the system's, whose packages apt installs. */
const PYTHONS = ['python3', '/usr/bin/python3'];
const RUN_MS_MAX = 60_000;

const pythonWith = (module: string) =>
  PYTHONS.find((python) => spawnSync(python, ['-c', `import ${module}`], { timeout: RUN_MS_MAX }).status === 0);
const python = pythonWith('requests');
if (!python && process.env.CI) throw new Error('no Python here has requests: apt-get install python3-requests');
if (!python) console.warn('skipped: no Python here has requests (apt-get install python3-requests)');
const pythonWithOpenAi = pythonWith('openai');

let server: LocalServer;
let vendor: TrialVendor;
let key: string;
beforeAll(async () => {
  const state = await preparedState();
  vendor = await startTrialVendor({ port: 0 });
  server = await startPrepared(state);
  const { OPERATOR_TOKEN = '', DEMO_API_KEY = '' } = await readDevVars(state.devVars);
  key = DEMO_API_KEY;
  await ensureDemoVendors(server.url, OPERATOR_TOKEN, vendor.url);
  // Free allows no premium model, and blocks.
  await server.demo.send('provisionCustomer', { body: { customerId: 'bob' } });
  await server.demo.send('changePlan', { params: { customerId: 'bob' }, body: { planId: 'free' } });
});
afterAll(async () => {
  await server?.stop();
  await vendor?.stop();
});

/** The setup of a page, and each of its other blocks after it. */
function pythonPrograms(word: string): [place: string, program: string][] {
  const pages = Map.groupBy(blocksOf('py', word), ({ document }) => document);
  return [...pages.values()].flatMap(([setup, ...others]) =>
    setup ? [setup, ...others].map((block): [string, string] => [blockPlace(block), after(setup, block)]) : [],
  );
}

function after(setup: Block, block: Block): string {
  return block === setup ? setup.text : `${setup.text}\n\n${block.text}\n`;
}

interface Ran {
  exitCode: number | string | null | undefined;
  out: string;
  err: string;
}

/** With the key of the demo organization, at this server or another one. */
function run(interpreter: string, program: string, url = server.url): Promise<Ran> {
  const there = program.replaceAll('http://127.0.0.1:8787', url);
  const env = { ...process.env, CALLMETER_KEY: key };
  return new Promise((resolve) => {
    execFile(interpreter, ['-c', there], { env, timeout: RUN_MS_MAX }, (error, out, err) =>
      resolve({ exitCode: error ? error.code : 0, out, err }),
    );
  });
}

const asBob = (program: string) => program.replaceAll('"alice"', '"bob"');
const DENIED = 'the plan does not allow this call';

describe.skipIf(!python)('with requests', () => {
  const programs = pythonPrograms('requests');
  const [[, setup] = ['', '']] = programs;
  const runs = (program: string, url?: string) => run(python ?? '', program, url);

  test.each(programs)('%s runs', async (_place, program) => {
    expect(await runs(program)).toMatchObject({ exitCode: 0, err: '' });
  });

  test('a cost is shown to the nano-USD, and is the one of the call', async () => {
    const program = programs.find(([, text]) => text.includes('/call_end'))?.[1] ?? '';
    const { out } = await runs(program);
    const [, nano = '', usd = ''] = /cost (\d+) nano-USD, \$(\d+\.\d{9})\n/.exec(out) ?? [];
    expect(usd.replace('.', '').replace(/^0+/, '')).toBe(nano);
    const costs = async () => {
      const { items } = (await server.demo.send('listCalls', { query: { customerId: 'alice' } })).data;
      return items.map(({ costUsdNano }) => costUsdNano);
    };
    // Lists have a call a moment after it has ended.
    await expect.poll(costs, { timeout: RUN_MS_MAX }).toContain(nano);
  });

  test('a call that the plan does not allow is said to be so, and not ended', async () => {
    const program = programs.find(([, text]) => text.includes('/call_end'))?.[1] ?? '';
    expect(await runs(asBob(program))).toMatchObject({ exitCode: 0, out: `${DENIED}\n` });
  });

  test('429 and 503 are sent again after Retry-After with the same key, and a long wait is refused at once', async () => {
    const asked: { path: string; key: unknown }[] = [];
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      const path = request.url ?? '';
      asked.push({ path, key: request.headers['idempotency-key'] });
      const times = asked.filter((one) => one.path === path).length;
      const [status, wait] =
        path === '/long' ? [429, '60'] : times === 1 ? [503, '0'] : times === 2 ? [429, '1'] : [200];
      if (wait) response.setHeader('Retry-After', wait);
      response.statusCode = status as number;
      const error = { code: 'RATE_LIMITED', message: 'too many calls' };
      response.end(JSON.stringify(status === 200 ? { data: { costUSD: 0.1 } } : { error }));
    };
    const other = await serveOnLoopback(answer);
    const program = `${setup}
print(callmeter("POST", "/short", {})["costUSD"] * 3)
try:
    callmeter("POST", "/long", {})
except Refused as refusal:
    print(refusal.status, refusal.code)
`;
    const began = Date.now();
    const { out, err } = await runs(program, other.url);
    await other.close();
    expect([out, err]).toEqual(['0.3\n429 RATE_LIMITED\n', '']);
    expect(Date.now() - began).toBeGreaterThanOrEqual(1_000);
    expect(asked.map(({ path }) => path)).toEqual(['/short', '/short', '/short', '/long']);
    expect(new Set(asked.slice(0, 3).map((one) => one.key)).size).toBe(1);
    expect(asked[0]?.key).toMatch(/^[0-9a-f-]{36}$/);
    expect(asked[3]?.key).not.toBe(asked[0]?.key);
  });
});

describe.skipIf(!python)("with OpenAI's SDK", () => {
  const programs = pythonPrograms('openai');

  test.each(programs)(pythonWithOpenAi ? '%s runs' : '%s is Python', async (_place, program) => {
    const ran = pythonWithOpenAi
      ? await run(pythonWithOpenAi, program)
      : await run(python ?? '', `import ast\nast.parse(${JSON.stringify(program)})`);
    expect(ran).toMatchObject({ exitCode: 0, err: '' });
  });

  test.skipIf(!pythonWithOpenAi)('a call that the plan does not allow is caught as the page says', async () => {
    const program = programs.find(([, text]) => text.includes('except PermissionDeniedError'))?.[1] ?? '';
    const { exitCode, out } = await run(pythonWithOpenAi ?? '', asBob(program));
    expect([exitCode, out]).toEqual([0, expect.stringContaining(DENIED)]);
  });
});
