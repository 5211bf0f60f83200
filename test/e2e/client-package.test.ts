/**
 * The client library as a package: `npm pack` produces valid entry points, complete types, no dependency and a small
 * size, and whatever a document or a comment shows of it compiles. Nothing else of the repository can be published.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PROJECT_DIR } from '../../src/cli/server.ts';
import { SERVICE_VERSION } from '../../src/platform/version.ts';
import { COMMENTED_SOURCES, PROGRAMS, programOf } from '../support/documents.ts';

const GZIP_BYTES_MAX = 13 * 1024;
/** With all that reads the usage of every vendor. */
const VENDORS_GZIP_BYTES_MAX = 18 * 1024;
const REPOSITORY = 'https://git.example/owner/callmeter';

const run = promisify(execFile);
const BIN = join(PROJECT_DIR, 'node_modules');

let folder: string;
let tarball: string;
/** A project that has the package installed, and nothing else. */
let project: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'callmeter-package-'));
  const built = join(folder, 'built');
  await run(process.execPath, [
    join(PROJECT_DIR, 'src/cli/build-client.ts'),
    '--out',
    built,
    '--repository',
    REPOSITORY,
  ]);
  const { stdout } = await run('npm', ['pack', '--pack-destination', folder, built]);
  tarball = join(folder, stdout.trim());
  project = join(folder, 'project');
  await mkdir(installed(), { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', installed(), '--strip-components=1']);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const installed = () => join(project, 'node_modules', 'callmeter');

/** What a command says when it fails; empty where it does not. */
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

  test('the ts blocks of each document and comment compile as one program, with the types of the package and of the SDKs', async () => {
    // In the repository, so that packages are found; in a folder that git ignores. Lines are those of the document.
    await mkdir(join(PROJECT_DIR, '.state'), { recursive: true });
    const work = await mkdtemp(join(PROJECT_DIR, '.state/documents-'));
    try {
      const files = shown.map(({ path }) => `${path.replaceAll('/', '-')}.ts`);
      await Promise.all(shown.map((program, index) => writeFile(join(work, files[index] ?? ''), programOf(program))));
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
    expect(await publish(join(folder, 'built'))).toEqual({ said: '', asked: ['PUT /callmeter'] });
  });

  test('npm pack of the repository takes nothing of it', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: PROJECT_DIR });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    expect(files.map(({ path }) => path).toSorted()).toEqual(['LICENSE', 'README.md', 'package.json']);
  });
});

describe('installed in an empty project', () => {
  beforeAll(async () => {
    await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
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
