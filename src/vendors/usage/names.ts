/**
 * The names under which vendors report the figures of a call: one table, with the source of each name.
 *
 * A figure may have several names; if an answer has more than one of them, the highest counts (figures.ts). A path is
 * within the object that holds the usage. Vendors that answer in another's form use its names: OpenAI's form has the
 * names of all compatible vendors.
 */

/** The form of an answer: the vendor whose names its usage has. */
export type Form = 'openai' | 'anthropic' | 'google';

/**
 * The figures that vendors report. The readers decide how figures make up usage (openai.ts, anthropic.ts, google.ts).
 */
export type FigureName =
  | 'prompt'
  /** Prompt tokens that are not in `prompt`. */
  | 'promptBeside'
  | 'cached'
  | 'cacheWrite'
  | 'cacheWrite5m'
  | 'cacheWrite1h'
  | 'cacheWrite12h'
  /** Cache reads and writes under Anthropic's names, which may be outside of `prompt`. */
  | 'cachedApart'
  | 'cacheWriteApart'
  | 'audioInput'
  | 'imageInput'
  /** The audio part of prompt tokens that are not in `prompt`. */
  | 'audioBeside'
  | 'imageBeside'
  | 'cachedAudio'
  | 'cachedImage'
  | 'completion'
  | 'reasoning'
  /** Reasoning that is billed besides `completion`, if the model counts so. */
  | 'reasoningApart'
  | 'audioOutput'
  | 'imageOutput'
  | 'textOutput'
  | 'total'
  | 'searches'
  | 'webSearches'
  | 'platformSearches'
  /** Sources of a search that is billed by source. */
  | 'sources'
  | 'fileSearches'
  | 'documentSearches'
  | 'audioSeconds';

/** A figure and its path, below the vendor that reports it there and its documentation. */
type Name = readonly [FigureName, path: string];

const NAMES: Readonly<Record<Form, readonly Name[]>> = {
  openai: [
    // OpenAI: developers.openai.com/api/reference, chat, completions, embeddings
    ['prompt', 'prompt_tokens'],
    ['completion', 'completion_tokens'],
    ['total', 'total_tokens'],
    ['cached', 'prompt_tokens_details.cached_tokens'],
    ['cacheWrite12h', 'prompt_tokens_details.cache_write_tokens_details.ttl_12h_tokens'],
    ['audioInput', 'prompt_tokens_details.audio_tokens'],
    ['cachedAudio', 'prompt_tokens_details.cached_tokens_details.audio_tokens'],
    ['cachedImage', 'prompt_tokens_details.cached_tokens_details.image_tokens'],
    ['reasoning', 'completion_tokens_details.reasoning_tokens'],
    ['audioOutput', 'completion_tokens_details.audio_tokens'],
    // OpenAI: developers.openai.com/api/reference, responses, images, transcriptions
    ['prompt', 'input_tokens'],
    ['completion', 'output_tokens'],
    ['cached', 'input_tokens_details.cached_tokens'],
    ['cached', 'input_token_details.cached_tokens'],
    ['cacheWrite', 'input_tokens_details.cache_write_tokens'],
    ['cacheWrite', 'input_token_details.cache_write_tokens'],
    ['cacheWrite12h', 'input_tokens_details.cache_write_tokens_details.ttl_12h_tokens'],
    ['cacheWrite12h', 'input_token_details.cache_write_tokens_details.ttl_12h_tokens'],
    ['audioInput', 'input_tokens_details.audio_tokens'],
    ['audioInput', 'input_token_details.audio_tokens'],
    ['imageInput', 'input_tokens_details.image_tokens'],
    ['imageInput', 'input_token_details.image_tokens'],
    ['cachedAudio', 'input_tokens_details.cached_tokens_details.audio_tokens'],
    ['cachedAudio', 'input_token_details.cached_tokens_details.audio_tokens'],
    ['cachedImage', 'input_tokens_details.cached_tokens_details.image_tokens'],
    ['cachedImage', 'input_token_details.cached_tokens_details.image_tokens'],
    ['cachedImage', 'cached_tokens_details.cached_image_tokens'],
    ['reasoning', 'output_tokens_details.reasoning_tokens'],
    ['audioOutput', 'output_tokens_details.audio_tokens'],
    ['imageOutput', 'output_tokens_details.image_tokens'],
    ['textOutput', 'output_tokens_details.text_tokens'],
    ['audioSeconds', 'seconds'],
    // Cohere: docs.cohere.com/reference/chat, usage
    ['prompt', 'billed_units.input_tokens'],
    ['completion', 'billed_units.output_tokens'],
    // Ollama: github.com/ollama/ollama/blob/main/docs/api.md
    ['prompt', 'prompt_eval_count'],
    ['completion', 'eval_count'],
    // Perplexity: docs.perplexity.ai/docs/sonar/models/sonar-deep-research
    ['promptBeside', 'citation_tokens'],
    ['searches', 'num_search_queries'],
    // Moonshot: platform.moonshot.ai/docs/api/chat
    ['cached', 'cached_tokens'],
    // DeepSeek: api-docs.deepseek.com/guides/kv_cache
    ['cached', 'prompt_cache_hit_tokens'],
    // github.com/BerriAI/litellm, types/utils.py: Usage and PromptTokensDetailsWrapper
    ['cachedApart', 'cache_read_input_tokens'],
    ['cacheWrite', 'prompt_tokens_details.cache_creation_tokens'],
    ['cacheWrite', 'cache_creation_tokens'],
    ['cacheWriteApart', 'cache_creation_input_tokens'],
    ['cacheWrite1h', 'prompt_tokens_details.cache_creation_token_details.ephemeral_1h_input_tokens'],
    // OpenRouter: openrouter.ai/docs/cookbook/administration/usage-accounting
    ['cacheWrite', 'prompt_tokens_details.cache_write_tokens'],
    ['imageOutput', 'completion_tokens_details.image_tokens'],
    ['searches', 'server_tool_use.web_search_requests'],
    // Alibaba: help.aliyun.com/zh/model-studio/context-cache
    ['cacheWrite', 'prompt_tokens_details.cache_creation_input_tokens'],
    // xAI: docs.x.ai/developers/rest-api-reference, chat and responses; docs.rs/xai-openapi, usage
    ['imageInput', 'prompt_tokens_details.image_tokens'],
    ['sources', 'num_sources_used'],
    ['webSearches', 'server_side_tool_usage_details.web_search_calls'],
    ['platformSearches', 'server_side_tool_usage_details.x_search_calls'],
    ['fileSearches', 'server_side_tool_usage_details.file_search_calls'],
    ['documentSearches', 'server_side_tool_usage_details.document_search_calls'],
    // Perplexity: docs.perplexity.ai/docs/sonar/models/sonar-deep-research.
    // SGLang: github.com/sgl-project/sglang, entrypoints/openai/protocol.py, UsageInfo.
    ['reasoningApart', 'reasoning_tokens'],
    // Mistral: docs.mistral.ai/api, UsageInfo
    ['audioSeconds', 'prompt_audio_seconds'],
  ],
  anthropic: [
    // Anthropic: platform.claude.com/docs/en/api/messages, usage
    ['prompt', 'input_tokens'],
    ['cachedApart', 'cache_read_input_tokens'],
    ['cacheWriteApart', 'cache_creation_input_tokens'],
    ['cacheWrite5m', 'cache_creation.ephemeral_5m_input_tokens'],
    ['cacheWrite1h', 'cache_creation.ephemeral_1h_input_tokens'],
    ['completion', 'output_tokens'],
    ['reasoning', 'output_tokens_details.thinking_tokens'],
    ['searches', 'server_tool_use.web_search_requests'],
  ],
  google: [
    // Google: ai.google.dev/api/generate-content, UsageMetadata
    ['prompt', 'promptTokenCount'],
    ['promptBeside', 'toolUsePromptTokenCount'],
    ['cached', 'cachedContentTokenCount'],
    ['completion', 'candidatesTokenCount'],
    ['reasoning', 'thoughtsTokenCount'],
    ['total', 'totalTokenCount'],
    // Google: docs.cloud.google.com/vertex-ai, live API, UsageMetadata
    ['completion', 'responseTokenCount'],
  ],
};

/** The place of a figure. */
export interface Place {
  figure: FigureName;
  path: readonly string[];
  /** It has thousandths; the others are counts. */
  isQuantity: boolean;
}

const places = (form: Form): Place[] =>
  NAMES[form].map(([figure, path]) => ({ figure, path: path.split('.'), isQuantity: figure === 'audioSeconds' }));

const PLACES: Readonly<Record<Form, readonly Place[]>> = {
  openai: places('openai'),
  anthropic: places('anthropic'),
  google: places('google'),
};

export function usagePlaces(form: Form): readonly Place[] {
  return PLACES[form];
}
