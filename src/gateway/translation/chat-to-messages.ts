/**
 * A request for a chat completion as a request to Anthropic's messages API, or the member without an equivalent there.
 * No member is lost: it is translated, means nothing at Anthropic, or is refused by its name. README.md has the table.
 */
import type {
  MessageCreateParamsNonStreaming,
  MessageCreateParamsStreaming,
  Metadata,
  OutputConfig,
  ThinkingConfigParam,
} from '@anthropic-ai/sdk/resources/messages';
import type { Effort } from '../../vendors/effort.ts';
import { type Fields, fieldsOrEmpty, isFields } from '../../vendors/usage/figures.ts';
import { readCacheMark } from './messages-content.ts';
import { translateMessages } from './messages-conversation.ts';
import { toolMembers } from './messages-tools.ts';
import { memberPath, Refusals, type Untranslatable } from './refusals.ts';

export interface MessageTerms {
  /** Anthropic's name of the model. */
  model: string;
  /** The most that the model writes: Anthropic requires a bound, and a request may name none. */
  outputTokensMax: number;
  /** The gateway's decision; `undefined` leaves it to the model. */
  effort: Effort | undefined;
}

/** Members that models up to Claude 4.6 take; newer ones refuse them, and the SDK's types lack them. */
interface Sampling {
  temperature?: number;
  top_p?: number;
  top_k?: number;
}

export type MessagesBody = (MessageCreateParamsNonStreaming | MessageCreateParamsStreaming) & Sampling;

/** Members that are translated, or that the gateway has read itself. */
const TRANSLATED = [
  'model',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'reasoning_effort',
  'response_format',
  'stop',
  'temperature',
  'top_p',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'web_search_options',
  'user',
  'safety_identifier',
  'metadata',
  'service_tier',
  'stream',
  'stream_options',
  // Anthropic's own members.
  'thinking',
  'cache_control',
  'top_k',
  // OpenAI uses this to find a cached prompt; Anthropic finds its own by the prompt alone.
  'prompt_cache_key',
];

/** Members without an equivalent: the value that asks for nothing, and the reason why any other is refused. */
const REFUSED: Readonly<Record<string, readonly [isNothing: (value: unknown) => boolean, why: string]>> = {
  n: [(value) => value === 1, 'must be 1: Anthropic makes one answer'],
  logprobs: [(value) => value === false, 'is not offered: Anthropic tells no probabilities'],
  top_logprobs: [(value) => value === 0, 'is not offered: Anthropic tells no probabilities'],
  logit_bias: [isEmpty, 'is not offered by Anthropic'],
  seed: [never, 'is not offered by Anthropic'],
  frequency_penalty: [(value) => value === 0, 'must be 0: Anthropic has no penalties'],
  presence_penalty: [(value) => value === 0, 'must be 0: Anthropic has no penalties'],
  audio: [never, 'is not offered: Anthropic answers in text'],
  modalities: [(value) => Array.isArray(value) && value.every((word) => word === 'text'), 'must be ["text"]'],
  prediction: [never, 'is not offered by Anthropic'],
  moderation: [never, 'is not offered by Anthropic'],
  verbosity: [(value) => value === 'medium', 'must be medium: Anthropic has no levels of verbosity'],
  store: [(value) => value === false, 'must be false: Anthropic stores no completions'],
  functions: [isEmpty, 'is an old form: use `tools`'],
  function_call: [never, 'is an old form: use `tool_choice`'],
  prompt_cache_retention: [(value) => value === 'in_memory', 'is not offered: mark what to cache with `cache_control`'],
  prompt_cache_options: [isEmpty, 'is not offered: mark what to cache with `cache_control`'],
};

/**
 * Models that refuse system messages within the conversation: those before Claude Opus 4.8. Sources:
 * platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages, and the profiles of
 * @langchain/anthropic 1.5.13.
 */
const SYSTEM_FIRST = /^claude-(?:[123]|instant|mythos-preview|(?:opus|sonnet|haiku)-4(?!-8))/;

const SERVICE_TIERS: ReadonlyMap<unknown, 'auto' | 'standard_only'> = new Map([
  ['auto', 'auto'],
  ['default', 'standard_only'],
  ['standard_only', 'standard_only'],
]);

/** `request` no longer has the gateway's own fields. */
export function chatToMessages(
  request: Fields,
  terms: MessageTerms,
): { ok: true; body: MessagesBody } | Untranslatable {
  const refusals = new Refusals();
  for (const [name, [isNothing, why]] of Object.entries(REFUSED)) {
    if (request[name] != null && !isNothing(request[name])) refusals.add(name, why);
  }
  refusals.unknown(request, [...TRANSLATED, ...Object.keys(REFUSED)]);
  const { system, messages } = translateMessages(request.messages, !SYSTEM_FIRST.test(terms.model), refusals);
  const body = {
    model: terms.model,
    max_tokens: outputBound(request, terms, refusals),
    ...(system.length > 0 && { system }),
    messages,
    ...toolMembers(request, refusals),
    ...stopSequences(request.stop, refusals),
    ...sampling(request, refusals),
    ...thinkingMember(request.thinking, terms.effort, refusals),
    ...outputConfig(request.response_format, terms.effort, refusals),
    ...metadataMember(request, refusals),
    ...serviceTier(request.service_tier, refusals),
    ...readCacheMark(request, '', refusals),
  };
  checkStream(request, refusals);
  return refusals.first ?? { ok: true, body: request.stream === true ? { ...body, stream: true } : body };
}

function never(): boolean {
  return false;
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** The lower value of the bound's two names. */
function outputBound(request: Fields, terms: MessageTerms, refusals: Refusals): number {
  const bounds = ['max_completion_tokens', 'max_tokens'].flatMap((name) => {
    const bound = request[name];
    if (bound == null) return [];
    if (typeof bound === 'number' && Number.isInteger(bound) && bound > 0) return [bound];
    refusals.add(name, 'must be a whole number above 0');
    return [];
  });
  return bounds.length === 0 ? terms.outputTokensMax : Math.min(...bounds);
}

function stopSequences(stop: unknown, refusals: Refusals): { stop_sequences?: string[] } {
  if (stop == null) return {};
  const words: unknown[] = Array.isArray(stop) ? stop : [stop];
  const sequences = words.filter((word) => typeof word === 'string');
  if (sequences.length < words.length) refusals.add('stop', 'must be a text or a list of texts');
  return sequences.length === 0 ? {} : { stop_sequences: sequences };
}

function sampling(request: Fields, refusals: Refusals): Sampling {
  const given = (['temperature', 'top_p', 'top_k'] as const).filter((name) => request[name] != null);
  for (const name of given) if (typeof request[name] !== 'number') refusals.add(name, 'must be a number');
  if (typeof request.temperature === 'number' && request.temperature > 1)
    refusals.add('temperature', "must be at most 1: Anthropic's range ends there");
  return Object.fromEntries(given.map((name) => [name, request[name]]));
}

/** `thinking` passes unchanged, but never against an effort of `none`, which may be a plan's ceiling. */
function thinkingMember(
  thinking: unknown,
  effort: Effort | undefined,
  refusals: Refusals,
): { thinking?: ThinkingConfigParam } {
  const config = refusals.object(thinking, 'thinking');
  if (effort === 'none') {
    if (thinking != null && config.type !== 'disabled')
      refusals.add('thinking', 'must be disabled or absent if the reasoning effort is none');
    return { thinking: { type: 'disabled' } };
  }
  return thinking == null ? {} : { thinking: config as unknown as ThinkingConfigParam };
}

function outputConfig(
  format: unknown,
  effort: Effort | undefined,
  refusals: Refusals,
): { output_config?: OutputConfig } {
  if (effort === 'minimal') refusals.add('reasoning_effort', "must not be minimal: Anthropic's lowest level is low");
  const config: OutputConfig = {
    ...(effort !== undefined && effort !== 'none' && effort !== 'minimal' && { effort }),
    ...outputFormat(format, refusals),
  };
  return isEmpty(config) ? {} : { output_config: config };
}

/** The name of a schema is a label. Its description informs the model, so it moves into the schema. */
function outputFormat(format: unknown, refusals: Refusals): Pick<OutputConfig, 'format'> {
  const { type, json_schema: named, ...rest } = refusals.object(format, 'response_format');
  if (format == null || (type === 'text' && isEmpty(rest))) return {};
  refusals.unknown(rest, [], 'response_format');
  if (type !== 'json_schema') {
    const why = type === 'json_object' ? ', because Anthropic needs a schema for JSON' : '';
    refusals.add('response_format.type', `must be text or json_schema${why}`);
    return {};
  }
  const at = 'response_format.json_schema';
  const { schema, description, ...labels } = refusals.object(named, at);
  refusals.unknown(labels, ['name', 'strict'], at);
  if (!isFields(schema)) refusals.add(`${at}.schema`, 'must be a schema');
  const told = typeof description === 'string' ? { description } : {};
  return { format: { type, schema: { ...told, ...fieldsOrEmpty(schema) } } };
}

/** The end user, by any of the two vendors' names for it. */
function metadataMember(request: Fields, refusals: Refusals): { metadata?: Metadata } {
  const { user_id: own, ...labels } = refusals.object(request.metadata, 'metadata');
  for (const name of Object.keys(labels))
    refusals.add(memberPath('metadata', name), 'is a label of a stored completion, and Anthropic stores none');
  const named = { safety_identifier: request.safety_identifier, user: request.user, 'metadata.user_id': own };
  const given = Object.entries(named).filter(([, value]) => value != null);
  const [first, ...others] = given.map(([name, value]) => refusals.text(value, name));
  if (others.some((other) => other !== first))
    refusals.add('user', 'must be the same as `safety_identifier` and `metadata.user_id`: Anthropic knows one user');
  return first === undefined ? {} : { metadata: { user_id: first } };
}

function serviceTier(tier: unknown, refusals: Refusals): { service_tier?: 'auto' | 'standard_only' } {
  if (tier == null) return {};
  const word = SERVICE_TIERS.get(tier);
  if (word !== undefined) return { service_tier: word };
  refusals.add('service_tier', 'must be auto or default: Anthropic has no other tiers to choose');
  return {};
}

/** The translation back decides what a stream reports at its end. */
function checkStream({ stream, stream_options: options }: Fields, refusals: Refusals): void {
  if (stream != null && typeof stream !== 'boolean') refusals.add('stream', 'must be true or false');
  const { include_obfuscation: obfuscation, ...rest } = refusals.object(options, 'stream_options');
  refusals.unknown(rest, ['include_usage'], 'stream_options');
  if (obfuscation === true) refusals.add('stream_options.include_obfuscation', 'is not offered for Anthropic');
}
