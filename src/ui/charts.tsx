/**
 * Charts as SVG, rendered on the server. The drawing scales with its container. Labels are HTML text around it, so that
 * they keep their size on any screen. A mark shows its values under the pointer and with the focus. Every chart also
 * has its figures as a table.
 */
import { scaleBand, scaleLinear } from 'd3-scale';
import { curveStepAfter, line, stack, stackOffsetDiverging } from 'd3-shape';
import type { FC } from 'hono/jsx';
import { percent } from './format.ts';

const WIDTH = 1000;
const HEIGHT = 200;
const TICKS = 4;
/** The most labels under a chart. */
const LABELS_MAX = 5;
/** The most bars with gaps; beyond it the gaps would be thinner than a pixel. */
const BARS_MAX = 45;

export interface Series {
  name: string;
  values: readonly number[];
  /** The number of unknown amounts in each value. */
  lacking?: readonly number[] | undefined;
}

export interface TimeChartProps {
  title: string;
  /** The noun for a mark: `Day`, `Hour`, `Customer`. */
  step: string;
  /** One label for each value. */
  labels: readonly string[];
  series: readonly Series[];
  /** The text of a value; `lacking` is the number of unknown amounts in it. */
  format: (value: number, lacking: number) => string;
  /** The short text of a value, for the axis. */
  tick: (value: number) => string;
  /** Totals of the period before, one for each value, drawn as a line behind the bars. */
  previous?: readonly number[] | undefined;
  previousLacking?: readonly number[] | undefined;
  /** The legend entry for incomplete marks. */
  lackingName?: string;
  /** Whether the period of the last value is still open; its bar is then hatched. */
  isLastOpen?: boolean;
  /** The address of the page behind each mark. */
  links?: readonly string[] | undefined;
}

/**
 * Values over time, or values side by side, as bars of one or more stacked series. Negative values hang below the axis.
 */
export const TimeChart: FC<TimeChartProps> = (chart) => {
  const { title, labels, series, tick, previous = [] } = chart;
  const totals = labels.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const lacking = labels.map((_, index) => series.reduce((sum, one) => sum + (one.lacking?.[index] ?? 0), 0));
  const [lowest, highest] = [Math.min(...totals, 0), Math.max(...totals, ...previous, 0)];
  const y = scaleLinear([lowest, lowest < 0 ? highest : highest || 1], [HEIGHT, 0]).nice(TICKS);
  const [bottom = 0, top = 1] = y.domain();
  const ticks = y.ticks(TICKS);
  const even = ticks.at(0) === bottom && ticks.at(-1) === top ? ticks : [bottom, top];
  return (
    <figure class="chart">
      <div class="chart-body">
        <ol class="y-axis" aria-hidden="true">
          {even.toReversed().map((value) => (
            <li>{tick(value)}</li>
          ))}
        </ol>
        <div class="plot">
          <svg
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={`${title}, ${labels[0]} to ${labels.at(-1)}`}
          >
            {even.map((value) => (
              <line class="rule" x1="0" x2={WIDTH} y1={y(value)} y2={y(value)} />
            ))}
            {bottom < 0 && <line class="rule zero" x1="0" x2={WIDTH} y1={y(0)} y2={y(0)} />}
            <Bars {...chart} y={y} />
            {previous.length > 0 && <Previous values={previous} y={y} />}
            <Lacking lacking={lacking} totals={totals} y={y} />
          </svg>
          <Marks {...chart} totals={totals} lacking={lacking} />
        </div>
        <span />
        <ol class="x-axis" aria-hidden="true">
          {spread(labels).map((label) => (
            <li>{label}</li>
          ))}
        </ol>
      </div>
      <Legend {...chart} lacking={lacking} />
      <Figures {...chart} totals={totals} lacking={lacking} />
    </figure>
  );
};

type MarkedChart = TimeChartProps & Totals;
type Scale = (value: number) => number;

function bands(length: number) {
  const keys = Array.from({ length }, (_, index) => String(index));
  return scaleBand(keys, [0, WIDTH])
    .paddingInner(length > BARS_MAX ? 0.1 : 0.28)
    .paddingOuter(0.1);
}

const Bars: FC<Pick<TimeChartProps, 'labels' | 'series' | 'isLastOpen'> & { y: Scale }> = ({
  labels,
  series,
  isLastOpen,
  y,
}) => {
  const x = bands(labels.length);
  const rows = labels.map((_, index) =>
    Object.fromEntries(series.map(({ values }, order) => [String(order), values[index] ?? 0])),
  );
  const layers = stack<Record<string, number>>()
    .keys(series.map((_, order) => String(order)))
    .offset(stackOffsetDiverging)(rows);
  return (
    <>
      {layers.map((layer, order) => (
        <g class={`bars s${order}`}>
          {layer.map(
            ([from, to], index) =>
              to > from && (
                <rect
                  class={to <= 0 ? 'below' : isLastOpen && index === labels.length - 1 ? 'open' : undefined}
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

/** The height of the sign for an incomplete value. */
const LACKING_HEIGHT = 5;

/** A sign on top of each incomplete bar; without a bar it stands on the axis. */
const Lacking: FC<{ lacking: readonly number[]; totals: readonly number[]; y: Scale }> = ({ lacking, totals, y }) => {
  const x = bands(lacking.length);
  return (
    <g class="lacking">
      {lacking.map(
        (value, index) =>
          value > 0 && (
            <rect
              x={fixed(x(String(index)) ?? 0)}
              width={fixed(x.bandwidth())}
              y={fixed(Math.max(0, y(totals[index] ?? 0) - LACKING_HEIGHT))}
              height={String(LACKING_HEIGHT)}
            />
          ),
      )}
    </g>
  );
};

/**
 * The period before, as a separate level for each mark: a line between two sums would show values that do not exist.
 */
const Previous: FC<{ values: readonly number[]; y: Scale }> = ({ values, y }) => {
  const width = WIDTH / values.length;
  const levels = values.map((value, index) => `M${fixed(index * width)} ${fixed(y(value))}h${fixed(width)}`);
  return <path class="previous" d={levels.join('')} />;
};

/**
 * A strip over each mark, which shows the mark's values as text while the pointer, a finger or the focus is on it. If
 * marks have links, each strip is a link. Without script the Tab key skips the strips: the table below has the same
 * values and links, one row each.
 */
const Marks: FC<MarkedChart> = (chart) => {
  const { title, labels, links, isLastOpen } = chart;
  return (
    <ol class="marks" aria-label={title}>
      {labels.map((day, index) => {
        const label = isLastOpen && index === labels.length - 1 ? `${day}, not over` : day;
        const values = markValues(chart, index);
        const shown = <Values label={label} values={values} />;
        // The same words as in the visible text.
        const spoken = [label, ...values.map(({ text }) => text)].join(' ');
        return (
          <li class={index < labels.length / 2 ? 'first' : 'second'}>
            {links?.[index] === undefined ? (
              <span role="img" tabindex={-1} aria-label={spoken}>
                {shown}
              </span>
            ) : (
              <a href={links[index]} tabindex={-1} aria-label={spoken}>
                {shown}
              </a>
            )}
          </li>
        );
      })}
    </ol>
  );
};

interface Totals {
  totals: readonly number[];
  lacking: readonly number[];
}

function valueText({ values, lacking }: Series, index: number, format: TimeChartProps['format']): string {
  return format(values[index] ?? 0, lacking?.[index] ?? 0);
}

interface Value {
  text: string;
  style?: string;
}

/** The values of a mark, below its label: each series if there are several, their sum, and the period before. */
function markValues(chart: MarkedChart, index: number): Value[] {
  const { series, previous, previousLacking, format, totals, lacking } = chart;
  const total = format(totals[index] ?? 0, lacking[index] ?? 0);
  const parts = series.flatMap((one, order) =>
    (one.values[index] ?? 0) !== 0 || (one.lacking?.[index] ?? 0) > 0
      ? [{ text: `${one.name}: ${valueText(one, index, format)}`, style: `key s${order}` }]
      : [],
  );
  const before = previous?.[index];
  return [
    ...(series.length > 1 ? parts : []),
    { text: series.length > 1 ? `In all: ${total}` : total },
    ...(before === undefined
      ? []
      : [{ text: `Period before: ${format(before, previousLacking?.[index] ?? 0)}`, style: 'quiet' }]),
  ];
}

const Values: FC<{ label: string; values: readonly Value[] }> = ({ label, values }) => (
  <span class="values">
    <strong>{label}</strong>
    {values.map(({ text, style }) => (
      <>
        {' '}
        <span class={style}>{text}</span>
      </>
    ))}
  </span>
);

const Legend: FC<TimeChartProps & Pick<Totals, 'lacking'>> = (chart) => {
  const { series, previous, isLastOpen, step, lacking, lackingName } = chart;
  const isLacking = lacking.some((value) => value > 0);
  if (series.length < 2 && !previous && !isLastOpen && !isLacking) return null;
  return (
    <ul class="legend">
      {series.length > 1 && series.map(({ name }, index) => <li class={`key s${index}`}>{name}</li>)}
      {previous && <li class="key before">Period before (line)</li>}
      {isLastOpen && <li class="key open s0">{step === 'Hour' ? 'This hour' : 'Today'}, not over (hatched)</li>}
      {isLacking && <li class="key lacking">{lackingName ?? 'Not known'}</li>}
    </ul>
  );
};

const Figures: FC<TimeChartProps & Totals> = ({
  title,
  step,
  labels,
  series,
  format,
  links,
  totals,
  lacking,
  previous,
  previousLacking,
}) => (
  <details class="figures">
    <summary>Figures</summary>
    <table>
      <caption class="unseen">{title}</caption>
      <thead>
        <tr>
          <th scope="col">{step}</th>
          {series.map(({ name }) => (
            <th scope="col" class="figure">
              {name}
            </th>
          ))}
          {series.length > 1 && (
            <th scope="col" class="figure">
              In all
            </th>
          )}
          {previous && (
            <th scope="col" class="figure">
              Period before
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {labels.map((label, index) => (
          <tr>
            <th scope="row">{links?.[index] === undefined ? label : <a href={links[index]}>{label}</a>}</th>
            {series.map((one) => (
              <td class="figure num">{valueText(one, index, format)}</td>
            ))}
            {series.length > 1 && <td class="figure num">{format(totals[index] ?? 0, lacking[index] ?? 0)}</td>}
            {previous && <td class="figure num">{format(previous[index] ?? 0, previousLacking?.[index] ?? 0)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  </details>
);

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
  const spoken = names.map(
    (name, order) =>
      `${name} ${describeChange(
        steps.map(({ values }) => values[order] ?? null),
        tick,
      )}`,
  );
  const linePath = (order: number) =>
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
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={[title, ...spoken].join('; ')}
        >
          {ticks.map((value) => (
            <line class="rule" x1="0" x2={WIDTH} y1={y(value)} y2={y(value)} />
          ))}
          {names.map((_, order) => (
            <path class={`edge s${order}`} d={linePath(order)} />
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

/** The change as text: `from 3 to 6, 100% more`. */
export function describeChange(values: readonly (number | null)[], format: (value: number) => string): string {
  const [first = 0, last = 0] = [values.at(0) ?? 0, values.at(-1) ?? 0];
  const share = first === 0 ? null : (last - first) / Math.abs(first);
  const change =
    first === last
      ? ', unchanged'
      : share === null
        ? ''
        : `, ${percent(Math.abs(share))} ${share > 0 ? 'more' : 'less'}`;
  return `from ${format(first)} to ${format(last)}${change}`;
}

/** A few evenly spaced labels, with the first and the last. */
function spread(labels: readonly string[]): string[] {
  if (labels.length <= LABELS_MAX) return [...labels];
  return Array.from(
    { length: LABELS_MAX },
    (_, index) => labels[Math.round((index * (labels.length - 1)) / (LABELS_MAX - 1))] ?? '',
  );
}

export function fixed(value: number): string {
  return String(Math.round(value * 10) / 10);
}
