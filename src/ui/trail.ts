/**
 * The way back through a list whose cursors lead only forward: the query of each page holds the cursors of the pages
 * before it.
 *
 * `trail=0-.50-abc.100` is on a page that begins after 100 rows. The page before it begins after 50 rows at the cursor
 * `abc`; the first page begins after 0 rows without a cursor. A text of another form is no trail: the page
 * then links to the first one.
 */

/**
 * The most pages that a trail remembers, and the most characters that it takes in an address. The oldest pages are
 * dropped first.
 */
const STEPS_MAX = 40;
const CHARS_MAX = 1_500;

const STEP = /^(\d{1,9})-([\w-]*)$/;
const PLACE = /^\d{1,9}$/;

interface Step {
  /** Rows before the page. */
  before: number;
  /** The cursor that the page begins at; empty for the first page. */
  cursor: string;
}

export interface Trail {
  /** The pages before this one, the nearest last. */
  steps: readonly Step[];
  /** The cursor of this page; empty for the first one. */
  cursor: string;
  /** Rows before this page; `null` if the query does not say. */
  before: number | null;
  /** Rows on this page. */
  shown: number;
}

type Query = Record<string, string>;

/** Reads the trail of a page with `shown` rows from its query. */
export function readTrail(query: Readonly<Record<string, string | undefined>>, shown: number): Trail {
  const cursor = query.cursor ?? '';
  if (cursor === '') return { steps: [], cursor, before: 0, shown };
  const parts = (query.trail ?? '').slice(0, CHARS_MAX).split('.');
  const place = parts.pop() ?? '';
  const steps = parts.slice(-STEPS_MAX).flatMap((part) => {
    const [, before, at] = STEP.exec(part) ?? [];
    return before === undefined || at === undefined ? [] : [{ before: Number(before), cursor: at }];
  });
  const isWhole = PLACE.test(place) && steps.length === Math.min(parts.length, STEPS_MAX);
  return isWhole ? { steps, cursor, before: Number(place), shown } : { steps: [], cursor, before: null, shown };
}

/** The parameters that lead to the next page. */
export function nextQuery({ steps, cursor, before, shown }: Trail, next: string): Query {
  if (before === null) return { cursor: next };
  return trailQuery([...steps, { before, cursor }], next, before + shown);
}

/** The parameters that lead to the page before; none for the first page, or if the trail is lost. */
export function previousQuery({ steps }: Trail): Query {
  const last = steps.at(-1);
  if (!last || last.cursor === '') return {};
  return trailQuery(steps.slice(0, -1), last.cursor, last.before);
}

function trailQuery(steps: readonly Step[], cursor: string, before: number): Query {
  const kept = steps.slice(-STEPS_MAX).map((step) => `${step.before}-${step.cursor}`);
  while (kept.length > 0 && [...kept, before].join('.').length > CHARS_MAX) kept.shift();
  return { cursor, trail: [...kept, before].join('.') };
}
