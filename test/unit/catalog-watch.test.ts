/**
 * Facts about models in the newest packages of the registry that the catalog lacks are found on the day on which they
 * appear.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { type CatalogNews, catalogNews, type SourceFacts } from '../../src/catalog/news.ts';
import { PROJECT_DIR } from '../../src/cli/server.ts';
import {
  beforeTheNotice,
  type CutPackage,
  catalogWith,
  OPUS,
  PACKAGES,
  saidBy,
} from '../support/packages-of-release.ts';
import { type Loopback, serveOnLoopback } from '../vendors/loopback.ts';

const run = promisify(execFile);

const SDK = '@anthropic-ai/sdk 1.13.0 of 2026-11-23';

async function factsOf(name: string, { version, date, files }: CutPackage): Promise<SourceFacts[]> {
  const source = `${name} ${version} of ${date}`;
  return (await saidBy(name, files)).map((said) => ({ ids: [], ends: {}, prices: {}, ...said, source, date }));
}

let facts: SourceFacts[];
beforeAll(async () => {
  facts = (await Promise.all([...PACKAGES].map(([name, cut]) => factsOf(name, cut)))).flat();
});

describe('a notice in a package', () => {
  test('that the catalog lacks is news on its day, with version and date', () => {
    const before = catalogWith(OPUS, beforeTheNotice);
    expect(catalogNews(before, facts).ends).toContainEqual({
      modelKey: `anthropic/${OPUS}`,
      shutdownAt: '2027-01-22',
      ours: null,
      reportedBy: [SDK],
    });
  });

  test('of another day than the catalog has is news', () => {
    const moved = catalogWith(OPUS, (model) => ({
      ...model,
      lifecycle: { ...model.lifecycle, shutdownAt: '2027-02-22' },
    }));
    expect(catalogNews(moved, facts).ends).toMatchObject([{ shutdownAt: '2027-01-22', ours: '2027-02-22' }]);
  });

  test('that the catalog has is none', () => {
    expect(catalogNews(BUILT_IN_CATALOG, facts).ends).toEqual([]);
  });
});

test('a model that the catalog lacks is news, with the key that is most like it', () => {
  const without = {
    ...BUILT_IN_CATALOG,
    models: BUILT_IN_CATALOG.models.filter(({ model }) => model !== 'gemini-4-hydrogen'),
  };
  const missing = catalogNews(without, facts).missing.find(({ modelKey }) => modelKey === 'google/gemini-4-hydrogen');
  expect(missing?.reportedBy).toEqual(['@google/genai 3.3.0 of 2026-11-12']);
});

test('a rate that differs is news, and one that two packages say alike is one item', () => {
  const dearer = catalogWith('claude-fable-5-2', (model) => {
    if (model.pricing) model.pricing.outputUsdPerMillion = 50;
    return model;
  });
  const again = facts.map((each) => ({ ...each, source: 'another of 2026-11-12', date: '2026-11-12' }));
  expect(catalogNews(dearer, [...facts, ...again]).prices).toContainEqual({
    modelKey: 'anthropic/claude-fable-5-2',
    rate: 'output',
    usdPerMillion: 40,
    ours: 50,
    reportedBy: ['another of 2026-11-12', '@earendil-works/pi-ai 1.5.2 of 2026-11-10'],
  });
});

test('a package that says it in another form is an error, not silence', async () => {
  for (const [name, { version, date, files }] of PACKAGES) {
    const emptied = Object.fromEntries(Object.keys(files).map((path) => [path, 'export {};']));
    await expect(factsOf(name, { version, date, files: emptied })).rejects.toThrow();
    await expect(factsOf(name, { version, date, files: {} })).rejects.toThrow('it has no');
  }
});

describe('npm run catalog -- watch', () => {
  let folder: string;
  let registry: Loopback;
  const broken = new Set<string>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'callmeter-registry-'));
    const tarballs = new Map<string, Buffer>();
    for (const [name, { version, files }] of PACKAGES) {
      const root = join(folder, name.replace('/', '-'));
      for (const [path, text] of Object.entries({ ...files, 'package.json': JSON.stringify({ name, version }) })) {
        await mkdir(dirname(join(root, 'package', path)), { recursive: true });
        await writeFile(join(root, 'package', path), text);
      }
      await run('tar', ['-czf', `${root}.tgz`, '-C', root, 'package']);
      tarballs.set(name, await readFile(`${root}.tgz`));
    }
    registry = await serveOnLoopback((request, response) => {
      const [, name = '', tarball] = /^\/(.+?)(\/-\/package\.tgz)?$/.exec(decodeURIComponent(request.url ?? '')) ?? [];
      const [cut, file] = [PACKAGES.get(name), tarballs.get(name)];
      if (!cut || !file || broken.has(name)) return response.writeHead(404).end('{}');
      if (tarball) return response.end(file);
      const { version, date } = cut;
      const integrity = `sha512-${createHash('sha512').update(file).digest('base64')}`;
      const dist = { tarball: `${registry.url}/${name}/-/package.tgz`, integrity };
      return response.setHeader('content-type', 'application/json').end(
        JSON.stringify({
          name,
          'dist-tags': { latest: version },
          // The newest version asks for a Node that nobody has, as the real ones do of older ones.
          versions: { [version]: { name, version, dist, engines: { node: '>=99' } } },
          time: { [version]: `${date}T12:00:00.000Z` },
        }),
      );
    });
  });
  afterAll(async () => {
    await registry.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function watch(): Promise<{ code: number; said: CatalogNews & { failed: { package: string }[] } }> {
    const env = { ...process.env, npm_config_registry: `${registry.url}/`, npm_config_cache: join(folder, 'cache') };
    const args = [join(PROJECT_DIR, 'src/cli/catalog.ts'), 'watch', '--json'];
    const { code, stdout } = await run(process.execPath, args, { cwd: PROJECT_DIR, env }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      (error: { code: number; stdout: string }) => error,
    );
    return { code, said: JSON.parse(stdout) };
  }

  test('reads the newest version of each package from the configured registry', async () => {
    const { code, said } = await watch();
    expect([code, said.failed]).toEqual([0, []]);
    expect(said).toEqual({ ...catalogNews(BUILT_IN_CATALOG, facts), failed: [] });
  });

  test('fails, and says what it could not read, if the registry lacks a package', async () => {
    broken.add('openai');
    const { code, said } = await watch();
    broken.clear();
    expect([code, said.failed.map((one) => one.package)]).toEqual([1, ['openai']]);
  });
});
