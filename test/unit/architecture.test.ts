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
 * The contents of each room, and its permitted imports: a room, with `types:` for `import type` only, or a file's path
 * for only that file. Every room may import itself.
 */
const ROOMS: Record<string, { holds: string; imports: string[] }> = {
  // Rooms that all others may know.
  domain: { holds: 'the rules, pure', imports: ['src/platform/time.ts'] },
  contract: { holds: 'the wire: schemas, error codes, operations', imports: ['domain'] },
  platform: { holds: 'what the runtime gives', imports: ['package.json'] },
  compression: { holds: 'the prompt compressors, pure', imports: [] },
  vendors: { holds: 'what model vendors ask and answer, in any runtime', imports: ['domain', 'platform'] },
  catalog: { holds: 'the model catalog', imports: ['contract', 'domain', 'platform'] },

  // Storage, and the addresses of objects.
  env: { holds: 'the bindings', imports: ['types:objects'] },
  objects: {
    holds: 'what the Worker knows of objects',
    imports: ['types:catalog', 'contract', 'domain', 'platform'],
  },
  admission: { holds: 'how many calls begin at a time', imports: ['contract', 'domain', 'platform'] },
  config: {
    holds: 'what operators set, and the way to D1',
    imports: ['catalog', 'contract', 'domain', 'platform', 'types:env'],
  },
  history: {
    holds: 'what happened, in D1 and in the archive',
    imports: ['config', 'objects', 'contract', 'domain', 'platform', 'types:env'],
  },

  // Use cases.
  lookup: {
    holds: 'the public model lookup',
    imports: ['config', 'catalog', 'contract', 'domain', 'platform', 'types:env'],
  },
  metering: {
    holds: 'the use cases of applications, and whose credential a request has',
    imports: [
      'admission',
      'config',
      'history',
      'objects',
      'catalog',
      'compression',
      'types:vendors',
      'contract',
      'domain',
      'platform',
      'types:env',
    ],
  },
  gateway: {
    holds: 'every call that the service makes itself',
    imports: [
      'admission',
      'metering',
      'config',
      'history',
      'objects',
      'catalog',
      'vendors',
      'contract',
      'domain',
      'platform',
      'types:env',
    ],
  },
  readings: {
    holds: 'what can be concluded from recorded usage',
    imports: ['metering', 'config', 'history', 'objects', 'catalog', 'contract', 'domain', 'platform', 'types:env'],
  },
  events: {
    holds: 'what an organization is told of, and how it gets there',
    imports: [
      'readings',
      'types:metering',
      'config',
      'history',
      'objects',
      'catalog',
      'vendors',
      'contract',
      'domain',
      'platform',
      'types:env',
    ],
  },
  operator: {
    holds: 'the use cases of operators',
    imports: [
      'admission',
      'events',
      'readings',
      'metering',
      'config',
      'history',
      'objects',
      'catalog',
      'contract',
      'domain',
      'platform',
      'types:env',
    ],
  },

  // The classes of objects. Nobody but the entry point imports them.
  'durable-objects': {
    holds: 'the classes of objects',
    imports: [
      'demo',
      'operator',
      'events',
      'readings',
      'gateway',
      'config',
      'history',
      'objects',
      'catalog',
      'compression',
      'contract',
      'domain',
      'platform',
      'types:env',
    ],
  },

  // Faces.
  http: {
    holds: 'the API, and its description',
    imports: [
      'operator',
      'events',
      'readings',
      'gateway',
      'metering',
      'lookup',
      'admission',
      'contract',
      'platform',
      'types:env',
    ],
  },
  ui: { holds: 'furniture of all pages', imports: ['contract', 'domain', 'platform'] },
  console: {
    holds: "the operator's console",
    imports: [
      'http',
      'ui',
      'operator',
      'events',
      'readings',
      'metering',
      'catalog',
      'contract',
      'domain',
      'platform',
      'types:env',
    ],
  },
  // The samples of the API reference use the client's methods by name.
  site: {
    holds: 'public pages, and the API reference',
    imports: [
      'http',
      'ui',
      'operator',
      'readings',
      'metering',
      'lookup',
      'contract',
      'domain',
      'platform',
      'src/client/methods.ts',
    ],
  },
  // The rules of sampling are the service's own.
  client: {
    holds: 'the client library, a package of its own',
    imports: ['vendors', 'compression', 'domain', 'src/platform/json.ts', 'src/platform/version.ts', 'types:contract'],
  },
  demo: { holds: 'the people of the demo, and what they do', imports: ['domain', 'platform'] },
  // It makes the files that pages load.
  cli: {
    holds: "the commands of a developer's and an operator's machine",
    imports: [
      'site',
      'events',
      'catalog',
      'vendors',
      'contract',
      'domain',
      'platform',
      'src/client/package/manifest.json',
      'src/ui/font.ts',
    ],
  },

  // Composition.
  app: { holds: 'the app of all routes', imports: ['console', 'site', 'http', 'contract'] },
  index: {
    holds: 'the handlers of the Worker',
    imports: ['app', 'durable-objects', 'operator', 'http', 'config', 'history', 'catalog', 'platform', 'types:env'],
  },
};

/** Arrows between rooms, of types too. */
const ARROWS_MAX = 170;

/** The faces for people and programs. They reach storage only through use cases. */
const FACES = ['http', 'console', 'ui', 'site', 'client', 'cli', 'demo'];
const BEHIND_USE_CASES = ['config', 'history', 'objects', 'durable-objects'];

/**
 * `src/history/calls.ts` is in `history`, `src/env.ts` in `env`, `durable-objects/customer.ts` in `durable-objects`.
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
      const allowed = [room, ...(ROOMS[room]?.imports ?? [])];
      const isAllowed =
        allowed.includes(to) || allowed.includes(target) || (typeOnly && allowed.includes(`types:${to}`));
      if (!isAllowed) found.push(`${file} imports ${target}`);
    }
  }
  return found;
}

/** The imports of each file, including types. */
function importTargets(files: Map<string, string>): Map<string, string[]> {
  return new Map(
    [...files].map(([file, source]) => [file, importsOf(source).map(({ path }) => posix.join(dirname(file), path))]),
  );
}

/** The imports of each room from other rooms. */
function roomsOf(files: Map<string, string>): Map<string, string[]> {
  const targets = new Map<string, string[]>();
  for (const [file, imported] of importTargets(files)) {
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
  expect(circles(importTargets(house))).toEqual([]);
});

test('no rooms import each other in a circle', () => {
  expect(circles(roomsOf(house))).toEqual([]);
});

test('faces reach what is stored through use cases', () => {
  for (const face of FACES) {
    const behind = ROOMS[face]?.imports.filter((room) => BEHIND_USE_CASES.includes(room.replace(/^types:/, '')));
    expect(behind, face).toEqual([]);
  }
});

test('an arrow that no import needs is not allowed, and there are few', () => {
  const rooms = roomsOf(house);
  const arrows = [...rooms].flatMap(([room, others]) => [...new Set(others)].map((other) => `${room} -> ${other}`));
  expect(arrows.length).toBeLessThanOrEqual(ARROWS_MAX);
  for (const [room, { imports }] of Object.entries(ROOMS)) {
    const idle = imports.filter(
      (other) => !/[./]/.test(other) && !rooms.get(room)?.includes(other.replace(/^types:/, '')),
    );
    expect(idle, room).toEqual([]);
  }
});

test('nobody but the entry point imports the classes of the objects', () => {
  const importers = [...house].filter(
    ([file, source]) =>
      !['durable-objects', 'index'].includes(roomOf(file)) &&
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

describe('config and history', () => {
  const outside = [...house].filter(([file]) => !['config', 'history'].includes(roomOf(file)));
  const FORBIDDEN = /['"]drizzle-orm|\.DB\b|\bD1Database\b/;
  /** The local server binds the database that it starts, and migrates it. */
  const LOCAL_TOOLS = ['src/env.ts', 'src/cli/server.ts'];

  test('have all SQL of D1: no other file knows drizzle or the binding', () => {
    const found = outside.filter(([, source]) => FORBIDDEN.test(source)).map(([file]) => file);
    expect(found.sort()).toEqual([...LOCAL_TOOLS].sort());
  });

  test('reach the binding in one file', () => {
    const reaching = [...house].filter(([, source]) => /\benv\.DB\b/.test(source)).map(([file]) => file);
    expect(reaching).toEqual(['src/config/database.ts']);
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
  const WITHOUT_ISOLATE = /^src\/(?:client\/|cli\/|(?:.+\/)?browser\/)/;
  /** State of a module that is no memory: a `let`, or a cache that `remember` did not make. */
  const STATE = /^(?:export )?(?:let |const \w+(?::[^=]+)? = new (?:BoundedMap|ConfigCache)\b)/m;
  /** Rendered once and always the same; `contract` knows nothing of the platform. */
  const CONSTANT = ['src/http/openapi/document.ts'];

  test('is made by `remember`, so that `forgetAll` empties all of it', () => {
    const found = [...house].filter(([file, source]) => !WITHOUT_ISOLATE.test(file) && STATE.test(source));
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

test('what a request can be billed for is computed by rules: it knows no use case and nothing stored', () => {
  const demand = [...house].filter(([file]) => file.startsWith('src/gateway/demand/'));
  const targets = [...importTargets(new Map(demand)).values()].flat();
  expect(demand.length).toBeGreaterThan(5);
  expect(
    targets.filter((file) => !/^src\/(?:gateway\/demand|vendors|catalog|contract|domain|platform)\//.test(file)),
  ).toEqual([]);
});

describe('this test notices', () => {
  const found = (file: string, source: string) => violations(new Map([[file, source]]));

  test.each([
    ['src/domain/a.ts', "import { z } from '../contract/b.ts';"],
    ['src/domain/a.ts', "import type { Z } from '../contract/b.ts';"],
    ['src/domain/a.ts', "import {\n  type Y,\n  z,\n} from '../platform/b.ts';"],
    ['src/contract/a.ts', "export { z } from '../history/b.ts';"],
    ['src/contract/a.ts', "export * from '../history/b.ts';"],
    ['src/contract/a.ts', "import '../history/b.ts';"],
    ['src/http/a.ts', "const { z } = await import('../history/b.ts');"],
    ['src/http/a.ts', "import z, { y } from '../domain/b.ts';"],
    ['src/history/a.ts', "import { z } from '../metering/b.ts';"],
    ['src/history/a.ts', "import { type Z } from '../../durable-objects/customer/b.ts';"],
    ['src/history/a.ts', "import type { Z } from '../../durable-objects/customer/b.ts';"],
    ['src/client/a.ts', "import { z } from '../contract/b.ts';"],
    ['src/metering/a.ts', "import { z } from '../cli/b.ts';"],
    ['src/catalog/a.ts', "import * as z from '../history/b.ts';"],
    ['src/nowhere/a.ts', "import { z } from '../domain/b.ts';"],
    ['durable-objects/a.ts', "import { z } from '../src/http/b.ts';"],
    ['durable-objects/customer/a.ts', "import type { Z } from '../../src/metering/b.ts';"],
  ])('%s: %j', (file, source) => {
    expect(found(file, source)).toHaveLength(1);
  });

  test.each([
    ['src/config/a.ts', "import type { Z } from '../catalog/b.ts';"],
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
    expect(circles(importTargets(files))).toEqual([['src/domain/a.ts', 'src/domain/b.ts'], ['src/domain/c.ts']]);
  });

  test('a circle of two rooms whose files are in none', () => {
    const files = new Map([
      ['src/objects/a.ts', "import type { B } from '../history/b.ts';"],
      ['src/history/c.ts', "import { d } from '../objects/d.ts';"],
    ]);
    expect(circles(importTargets(files))).toEqual([]);
    expect(circles(roomsOf(files))).toEqual([['objects', 'history']]);
  });
});
