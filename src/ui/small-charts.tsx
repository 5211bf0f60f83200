/**
 * Charts beside a figure or in a row: a sparkline, a ranking, the bar of a meter, a progress bar. Each also states its
 * values in words.
 */
import { scaleLinear } from 'd3-scale';
import type { Child, FC } from 'hono/jsx';
import { describeChange, fixed } from './charts.tsx';
import { percent } from './format.ts';

interface SparklineProps {
  values: readonly number[];
  label: string;
  /** States a value with its unit, such as `$1.20` or `3 calls`. */
  format: (value: number) => string;
}

/**
 * Values over time as bars without axes, beside a figure. The text states the first value, the last value and the
 * change.
 */
export const Sparkline: FC<SparklineProps> = ({ values, label, format }) => {
  const text = `${label}: ${describeChange(values, format)}`;
  const y = scaleLinear([0, Math.max(...values, 0) || 1], [0, 24]);
  const width = 100 / Math.max(1, values.length);
  return (
    <svg class="spark s0" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={text}>
      <title>{text}</title>
      {values.map(
        (value, index) =>
          value > 0 && (
            <rect
              x={fixed(index * width)}
              width={fixed(width * 0.8)}
              y={fixed(24 - y(value))}
              height={fixed(Math.max(1, y(value)))}
            />
          ),
      )}
    </svg>
  );
};

export interface Ranked {
  name: Child;
  /** The part of the whole, from 0 to 1, shown as a bar. */
  share: number;
  value: Child;
  sub?: Child;
}

/** A ranking: names with their values, and the share of each as a bar. */
export const Ranking: FC<{ rows: readonly Ranked[]; label: string }> = ({ rows, label }) => (
  <ol class="ranking" aria-label={label}>
    {rows.map(({ name, share, value, sub }) => (
      <li>
        <div class="ranking-row">
          <span class="ranking-name">{name}</span>
          <span class="ranking-value">{value}</span>
        </div>
        <Bar share={share} />
        {sub && <p class="ranking-sub">{sub}</p>}
      </li>
    ))}
  </ol>
);

/** A share of a whole as a bar. It is decorative: the figures stand beside it. */
export const Bar: FC<{ share: number; tone?: string }> = ({ share, tone = 's0' }) => (
  <svg class={`bar ${tone}`} viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
    <rect class="bar-back" width="100" height="6" />
    <rect class="bar-front" width={fixed(Math.min(100, Math.max(0, share * 100)))} height="6" />
  </svg>
);

/**
 * The used part of an allowance. The color warns from a high share on, and warns less if usage continues beyond the
 * limit.
 */
export const MeterBar: FC<{ used: number; limit: number; goesOn?: boolean }> = ({ used, limit, goesOn = false }) => {
  // An allowance of zero is not used up.
  const share = limit === 0 ? Math.min(1, used) : used / limit;
  return <Bar share={share} tone={share >= 1 && !goesOn ? 'bad' : share >= 0.8 ? 'warn' : 'good'} />;
};

export const Progress: FC<{ done: number; total: number; label: string }> = ({ done, total, label }) => (
  <div class="progress">
    <progress value={done} max={Math.max(1, total)} aria-label={label} />
    <span class="num">{percent(total === 0 ? 1 : done / total)}</span>
  </div>
);
