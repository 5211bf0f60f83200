/**
 * Usage, summed from calls: which tables there are, and the statements that keep them exact.
 *
 * A batch first notes what it changes of the usage (`projection.ts`: each changed call as it is now, less what it counted
 * as before), then adds these changes to every table of `ROLL_UPS`, and forgets them again. All of that is one
 * transaction. Many changes are noted in one row, because D1 bills rows. A customer is erased by adding its hours negated
 * to what is left. A new roll-up is a table in `schema/usage.ts` and a line in `ROLL_UPS`.
 */
import { DAY_MS, HOUR_MS, WEEK_MS } from '../platform/time.ts';

/** Columns that say what a row of usage is of, beside its hour. */
const DIMENSIONS = ['organization_id', 'customer_id', 'feature', 'provider', 'model', 'outcome'] as const;

export const USAGE_FIGURES = [
  'calls',
  'unpriced_calls',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'reasoning_tokens',
  'searches',
  'provisional_calls',
  'provisional_cost_usd',
  'provisional_cost_rest_nano_usd',
  'cost_usd',
  'cost_rest_nano_usd',
  'charge_usd',
  'charge_rest_nano_usd',
] as const;

type Figure = (typeof USAGE_FIGURES)[number];
type Key = (typeof DIMENSIONS)[number] | 'paid_model' | 'dimension' | 'key' | 'weeks';

/** What a row is the sum of: an hour, a day, a week, or all time up to the end of an hour. */
type Unit = 'hour' | 'day' | 'week' | 'until hour';

/** A table whose rows are of customers or of an organization, and of a time; a row of a span bounds what it has. */
export interface Kept {
  table: string;
  keys: readonly Key[];
  unit: Unit | 'span';
}

export interface RollUp extends Kept {
  unit: Unit;
  /** Columns that are summed, as expressions of those of the changes; all figures where it is absent. */
  figures?: Readonly<Record<string, string>>;
  /** Which changes count; all where it is absent. */
  where?: string;
}

const COST_FIGURES = { cost_usd: 'cost_usd', cost_rest_nano_usd: 'cost_rest_nano_usd' };

export const ROLL_UPS: readonly RollUp[] = [
  { table: 'usage_hours', keys: DIMENSIONS, unit: 'hour' },
  { table: 'organization_hours', keys: ['organization_id', 'dimension', 'key'], unit: 'hour' },
  { table: 'organization_days', keys: ['organization_id', 'dimension', 'key'], unit: 'day' },
  { table: 'feature_hours', keys: ['organization_id', 'feature', 'provider', 'model', 'outcome'], unit: 'hour' },
  { table: 'feature_days', keys: ['organization_id', 'feature', 'provider', 'model', 'outcome'], unit: 'day' },
  { table: 'customer_running_totals', keys: ['organization_id', 'customer_id'], unit: 'until hour' },
  {
    table: 'customer_days',
    keys: ['organization_id', 'customer_id', 'paid_model'],
    unit: 'day',
    figures: {
      calls: 'calls',
      failed_calls: "CASE WHEN outcome = 'FAILED' THEN calls ELSE 0 END",
      ...COST_FIGURES,
    },
    where: "outcome IN ('COMPLETED', 'FAILED')",
  },
  { table: 'feature_running_totals', keys: ['organization_id', 'customer_id', 'feature'], unit: 'until hour' },
];

/** What follows from running totals, and is counted after them. */
const COST_BOUNDS: readonly (Kept & { totals: string })[] = [
  {
    table: 'customer_cost_bounds',
    keys: ['organization_id', 'customer_id', 'weeks'],
    unit: 'span',
    totals: 'customer_running_totals',
  },
  {
    table: 'feature_cost_bounds',
    keys: ['organization_id', 'customer_id', 'feature', 'weeks'],
    unit: 'span',
    totals: 'feature_running_totals',
  },
];

/** Tables of earlier releases, which nothing writes any more. */
const FORMER_ROLL_UPS: readonly Kept[] = [
  { table: 'customer_weeks', keys: ['organization_id', 'customer_id'], unit: 'week' },
  { table: 'feature_customer_weeks', keys: ['organization_id', 'customer_id', 'feature'], unit: 'week' },
];

/** Every table whose rows are erased with their customer, and expire. */
export const KEPT: readonly Kept[] = [...ROLL_UPS, ...COST_BOUNDS, ...FORMER_ROLL_UPS];

/** The lengths of spans, in weeks: a long period has few long spans, so that few customers can be the highest in it. */
export const SPAN_WEEKS = { short: 1, long: 16 } as const;

const ALL_FIGURES = Object.fromEntries(USAGE_FIGURES.map((name) => [name, name]));

/** The start of each unit: its column, and what it is of an hour. */
const STARTS = {
  hour: { column: 'hour_ms', of: 'hour_ms' },
  'until hour': { column: 'hour_ms', of: 'hour_ms' },
  day: { column: 'day_ms', of: `hour_ms / ${DAY_MS} * ${DAY_MS}` },
  week: { column: 'week_ms', of: `hour_ms / ${WEEK_MS} * ${WEEK_MS}` },
  span: { column: 'start_ms', of: `hour_ms / (weeks * ${WEEK_MS}) * (weeks * ${WEEK_MS})` },
} as const;

/** What a change is of. */
const CHANGE_KEY_COLUMNS = [...DIMENSIONS, 'paid_model', 'hour_ms'] as const;

/** The columns of a change, in the order in which they are noted. */
export const CHANGE_COLUMNS = [...CHANGE_KEY_COLUMNS, ...USAGE_FIGURES] as const;

/** Changes in one row: with the longest ids and names, it stays below the 2 MB that D1 takes. */
const PART_CHANGES_MAX = 200;

/** Notes the changes that a query selects, which has `CHANGE_COLUMNS` in their order. */
export function noteChanges(query: string): string {
  const columns = CHANGE_COLUMNS.join(', ');
  return `WITH noted (${columns}) AS (${query})
    INSERT INTO usage_change_parts (changes) SELECT json_group_array(json_array(${columns}))
    FROM (SELECT *, (ROW_NUMBER() OVER () - 1) / ${PART_CHANGES_MAX} AS part FROM noted) GROUP BY part`;
}

/** What was noted, as rows of a table of that name, each key once. */
const changesAs = (table: string) => `WITH noted AS MATERIALIZED (
    SELECT jsonb(value) AS change FROM usage_change_parts CROSS JOIN json_each(changes)),
  ${table} AS MATERIALIZED (
    SELECT ${CHANGE_COLUMNS.map((name, place) => {
      const value = `change ->> ${place}`;
      return place < CHANGE_KEY_COLUMNS.length ? `${value} AS ${name}` : `SUM(${value}) AS ${name}`;
    }).join(', ')} FROM noted GROUP BY ${CHANGE_KEY_COLUMNS.map((_, place) => place + 1).join(', ')})`;

const NOTED_CHANGES = changesAs('usage_changes');

/** The same without changes that add up to nothing, so that a call whose usage stays the same changes no roll-up. */
const COUNTED_CHANGES = `${changesAs('summed')},
  usage_changes AS MATERIALIZED (SELECT * FROM summed WHERE ${USAGE_FIGURES.map((name) => `${name} <> 0`).join(' OR ')})`;

/** Each change once for each dimension of an organization's roll-ups. */
const BY_DIMENSION = `(SELECT usage_changes.*, dimension,
    CASE dimension WHEN 'feature' THEN feature WHEN 'provider' THEN provider WHEN 'model' THEN model ELSE outcome END AS key
  FROM usage_changes
  CROSS JOIN (SELECT 'feature' AS dimension UNION ALL SELECT 'provider' UNION ALL SELECT 'model' UNION ALL SELECT 'outcome'))`;

/** Adds the changes to one roll-up. */
function addChanges({ table, keys, unit, figures = ALL_FIGURES, where = 'true' }: RollUp): string {
  if (unit === 'until hour') return addToRunningTotals(table, keys);
  const names = Object.keys(figures);
  const source = keys.includes('dimension') ? BY_DIMENSION : 'usage_changes';
  const start = STARTS[unit];
  const key = [...keys, start.column];
  return `${COUNTED_CHANGES} INSERT INTO ${table} (${[...key, ...names].join(', ')})
    SELECT ${[...keys, start.of, ...Object.values(figures).map((figure) => `SUM(${figure})`)].join(', ')}
    FROM ${source} WHERE ${where} GROUP BY ${key.map((_, index) => index + 1).join(', ')}
    ON CONFLICT DO UPDATE SET ${names.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`;
}

/**
 * A change at an hour changes the running totals of that hour and of every later hour with a row: each becomes the
 * newest earlier total plus all changes up to that hour.
 */
function addToRunningTotals(table: string, keys: readonly Key[]): string {
  const key = keys.join(', ');
  const sameKey = (left: string, right: string) =>
    keys.map((name) => `${left}.${name} = ${right}.${name}`).join(' AND ');
  const sums = USAGE_FIGURES.map(
    (name) => `COALESCE(before.${name}, 0) + COALESCE(SUM(changed.${name}) OVER upward, 0)`,
  );
  return `${COUNTED_CHANGES}, changed AS MATERIALIZED (
      SELECT ${key}, hour_ms, ${USAGE_FIGURES.map((name) => `SUM(${name}) AS ${name}`).join(', ')}
      FROM usage_changes GROUP BY ${key}, hour_ms),
    touched AS MATERIALIZED (
      SELECT ${key}, hour_ms FROM changed
      UNION SELECT ${keys.map((name) => `later.${name}`).join(', ')}, later.hour_ms
      FROM (SELECT ${key}, MIN(hour_ms) AS hour_ms FROM changed GROUP BY ${key}) first
      CROSS JOIN ${table} later ON ${sameKey('later', 'first')} AND later.hour_ms > first.hour_ms)
    INSERT INTO ${table} (${key}, hour_ms, ${USAGE_FIGURES.join(', ')})
    SELECT ${keys.map((name) => `touched.${name}`).join(', ')}, touched.hour_ms, ${sums.join(', ')}
    FROM touched LEFT JOIN changed USING (${key}, hour_ms)
    LEFT JOIN ${table} before ON ${sameKey('before', 'touched')} AND before.hour_ms = (
      SELECT MAX(hour_ms) FROM ${table} other WHERE ${sameKey('other', 'touched')} AND other.hour_ms <= touched.hour_ms)
    WHERE true WINDOW upward AS (PARTITION BY ${keys.map((name) => `touched.${name}`).join(', ')} ORDER BY touched.hour_ms)
    ON CONFLICT DO UPDATE SET ${USAGE_FIGURES.map((name) => `${name} = excluded.${name}`).join(', ')}`;
}

/** A figure, rounded up to the next power of two: less than twice the figure, and seldom another. */
function roundedUp(figure: string): string {
  const step = `(1 << MIN(60, CAST(LOG2(${figure}) AS INTEGER)))`;
  return `CASE WHEN ${figure} <= 1 THEN MAX(${figure}, 0) ELSE (${figure} + ${step} - 1) / ${step} * ${step} END`;
}

/** The bounds of every span with a change, from the running totals before its end and before its start. */
function boundCosts({ table, keys, unit, totals }: (typeof COST_BOUNDS)[number]): string {
  const start = STARTS[unit];
  const own = keys.filter((name) => name !== 'weeks');
  const before = (name: string, atMs: string) =>
    `${totals} ${name} ON ${own.map((key) => `${name}.${key} = spans.${key}`).join(' AND ')} AND ${name}.hour_ms = (
      SELECT MAX(hour_ms) FROM ${totals} other WHERE ${own.map((key) => `other.${key} = spans.${key}`).join(' AND ')} AND other.hour_ms < ${atMs})`;
  const cost = (name: string) => `${name}.cost_usd * 1000000000 + ${name}.cost_rest_nano_usd`;
  return `${COUNTED_CHANGES}, spans AS MATERIALIZED (
      SELECT DISTINCT ${[...keys, `${start.of} AS start_ms`].join(', ')} FROM usage_changes
      CROSS JOIN (SELECT ${SPAN_WEEKS.short} AS weeks UNION ALL SELECT ${SPAN_WEEKS.long})),
    used AS MATERIALIZED (
      SELECT spans.*, ${cost('later')} - COALESCE(${cost('earlier')}, 0) AS cost, later.calls - COALESCE(earlier.calls, 0) AS calls
      FROM spans CROSS JOIN ${before('later', `spans.start_ms + spans.weeks * ${WEEK_MS}`)}
      LEFT JOIN ${before('earlier', 'spans.start_ms')})
    INSERT INTO ${table} (${keys.join(', ')}, start_ms, cost_at_most, calls_at_most)
    SELECT ${keys.join(', ')}, start_ms, ${roundedUp('cost')}, IIF(cost > 0, 0, ${roundedUp('calls')}) FROM used WHERE true
    ON CONFLICT DO UPDATE SET cost_at_most = excluded.cost_at_most, calls_at_most = excluded.calls_at_most
      WHERE cost_at_most <> excluded.cost_at_most OR calls_at_most <> excluded.calls_at_most`;
}

const isOfCustomers = ({ keys }: Kept) => keys.includes('customer_id');

const FORGET_CHANGES = 'DELETE FROM usage_change_parts';

/** Counts what a batch noted: the end of every batch that does. */
export const COUNT_USAGE: readonly string[] = [
  ...ROLL_UPS.map(addChanges),
  ...COST_BOUNDS.map(boundCosts),
  FORGET_CHANGES,
];

const ended = (name: string) => `COALESCE(${name}, 0)`;
const provisional = (figure: string) => `CASE WHEN usage_source IS NULL THEN 0 ELSE ${figure} END`;
const COST_USD = `${ended('cost_nano_usd')} / 1000000000`;
const COST_REST_NANO_USD = `${ended('cost_nano_usd')} % 1000000000`;
/** The name of the model that a call counts under. */
export const MODEL = "COALESCE(model_key, model_used, '')";

/** What a call adds to each figure, of the columns of `calls`. */
const FIGURES_OF_CALL: Readonly<Record<Figure, string>> = {
  calls: '1',
  unpriced_calls: "CASE WHEN status IN ('COMPLETED', 'FAILED') AND cost_nano_usd IS NULL THEN 1 ELSE 0 END",
  input_tokens: ended('input_tokens'),
  cached_input_tokens: ended('cached_input_tokens'),
  output_tokens: ended('response_tokens'),
  reasoning_tokens: ended('reasoning_tokens'),
  searches: ended('searches'),
  provisional_calls: provisional('1'),
  provisional_cost_usd: provisional(COST_USD),
  provisional_cost_rest_nano_usd: provisional(COST_REST_NANO_USD),
  cost_usd: COST_USD,
  cost_rest_nano_usd: COST_REST_NANO_USD,
  charge_usd: `${ended('charge_nano_usd')} / 1000000000`,
  charge_rest_nano_usd: `${ended('charge_nano_usd')} % 1000000000`,
};

/** The columns of `calls` that say what a call counts. */
export const COUNTED_COLUMNS = [
  'organization_id',
  'customer_id',
  'feature',
  'status',
  'started_at_ms',
  'finished_at_ms',
  'usage_provider',
  'model_used',
  'model_key',
  'input_tokens',
  'cached_input_tokens',
  'response_tokens',
  'reasoning_tokens',
  'searches',
  'usage_source',
  'cost_nano_usd',
  'charge_nano_usd',
  'reversed_at_ms',
] as const;

/**
 * The usage of calls, as the rows of changes: `source` has `COUNTED_COLUMNS` and `sign`, 1 for a call that
 * counts from now on and -1 for one that counts no longer. A call counts in the hour of its end; one that was reversed does
 * not count.
 */
export function usageOfCalls(source: string): string {
  const sums = Object.values(FIGURES_OF_CALL).map((figure) => `SUM(sign * (${figure}))`);
  return `SELECT organization_id, customer_id, COALESCE(feature, ''), usage_provider, ${MODEL}, status,
      CASE WHEN cost_nano_usd > 0 THEN ${MODEL} ELSE '' END, COALESCE(finished_at_ms, started_at_ms) / ${HOUR_MS} * ${HOUR_MS},
      ${sums.join(', ')}
    FROM ${source} WHERE status <> 'IN_PROGRESS' AND reversed_at_ms IS NULL GROUP BY 1, 2, 3, 4, 5, 6, 7, 8`;
}

/** Hours of one customer that a step of the erasure takes at most. */
export const ERASED_HOURS_MAX = 1_000;

/**
 * A step of the erasure of a customer (?2) of an organization (?1): takes some of its hours out of the roll-ups of the
 * organization. The last statement but one returns a row for each hour.
 */
export const ERASE_HOURS: readonly string[] = [
  noteChanges(`SELECT ${[...DIMENSIONS, "''", 'hour_ms', ...USAGE_FIGURES.map((name) => `-${name}`)].join(', ')}
   FROM usage_hours WHERE organization_id = ?1 AND customer_id = ?2 LIMIT ${ERASED_HOURS_MAX}`),
  ...ROLL_UPS.filter((rollUp) => !isOfCustomers(rollUp)).flatMap((rollUp) => [addChanges(rollUp), forgetEmpty(rollUp)]),
  `${NOTED_CHANGES} DELETE FROM usage_hours WHERE (${DIMENSIONS.join(', ')}, hour_ms) IN (SELECT ${DIMENSIONS.join(', ')}, hour_ms FROM usage_changes)
   RETURNING 1`,
  FORGET_CHANGES,
];

/** Roll-ups that an erasure deletes rows of, because each row is of one customer, with their keys. */
export const TOTALS_OF_CUSTOMERS = KEPT.filter((rollUp) => isOfCustomers(rollUp) && rollUp.table !== 'usage_hours').map(
  (rollUp) => ({ table: rollUp.table, key: rollUpKey(rollUp).join(', ') }),
);

/** Removes rows that the changes have left without calls. */
function forgetEmpty(rollUp: RollUp): string {
  const { table, keys, unit } = rollUp;
  const source = keys.includes('dimension') ? BY_DIMENSION : 'usage_changes';
  return `${NOTED_CHANGES} DELETE FROM ${table} WHERE calls = 0
    AND (${rollUpKey(rollUp).join(', ')}) IN (SELECT ${[...keys, STARTS[unit].of].join(', ')} FROM ${source})`;
}

/** The columns of a roll-up's primary key. */
export function rollUpKey({ keys, unit }: Kept): string[] {
  return [...keys, STARTS[unit].column];
}
