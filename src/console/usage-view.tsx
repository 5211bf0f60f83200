/**
 * Usage: totals, charts by day, and rankings of what causes the cost.
 */
import type { Child, FC } from 'hono/jsx';
import { formatUsd, NANO_PER_USD, type NanoUsd } from '../domain/money.ts';
import type { Course, UsageCourse } from '../readings/usage/course.ts';
import { STEP_MS } from '../storage/usage-course.ts';
import { Ranking, type Series, TimeChart } from '../ui/charts.tsx';
import { compact, compactPlural, count, dayMonth, hourOfDay, percent, plural, usd, usdParts } from '../ui/format.ts';
import { Card, Compact, Empty, Stat, Usd } from '../ui/parts.tsx';

export interface DayUsage {
  startMs: number;
  calls: number;
  unpricedCalls: number;
  inputTokens: number;
  outputTokens: number;
  costNanoUsd: NanoUsd;
  /** Of the cost, the part of calls whose usage is partial or estimated. */
  provisionalCostNanoUsd: NanoUsd;
}

export interface GroupUsage {
  name: Child;
  calls: number;
  costNanoUsd: NanoUsd;
}

/** Rows of a ranking. */
const RANKED_MAX = 8;

export const UsageTotals: FC<{ days: readonly DayUsage[] }> = ({ days }) => {
  const sum = (of: (day: DayUsage) => number) => days.reduce((total, day) => total + of(day), 0);
  const nano = (of: (day: DayUsage) => NanoUsd) => days.reduce((total, day) => total + of(day), 0n);
  const cost = nano((day) => day.costNanoUsd);
  const provisional = nano((day) => day.provisionalCostNanoUsd);
  const calls = sum((day) => day.calls);
  const unpriced = sum((day) => day.unpricedCalls);
  const notes = [
    ...(unpriced > 0 ? [`without ${plural(unpriced, 'unpriced call')}`] : []),
    ...(provisional > 0n ? [`${usd(provisional)} of it provisional`] : []),
  ];
  return (
    <dl class="stats">
      <Stat label="Cost" sub={notes.join(', ') || 'every call is priced'}>
        <Usd nano={cost} />
      </Stat>
      <Stat label="Calls" sub={`${compact(calls / Math.max(1, days.length))} a day`}>
        <Compact value={calls} />
      </Stat>
      <Stat label="Tokens in" sub="cache reads included">
        <Compact value={sum((day) => day.inputTokens)} />
      </Stat>
      <Stat label="Tokens out" sub="reasoning included">
        <Compact value={sum((day) => day.outputTokens)} />
      </Stat>
    </dl>
  );
};

/** What the charts show: one value for each hour or day. */
export interface ChartedUsage extends Pick<UsageCourse, 'step' | 'startsMs' | 'isLastOpen' | 'all'> {
  /** Parts that make up the whole, by name. */
  parts?: readonly { name: string; course: Course }[];
  before?: Course;
  /** Where the mark of an hour or a day leads. */
  linkOf?: (fromMs: number, toMs: number) => string;
}

export const UsageCharts: FC<{ usage: ChartedUsage }> = ({ usage }) => {
  const { step, startsMs, isLastOpen, all, parts = [], before, linkOf } = usage;
  const isHourly = step === 'hour';
  const labelOf = (atMs: number) => (isHourly ? `${dayMonth(atMs)}, ${hourOfDay(atMs)}` : dayMonth(atMs));
  const chart = {
    step: isHourly ? 'Hour' : 'Day',
    labels: startsMs.map(labelOf),
    isLastOpen,
    links: linkOf && startsMs.map((startMs) => linkOf(startMs, startMs + STEP_MS[step])),
  };
  const seriesOf = (name: string, of: (course: Course) => number[]): Series[] =>
    parts.length > 1
      ? parts.map(({ name: part, course }) => ({ name: part, values: of(course) }))
      : [{ name, values: of(all) }];
  const costOf = ({ costNanoUsd }: Course) => costNanoUsd.map(usdNumber);
  const per = isHourly ? 'hour' : 'day';
  return (
    <div class="grid">
      <Card title={`Cost per ${per}`} wide>
        <TimeChart
          {...chart}
          title={`Cost per ${per}`}
          series={seriesOf('Cost', costOf)}
          previous={before && costOf(before)}
          format={(value) => usd(nanoNumber(value))}
          tick={axisUsd}
        />
      </Card>
      <Card title={`Calls per ${per}`}>
        <TimeChart
          {...chart}
          title={`Calls per ${per}`}
          series={seriesOf('Calls', ({ calls }) => calls)}
          previous={before?.calls}
          format={count}
          tick={compact}
        />
      </Card>
      <Card title={`Tokens per ${per}`}>
        <TimeChart
          {...chart}
          title={`Tokens per ${per}`}
          series={[
            { name: 'Input', values: all.inputTokens },
            { name: 'Output', values: all.outputTokens },
          ]}
          format={count}
          tick={compact}
        />
      </Card>
    </div>
  );
};

/** Days as the charts take them; the last one is today. */
export function chartedDays(days: readonly DayUsage[]): ChartedUsage {
  return {
    step: 'day',
    startsMs: days.map(({ startMs }) => startMs),
    isLastOpen: true,
    all: {
      calls: days.map(({ calls }) => calls),
      inputTokens: days.map(({ inputTokens }) => inputTokens),
      outputTokens: days.map(({ outputTokens }) => outputTokens),
      costNanoUsd: days.map(({ costNanoUsd }) => costNanoUsd),
    },
  };
}

export const UsageRanking: FC<{ title: string; groups: readonly GroupUsage[]; total: NanoUsd }> = ({
  title,
  groups,
  total,
}) => {
  const shown = groups.slice(0, RANKED_MAX);
  const rest = shown.reduce((left, { costNanoUsd }) => left - costNanoUsd, total);
  // What is not shown is a part of the whole too.
  const texts = usdParts([...shown.map(({ costNanoUsd }) => costNanoUsd), rest > 0n ? rest : 0n]);
  return (
    <Card title={title}>
      {shown.length === 0 ? (
        <Empty title="No calls">Calls of this period appear here as soon as they end.</Empty>
      ) : (
        <Ranking
          label={title}
          rows={shown.map(({ name, calls, costNanoUsd }, index) => ({
            name,
            share: shareOf(costNanoUsd, total),
            value: <Usd nano={costNanoUsd} show={() => texts[index] ?? ''} />,
            sub: `${total > 0n ? `${percent(shareOf(costNanoUsd, total))} · ` : ''}${compactPlural(calls, 'call')}`,
          }))}
        />
      )}
      {groups.length > RANKED_MAX && (
        <p class="quiet hint">{`and ${count(groups.length - RANKED_MAX)} more: ${texts.at(-1)}`}</p>
      )}
    </Card>
  );
};

/** In thousandths, as they are shown. */
function shareOf(part: NanoUsd, total: NanoUsd): number {
  return total > 0n ? Number((part * 1000n + total / 2n) / total) / 1000 : 0;
}

/** For charts only. */
function usdNumber(nano: NanoUsd): number {
  return Number(formatUsd(nano));
}

function nanoNumber(value: number): NanoUsd {
  return BigInt(Math.round(value * Number(NANO_PER_USD)));
}

/** `$0.5`, `$20`, `$1.2K`. */
function axisUsd(value: number): string {
  return value < 1 && value > 0 ? `$${Number(value.toPrecision(2))}` : `$${compact(value)}`;
}
