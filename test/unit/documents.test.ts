/**
 * The documents are true: every code block is checked, every link has a target, and their lists equal the code's.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { statusOn } from '../../src/catalog/lifecycle.ts';
import { matchModel } from '../../src/catalog/matching.ts';
import { ErrorEnvelope } from '../../src/contract/envelope.ts';
import { ERROR_STATUS } from '../../src/contract/errors.ts';
import { EVENT_TYPES, OrganizationEvent } from '../../src/contract/events.ts';
import { AnthropicError, GatewayError, GoogleError } from '../../src/contract/gateway/answers.ts';
import { SetModelsRequest } from '../../src/contract/model-mappings.ts';
import { operations, responseSchema } from '../../src/contract/operations.ts';
import { Plan } from '../../src/contract/plans.ts';
import { SetPriceRequest } from '../../src/contract/prices.ts';
import { ANOMALY_KINDS } from '../../src/contract/readings.ts';
import { SetSamplingRequest } from '../../src/contract/sampling.ts';
import { SCOPES } from '../../src/contract/scopes.ts';
import { SetVendorRequest } from '../../src/contract/vendors.ts';
import { GATEWAY_ERRORS } from '../../src/gateway/error-envelope.ts';
import { FORECAST_STATUSES } from '../../src/readings/forecast/forecast.ts';
import { REVIEW_REASONS } from '../../src/readings/usage/review.ts';
import { SIGNAL_CODES } from '../../src/readings/usage/signals.ts';
import { CLIENTS } from '../clients/programs.ts';
import {
  BLOCKS,
  type Block,
  blockPlace,
  blocksOf,
  DOCUMENTS,
  type Document,
  PACKAGE_README,
  ROOT,
} from '../support/documents.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const documentAt = (path: string) => DOCUMENTS.find((document) => document.path === path) as Document;

/** The shapes that a `json` block may show. */
const SCHEMAS = {
  plan: Plan,
  sampling: SetSamplingRequest,
  models: SetModelsRequest,
  vendor: SetVendorRequest,
  price: SetPriceRequest,
  event: OrganizationEvent,
  error: ErrorEnvelope,
  'gateway-error': GatewayError,
  'anthropic-error': AnthropicError,
  'google-error': GoogleError,
  'begin-request': operations.beginCall.body,
  'begin-answer': responseSchema(operations.beginCall),
  'end-request': operations.endCall.body,
  'end-answer': responseSchema(operations.endCall),
  'call-request': operations.makeCall.body,
  'meter-request': operations.incrementMeter.body,
};

/** Commands that a block which is not run may use. */
const COMMANDS = new Set(['claude', 'cp', 'echo', 'export', 'mkdir', 'node', 'npm', 'python3', 'rm']);

/** Variables that every shell sets. */
const SET_BY_SHELLS = new Set(['HOME', 'PWD']);

describe('code blocks', () => {
  test('every block is of a kind that a test checks, or says that it is plain text', () => {
    const isKnown = ({ language, words }: Block) => {
      const [word, ...more] = words;
      if (more.length > 0) return false;
      if (language === 'sh') return word === undefined || word === 'unrun';
      if (language === 'json') return word !== undefined && Object.hasOwn(SCHEMAS, word);
      if (language === 'py') return word === 'requests' || word === 'openai';
      return ['ts', 'html', 'yaml', 'text'].includes(language) && word === undefined;
    };
    expect(BLOCKS.filter((block) => !isKnown(block)).map(blockPlace)).toEqual([]);
    for (const language of ['sh', 'ts', 'html']) expect(blocksOf(language).length).toBeGreaterThan(0);
  });

  test('every json block is what it shows', () => {
    const shown = BLOCKS.filter(({ language }) => language === 'json');
    expect(shown.length).toBeGreaterThan(0);
    for (const block of shown) {
      const schema = SCHEMAS[block.words[0] as keyof typeof SCHEMAS];
      const { error } = schema.safeParse(JSON.parse(block.text));
      expect([blockPlace(block), error?.issues ?? []]).toEqual([blockPlace(block), []]);
    }
  });

  test('every npm script that a block names exists, and every program is a common one', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const own = new Set(['ci', 'start', 'test', 'pack', 'publish', 'exec', 'install']);
    for (const block of BLOCKS.filter(({ language }) => language === 'sh' || language === 'yaml')) {
      const { text: commands } = block;
      for (const [, verb = '', script] of commands.matchAll(/\bnpm (\w+)(?: (?:-s )?([\w:]+))?/g)) {
        const found = verb === 'run' ? Object.hasOwn(scripts, script ?? '') : own.has(verb);
        expect([blockPlace(block), verb, script, found]).toEqual([blockPlace(block), verb, script, true]);
      }
      if (block.words[0] !== 'unrun') continue;
      const programs = commands.split('\n').flatMap((line) => /^(?:\w+=\S* )*(\w+)\b(?!=)/.exec(line)?.[1] ?? []);
      expect([blockPlace(block), programs.filter((program) => !COMMANDS.has(program))]).toEqual([
        blockPlace(block),
        [],
      ]);
    }
  });

  test('every sh block sets what it uses, has no comment, and reads the same in an interactive zsh, in bash and in dash', () => {
    for (const block of BLOCKS.filter(({ language }) => language === 'sh')) {
      const { text, complaints } = pastedText(block.text);
      for (const [use, name = ''] of text.matchAll(/\$\{?([A-Za-z_]\w*)/g)) {
        const before = text.slice(0, text.indexOf(use));
        if (SET_BY_SHELLS.has(name)) continue;
        if (!new RegExp(`(^|[\\s;({])${name}=`).test(before)) complaints.push(`${use} is not set`);
      }
      expect([blockPlace(block), complaints]).toEqual([blockPlace(block), []]);
    }
  });

  test.each([
    ['echo "it" # a comment', 'a comment'],
    ["echo it's", 'a quotation without an end'],
    ["printf $'one'", 'an expansion that dash does not have'],
    ['ls *.json', 'a glob'],
    ['curl http://127.0.0.1/events?limit=1', 'a glob'],
    ['path=/tmp', 'a name that zsh keeps for itself'],
    ['echo "done!"', 'a sign of history'],
    ['diff <(one) <(two)', 'what dash does not have'],
  ])('%s cannot be pasted into every shell: %s', (line, complaint) => {
    expect(pastedText(line).complaints).toContain(complaint);
  });

  test('a key of a vendor that a block leaves to its reader is refused as it stands', () => {
    const keys = blocksOf('sh', 'unrun').flatMap(({ text }) =>
      [...text.matchAll(/"apiKey":"([^"]*)"/g)].map(([, apiKey]) => apiKey),
    );
    expect(keys.length).toBeGreaterThan(0);
    for (const apiKey of keys)
      expect(SetVendorRequest.safeParse({ apiKey }).error?.issues[0]?.path).toEqual(['apiKey']);
  });

  test('examples use models that have no date of shutdown', () => {
    const today = new Date().toISOString().slice(0, 'yyyy-mm-dd'.length);
    const folder = 'src/client/examples';
    const examples = readdirSync(join(ROOT, folder)).map(
      (name) => [`${folder}/${name}`, read(`${folder}/${name}`)] as const,
    );
    const blocks = BLOCKS.filter(({ language }) => language !== 'text').map(
      (block) => [blockPlace(block), block.text] as const,
    );
    const models = [...blocks, ...examples].flatMap(([place, text]) =>
      text
        .split('\n')
        // The lookup is shown on models that end.
        .filter((line) => !/model-alternatives|lookUpModel|modelKey of/.test(line))
        .flatMap((line) => line.match(/\b(?:gpt|claude|gemini|o\d|text-embedding)-[\w.-]*\w/g) ?? [])
        .map((name) => [place, name] as const),
    );
    expect(models.length).toBeGreaterThan(0);
    for (const [place, name] of models) {
      const model = matchModel(BUILT_IN_CATALOG, name, Date.parse(today))?.model;
      const { shutdownAt, earliestShutdownAt } = model?.lifecycle ?? {};
      const status = model && statusOn(model, today);
      expect([place, name, status, shutdownAt, earliestShutdownAt]).toEqual([
        place,
        name,
        'ACTIVE',
        undefined,
        undefined,
      ]);
    }
  });
});

/** Text that shells read differently when it is pasted. */
const DIFFERENT: readonly [string, RegExp][] = [
  ['a comment', /(^|\s)#/m],
  ['a quotation without an end', /'(?!')(?<!'')/],
  ['an expansion that dash does not have', /\$\{[^}]*[:/^,@[]|\$'/],
  ['a sign of history', /!/],
  ['a name that zsh keeps for itself', /(^|[\s;({])(argv|commands|functions|options|path|prompt|status|words)=/m],
];

/** The same, outside of double quotes too. */
const DIFFERENT_BARE: readonly [string, RegExp][] = [
  ['a glob', /[*?[\]~]|(^|\s)=\w/m],
  ['what dash does not have', /[<>]\(|&>|<<<|\bfunction\b|\{[^\s}]*,/],
];

/** A block without the contents of its quoted parts, and its problems. */
function pastedText(block: string): { text: string; complaints: string[] } {
  const text = block.replace(/<<'(\w+)'\n[\s\S]*?\n\1$/gm, '').replace(/'[^']*'/g, "''");
  const bare = text.replace(/"[^"]*"/g, '""');
  const found = (rules: readonly [string, RegExp][], where: string) =>
    rules.flatMap(([name, rule]) => (rule.test(where) ? [name] : []));
  return { text, complaints: [...found(DIFFERENT, text), ...found(DIFFERENT_BARE, bare)] };
}

describe('links', () => {
  const links = DOCUMENTS.flatMap(({ path, text }) =>
    [...withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)|\b(?:src|srcset|href)="([^"]+)"/g)].map(([, link, source]) => ({
      path,
      target: link ?? source ?? '',
    })),
  );

  test('every link inside of the repository leads to a file, and to a heading of it', () => {
    for (const { path, target } of links.filter((link) => !/^https?:/.test(link.target))) {
      const [file = '', anchor] = target.split('#');
      const to = file === '' ? path : posix.join(dirname(path), file);
      expect([path, target, existsSync(join(ROOT, to))]).toEqual([path, target, true]);
      if (anchor !== undefined) expect([path, target, anchorsOf(read(to)).has(anchor)]).toEqual([path, target, true]);
    }
  });

  test('every column of a table has a heading, for who hears the table read', () => {
    const empty = DOCUMENTS.flatMap(({ path, text }) =>
      [...withoutBlocks(text).matchAll(/^(\|.*\|)\n\|[-: |]+\|$/gm)]
        .filter(([, head = '']) =>
          head
            .split('|')
            .slice(1, -1)
            .some((cell) => cell.trim() === ''),
        )
        .map(([, head]) => `${path}: ${head}`),
    );
    expect(empty).toEqual([]);
  });

  test('every path of the repository that is named exists', () => {
    for (const { path, text } of DOCUMENTS) {
      for (const [, named = ''] of withoutBlocks(text).matchAll(
        /`((?:src|durable-objects|d1-migrations|test|docs)\/[^\s`:]*)`/g,
      )) {
        expect([path, named, existsSync(join(ROOT, named))]).toEqual([path, named, true]);
      }
    }
  });

  test('every page of docs is linked from the README', () => {
    const linked = links.filter(({ path }) => path === 'README.md').map(({ target }) => target.split('#')[0]);
    expect(
      DOCUMENTS.map(({ path }) => path).filter((path) => path.startsWith('docs/') && !linked.includes(path)),
    ).toEqual([]);
  });

  test('what the package of the client has of documents has no link that breaks in it', () => {
    const own = links
      .filter(({ path }) => path === 'docs/client.md' || path === PACKAGE_README)
      .map(({ target }) => target);
    expect(own.filter((target) => !/^(#|https?:)/.test(target))).toEqual([]);
  });
});

function withoutBlocks(text: string): string {
  return text.replace(/^(`{3,})[^\n]*\n[\s\S]*?^\1$/gm, '');
}

/** The anchors that GitHub makes from headings, and those that are set by hand. */
function anchorsOf(text: string): Set<string> {
  const headings = [...withoutBlocks(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set([...headings, ...[...text.matchAll(/<a id="([^"]+)"/g)].map(([, id = '']) => id)]);
}

describe('what the documents list', () => {
  /** The cells of the rows of all tables in a document. */
  const tableRows = (path: string) =>
    documentAt(path)
      .text.split('\n')
      .filter((line) => line.startsWith('|'))
      .map((line) =>
        line
          .slice(1, -1)
          .split(/(?<!\\)\|/)
          .map((cell) => cell.trim()),
      );
  const firstCells = (path: string) => tableRows(path).map(([first = '']) => first);

  test('errors.md has every error code, with its status, its cause and what to do', () => {
    for (const [code, status] of Object.entries(ERROR_STATUS)) {
      const row = tableRows('docs/errors.md').find(([first]) => first === `\`${code}\``);
      expect([code, row?.[1]]).toEqual([code, String(status)]);
      expect([code, row?.length, row?.every((cell) => cell !== '')]).toEqual([code, 4, true]);
    }
  });

  test('errors.md has every code that only the gateway answers with, and its status', () => {
    for (const [name, { code = name, status }] of Object.entries<{ status: number; code?: string }>(GATEWAY_ERRORS)) {
      const row = tableRows('docs/errors.md').find(([first]) => first === `\`${code}\``);
      expect([code, row?.[1]]).toEqual([code, expect.stringContaining(String(status))]);
    }
  });

  test('plans.md has every field of a plan, with its default', () => {
    const overage = { model: 'GRADUATED', tiers: [{ upTo: null, priceUsd: '1' }] };
    const plan = Plan.parse({ name: 'P', limitType: 'BLOCK', customMeters: { CUSTOM1: { overage } } });
    const defaults = new Map(
      leafFields(plan, '').filter(([path]) => !/^(name|limitType)$|priceUsd|upTo|\.model/.test(path)),
    );
    const documented = new Map(tableRows('docs/plans.md').map(([field = '', value = '']) => [field, value]));
    expect(defaults.size).toBeGreaterThan(20);
    for (const [path, value] of defaults) {
      const name = path.replace('CUSTOM1', '{slot}').replace('.tiers.0', '.tiers[]');
      const shown = documented.get(`\`${name}\``) ?? `${name} is not documented`;
      expect([name, shown]).toEqual([name, name.endsWith('.label') ? 'the slot' : `\`${JSON.stringify(value)}\``]);
    }
  });

  test('operate.md has every scope; deploy.md has every variable and secret, with its default', () => {
    expect(SCOPES.filter((scope) => !firstCells('docs/operate.md').includes(`\`${scope}\``))).toEqual([]);
    const configuration = read('wrangler.toml');
    const variables = [
      ...(/\[vars\]([\s\S]*?)\n\[/.exec(configuration)?.[1] ?? '').matchAll(/^#? ?([A-Z_\d]+) = ("[^"]*"|\d+)/gm),
    ];
    expect(variables.length).toBeGreaterThan(5);
    for (const [line, name = '', value = ''] of variables) {
      const row = tableRows('docs/deploy.md').find(([first]) => first === `\`${name}\``);
      const shown = line.startsWith('#') ? row?.[1] : row?.[1]?.replace(/[`"]/g, '');
      expect([name, shown]).toEqual([name, line.startsWith('#') ? expect.any(String) : value.replace(/"/g, '')]);
    }
    const [, required = ''] = /^required = \[(.*)\]$/m.exec(configuration) ?? [];
    const secrets = [...required.matchAll(/"(\w+)"/g)].map(([, name]) => `\`${name}\``);
    expect(secrets.length).toBe(3);
    expect(secrets.filter((name) => !firstCells('docs/deploy.md').includes(name))).toEqual([]);
  });

  test('readings.md has every signal, review reason, kind of anomaly and status of a forecast', () => {
    const words = [...SIGNAL_CODES, ...REVIEW_REASONS, ...ANOMALY_KINDS, ...FORECAST_STATUSES];
    expect(words.filter((word) => !firstCells('docs/readings.md').includes(`\`${word}\``))).toEqual([]);
  });

  test('events.md has every type of event', () => {
    expect(EVENT_TYPES.filter((type) => !firstCells('docs/events.md').includes(`\`${type}\``))).toEqual([]);
  });

  test('every row of a table has the cells that its head has', () => {
    for (const { path, text } of DOCUMENTS) {
      for (const [table] of withoutBlocks(text).matchAll(/(?:^\|.*\n)+/gm)) {
        const widths = table
          .trimEnd()
          .split('\n')
          .map((line) => line.split(/(?<!\\)\|/).length);
        expect([path, table, new Set(widths).size]).toEqual([path, table, 1]);
      }
    }
  });

  test('the clients of the gateway have the versions that the tests and test:clients run', () => {
    const { devDependencies } = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> };
    const versionOf = new Map([
      ...Object.entries(devDependencies),
      ...CLIENTS.map(({ packageName, version }) => [packageName, version] as const),
    ]);
    const table = documentAt('docs/gateway.md').text.split('\n## Clients\n')[1]?.split('\n## ')[0] ?? '';
    const rows = [...table.matchAll(/^\| ([^|]*`[^|]+) \| ([\d., ]+) \|/gm)];
    expect(rows.length).toBeGreaterThan(12);
    for (const [, clients = '', versions = ''] of rows) {
      const names = [...clients.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
      expect([clients, names.map((name) => versionOf.get(name)).join(', ')]).toEqual([clients, versions.trim()]);
    }
  });

  test('the README counts the models of the catalog', () => {
    const counts = [...documentAt('README.md').text.matchAll(/catalog of (\d+) models/g)].map(([, count]) =>
      Number(count),
    );
    expect(counts).toEqual([BUILT_IN_CATALOG.models.length]);
  });

  test('contributing.md has every folder of src, and links to the README of each that has one', () => {
    const map = documentAt('docs/contributing.md').text;
    const rooms = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(rooms.map(({ name }) => name).filter((name) => !map.includes(`${name}/`))).toEqual([]);
    const folders = ['durable-objects', ...rooms.map(({ name }) => `src/${name}`)];
    const readmes = folders.map((folder) => `${folder}/README.md`).filter((path) => existsSync(join(ROOT, path)));
    expect(readmes.filter((path) => !map.includes(`(../${path})`))).toEqual([]);
  });
});

/** Leaves of a value with their paths; an empty object or list is a leaf. */
function leafFields(value: unknown, path: string): [string, unknown][] {
  const isLeaf = typeof value !== 'object' || value === null || Object.keys(value).length === 0;
  if (isLeaf) return [[path, value]];
  const entries = Object.entries(value);
  return entries.flatMap(([name, member]) => leafFields(member, path === '' ? name : `${path}.${name}`));
}
