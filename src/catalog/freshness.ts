/**
 * The facts of a catalog that should be read again by a given day: statuses that their dates contradict, the oldest
 * sources, models that end soon, and facts with a single source. Pure.
 *
 * Every answer computes a status from its dates (`lifecycle.ts`), so a stored status cannot make an answer stale. But
 * the published document, its differences and the README show the stored one, and it shows that nobody has read the
 * pages since.
 */
import { DAY_MS } from '../platform/time.ts';
import { statusOn } from './lifecycle.ts';
import { type CatalogModel, type Lifecycle, modelKeyOf } from './model.ts';
import type { CatalogFacts } from './validate.ts';

/** A shutdown within this many days is soon. */
export const ENDING_DAYS = 90;

export interface Freshness {
  /** Day by which the catalog was judged. */
  day: string;
  /** Models whose shutdown is past, but whose stored status says otherwise. */
  contradicted: { modelKey: string; status: Lifecycle['status']; shutdownAt: string }[];
  /** Models that still answer, by the date of their source, the oldest first. */
  oldest: { modelKey: string; checkedAt: string; days: number; source: string }[];
  /** Models that shut down within `ENDING_DAYS`, the next one first. */
  ending: { modelKey: string; shutdownAt: string; days: number; replacement: string | null }[];
  /** Models that still answer after the day until which the provider promised it: a date may be known by now. */
  overdue: { modelKey: string; earliestShutdownAt: string }[];
  /** Statuses, dates and replacements that rest on one copy or one report. */
  singleSource: { modelKey: string; fact: 'dates' | 'replacement'; confidence: string; source: string }[];
}

export function measureFreshness({ models }: CatalogFacts, day: string): Freshness {
  const live = models.filter((model) => statusOn(model, day) !== 'RETIRED');
  const daysFrom = (one: string, other: string) => Math.round((Date.parse(other) - Date.parse(one)) / DAY_MS);
  return {
    day,
    contradicted: models.flatMap((model) => {
      const { status, shutdownAt } = model.lifecycle;
      const past = shutdownAt !== undefined && shutdownAt <= day;
      return past && status !== 'RETIRED' ? [{ modelKey: modelKeyOf(model), status, shutdownAt }] : [];
    }),
    oldest: sorted(
      live.map((model) => {
        const { checkedAt, label } = model.lifecycle.source;
        return { modelKey: modelKeyOf(model), checkedAt, days: daysFrom(checkedAt, day), source: label };
      }),
      ({ checkedAt }) => checkedAt,
    ),
    ending: sorted(
      live.flatMap((model) => {
        const { shutdownAt, replacement = null } = model.lifecycle;
        const days = shutdownAt === undefined ? Number.POSITIVE_INFINITY : daysFrom(day, shutdownAt);
        return shutdownAt !== undefined && days <= ENDING_DAYS
          ? [{ modelKey: modelKeyOf(model), shutdownAt, days, replacement }]
          : [];
      }),
      ({ shutdownAt }) => shutdownAt,
    ),
    overdue: sorted(
      live.flatMap((model) => {
        const { earliestShutdownAt, shutdownAt } = model.lifecycle;
        return earliestShutdownAt !== undefined && earliestShutdownAt <= day && shutdownAt === undefined
          ? [{ modelKey: modelKeyOf(model), earliestShutdownAt }]
          : [];
      }),
      ({ earliestShutdownAt }) => earliestShutdownAt,
    ),
    singleSource: sorted(models.flatMap(listSingleSources), ({ modelKey }) => modelKey),
  };
}

function listSingleSources(model: CatalogModel): Freshness['singleSource'] {
  const { confidence, source, replacementEvidence } = model.lifecycle;
  const facts = [
    { fact: 'dates' as const, confidence, source },
    ...(replacementEvidence ? [{ fact: 'replacement' as const, ...replacementEvidence }] : []),
  ];
  return facts
    .filter((evidence) => evidence.confidence !== 'provider')
    .map((evidence) => ({ modelKey: modelKeyOf(model), ...evidence, source: evidence.source.label }));
}

function sorted<Row extends { modelKey: string }>(rows: readonly Row[], by: (row: Row) => string): Row[] {
  const place = (row: Row) => `${by(row)} ${row.modelKey}`;
  return rows.toSorted((one, other) => Number(place(one) > place(other)) - Number(place(one) < place(other)));
}
