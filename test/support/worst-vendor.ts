/**
 * A vendor that bills the worst: for an arriving request, every usage that may be the most expensive one by the
 * vendor's own documentation. It does not know how the service bounds a request; it reads the request itself.
 *
 * Input is the bytes of all texts, media at their documented maximum, and the whole context if the request lets the
 * vendor add content of its own. It is all of one kind (written to the cache for an hour, of pictures, of sound), if
 * the request has that kind. Output is the bound that arrived, for each answer.
 */
import { type ServiceTier, type Speed, takeUsage, type Usage } from '../../src/domain/usage.ts';
import type { VendorKind } from '../../src/domain/vendor-kind.ts';
import type { Json } from './request-generator.ts';
import type { RequestForm } from './request-types.ts';

export interface Arrived {
  kind: VendorKind;
  form: RequestForm;
  model: string;
  body: Json;
  /** `undefined`: not known. */
  contextTokens: number | undefined;
  maxOutputTokens: number | undefined;
}

/** The output of a vendor without a bound, once: more than any balance of the tests. */
export const BOUNDLESS = 900_000_000;
/** No vendor takes more of anything. */
const COUNT_MAX = 1_000_000_000;
const ANSWERS_MAX = 10_000;
/** The longest context of a model that is offered. */
const CONTEXT_TOKENS = 2_000_000;
/** A second of sound, at the vendor that counts the most. */
const AUDIO_TOKENS: Partial<Record<VendorKind, number>> = { google: 32, vertex: 32, openai: 10, azure: 10 };
const OTHER_AUDIO_TOKENS = 12.5;
/** The bytes of a second of the WAV files that are generated. */
const WAVE_BYTES = 16_000;
/** The longest time of a recording in any other format. */
const HIDDEN_SECONDS = 36_000;
/** The tokens around each message, and Anthropic's additional ones for tools. */
const MESSAGE_TOKENS = 4;
const TOOLS_TOKENS = 804;
/** An image of GPT Image in high quality, and each partial one. */
const DRAWN_TOKENS = 6_240;
const PARTIAL_TOKENS = 100;
/** A character of speech. */
const SPOKEN_TOKENS = 1.5;
/** Fields whose text no model reads. */
const NOT_READ = new Set([
  ...['model', 'user', 'metadata', 'service_tier', 'serviceTier', 'service_tier', 'stream', 'labels', 'store'],
  ...['safety_identifier', 'prompt_cache_key', 'prediction', 'stream_options', 'modalities', 'audio', 'speed'],
]);
const AS_JSON = new Set(['tools', 'functions', 'response_format', 'output_config', 'output_format', 'text']);

/** Models that search in each call. */
const SEARCHES = /-search-(?:preview|api)|sonar|:online$/;
/** Models that are billed by input or output in sound or pictures, and by no token. */
const BY_UNIT = /whisper|gpt-live-transcribe|tts-1|dall-e|imagen/;
/** Models before Claude 4.6, and those without a published price for a region. */
const OLDER_CLAUDE = /claude-(?:[1-3]|instant|mythos-(?:preview|5-)|[a-z]+-4-[0-5])/;
const HOSTED =
  /^(?:web_search|web_fetch|file_search|mcp)|^(?:googleSearch|google_search|urlContext|url_context|fileSearch)/;

/** One of them is the dearest; which one depends on the price. */
export function worstUsages(arrived: Arrived): Usage[] {
  const reading = new Reading(arrived);
  const isByUnit = BY_UNIT.test(arrived.model);
  const inputTokens = isByUnit ? 0 : reading.inputTokens();
  const responseTokens = isByUnit ? 0 : reading.outputTokens();
  if (reading.isRefused) return [];
  const inputs: Partial<Usage>[] = [
    {},
    ...(reading.caches ? [{ cachedInputTokens: inputTokens }, { cacheWriteInputTokens: inputTokens }] : []),
    ...(reading.lifetimes.has('1h')
      ? [{ cacheWriteInputTokens: inputTokens, cacheWrite1hInputTokens: inputTokens }]
      : []),
    ...(reading.lifetimes.has('12h')
      ? [{ cacheWriteInputTokens: inputTokens, cacheWrite12hInputTokens: inputTokens }]
      : []),
    ...(reading.hasImages ? [{ imageInputTokens: inputTokens }] : []),
    ...(reading.hasSound ? [{ audioInputTokens: inputTokens, audio: inputTokens }] : []),
  ];
  const outputs: Partial<Usage>[] = [
    // Speech is nothing but sound.
    ...(arrived.form === 'speech' ? [] : [{}]),
    ...(reading.draws ? [{ imageOutputTokens: responseTokens }] : []),
    ...(reading.speaks ? [{ audioOutputTokens: responseTokens }] : []),
  ];
  const beside: Partial<Usage> = { searches: reading.searches(), toolUses: { fileSearch: reading.fileSearches() } };
  const conditions = reading
    .tiers()
    .flatMap((serviceTier) =>
      reading.speeds().flatMap((speed) => reading.regions().map((region) => ({ serviceTier, speed, region }))),
    );
  return conditions.flatMap((condition) =>
    inputs.flatMap((input) =>
      outputs.map(
        (output) =>
          takeUsage({
            ...{ inputTokens, responseTokens, cachedInputTokens: 0, cacheWriteInputTokens: 0 },
            ...condition,
            ...beside,
            ...(isByUnit && reading.uses()),
            ...input,
            ...output,
          }).usage,
      ),
    ),
  );
}

class Reading {
  readonly #arrived: Arrived;
  readonly lifetimes = new Set<unknown>();
  #isMarked = false;
  hasImages = false;
  hasSound = false;
  #bringsContent = false;
  #runsTools = false;
  #media = 0;
  #text = 0;
  #seconds = 0;

  constructor(arrived: Arrived) {
    this.#arrived = arrived;
    for (const [name, value] of Object.entries(arrived.body)) {
      if (AS_JSON.has(name)) this.#text += bytes(JSON.stringify(value) ?? '');
      this.#read(value, name, NOT_READ.has(name) || AS_JSON.has(name));
    }
    this.#text +=
      MESSAGE_TOKENS * listOrEmpty(arrived.body.messages ?? arrived.body.input ?? arrived.body.contents).length;
    if (this.#tools().length > 0) this.#text += TOOLS_TOKENS;
    const { form, model, body } = arrived;
    const searches = form === 'chat' && (body.web_search_options ?? body.search_parameters ?? body.enable_search);
    if (this.#tools().some(isHosted) || listOrEmpty(body.mcp_servers).length > 0 || searches || SEARCHES.test(model))
      this.#bringsContent = this.#runsTools = true;
  }

  inputTokens(): number {
    const { contextTokens = CONTEXT_TOKENS, form, body } = this.#arrived;
    if (form === 'speech' || form === 'transcriptions' || form === 'translations')
      return Math.ceil(this.#text + this.#media);
    const inputs = Math.max(1, ...[body.input, body.prompt, body.requests].map(separateInputs));
    const isSeparate = form === 'embeddings' || form === 'batchEmbedContents' || form === 'completions';
    const context = contextTokens * (isSeparate ? inputs : 1);
    const all = Math.ceil(this.#text + this.#media);
    return this.#bringsContent ? Math.max(context, 1) : Math.min(all, Math.max(context, 1));
  }

  outputTokens(): number {
    const { form, body, maxOutputTokens = Number.POSITIVE_INFINITY } = this.#arrived;
    const partial = Math.min(3, numberOf(body.partial_images) ?? 0);
    switch (form) {
      case 'embeddings':
      case 'embedContent':
      case 'batchEmbedContents':
      case 'moderations':
        return 0;
      case 'images':
      case 'imageEdits':
        return (numberOf(body.n) ?? 1) * Math.min(maxOutputTokens, DRAWN_TOKENS + PARTIAL_TOKENS * partial);
      case 'speech':
        return Math.ceil(String(body.input).length * SPOKEN_TOKENS);
      case 'transcriptions':
      case 'translations':
        return Math.min(maxOutputTokens, 2_000);
    }
    const bounds = this.#outputBounds();
    const bound = bounds.length === 0 ? (form === 'completions' ? 16 : Number.POSITIVE_INFINITY) : Math.min(...bounds);
    const each = Math.min(bound, maxOutputTokens);
    // The tokens of a prediction that the answer does not contain.
    const prediction = form === 'chat' && isObject(body.prediction) ? textsIn(body.prediction.content) : [];
    const rejected = prediction.reduce((sum, text) => sum + bytes(text), 0);
    return (each === Number.POSITIVE_INFINITY ? BOUNDLESS : each) * this.#answers() + rejected;
  }

  /** No vendor makes so many answers. */
  get isRefused(): boolean {
    return this.#answers() > ANSWERS_MAX;
  }

  /** The names of the bound that the vendor knows. */
  #outputBounds(): number[] {
    const { kind, form, body } = this.#arrived;
    const known = (names: readonly string[], holder: Json) =>
      names.map((name) => numberOf(holder[name])).filter((bound) => bound !== undefined && bound >= 1) as number[];
    switch (form) {
      case 'chat': {
        const isNew = kind === 'openai' || kind === 'azure' || kind === 'anthropic' || kind === 'google';
        return known(isNew ? ['max_completion_tokens', 'max_tokens'] : ['max_tokens'], body);
      }
      case 'responses':
        return known(['max_output_tokens'], body);
      case 'compact':
        return [];
      case 'generateContent':
        return [body.generationConfig, body.generation_config].flatMap((config) =>
          isObject(config) ? known(['maxOutputTokens', 'max_output_tokens'], config) : [],
        );
      default:
        return known(['max_tokens'], body);
    }
  }

  #answers(): number {
    const { form, body } = this.#arrived;
    const configs = [body.generationConfig, body.generation_config].filter(isObject);
    const counts =
      form === 'generateContent'
        ? configs.flatMap((config) => [config.candidateCount, config.candidate_count])
        : form === 'chat' || form === 'completions'
          ? [body.n, body.best_of]
          : [];
    const most = Math.max(1, ...counts.map((count) => Math.floor(numberOf(count) ?? 1)));
    return most * (form === 'completions' ? Math.max(1, separateInputs(body.prompt)) : 1);
  }

  get draws(): boolean {
    return this.#outputs('image') || /-image(?:-|$)|dall-e|gpt-image|nano-banana/.test(this.#arrived.model);
  }

  get speaks(): boolean {
    return this.#arrived.form === 'speech' || this.#outputs('audio');
  }

  #outputs(modality: string): boolean {
    const { body } = this.#arrived;
    const configs = [body, body.generationConfig, body.generation_config].filter(isObject);
    const words = configs.flatMap((config) => [
      ...listOrEmpty(config.modalities),
      ...listOrEmpty(config.responseModalities),
      ...listOrEmpty(config.response_modalities),
    ]);
    if (
      modality === 'audio' &&
      (isObject(body.audio) || configs.some((config) => config.speechConfig ?? config.speech_config))
    )
      return true;
    return words.some((word) => String(word).toLowerCase() === modality);
  }

  /** The units of a model that is not billed by tokens. */
  uses(): Partial<Usage> {
    const { form, body } = this.#arrived;
    if (form === 'images' || form === 'imageEdits') return { images: numberOf(body.n) ?? 1 };
    if (form === 'speech') return { characters: [...String(body.input)].length };
    if (form === 'transcriptions' || form === 'translations') return { audioSeconds: this.#seconds };
    return {};
  }

  searches(): number {
    const { form, body, model, kind } = this.#arrived;
    const tools = this.#tools();
    if (form === 'chat') {
      const asked = body.web_search_options ?? body.search_parameters ?? (body.enable_search || undefined);
      return asked !== undefined || SEARCHES.test(model) ? 1 : 0;
    }
    if (form === 'responses') return this.#calls(/^web_search/);
    if (form === 'messages')
      return tools
        .filter(({ type }) => /^web_search_/.test(String(type)))
        .reduce((sum, { max_uses: most }) => sum + (numberOf(most) ?? BOUNDLESS), 0);
    const searches = tools.some((tool) =>
      Object.entries(tool).some(([name, value]) => value !== null && /search$/i.test(name) && !/file/i.test(name)),
    );
    if (form === 'generateContent' && searches) return /gemini-[12]/.test(model) && kind === 'google' ? 1 : BOUNDLESS;
    return 0;
  }

  fileSearches(): number {
    return this.#arrived.form === 'responses' ? this.#calls(/^file_search/) : 0;
  }

  #calls(type: RegExp): number {
    if (!this.#tools().some((tool) => type.test(String(tool.type)))) return 0;
    return numberOf(this.#arrived.body.max_tool_calls) ?? BOUNDLESS;
  }

  /** Includes the tools in items of the input, and inside other tools. */
  #tools(): Json[] {
    const { body } = this.#arrived;
    const holders = [body, ...listOrEmpty(body.input).filter(isObject)];
    return holders.flatMap((holder) => listOrEmpty(holder.tools)).filter(isObject);
  }

  /** The tiers at which the vendor may serve it. */
  tiers(): ServiceTier[] {
    const { kind, form, body } = this.#arrived;
    const word = body.service_tier ?? body.serviceTier;
    const isOpenAi = kind === 'openai' && (form === 'chat' || form === 'responses');
    // The project, or a contract, may be set to another tier.
    if (isOpenAi && (word == null || word === 'auto')) return ['standard', 'flex', 'priority', 'ultrafast'];
    if (form === 'messages' && kind === 'anthropic' && (word == null || word === 'auto'))
      return ['standard', 'priority'];
    switch (String(word).toLowerCase()) {
      case 'flex':
        return ['standard', 'flex'];
      case 'priority':
      case 'fast':
        return ['standard', 'priority'];
      case 'ultrafast':
        return ['standard', 'ultrafast'];
      case 'scale':
        return ['standard', 'other'];
    }
    return ['standard'];
  }

  speeds(): Speed[] {
    return this.#arrived.body.speed === 'fast' && this.#arrived.form === 'messages'
      ? ['standard', 'fast']
      : ['standard'];
  }

  /** In which regions it may run. Anthropic refuses to choose one for models of before Claude 4.6. */
  regions(): (string | undefined)[] {
    const { kind, form, model, body } = this.#arrived;
    const isChosen = (body.inference_geo ?? 'global') !== 'global' || (body.workspace_id ?? null) !== null;
    const canChoose = kind === 'anthropic' && form === 'messages' && !OLDER_CLAUDE.test(model);
    return canChoose && isChosen ? [undefined, 'us'] : [undefined];
  }

  /**
   * Anthropic's cache is for marked content, and for results of its own tools; other vendors' caches work by
   * themselves.
   */
  get caches(): boolean {
    return this.#arrived.kind !== 'anthropic' || this.#isMarked || this.#runsTools;
  }

  #read(value: unknown, name: string, isCounted: boolean): void {
    if (typeof value === 'string') {
      if (!isCounted) this.#text += bytes(value);
    } else if (Array.isArray(value)) {
      for (const item of value) this.#read(item, name, isCounted);
    } else if (isObject(value)) this.#object(value, name, isCounted);
  }

  #object(value: Json, name: string, isCounted: boolean): void {
    if (value.head instanceof Uint8Array) {
      this.#formFile(value);
      return;
    }
    if (/cache/.test(name) && 'ttl' in value) this.lifetimes.add(value.ttl);
    if (name === 'cache_control') this.#isMarked = true;
    const media = this.#mediaIn(value, name);
    for (const [member, inside] of Object.entries(value)) if (member !== media) this.#read(inside, member, isCounted);
  }

  #formFile({ contentType, bytes: length, head }: Json): void {
    if (String(contentType).startsWith('image/')) this.#image(undefined);
    else {
      const isWave = String.fromCharCode(...(head as Uint8Array).subarray(0, 4)) === 'RIFF';
      const seconds = isWave ? Math.ceil(Number(length) / WAVE_BYTES) : HIDDEN_SECONDS;
      this.#seconds += seconds;
      if (isWave) this.#sound(seconds);
      else this.#stored();
    }
  }

  /** Counts a picture, a sound or a file; the member that holds it. */
  #mediaIn(value: Json, name: string): string | undefined {
    const type = String(value.type);
    const inline = ['inlineData', 'inline_data'].find((member) => isObject(value[member]));
    if (inline) {
      const { mimeType, mime_type = mimeType, data } = value[inline] as Json;
      this.#content(String(mime_type ?? ''), data);
      return inline;
    }
    if (isObject(value.fileData) || isObject(value.file_data)) return this.#stored();
    if (/^(?:image_url|input_image|computer_screenshot|image_generation_call)$/.test(type)) {
      const held = type === 'image_generation_call' ? 'result' : 'image_url';
      const at = value[held];
      this.#image(isObject(at) ? at.url : at);
      return held;
    }
    if (type === 'image' && isObject(value.source)) {
      this.#image(value.source.data);
      return 'source';
    }
    if (
      type === 'document' &&
      isObject(value.source) &&
      value.source.type !== 'text' &&
      value.source.type !== 'content'
    ) {
      this.#content(String(value.source.media_type ?? ''), value.source.data);
      return 'source';
    }
    if (type === 'input_audio' || type === 'audio_url') {
      const { data, url = data, format } = (isObject(value[type]) ? value[type] : {}) as Json;
      this.#content(`audio/${format ?? ''}`, url);
      return type;
    }
    if (type === 'file' && isObject(value.file)) {
      this.#file(value.file);
      return 'file';
    }
    if (type === 'input_file') {
      this.#file(value);
      return 'file_data';
    }
    if (name === 'audio' && typeof value.id === 'string') return this.#stored();
    if (/^(?:item_reference|compaction|container_upload|video_url)$/.test(type)) return this.#stored();
    return undefined;
  }

  #file(file: Json): void {
    const type = /^data:([^;,]+)/.exec(String(file.file_data ?? ''))?.[1] ?? '';
    if (file.file_id || file.file_url) this.#stored();
    if (typeof file.file_data === 'string') this.#content(type, file.file_data);
  }

  #content(mediaType: string, content: unknown): void {
    const type = mediaType.toLowerCase();
    const held = String(content ?? '').replace(/^data:[^,]*,/, '');
    if (type.startsWith('image/')) this.#image(content);
    else if (type.startsWith('audio/')) {
      // In other formats silence takes next to no bytes, whatever they are called.
      if (held.startsWith('UklGR')) this.#sound(Math.ceil((held.length * 3) / 4 / WAVE_BYTES));
      else this.#stored();
      this.hasSound = true;
    } else if (/^text\/|json$/.test(type) && !held.startsWith('JVBER')) this.#text += Math.floor((held.length * 3) / 4);
    else {
      this.#stored();
      if (type.startsWith('video/')) this.hasImages = this.hasSound = true;
    }
  }

  #stored(): undefined {
    this.#bringsContent = true;
    return undefined;
  }

  #sound(seconds: number): void {
    this.#media += seconds * (AUDIO_TOKENS[this.#arrived.kind] ?? OTHER_AUDIO_TOKENS);
    this.hasSound = true;
  }

  #image(content: unknown): void {
    const { kind, model } = this.#arrived;
    this.hasImages = kind === 'google' || kind === 'vertex' || this.#arrived.form === 'imageEdits' || this.hasImages;
    const isPixel = typeof content === 'string' && content.includes('iVBORw0KGgo');
    this.#media += imageTokens(kind, model, isPixel);
  }
}

/** A tool that the vendor runs, and whose results become part of the prompt. */
function isHosted(tool: Json): boolean {
  // Google refuses a tool that is no object.
  return HOSTED.test(String(tool.type)) || Object.keys(tool).some((name) => HOSTED.test(name) && isObject(tool[name]));
}

/** At most, by the vendors' documentation of vision. */
function imageTokens(kind: VendorKind, model: string, isPixel: boolean): number {
  if (kind === 'anthropic' || /claude/.test(model)) return 4_784;
  if (kind === 'google' || /gemini/.test(model)) return /gemini-[3-9]/.test(model) ? 2_240 : 24 * 258;
  if (kind !== 'openai' && kind !== 'azure' && !/gpt-[4-9]/.test(model)) return 16_384;
  if (/gpt-4o-mini/.test(model)) return 2_833 + 8 * 5_667;
  if (/gpt-5\.[4-9]|gpt-[6-9]/.test(model)) return isPixel ? 308 : /gpt-5\.[45]/.test(model) ? 12_000 : 36_000;
  return 3_779;
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function bytes(text: string): number {
  return Buffer.byteLength(text);
}

/** Texts that each have a context for themselves. A list of tokens is one text. */
function separateInputs(list: unknown): number {
  return typeof listOrEmpty(list)[0] === 'number' ? 1 : listOrEmpty(list).length;
}

function listOrEmpty(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Digits in a text are a number at Google. */
function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && number >= 0 ? Math.min(Math.floor(number), COUNT_MAX) : undefined;
}
