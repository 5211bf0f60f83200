/**
 * Recomputes every roll-up of an organization from its calls and counts of denied and failed calls, row by row.
 */
import { ROLL_UPS, USAGE_FIGURES } from '../../src/history/roll-ups.ts';
import type { Row } from './state.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** The length of each unit. */
const LENGTHS = { hour: HOUR_MS, day: DAY_MS, week: WEEK_MS, 'until hour': HOUR_MS };
const DIMENSION_KEYS = ['feature', 'provider', 'model', 'outcome'] as const;

interface Change {
  /** By column. */
  keys: Record<string, string>;
  hourMs: number;
  figures: Record<string, bigint>;
}

/** Sentences about roll-ups that differ from the sums of the calls. */
export function wrongRollUps(
  calls: readonly Row[],
  { denied, failed }: { denied: readonly Row[]; failed: readonly Row[] },
  tableOf: (table: string) => Row[],
): string[] {
  const changes = [...calls.flatMap(changeOfCall), ...denied.map(changeOfDenied), ...failed.map(changeOfFailed)];
  return ROLL_UPS.flatMap((rollUp) => {
    const { table, keys, unit, where } = rollUp;
    const names = Object.keys(rollUp.figures ?? Object.fromEntries(USAGE_FIGURES.map((name) => [name, name])));
    const counted = where
      ? changes.filter(({ keys: { outcome } }) => outcome === 'COMPLETED' || outcome === 'FAILED')
      : changes;
    const spread = keys.includes('dimension') ? counted.flatMap(byDimension) : counted;
    const start = unit === 'until hour' ? 'hour_ms' : `${unit}_ms`;
    const unitStartMs = ({ hourMs }: Change) => Math.floor(hourMs / LENGTHS[unit]) * LENGTHS[unit];
    const identify = (row: Record<string, unknown>) =>
      JSON.stringify([...keys, start].map((name) => String(row[name])));
    const expected = new Map<string, bigint[]>();
    for (const change of spread) {
      const id = identify({ ...change.keys, [start]: unitStartMs(change) });
      // A running total is the sum of everything up to its hour.
      const of =
        unit === 'until hour'
          ? spread.filter(
              (other) => other.hourMs <= change.hourMs && keys.every((key) => other.keys[key] === change.keys[key]),
            )
          : [change];
      const before = unit === 'until hour' ? undefined : expected.get(id);
      expected.set(
        id,
        of.reduce(
          (sums, { figures }) => sums.map((sum, index) => sum + (figures[names[index] ?? ''] ?? 0n)),
          before ?? names.map(() => 0n),
        ),
      );
    }
    const found = new Map(tableOf(table).map((row) => [identify(row), names.map((name) => BigInt(String(row[name])))]));
    return [...new Set([...expected.keys(), ...found.keys()])].flatMap((id) => {
      const [sums, stored] = [normal(names, expected.get(id)), normal(names, found.get(id))];
      return sums === stored ? [] : [`${table} ${id}: ${stored} instead of ${sums}`];
    });
  });
}

/** The figures as text, the cost as one number; a row of zeros counts as absent. */
function normal(names: readonly string[], sums: readonly bigint[] | undefined): string {
  const figures = Object.fromEntries(names.map((name, index) => [name, sums?.[index] ?? 0n]));
  const { cost_usd = 0n, cost_rest_nano_usd = 0n, ...others } = figures;
  return [
    ...Object.entries(others).map(([name, value]) => `${name} ${value}`),
    `cost ${cost_usd * 1_000_000_000n + cost_rest_nano_usd}`,
  ].join(', ');
}

function changeOfCall(call: Row): Change[] {
  if (call.status === 'IN_PROGRESS') return [];
  const number = (column: string) => BigInt(String(call[column] ?? 0));
  const ended = call.status === 'COMPLETED' || call.status === 'FAILED';
  const [cost, charge] = [number('cost_nano_usd'), number('charge_nano_usd')];
  const isProvisional = call.usage_source !== null && call.usage_source !== undefined;
  const model = String(call.model_key ?? call.model_used ?? '');
  return [
    {
      keys: rowKeys(call, {
        feature: String(call.feature ?? ''),
        provider: String(call.usage_provider),
        model,
        outcome: String(call.status),
        paid_model: cost > 0n ? model : '',
      }),
      hourMs: hourStartMs(call.finished_at_ms ?? call.started_at_ms ?? 0),
      figures: {
        calls: 1n,
        failed_calls: call.status === 'FAILED' ? 1n : 0n,
        unpriced_calls: ended && call.cost_nano_usd === null ? 1n : 0n,
        input_tokens: number('input_tokens'),
        cached_input_tokens: number('cached_input_tokens'),
        output_tokens: number('response_tokens'),
        reasoning_tokens: number('reasoning_tokens'),
        searches: number('searches'),
        provisional_calls: isProvisional ? 1n : 0n,
        provisional_cost_usd: isProvisional ? cost / 1_000_000_000n : 0n,
        provisional_cost_rest_nano_usd: isProvisional ? cost % 1_000_000_000n : 0n,
        cost_usd: cost / 1_000_000_000n,
        cost_rest_nano_usd: cost % 1_000_000_000n,
        charge_usd: charge / 1_000_000_000n,
        charge_rest_nano_usd: charge % 1_000_000_000n,
      },
    },
  ];
}

function changeOfDenied(hour: Row): Change {
  const none = { provider: '', model: '', outcome: 'NOT_ALLOWED', paid_model: '' };
  return {
    keys: rowKeys(hour, { feature: String(hour.feature), ...none }),
    hourMs: Number(hour.hour_ms),
    figures: { calls: BigInt(String(hour.calls)) },
  };
}

function changeOfFailed(hour: Row): Change {
  return {
    keys: rowKeys(hour, { feature: '', provider: '', model: '', outcome: 'FAILED', paid_model: '' }),
    hourMs: Number(hour.hour_ms),
    figures: { calls: BigInt(String(hour.calls)), unpriced_calls: BigInt(String(hour.unpriced_calls)) },
  };
}

function rowKeys(row: Row, more: Record<string, string>): Record<string, string> {
  return { organization_id: String(row.organization_id), customer_id: String(row.customer_id), ...more };
}

function hourStartMs(atMs: NonNullable<Row[string]>): number {
  return Math.floor(Number(atMs) / HOUR_MS) * HOUR_MS;
}

/** A change once for each dimension of an organization. */
function byDimension(change: Change): Change[] {
  return DIMENSION_KEYS.map((dimension) => ({
    ...change,
    keys: { ...change.keys, dimension, key: change.keys[dimension] ?? '' },
  }));
}
