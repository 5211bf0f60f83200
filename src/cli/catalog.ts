/**
 * `npm run catalog -- <verb>`: imports upstream price lists into a catalog file; checks, compares and publishes it, and
 * lists its facts that should be read again, and the facts of packages that it lacks.
 *
 * Only `--out` writes a file and only `publish` publishes. Output is text, or JSON with `--json`. Exit code 0 means
 * success, 1 a catalog with problems or stale statuses, a rejected request or a package that could not be read, 2 a
 * wrong command line.
 */
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { BUILT_IN_CATALOG } from '../catalog/built-in.ts';
import { diffCatalogs } from '../catalog/diff.ts';
import { measureFreshness } from '../catalog/freshness.ts';
import { changeBound } from '../catalog/importers/bound.ts';
import type { Upstream } from '../catalog/importers/imported.ts';
import { readLiteLlm } from '../catalog/importers/litellm.ts';
import { mergeImport } from '../catalog/importers/merge.ts';
import { readModelsDev } from '../catalog/importers/models-dev.ts';
import { catalogNews, type SourceFacts } from '../catalog/news.ts';
import { type Problem, readCatalogDocument } from '../catalog/validate.ts';
import type { CatalogDocument, PublishedCatalog } from '../contract/catalog.ts';
import { useContractMessages } from '../contract/messages.ts';
import { parseJson } from '../platform/json.ts';
import { utcDay } from '../platform/time.ts';
import { showDifferences, showFreshness, showNews, showProblems, showPublished, showReport } from './catalog-views.ts';
import { exchange, Refused } from './operator-client.ts';
import { operatorTarget, TARGET_HELP } from './operator-target.ts';
import { type ReadFacts, WATCHED_PACKAGES } from './package-facts.ts';
import { type NewestPackage, withNewestPackage } from './package-registry.ts';
import { isUsageError, UsageError } from './usage-error.ts';

const HELP = `npm run catalog -- <verb> [arguments] [flags]

  import --from models.dev|litellm FILE
             merge an upstream price list and report what changes; absent upstream never means retired
      --into FILE    catalog to merge into (the built-in one)
      --out FILE     file of the result; without it nothing is written
      --date DATE    date of the copy (today)
  validate [FILE]    check a catalog (the built-in one)
  diff A [B]         what B says otherwise than A; with one file, what it says otherwise than the built-in catalog
  freshness [FILE]   what to read again: statuses that their dates contradict (exit code 1), the oldest sources, models
                     that end within 90 days, facts with one source only
      --date DATE    day to judge by (today)
  watch [FILE]       what the newest packages of the npm registry say of models that the catalog lacks or contradicts, with
                     version and date; it changes nothing (packages: ${[...WATCHED_PACKAGES.keys()].join(', ')})
  publish FILE       check a catalog and publish it on a server
${TARGET_HELP.replace(/^/gm, '    ')}

  FILE       a list of models, or { version, models, transitions }; - reads standard input
  --json     the result as JSON; with \`npm run -s\`, standard output holds nothing else
  --help     this text

Exit code: 0 success, 1 the catalog has problems or stale statuses, was refused, or a package could not be read, 2 wrong
command line.`;

const OPTIONS = {
  from: { type: 'string' },
  into: { type: 'string' },
  out: { type: 'string' },
  date: { type: 'string' },
  url: { type: 'string' },
  token: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

interface Flags {
  from?: string;
  into?: string;
  out?: string;
  date?: string;
  url?: string;
  token?: string;
}

/** The result of a command: as JSON, as text, and whether it succeeded. */
interface Outcome {
  json: unknown;
  text: string;
  ok: boolean;
}

interface Verb {
  run: (files: string[], flags: Flags) => Promise<Outcome>;
  /** Minimum and maximum number of files. */
  files: [number, number];
  flags: readonly (keyof Flags)[];
}

const VERBS = new Map<string, Verb>([
  ['import', { run: importFile, files: [1, 1], flags: ['from', 'into', 'out', 'date'] }],
  ['validate', { run: validateFile, files: [0, 1], flags: [] }],
  ['diff', { run: diffFiles, files: [1, 2], flags: [] }],
  ['freshness', { run: printFreshness, files: [0, 1], flags: ['date'] }],
  ['watch', { run: watchPackages, files: [0, 1], flags: [] }],
  ['publish', { run: publishFile, files: [1, 1], flags: ['url', 'token'] }],
]);

const UPSTREAMS = new Map<string, { label: string; read: (raw: unknown) => Upstream }>([
  ['models.dev', { label: 'models.dev', read: readModelsDev }],
  ['litellm', { label: 'LiteLLM', read: readLiteLlm }],
]);

const BUILT_IN: CatalogDocument = {
  models: [...BUILT_IN_CATALOG.models],
  transitions: [...BUILT_IN_CATALOG.transitions],
};

async function main(args: string[]): Promise<void> {
  useContractMessages();
  const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
  const { json, help, ...flags } = values;
  if (help) return console.log(HELP);
  const [name = '', ...files] = positionals;
  const verb = VERBS.get(name);
  if (!verb)
    throw new UsageError(
      `${name ? `there is no verb ${name}` : 'a verb is missing'}; there are ${[...VERBS.keys()].join(', ')}`,
    );
  const [least, most] = verb.files;
  if (files.length < least || files.length > most)
    throw new UsageError(`${name} takes ${least === most ? least : `${least} to ${most}`} file(s)`);
  const foreign = Object.keys(flags).filter((flag) => !verb.flags.includes(flag as keyof Flags));
  if (foreign.length > 0) throw new UsageError(`${name} takes no ${foreign.map((flag) => `--${flag}`).join(', ')}`);
  const outcome = await verb.run(files, flags);
  console.log(json ? JSON.stringify(outcome.json, null, 2) : outcome.text);
  if (!outcome.ok) process.exitCode = 1;
}

async function importFile([file = '']: string[], { from = '', into, out, date = today() }: Flags): Promise<Outcome> {
  const upstream = UPSTREAMS.get(from);
  if (!upstream) throw new UsageError(`--from must be one of ${[...UPSTREAMS.keys()].join(', ')}`);
  checkDate(date);
  const base = into === undefined ? { raw: BUILT_IN.models, document: BUILT_IN } : await readCatalog(into);
  if ('problems' in base) return withProblems(base.problems);
  const { models, report } = mergeImport(base.document.models, upstream.read(await readJson(file)), {
    sourceLabel: upstream.label,
    date,
  });
  const { problems } = readCatalogDocument({ ...base.document, models });
  if (problems.length > 0) return withProblems(problems, report);
  const bound = changeBound(report, base.document.models);
  // The result has the same form as the file that it came from.
  if (out !== undefined) await writeJson(out, Array.isArray(base.raw) ? models : { ...(base.raw as object), models });
  const notes = [
    ...(bound === null ? [] : [`Too much for an automatic publication: ${bound}.`]),
    out === undefined
      ? 'Nothing was written; --out FILE writes the result.'
      : `Written to ${out}: ${models.length} models.`,
  ];
  return {
    json: { report, tooMuchForAutomaticPublication: bound, models: models.length },
    text: `${showReport(report)}\n\n${notes.join('\n')}`,
    ok: true,
  };
}

async function validateFile([file]: string[]): Promise<Outcome> {
  const { document, problems } =
    file === undefined ? readCatalogDocument(BUILT_IN) : readCatalogDocument(await readJson(file));
  if (!document) return withProblems(problems);
  const priced = document.models.filter(({ pricing }) => pricing).length;
  const text = `No problems: ${document.models.length} models, ${priced} with a price, ${document.transitions?.length ?? 0} transitions.`;
  return { json: { problems }, text, ok: true };
}

async function diffFiles([first = '', second]: string[]): Promise<Outcome> {
  const before = second === undefined ? { document: BUILT_IN } : await readCatalog(first);
  const after = await readCatalog(second ?? first);
  if ('problems' in before) return withProblems(before.problems);
  if ('problems' in after) return withProblems(after.problems);
  const differences = diffCatalogs(before.document, after.document);
  return { json: differences, text: showDifferences(differences), ok: true };
}

async function printFreshness([file]: string[], { date = today() }: Flags): Promise<Outcome> {
  checkDate(date);
  const catalog = file === undefined ? { document: BUILT_IN } : await readCatalog(file);
  if ('problems' in catalog) return withProblems(catalog.problems);
  const freshness = measureFreshness(catalog.document, date);
  return { json: freshness, text: showFreshness(freshness), ok: freshness.contradicted.length === 0 };
}

async function watchPackages([file]: string[]): Promise<Outcome> {
  const read = file === undefined ? { document: BUILT_IN } : await readCatalog(file);
  if ('problems' in read) return withProblems(read.problems);
  const { models, transitions = [] } = read.document;
  const facts: SourceFacts[] = [];
  const failed: { package: string; why: string }[] = [];
  for (const [name, readFacts] of WATCHED_PACKAGES) {
    try {
      facts.push(
        ...(await withNewestPackage(name, (newest, readFile) => readPackageFacts(name, newest, readFacts(readFile)))),
      );
    } catch (error) {
      failed.push({
        package: name,
        why: error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error),
      });
    }
  }
  const news = catalogNews({ ...BUILT_IN_CATALOG, models, transitions }, facts);
  return { json: { ...news, failed }, text: showNews(news, failed), ok: failed.length === 0 };
}

async function readPackageFacts(
  name: string,
  { version, date }: NewestPackage,
  said: ReturnType<ReadFacts>,
): Promise<SourceFacts[]> {
  const source = `${name} ${version} of ${date}`;
  return (await said).map((facts) => ({ ids: [], ends: {}, prices: {}, ...facts, source, date }));
}

async function publishFile([file = '']: string[], { url, token }: Flags): Promise<Outcome> {
  const target = await operatorTarget({ url, token });
  const catalog = await readCatalog(file);
  if ('problems' in catalog) return withProblems(catalog.problems);
  const reply = await exchange(target, 'POST', '/operator/catalog', catalog.document, randomUUID());
  if (reply.status !== 200) throw new Refused(reply, target);
  const published = reply.body.data as PublishedCatalog;
  return { json: published, text: showPublished(published), ok: true };
}

function withProblems(problems: readonly Problem[], report?: unknown): Outcome {
  return { json: { problems, ...(report !== undefined && { report }) }, text: showProblems(problems), ok: false };
}

type Read = { raw: unknown; document: CatalogDocument } | { problems: Problem[] };

async function readCatalog(file: string): Promise<Read> {
  const raw = await readJson(file);
  const { document, problems } = readCatalogDocument(raw);
  if (!document) return { problems };
  // The document in its own order, because the members of a validated copy are in the schema's order.
  return { raw, document: (Array.isArray(raw) ? { models: raw } : raw) as CatalogDocument };
}

async function readJson(file: string): Promise<unknown> {
  const content = await (file === '-' ? text(process.stdin) : readFile(file, 'utf8')).catch((error: Error) => {
    throw new UsageError(`${file} cannot be read: ${error.message}`);
  });
  const parsed = parseJson(content);
  if (parsed.ok) return parsed.value;
  throw new UsageError(`${file} is not JSON${parsed.broken === 'syntax' ? `: ${parsed.reason}` : ''}`);
}

async function writeJson(file: string, content: unknown): Promise<void> {
  await writeFile(file, `${JSON.stringify(content, null, 1)}\n`);
}

function checkDate(date: string): void {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date) || Number.isNaN(Date.parse(date)))
    throw new UsageError('--date must be a date like 2026-11-20');
}

function today(): string {
  return utcDay(Date.now());
}

main(process.argv.slice(2)).catch((error: Error) => {
  const wrongUsage = isUsageError(error);
  console.error(wrongUsage ? `${error.message}\n(--help lists the commands)` : error.message);
  process.exitCode = wrongUsage ? 2 : 1;
});
