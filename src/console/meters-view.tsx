/**
 * Meters as bars: how much of each allowance is used.
 */

import type { FC } from 'hono/jsx';
import type { MeterSummary } from '../domain/allowances.ts';
import { MeterBar } from '../ui/charts.tsx';
import { compact, count, percent } from '../ui/format.ts';

export interface MeterRow {
  name: string;
  meter: MeterSummary;
}

export const Meters: FC<{ rows: readonly MeterRow[] }> = ({ rows }) => (
  <div class="meters">
    {rows.map(({ name, meter }) => (
      <MeterView name={name} meter={meter} />
    ))}
  </div>
);

const MeterView: FC<MeterRow> = ({ name, meter: { used, limit, unlimited, remaining } }) => (
  <div>
    <div class="meter-head">
      <span class="meter-name">{name}</span>
      <span class="num" title={limit === null ? count(used) : `${count(used)} of ${count(limit)}`}>
        {compact(used)}
        <span class="quiet"> / {limit === null ? '∞' : compact(limit)}</span>
      </span>
    </div>
    {limit === null ? <div class="unlimited" /> : <MeterBar used={used} limit={limit} />}
    <p class="meter-foot">
      {unlimited
        ? 'unlimited'
        : limit === 0
          ? 'not included'
          : `${count(remaining)} left, ${percent(remaining / (limit ?? 1))}`}
    </p>
  </div>
);
