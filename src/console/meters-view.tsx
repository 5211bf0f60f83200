/**
 * Meters as bars: the used part of each allowance, and the day when it runs out. An allowance that the plan does not
 * include has no bar.
 */

import type { FC } from 'hono/jsx';
import type { MeterSummary } from '../domain/allowances.ts';
import { compact, count, dayMonth, percent } from '../ui/format.ts';
import { MeterBar } from '../ui/small-charts.tsx';

export interface MeterRow {
  name: string;
  meter: MeterSummary;
  /** The forecast's time; absent if the allowance lasts until the renewal, or if that is unknown. */
  runsOutAtMs?: number | null;
  /** The payer after it is used up, or that it is only counted; absent or `null` if neither applies. */
  inPlace?: string | null;
}

export const Meters: FC<{ rows: readonly MeterRow[] }> = ({ rows }) => {
  const included = rows.filter(({ meter: { limit, used } }) => limit !== 0 || used > 0);
  const missing = rows.filter((row) => !included.includes(row));
  return (
    <>
      <div class="meters">
        {included.map((row) => (
          <MeterView {...row} />
        ))}
      </div>
      {missing.length > 0 && (
        <p class="quiet hint">{`Not in the plan: ${missing.map(({ name }) => name.toLowerCase()).join(', ')}.`}</p>
      )}
    </>
  );
};

const MeterView: FC<MeterRow> = ({ name, meter: { used, limit, unlimited, remaining }, runsOutAtMs, inPlace }) => (
  <div>
    <div class="meter-head">
      <span class="meter-name">{name}</span>
      <span class="num" title={limit === null ? count(used) : `${count(used)} of ${count(limit)}`}>
        {compact(used)}
        {limit !== null && limit > 0 && <span class="quiet"> / {compact(limit)}</span>}
      </span>
    </div>
    {limit === null && <div class="unlimited" />}
    {limit !== null && limit > 0 && <MeterBar used={used} limit={limit} goesOn={Boolean(inPlace)} />}
    <p class="meter-foot">
      {unlimited
        ? 'unlimited'
        : limit === 0
          ? `not in the plan, ${inPlace ?? 'counted'}`
          : remaining <= 0
            ? `used up${inPlace ? `: ${inPlace}` : ''}`
            : `${count(remaining)} left, ${percent(remaining / (limit ?? 1))}${runsOutAtMs ? `; used up about ${dayMonth(runsOutAtMs)}` : ''}`}
    </p>
  </div>
);
