/**
 * The arrows between the rooms of the house run one way, and the rules in `domain` know no clock and no chance.
 *
 * To open a new room under `src`, add it to ROOMS with the rooms that it may import.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importsOf, ROOT } from '../support/imports.ts';

/**
 * What each room may import; `types:` allows `import type` alone, a file's path that file alone. Every room may import
 * itself.
 */
const ROOMS: Record<string, string[]> = {
  // The lengths of time, and nothing else of the platform.
  domain: ['src/platform/time.ts'],
  // The names of tiers, meters and capabilities stand in the domain alone.
  contract: ['domain'],
  platform: ['package.json'],
  // Billing and compression stand by themselves; vendors' usage code runs in any runtime.
  billing: ['contract', 'domain', 'platform'],
  compression: [],
  vendors: ['domain', 'platform'],
  catalog: ['domain', 'platform', 'contract'],
  // What a request can make its vendor bill.
  demand: ['vendors', 'catalog', 'contract', 'domain', 'platform'],
  // What the Worker knows of objects.
  objects: ['types:catalog', 'contract', 'domain', 'platform'],
  // Storage keeps catalogs, and falls back to the built-in one.
  storage: ['objects', 'contract', 'domain', 'platform', 'catalog', 'env'],
  // Closed days of history.
  archive: ['objects', 'storage', 'contract', 'domain', 'platform', 'env'],
  // Events on their way to the endpoints of organizations.
  webhooks: ['vendors', 'objects', 'storage', 'contract', 'domain', 'platform', 'env'],
  metering: [
    'archive',
    'demand',
    'vendors',
    'compression',
    'catalog',
    'objects',
    'storage',
    'contract',
    'domain',
    'platform',
    'env',
  ],
  readings: ['metering', 'objects', 'storage', 'contract', 'domain', 'platform', 'env'],
  // Models in use that end: the catalog joined with recorded usage.
  radar: ['metering', 'catalog', 'storage', 'contract', 'domain', 'platform', 'env'],
  // The list of customers: rows of D1, narrowed by what radar and readings say.
  'customer-list': ['radar', 'readings', 'metering', 'storage', 'contract', 'domain', 'platform', 'env'],
  // What no single customer's transaction finds, for the object that tells organizations of it.
  watch: [
    'webhooks',
    'radar',
    'readings',
    'metering',
    'catalog',
    'objects',
    'storage',
    'contract',
    'domain',
    'platform',
    'env',
  ],
  operator: [
    'archive',
    'customer-list',
    'radar',
    'readings',
    'metering',
    'webhooks',
    'catalog',
    'objects',
    'storage',
    'contract',
    'domain',
    'platform',
    'env',
  ],
  lookup: ['catalog', 'storage', 'contract', 'domain', 'platform', 'env'],
  // A session token is a door: what it names are ids.
  middleware: ['operator', 'metering', 'contract', 'src/domain/ids.ts', 'platform', 'env'],
  gateway: ['metering', 'demand', 'vendors', 'catalog', 'objects', 'storage', 'contract', 'domain', 'platform', 'env'],
  routes: [
    'middleware',
    'customer-list',
    'metering',
    'readings',
    'radar',
    'gateway',
    'operator',
    'lookup',
    'pages',
    'contract',
    'platform',
  ],
  // Furniture of all pages.
  ui: ['contract', 'domain', 'platform'],
  console: [
    'ui',
    'customer-list',
    'operator',
    'metering',
    'readings',
    'radar',
    'catalog',
    'contract',
    'domain',
    'platform',
    'middleware',
    'env',
  ],
  // The samples of the API reference use the client's methods by name.
  pages: ['ui', 'console', 'lookup', 'metering', 'readings', 'contract', 'domain', 'platform', 'src/client/methods.ts'],
  // Runs on a developer's machine alone: history is told to the real objects with a given clock.
  demo: [
    'archive',
    'durable-objects',
    'objects',
    'storage',
    'catalog',
    'contract',
    'domain',
    'platform',
    'readings',
    'env',
  ],
  // The rules of sampling are the service's own.
  client: ['vendors', 'compression', 'domain', 'src/platform/json.ts', 'src/platform/version.ts', 'types:contract'],
  // It makes the files that pages load.
  cli: [
    'catalog',
    'contract',
    'domain',
    'platform',
    'vendors',
    'pages',
    'src/client/package/manifest.json',
    'src/console/script.ts',
    'src/ui/font.ts',
  ],
  // The classes of the objects. Nobody but index.ts and the demo imports them.
  'durable-objects': [
    'domain',
    'contract',
    'platform',
    'billing',
    'compression',
    'catalog',
    'objects',
    'readings',
    'storage',
    'gateway',
    'operator',
    'watch',
    'webhooks',
    'env',
  ],
  // The files that stand in src itself.
  env: ['types:objects'],
  app: ['routes', 'console', 'middleware', 'contract'],
  index: ['app', 'archive', 'routes', 'operator', 'catalog', 'storage', 'platform', 'env', 'durable-objects'],
};

/**
 * `src/storage/calls.ts` is in `storage`, `src/env.ts` in `env`, `durable-objects/customer.ts` in `durable-objects`.
 */
function roomOf(file: string): string {
  return (
    file
      .replace(/^src\//, '')
      .split('/')[0]
      ?.replace(/\.ts$/, '') ?? ''
  );
}

function violations(files: Map<string, string>): string[] {
  const found: string[] = [];
  for (const [file, source] of files) {
    const room = roomOf(file);
    for (const { path, typeOnly } of importsOf(source)) {
      const target = posix.join(dirname(file), path);
      const to = roomOf(target);
      const allowed = [room, ...(ROOMS[room] ?? [])];
      const isAllowed =
        allowed.includes(to) || allowed.includes(target) || (typeOnly && allowed.includes(`types:${to}`));
      if (!isAllowed) found.push(`${file} imports ${target}`);
    }
  }
  return found;
}

/** What each file imports, of types too. */
function targetsOf(files: Map<string, string>): Map<string, string[]> {
  return new Map(
    [...files].map(([file, source]) => [file, importsOf(source).map(({ path }) => posix.join(dirname(file), path))]),
  );
}

/** What each room imports of other rooms. */
function roomsOf(files: Map<string, string>): Map<string, string[]> {
  const targets = new Map<string, string[]>();
  for (const [file, imported] of targetsOf(files)) {
    const others = imported.map(roomOf).filter((room) => room !== roomOf(file));
    targets.set(roomOf(file), [...(targets.get(roomOf(file)) ?? []), ...others]);
  }
  return targets;
}

/** Groups of files, or of rooms, that reach each other. */
function circles(targets: Map<string, string[]>): string[][] {
  const reachable = (from: string): Set<string> => {
    const seen = new Set<string>();
    const open = [...(targets.get(from) ?? [])];
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      if (seen.has(file)) continue;
      seen.add(file);
      open.push(...(targets.get(file) ?? []));
    }
    return seen;
  };
  const reached = new Map([...targets.keys()].map((file) => [file, reachable(file)]));
  const groups = [...targets.keys()]
    .filter((file) => reached.get(file)?.has(file))
    .map((file) =>
      [...targets.keys()].filter((other) => reached.get(file)?.has(other) && reached.get(other)?.has(file)),
    );
  return [...new Map(groups.map((group) => [group.join(), group])).values()];
}

function readHouse(): Map<string, string> {
  const files = ['src', 'durable-objects'].flatMap((top) =>
    readdirSync(join(ROOT, top), { recursive: true, encoding: 'utf8' }).map((name) =>
      posix.join(top, name.replaceAll('\\', '/')),
    ),
  );
  return new Map(
    files.filter((file) => /\.tsx?$/.test(file)).map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]),
  );
}

const house = readHouse();

test('every folder has its arrows', () => {
  for (const room of new Set([...house.keys()].map(roomOf))) {
    expect(
      Object.keys(ROOMS),
      `"${room}" is a new room: add it to ROOMS in this file, with the rooms that it may import`,
    ).toContain(room);
  }
});

test('every import follows the arrows', () => {
  expect(violations(house)).toEqual([]);
});

test('no files import each other in a circle', () => {
  expect(circles(targetsOf(house))).toEqual([]);
});

test('no rooms import each other in a circle', () => {
  expect(circles(roomsOf(house))).toEqual([]);
});

test('nobody but the entry point and the demo imports the classes of the objects', () => {
  const importers = [...house].filter(
    ([file, source]) =>
      !['durable-objects', 'index', 'demo'].includes(roomOf(file)) &&
      importsOf(source).some(({ path }) => path.includes('/durable-objects/')),
  );
  expect(importers.map(([file]) => file)).toEqual([]);
});

test('nobody imports the command line', () => {
  const importers = [...house].filter(
    ([file, source]) => roomOf(file) !== 'cli' && importsOf(source).some(({ path }) => /(^|\/)cli\//.test(path)),
  );
  expect(importers.map(([file]) => file)).toEqual([]);
});

test('every relative import names its file with its ending, so that none is overlooked', () => {
  for (const [file, source] of house) {
    for (const { path } of importsOf(source)) expect(path, file).toMatch(/\.(ts|tsx|json|sql|html|css)$/);
  }
});

test('the house is read as a whole', () => {
  const edges = [...house.values()].flatMap(importsOf);
  // Each line that names a relative file is one import.
  const named = [...house.values()].flatMap((source) => source.match(/(?:from|import)\s*\(?\s*['"]\.{1,2}\//g) ?? []);
  expect(edges.length).toBe(named.length);
  expect(edges.length).toBeGreaterThan(100);
});

describe('storage', () => {
  const outside = [...house].filter(([file]) => roomOf(file) !== 'storage');
  const FORBIDDEN = /['"]drizzle-orm|\.DB\b|\bD1Database\b/;
  /** The local server binds the database that it starts, and migrates it. */
  const LOCAL_TOOLS = ['src/env.ts', 'src/cli/server.ts'];

  test('has all SQL of D1: no other file knows drizzle or the binding', () => {
    const found = outside.filter(([, source]) => FORBIDDEN.test(source)).map(([file]) => file);
    expect(found.sort()).toEqual([...LOCAL_TOOLS].sort());
  });

  test('reaches the binding in one file', () => {
    const reaching = [...house].filter(([, source]) => /\benv\.DB\b/.test(source)).map(([file]) => file);
    expect(reaching).toEqual(['src/storage/database.ts']);
  });

  test.each([
    "import { eq } from 'drizzle-orm';",
    "import type { SQL } from 'drizzle-orm/sqlite-core';",
    'await this.env.DB.prepare(sql)',
    'const { results } = await context.env.DB.batch(statements);',
    'function read(db: D1Database) {',
  ])('would notice %s', (source) => {
    expect(FORBIDDEN.test(source)).toBe(true);
  });
});

describe('what modules remember', () => {
  /** The client is a library of its own, commands end with their process, and a page's script has the page. */
  const WITHOUT_ISOLATE = ['client', 'cli', 'demo', 'pages'];
  /** State of a module that is no memory: a `let`, or a cache that `remember` did not make. */
  const STATE = /^(?:export )?(?:let |const \w+(?::[^=]+)? = new (?:BoundedMap|ConfigCache)\b)/m;
  /** Rendered once and always the same; `contract` knows nothing of the platform. */
  const CONSTANT = ['src/contract/openapi/document.ts'];

  test('is made by `remember`, so that `forgetAll` empties all of it', () => {
    const found = [...house].filter(([file, source]) => !WITHOUT_ISOLATE.includes(roomOf(file)) && STATE.test(source));
    expect(found.map(([file]) => file)).toEqual(CONSTANT);
    expect([...house.values()].filter((source) => /^const \w+ = remember\W/m.test(source)).length).toBeGreaterThan(10);
  });

  test.each(['let known: Keys | null = null;', 'const hashes = new BoundedMap<string, string>(9);'])(
    'would notice %s',
    (source) => {
      expect(STATE.test(`${source}\n`)).toBe(true);
    },
  );
});

describe('domain', () => {
  const rules = [...house].filter(([file]) => file.startsWith('src/domain/'));

  test.each([
    ['no clock', /\bDate\.now\(|\bnew Date\(\s*\)|\bperformance\.now\(/],
    ['no chance', /\bMath\.random\b|\brandomUUID\b|\bgetRandomValues\b/],
    ['no waiting and no network', /\bfetch\(|\bsetTimeout\(|\bawait\b/],
    ['nothing outside the repository', /\b(?:from|import)\s*\(?\s*['"](?!\.{1,2}\/)/],
  ])('knows %s', (_of, forbidden) => {
    expect(rules.length).toBeGreaterThan(5);
    expect(rules.filter(([, source]) => forbidden.test(source)).map(([file]) => file)).toEqual([]);
  });
});

describe('this test notices', () => {
  const found = (file: string, source: string) => violations(new Map([[file, source]]));

  test.each([
    ['src/domain/a.ts', "import { z } from '../contract/b.ts';"],
    ['src/domain/a.ts', "import type { Z } from '../contract/b.ts';"],
    ['src/domain/a.ts', "import {\n  type Y,\n  z,\n} from '../platform/b.ts';"],
    ['src/contract/a.ts', "export { z } from '../storage/b.ts';"],
    ['src/contract/a.ts', "export * from '../storage/b.ts';"],
    ['src/contract/a.ts', "import '../storage/b.ts';"],
    ['src/routes/a.ts', "const { z } = await import('../storage/b.ts');"],
    ['src/routes/a.ts', "import z, { y } from '../domain/b.ts';"],
    ['src/storage/a.ts', "import { z } from '../metering/b.ts';"],
    ['src/storage/a.ts', "import { type Z } from '../../durable-objects/customer/b.ts';"],
    ['src/storage/a.ts', "import type { Z } from '../../durable-objects/customer/b.ts';"],
    ['src/client/a.ts', "import { z } from '../contract/b.ts';"],
    ['src/metering/a.ts', "import { z } from '../cli/b.ts';"],
    ['src/catalog/a.ts', "import * as z from '../storage/b.ts';"],
    ['src/nowhere/a.ts', "import { z } from '../domain/b.ts';"],
    ['durable-objects/a.ts', "import { z } from '../src/routes/b.ts';"],
    ['durable-objects/customer/a.ts', "import type { Z } from '../../src/metering/b.ts';"],
  ])('%s: %j', (file, source) => {
    expect(found(file, source)).toHaveLength(1);
  });

  test.each([
    ['src/storage/a.ts', "import type { Z } from '../catalog/b.ts';"],
    ['src/client/a.ts', "import type { Z } from '../contract/b.ts';"],
    ['src/platform/a.ts', "import z from '../../package.json' with { type: 'json' };"],
    ['src/domain/a.ts', "import { z } from './b.ts';"],
    ['durable-objects/customer/a.ts', "import { z } from '../../src/domain/b.ts';"],
    ['durable-objects/customer/a.ts', "import { z } from '../b.ts';"],
  ])('and accepts %s: %j', (file, source) => {
    expect(found(file, source)).toEqual([]);
  });

  test('a circle of two files, and of one with itself', () => {
    const files = new Map([
      ['src/domain/a.ts', "import type { B } from './b.ts';"],
      ['src/domain/b.ts', "import { a } from './a.ts';"],
      ['src/domain/c.ts', "import { a } from './a.ts';\nimport './c.ts';"],
    ]);
    expect(circles(targetsOf(files))).toEqual([['src/domain/a.ts', 'src/domain/b.ts'], ['src/domain/c.ts']]);
  });

  test('a circle of two rooms whose files are in none', () => {
    const files = new Map([
      ['src/objects/a.ts', "import type { B } from '../storage/b.ts';"],
      ['src/storage/c.ts', "import { d } from '../objects/d.ts';"],
    ]);
    expect(circles(targetsOf(files))).toEqual([]);
    expect(circles(roomsOf(files))).toEqual([['objects', 'storage']]);
  });
});
