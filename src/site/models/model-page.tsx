/**
 * The page of a model: whether and until when it can be used, and its replacement. Every date has its source.
 */
import type { FC } from 'hono/jsx';
import type { CatalogModel } from '../../contract/catalog.ts';
import { type Candidate, type FullResolution, LOOKUP_PATH } from '../../contract/model-lookup.ts';
import { divideHalfUp, usdFromNano } from '../../domain/money.ts';
import type { Component } from '../../domain/price.ts';
import { standardRates } from '../../lookup/describe-model.ts';
import { calendarDay, count, moment, percent, plural, rate } from '../../ui/format.ts';
import { Card, Code, Day, Facts, Nothing, Notice } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { publicPage } from '../shell.tsx';
import { CatalogDay, MODELS_PATH, ModelLink, modelPath, priceColumn, providerName, Status } from './list-pages.tsx';

/** The decision, and the number of whole days until the shutdown; `null` without a future one. */
export interface ModelPage {
  model: CatalogModel;
  daysLeft: number | null;
  /** Shutdown dates that lists report and nobody has confirmed. */
  reportedEnds: readonly { shutdownAt: string; reportedBy: readonly string[] }[];
  resolution: FullResolution;
}

export function modelPage({ model, daysLeft, reportedEnds, resolution }: ModelPage, origin: string): Promise<string> {
  const { requested, match, warnings = [], equivalents, alternatives, lifecycle } = resolution;
  const key = match?.matchedModelKey ?? requested.modelKey;
  const { provider, model: name } = model;
  return publicPage(
    {
      title: `${model.displayName}: ${lifecycle.status.toLowerCase()}`,
      description: pageDescription(key, resolution),
      canonical: origin + modelPath(key),
      section: 'models',
      narrow: true,
    },
    <>
      <nav class="crumbs" aria-label="Breadcrumb">
        <ol>
          <li>
            <a href={MODELS_PATH}>Models</a>
          </li>
          <li>
            <a href={`${MODELS_PATH}?q=${provider}%2F`}>{providerName(provider)}</a>
          </li>
          <li aria-current="page">{name}</li>
        </ol>
      </nav>
      <header class="page-head">
        <div>
          <h1 class="model-name">
            {model.displayName} <Status status={lifecycle.status} />
          </h1>
          <p class="sub">
            <Code>{key}</Code>
            {requested.modelKey !== key && (
              <>
                {' '}
                is what <Code>{requested.modelKey}</Code> means
              </>
            )}
          </p>
        </div>
      </header>
      {resolution.degraded && <Notice tone="warn">The service cannot use its current catalog: {warnings[0]}</Notice>}
      <Decision resolution={resolution} daysLeft={daysLeft} />
      <Dates model={model} reportedEnds={reportedEnds} resolution={resolution} />
      <Price model={model} resolution={resolution} />
      <Candidates title="What to move to, at the same provider" candidates={equivalents} />
      <Candidates title="At other providers" candidates={alternatives} />
      <About model={model} />
      <footer>
        Catalog of <CatalogDay version={resolution.catalogVersion} />
        {resolution.validUntil && (
          <>
            , valid until <time datetime={resolution.validUntil}>{moment(Date.parse(resolution.validUntil))} UTC</time>
          </>
        )}
        . The same for programs:{' '}
        <a href={`${LOOKUP_PATH}/${key.split('/').map(encodeURIComponent).join('/')}`}>the lookup's answer</a>.
      </footer>
    </>,
  );
}

/** The description for search engines and previews. */
function pageDescription(key: string, { lifecycle, recommendedModelKey, pricing }: FullResolution): string {
  const { status, shutdownAt, announcedAt } = lifecycle;
  const state =
    status === 'RETIRED'
      ? `retired${shutdownAt ? ` since ${calendarDay(shutdownAt)}` : ''}`
      : status === 'DEPRECATED'
        ? `deprecated${announcedAt ? ` on ${calendarDay(announcedAt)}` : ''}${shutdownAt ? `, shut down on ${calendarDay(shutdownAt)}` : ''}`
        : 'active';
  const move = recommendedModelKey === undefined ? '' : ` Move to ${recommendedModelKey}.`;
  const { inputUsdPerMillion: input, outputUsdPerMillion: output } = pricing ?? {};
  const price =
    input === undefined || output === undefined ? '' : ` ${rate(input)} in, ${rate(output)} out per million tokens.`;
  return `${key} is ${state}.${move}${price}`;
}

const Decision: FC<Pick<ModelPage, 'resolution' | 'daysLeft'>> = ({ resolution, daysLeft }) => {
  const {
    action,
    lifecycle,
    recommendedModelKey,
    recommendationSource,
    keyGuidance,
    warnings = [],
    equivalents,
    alternatives,
  } = resolution;
  const recommended = [...equivalents, ...alternatives].find(({ modelKey }) => modelKey === recommendedModelKey);
  const shown = resolution.degraded ? warnings.slice(1) : warnings;
  return (
    <Card title="What to do">
      <div class="decision">
        {daysLeft !== null && (
          <p class="days-left">
            <strong class="num">{plural(daysLeft, 'day')} left</strong>, until the shutdown on{' '}
            <Day day={lifecycle.shutdownAt ?? null} />
          </p>
        )}
        <p class="verdict">
          {action === 'KEEP' && 'Keep it.'}
          {action === 'REVIEW' && 'Look closer before you rely on it.'}
          {action === 'REPLACE' &&
            (recommendedModelKey === undefined ? (
              'Move away from it; no successor is certain.'
            ) : (
              <>
                Move to <ModelLink modelKey={recommendedModelKey} />.
              </>
            ))}
        </p>
        {recommended && <p>{recommended.rationale}</p>}
        {recommendedModelKey !== undefined && (
          <p class="quiet">
            {recommendationSource === 'provider'
              ? "This is the provider's own word."
              : recommendationSource === 'admin_review'
                ? 'An operator of this service reviewed it.'
                : 'Computed from age, size, price and capabilities.'}
            {recommended?.requiresEvaluation && ' Evaluate it on your own workload first.'}
          </p>
        )}
      </div>
      {keyGuidance?.shouldUpdate && action !== 'REPLACE' && (
        <Notice tone="info">
          Write <Code>{keyGuidance.preferredModelKey}</Code>: {keyGuidance.note}.
        </Notice>
      )}
      {shown.length > 0 && (
        <Notice tone="warn" title="Mind:">
          <ul>
            {shown.map((warning) => (
              <li>{warning}</li>
            ))}
          </ul>
        </Notice>
      )}
    </Card>
  );
};

const Dates: FC<Omit<ModelPage, 'daysLeft'>> = ({ model, reportedEnds, resolution }) => {
  const { announcedAt = null, shutdownAt = null, source } = resolution.lifecycle;
  const { earliestShutdownAt, note } = model.lifecycle;
  return (
    <Card title="Dates">
      <Facts
        items={[
          ['Released', model.releasedAt ? <Day day={model.releasedAt} /> : undefined],
          ['Deprecation announced', <Day day={announcedAt} />],
          ['Shutdown', <Day day={shutdownAt} />],
          [
            'Not confirmed',
            reportedEnds.length > 0
              ? reportedEnds.map(({ shutdownAt: day, reportedBy }) => (
                  <p>
                    <Day day={day} />, reported by {reportedBy.join('; ')}
                  </p>
                ))
              : undefined,
          ],
          ['Not before', earliestShutdownAt ? <Day day={earliestShutdownAt} /> : undefined],
          ['Access', model.availability?.note],
          ['Note', note],
          [
            'Source',
            source && (
              <>
                <a href={source.url} rel="noreferrer">
                  {source.label}
                </a>
                , read on <Day day={source.checkedAt} />
              </>
            ),
          ],
        ]}
      />
    </Card>
  );
};

const TOKENS = { units: 1_000_000n, unit: 'million tokens' };
const SEARCHES = { units: 1_000n, unit: '1,000 searches' };

/** Each component in the units of vendors' prices, in the order of the page. */
const COMPONENTS: Record<Component, { name: string; units: bigint; unit: string }> = {
  input: { name: 'Input', ...TOKENS },
  output: { name: 'Output', ...TOKENS },
  cachedInput: { name: 'Cached input', ...TOKENS },
  cacheWrite: { name: 'Cache write', ...TOKENS },
  cacheWrite1h: { name: 'Cache write for 1 hour', ...TOKENS },
  cacheWrite12h: { name: 'Cache write for 12 hours', ...TOKENS },
  audioInput: { name: 'Audio input', ...TOKENS },
  cachedAudioInput: { name: 'Cached audio input', ...TOKENS },
  audioOutput: { name: 'Audio output', ...TOKENS },
  imageInput: { name: 'Image input', ...TOKENS },
  cachedImageInput: { name: 'Cached image input', ...TOKENS },
  imageOutput: { name: 'Image output', ...TOKENS },
  webSearch: { name: 'Web search', ...SEARCHES },
  fileSearch: { name: 'File search', ...SEARCHES },
  codeMinutes: { name: 'Code execution', units: 60n, unit: 'hour' },
  images: { name: 'Images', units: 1n, unit: 'image' },
  characters: { name: 'Characters', units: 1_000_000n, unit: 'million characters' },
  audioSeconds: { name: 'Audio', units: 60n, unit: 'minute' },
};
const MILLION = 1_000_000n;

/** The price under standard conditions, with the steps of long prompts. */
const Price: FC<{ model: CatalogModel; resolution: FullResolution }> = ({ model, resolution }) => {
  const { pricing } = resolution;
  if (!pricing || !model.pricing) return null;
  const { tiers, source } = model.pricing;
  const rates = standardRates(model.pricing);
  const perTokens = (usd: number) => `${rate(usd)} per ${TOKENS.unit}`;
  return (
    <Card title="Price">
      <Facts
        items={[
          ...Object.entries(COMPONENTS).map(([component, { name, units, unit }]) => {
            const nano = rates.get(component as Component);
            const usd = nano === undefined ? null : rate(usdFromNano(divideHalfUp(nano * units, MILLION)));
            return [name, usd === null ? undefined : `${usd} per ${unit}`] as const;
          }),
          [
            'Usual mix of input and output',
            pricing.blendedUsdPerMillion === undefined ? undefined : perTokens(pricing.blendedUsdPerMillion),
          ],
          [
            'Long prompts',
            tiers
              ?.map(
                (tier) =>
                  `above ${count(tier.inputTokensAbove)} input tokens: ${perTokens(tier.inputUsdPerMillion)} of input, ${perTokens(tier.outputUsdPerMillion)} of output`,
              )
              .join('; '),
          ],
          ['Source', source],
          ['Recorded as', <Code>{pricing.snapshotId}</Code>],
        ]}
      />
    </Card>
  );
};

const COLUMNS: Column<Candidate>[] = [
  {
    title: 'Model',
    heading: true,
    cell: ({ modelKey, rationale }) => (
      <span>
        <ModelLink modelKey={modelKey} />
        <span class="sub">{rationale}</span>
      </span>
    ),
  },
  {
    title: 'Named by',
    cell: ({ confidence }) =>
      confidence === 'authoritative' ? 'the provider' : confidence === 'reviewed' ? 'review' : 'similarity',
  },
  priceColumn('Input', ({ inputUsdPerMillion }) => inputUsdPerMillion),
  priceColumn('Output', ({ outputUsdPerMillion }) => outputUsdPerMillion),
  {
    title: 'Price change',
    figure: true,
    cell: ({ priceChangePercent: change }) =>
      change === undefined ? <Nothing /> : `${change > 0 ? '+' : ''}${percent(change / 100)}`,
  },
];

const Candidates: FC<{ title: string; candidates: readonly Candidate[] }> = ({ title, candidates }) =>
  candidates.length === 0 ? null : (
    <Card title={title}>
      <Table caption={title} columns={COLUMNS} rows={candidates} />
    </Card>
  );

const About: FC<{ model: CatalogModel }> = ({ model }) => (
  <Card title="The model">
    <Facts
      items={[
        ['Family', model.family],
        ['Kind', model.kind],
        ['Also called', model.aliases.length > 0 ? model.aliases.join(', ') : undefined],
        ['Context', model.contextTokens === undefined ? undefined : `${count(model.contextTokens)} tokens`],
        ['Output limit', model.maxOutputTokens === undefined ? undefined : `${count(model.maxOutputTokens)} tokens`],
        ['Takes', model.modalities.input.join(', ')],
        ['Gives', model.modalities.output.join(', ')],
        [
          'Known to do',
          model.capabilities.length > 0
            ? model.capabilities.map((name) => name.replaceAll('_', ' ')).join(', ')
            : undefined,
        ],
      ]}
    />
  </Card>
);
