/**
 * A model of the catalog: lifecycle with its evidence, replacements, current and past prices.
 */
import type { FC } from 'hono/jsx';
import type { ModelStatus, Replacement } from '../catalog/lifecycle.ts';
import {
  type CatalogModel,
  type CatalogPricing,
  type CatalogRates,
  modelKeyOf,
  type ReportedEnd,
  type Transition,
} from '../catalog/model.ts';
import { buildRates, pricingAt } from '../catalog/prices.ts';
import { toolUseRates } from '../catalog/provider-rules.ts';
import { formatReport } from '../catalog/reported-ends.ts';
import { formatCitation } from '../catalog/reviews.ts';
import { LOOKUP_PATH } from '../contract/model-lookup.ts';
import type { CatalogReview } from '../contract/reviews.ts';
import { usdFromNano } from '../domain/money.ts';
import type { RateConditions } from '../domain/price.ts';
import type { RecordedPrice } from '../operator/catalog.ts';
import { utcDay } from '../platform/time.ts';
import { StepChart } from '../ui/charts.tsx';
import { calendarDay, count, rate, rateColumn, words } from '../ui/format.ts';
import { Badge, Card, Code, Day, Empty, Facts, Nothing, Time } from '../ui/parts.tsx';
import { Table } from '../ui/table.tsx';
import { CONSOLE_PATH, type ConsoleContext } from './context.ts';
import { ModelEnd } from './model-name.tsx';
import { page } from './shell.tsx';
import { STATUS_TONES } from './statuses.ts';

export interface ModelView {
  model: CatalogModel;
  status: ModelStatus;
  replacement: Replacement | null;
  review: CatalogReview | null;
  reportedEnds: readonly ReportedEnd[];
  transitions: readonly Transition[];
  prices: readonly RecordedPrice[];
  nowMs: number;
}

export function modelPage(c: ConsoleContext, view: ModelView) {
  const { model, status, nowMs } = view;
  return page(
    c,
    {
      title: modelKeyOf(model),
      sub: (
        <>
          {model.displayName} <Badge tone={STATUS_TONES[status] ?? 'plain'}>{words(status)}</Badge>{' '}
          {status === 'DEPRECATED' && <ModelEnd model={model} nowMs={nowMs} />}{' '}
          {model.preview && <Badge tone="info">preview</Badge>}
        </>
      ),
      crumbs: [{ text: 'Model catalog', href: `${CONSOLE_PATH}/catalog` }],
      actions: (
        <a class="button" href={`${LOOKUP_PATH}/${modelKeyOf(model)}`}>
          Public lookup
        </a>
      ),
    },
    <div class="grid">
      <div class="stack">
        <Card title="Lifecycle">
          <Lifecycle {...view} />
        </Card>
        <Card title="Evidence">
          <Evidence {...view} />
        </Card>
      </div>
      <Card title="Facts">
        <ModelFacts model={model} />
      </Card>
      <Card title="Price now" wide note="USD per million tokens.">
        {model.pricing ? (
          <Prices model={model} pricing={model.pricing} nowMs={nowMs} />
        ) : (
          <Empty title="No price is known">
            Its calls have no price, rather than a cost of zero, until the model has one.
          </Empty>
        )}
      </Card>
      <Card title="Prices over time" wide>
        <History prices={view.prices} nowMs={nowMs} />
      </Card>
    </div>,
  );
}

interface Event {
  day: string;
  text: string;
  tone: string;
  source?: { label: string; url: string };
}

const Lifecycle: FC<ModelView> = ({ model, transitions, nowMs }) => {
  const today = utcDay(nowMs);
  const events = listEvents(model, transitions);
  if (events.length === 0) return <Empty title="No date is known">The catalog claims no end without a source.</Empty>;
  return (
    <ol class="timeline">
      {events.map(({ day, text, tone, source }) => (
        <li class={day > today ? 'future' : tone}>
          <div>
            <strong>{text}</strong> {day > today && <Badge>to come</Badge>}
            <p class="quiet hint">
              {calendarDay(day)}
              {source && (
                <>
                  {' · '}
                  <a href={source.url} rel="noreferrer">
                    {source.label}
                  </a>
                </>
              )}
            </p>
          </div>
        </li>
      ))}
    </ol>
  );
};

/** The model's past and announced events, by date. */
function listEvents({ releasedAt, lifecycle, pricing }: CatalogModel, transitions: readonly Transition[]): Event[] {
  const { announcedAt, shutdownAt, earliestShutdownAt, source } = lifecycle;
  const known = (to: string) => transitions.some((transition) => transition.to === to);
  const events: (Event | false | undefined | '')[] = [
    releasedAt !== undefined && { day: releasedAt, text: 'Released', tone: 'good' },
    ...transitions.map((transition) => ({
      day: transition.date,
      text: words(transition.to),
      tone: STATUS_TONES[transition.to] ?? '',
      source: transition.source,
    })),
    announcedAt !== undefined &&
      !known('DEPRECATED') && { day: announcedAt, text: 'Deprecation announced', tone: 'warn', source },
    shutdownAt !== undefined && !known('RETIRED') && { day: shutdownAt, text: 'Shutdown', tone: 'bad', source },
    earliestShutdownAt !== undefined && { day: earliestShutdownAt, text: 'Not shut down before', tone: '', source },
    ...(pricing?.scheduled ?? []).map(({ from }) => ({ day: from, text: 'Price change', tone: '' })),
  ];
  return events
    .filter((event) => event !== false && event !== undefined && event !== '')
    .toSorted((a, b) => (a.day < b.day ? -1 : 1));
}

const Evidence: FC<ModelView> = ({ model: { lifecycle }, replacement, review, reportedEnds }) => (
  <Facts
    items={[
      ['Confidence', words(lifecycle.confidence)],
      [
        'Source',
        <a href={lifecycle.source.url} rel="noreferrer">
          {lifecycle.source.label}
        </a>,
      ],
      ['Read on', <Day day={lifecycle.source.checkedAt} />],
      ['Not confirmed', reportedEnds.length > 0 ? reportedEnds.map(formatReport).join('. ') : undefined],
      ['Replacement', replacement ? <Code>{replacement.modelKey}</Code> : undefined],
      [
        'Live today',
        replacement ? replacement.live ? <Code>{replacement.live.modelKey}</Code> : 'none of the chain' : undefined,
      ],
      ['Note', lifecycle.note],
      ['Reviewed', review ? <Code>{review.replacementModelKey}</Code> : undefined],
      ['Review', review ? formatCitation({ ...review, reviewedAtMs: Date.parse(review.reviewedAt) }) : undefined],
    ]}
  />
);

const ModelFacts: FC<{ model: CatalogModel }> = ({ model }) => (
  <Facts
    items={[
      ['Family', model.family],
      ['Kind', model.kind],
      ['Aliases', model.aliases.length > 0 ? model.aliases.join(', ') : undefined],
      ['Context', model.contextTokens === undefined ? undefined : `${count(model.contextTokens)} tokens`],
      ['Output at most', model.maxOutputTokens === undefined ? undefined : `${count(model.maxOutputTokens)} tokens`],
      ['Input', model.modalities.input.join(', ') || 'not known'],
      ['Output', model.modalities.output.join(', ') || 'not known'],
      ['Capabilities', model.capabilities.join(', ') || 'not known'],
      ['Reasoning efforts', model.reasoningEfforts && (model.reasoningEfforts.join(', ') || 'none')],
      ['Access', model.availability?.note],
    ]}
  />
);

const Prices: FC<{ model: CatalogModel; pricing: CatalogPricing; nowMs: number }> = ({ model, pricing, nowMs }) => {
  const current = pricingAt(pricing, nowMs);
  const { imageOutputUsdPerMillion, searchUsdPerMillion, audioSecondUsdPerMillion, components } = current;
  const beside = { imageOutputUsdPerMillion, searchUsdPerMillion, audioSecondUsdPerMillion, components };
  const others = [...buildRates(beside), ...toolUseRates(model)];
  const rows: { name: string; rates: Partial<CatalogRates> }[] = [
    { name: 'Base', rates: current },
    ...(current.tiers ?? []).map((tier) => ({
      name: `Above ${count(tier.inputTokensAbove)} input tokens`,
      rates: tier,
    })),
    ...(pricing.scheduled ?? [])
      .filter(({ from }) => Date.parse(from) > nowMs)
      .map((change) => ({ name: `From ${calendarDay(change.from)}`, rates: change })),
  ];
  const format = rateColumn(rows.flatMap(({ rates }) => RATE_NAMES.map((name) => rates[name])));
  const shown = (value: number | undefined) => (value === undefined ? <Nothing /> : format(value));
  return (
    <>
      <Table
        caption="Prices"
        rows={rows}
        columns={[
          { title: 'Tier', heading: true, cell: ({ name }) => name },
          { title: 'Input', figure: true, cell: ({ rates }) => shown(rates.inputUsdPerMillion) },
          { title: 'Cache read', figure: true, cell: ({ rates }) => shown(rates.cachedInputUsdPerMillion) },
          { title: 'Cache write', figure: true, cell: ({ rates }) => shown(rates.cacheWriteUsdPerMillion) },
          { title: 'Output', figure: true, cell: ({ rates }) => shown(rates.outputUsdPerMillion) },
        ]}
      />
      {others.length > 0 && (
        <Table
          caption="Rates of media, uses and other conditions"
          rows={others}
          columns={[
            { title: 'Component', heading: true, cell: ({ component }) => component },
            { title: 'Under', cell: ({ when = {} }) => rateConditions(when) },
            {
              title: 'USD per million',
              figure: true,
              cell: (other) => rate(usdFromNano(BigInt(other.nanoUsdPerMillion))),
            },
          ]}
        />
      )}
      <p class="quiet hint">{current.source}</p>
    </>
  );
};

/** The conditions of a rate in words. */
function rateConditions(when: RateConditions) {
  const { promptTokensAbove, ...others } = when;
  const words = Object.values(others);
  if (promptTokensAbove !== undefined) words.push(`above ${count(promptTokensAbove)} input tokens`);
  return words.length === 0 ? <Nothing /> : words.join(', ');
}

/** The rates with a column of their own. */
const RATE_NAMES = [
  'inputUsdPerMillion',
  'cachedInputUsdPerMillion',
  'cacheWriteUsdPerMillion',
  'outputUsdPerMillion',
] as const;

const History: FC<{ prices: readonly RecordedPrice[]; nowMs: number }> = ({ prices, nowMs }) => {
  if (prices.length === 0)
    return <Empty title="Nothing is recorded yet">Prices are recorded each hour and with each publication.</Empty>;
  const begun = prices.filter(({ beginMs }) => beginMs <= nowMs);
  const format = rateColumn(prices.flatMap(({ rates }) => [rates.inputUsdPerMillion, rates.outputUsdPerMillion]));
  const shown = (value: number | undefined) => (value === undefined ? <Nothing /> : format(value));
  return (
    <>
      {begun.length > 1 && (
        <StepChart
          title="Input and output prices over time"
          names={['Input', 'Output']}
          steps={begun.map(({ beginMs, rates }) => ({
            atMs: beginMs,
            values: [rates.inputUsdPerMillion ?? null, rates.outputUsdPerMillion ?? null],
          }))}
          untilMs={nowMs}
          tick={rate}
          date={calendarDay}
        />
      )}
      <Table
        caption="Recorded prices"
        rows={prices.toReversed()}
        columns={[
          {
            title: 'From',
            heading: true,
            cell: ({ effectiveFrom, recordedAtMs }) =>
              effectiveFrom ? <Day day={effectiveFrom} /> : <Time at={recordedAtMs} nowMs={nowMs} />,
          },
          { title: 'Release', cell: ({ catalogVersion }) => <Code>{catalogVersion}</Code> },
          {
            title: 'Snapshot',
            cell: ({ snapshotId }) => <Code>{snapshotId.slice(snapshotId.lastIndexOf('@') + 1)}</Code>,
          },
          { title: 'Input', figure: true, cell: ({ rates }) => shown(rates.inputUsdPerMillion) },
          { title: 'Output', figure: true, cell: ({ rates }) => shown(rates.outputUsdPerMillion) },
        ]}
      />
    </>
  );
};
