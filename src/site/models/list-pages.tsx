/**
 * The public list of models: the ending ones, the new ones, and the results of a search.
 */
import type { FC } from 'hono/jsx';
import type { FoundModels, ListedCatalog, ListedModel } from '../../lookup/find-models.ts';
import { count, rate } from '../../ui/format.ts';
import { Badge, Card, Day, Nothing, type Tone } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { publicPage, SearchForm } from '../shell.tsx';

export const MODELS_PATH = '/models';

const TONES: Record<string, Tone> = { ACTIVE: 'good', DEPRECATED: 'warn', RETIRED: 'bad', UNKNOWN: 'plain' };
const PROVIDERS = [
  ['openai', 'OpenAI'],
  ['anthropic', 'Anthropic'],
  ['google', 'Google'],
] as const;

/** The address of a model's page; slashes in its name are kept. */
export function modelPath(modelKey: string): string {
  return `${MODELS_PATH}/${modelKey.split('/').map(encodeURIComponent).join('/')}`;
}

export const Status: FC<{ status: string }> = ({ status }) => (
  <Badge tone={TONES[status] ?? 'plain'}>{status.charAt(0) + status.slice(1).toLowerCase()}</Badge>
);

export const ModelLink: FC<{ modelKey: string }> = ({ modelKey }) => <a href={modelPath(modelKey)}>{modelKey}</a>;

/**
 * A catalog is named after the day on which it was made: `2026-11-27`, or `2026-11-27.2` for the second of that day.
 */
export const CatalogDay: FC<{ version: string }> = ({ version }) => {
  const [day] = /^\d{4}-\d{2}-\d{2}/.exec(version) ?? [];
  return day === undefined ? <span>{version}</span> : <Day day={day} />;
};

/** The name of a provider in its own spelling. */
export const providerName = (provider: string) => PROVIDERS.find(([name]) => name === provider)?.[1] ?? provider;

export function catalogPage({ catalogVersion, total, ending, newest }: ListedCatalog, origin: string): Promise<string> {
  return publicPage(
    {
      title: 'Model lifecycles',
      description: `Status, shutdown dates with their sources, prices and replacements of ${total} models of OpenAI, Anthropic and Google.`,
      canonical: origin + MODELS_PATH,
      section: 'models',
    },
    <>
      <Heading catalogVersion={catalogVersion} />
      <Search query="" />
      <p>
        All models of{' '}
        {PROVIDERS.map(([name, text], index) => [
          index > 0 ? ' · ' : '',
          <a href={`${MODELS_PATH}?q=${name}%2F`}>{text}</a>,
        ])}
      </p>
      {ending.length > 0 && (
        <Card title="Shutting down next">
          <Table
            caption="Models with a shutdown to come"
            columns={[MODEL, STATUS, SHUTDOWN, DAYS_LEFT, REPLACEMENT, ...PRICES]}
            rows={ending}
          />
        </Card>
      )}
      <Card title="Newest">
        <Table caption="Models in use, newest first" columns={[MODEL, STATUS, RELEASED, ...PRICES]} rows={newest} />
      </Card>
    </>,
  );
}

export function searchPage({ catalogVersion, nearOnly, models }: FoundModels, query: string): Promise<string> {
  const words = models.length === 1 ? '1 model' : `${models.length} models`;
  return publicPage(
    { title: `“${query}”`, description: `Models that match “${query}”.`, section: 'models' },
    <>
      <Heading catalogVersion={catalogVersion} />
      <Search query={query} />
      <p role="status">
        {nearOnly
          ? models.length === 0
            ? `No model is called “${query}”.`
            : `No model is called “${query}”; these come nearest.`
          : `${words} for “${query}”.`}{' '}
        <a href={MODELS_PATH}>Start over</a>
      </p>
      {models.length > 0 && (
        <Card>
          <Models caption="Models found" models={models} />
        </Card>
      )}
    </>,
  );
}

export function modelNotFoundPage(asked: string, near: readonly ListedModel[]): Promise<string> {
  return publicPage(
    {
      title: 'No such model',
      description: 'There is no model of that name in the catalog.',
      section: 'models',
      narrow: true,
    },
    <>
      <h1>No such model</h1>
      <p>
        The catalog has no model called <code>{asked}</code>. That says nothing of the model itself: it may be newer
        than the catalog, or somebody's own.
      </p>
      <Search query="" />
      {near.length > 0 && (
        <Card title="Names that look like it">
          <Models caption="Models with a similar name" models={near} />
        </Card>
      )}
    </>,
  );
}

const Heading: FC<{ catalogVersion: string }> = ({ catalogVersion }) => (
  <header class="page-head">
    <div>
      <h1>Model lifecycles</h1>
      <p class="sub">
        Is this model still a good choice? Until when it answers, what replaces it, and what it costs. Catalog of{' '}
        <CatalogDay version={catalogVersion} />.
      </p>
    </div>
  </header>
);

const Search: FC<{ query: string }> = ({ query }) => (
  <SearchForm action={MODELS_PATH} label="Find a model" value={query} placeholder="gpt-4o, claude, gemini flash …" />
);

const Models: FC<{ caption: string; models: readonly ListedModel[] }> = ({ caption, models }) => (
  <Table caption={caption} columns={[MODEL, STATUS, SHUTDOWN, DAYS_LEFT, REPLACEMENT, ...PRICES]} rows={models} />
);

const MODEL: Column<ListedModel> = {
  title: 'Model',
  heading: true,
  cell: ({ modelKey, displayName }) => (
    <span>
      <ModelLink modelKey={modelKey} />
      <span class="sub">{displayName}</span>
    </span>
  ),
};

const STATUS: Column<ListedModel> = { title: 'Status', cell: ({ status }) => <Status status={status} /> };
const SHUTDOWN: Column<ListedModel> = { title: 'Shutdown', cell: ({ shutdownAt }) => <Day day={shutdownAt} /> };
const RELEASED: Column<ListedModel> = { title: 'Released', cell: ({ releasedAt }) => <Day day={releasedAt} /> };

const DAYS_LEFT: Column<ListedModel> = {
  title: 'Days left',
  figure: true,
  cell: ({ daysLeft }) => (daysLeft === null ? <Nothing /> : count(daysLeft)),
};

const REPLACEMENT: Column<ListedModel> = {
  title: 'Replacement',
  cell: ({ replacementModelKey: key }) => (key === null ? <Nothing /> : <ModelLink modelKey={key} />),
};

const TOKENS_UNIT = 'USD per million tokens';

const PRICES: Column<ListedModel>[] = [
  priceColumn('Input', ({ inputUsdPerMillion }) => inputUsdPerMillion),
  priceColumn('Output', ({ outputUsdPerMillion }) => outputUsdPerMillion),
];

export function priceColumn<Row>(title: string, getPrice: (row: Row) => number | null | undefined): Column<Row> {
  const cell = (row: Row) => {
    const usd = getPrice(row) ?? null;
    return usd === null ? <Nothing /> : rate(usd);
  };
  return { title, unit: TOKENS_UNIT, figure: true, cell };
}
