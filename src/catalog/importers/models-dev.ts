/**
 * Reads the format of `models.dev/api.json`: providers by id, each with its models by id.
 *
 * Prices are in USD per million tokens already. `gpt-5.5` with `cost.tiers[{ tier: { size: 272000 } }]` becomes a tier
 * above 272,000 input tokens; `limit.context` is the whole context. Faster modes and audio rates are left out.
 */
import { z } from 'zod';
import { Provider } from '../../contract/catalog.ts';
import {
  amount,
  finish,
  type ImportedModel,
  type ImportedPricing,
  isPreview,
  kindByName,
  knownLimit,
  knownRates,
  limit,
  type StatedRates,
  type Upstream,
  whyNoModel,
  withImplied,
} from './imported.ts';

const MODELS_DEV_URL = 'https://models.dev/api.json';

const Cost = z.object({ input: amount, output: amount, cache_read: amount, cache_write: amount });

const Entry = z.object({
  name: z.string().min(1).max(200).optional(),
  family: z.string().min(1).max(200).optional(),
  release_date: z.string().optional(),
  status: z.string().optional(),
  reasoning: z.boolean().optional(),
  tool_call: z.boolean().optional(),
  structured_output: z.boolean().optional(),
  reasoning_options: z
    .array(z.object({ type: z.string(), values: z.array(z.string().nullable()).optional() }))
    .optional(),
  cost: Cost.extend({
    tiers: z.array(Cost.extend({ tier: z.object({ size: z.number().int().positive() }) })).optional(),
    context_over_200k: Cost.optional(),
  }).optional(),
  limit: z.object({ context: limit, output: limit }).optional(),
  modalities: z.object({ input: z.array(z.string()), output: z.array(z.string()) }).optional(),
});

type Entry = z.infer<typeof Entry>;

const File = z.record(z.string(), z.object({ models: z.record(z.string(), z.unknown()) }));

/** Capabilities that a chat model's input and output modalities imply. */
const SHOWN_BY: [side: 'input' | 'output', modality: string, capability: string][] = [
  ['input', 'image', 'vision'],
  ['input', 'pdf', 'pdf_input'],
  ['input', 'audio', 'audio_input'],
  ['input', 'video', 'video_input'],
  ['output', 'audio', 'audio_output'],
];

export function readModelsDev(raw: unknown): Upstream {
  const file = File.safeParse(raw);
  const upstream: Upstream = { url: MODELS_DEV_URL, models: [], skipped: [] };
  for (const [id, { models }] of Object.entries(file.data ?? {})) {
    const provider = Provider.safeParse(id);
    if (!provider.success) {
      upstream.skipped.push({ name: `${id}/*`, reason: 'is another provider or channel' });
      continue;
    }
    for (const [name, value] of Object.entries(models)) {
      const entry = Entry.safeParse(value);
      const reason = whyNoModel(name) ?? (entry.success ? null : 'cannot be read');
      if (reason === null && entry.data) upstream.models.push(readEntry(provider.data, name, entry.data));
      else upstream.skipped.push({ name: `${id}/${name}`, reason: reason ?? '' });
    }
  }
  return finish('models.dev', upstream);
}

function readEntry(provider: Provider, name: string, entry: Entry): ImportedModel {
  const kind = kindByName(name) ?? 'chat';
  const pricing = readCost(kind, entry.cost);
  const contextTokens = knownLimit(entry.limit?.context);
  // For an embedding, "output" is the size of its vector.
  const maxOutputTokens = kind === 'embedding' ? undefined : knownLimit(entry.limit?.output);
  const efforts = entry.reasoning_options
    ?.find(({ type }) => type === 'effort')
    ?.values?.filter((value) => value !== null);
  return {
    provider,
    model: name,
    ...(entry.name && { displayName: entry.name }),
    ...(entry.family && { family: entry.family }),
    kind,
    preview: isPreview(name) || entry.status === 'alpha' || entry.status === 'beta',
    ...(/^\d{4}-\d{2}-\d{2}$/.test(entry.release_date ?? '') && { releasedAt: entry.release_date as string }),
    ...(pricing && { pricing }),
    ...(contextTokens !== undefined && { contextTokens }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(entry.modalities && { modalities: entry.modalities }),
    capabilities: withImplied(provider, modelsDevCapabilities(kind, entry)),
    ...(efforts?.length && { reasoningEfforts: efforts }),
    ending: entry.status === 'deprecated',
  };
}

function readCost(kind: string, cost: Entry['cost']): ImportedPricing | undefined {
  const base = cost && knownRates(kind, statedRates(cost));
  if (!base) return undefined;
  const over200k = cost.context_over_200k;
  const stated = cost.tiers ?? (over200k ? [{ ...over200k, tier: { size: 200_000 } }] : []);
  const tiers = stated.flatMap((tier) => {
    const rates = knownRates(kind, statedRates(tier));
    return rates ? [{ inputTokensAbove: tier.tier.size, ...rates }] : [];
  });
  tiers.sort((a, b) => a.inputTokensAbove - b.inputTokensAbove);
  return { ...base, ...(tiers.length > 0 && { tiers }) };
}

function statedRates(cost: z.infer<typeof Cost>): StatedRates {
  return {
    inputUsdPerMillion: cost.input,
    outputUsdPerMillion: cost.output,
    cachedInputUsdPerMillion: cost.cache_read,
    cacheWriteUsdPerMillion: cost.cache_write,
  };
}

function* modelsDevCapabilities(kind: string, entry: Entry): Iterable<string> {
  if (entry.tool_call) yield 'tools';
  if (entry.structured_output) yield 'structured_outputs';
  if (entry.reasoning) yield 'reasoning';
  if (entry.cost?.cache_read) yield 'prompt_caching';
  if (kind !== 'chat') return;
  for (const [side, modality, capability] of SHOWN_BY)
    if (entry.modalities?.[side].includes(modality)) yield capability;
}
