/**
 * Makes the files that the Worker serves beside its bundle: the API reference (src/site/docs), the console's script and
 * the font. wrangler runs this when it bundles the Worker: by `npm start`, `npm run deploy:check` and a deployment.
 *
 * If the sources are unchanged, nothing is made. Unchanged files are left alone, and others are replaced in one step,
 * because a running server reads them meanwhile.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { contentHash } from '../platform/content-hash.ts';
import { FONT_LICENCE_PATH, FONT_PATH } from '../ui/font.ts';
import { exists, hashFiles, SERVICE_SOURCES } from './kept-folders.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PAGES = join(ROOT, 'src', 'site', 'docs');
const DOCUMENTS = join(ROOT, 'docs');
const FONT = join(ROOT, 'node_modules', '@fontsource-variable', 'inter');
/** The folder in wrangler.toml. */
const SITE = join(ROOT, 'dist', 'site');
/** The folder in which files are written before they take their place. */
const UNFINISHED = join(ROOT, 'dist', 'site-unfinished');

/** The hash of the files' sources. */
const MADE_OF = join(ROOT, 'dist', 'site-made-of');
const SOURCES = { folders: [...SERVICE_SOURCES.folders, 'docs'], files: [...SERVICE_SOURCES.files, 'README.md'] };

/** The entry file of each script, and its path on the site; `HASH` is the hash of its content. */
const SCRIPTS = {
  docs: { entry: 'site/docs/browser/docs.ts', path: '/assets/docs-HASH.js' },
  console: { entry: 'console/browser/console.ts', path: '/assets/console-HASH.js' },
  opening: { entry: 'site/embed/browser/opening.ts', path: '/embed/opening-HASH.js' },
  widget: { entry: 'site/embed/browser/widget.ts', path: '/embed/widget-HASH.js' },
  // Pages of others name it.
  embed: { entry: 'site/embed/browser/embed.ts', path: '/embed.js' },
};
/** The paths of the scripts by their names: what `#scripts` of package.json stands for. */
const SCRIPT_PATHS = join(ROOT, 'dist', 'scripts.json');

const PICTURE = /\.(?:png|svg)$/;

type Site = typeof import('../site/docs/site.ts');

export async function buildSite(): Promise<void> {
  const sources = await hashFiles(SOURCES);
  const made = await readFile(MADE_OF, 'utf8').catch(() => '');
  if (made === sources && (await exists(SITE)) && (await exists(SCRIPT_PATHS))) return;
  await makeSite();
  // A source that was changed meanwhile may be in the files with or without its change.
  if (sources === (await hashFiles(SOURCES))) await writeFile(MADE_OF, sources);
}

async function makeSite(): Promise<void> {
  const scripts = await Promise.all(Object.entries(SCRIPTS).map(bundleScript));
  // The pages import it.
  const paths = Object.fromEntries(scripts.map(({ name, path }) => [name, path]));
  await replaceFile(SCRIPT_PATHS, Buffer.from(JSON.stringify(paths)));
  const [site, documents, pictures, font] = await Promise.all([
    loadSite(),
    readDocuments(),
    readPictures(),
    readFont(),
  ]);
  const pages = await site.siteFiles(documents);
  const files = [...pages, ...pictures, ...font, ...scripts.map(({ path, content }) => [path, content] as const)].map(
    ([path, content]) => [join(SITE, path), Buffer.from(content)] as const,
  );
  await Promise.all(files.map(([path, content]) => replaceFile(path, content)));
  await removeOthers(new Set(files.map(([path]) => path)));
}

/** Node cannot read JSX, so the pages are bundled first. */
async function loadSite(): Promise<Site> {
  const folder = await mkdtemp(join(tmpdir(), 'callmeter-site-'));
  try {
    const outfile = join(folder, 'site.mjs');
    const entry = join(PAGES, 'site.ts');
    await build({ entryPoints: [entry], outfile, bundle: true, format: 'esm', platform: 'node', logLevel: 'warning' });
    return (await import(pathToFileURL(outfile).href)) as Site;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Script {
  name: string;
  path: string;
  content: string;
}

async function bundleScript([name, { entry, path }]: [string, { entry: string; path: string }]): Promise<Script> {
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, 'src', entry)],
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    write: false,
    logLevel: 'warning',
  });
  const content = outputFiles[0]?.text ?? '';
  return { name, path: path.replace('HASH', contentHash(content)), content };
}

/** By their names without an ending. */
async function readDocuments(): Promise<Map<string, string>> {
  const names = (await readdir(DOCUMENTS)).filter((name) => name.endsWith('.md'));
  const paths = [join(ROOT, 'README.md'), ...names.map((name) => join(DOCUMENTS, name))];
  const texts = paths.map(async (path) => [basename(path, '.md'), await readFile(path, 'utf8')] as const);
  return new Map(await Promise.all(texts));
}

/** The documents' pictures, at their paths below `/docs`. */
async function readPictures(): Promise<[string, Buffer][]> {
  const names = await readdir(DOCUMENTS, { recursive: true });
  const pictures = names.filter((name) => PICTURE.test(name));
  return Promise.all(
    pictures.map(
      async (name): Promise<[string, Buffer]> => [
        `/docs/${name.replaceAll('\\', '/')}`,
        await readFile(join(DOCUMENTS, name)),
      ],
    ),
  );
}

/** The font of all pages, with its licence. */
async function readFont(): Promise<[string, Buffer][]> {
  return [
    [FONT_PATH, await readFile(join(FONT, 'files', 'inter-latin-wght-normal.woff2'))],
    [FONT_LICENCE_PATH, await readFile(join(FONT, 'LICENSE'))],
  ];
}

async function replaceFile(path: string, content: Buffer): Promise<void> {
  const known = await readFile(path).catch(() => null);
  if (known?.equals(content)) return;
  await Promise.all([dirname(path), UNFINISHED].map((folder) => mkdir(folder, { recursive: true })));
  const made = join(UNFINISHED, randomUUID());
  await writeFile(made, content);
  await rename(made, path);
}

/** Removes files of an earlier version. */
async function removeOthers(own: ReadonlySet<string>): Promise<void> {
  const entries = await readdir(SITE, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const others = paths.filter((path) => !own.has(path));
  await Promise.all(others.map((path) => rm(path, { force: true })));
}

if (import.meta.main) await buildSite();
