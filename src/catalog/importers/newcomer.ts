/**
 * New models: the conditions for adding a model that only upstream has, and the fields that are filled in.
 *
 * It is added as ACTIVE with the upstream as its source. Models that upstream marks as deprecated are not added,
 * because dates and replacement must come from the provider; nor are models that the catalog excludes on purpose.
 */
import type { CatalogModel, Provider } from '../model.ts';
import type { ImportedModel } from './imported.ts';

export interface Evidence {
  /** The upstream's name in the catalog. */
  sourceLabel: string;
  url: string;
  /** Date of the copy. */
  date: string;
}

/** Models that the catalog excludes; see its README. */
const LEFT_OUT: Record<Provider, RegExp> = {
  openai: /^$/,
  anthropic: /^$/,
  google: /palm|bison|\bexp\b|learnlm|^gemma-[123]/,
};

export function whyNotAdded({ provider, model, ending }: ImportedModel): string | null {
  if (ending) return 'is new and already deprecated upstream: its lifecycle needs a source of its own';
  return LEFT_OUT[provider].test(model) ? 'is of a kind that the catalog leaves out' : null;
}

export function newModel(imported: ImportedModel, { sourceLabel, url, date }: Evidence): CatalogModel {
  const { provider, model, kind, pricing } = imported;
  const contextTokens = imported.contextTokens ?? imported.inputTokens;
  return {
    provider,
    model,
    displayName: imported.displayName ?? model,
    family: findFamily(provider, model),
    kind,
    aliases: [],
    lifecycle: { status: 'ACTIVE', source: { label: sourceLabel, url, checkedAt: date }, confidence: 'secondary' },
    ...(imported.releasedAt && { releasedAt: imported.releasedAt }),
    preview: imported.preview,
    ...(pricing && { pricing: { ...pricing, source: `${sourceLabel} ${date}` } }),
    ...(contextTokens !== undefined && { contextTokens }),
    ...(imported.maxOutputTokens !== undefined && { maxOutputTokens: imported.maxOutputTokens }),
    modalities: imported.modalities ?? inferModalities(kind, imported.capabilities),
    capabilities: imported.capabilities,
    endpoints: imported.endpoints ?? ENDPOINTS[provider][kind] ?? [],
    ...(imported.reasoningEfforts && { reasoningEfforts: imported.reasoningEfforts }),
  };
}

const FAMILIES: Record<Provider, [RegExp, (found: RegExpExecArray) => string][]> = {
  openai: [
    [/^(text-embedding|gpt-image|gpt-realtime|gpt-audio|tts|sora|dall-e)/, ([family]) => family],
    [/transcribe|whisper/, () => 'transcription'],
    [/moderation/, () => 'moderation'],
    [/codex/, () => 'codex'],
    [/^o\d/, () => 'o-series'],
    [/^gpt-\d+o?(?:\.\d+)?/, ([family]) => family],
  ],
  anthropic: [[/opus|sonnet|haiku|fable|mythos|instant/, ([family]) => `claude-${family}`]],
  google: [
    [/^(gemini-embedding|gemini-robotics-er|text-embedding|imagen|veo|lyria|gemma)/, ([family]) => family],
    [/flash-lite|flash|pro\b/, ([family]) => `gemini-${family}`],
  ],
};

/** The family of models that a name belongs to, grouped as in the catalog. */
function findFamily(provider: Provider, model: string): string {
  for (const [pattern, family] of FAMILIES[provider]) {
    const found = pattern.exec(model);
    if (found) return family(found);
  }
  return provider === 'anthropic' ? 'claude' : model;
}

const ENDPOINTS: Record<Provider, Record<string, string[]>> = {
  openai: {
    chat: ['/v1/chat/completions', '/v1/responses'],
    completion: ['/v1/completions'],
    embedding: ['/v1/embeddings'],
    image: ['/v1/images/generations', '/v1/images/edits'],
    moderation: ['/v1/moderations'],
    realtime: ['/v1/realtime'],
    speech: ['/v1/audio/speech'],
    transcription: ['/v1/audio/transcriptions'],
    video: ['/v1/videos'],
  },
  anthropic: { chat: ['/v1/messages'], completion: ['/v1/complete'] },
  google: {
    chat: ['generateContent', 'streamGenerateContent', 'countTokens'],
    embedding: ['embedContent', 'batchEmbedContents'],
    image: ['generateContent'],
    realtime: ['bidiGenerateContent'],
    speech: ['generateContent', 'streamGenerateContent'],
    video: ['predictLongRunning'],
  },
};

const OUTPUTS: Record<string, string> = {
  embedding: 'embedding',
  image: 'image',
  moderation: 'classification',
  music: 'audio',
  realtime: 'audio',
  speech: 'audio',
  video: 'video',
};

function inferModalities(kind: string, capabilities: readonly string[]): CatalogModel['modalities'] {
  const input = kind === 'transcription' || kind === 'realtime' ? 'audio' : 'text';
  const seen = kind === 'chat' && capabilities.includes('vision') ? ['image'] : [];
  return { input: [input, ...seen], output: [OUTPUTS[kind] ?? 'text'] };
}
