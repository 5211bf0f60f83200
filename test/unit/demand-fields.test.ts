/**
 * The tables of fields are those of the SDKs: each field, content part and tool that a type of a request has is in the
 * table of its endpoint, or unknown on purpose; and every entry of a table is in an SDK or has a stated source.
 */
import { describe, expect, test } from 'vitest';
import { CHAT } from '../../src/gateway/demand/fields/chat.ts';
import { GENERATE_CONTENT } from '../../src/gateway/demand/fields/generate-content.ts';
import {
  BATCH_EMBED_CONTENTS,
  COMPLETIONS,
  EMBED_CONTENT,
  EMBEDDINGS,
  IMAGE_EDITS,
  IMAGES,
  MODERATIONS,
  SPEECH,
  TRANSCRIPTIONS,
} from '../../src/gateway/demand/fields/media.ts';
import { MESSAGES } from '../../src/gateway/demand/fields/messages.ts';
import { COMPACT, RESPONSES } from '../../src/gateway/demand/fields/responses.ts';
import type { Members, Rule, TypedMembers } from '../../src/gateway/demand/rules.ts';
import { REQUEST_TYPES, type RequestForm } from '../support/request-types.ts';
import { membersOf, optionsOf, type Shape } from '../support/sdk-types.ts';

const TABLES: Record<RequestForm, Members> = {
  chat: CHAT,
  responses: RESPONSES,
  compact: COMPACT,
  messages: MESSAGES,
  generateContent: GENERATE_CONTENT,
  completions: COMPLETIONS,
  embeddings: EMBEDDINGS,
  embedContent: EMBED_CONTENT,
  batchEmbedContents: BATCH_EMBED_CONTENTS,
  images: IMAGES,
  imageEdits: IMAGE_EDITS,
  speech: SPEECH,
  transcriptions: TRANSCRIPTIONS,
  translations: TRANSCRIPTIONS,
  moderations: MODERATIONS,
};

/** The members of parts of a prompt that only a conversation needs. */
const EMBEDDED: Record<string, string> = {
  ...Object.fromEntries(
    `audioTranscription codeExecutionResult executableCode functionCall functionResponse mediaProcessing
     mediaResolution partMetadata speechMetadata thought thoughtSignature toolCall toolResponse videoMetadata`
      .split(/\s+/)
      .map((name) => [`content.parts.*.${name}`, 'of a conversation']),
  ),
  audioTrackExtraction: "of the vendor's other cloud",
  documentOcr: "of the vendor's other cloud",
  mimeType: "of the vendor's other cloud",
};
/** A moving picture has several frames with an unpublished price; a picture of lines is written by a further model. */
const MOVING_EDIT = {
  complexity: 'tokens besides those of the picture',
  frame_count: 'frames',
  frame_duration_ms: 'frames',
};
const MOVING = { ...MOVING_EDIT, svg: 'a further model' };

/** Fields of the SDKs that are in no table, each with the reason: credit does not pay for a request that has one. */
const UNKNOWN: Partial<Record<RequestForm, Record<string, string>>> = {
  chat: { 'audio.voice': 'a voice that the organization made itself' },
  responses: {
    'prompt_cache_options.prewarm': 'nobody says what it bills',
    'tool_choice[computer_use]': 'a choice among tools of which none has this name',
  },
  messages: {
    billing_policy: 'another organization pays',
    compaction: 'the answer is a summary, which is another kind of request',
    'context_management.edits.*[compact_20260112]': 'a summary in the middle of a request is a run that nothing bounds',
    fallback_credit_token: 'it pays for what another model answers',
    'messages.*.content.*[compaction].tool_changes':
      'it adds tools that are not in `tools`, where their bounds are read',
    'messages.*.content.*[fallback]': 'it names further models',
    'messages.*.content.*[mcp_tool_listing]': 'it adds the tools of a server',
    'messages.*.content.*[tool_addition]': 'it adds tools that are not in `tools`, where their bounds are read',
    'tools.*[mcp_toolset].tools': 'it adds the tools of a server',
  },
  generateContent: {
    'contents.*.parts.*.mediaResolution.numTokens': 'the caller says how many tokens a picture has',
    'systemInstruction.parts.*.mediaResolution.numTokens': 'the caller says how many tokens a picture has',
    'generationConfig.audioTranscriptionConfig': 'nobody says what it bills',
    'generationConfig.continuationToken': 'it goes on with what only the vendor knows',
    'generationConfig.generationOutputConfig': 'it stores answers in an account',
    'generationConfig.imageConfig.imageOutputOptions': 'a duplicate of fields that are known',
    'generationConfig.imageConfig.prominentPeople': 'new, and nobody says what it bills',
    'generationConfig.modelSelectionConfig': 'the vendor chooses the model',
    'generationConfig.routingConfig': 'the vendor chooses the model',
    'generationConfig.speechConfig.voiceConfig.replicatedVoiceConfig': 'sound, and nobody says what it bills',
    'generationConfig.speechConfig.multiSpeakerVoiceConfig.speakerVoiceConfigs.*.voiceConfig.replicatedVoiceConfig':
      'sound, and nobody says what it bills',
    modelArmorConfig: 'a service with a price of its own',
    'tools.*.exaAiSearch': 'a search by a third party, with a price of its own',
    'tools.*.parallelAiSearch': 'a search by a third party, with a price of its own',
    'tools.*.retrieval': 'a store with a price of its own',
  },
  embedContent: EMBEDDED,
  batchEmbedContents: Object.fromEntries(Object.entries(EMBEDDED).map(([name, why]) => [`requests.*.${name}`, why])),
  images: MOVING,
  imageEdits: { ...MOVING_EDIT, markup: 'a second picture' },
};

/** Fields of the tables that no type has, by a pattern, with their sources. */
const BESIDE_SDKS: readonly (readonly [RegExp, string])[] = [
  [/^\w+: (?:models|customer|conversationId|conversationTitle|projectId|compress|feature|tags)$/, 'our own'],
  [/cache_control$/, "Anthropic's marks, which vendors that are compatible with OpenAI take"],
  [/^chat: extra_body$/, "Google's fields at its compatible endpoint"],
  [
    /^chat: .*(?:reasoning_content|reasoning|reasoning_details|prefix|thinking|video_url|audio_url|extra_content)$/,
    'of compatible servers',
  ],
  [/^chat: response_format\.schema$/, 'an older form of some servers'],
  [/(?:parsed|parsed_arguments|\.index)$/, 'what SDKs add to an answer, which callers send back'],
  [/^chat: messages\.\*\.(?:annotations|audio\.(?:data|expires_at|transcript))$/, 'of an answer that is sent back'],
  [
    /^(?:responses|compact): input\..*\.(?:created_by|tools_listed|acknowledged_safety_checks)$/,
    'of an answer that is sent back',
  ],
  [/^chat: prediction\.content\.\*\.refusal$/, 'a part of a message'],
  [/prompt_cache_options\.comparison_response_id|stream_options\.include_usage/, 'each of one of two endpoints'],
  [/^responses: client_metadata$/, 'of Codex'],
  [
    /^(?:responses|compact): .*(?:\.\*\.input_audio|\.status|\.async|\.blocked_domains)$/,
    "OpenAI's reference of the endpoint",
  ],
  [/^responses: tool_choice/, 'one rule for the names of all tools'],
  [/^messages: (?:temperature|top_k|top_p)$/, 'of models before Claude 5'],
  [/^messages: tools\.\*\[\w+\]\.(?:eager_input_streaming|description|input_examples)$/, 'one rule for all tools'],
  [/^messages: .*tool_result\]\.caller$/, 'one rule for what all tools answered'],
  [/^messages: .*\[tool_removal\]\.tool\./, 'one rule for all ways to name a tool'],
  [/^generateContent: (?:model|stream)$/, 'of its address'],
  [/^embeddings: (?:input_type|truncate)$/, 'of Cohere and Voyage'],
  [/^(?:embedContent|batchEmbedContents): (?:requests\.\*\.)?embed_?[cC]ontent_?[cC]onfig$/, "of Google's reference"],
  [/^imageEdits: (?:moderation|style)$/, 'of pictures that are made of text'],
  [
    /^translations: (?:keywords|known_speaker_\w+|languages?|stream|timestamp_granularities|include|chunking_strategy)$/,
    'of transcriptions',
  ],
];

/** The differences between a table and the types of an SDK. */
class Comparison {
  readonly notInTable = new Set<string>();
  /** Fields of the tables that a type has, by the table that they stand in. */
  readonly #met = new Map<Members | Types, { path: string; names: Set<string> }>();
  readonly #done = new Map<Rule, Set<string>>();

  fields(members: Members, shape: Shape, path: string): void {
    const met = this.#meets(members, path);
    for (const [name, { shape: its }] of membersOf(shape)) {
      met.add(name);
      const rule = Object.hasOwn(members, name) ? members[name] : undefined;
      const at = path === '' ? name : `${path}.${name}`;
      if (rule === undefined) this.notInTable.add(at);
      else this.#rule(rule, its, at);
    }
  }

  /** Fields of the tables that no type had, in one spelling. */
  notInTypes(): string[] {
    return [...this.#met].flatMap(([members, { path, names }]) =>
      Object.entries(members)
        .filter(([name, rule]) => !names.has(name) && !names.has(inCamelCase(name)) && !isOfOneVendor(rule))
        .map(([name]) => (path === '' ? name : `${path}.${name}`)),
    );
  }

  #rule(rule: Rule, shape: Shape, path: string): void {
    if (rule === 'any' || shape.kind === 'any') return;
    if (typeof rule === 'object' && ('closed' in rule || 'bills' in rule)) this.#rule(rule.of, shape, path);
    else for (const option of optionsOf(shape)) this.#option(rule, option, path);
  }

  #option(rule: Exclude<Rule, 'any' | { closed: string } | { bills: string }>, shape: Shape, path: string): void {
    if (shape.kind !== 'list' && shape.kind !== 'object') {
      if (typeof rule === 'object' && 'text' in rule) this.#rule(rule.text, shape, path);
      return;
    }
    if (typeof rule === 'object' && 'text' in rule) this.#rule(rule.object, shape, path);
    else if (shape.kind === 'list') this.#list(rule, shape.item(), path);
    else if (this.#isNew(rule, shape.name)) this.#object(rule, shape, path);
  }

  #list(rule: Rule, item: Shape, path: string): void {
    if (typeof rule === 'object' && 'list' in rule) this.#rule(rule.list, item, `${path}.*`);
    else if (rule === 'value' || (typeof rule === 'object' && 'only' in rule)) this.#rule('value', item, `${path}.*`);
    else this.notInTable.add(`${path}.*`);
  }

  #object(rule: Rule, shape: Shape, path: string): void {
    if (typeof rule === 'object' && 'members' in rule) this.fields(rule.members, shape, path);
    // One content for a list of one.
    else if (typeof rule === 'object' && 'list' in rule) this.#rule(rule.list, shape, path);
    else if (typeof rule === 'object' && 'types' in rule) this.#typed(rule, shape, path);
    else this.notInTable.add(path);
  }

  #typed({ types, untyped }: Extract<Rule, { types: Types }>, shape: Shape, path: string): void {
    const type = membersOf(shape).get('type');
    const words = type
      ? optionsOf(type.shape).flatMap((option) => ('value' in option ? [String(option.value)] : []))
      : [];
    const met = this.#meets(types, path);
    for (const word of words) {
      met.add(word);
      const known = types[word];
      if (known) this.#withoutType(known.members, shape, `${path}[${word}]`);
      else this.notInTable.add(`${path}[${word}]`);
    }
    if (type && !type.optional) return;
    if (untyped) this.#withoutType(untyped.members, shape, path);
    else if (!type) this.notInTable.add(`${path}[]`);
  }

  #withoutType(members: Members, shape: Shape, path: string): void {
    const others = new Map([...membersOf(shape)].filter(([name]) => name !== 'type'));
    this.fields(members, { kind: 'object', name: path, members: () => others }, path);
  }

  #meets(members: Members | Types, path: string): Set<string> {
    const met = this.#met.get(members) ?? { path, names: new Set<string>() };
    this.#met.set(members, met);
    return met.names;
  }

  /** Types refer to themselves. */
  #isNew(rule: Rule, name: string): boolean {
    const done = this.#done.get(rule) ?? new Set<string>();
    this.#done.set(rule, done);
    if (done.has(name)) return false;
    done.add(name);
    return true;
  }
}

type Types = Readonly<Record<string, TypedMembers>>;

/** Google's JSON takes both spellings, and its SDK has this one. */
function inCamelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The rule says itself that only some vendors know the field. */
function isOfOneVendor(rule: Rule | TypedMembers): boolean {
  return typeof rule === 'object' && 'closed' in rule && rule.closed === 'only some vendors know it';
}

const stated = new Set<RegExp>();

describe.each(Object.keys(TABLES) as RequestForm[])('the table of %s', (form) => {
  const comparison = new Comparison();
  for (const type of REQUEST_TYPES[form]()) comparison.fields(TABLES[form], type, '');

  test('has each field of the SDKs, but for what is unknown on purpose', () => {
    expect([...comparison.notInTable].sort()).toEqual(Object.keys(UNKNOWN[form] ?? {}).sort());
  });

  test('has no field that no SDK and no stated source knows', () => {
    const unstated = comparison.notInTypes().filter((field) => {
      const found = BESIDE_SDKS.filter(([pattern]) => pattern.test(`${form}: ${field}`));
      for (const [pattern] of found) stated.add(pattern);
      return found.length === 0;
    });
    expect(unstated).toEqual([]);
  });
});

test('each source that is stated beside the SDKs is of a field', () => {
  expect(BESIDE_SDKS.filter(([pattern]) => !stated.has(pattern)).map(([, source]) => source)).toEqual([]);
});
