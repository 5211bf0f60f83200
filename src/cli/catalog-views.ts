/**
 * Output of the catalog commands as text: problems, differences, freshness, and the report of an import.
 */

import { ENDING_DAYS, type Freshness } from '../catalog/freshness.ts';
import type { ImportReport, Limits } from '../catalog/importers/merge.ts';
import type { CatalogNews } from '../catalog/news.ts';
import type { Problem } from '../catalog/validate.ts';
import type { CatalogDifferences, CatalogPricing, Lifecycle, PublishedCatalog } from '../contract/catalog.ts';
import { columnLabel, indent, pairs, section, show, table } from './table.ts';

/** The number of names of a group that are printed; `--json` has all of them. */
const NAMES_SHOWN = 40;
/** The number of the oldest sources that are printed; `--json` has all of them. */
const OLDEST_SHOWN = 15;

export function showProblems(problems: readonly Problem[]): string {
  return table(problems, {
    Model: ({ modelKey }) => modelKey || 'document',
    Field: ({ field }) => field,
    Problem: ({ message }) => message,
  });
}

export function showDifferences({ added, removed, repriced, lifecycle, other }: CatalogDifferences): string {
  const parts = [
    names('Added', added),
    names('Removed', removed),
    prices(repriced),
    group(
      'Lifecycle',
      lifecycle.map(({ modelKey, before, after }) => `${modelKey}: ${course(before)} -> ${course(after)}`),
    ),
    names('Otherwise changed', other),
  ];
  return join(parts) || 'No difference.';
}

export function showReport(report: ImportReport): string {
  const bySkipReason = Map.groupBy(report.skipped, ({ reason }) => reason);
  const parts = [
    names('Added', report.added),
    prices(report.repriced),
    group(
      'Limits',
      report.limits.map(({ modelKey, before, after }) => `${modelKey}: ${limits(before)} -> ${limits(after)}`),
    ),
    group(
      'Capabilities',
      report.capabilities.map(({ modelKey, added }) => `${modelKey}: ${added.join(', ')}`),
    ),
    names('Absent upstream, unchanged', report.absentUpstream),
    group(
      'Skipped',
      [...bySkipReason].map(([reason, entries]) => `${reason}: ${joinSome(entries.map(({ name }) => name))}`),
    ),
  ];
  return join(parts);
}

export function showPublished({
  differences,
  sourceDates,
  reportedEnds: _reportedEnds,
  ...info
}: PublishedCatalog): string {
  const figures = Object.entries({ ...info, sources: `${sourceDates.oldest} to ${sourceDates.newest}` });
  return `${pairs(Object.fromEntries(figures.map(([field, value]) => [columnLabel(field), value])))}\n\n${showDifferences(differences)}`;
}

export function showFreshness({ day, contradicted, oldest, ending, overdue, singleSource }: Freshness): string {
  const model = ({ modelKey }: { modelKey: string }) => modelKey;
  const stale = contradicted.length;
  const parts = [
    `On ${day}, statuses that their dates contradict: ${stale || 'none'}.`,
    stale > 0 &&
      section(
        `Shut down, but the status does not say so (${stale})`,
        table(contradicted, { Model: model, Status: ({ status }) => status, Shutdown: ({ shutdownAt }) => shutdownAt }),
      ),
    section(
      `Oldest sources of models that still answer (${Math.min(OLDEST_SHOWN, oldest.length)} of ${oldest.length})`,
      table(oldest.slice(0, OLDEST_SHOWN), {
        Model: model,
        Read: ({ checkedAt }) => checkedAt,
        Ago: ({ days }) => `${days} days`,
        Source: ({ source }) => source,
      }),
    ),
    section(
      `Ends within ${ENDING_DAYS} days (${ending.length})`,
      table(ending, {
        Model: model,
        Shutdown: ({ shutdownAt }) => shutdownAt,
        In: ({ days }) => `${days} days`,
        Replacement: ({ replacement }) => replacement,
      }),
    ),
    overdue.length > 0 &&
      section(
        `May end any day: past the day until which the provider promised it (${overdue.length})`,
        table(overdue, { Model: model, 'Promised until': ({ earliestShutdownAt }) => earliestShutdownAt }),
      ),
    section(
      `One source only (${singleSource.length})`,
      table(singleSource, {
        Model: model,
        Fact: ({ fact }) => fact,
        Confidence: ({ confidence }) => confidence,
        Source: ({ source }) => source,
      }),
    ),
  ];
  return join(parts.map((part) => part || ''));
}

export function showNews(
  { missing, ends, prices: differing }: CatalogNews,
  failed: readonly { package: string; why: string }[],
): string {
  const model = ({ modelKey }: { modelKey: string }) => modelKey;
  const by = ({ reportedBy }: { reportedBy: string[] }) => reportedBy.join('; ');
  const parts = [
    missing.length > 0 &&
      section(
        `Not in the catalog (${missing.length})`,
        table(missing, { Model: model, Nearest: ({ nearest }) => nearest, 'Reported by': by }),
      ),
    ends.length > 0 &&
      section(
        `Ends that the catalog does not have, or on another day (${ends.length})`,
        table(ends, {
          Model: model,
          Shutdown: ({ shutdownAt }) => shutdownAt,
          Catalog: ({ ours }) => ours,
          'Reported by': by,
        }),
      ),
    differing.length > 0 &&
      section(
        `Rates that differ, USD per million (${differing.length})`,
        table(differing, {
          Model: model,
          Rate: ({ rate }) => rate,
          Reported: ({ usdPerMillion }) => usdPerMillion,
          Catalog: ({ ours }) => ours,
          'Reported by': by,
        }),
      ),
    failed.length > 0 &&
      section(`Not read (${failed.length})`, table(failed, { Package: (row) => row.package, Why: ({ why }) => why })),
  ];
  return join(parts.map((part) => part || '')) || 'The packages say nothing that the catalog does not.';
}

function names(title: string, keys: readonly string[]): string {
  return keys.length === 0 ? '' : section(`${title} (${keys.length})`, joinSome(keys, '\n'));
}

function group(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : section(`${title} (${lines.length})`, lines.join('\n'));
}

function prices(
  repriced: readonly { modelKey: string; before: CatalogPricing | null; after: CatalogPricing | null }[],
): string {
  const blocks = repriced.map(({ modelKey, before, after }) => `${modelKey}\n${indent(rates(before, after))}`);
  return group('Repriced', blocks);
}

/** The old and new value of each rate that changes. */
function rates(before: CatalogPricing | null, after: CatalogPricing | null): string {
  const old = flat(before ?? {});
  const now = flat(after ?? {});
  const fields = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(
    (field) => field !== 'source' && old[field] !== now[field],
  );
  return pairs(Object.fromEntries(fields.map((field) => [field, `${show(old[field])} -> ${show(now[field])}`])));
}

/** `{ tiers: [{ inputUsdPerMillion: 5 }] }` as `{ 'tiers.0.inputUsdPerMillion': 5 }`. */
function flat(value: object, prefix = ''): Record<string, unknown> {
  return Object.assign(
    {},
    ...Object.entries(value).map(([name, member]) =>
      typeof member === 'object' && member !== null ? flat(member, `${prefix}${name}.`) : { [prefix + name]: member },
    ),
  );
}

function course(lifecycle: Lifecycle | null): string {
  if (!lifecycle) return show(null);
  const { status, announcedAt, shutdownAt, replacement } = lifecycle;
  return [
    status,
    announcedAt && `announced ${announcedAt}`,
    shutdownAt && `shutdown ${shutdownAt}`,
    replacement && `use ${replacement}`,
  ]
    .filter(Boolean)
    .join(', ');
}

function limits({ contextTokens, maxOutputTokens }: Limits): string {
  return `context ${show(contextTokens)}, output ${show(maxOutputTokens)}`;
}

function joinSome(all: readonly string[], separator = ', '): string {
  const rest = all.length - NAMES_SHOWN;
  return [...all.slice(0, NAMES_SHOWN), ...(rest > 0 ? [`and ${rest} more`] : [])].join(separator);
}

function join(parts: readonly string[]): string {
  return parts.filter(Boolean).join('\n').trimStart();
}
