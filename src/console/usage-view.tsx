/**
 * Usage: totals, charts by day, and rankings of what causes the cost.
 */
import type { Child, FC } from 'hono/jsx';
import { formatUsd, NANO_PER_USD, type NanoUsd } from '../domain/money.ts';
import { Ranking, type Series, TimeChart } from '../ui/charts.tsx';
import { compact, count, dayMonth, percent, usd } from '../ui/format.ts';
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
    ...(unpriced > 0 ? [`without ${count(unpriced)} unpriced calls`] : []),
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

export const UsageCharts: FC<{ days: readonly DayUsage[] }> = ({ days }) => {
  const labels = days.map(({ startMs }) => dayMonth(startMs));
  const one = (name: string, of: (day: DayUsage) => number): Series => ({ name, values: days.map(of) });
  return (
    <div class="grid">
      <Card title="Cost per day" wide>
        <TimeChart
          title="Cost per day"
          labels={labels}
          series={[one('Cost', ({ costNanoUsd }) => usdNumber(costNanoUsd))]}
          format={(value) => usd(nanoNumber(value))}
          tick={axisUsd}
          kind="area"
        />
      </Card>
      <Card title="Calls per day">
        <TimeChart
          title="Calls per day"
          labels={labels}
          series={[one('Calls', (day) => day.calls)]}
          format={count}
          tick={compact}
        />
      </Card>
      <Card title="Tokens per day">
        <TimeChart
          title="Tokens per day"
          labels={labels}
          series={[one('Input', (day) => day.inputTokens), one('Output', (day) => day.outputTokens)]}
          format={count}
          tick={compact}
        />
      </Card>
    </div>
  );
};

export const UsageRanking: FC<{ title: string; groups: readonly GroupUsage[]; total: NanoUsd }> = ({
  title,
  groups,
  total,
}) => (
  <Card title={title}>
    {groups.length === 0 ? (
      <Empty title="No calls">Calls of this period appear here as soon as they end.</Empty>
    ) : (
      <Ranking
        label={title}
        rows={groups.slice(0, RANKED_MAX).map(({ name, calls, costNanoUsd }) => ({
          name,
          size: usdNumber(costNanoUsd),
          value: <Usd nano={costNanoUsd} />,
          sub: `${total > 0n ? `${percent(Number((costNanoUsd * 1000n) / total) / 1000)} · ` : ''}${compact(calls)} calls`,
        }))}
      />
    )}
    {groups.length > RANKED_MAX && <p class="quiet hint">and {count(groups.length - RANKED_MAX)} more</p>}
  </Card>
);

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
