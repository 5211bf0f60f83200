/**
 * The model catalog: its version, its models, and one model with its lifecycle and its prices over time.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { z } from 'zod';
import { findReplacement, type ModelStatus, statusOn } from '../../catalog/lifecycle.ts';
import { type Catalog, type CatalogModel, modelKeyOf } from '../../catalog/model.ts';
import { pricingAt } from '../../catalog/prices.ts';
import { listReportedEnds } from '../../catalog/reported-ends.ts';
import type { CatalogInfo } from '../../contract/catalog.ts';
import { brokenRules } from '../../contract/errors.ts';
import { listRecordedPrices, readCatalog } from '../../operator/catalog.ts';
import { readReview } from '../../operator/reviews.ts';
import { makePage, pageRequest } from '../../platform/page.ts';
import { utcDay } from '../../platform/time.ts';
import { type FormState, GetForm, Select, TextField } from '../../ui/form.tsx';
import { calendarDay, compact, count, plural, rateColumn, words } from '../../ui/format.ts';
import { Badge, Card, Day, Empty, Nothing, Notice, Stat, Time } from '../../ui/parts.tsx';
import { type Orders, type Sorted, sorted } from '../../ui/sorting.ts';
import { Pager, Table } from '../../ui/table.tsx';
import { readTrail } from '../../ui/trail.ts';
import { modelPage } from '../catalog-model.tsx';
import { CONSOLE_PATH, type ConsoleEnv } from '../context.ts';
import { refused } from '../refused.tsx';
import { load } from '../send.ts';
import { page } from '../shell.tsx';
import { STATUS_TONES } from '../statuses.ts';

const PATH = `${CONSOLE_PATH}/catalog`;
const PAGE_SIZE = 50;

const CatalogQuery = z.object({
  search: z.string().max(200).default(''),
  provider: z.enum(['openai', 'anthropic', 'google']).optional(),
  status: z.enum(['ACTIVE', 'DEPRECATED', 'RETIRED']).optional(),
  cursor: z.string().max(600).optional(),
  sort: z.string().max(40).optional(),
});

type Asked = z.infer<typeof CatalogQuery>;

function modelPath(modelKey: string): string {
  return `${PATH}/models/${modelKey.split('/').map(encodeURIComponent).join('/')}`;
}

export function mountCatalog(app: Hono<ConsoleEnv>): void {
  app.get('/catalog', async (c) => {
    const nowMs = Date.now();
    const catalog = c.get('catalog');
    const info = await load(c, readCatalog);
    if (!info.ok) return refused(c, info.refusal);
    const values = Object.fromEntries(
      Object.entries(c.req.query()).filter(([name, value]) => value !== '' && name !== 'trail'),
    );
    const parsed = CatalogQuery.safeParse(values);
    const asked: Asked = parsed.data ?? { search: '' };
    const pageAsked = pageRequest({ limit: PAGE_SIZE, cursor: asked.cursor }) ?? { limit: PAGE_SIZE, after: null };
    const day = utcDay(nowMs);
    const { search, provider, status } = asked;
    const query = { ...(search && { search }), ...(provider && { provider }), ...(status && { status }) };
    const found = sorted(findModels(catalog, asked, day), ordersAt(nowMs), { path: PATH, query, sort: asked.sort });
    const start = found.rows.findIndex((model) => modelKeyOf(model) === pageAsked.after) + 1;
    const { items, nextCursor } = makePage(found.rows.slice(start, start + PAGE_SIZE + 1), PAGE_SIZE, modelKeyOf);
    return page(
      c,
      {
        title: 'Model catalog',
        status: parsed.success ? 200 : 400,
        sub: (
          <>
            Release {info.data.version}, {info.data.source}, <Time at={info.data.publishedAt} nowMs={nowMs} brief />
          </>
        ),
        actions: (
          <a class="button primary" href={`${PATH}/publish`}>
            Publish a catalog
          </a>
        ),
      },
      <>
        <Info info={info.data} />
        <ReportedEnds ends={info.data.reportedEnds} />
        <Card>
          <Filters state={{ values, details: parsed.success ? [] : brokenRules(parsed.error) }} />
          {items.length === 0 ? (
            <Empty title="No models match">
              The search covers names, display names and aliases. <a href={PATH}>Show all models</a>.
            </Empty>
          ) : (
            <Models items={items} total={found.rows.length} by={found.by} day={day} nowMs={nowMs} />
          )}
          <Pager
            path={PATH}
            query={{ ...query, ...found.query }}
            next={nextCursor}
            first={start === 0}
            previous={readTrail(c.req.query(), items.length)}
          />
        </Card>
      </>,
    );
  });

  app.get('/catalog/models/:modelKey{.+}', async (c) => {
    const modelKey = c.req.param('modelKey');
    const catalog = c.get('catalog');
    const model = catalog.models.find((one) => modelKeyOf(one) === modelKey);
    if (!model) return refused(c, { code: 'NOT_FOUND', message: 'the catalog in use has no such model' });
    const review = await load(c, readReview);
    const nowMs = Date.now();
    const day = utcDay(nowMs);
    return modelPage(c, {
      model,
      status: statusOn(model, day),
      replacement: findReplacement(catalog, model, day),
      reportedEnds: listReportedEnds(catalog, model, day),
      transitions: catalog.transitions.filter((transition) => modelKeyOf(transition) === modelKey),
      review: review.ok ? review.data : null,
      prices: await listRecordedPrices(c.env, modelKey),
      nowMs,
    });
  });
}

/** The models that match, by key. The search looks at every name of a model. */
function findModels({ models }: Catalog, { search, provider, status }: Asked, day: string): CatalogModel[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return models
    .filter((model) => {
      if (provider !== undefined && model.provider !== provider) return false;
      if (status !== undefined && statusOn(model, day) !== status) return false;
      const names = [modelKeyOf(model), model.displayName, ...model.aliases].join(' ').toLowerCase();
      return words.every((word) => names.includes(word));
    })
    .toSorted((a, b) => (modelKeyOf(a) < modelKeyOf(b) ? -1 : 1));
}

const Info: FC<{ info: z.infer<typeof CatalogInfo> }> = ({ info }) => (
  <>
    {info.problem && (
      <Notice tone="bad" title="Lookups are degraded:">
        {info.problem}.
      </Notice>
    )}
    <dl class="stats">
      <Stat label="Models" sub={`${count(info.prices)} with a price`}>
        {count(info.models)}
      </Stat>
      <Stat label="Active">{count(info.active)}</Stat>
      <Stat label="Deprecated">{count(info.deprecated)}</Stat>
      <Stat label="Retired">{count(info.retired)}</Stat>
      <Stat label="Evidence" sub={`oldest ${calendarDay(info.sourceDates.oldest)}`}>
        {calendarDay(info.sourceDates.newest)}
      </Stat>
    </dl>
  </>
);

const ReportedEnds: FC<{ ends: CatalogInfo['reportedEnds'] }> = ({ ends }) =>
  ends.length === 0 ? null : (
    <Card
      title="Reported, not confirmed"
      note="Lists name these ends. Read the provider's page, and publish a catalog."
    >
      <Table
        caption="Ends that lists report"
        rows={ends}
        columns={[
          { title: 'Model', heading: true, cell: ({ modelKey }) => <a href={modelPath(modelKey)}>{modelKey}</a> },
          { title: 'Reported shutdown', cell: ({ shutdownAt }) => <Day day={shutdownAt} /> },
          { title: 'In the catalog', cell: ({ ours }) => <Day day={ours} /> },
          { title: 'Reported by', cell: ({ reportedBy }) => reportedBy.join('; ') },
        ]}
      />
    </Card>
  );

const Filters: FC<{ state: FormState }> = ({ state }) => (
  <GetForm label="Models" action={PATH} state={state}>
    <div class="filters">
      <TextField name="search" label="Search" type="search" placeholder="Name or alias" />
      <Select
        name="provider"
        label="Vendor"
        options={[
          ['', 'All vendors'],
          ['anthropic', 'Anthropic'],
          ['google', 'Google'],
          ['openai', 'OpenAI'],
        ]}
      />
      <Select
        name="status"
        label="Status"
        options={[
          ['', 'All'],
          ...(['ACTIVE', 'DEPRECATED', 'RETIRED'] as const).map((status) => [status, words(status)] as const),
        ]}
      />
      <button type="submit">Search</button>
    </div>
  </GetForm>
);

const Status: FC<{ status: ModelStatus }> = ({ status }) => (
  <Badge tone={STATUS_TONES[status] ?? 'plain'}>{words(status)}</Badge>
);

/** The columns that the list can be sorted by. */
function ordersAt(nowMs: number) {
  return {
    model: modelKeyOf,
    shutdown: ({ lifecycle }) => lifecycle.shutdownAt ?? null,
    context: ({ contextTokens }) => contextTokens ?? null,
    input: (model) => priceAt(model, nowMs)?.inputUsdPerMillion ?? null,
    output: (model) => priceAt(model, nowMs)?.outputUsdPerMillion ?? null,
  } satisfies Orders<CatalogModel, string>;
}

const priceAt = ({ pricing }: CatalogModel, nowMs: number) => pricing && pricingAt(pricing, nowMs);

interface ModelsProps {
  items: CatalogModel[];
  total: number;
  by: Sorted<CatalogModel, keyof ReturnType<typeof ordersAt>>['by'];
  day: string;
  nowMs: number;
}

const Models: FC<ModelsProps> = ({ items, total, by, day, nowMs }) => {
  const currentPrice = (model: CatalogModel) => priceAt(model, nowMs);
  const show = rateColumn(
    items.flatMap((model) => {
      const price = currentPrice(model);
      return price ? [price.inputUsdPerMillion, price.outputUsdPerMillion] : [];
    }),
  );
  return (
    <Table
      caption="Models"
      rows={items}
      total={plural(total, 'model')}
      columns={[
        {
          title: 'Model',
          heading: true,
          sort: by('model'),
          cell: (model) => (
            <span>
              <a href={modelPath(modelKeyOf(model))}>{modelKeyOf(model)}</a>
              <span class="sub">{model.displayName}</span>
            </span>
          ),
        },
        { title: 'Status', cell: (model) => <Status status={statusOn(model, day)} /> },
        { title: 'Shutdown', sort: by('shutdown'), cell: ({ lifecycle }) => <Day day={lifecycle.shutdownAt} /> },
        {
          title: 'Replacement',
          cell: ({ lifecycle: { replacement } }) =>
            replacement ? <a href={modelPath(replacement)}>{replacement}</a> : <Nothing />,
        },
        {
          title: 'Context',
          figure: true,
          sort: by('context'),
          phone: 'hidden',
          cell: ({ contextTokens }) => (contextTokens ? compact(contextTokens) : <Nothing />),
        },
        {
          title: 'Input',
          figure: true,
          sort: by('input'),
          cell: (model) => <Rate of={currentPrice(model)?.inputUsdPerMillion} show={show} />,
        },
        {
          title: 'Output',
          figure: true,
          sort: by('output'),
          cell: (model) => <Rate of={currentPrice(model)?.outputUsdPerMillion} show={show} />,
        },
      ]}
    />
  );
};

const Rate: FC<{ of: number | undefined; show: (usdPerMillion: number) => string }> = ({ of, show }) =>
  of === undefined ? <Nothing /> : <span title="USD per million tokens">{show(of)}</span>;
