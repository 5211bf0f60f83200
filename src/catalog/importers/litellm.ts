/**
 * Reads the format of LiteLLM's `model_prices_and_context_window.json`: one flat object of entries by name.
 *
 * Prices in USD per token are converted exactly to USD per million. `input_cost_per_token_above_272k_tokens` is a tier,
 * `..._batches` a batch price, `max_input_tokens` a limit of the input. Priority, flex and regional rates are ignored,
 * and so are other channels: `gemini/gemini-2.5-pro` is Google's own, `gemini-2.5-pro` is Vertex.
 */
import { z } from 'zod';
import type { Provider } from '../model.ts';
import {
  amount,
  finish,
  type ImportedModel,
  type ImportedPricing,
  isPreview,
  kindByName,
  known,
  knownLimit,
  knownRates,
  limit,
  perMillion,
  type Upstream,
  whyNoModel,
  withImplied,
} from './imported.ts';

const LITELLM_URL = 'https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json';

/** The providers' own channels. Bedrock, Azure, Vertex and resellers have other names. */
const CHANNELS = new Map<unknown, Provider>([
  ['openai', 'openai'],
  ['text-completion-openai', 'openai'],
  ['anthropic', 'anthropic'],
  ['gemini', 'google'],
]);

const KINDS = new Map([
  ['chat', 'chat'],
  ['responses', 'chat'],
  ['completion', 'completion'],
  ['embedding', 'embedding'],
  ['image_generation', 'image'],
  ['image_edit', 'image'],
  ['audio_transcription', 'transcription'],
  ['audio_speech', 'speech'],
  ['moderation', 'moderation'],
  ['realtime', 'realtime'],
  ['video_generation', 'video'],
]);

const CAPABILITIES: Record<string, string> = {
  supports_audio_input: 'audio_input',
  supports_audio_output: 'audio_output',
  supports_computer_use: 'computer_use',
  supports_function_calling: 'tools',
  supports_native_streaming: 'streaming',
  supports_parallel_function_calling: 'parallel_tool_calls',
  supports_pdf_input: 'pdf_input',
  supports_prompt_caching: 'prompt_caching',
  supports_reasoning: 'reasoning',
  supports_response_schema: 'structured_outputs',
  supports_system_messages: 'system_messages',
  supports_tool_choice: 'tool_choice',
  supports_url_context: 'url_context',
  supports_video_input: 'video_input',
  supports_vision: 'vision',
  supports_web_search: 'web_search',
};

const Entry = z.looseObject({
  litellm_provider: z.string(),
  mode: z.string(),
  deprecation_date: z.string().nullish(),
  input_cost_per_token: amount,
  output_cost_per_token: amount,
  output_cost_per_image_token: amount,
  output_cost_per_audio_token: amount,
  cache_read_input_token_cost: amount,
  cache_creation_input_token_cost: amount,
  input_cost_per_token_batches: amount,
  output_cost_per_token_batches: amount,
  max_input_tokens: limit,
  max_output_tokens: limit,
  supported_endpoints: z.array(z.string()).nullish(),
  supported_modalities: z.array(z.string()).nullish(),
  supported_output_modalities: z.array(z.string()).nullish(),
});

type Entry = z.infer<typeof Entry>;

const TIER = /^input_cost_per_token_above_(\d+)k_tokens$/;

export function readLiteLlm(raw: unknown): Upstream {
  const upstream: Upstream = { url: LITELLM_URL, models: [], skipped: [] };
  const entries = raw !== null && typeof raw === 'object' && !Array.isArray(raw) ? Object.entries(raw) : [];
  for (const [name, value] of entries) {
    const skip = (reason: string) => upstream.skipped.push({ name, reason });
    const provider = CHANNELS.get((value as { litellm_provider?: unknown } | null)?.litellm_provider);
    if (!provider) {
      skip('is another provider or channel');
      continue;
    }
    const entry = Entry.safeParse(value);
    const model = name.replace(/^(?:openai|anthropic|gemini)\//, '');
    const kind = kindByName(model) ?? KINDS.get(entry.data?.mode ?? '');
    const noModel = whyNoModel(model);
    if (noModel) skip(noModel);
    else if (!entry.success) skip('cannot be read');
    else if (!kind) skip(`is no model: mode ${entry.data.mode}`);
    else upstream.models.push(readEntry(provider, model, kind, entry.data));
  }
  return finish('LiteLLM', upstream);
}

function readEntry(provider: Provider, model: string, kind: string, entry: Entry): ImportedModel {
  const pricing = readPricing(provider, kind, entry);
  const inputTokens = knownLimit(entry.max_input_tokens);
  const maxOutputTokens = kind === 'embedding' ? undefined : knownLimit(entry.max_output_tokens);
  const input = entry.supported_modalities;
  const output = entry.supported_output_modalities;
  return {
    provider,
    model,
    kind,
    preview: isPreview(model),
    ...(pricing && { pricing }),
    ...(inputTokens !== undefined && { inputTokens }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(input && output && { modalities: { input, output } }),
    capabilities: withImplied(provider, litellmCapabilities(provider, entry, pricing)),
    // For other providers these are LiteLLM's own endpoints.
    ...(provider === 'openai' && entry.supported_endpoints && { endpoints: entry.supported_endpoints }),
    ending: Boolean(entry.deprecation_date),
    ...(z.iso.date().safeParse(entry.deprecation_date).success && { shutdownAt: entry.deprecation_date as string }),
  };
}

function readPricing(provider: Provider, kind: string, entry: Entry): ImportedPricing | undefined {
  const base = litellmRates(provider, kind, entry, '');
  if (!base) return undefined;
  const thresholds = Object.keys(entry).flatMap((key) => Number(TIER.exec(key)?.[1] ?? 0) || []);
  const tiers = thresholds
    .sort((a, b) => a - b)
    .flatMap((thousands) => {
      const rates = litellmRates(provider, kind, entry, `_above_${thousands}k_tokens`);
      return rates ? [{ inputTokensAbove: thousands * 1000, ...rates }] : [];
    });
  const batchMultiplier = batchShare(entry);
  const image =
    kind === 'image' && provider !== 'openai' ? known(perMillion(entry.output_cost_per_image_token)) : undefined;
  return {
    ...base,
    ...(tiers.length > 0 && { tiers }),
    ...(image !== undefined && { imageOutputUsdPerMillion: image }),
    ...(batchMultiplier !== undefined && { batchMultiplier }),
  };
}

function litellmRates(provider: Provider, kind: string, entry: Entry, suffix: string) {
  const perToken = (name: string) => {
    const usd = amount.safeParse(entry[name + suffix]);
    return usd.success ? perMillion(usd.data) : undefined;
  };
  const text = perToken('output_cost_per_token');
  // Output of a speech model or of OpenAI's image models is counted in separate tokens.
  const special =
    kind === 'speech'
      ? perToken('output_cost_per_audio_token')
      : kind === 'image' && provider === 'openai'
        ? perToken('output_cost_per_image_token')
        : undefined;
  return knownRates(kind, {
    inputUsdPerMillion: perToken('input_cost_per_token'),
    outputUsdPerMillion: special || text,
    cachedInputUsdPerMillion: perToken('cache_read_input_token_cost'),
    cacheWriteUsdPerMillion: perToken('cache_creation_input_token_cost'),
  });
}

/** The share of the price for batch calls, if input and output have the same. */
function batchShare(entry: Entry): number | undefined {
  const share = (batch: number | null | undefined, full: number | null | undefined) =>
    batch && full ? Number((batch / full).toFixed(4)) : undefined;
  const input = share(entry.input_cost_per_token_batches, entry.input_cost_per_token);
  const output = share(entry.output_cost_per_token_batches, entry.output_cost_per_token);
  return input !== undefined && input <= 1 && (output === undefined || output === input) ? input : undefined;
}

function* litellmCapabilities(
  provider: Provider,
  entry: Entry,
  pricing: ImportedPricing | undefined,
): Iterable<string> {
  for (const [flag, capability] of Object.entries(CAPABILITIES)) {
    // The flag does not show whether a Claude model accepts forced tool use, which the newest reject.
    if (entry[flag] === true && !(provider === 'anthropic' && capability === 'tool_choice')) yield capability;
  }
  if (pricing?.batchMultiplier !== undefined) yield 'batch';
  if (provider === 'openai' && entry.supported_endpoints?.includes('/v1/batch')) yield 'batch';
}
