/**
 * Usage: totals, charts by day, and rankings of the largest costs.
 */
import type { Child, FC, PropsWithChildren } from 'hono/jsx';
import type { Figures, UsageSummaryData } from '../contract/usage-summary.ts';
import { formatUsd, NANO_PER_USD, type NanoUsd, usd } from '../domain/money.ts';
import { DAY_MS, HOUR_MS } from '../platform/time.ts';
import type { Course, UsageCourse } from '../readings/usage/course.ts';
import { type Series, TimeChart } from '../ui/charts.tsx';
import { compact, compactPlural, count, dayMonth, hourOfDay, percent, usdParts } from '../ui/format.ts';
import { Card, Compact, Empty, Stat } from '../ui/parts.tsx';
import { Ranking } from '../ui/small-charts.tsx';
import { CostStat, costText, isCostUnknown, KnownCost } from './cost.tsx';
import { ModelName } from './model-name.tsx';

interface GroupUsage {
  name: Child;
  calls: number;
  unpricedCalls: number;
  costNanoUsd: NanoUsd;
}

/** The most rows of a ranking. */
const RANKED_MAX = 8;
/** The most rows below them: groups with calls without a price, which are not ranked by cost. */
const UNPRICED_MAX = 4;

export const UsageTotals: FC<PropsWithChildren<{ summary: UsageSummaryData; unpricedHref: string }>> = ({
  summary: { totals, byDay, byOutcome },
  unpricedHref,
  children,
}) => {
  const denied = byOutcome.find(({ outcome }) => outcome === 'NOT_ALLOWED')?.calls ?? 0;
  const perDay = `${compact(totals.calls / Math.max(1, byDay.length))} a day`;
  return (
    <dl class="stats">
      <CostStat
        costNanoUsd={BigInt(totals.costUsdNano)}
        unpricedCalls={totals.unpricedCalls}
        provisionalCostNanoUsd={BigInt(totals.provisionalCostUsdNano)}
        unpricedHref={unpricedHref}
      />
      {children}
      <Stat label="Calls" sub={denied === 0 ? perDay : `${perDay}, ${count(denied)} denied`}>
        <Compact value={totals.calls} />
      </Stat>
      <Stat label="Tokens in" sub="cache reads included">
        <Compact value={totals.inputTokens} />
      </Stat>
      <Stat label="Tokens out" sub="reasoning included">
        <Compact value={totals.outputTokens} />
      </Stat>
    </dl>
  );
};

interface ChartsProps {
  course: UsageCourse;
  /** The address behind the mark of an hour or a day. */
  linkOf?: ((period: { fromMs: number; toMs: number }) => string) | undefined;
}

export const UsageCharts: FC<ChartsProps> = ({ course: usage, linkOf }) => {
  const { step, startsMs, isLastOpen, all, before } = usage;
  const parts = modelParts(usage);
  const isHourly = step === 'hour';
  const startLabel = (atMs: number) => (isHourly ? `${dayMonth(atMs)}, ${hourOfDay(atMs)}` : dayMonth(atMs));
  const chart = {
    step: isHourly ? 'Hour' : 'Day',
    labels: startsMs.map(startLabel),
    isLastOpen,
    links: linkOf && startsMs.map((fromMs) => linkOf({ fromMs, toMs: fromMs + (isHourly ? HOUR_MS : DAY_MS) })),
  };
  const makeSeries = (
    name: string,
    of: (course: Course) => number[],
    countLacking?: (course: Course) => number[],
  ): Series[] =>
    (parts.length > 1 ? parts : [{ name, course: all }]).map(({ name: part, course }) => ({
      name: part,
      values: of(course),
      lacking: countLacking?.(course),
    }));
  const getUnpriced = ({ unpricedCalls }: Course) => unpricedCalls;
  const costsInUsd = ({ costNanoUsd }: Course) => costNanoUsd.map(usdNumber);
  const per = isHourly ? 'hour' : 'day';
  return (
    <div class="grid">
      <Card title={`Cost per ${per}`} wide>
        <TimeChart
          {...chart}
          title={`Cost per ${per}`}
          series={makeSeries('Cost', costsInUsd, getUnpriced)}
          previous={costsInUsd(before)}
          previousLacking={before.unpricedCalls}
          format={(value, unpricedCalls) => costText({ costNanoUsd: nanoNumber(value), unpricedCalls })}
          tick={axisUsd}
          lackingName="Calls without a price"
        />
      </Card>
      <Card title={`Calls per ${per}`}>
        <TimeChart
          {...chart}
          title={`Calls per ${per}`}
          series={makeSeries('Calls', ({ calls }) => calls)}
          previous={before.calls}
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

/** The named models, and the others if they have calls. */
function modelParts({ models, others }: UsageCourse): { name: string; course: Course }[] {
  const named = models.map(({ model, ...course }) => ({ name: model === '' ? 'not reported' : model, course }));
  const rest = others.calls.some((calls) => calls > 0) ? [{ name: 'others', course: others }] : [];
  return [...named, ...rest];
}

const UsageRanking: FC<{ title: string; groups: readonly GroupUsage[]; total: NanoUsd }> = ({
  title,
  groups,
  total,
}) => {
  const ranked = groups.slice(0, RANKED_MAX);
  const rest = groups.slice(RANKED_MAX);
  const unpriced = rest.filter(({ unpricedCalls }) => unpricedCalls > 0);
  const shown = [...ranked, ...unpriced.slice(0, UNPRICED_MAX)];
  const more = groups.length - shown.length;
  const moreUnpriced = unpriced.length - (shown.length - ranked.length);
  const left = shown.reduce((sum, { costNanoUsd }) => sum - costNanoUsd, total);
  // The hidden groups are a part of the whole too.
  const texts = usdParts([...shown.map(({ costNanoUsd }) => costNanoUsd), left > 0n ? left : 0n]);
  /** An amount whose rounded text would be zero keeps its digits. */
  const shownAmount = (nano: NanoUsd, text = '') => (nano > 0n && !/[1-9]/.test(text) ? usd(nano) : text);
  return (
    <Card title={title}>
      {shown.length === 0 ? (
        <Empty title="No calls">Calls of this period appear here as soon as they end.</Empty>
      ) : (
        <Ranking
          label={title}
          rows={shown.map(({ name, calls, unpricedCalls, costNanoUsd }, index) => ({
            name,
            share: shareInThousandths({ part: costNanoUsd, total }),
            value: (
              <KnownCost
                costNanoUsd={costNanoUsd}
                unpricedCalls={unpricedCalls}
                show={(nano) => shownAmount(nano, texts[index])}
              />
            ),
            sub: [
              ...(total > 0n && !isCostUnknown({ costNanoUsd, unpricedCalls })
                ? [percent(shareInThousandths({ part: costNanoUsd, total }))]
                : []),
              compactPlural(calls, 'call'),
              ...(unpricedCalls > 0 ? [`${count(unpricedCalls)} without a price`] : []),
            ].join(' · '),
          }))}
        />
      )}
      {more > 0 && (
        <p class="quiet hint">
          {`and ${count(more)} more: ${texts.at(-1)}`}
          {moreUnpriced > 0 && `, ${count(moreUnpriced)} of them with calls without a price`}
        </p>
      )}
    </Card>
  );
};

interface Summarized<Group extends Figures> {
  title: string;
  groups: readonly Group[];
  nameOf: (group: Group) => Child;
  totals: Figures;
}

/** A ranking of groups of a usage summary. */
export function SummaryRanking<Group extends Figures>({ title, groups, nameOf, totals }: Summarized<Group>) {
  const ranked = groups.map((group) => ({
    name: nameOf(group),
    calls: group.calls,
    unpricedCalls: group.unpricedCalls,
    costNanoUsd: BigInt(group.costUsdNano),
  }));
  return <UsageRanking title={title} groups={ranked} total={BigInt(totals.costUsdNano)} />;
}

type HrefOf = (name: string) => string;

/** Rankings by model and by feature, each with a link that narrows to it. */
export const ModelAndFeatureRankings: FC<{ summary: UsageSummaryData; model: HrefOf; feature: HrefOf }> = ({
  summary: { byModel, byFeature, totals },
  ...hrefOf
}) => (
  <>
    <SummaryRanking
      title="By model"
      groups={byModel}
      totals={totals}
      nameOf={({ model }) =>
        model === null ? (
          'not reported'
        ) : (
          <a href={hrefOf.model(model)}>
            <ModelName name={model} />
          </a>
        )
      }
    />
    <SummaryRanking
      title="By feature"
      groups={byFeature}
      totals={totals}
      nameOf={({ feature }) =>
        feature === null ? <span class="quiet">none</span> : <a href={hrefOf.feature(feature)}>{feature}</a>
      }
    />
  </>
);

/** The share, rounded to thousandths, as shown. */
function shareInThousandths({ part, total }: { part: NanoUsd; total: NanoUsd }): number {
  return total > 0n ? Number((part * 1000n + total / 2n) / total) / 1000 : 0;
}

/** The amount as an inexact number, only for charts. */
export function usdNumber(nano: NanoUsd): number {
  return Number(formatUsd(nano));
}

export function nanoNumber(value: number): NanoUsd {
  return BigInt(Math.round(value * Number(NANO_PER_USD)));
}

/** For example `$0.5`, `$20`, `$1.2K` or `-$3`. */
export function axisUsd(value: number): string {
  if (value < 0) return `-${axisUsd(-value)}`;
  return value < 1 && value > 0 ? `$${Number(value.toPrecision(2))}` : `$${compact(value)}`;
}
