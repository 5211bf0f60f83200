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
import { build, transform } from 'esbuild';
import { CONSOLE_SCRIPT, CONSOLE_SCRIPT_PATH } from '../console/script.ts';
import { FONT_LICENCE_PATH, FONT_PATH } from '../ui/font.ts';
import { exists, hashOf, SERVICE_SOURCES } from './kept-folders.ts';

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

const PICTURE = /\.(?:png|svg)$/;

type Site = typeof import('../site/docs/site.ts');

export async function buildSite(): Promise<void> {
  const sources = await hashOf(SOURCES);
  const made = await readFile(MADE_OF, 'utf8').catch(() => '');
  if (made === sources && (await exists(SITE))) return;
  await makeSite();
  // A source that was changed meanwhile may be in the files with or without its change.
  if (sources === (await hashOf(SOURCES))) await writeFile(MADE_OF, sources);
}

async function makeSite(): Promise<void> {
  const [site, documents, script, pictures, loaded] = await Promise.all([
    loadSite(),
    readDocuments(),
    bundleScript(),
    readPictures(),
    readLoaded(),
  ]);
  const pages = await site.siteFiles({ documents, script });
  const files = [...pages, ...pictures, ...loaded].map(
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

async function bundleScript(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(PAGES, 'browser', 'docs.ts')],
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    write: false,
    logLevel: 'warning',
  });
  return outputFiles[0]?.text ?? '';
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

/** The files that console pages load: their script, and the font with its licence. */
async function readLoaded(): Promise<[string, string | Buffer][]> {
  const [script, font, licence] = await Promise.all([
    transform(CONSOLE_SCRIPT, { minify: true, target: 'es2022' }),
    readFile(join(FONT, 'files', 'inter-latin-wght-normal.woff2')),
    readFile(join(FONT, 'LICENSE')),
  ]);
  return [
    [CONSOLE_SCRIPT_PATH, script.code],
    [FONT_PATH, font],
    [FONT_LICENCE_PATH, licence],
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
