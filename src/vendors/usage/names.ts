/**
 * The names under which vendors report the figures of a call: one table, with the source of each name.
 *
 * A figure may have several names; where an answer has more than one of them, the highest counts (figures.ts). A path is
 * within the object that holds the usage. Vendors that answer in another's form use its names: OpenAI's form has those of
 * all that are compatible with it.
 */

/** The form of an answer: whose names its usage has. */
export type Form = 'openai' | 'anthropic' | 'google';

/** What vendors report. How figures make up usage is told where they are read (openai.ts, anthropic.ts, google.ts). */
export type FigureName =
  | 'prompt'
  /** Prompt tokens that are not in `prompt`. */
  | 'promptBeside'
  | 'cached'
  | 'cacheWrite'
  | 'cacheWrite5m'
  | 'cacheWrite1h'
  | 'cacheWrite12h'
  /** Cache reads and writes under Anthropic's names, which do not have to be in `prompt`. */
  | 'cachedApart'
  | 'cacheWriteApart'
  | 'audioInput'
  | 'imageInput'
  /** Of prompt tokens that are not in `prompt`. */
  | 'audioBeside'
  | 'imageBeside'
  | 'cachedAudio'
  | 'cachedImage'
  | 'completion'
  | 'reasoning'
  /** Reasoning that is billed beside `completion`, if the answer is of a model that counts so. */
  | 'reasoningApart'
  | 'audioOutput'
  | 'imageOutput'
  | 'textOutput'
  | 'total'
  | 'searches'
  | 'webSearches'
  | 'platformSearches'
  /** Sources of a search that is billed by them. */
  | 'sources'
  | 'fileSearches'
  | 'documentSearches'
  | 'audioSeconds';

interface Name {
  figure: FigureName;
  path: string;
  /** Who reports it, and where that is documented. */
  source: string;
}

const OPENAI = 'OpenAI: developers.openai.com/api/reference, chat, completions, embeddings';
const RESPONSES = 'OpenAI: developers.openai.com/api/reference, responses, images, transcriptions';
const COMPATIBLE = 'github.com/BerriAI/litellm, types/utils.py: Usage and PromptTokensDetailsWrapper';
const OPENROUTER = 'OpenRouter: openrouter.ai/docs/cookbook/administration/usage-accounting';
const PERPLEXITY = 'Perplexity: docs.perplexity.ai/docs/sonar/models/sonar-deep-research';
const XAI = 'xAI: docs.x.ai/developers/rest-api-reference, chat and responses; docs.rs/xai-openapi, usage';
const MOONSHOT = 'Moonshot: platform.moonshot.ai/docs/api/chat';
const DEEPSEEK = 'DeepSeek: api-docs.deepseek.com/guides/kv_cache';
const QWEN = 'Alibaba: help.aliyun.com/zh/model-studio/context-cache';
const COHERE = 'Cohere: docs.cohere.com/reference/chat, usage';
const OLLAMA = 'Ollama: github.com/ollama/ollama/blob/main/docs/api.md';
const MISTRAL = 'Mistral: docs.mistral.ai/api, UsageInfo';
const SGLANG = 'SGLang: github.com/sgl-project/sglang, entrypoints/openai/protocol.py, UsageInfo';
const ANTHROPIC = 'Anthropic: platform.claude.com/docs/en/api/messages, usage';
const GOOGLE = 'Google: ai.google.dev/api/generate-content, UsageMetadata';
const VERTEX = 'Google: docs.cloud.google.com/vertex-ai, live API, UsageMetadata';

const NAMES: Readonly<Record<Form, readonly Name[]>> = {
  openai: [
    { figure: 'prompt', path: 'prompt_tokens', source: OPENAI },
    { figure: 'prompt', path: 'input_tokens', source: RESPONSES },
    { figure: 'prompt', path: 'billed_units.input_tokens', source: COHERE },
    { figure: 'prompt', path: 'prompt_eval_count', source: OLLAMA },
    { figure: 'promptBeside', path: 'citation_tokens', source: PERPLEXITY },
    { figure: 'completion', path: 'completion_tokens', source: OPENAI },
    { figure: 'completion', path: 'output_tokens', source: RESPONSES },
    { figure: 'completion', path: 'billed_units.output_tokens', source: COHERE },
    { figure: 'completion', path: 'eval_count', source: OLLAMA },
    { figure: 'total', path: 'total_tokens', source: OPENAI },
    { figure: 'cached', path: 'prompt_tokens_details.cached_tokens', source: OPENAI },
    { figure: 'cached', path: 'input_tokens_details.cached_tokens', source: RESPONSES },
    { figure: 'cached', path: 'input_token_details.cached_tokens', source: RESPONSES },
    { figure: 'cached', path: 'cached_tokens', source: MOONSHOT },
    { figure: 'cached', path: 'prompt_cache_hit_tokens', source: DEEPSEEK },
    { figure: 'cachedApart', path: 'cache_read_input_tokens', source: COMPATIBLE },
    { figure: 'cacheWrite', path: 'prompt_tokens_details.cache_write_tokens', source: OPENROUTER },
    { figure: 'cacheWrite', path: 'input_tokens_details.cache_write_tokens', source: RESPONSES },
    { figure: 'cacheWrite', path: 'prompt_tokens_details.cache_creation_tokens', source: COMPATIBLE },
    { figure: 'cacheWrite', path: 'prompt_tokens_details.cache_creation_input_tokens', source: QWEN },
    { figure: 'cacheWrite', path: 'cache_creation_tokens', source: COMPATIBLE },
    { figure: 'cacheWriteApart', path: 'cache_creation_input_tokens', source: COMPATIBLE },
    {
      figure: 'cacheWrite1h',
      path: 'prompt_tokens_details.cache_creation_token_details.ephemeral_1h_input_tokens',
      source: COMPATIBLE,
    },
    {
      figure: 'cacheWrite12h',
      path: 'prompt_tokens_details.cache_write_tokens_details.ttl_12h_tokens',
      source: OPENAI,
    },
    {
      figure: 'cacheWrite12h',
      path: 'input_tokens_details.cache_write_tokens_details.ttl_12h_tokens',
      source: RESPONSES,
    },
    { figure: 'audioInput', path: 'prompt_tokens_details.audio_tokens', source: OPENAI },
    { figure: 'audioInput', path: 'input_tokens_details.audio_tokens', source: RESPONSES },
    { figure: 'audioInput', path: 'input_token_details.audio_tokens', source: RESPONSES },
    { figure: 'imageInput', path: 'prompt_tokens_details.image_tokens', source: XAI },
    { figure: 'imageInput', path: 'input_tokens_details.image_tokens', source: RESPONSES },
    { figure: 'cachedAudio', path: 'prompt_tokens_details.cached_tokens_details.audio_tokens', source: OPENAI },
    { figure: 'cachedAudio', path: 'input_tokens_details.cached_tokens_details.audio_tokens', source: RESPONSES },
    { figure: 'cachedImage', path: 'prompt_tokens_details.cached_tokens_details.image_tokens', source: OPENAI },
    { figure: 'cachedImage', path: 'input_tokens_details.cached_tokens_details.image_tokens', source: RESPONSES },
    { figure: 'cachedImage', path: 'cached_tokens_details.cached_image_tokens', source: RESPONSES },
    { figure: 'reasoning', path: 'completion_tokens_details.reasoning_tokens', source: OPENAI },
    { figure: 'reasoning', path: 'output_tokens_details.reasoning_tokens', source: RESPONSES },
    { figure: 'reasoningApart', path: 'reasoning_tokens', source: `${PERPLEXITY}; ${SGLANG}` },
    { figure: 'audioOutput', path: 'completion_tokens_details.audio_tokens', source: OPENAI },
    { figure: 'audioOutput', path: 'output_tokens_details.audio_tokens', source: RESPONSES },
    { figure: 'imageOutput', path: 'completion_tokens_details.image_tokens', source: OPENROUTER },
    { figure: 'imageOutput', path: 'output_tokens_details.image_tokens', source: RESPONSES },
    { figure: 'textOutput', path: 'output_tokens_details.text_tokens', source: RESPONSES },
    { figure: 'searches', path: 'num_search_queries', source: PERPLEXITY },
    { figure: 'searches', path: 'server_tool_use.web_search_requests', source: OPENROUTER },
    { figure: 'sources', path: 'num_sources_used', source: XAI },
    { figure: 'webSearches', path: 'server_side_tool_usage_details.web_search_calls', source: XAI },
    { figure: 'platformSearches', path: 'server_side_tool_usage_details.x_search_calls', source: XAI },
    { figure: 'fileSearches', path: 'server_side_tool_usage_details.file_search_calls', source: XAI },
    { figure: 'documentSearches', path: 'server_side_tool_usage_details.document_search_calls', source: XAI },
    { figure: 'audioSeconds', path: 'prompt_audio_seconds', source: MISTRAL },
    { figure: 'audioSeconds', path: 'seconds', source: RESPONSES },
  ],
  anthropic: [
    { figure: 'prompt', path: 'input_tokens', source: ANTHROPIC },
    { figure: 'cachedApart', path: 'cache_read_input_tokens', source: ANTHROPIC },
    { figure: 'cacheWriteApart', path: 'cache_creation_input_tokens', source: ANTHROPIC },
    { figure: 'cacheWrite5m', path: 'cache_creation.ephemeral_5m_input_tokens', source: ANTHROPIC },
    { figure: 'cacheWrite1h', path: 'cache_creation.ephemeral_1h_input_tokens', source: ANTHROPIC },
    { figure: 'completion', path: 'output_tokens', source: ANTHROPIC },
    { figure: 'reasoning', path: 'output_tokens_details.thinking_tokens', source: ANTHROPIC },
    { figure: 'searches', path: 'server_tool_use.web_search_requests', source: ANTHROPIC },
  ],
  google: [
    { figure: 'prompt', path: 'promptTokenCount', source: GOOGLE },
    { figure: 'promptBeside', path: 'toolUsePromptTokenCount', source: GOOGLE },
    { figure: 'cached', path: 'cachedContentTokenCount', source: GOOGLE },
    { figure: 'completion', path: 'candidatesTokenCount', source: GOOGLE },
    { figure: 'completion', path: 'responseTokenCount', source: VERTEX },
    { figure: 'reasoning', path: 'thoughtsTokenCount', source: GOOGLE },
    { figure: 'total', path: 'totalTokenCount', source: GOOGLE },
  ],
};

/** Where a figure stands. */
export interface Place {
  figure: FigureName;
  path: readonly string[];
  /** It has thousandths; the others are counts. */
  isQuantity: boolean;
}

const places = (form: Form): Place[] =>
  NAMES[form].map(({ figure, path }) => ({ figure, path: path.split('.'), isQuantity: figure === 'audioSeconds' }));

const PLACES: Readonly<Record<Form, readonly Place[]>> = {
  openai: places('openai'),
  anthropic: places('anthropic'),
  google: places('google'),
};

export function placesOf(form: Form): readonly Place[] {
  return PLACES[form];
}
