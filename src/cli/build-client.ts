/**
 * `npm run build:client`: builds the client library as a package for `npm publish ./dist/client`.
 *
 * `src/client/package.json` is its manifest and lists the entry points; `docs/client.md` is its README. Each entry
 * point is one ES module, with shared code in chunks. Declarations come from the compiler, except the types of requests
 * and responses, which `client-types.ts` writes. An import of another package or of a file outside the folder fails the
 * build.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { build } from 'esbuild';
import manifest from '../client/package.json' with { type: 'json' };
import { clientTypes } from './client-types.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SOURCE = join(ROOT, 'src', 'client');
const GUIDE = join(ROOT, 'docs', 'client.md');
const ENTRIES = Object.values(manifest.exports).flatMap((entry) =>
  typeof entry === 'string' ? [] : [posix.basename(entry.default, '.js')],
);

const HELP = `npm run build:client [-- --out dist/client]

Builds the client library as a package: ES modules, their types, package.json, README and license.
"npm publish ./dist/client" publishes it.`;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { out: { type: 'string' }, help: { type: 'boolean', short: 'h' } } });
  if (values.help) return console.log(HELP);
  const out = values.out ?? join(ROOT, 'dist', 'client');
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await Promise.all([buildModules(out), buildTypes(out), copyDocuments(out)]);
}

/** The manifest in src/client is private, so that nobody publishes the sources; the copy is not. */
async function copyDocuments(out: string): Promise<void> {
  const { private: _private, ...published } = manifest;
  await Promise.all([
    writeFile(join(out, 'package.json'), `${JSON.stringify(published, null, 2)}\n`),
    cp(GUIDE, join(out, 'README.md')),
    cp(join(ROOT, 'LICENSE'), join(out, 'LICENSE')),
  ]);
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
    throw new Error(
      `the client must not depend on packages, but imports ${foreign.map(({ path }) => path).join(', ')}`,
    );
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

/** Writes the declarations that the entry points reach. */
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
        throw new Error(`the types of the client must not import other modules, but ${name} imports ${specifier}`);
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
