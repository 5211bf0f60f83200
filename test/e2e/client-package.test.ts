/**
 * The client library as a package: it has valid entry points, complete types, no dependency and a small size, and is
 * installed by the lines that the build prints and the documents show. Whatever a document or a comment shows of it
 * compiles. Nothing else of the repository can be published.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ensureDemoVendors } from '../../src/cli/demo-organization.ts';
import { readDevVars } from '../../src/cli/dev-vars.ts';
import { PROJECT_DIR } from '../../src/cli/server.ts';
import { startTrialVendor, type TrialVendor } from '../../src/cli/vendor/server.ts';
import { SERVICE_VERSION } from '../../src/platform/version.ts';
import {
  COMMENTED_SOURCES,
  DOCUMENTS,
  type Document,
  PACKAGE_README,
  PROGRAMS,
  typescriptPrograms,
} from '../support/documents.ts';
import { type LocalServer, preparedState, startPrepared } from './local-server.ts';

const GZIP_BYTES_MAX = 13 * 1024;
/** With all that reads the usage of every vendor. */
const VENDORS_GZIP_BYTES_MAX = 18 * 1024;
const REPOSITORY = 'https://git.example/owner/callmeter';

const run = promisify(execFile);
const BIN = join(PROJECT_DIR, 'node_modules');

/** npm asks no registry. */
const OFFLINE = { npm_config_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' };

let folder: string;
/** The build's printed lines to install its result: the archive, and the folder. */
let lines: string[];
let tarball: string;
/** A project that has the package installed, and nothing else. */
let project: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'callmeter-package-'));
  const built = join(folder, 'built');
  const { stdout } = await run(process.execPath, [
    join(PROJECT_DIR, 'src/cli/build-client.ts'),
    '--out',
    built,
    '--repository',
    REPOSITORY,
  ]);
  lines = stdout.split('\n').filter((line) => line.startsWith('npm '));
  tarball = lines[0]?.split('@file:')[1] ?? '';
  project = await emptyProject('project');
  await runLines(lines[0] ?? '', project);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const installed = (where = project) => join(where, 'node_modules', 'callmeter');

async function emptyProject(name: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(path);
  await writeFile(join(path, 'package.json'), JSON.stringify({ type: 'module' }));
  return path;
}

/** Resolves with their output. They run like lines pasted into a shell, with an npm that has no network. */
async function runLines(text: string, cwd: string): Promise<string> {
  return (await run('sh', ['-eu', '-c', text], { cwd, env: { ...process.env, ...OFFLINE } })).stdout;
}

/** The message of a failing command; empty if it does not fail. */
async function complaint(args: string[], cwd: string): Promise<string> {
  return run(process.execPath, args, { cwd }).then(
    () => '',
    ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
  );
}

describe('the package', () => {
  test('holds the client and nothing of the service', async () => {
    const { stdout } = await run('tar', ['-tzf', tarball]);
    const files = stdout.split('\n').filter(Boolean);
    const others = files.filter((file) => !/^package\/.+\.(js|d\.ts)$/.test(file)).toSorted();
    expect(files).toEqual(expect.arrayContaining(['package/index.js', 'package/index.d.ts']));
    expect(others).toEqual(
      ['CHANGELOG.md', 'GUIDE.md', 'LICENSE', 'README.md', 'package.json'].map((name) => `package/${name}`),
    );
  });

  test('can be published, says where it is from, and needs no script and no other package', async () => {
    const manifest = JSON.parse(await readFile(join(installed(), 'package.json'), 'utf8'));
    expect(Object.keys(manifest)).toEqual([
      ...['name', 'version', 'description', 'keywords', 'homepage', 'bugs', 'repository'],
      ...['license', 'type', 'sideEffects', 'exports', 'engines'],
    ]);
    expect(manifest).toMatchObject({
      version: SERVICE_VERSION,
      repository: { type: 'git', url: `git+${REPOSITORY}.git`, directory: 'src/client' },
    });
    expect(manifest.keywords.length).toBeGreaterThan(5);
    expect(await readFile(join(installed(), 'CHANGELOG.md'), 'utf8')).toContain(`\n## ${SERVICE_VERSION}\n`);
  });

  test('an address that is none of a repository is refused', async () => {
    const script = join(PROJECT_DIR, 'src/cli/build-client.ts');
    for (const address of ['owner/name', `${REPOSITORY}.git`, `${REPOSITORY}/`, 'http://git.example/owner/name']) {
      const said = await complaint([script, '--out', join(folder, 'wrong'), '--repository', address], folder);
      expect(said).toContain('--repository must be like https://host/owner/name');
    }
  });

  test('each line that the build prints installs it as callmeter, under a name with a scope', async () => {
    expect(lines).toHaveLength(2);
    for (const [index, line] of lines.entries()) {
      const where = await emptyProject(`by-line-${index}`);
      await runLines(line, where);
      const { name } = JSON.parse(await readFile(join(installed(where), 'package.json'), 'utf8'));
      const { dependencies } = JSON.parse(await readFile(join(where, 'package.json'), 'utf8'));
      expect([name, Object.keys(dependencies)]).toEqual(['@callmeter/callmeter', ['callmeter']]);
    }
  });

  test('passes publint', async () => {
    expect(await complaint([join(BIN, 'publint/src/cli.js'), 'run', tarball, '--strict'], project)).toBe('');
  });

  test('passes attw', async () => {
    const attw = join(BIN, '@arethetypeswrong/cli/dist/index.js');
    expect(await complaint([attw, tarball, '--profile', 'esm-only', '--no-emoji', '--no-color'], project)).toBe('');
  });
});

const PROGRAM = `
import { type CallOutcome, type CallScope, CallmeterError, createClient, isCallmeterError } from 'callmeter/client';
import { compressPrompt } from 'callmeter/client/compression';
import { callPerRequest as expressCalls } from 'callmeter/client/express';
import { callPerRequest as honoCalls } from 'callmeter/client/hono';
import { createSampler, type LocalDecision } from 'callmeter/client/sampling';
import { type CallmeterServer, startCallmeter } from 'callmeter/client/testing';
import { CallDeniedError, modelByTier, wrapFetch, wrapGoogle, wrapOpenAI } from 'callmeter/client/vendors';

export async function main(): Promise<string> {
  const callmeter = createClient({ apiKey: 'utk-test', baseUrl: 'http://127.0.0.1:9', fetch, retry: { attempts: 1 } });
  const outcome: CallOutcome<number> = await callmeter.withCall({ customerId: 'alice', requested: { premium: true } }, async (call) => {
    const premium: boolean = call.allowed.premium;
    call.setUsage({ modelUsed: 'gpt-4o', inputTokens: premium ? 2 : 1 });
    return 7;
  });
  await using call = await callmeter.startCall({ customerId: 'alice' });
  const { alternatives } = await callmeter.lookUpModel('openai/gpt-4o', { purpose: 'fallback', requiredParameters: ['tools'] });
  const light = await callmeter.lookUpModel('openai/gpt-4o', { response: 'light' });
  const { items, nextCursor } = await callmeter.listCustomers({ limit: 5 });
  const status: 'COMPLETED' | 'FAILED' | undefined = outcome.denied ? undefined : outcome.ended?.status;
  return [status, call.callId, alternatives[0]?.modelKey, light.degraded, items[0]?.planId, nextCursor].join();
}

main().catch((error: unknown) => {
  if (!(error instanceof CallmeterError) || !isCallmeterError(error)) throw error;
  console.log(error.code, error.retryable);
});

const callmeter = createClient({ apiKey: 'utk-test', baseUrl: 'http://127.0.0.1:9' });
const alice = { callmeter, customerId: 'alice', feature: 'chat' };
export const meteredFetch: typeof fetch = wrapFetch(fetch, { ...alice, onDowngrade: ({ fallback }) => fallback ?? undefined });
export const model: string = modelByTier({ premium: 'a', standard: 'b' });
export const isDenied = (error: unknown): boolean => error instanceof CallDeniedError && error.hints?.policy === 'BLOCK';
export const middlewares = [
  honoCalls({ callmeter, begin: (c) => ({ customerId: c.req.header('x-customer') ?? '' }) }),
  expressCalls({ callmeter, begin: (req: { id: string }) => ({ customerId: req.id }) }),
];
export async function shorter(call: CallScope): Promise<string> {
  const { prompt } = await compressPrompt(callmeter, { callId: call.callId, prompt: 'a   b' });
  return prompt;
}
export async function tested(): Promise<CallmeterServer['url']> {
  await using server = await startCallmeter({ folder: '../callmeter' });
  return server.url;
}
export const decide = (): Promise<LocalDecision> => createSampler(callmeter).decide({ feature: 'chat', inputTokens: 12 });

// @ts-expect-error Whose call is it?
export const nobody = () => wrapFetch(fetch, { callmeter });
// @ts-expect-error That is no client of a vendor.
export const noClient = () => wrapOpenAI({}, alice);
// @ts-expect-error Nor is that one of Google's.
export const noGoogle = () => wrapGoogle({ models: {} }, alice);
// @ts-expect-error A customer is required.
export const noCustomer = () => createClient({ baseUrl: '' }).beginCall({});
// @ts-expect-error A misspelt member is not taken.
export const misspelt = () => createClient({ baseUrl: '' }).beginCall({ customerId: 'a', reqested: {} });
`;

describe('what is shown of it', () => {
  const shown = [...PROGRAMS, ...COMMENTED_SOURCES];

  test('every entry point has an example in its first lines', async () => {
    const { exports } = JSON.parse(await readFile(join(installed(), 'package.json'), 'utf8'));
    const entries = Object.keys(exports).filter((entry) => entry !== './package.json');
    const sources = entries.map((entry) => `src/client/${entry.replace(/^\.\/client\/?/, '') || 'index'}.ts`);
    expect(COMMENTED_SOURCES.map(({ path }) => path).toSorted()).toEqual(sources.toSorted());
  });

  test('each ts block of a document or comment compiles with the setup of its page, the types of the package and of the SDKs', async () => {
    // In the repository, so that packages are found; in a folder that git ignores. Lines are numbered as in the
    // document.
    await mkdir(join(PROJECT_DIR, '.state'), { recursive: true });
    const work = await mkdtemp(join(PROJECT_DIR, '.state/documents-'));
    try {
      const programs = shown
        .flatMap(typescriptPrograms)
        .map(({ place, source }) => ({ file: `${place.replaceAll(/[/:]/g, '-')}.ts`, source }));
      const files = programs.map(({ file }) => file);
      await Promise.all(programs.map(({ file, source }) => writeFile(join(work, file), source)));
      const compilerOptions = {
        ...{ target: 'es2024', lib: ['es2024', 'esnext.disposable'], types: ['@cloudflare/workers-types', 'node'] },
        ...{ module: 'esnext', moduleResolution: 'bundler', strict: true, noEmit: true, skipLibCheck: true },
        ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true },
        moduleDetection: 'force',
        paths: {
          'callmeter/client': [join(installed(), 'index.d.ts')],
          'callmeter/client/*': [join(installed(), '*.d.ts')],
        },
      };
      await writeFile(join(work, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
      expect(await complaint([join(BIN, 'typescript/bin/tsc'), '--project', work], work)).toBe('');
    } finally {
      await rm(work, { recursive: true });
    }
  });
});

describe('as a document says', () => {
  const BUILD_LINE = 'npm run build:client';
  let server: LocalServer;
  let vendor: TrialVendor;
  /** The repository as a clone, with the secrets of the server in it. */
  let clone: string;
  /** OpenAI's SDK as npm gets it from the registry. */
  let openai: string;
  beforeAll(async () => {
    const [state, started] = await Promise.all([preparedState(), startTrialVendor({ port: 0 })]);
    vendor = started;
    server = await startPrepared(state);
    const { OPERATOR_TOKEN = '' } = await readDevVars(state.devVars);
    await ensureDemoVendors(server.url, OPERATOR_TOKEN, vendor.url);
    clone = join(folder, 'documents', 'callmeter');
    await mkdir(clone, { recursive: true });
    const names = (await readdir(PROJECT_DIR)).filter((name) => name !== '.dev.vars' && name !== 'dist');
    await Promise.all([...names, 'dist'].map((name) => symlink(join(PROJECT_DIR, name), join(clone, name))));
    await symlink(state.devVars, join(clone, '.dev.vars'));
    const packed = await run('npm', ['pack', join(BIN, 'openai'), '--pack-destination', folder, '--silent']);
    openai = join(folder, packed.stdout.trim());
    // Once, as the first line of each document.
    await runLines(BUILD_LINE, clone);
  });
  afterAll(async () => {
    await server?.stop();
    await vendor?.stop();
  });

  test.each(['README.md', 'docs/client.md', PACKAGE_README])(
    '%s installs it in an empty project, and the first program compiles strictly and runs',
    async (path) => {
      const { blocks } = DOCUMENTS.find((document) => document.path === path) as Document;
      const text = (kind: string, part: string) =>
        blocks.find((block) => [block.language, ...block.words].join(' ') === kind && block.text.includes(part))
          ?.text ?? `no ${kind} block has ${part}`;
      const localized = (shown: string) =>
        shown.replaceAll('http://127.0.0.1:8787', server.url).replaceAll('http://127.0.0.1:8788', vendor.url);
      const beside = join(folder, 'documents', 'my-app');
      await rm(beside, { recursive: true, force: true });
      const [build, ...install] = text('sh unrun', BUILD_LINE).split('\n');
      expect(build).toBe(BUILD_LINE);
      await runLines(install.join('\n').replace(/ openai$/, ` openai@file:${openai}`), clone);

      const runs = text('sh unrun', 'node ../my-app/');
      const [, file = ''] = /node \.\.\/my-app\/(\w+)\.mjs/.exec(runs) ?? [];
      const program = localized(text('ts', 'createClient('));
      await writeFile(join(beside, `${file}.mjs`), program);
      await writeFile(join(beside, `${file}.mts`), program);
      const compilerOptions = {
        ...{ target: 'es2022', module: 'nodenext', strict: true, noEmit: true, skipLibCheck: true },
        ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true },
        types: [join(BIN, '@types/node')],
      };
      await writeFile(join(beside, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [`${file}.mts`] }));
      expect(await complaint([join(BIN, 'typescript/bin/tsc'), '--project', beside], beside)).toBe('');
      expect(await runLines(localized(runs), clone)).toMatch(/./);
    },
  );
});

/** A registry on loopback that takes whatever it is sent. */
async function startRegistry(): Promise<{ url: string; asked: string[]; stop(): void }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    request.resume().once('end', () => response.writeHead(request.method === 'PUT' ? 201 : 404).end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { url, asked, stop: () => server.close() };
}

test('the workflow that releases it stores no token, and runs scripts that exist', async () => {
  const workflow = await readFile(join(PROJECT_DIR, '.github/workflows/release-client.yml'), 'utf8');
  const { scripts } = JSON.parse(await readFile(join(PROJECT_DIR, 'package.json'), 'utf8'));
  const named = [...workflow.matchAll(/npm run (?:-s )?([\w:]+)/g)].map(([, name = '']) => name);
  expect(named).toContain('build:client');
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  expect(workflow).toMatch(/^ {6}id-token: write$/m);
  expect(workflow).toMatch(/^ {6}- run: npm publish \.\/dist\/client --provenance --access public$/m);
  expect(workflow).not.toMatch(/secrets\.|_authToken|NODE_AUTH_TOKEN/);
});

describe('npm publish', () => {
  async function publish(where: string, ...flags: string[]): Promise<{ said: string; asked: string[] }> {
    const registry = await startRegistry();
    const access = ['--registry', registry.url, `${registry.url.replace(/^http:/, '')}:_authToken=any`];
    const args = ['publish', where, ...access.slice(0, 2), `--${access[2]}`, ...flags, '--loglevel=error'];
    try {
      const said = await run('npm', args, { cwd: PROJECT_DIR }).then(
        () => '',
        ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr || 'failed',
      );
      return { said, asked: registry.asked.filter((request) => request.startsWith('PUT')) };
    } finally {
      registry.stop();
    }
  }

  test.each([
    ['the repository', '.', [], /The service is deployed, not published/],
    ['the repository, as a dry run', '.', ['--dry-run'], /The service is deployed, not published/],
    ['the repository, without its scripts', '.', ['--ignore-scripts'], /EPRIVATE/],
    ["the package's documents among the sources", './src/client/package', [], /Could not read package\.json/],
  ])('of %s is refused', async (_what, where, flags, why) => {
    const { said, asked } = await publish(where, ...flags);
    expect(said).toMatch(why);
    expect(asked).toEqual([]);
  });

  test('of the built package sends it', async () => {
    expect(await publish(join(folder, 'built'))).toEqual({ said: '', asked: ['PUT /@callmeter%2fcallmeter'] });
  });

  test('npm pack of the repository takes nothing of it', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: PROJECT_DIR });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    expect(files.map(({ path }) => path).toSorted()).toEqual(['LICENSE', 'README.md', 'package.json']);
  });
});

describe('installed in an empty project', () => {
  beforeAll(async () => {
    await writeFile(join(project, 'main.ts'), PROGRAM);
  });

  test.each([
    ['nodenext', 'nodenext', {}],
    ['a bundler', 'preserve', { moduleResolution: 'bundler' }],
    [
      'Workers, without the types of a browser',
      'nodenext',
      { lib: ['es2022'], types: [join(BIN, '@cloudflare/workers-types')] },
    ],
    ['Node, without the types of a browser', 'nodenext', { lib: ['es2022'], types: [join(BIN, '@types/node')] }],
  ])('it compiles with every strictness for %s', async (_what, module, more) => {
    const compilerOptions = {
      target: 'es2022',
      module,
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noPropertyAccessFromIndexSignature: true,
      verbatimModuleSyntax: true,
      isolatedModules: true,
      skipLibCheck: false,
      types: [],
      outDir: 'out',
      ...more,
    };
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }));
    expect(await complaint([join(BIN, 'typescript/bin/tsc'), '--project', project], project)).toBe('');
  });

  test('runs', async () => {
    const { stdout } = await run(process.execPath, ['out/main.js'], { cwd: project });
    expect(stdout).toBe('SERVICE_NETWORK_ERROR true\n');
  });

  test.each([
    ["import { createClient } from 'callmeter/client'; console.log(createClient);", GZIP_BYTES_MAX],
    ["import { wrapOpenAI } from 'callmeter/client/vendors'; console.log(wrapOpenAI);", VENDORS_GZIP_BYTES_MAX],
    ["import { createSampler } from 'callmeter/client/sampling'; console.log(createSampler);", 2 * 1024],
    ["import { callPerRequest } from 'callmeter/client/hono'; console.log(callPerRequest);", 2 * 1024],
    ["import { callPerRequest } from 'callmeter/client/express'; console.log(callPerRequest);", 2 * 1024],
    // Most of it is the library for TOON.
    ["import { compressPrompt } from 'callmeter/client/compression'; console.log(compressPrompt);", 20 * 1024],
  ])('its bundle is small: %s', async (contents, bytesMax) => {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: project },
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'neutral',
      write: false,
    });
    const bytes = gzipSync(outputFiles[0]?.contents ?? '').byteLength;
    expect(bytes).toBeLessThan(bytesMax);
  });
});
