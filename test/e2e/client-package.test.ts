/**
 * The client library as a package: what `npm pack` gives has sound entry points, complete types and no dependency, and
 * stays small.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PROJECT_DIR } from '../../src/cli/server.ts';

const GZIP_BYTES_MAX = 12 * 1024;

const run = promisify(execFile);
const BIN = join(PROJECT_DIR, 'node_modules');

let folder: string;
let tarball: string;
/** A project that has the package installed, and nothing else. */
let project: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'callmeter-package-'));
  await run('npm', ['pack', '--pack-destination', folder], { cwd: PROJECT_DIR });
  tarball = join(folder, (await readdir(folder))[0] ?? '');
  project = join(folder, 'project');
  const installed = join(project, 'node_modules', 'callmeter');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
}, 120_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

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
    expect(files).toEqual(expect.arrayContaining(['package/dist/client/index.js', 'package/dist/client/index.d.ts']));
    expect(files.filter((file) => !/^package\/(dist\/client\/|package\.json$|README\.md$|LICENSE$)/.test(file))).toEqual([]);
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
import { type CallOutcome, CallmeterError, createClient, isCallmeterError } from 'callmeter/client';

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

// @ts-expect-error A customer is required.
export const noCustomer = () => createClient({ baseUrl: '' }).beginCall({});
// @ts-expect-error A misspelt member is not taken.
export const misspelt = () => createClient({ baseUrl: '' }).beginCall({ customerId: 'a', reqested: {} });
`;

describe('in an empty project', () => {
  beforeAll(async () => {
    await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
    await writeFile(join(project, 'main.ts'), PROGRAM);
  });

  test.each([
    ['nodenext', 'nodenext', {}],
    ['a bundler', 'preserve', { moduleResolution: 'bundler' }],
    ['Workers, without the types of a browser', 'nodenext', { lib: ['es2022'], types: [join(BIN, '@cloudflare/workers-types')] }],
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

  test('it runs', async () => {
    const { stdout } = await run(process.execPath, ['out/main.js'], { cwd: project });
    expect(stdout).toBe('SERVICE_NETWORK_ERROR true\n');
  });

  test('its bundle is small', async () => {
    const contents = "import { createClient } from 'callmeter/client'; console.log(createClient);";
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: project },
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'neutral',
      write: false,
    });
    expect(gzipSync(outputFiles[0]?.contents ?? '').byteLength).toBeLessThan(GZIP_BYTES_MAX);
  });
});
