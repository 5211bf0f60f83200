/**
 * `npm run build:client`: the client library as a package has it, ES modules with types, in `dist/client`.
 *
 * One bundle an entry, with shared parts in chunks; declarations as the compiler writes them, but for the types of what
 * travels, which `client-types.ts` writes out. What would need another package or leave the folder ends the build.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { build } from 'esbuild';
import { clientTypes } from './client-types.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SOURCE = join(ROOT, 'src', 'client');
/** The entries that package.json exports. */
const ENTRIES = ['index', 'vendors', 'hono', 'express', 'sampling', 'compression'];

const HELP = `npm run build:client [-- --out dist/client]

Builds the client library: ES modules and their types.`;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { out: { type: 'string' }, help: { type: 'boolean', short: 'h' } } });
  if (values.help) return console.log(HELP);
  const out = values.out ?? join(ROOT, 'dist', 'client');
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await Promise.all([buildModules(out), buildTypes(out)]);
}

async function buildModules(out: string): Promise<void> {
  const { metafile } = await build({
    entryPoints: ENTRIES.map((entry) => join(SOURCE, `${entry}.ts`)),
    chunkNames: 'chunks/[name]-[hash]',
    outdir: out,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    metafile: true,
    logLevel: 'warning',
  });
  const foreign = Object.values(metafile.outputs).flatMap(({ imports }) => imports.filter(({ external }) => external));
  if (foreign.length > 0)
    throw new Error(`the client must need no package, but imports ${foreign.map(({ path }) => path).join(', ')}`);
}

async function buildTypes(out: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'callmeter-types-'));
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: join(ROOT, 'src'),
      outDir: join(work, 'types'),
      types: ['@cloudflare/workers-types', '@types/node'].map((types) => join(ROOT, 'node_modules', types)),
    },
    files: ENTRIES.map((entry) => join(SOURCE, `${entry}.ts`)),
    include: [],
  };
  try {
    await writeFile(join(work, 'tsconfig.json'), JSON.stringify(config));
    await promisify(execFile)(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '--project', work]);
    await writeDeclarations(join(work, 'types', 'client'), out);
  } finally {
    await rm(work, { recursive: true });
  }
}

/** Those that an entry's own lead to. */
async function writeDeclarations(emitted: string, out: string): Promise<void> {
  const names = ENTRIES.map((entry) => `${entry}.d.ts`);
  for (const name of names) {
    const written = name === 'wire.d.ts' ? clientTypes() : await readFile(join(emitted, name), 'utf8');
    const imports = written.matchAll(
      /^(?:import|export)\b[^;]*?\bfrom ['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm,
    );
    for (const [, from, call] of imports) {
      const specifier = from ?? call ?? '';
      const path = posix.join(posix.dirname(name), specifier.replace(/\.ts$/, '.d.ts'));
      if (!specifier.startsWith('.') || path.startsWith('..')) {
        throw new Error(`the types of the client must need nothing else, but ${name} imports ${specifier}`);
      }
      if (!names.includes(path)) names.push(path);
    }
    const file = join(out, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, written.replace(/(['"]\.{1,2}\/[^'"]+)\.ts(['"])/g, '$1.js$2'));
  }
}

main().catch((error: Error & { stdout?: string; code?: string }) => {
  console.error(`The client was not built: ${error.stdout || error.message}`);
  process.exitCode = error.code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1;
});
