/**
 * `npm run build:client`: builds the client library as a package, packs it, and prints the lines that install it.
 *
 * The package takes its manifest, which lists the entry points, its README and its changelog from
 * `src/client/package/`. `docs/client.md` becomes its GUIDE.md, and its version is the root's. Each entry point is one
 * ES module, with shared code in chunks. Declarations come from the compiler, except the types of requests and
 * responses, which `client-types.ts` writes. An import of another package or of a file outside the folder fails the
 * build, and so does one of Node's own modules, except in `testing`.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { build, type Plugin } from 'esbuild';
import manifest from '../client/package/manifest.json' with { type: 'json' };
import { SERVICE_VERSION } from '../platform/version.ts';
import { clientTypes } from './client-types.ts';
import { isUsageError } from './usage-error.ts';

const run = promisify(execFile);

const ROOT = join(import.meta.dirname, '..', '..');
const SOURCE = join(ROOT, 'src', 'client');
/** The package's other files, and their sources. */
const DOCUMENTS = {
  'README.md': join(SOURCE, 'package', 'README.md'),
  'CHANGELOG.md': join(SOURCE, 'package', 'CHANGELOG.md'),
  'GUIDE.md': join(ROOT, 'docs', 'client.md'),
  LICENSE: join(ROOT, 'LICENSE'),
};
/** A repository as a browser shows it, such as https://host/owner/name. */
const REPOSITORY = /^https:\/\/[\w.-]+(\/[\w.-]+)+(?<!\.git|\/)$/;
const ENTRIES = Object.values(manifest.exports).flatMap((entry) =>
  typeof entry === 'string' ? [] : [posix.basename(entry.default, '.js')],
);

const HELP = `npm run build:client [-- --out dist/client] [--repository https://...]

Builds the client library as a package: ES modules, their types, package.json, README, guide, changelog and license.
Packs it into an archive beside the folder, and prints the two lines that install it in an application's folder.
"npm publish ./dist/client --access public" publishes it.

  --out FOLDER         folder of the package, which is replaced (dist/client)
  --repository URL     address of the repository, for the manifest's repository, homepage and bugs; none without it`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { out: { type: 'string' }, repository: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) return console.log(HELP);
  const { repository } = values;
  if (repository !== undefined && !REPOSITORY.test(repository))
    throw new Error(`--repository must be like https://host/owner/name, without .git and slash at its end`);
  const out = resolve(values.out ?? join(ROOT, 'dist', 'client'));
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await Promise.all([buildModules(out), buildTypes(out), writeManifest(out, repository), copyDocuments(out)]);
  const archive = await pack(out);
  console.log(`The client library ${SERVICE_VERSION} is built. Install it in the folder of your application by one of these lines:

${installLine(archive)}
${installLine(out)}

The first copies an archive. The second links to the folder, so that the next build is there at once.`);
}

/** Returns the path of the archive. */
async function pack(out: string): Promise<string> {
  const folder = dirname(out);
  const { stdout } = await run('npm', ['pack', out, '--pack-destination', folder, '--ignore-scripts', '--silent']);
  return join(folder, stdout.trim());
}

/** Applications import `callmeter`, whatever the package's own name. */
function installLine(path: string): string {
  const what = `callmeter@file:${path}`;
  return `npm install ${/^[\w@:./+-]+$/.test(what) ? what : `'${what.replaceAll("'", String.raw`'\''`)}'`}`;
}

/** Its name in the repository differs and has no version, so that nobody publishes it from there. */
async function writeManifest(out: string, repository: string | undefined): Promise<void> {
  const { name, description, keywords, ...members } = manifest;
  const addresses = repository && {
    homepage: `${repository}/blob/HEAD/docs/client.md`,
    bugs: `${repository}/issues`,
    repository: { type: 'git', url: `git+${repository}.git`, directory: 'src/client' },
  };
  const published = { name, version: SERVICE_VERSION, description, keywords, ...addresses, ...members };
  await writeFile(join(out, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
}

async function copyDocuments(out: string): Promise<void> {
  await Promise.all(Object.entries(DOCUMENTS).map(([name, path]) => cp(path, join(out, name))));
}

/** Reads only the version of the root's manifest into the client. */
const versionAlone: Plugin = {
  name: 'version-alone',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]package\.json$/ }, () => ({
      contents: JSON.stringify({ version: SERVICE_VERSION }),
      loader: 'json',
    }));
  },
};

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
    plugins: [versionAlone],
    external: ['node:*'],
    metafile: true,
    logLevel: 'warning',
  });
  const foreign = Object.entries(metafile.outputs).flatMap(([path, { imports }]) =>
    imports.filter(({ external, path: imported }) => external && !(isOfNode(path) && imported.startsWith('node:'))),
  );
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
      rootDir: ROOT,
      outDir: join(work, 'types'),
      types: ['@cloudflare/workers-types', '@types/node'].map((types) => join(ROOT, 'node_modules', types)),
    },
    files: ENTRIES.map((entry) => join(SOURCE, `${entry}.ts`)),
    include: [],
  };
  try {
    await writeFile(join(work, 'tsconfig.json'), JSON.stringify(config));
    await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '--project', work]);
    await writeDeclarations(join(work, 'types', 'src', 'client'), out);
  } finally {
    await rm(work, { recursive: true });
  }
}

/** The one entry point that runs only on Node. */
function isOfNode(path: string): boolean {
  return /^testing\.(?:js|d\.ts)$/.test(posix.basename(path));
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

main().catch((error: Error & { stdout?: string }) => {
  console.error(`The client was not built: ${error.stdout || error.message}`);
  process.exitCode = isUsageError(error) ? 2 : 1;
});
