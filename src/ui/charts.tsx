/**
 * Charts as SVG, rendered on the server. The drawing scales with its container; labels are HTML text around it, so that
 * they keep their size on any screen. Each mark has its value as a title, and every chart has its figures as a table.
 */
import { scaleBand, scaleLinear, scalePoint } from 'd3-scale';
import { area, curveMonotoneX, curveStepAfter, line, stack } from 'd3-shape';
import type { Child, FC } from 'hono/jsx';
import { percent } from './format.ts';

const WIDTH = 1000;
const HEIGHT = 200;
const TICKS = 4;
/** Labels under a chart. */
const LABELS_MAX = 5;
/** Beyond this, gaps between bars would be thinner than a pixel. */
const BARS_MAX = 45;

export interface Series {
  name: string;
  values: readonly number[];
}

export interface TimeChartProps {
  title: string;
  /** One for each value. */
  labels: readonly string[];
  series: readonly Series[];
  format: (value: number) => string;
  /** Short form for the axis. */
  tick: (value: number) => string;
  kind?: 'bars' | 'area';
}

/** Values over time: bars of one or more stacked series, or an area. */
export const TimeChart: FC<TimeChartProps> = ({ title, labels, series, format, tick, kind = 'bars' }) => {
  const totals = labels.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const y = scaleLinear([0, Math.max(...totals, 0) || 1], [HEIGHT, 0]).nice(TICKS);
  const top = y.domain()[1] ?? 1;
  const ticks = y.ticks(TICKS);
  const even = ticks.at(-1) === top ? ticks : [0, top];
  return (
    <figure class="chart">
      <div class="chart-body">
        <ol class="y-axis" aria-hidden="true">
          {even.toReversed().map((value) => (
            <li>{tick(value)}</li>
          ))}
        </ol>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}, ${labels[0]} to ${labels.at(-1)}`}
        >
          {even.map((value) => (
            <line class="rule" x1="0" x2={WIDTH} y1={y(value)} y2={y(value)} />
          ))}
          {kind === 'bars' ? <Bars labels={labels} series={series} y={y} /> : <Area values={totals} y={y} />}
          <Hover labels={labels} series={series} totals={totals} format={format} />
        </svg>
        <span />
        <ol class="x-axis" aria-hidden="true">
          {spread(labels).map((label) => (
            <li>{label}</li>
          ))}
        </ol>
      </div>
      {series.length > 1 && (
        <ul class="legend">
          {series.map(({ name }, index) => (
            <li class={`key s${index}`}>{name}</li>
          ))}
        </ul>
      )}
      <Figures title={title} labels={labels} series={series} format={format} />
    </figure>
  );
};

type Scale = (value: number) => number;

function bands(length: number) {
  const keys = Array.from({ length }, (_, index) => String(index));
  return scaleBand(keys, [0, WIDTH])
    .paddingInner(length > BARS_MAX ? 0.1 : 0.28)
    .paddingOuter(0.1);
}

const Bars: FC<{ labels: readonly string[]; series: readonly Series[]; y: Scale }> = ({ labels, series, y }) => {
  const x = bands(labels.length);
  const rows = labels.map((_, index) =>
    Object.fromEntries(series.map(({ values }, order) => [String(order), values[index] ?? 0])),
  );
  const layers = stack<Record<string, number>>().keys(series.map((_, order) => String(order)))(rows);
  return (
    <>
      {layers.map((layer, order) => (
        <g class={`bars s${order}`}>
          {layer.map(
            ([from, to], index) =>
              to > from && (
                <rect
                  x={fixed(x(String(index)) ?? 0)}
                  width={fixed(x.bandwidth())}
                  y={fixed(y(to))}
                  height={fixed(y(from) - y(to))}
                />
              ),
          )}
        </g>
      ))}
    </>
  );
};

const Area: FC<{ values: readonly number[]; y: Scale }> = ({ values, y }) => {
  const x = bands(values.length);
  const centre = (index: number) => (x(String(index)) ?? 0) + x.bandwidth() / 2;
  const points = values.map((value, index) => [centre(index), y(value)] as [number, number]);
  const shape = area<[number, number]>()
    .x(([at]) => at)
    .y0(HEIGHT)
    .y1(([, value]) => value)
    .curve(curveMonotoneX);
  const edge = line<[number, number]>().curve(curveMonotoneX);
  return (
    <>
      <path class="area s0" d={shape.digits(1)(points) ?? ''} />
      <path class="edge s0" d={edge.digits(1)(points) ?? ''} />
    </>
  );
};

/** An invisible strip over each mark, with its values as a title. */
const Hover: FC<{
  labels: readonly string[];
  series: readonly Series[];
  totals: readonly number[];
  format: (value: number) => string;
}> = ({ labels, series, totals, format }) => {
  const width = WIDTH / Math.max(1, labels.length);
  const words = (index: number) =>
    series.length > 1
      ? series.map(({ name, values }) => `${name}: ${format(values[index] ?? 0)}`).join('\n')
      : format(totals[index] ?? 0);
  return (
    <g class="hover">
      {labels.map((label, index) => (
        <rect x={fixed(index * width)} y="0" width={fixed(width)} height={HEIGHT}>
          <title>{`${label}\n${words(index)}`}</title>
        </rect>
      ))}
    </g>
  );
};

const Figures: FC<Pick<TimeChartProps, 'title' | 'labels' | 'series' | 'format'>> = ({
  title,
  labels,
  series,
  format,
}) => (
  <details class="figures">
    <summary>Figures</summary>
    <table>
      <caption class="unseen">{title}</caption>
      <thead>
        <tr>
          <th scope="col">Day</th>
          {series.map(({ name }) => (
            <th scope="col" class="figure">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {labels.map((label, index) => (
          <tr>
            <th scope="row">{label}</th>
            {series.map(({ values }) => (
              <td class="figure num">{format(values[index] ?? 0)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </details>
);

/** A line without axes, beside a figure. */
export const Sparkline: FC<{ values: readonly number[]; label: string }> = ({ values, label }) => {
  const x = scalePoint(
    values.map((_, index) => String(index)),
    [0, 100],
  );
  const y = scaleLinear([0, Math.max(...values, 0) || 1], [23, 1]);
  const path = line<number>()
    .x((_, index) => x(String(index)) ?? 0)
    .y((value) => y(value))
    .curve(curveMonotoneX)
    .digits(1)(values as number[]);
  return (
    <svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={label}>
      <path class="edge s0" d={path ?? ''} />
    </svg>
  );
};

export interface Ranked {
  name: Child;
  /** The value of the bar. */
  size: number;
  value: Child;
  sub?: Child;
}

/** A ranking: names with their values, each with a bar. */
export const Ranking: FC<{ rows: readonly Ranked[]; label: string }> = ({ rows, label }) => {
  const largest = Math.max(...rows.map(({ size }) => size), 0) || 1;
  return (
    <ol class="ranking" aria-label={label}>
      {rows.map(({ name, size, value, sub }) => (
        <li>
          <div class="ranking-row">
            <span class="ranking-name">{name}</span>
            <span class="ranking-value">{value}</span>
          </div>
          <Bar share={size / largest} />
          {sub && <p class="ranking-sub">{sub}</p>}
        </li>
      ))}
    </ol>
  );
};

/** A share of a whole as a bar. Decorative: the figures are beside it. */
export const Bar: FC<{ share: number; tone?: string }> = ({ share, tone = 's0' }) => (
  <svg class={`bar ${tone}`} viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
    <rect class="bar-back" width="100" height="6" />
    <rect class="bar-front" width={fixed(Math.min(100, Math.max(0, share * 100)))} height="6" />
  </svg>
);

/** How much of an allowance is used; the color warns from a high share on. */
export const MeterBar: FC<{ used: number; limit: number }> = ({ used, limit }) => {
  const share = limit === 0 ? 1 : used / limit;
  return <Bar share={share} tone={share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'good'} />;
};

export interface Step {
  atMs: number;
  values: readonly (number | null)[];
}

/** A step chart: values that hold until the next one, such as prices. */
export const StepChart: FC<{
  title: string;
  names: readonly string[];
  steps: readonly Step[];
  untilMs: number;
  tick: (value: number) => string;
  date: (atMs: number) => string;
}> = ({ title, names, steps, untilMs, tick, date }) => {
  const fromMs = steps[0]?.atMs ?? untilMs - 1;
  const x = scaleLinear([fromMs, Math.max(untilMs, fromMs + 1)], [0, WIDTH]);
  const y = scaleLinear(
    [0, Math.max(0, ...steps.flatMap(({ values }) => values.map((value) => value ?? 0))) || 1],
    [HEIGHT, 0],
  ).nice(TICKS);
  const ticks = y.ticks(TICKS);
  const pathOf = (order: number) =>
    line<Step>()
      .defined(({ values }) => values[order] != null)
      .x(({ atMs }) => x(atMs))
      .y(({ values }) => y(values[order] ?? 0))
      .curve(curveStepAfter)
      .digits(1)([...steps, { atMs: untilMs, values: steps.at(-1)?.values ?? [] }]) ?? '';
  return (
    <figure class="chart">
      <div class="chart-body">
        <ol class="y-axis" aria-hidden="true">
          {ticks.toReversed().map((value) => (
            <li>{tick(value)}</li>
          ))}
        </ol>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={title}>
          {ticks.map((value) => (
            <line class="rule" x1="0" x2={WIDTH} y1={y(value)} y2={y(value)} />
          ))}
          {names.map((_, order) => (
            <path class={`edge s${order}`} d={pathOf(order)} />
          ))}
        </svg>
        <span />
        <ol class="x-axis" aria-hidden="true">
          <li>{date(fromMs)}</li>
          <li>{date(untilMs)}</li>
        </ol>
      </div>
      <ul class="legend">
        {names.map((name, order) => (
          <li class={`key s${order}`}>{name}</li>
        ))}
      </ul>
    </figure>
  );
};

/** A progress bar. */
export const Progress: FC<{ done: number; total: number; label: string }> = ({ done, total, label }) => (
  <div class="progress">
    <progress value={done} max={Math.max(1, total)} aria-label={label} />
    <span class="num">{percent(total === 0 ? 1 : done / total)}</span>
  </div>
);

/** A few evenly spaced labels, the first and the last among them. */
function spread(labels: readonly string[]): string[] {
  if (labels.length <= LABELS_MAX) return [...labels];
  return Array.from(
    { length: LABELS_MAX },
    (_, index) => labels[Math.round((index * (labels.length - 1)) / (LABELS_MAX - 1))] ?? '',
  );
}

function fixed(value: number): string {
  return String(Math.round(value * 10) / 10);
}
