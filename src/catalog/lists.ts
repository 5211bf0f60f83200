/**
 * The statements of a public JSON list of models: a price list in the form of models.dev, LiteLLM, genai-prices or
 * pi-ai, or a provider's deprecations in the form of model-eol. The members of a list identify its form. Pure; throws
 * if the form is unknown.
 */
import { z } from 'zod';
import { Provider } from '../contract/catalog.ts';
import type { ImportedModel } from './importers/imported.ts';
import { readLiteLlm } from './importers/litellm.ts';
import { readModelsDev } from './importers/models-dev.ts';
import type { SourceFacts, SourcePrice } from './news.ts';

/** The most models that a list may name: more than each of these lists has for all providers. */
const MODELS_MAX = 5_000;
/** The form of a model's id; a list may have headings and remarks in its place. */
const MODEL_ID = /^[\x21-\x7e]{1,200}$/;

/** The statements about the models of a provider. */
export type Said = Pick<SourceFacts, 'provider'> & Partial<Pick<SourceFacts, 'ids' | 'ends' | 'prices'>>;

/** The address of a list and the day on which it was read. */
export interface ListRead {
  address: URL;
  day: string;
}

export function readList(raw: unknown, { address, day }: ListRead): SourceFacts[] {
  const label = listLabel(address);
  const { said, dated = null } = readForm(raw, { address, day });
  const facts = said.map(({ provider, ids = [], ends = {}, prices = {} }) => ({
    source: dated === null ? `${label}, read ${day}` : `${label} of ${dated}`,
    date: dated ?? day,
    provider,
    ids: ids.filter(isModelId),
    ends: Object.fromEntries(Object.entries(ends).filter(([id]) => isModelId(id))),
    prices: Object.fromEntries(Object.entries(prices).filter(([id]) => isModelId(id))),
  }));
  const models = facts.reduce((sum, { ids, ends, prices }) => {
    return sum + new Set([...ids, ...Object.keys(ends), ...Object.keys(prices)]).size;
  }, 0);
  if (models === 0) throw new Error('it names no model of OpenAI, Anthropic or Google');
  if (models > MODELS_MAX) throw new Error(`it names ${models} models, more than ${MODELS_MAX}`);
  return facts;
}

/** The name of a list without its query, which may be a secret. */
export function listLabel({ host, pathname }: URL): string {
  return host + pathname;
}

const isModelId = (id: string) => MODEL_ID.test(id);

/** `dated`: the day that the list itself names. */
interface Form {
  said: Said[];
  dated?: string | null;
}

function readForm(raw: unknown, { address, day }: ListRead): Form {
  if (Array.isArray(raw)) return { said: readGenaiPrices(raw, day) };
  const members = typeof raw === 'object' && raw !== null ? Object.values(raw) : [];
  const some = (name: string) =>
    members.some((member) => typeof member === 'object' && member !== null && name in member);
  if (ModelEol.safeParse(raw).success) return readModelEol(raw);
  if (some('litellm_provider')) return { said: ofImport(readLiteLlm(raw).models) };
  if (some('models')) return { said: ofImport(readModelsDev(raw).models) };
  const provider = Provider.safeParse(/([^/]*)\.json$/.exec(address.pathname)?.[1]);
  if (provider.success && PiAiModels.safeParse(raw).success)
    return { said: [{ provider: provider.data, prices: readPiAi(raw) }] };
  throw new Error('it has none of the forms that are read: model-eol, models.dev, LiteLLM, genai-prices, pi-ai');
}

/** A price list that the import reads as well. */
function ofImport(models: readonly ImportedModel[]): Said[] {
  return [...Map.groupBy(models, ({ provider }) => provider)].map(([provider, own]) => ({
    provider,
    ids: own.map(({ model }) => model),
    ends: Object.fromEntries(own.flatMap(({ model, shutdownAt }) => (shutdownAt ? [[model, shutdownAt]] : []))),
    prices: Object.fromEntries(
      own.flatMap(({ model, pricing }): [string, SourcePrice][] => {
        if (pricing?.inputUsdPerMillion === undefined || pricing.outputUsdPerMillion === undefined) return [];
        const { inputUsdPerMillion: input, outputUsdPerMillion: output } = pricing;
        const { cachedInputUsdPerMillion: cachedInput, cacheWriteUsdPerMillion: cacheWrite } = pricing;
        return [[model, { input, output, cachedInput, cacheWrite }]];
      }),
    ),
  }));
}

const ModelEol = z.object({
  spec: z.string().startsWith('model-eol/'),
  publisher: z.string(),
  generated: z.string().nullish(),
  models: z.array(z.object({ id: z.string(), shutdown: z.string().nullish(), date_precision: z.string().nullish() })),
});

/**
 * Until a tentative date, the provider promises the model: it is not an end. Google's ends are the earliest possible
 * ones.
 */
function readModelEol(raw: unknown): Form {
  const { publisher, generated, models } = ModelEol.parse(raw);
  const provider = Provider.safeParse(publisher);
  if (!provider.success) throw new Error(`its publisher ${publisher.slice(0, 40)} is another provider`);
  const ends = models.flatMap(({ id, shutdown, date_precision: precision }) =>
    isDay(shutdown) && precision !== 'tentative' ? [[id, shutdown]] : [],
  );
  const dated = generated?.slice(0, 'yyyy-mm-dd'.length);
  return {
    said: [{ provider: provider.data, ids: models.map(({ id }) => id), ends: Object.fromEntries(ends) }],
    dated: isDay(dated) ? dated : null,
  };
}

const isDay = (text: unknown): text is string => z.iso.date().safeParse(text).success;

/** A rate that changes for long prompts has a base. */
const Rate = z.union([z.number(), z.object({ base: z.number() }).transform(({ base }) => base)]).optional();
const Rates = z.object({ input_mtok: Rate, output_mtok: Rate, cache_read_mtok: Rate, cache_write_mtok: Rate });
const GenaiPrices = z.array(
  z.object({
    id: z.string(),
    models: z.array(
      z.object({
        id: z.string(),
        prices: z.union([
          z.array(
            z.object({ constraint: z.looseObject({ start_date: z.string().optional() }).nullish(), prices: Rates }),
          ),
          Rates,
        ]),
      }),
    ),
  }),
);

/**
 * Among prices with conditions, the last one in force on the day. A price by time of day is not a price of the model.
 */
function readGenaiPrices(raw: readonly unknown[], day: string): Said[] {
  const own = raw.filter((entry) => Provider.safeParse((entry as { id?: unknown } | null)?.id).success);
  const list = GenaiPrices.safeParse(own);
  if (!list.success) throw new Error('it is a list, but none of genai-prices');
  return list.data.map(({ id, models }) => ({
    provider: Provider.parse(id),
    prices: Object.fromEntries(
      models.flatMap(({ id: model, prices }): [string, SourcePrice][] => {
        const rates = Array.isArray(prices)
          ? prices.findLast(({ constraint }) => !constraint || (constraint.start_date ?? '9') <= day)?.prices
          : prices;
        if (rates?.input_mtok === undefined || rates.output_mtok === undefined) return [];
        const {
          input_mtok: input,
          output_mtok: output,
          cache_read_mtok: cachedInput,
          cache_write_mtok: cacheWrite,
        } = rates;
        return [[model, { input, output, cachedInput, cacheWrite }]];
      }),
    ),
  }));
}

/** By kind of API, then by type and id: `chat:gpt-6-sol`. */
const PiAiModels = z.record(
  z.string(),
  z.record(
    z.string(),
    z.object({
      type: z.string(),
      cost: z.object({ input: z.number(), output: z.number(), cacheRead: z.number(), cacheWrite: z.number() }),
    }),
  ),
);

/** The prices in the file of one provider; only the file's name states the provider. */
export function readPiAi(raw: unknown): Record<string, SourcePrice> {
  const chat = Object.values(PiAiModels.parse(raw))
    .flatMap((models) => Object.entries(models))
    .filter(([, { type }]) => type === 'chat');
  return Object.fromEntries(
    chat.map(([name, { cost }]) => [
      name.slice(name.indexOf(':') + 1),
      { input: cost.input, output: cost.output, cachedInput: cost.cacheRead, cacheWrite: cost.cacheWrite },
    ]),
  );
}
