/**
 * The capabilities that a request to a vendor uses besides text: web search, images, audio, and other tools that the
 * vendor hosts. They are read from the request alone, in the forms of OpenAI, Anthropic, Google and the vendors that
 * are compatible with OpenAI.
 *
 * The rules are the tables below. They match parts of names, because vendors date their tools (`web_search_20250305`).
 * Content that a request refers to at the vendor, such as a stored prompt, cannot be read here; the usage of the call
 * is still counted from the answer.
 */
import type { Capability } from '../domain/plan.ts';
import { type Fields, fieldsOrEmpty, isFields, listOrEmpty, textOrEmpty } from './usage/figures.ts';

export interface VendorRequestParts {
  /** The path of the address, with or without its origin; some endpoints make only images or speech. */
  path?: string | undefined;
  /** The vendor's name of the model. */
  model?: string | undefined;
  body: Fields;
}

/**
 * Tools that the vendor runs itself, by their `type`, or by a member as Google has it (`{ google_search: {} }`). OpenAI
 * `web_search`, `web_search_preview`, `image_generation`; Anthropic `web_search_20250305`; Google `google_search`,
 * `google_search_retrieval`, `enterprise_web_search`; OpenRouter `openrouter:web_search`; xAI `live_search`,
 * `x_search`; Groq `browser_search`. Sources: the types of the SDKs of OpenAI, Anthropic and Google;
 * openrouter.ai/docs/guides/features/ server-tools; console.groq.com/docs/tool-use/built-in-tools; for xAI
 * developers.cloudflare.com/ai-gateway/usage/web-search and the reference of @langchain/xai.
 *
 * Hosted tools are those with a fee, or those that let the vendor reach systems that the service cannot see: OpenAI
 * `code_interpreter`, `shell`, `mcp`, `file_search`; Anthropic `code_execution_20250825`, `web_fetch_20250910`,
 * `mcp_toolset`; Google `code_execution`, `google_maps`, `file_search`, `url_context`, `mcp_servers`. Tools that the
 * caller runs, such as `computer_use`, `local_shell` and `bash`, are not included.
 */
const TOOLS: readonly (readonly [RegExp, Capability])[] = [
  [/(?:^|[:_$])(?:web|google|live|browser|x)_search/, 'search'],
  [/image_generation/, 'image'],
  [
    /(?:^|[:_$])(?:code_interpreter|code_execution|file_search|web_fetch|google_maps|url_context)|^shell$|^mcp(?:_|$)/,
    'tools',
  ],
];

/**
 * Fields of a body that enable a capability. OpenAI `web_search_options`, `audio` (the voice of a spoken answer); xAI
 * `search_parameters`; Qwen `enable_search` (developers.cloudflare.com/ai-gateway/usage/web-search); Anthropic
 * `mcp_servers`.
 */
const FIELDS: readonly (readonly [string, Capability])[] = [
  ['web_search_options', 'search'],
  ['search_parameters', 'search'],
  ['enable_search', 'search'],
  ['audio', 'audio'],
  ['mcp_servers', 'tools'],
];

/**
 * Models that search in every call: gpt-4o-search-preview, gpt-5-search-api; Perplexity's sonar; OpenRouter's
 * `:online`.
 */
const SEARCHES_ALWAYS = /-search-(?:preview|api)|(?:^|\/)sonar\b|:online$/;

/** Models that search, draw, speak or listen without being asked to in the request. */
const MODELS: readonly (readonly [RegExp, Capability])[] = [
  [SEARCHES_ALWAYS, 'search'],
  // Groq's model that decides by itself whether to search.
  [/(?:^|\/)compound\b/, 'search'],
  // gpt-image-1, chatgpt-image-latest, dall-e-3, imagen-4.0-generate-001, gemini-2.5-flash-image.
  [/(?:^|[-/])(?:dall-e|imagen)-|-image(?:-|$)|nano-banana/, 'image'],
  // gpt-4o-transcribe, whisper-1, tts-1, gemini-2.5-flash-preview-tts.
  [/(?:^|[-/])(?:tts|whisper|transcribe)(?:-|$)/, 'audio'],
];

/** Endpoints that have only one capability. */
const PATHS: readonly (readonly [RegExp, Capability])[] = [
  [/\/images\//, 'image'],
  [/\/audio\//, 'audio'],
];

/** Fields that list the wanted kinds of output: OpenAI's, and Google's in both spellings. */
const MODALITIES = ['modalities', 'output_modalities', 'response_modalities', 'responseModalities'];
/** Members that state the media type of a part: the type itself, or a file as a data URL. */
const MEDIA = ['mimeType', 'mime_type', 'media_type', 'file_data', 'url'];
const CAPABILITIES: readonly Capability[] = ['search', 'image', 'audio', 'tools'];

/** The capabilities that the request uses, each once and in a fixed order. */
export function requestedCapabilities({ path = '', model = '', body }: VendorRequestParts): Capability[] {
  const used = new Set<Capability>([
    ...matching(PATHS, path),
    ...matching(MODELS, model.toLowerCase()),
    ...FIELDS.flatMap(([field, capability]) => (isSwitchedOn(body[field]) ? [capability] : [])),
    ...listTools(body).flatMap((tool) => toolNames(tool).flatMap((name) => matching(TOOLS, name))),
    ...wantedModalities(body),
  ]);
  // OpenRouter's older form of its web search.
  if (listOrEmpty(body.plugins).some((plugin) => fieldsOrEmpty(plugin).id === 'web')) used.add('search');
  if (listTurns(body).some(speaks)) used.add('audio');
  return CAPABILITIES.filter((capability) => used.has(capability));
}

/** Whether the model of this name searches in every call. */
export function isSearchModel(model: string): boolean {
  return SEARCHES_ALWAYS.test(model.toLowerCase());
}

function matching(rules: readonly (readonly [RegExp, Capability])[], name: string): Capability[] {
  return rules.flatMap(([pattern, capability]) => (pattern.test(name) ? [capability] : []));
}

function isSwitchedOn(value: unknown): boolean {
  const isEmpty = Array.isArray(value) && value.length === 0;
  return value !== undefined && value !== null && value !== false && !isEmpty && fieldsOrEmpty(value).mode !== 'off';
}

/** The tools of the request, of items of its input, and inside other tools. */
export function listTools(body: Fields): Fields[] {
  const holders = [body, ...listOrEmpty(body.input).map(fieldsOrEmpty)];
  const tools = holders.flatMap((holder) => listOrEmpty(holder.tools)).map(fieldsOrEmpty);
  return [...tools, ...tools.flatMap((tool) => listOrEmpty(tool.tools).map(fieldsOrEmpty))];
}

/** The names that identify a tool, in snake case: its type, or the members that name one. */
function toolNames(tool: Fields): string[] {
  const { type } = tool;
  // Moonshot's own tools (`$web_search`).
  if (type === 'builtin_function') return [textOrEmpty(fieldsOrEmpty(tool.function).name)];
  const names = typeof type === 'string' ? [type, ...Object.keys(tool)] : Object.keys(tool);
  return names.map((name) => name.replaceAll(/([a-z])([A-Z])/g, '$1_$2').toLowerCase());
}

function wantedModalities(body: Fields): Capability[] {
  const holders = [body, fieldsOrEmpty(body.generationConfig), fieldsOrEmpty(body.generation_config)];
  const wanted = holders.flatMap((holder) => MODALITIES.flatMap((name) => listOrEmpty(holder[name])));
  const words = new Set(wanted.map((word) => textOrEmpty(word).toLowerCase()));
  return (['image', 'audio'] as const).filter((modality) => words.has(modality));
}

/** The turns of a conversation: OpenAI's messages and input, Google's contents. */
function listTurns({ messages, input, contents }: Fields): Fields[] {
  return [messages, input, contents].flatMap(asList).map(fieldsOrEmpty);
}

/** Whether audio goes in: a part of that kind, of that media type, or an earlier spoken answer. */
function speaks(turn: Fields): boolean {
  const parts = [turn, ...[turn.content, turn.output, turn.parts].flatMap(asList)];
  return isFields(turn.audio) || parts.some((part) => isFields(part) && isAudio(part));
}

function isAudio(part: Fields): boolean {
  if (typeof part.type === 'string' && part.type.includes('audio')) return true;
  return [part, ...Object.values(part).filter(isFields)].some((holder) =>
    MEDIA.some((name) =>
      /^(?:data:)?audio\//i.test(typeof holder[name] === 'string' ? (holder[name] as string).slice(0, 20) : ''),
    ),
  );
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : isFields(value) ? [value] : [];
}
