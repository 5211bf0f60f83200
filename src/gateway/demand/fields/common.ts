/**
 * Fields that several endpoints share. Source of the tables in this folder: the types of the SDKs of OpenAI (7.55.0),
 * Anthropic (1.11.0) and Google (3.1.0), as they are installed; tests compare both.
 */
import {
  ACCOUNT,
  bills,
  closed,
  type Members,
  ONLY_FALSE,
  ofSomeVendors,
  PERSON,
  PRICE,
  REFERENCE,
  type Rule,
  values,
} from '../rules.ts';

/** The members of OpenAI's marks in a prompt: the vendor caches the prompt up to the mark. */
export const BREAKPOINT: Members = {
  prompt_cache_breakpoint: closed(ACCOUNT, { members: { mode: 'value', ttl: bills('cacheLifetime') } }),
};

/** The members of Anthropic's cache marks. Vendors that are compatible with OpenAI take them too. */
export const CACHE_CONTROL: Members = {
  cache_control: closed(ACCOUNT, bills('cacheMark', { members: { type: 'value', ttl: bills('cacheLifetime') } })),
};

export const USER_LOCATION: Members = values('city country region timezone');

/**
 * Callmeter's own fields, and those of its clients: no vendor gets them. A session may send only its own customer: see
 * `identify`.
 */
const OWN: Members = {
  ...values('model models customer conversationId conversationTitle projectId compress'),
  feature: closed(PERSON),
  tags: closed(PERSON),
};

/** Fields of chat completions, responses and their compaction. */
export const RUN: Members = {
  ...OWN,
  service_tier: bills('serviceTier', { only: ['auto'] }),
  // With these a browser could push another user's prompts out of the vendor's cache.
  prompt_cache_key: closed(ACCOUNT),
  prompt_cache_options: closed(REFERENCE, {
    members: { ...values('comparison_response_id mode'), ttl: bills('cacheLifetime') },
  }),
  prompt_cache_retention: closed(ACCOUNT),
};

/** Fields of chat completions and responses. */
export const CHAT_AND_RESPONSES: Members = {
  ...RUN,
  ...values('user parallel_tool_calls stream temperature top_logprobs top_p'),
  stream_options: { members: values('include_usage include_obfuscation') },
  store: ONLY_FALSE,
  metadata: closed(ACCOUNT, 'any'),
  moderation: closed(PRICE, bills('otherModel', 'any')),
  // With this a browser could put the blame on another user.
  safety_identifier: closed(PERSON),
};

/**
 * Fields that servers compatible with OpenAI take besides OpenAI's own. Sources: docs.vllm.ai (extra parameters of its
 * server), docs.sglang.ai, docs.mistral.ai, api-docs.deepseek.com, console.groq.com/docs, docs.x.ai, help.aliyun.com
 * (Qwen), docs.z.ai, docs.together.ai, docs.fireworks.ai.
 *
 * `n_predict` is left out: for llama.cpp's server it overrides `max_tokens`, and so the bound that Callmeter sends.
 */
export const COMPATIBLE: Members = {
  ...ofSomeVendors(
    'value',
    `top_k min_p top_a typical_p tfs_z repetition_penalty length_penalty min_tokens stop_token_ids bad_words ignore_eos
     include_stop_str_in_output skip_special_tokens spaces_between_special_tokens truncate_prompt_tokens prompt_logprobs
     add_generation_prompt continue_final_message add_special_tokens chat_template guided_regex guided_grammar
     guided_decoding_backend guided_whitespace_pattern regex ebnf priority return_tokens_as_token_ids return_token_ids
     cache_salt request_id echo safe_prompt random_seed prompt_mode reasoning_format include_reasoning
     reasoning_split cache_prompt id_slot grammar samplers timings_per_token return_progress
     enable_thinking thinking_budget repeat_penalty mirostat mirostat_tau mirostat_eta
     context_length_exceeded_behavior raw_output do_sample return_reasoning separate_reasoning keep_alive think`,
  ),
  ...ofSomeVendors(
    'any',
    `chat_template_kwargs mm_processor_kwargs structured_outputs guided_json guided_choice logits_processors
     documents thinking reasoning json_schema`,
  ),
  ...CACHE_CONTROL,
  best_of: closed(PRICE, bills('answers')),
  search_parameters: closed(PRICE, bills('webSearch', 'any')),
  enable_search: closed(PRICE, bills('webSearch')),
};

/** Fields that Anthropic takes besides, in OpenAI's form (platform.claude.com/docs/en/api/openai-sdk). */
export const ANTHROPIC_CHAT: Members = { ...CACHE_CONTROL, ...ofSomeVendors('any', 'thinking') };

/**
 * Fields that OpenRouter takes besides. Its `plugins` have fees that no price lists, and stay unknown. Sources:
 * openrouter.ai/docs/api-reference/parameters and /overview.
 */
export const OPENROUTER: Members = {
  ...COMPATIBLE,
  ...ofSomeVendors('value', 'transforms route session_id'),
  ...ofSomeVendors('any', 'provider usage trace image_config'),
};

/** Adds a rule for each spelling of Google's names: its JSON takes `fileData` and `file_data`. */
export function inBothSpellings(members: Members): Members {
  const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, rule]): [string, Rule][] => [
      [name, inside(rule)],
      [snake(name), inside(rule)],
    ]),
  );
}

function inside(rule: Rule): Rule {
  if (typeof rule === 'string' || 'only' in rule || 'types' in rule) return rule;
  if ('text' in rule) return { text: inside(rule.text), object: inside(rule.object) };
  if ('list' in rule) return { list: inside(rule.list) };
  if ('members' in rule) return { members: inBothSpellings(rule.members) };
  return { ...rule, of: inside(rule.of) };
}
