/**
 * Runs every `sh` block and every program in a `ts` block of the README and docs, in document order, on a server
 * started as by `npm start`. For commands that cannot run here, it checks that every flag exists.
 */
import { execFile, spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { experimental_getWranglerCommands } from 'wrangler';
import manifest from '../../package.json' with { type: 'json' };
import { DEMO_ORGANIZATION_ID, ensureDemoVendors } from '../../src/cli/demo-organization.ts';
import { readDevVars } from '../../src/cli/dev-vars.ts';
import { startTrialVendor, type TrialVendor } from '../../src/cli/vendor/server.ts';
import { type Block, blocksOf, DOCUMENTS, PROGRAMS, placeOf, programOf, ROOT } from '../support/documents.ts';
import { type LocalServer, type PreparedState, preparedState, startPrepared } from './local-server.ts';
import { type NpmShim, startNpmShim } from './npm-shim.ts';

let server: LocalServer;
let state: PreparedState;
let vendor: TrialVendor;
/** A folder with the repository in it, in which blocks may leave files. */
let folder: string;
let npm: NpmShim;
beforeAll(async () => {
  [state, vendor, folder] = await Promise.all([
    preparedState(),
    startTrialVendor({ port: 0 }),
    mkdtemp(join(tmpdir(), 'callmeter-documents-')),
  ]);
  server = await startPrepared(state);
  const own = new Set(['.dev.vars', '.state', '.git', 'dist']);
  const names = (await readdir(ROOT)).filter((name) => !own.has(name));
  await Promise.all(names.map((name) => symlink(join(ROOT, name), join(folder, name))));
  await symlink(state.devVars, join(folder, '.dev.vars'));
  // A request that is refused ends its block.
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'bin/curl'), '#!/bin/sh\nPATH="$REAL_PATH" exec curl --fail-with-body "$@"\n');
  await chmod(join(folder, 'bin/curl'), 0o755);
  npm = await startNpmShim(join(folder, 'bin'));
  await prepareDemoOrganization();
});
afterAll(async () => {
  await server?.stop();
  await vendor?.stop();
  npm?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** What the documents take for granted: the vendor of `npm start`, and a custom meter in the plan of new customers. */
async function prepareDemoOrganization(): Promise<void> {
  const { OPERATOR_TOKEN = '' } = await readDevVars(state.devVars);
  expect(await ensureDemoVendors(server.url, OPERATOR_TOKEN, vendor.url)).toEqual(['openai', 'anthropic', 'google']);
  const params = { org: DEMO_ORGANIZATION_ID, planId: 'pro' };
  const { plan } = (await server.operator.send('readPlan', { params })).data;
  const withMeter = { ...plan, customMeters: { CUSTOM1: { label: 'Pages', included: 1_000 } } };
  expect((await server.operator.send('putPlan', { params, body: withMeter })).status).toBe(200);
}

/** The addresses, the placeholder of a vendor's key and the token of the deployed service, as they are here. */
function localized(text: string): string {
  return text
    .replaceAll("//p' .secrets)", "//p' .dev.vars)")
    .replaceAll(/http:\/\/(127\.0\.0\.1|localhost):8787/g, server.url)
    .replaceAll('http://127.0.0.1:8788', vendor.url)
    .replaceAll('https://callmeter.YOUR-SUBDOMAIN.workers.dev', server.url)
    .replaceAll('https://api.openai.com', vendor.url)
    .replaceAll('{"apiKey":"sk-..."}', JSON.stringify({ apiKey: 'sk-documents', baseUrl: `${vendor.url}/v1` }));
}

interface Ran {
  exitCode: number | null;
  out: string;
  err: string;
}

/** A script in the folder, with the programs of its `bin` before others, or without them. */
function runScript(script: string, own = [join(folder, 'bin')]): Promise<Ran> {
  // Nor are npm's options those of the npm that started the tests.
  const foreign = (name: string) => /^(OPERATOR_TOKEN$|CALLMETER_URL$|npm_)/.test(name);
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign(name))),
    PATH: [...own, process.env.PATH].join(delimiter),
    REAL_PATH: process.env.PATH,
    PORT: new URL(server.url).port,
    VENDOR_PORT: new URL(vendor.url).port,
    DEV_VARS_FILE: state.devVars,
  };
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk));
  child.stderr.on('data', (chunk: Buffer) => (printed.err += chunk));
  return new Promise((resolve) => child.once('close', (exitCode) => resolve({ exitCode, ...printed })));
}

/** Each block says on both outputs where it begins. */
function runBlocks(blocks: readonly Block[]): Promise<Ran> {
  return runScript(
    blocks
      .flatMap((block) => [
        `echo '--- ${placeOf(block)}'`,
        `echo '--- ${placeOf(block)}' >&2`,
        localized(block.text),
        '',
      ])
      .join('\n'),
  );
}

describe('commands', () => {
  const documents = DOCUMENTS.map(({ path }) => path).filter((path) =>
    blocksOf('sh').some(({ document }) => document === path),
  );
  test.each(documents)('those of %s run', async (path) => {
    const { exitCode, out, err } = await runBlocks(blocksOf('sh').filter(({ document }) => document === path));
    expect([exitCode, exitCode === 0 ? '' : out + err]).toEqual([0, '']);
    expect(out + err).not.toMatch(/"status":"ERROR"/);
  });

  test('a deployment keeps its secrets, and its plan limits every meter', async () => {
    const secrets = parseEnv(await readFile(join(folder, '.secrets'), 'utf8'));
    expect(Object.keys(secrets).toSorted()).toEqual(['OPERATOR_TOKEN', 'SESSION_SECRET', 'VENDOR_KEY_SECRET']);
    for (const secret of Object.values(secrets)) expect(secret).toMatch(/^[\w-]{43}$/);
    const { items } = (await server.operator.send('listOrganizations')).data;
    const { organizationId: org, defaultPlanId } = items.find(({ name }) => name === 'My company') ?? {};
    const params = { org: org ?? '', planId: defaultPlanId ?? '' };
    const { plan } = (await server.operator.send('readPlan', { params })).data;
    expect(Object.values(plan.limits)).not.toContain(null);
  });
});

describe('npm run operator', () => {
  let org: string;
  beforeAll(async () => {
    org = (await server.operator.send('createOrganization', { body: { name: 'npm' } })).data.organizationId;
  });

  test.each([
    [
      'quotes, line breaks and other letters of an argument, and exit code 2',
      `npm run -s operator -- $'it\\'s "one"\n\t\\\\ $HOME \`id\` %s * é' ''`,
    ],
    ['a document from standard input', 'echo "{\\"rate\\":0.5}" | npm run -s operator -- sampling put $ORG - --json'],
    [
      'a document in a file',
      'echo "{\\"rate\\":0.25}" > policy.json; npm run -s operator -- sampling put $ORG policy.json',
    ],
    ['variables, and exit code 1', 'CALLMETER_URL=http://127.0.0.1:9 OPERATOR_TOKEN=x npm run -s operator -- health'],
    ['a refusal', 'OPERATOR_TOKEN=wrong-token npm run -s operator -- health'],
    ['both outputs', 'npm run -s operator -- events list --limit 1'],
  ])('does with %s what it does in these tests', async (_name, script) => {
    const [own, ran] = [`ORG=${org}\n${script}`, npm.ran];
    const real = await runScript(own, []);
    expect([real.out + real.err, npm.ran]).toEqual([expect.stringMatching(/./), ran]);
    expect([await runScript(own), npm.ran]).toEqual([real, ran + 1]);
  });

  test('says what npm took for itself, and what npm says of the script', async () => {
    const taken = await runScript('npm run -s operator --json -- health');
    expect([taken.exitCode, taken.err]).toEqual([1, 'npm took --json for itself; write npm run operator -- --json\n']);
    const { exitCode, out } = await runScript('npm run operator health');
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^\n> .*\n> node .*operator\.ts health\n\nStatus +ok/)]);
  });
});

test.each(PROGRAMS.map((document) => [document.path, document] as const))(
  'the program of %s runs',
  async (_path, document) => {
    const file = join(folder, `${document.path.replaceAll('/', '-')}.mjs`);
    await build({
      stdin: { contents: localized(programOf(document)), loader: 'ts', resolveDir: ROOT },
      alias: { 'callmeter/client': join(ROOT, 'src/client') },
      ...{ bundle: true, packages: 'external', format: 'esm', target: 'es2022', platform: 'node', outfile: file },
    });
    const { DEMO_API_KEY } = await readDevVars(state.devVars);
    const params = { org: DEMO_ORGANIZATION_ID };
    const { key } = (await server.operator.send('createKey', { params, body: { name: 'widget', prefix: 'ek-' } })).data;
    const env = {
      ...process.env,
      CALLMETER_FOLDER: ROOT,
      ...{ CALLMETER_KEY: DEMO_API_KEY, CALLMETER_EMBED_KEY: key, OPENAI_BASE_URL: `${vendor.url}/v1` },
      ...{ OPENAI_API_KEY: 'sk-documents', ANTHROPIC_API_KEY: 'sk-documents', GEMINI_API_KEY: 'documents' },
    };
    const { stderr } = await promisify(execFile)(process.execPath, [file], { cwd: folder, env });
    expect(stderr).toBe('');
  },
);

test("html blocks name the widget's script, and attributes that it reads", async () => {
  for (const block of blocksOf('html')) {
    const [, source = ''] = /^<script src="https:\/\/[^/"]+(\/[^"]*)"/.exec(block.text) ?? [];
    const script = await (await fetch(server.url + source)).text();
    const [, read = ''] = /\{ ([\w, ]+) \} = script\.dataset/.exec(script) ?? [];
    const attributes = [...block.text.matchAll(/ data-([\w-]+)=/g)].map(([, name = '']) =>
      name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
    );
    expect(attributes.length).toBeGreaterThan(0);
    expect([placeOf(block), attributes.filter((name) => !read.split(', ').includes(name))]).toEqual([
      placeOf(block),
      [],
    ]);
  }
});

describe('commands that are not run', () => {
  test('every flag of wrangler exists', async () => {
    const { registry, globalFlags } = experimental_getWranglerCommands();
    const commands = blocksOf('sh', 'unrun').flatMap((block) =>
      [...block.text.matchAll(/\bwrangler (?:-- )?([^#&|\n]+)/g)].map(
        ([, words = '']) => [placeOf(block), words.trim()] as const,
      ),
    );
    expect(commands.length).toBeGreaterThan(3);
    for (const [place, words] of commands) {
      let found: typeof registry | undefined;
      for (const word of words.split(' ')) found = (found ?? registry).subtree.get(word) ?? found;
      const command = found?.definition;
      if (command?.type !== 'command') throw new Error(`${place}: wrangler has no command ${words}`);
      const known = new Set(Object.keys({ ...globalFlags, ...command.args }));
      const flags = [...words.matchAll(/--([a-z-]+)/g)].map(([, flag = '']) => flag);
      expect([place, words, flags.filter((flag) => !known.has(flag))]).toEqual([place, words, []]);
    }
  });

  test('every suite and flag of the test and bench commands exists', async () => {
    const commands = blocksOf('sh', 'unrun').flatMap((block) =>
      [...block.text.matchAll(/\bnpm run (?:-s )?((?:test|bench)[:\w]*) -- ([^#&|\n]+)/g)].map(
        ([, script = '', words = '']) => ({ place: placeOf(block), script, words: words.trim() }),
      ),
    );
    expect(commands.length).toBeGreaterThan(1);
    const helps = await helpsOf([...new Set(commands.map(({ script }) => script))]);
    for (const { place, script, words } of commands) {
      const help = helps.get(script) ?? '';
      expect([script, help]).toEqual([script, expect.stringContaining('--help')]);
      const named = words.split(' ').filter((word) => /^(--)?[a-z][a-z-]+$/.test(word));
      expect([place, words, named.filter((word) => !help.includes(word))]).toEqual([place, words, []]);
    }
  });
});

/** What scripts of package.json say with `--help`: our own programs in one process, others by npm. */
async function helpsOf(scripts: readonly string[]): Promise<Map<string, string>> {
  const run = promisify(execFile);
  const programs = new Map(
    scripts.flatMap((name) => {
      const [, program] =
        /node\.mjs (test\/\S+\.ts)$/.exec(manifest.scripts[name as keyof typeof manifest.scripts]) ?? [];
      return program ? [[name, join(ROOT, program)] as const] : [];
    }),
  );
  const { stdout } = await run(process.execPath, ['test/support/helps.ts', ...programs.values()], { cwd: ROOT });
  const helps = stdout.split('\0');
  const found = new Map([...programs.keys()].map((name, index) => [name, helps[index] ?? '']));
  for (const name of scripts.filter((one) => !programs.has(one)))
    found.set(name, (await run('npm', ['run', '-s', name, '--', '--help'], { cwd: ROOT })).stdout);
  return found;
}
