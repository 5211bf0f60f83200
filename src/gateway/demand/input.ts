/**
 * The most input tokens that a vendor can count for a request, and a likely count, known before it is sent.
 *
 * One walk over the body, the same for every shape: a text has at most as many tokens as bytes in UTF-8, and everything
 * else counts as its JSON, names of members included. Images, sounds and files count by the rules of media-tokens.ts.
 * Text that the vendor adds (frames of messages, prompts for tools) has an allowance. Content that only the vendor
 * knows (stored conversations and files, results of its own tools) can fill the model's whole context.
 */
import type { VendorKind } from '../../domain/vendor-kind.ts';
import { type FormFile, isFormFile } from '../../platform/form-file.ts';
import { JSON_LEVELS_MAX } from '../../platform/json.ts';
import { listTools } from '../../vendors/capabilities.ts';
import { chooseVocabulary, TokenCount } from '../../vendors/token-count.ts';
import { COUNT_MAX, type Fields, fieldsOrEmpty, isFields, textOrEmpty } from '../../vendors/usage/figures.ts';
import {
  audioTokens,
  dataUrlMediaType,
  fileTokens,
  imageTokens,
  type MediaTokens,
  recordingLength,
  tokensOfSound,
  UNKNOWN_CONTENT,
} from './media-tokens.ts';
import { withoutOutputBound } from './output.ts';

export interface InputRequest {
  kind: VendorKind;
  /** The vendor's name of the model. */
  model: string;
  body: Fields;
  /** `undefined` if it is not known. */
  contextTokens: number | undefined;
  /** The request uses content that only the vendor knows: stored content, and results of the vendor's own tools. */
  fillsContext: boolean;
}

export interface InputBound {
  /** Never below the vendor's count. */
  atMost: number;
  /** The vendor's likely count, never above `atMost`; it is recorded if the answer is lost. */
  estimate: number;
  /**
   * The most tokens that follow its first 0, 1, 2, ... messages, which may have been written otherwise, without the
   * vendor's frames; `null` if that has no bound.
   */
  following: readonly (number | null)[];
  /** All content is in the request: none is stored at a place at which it could change. */
  isAllHere: boolean;
}

/** More than any model takes today: stands for content that cannot be counted if the context is unknown. */
export const CONTEXT_TOKENS_UNKNOWN = 2_000_000;

/**
 * The allowance for the text that vendors put around a conversation and around each message: roles, marks, dates, a few
 * lines of their own.
 */
export const AROUND_ALL = { atMost: 300, estimate: 8 };
const AROUND_MESSAGE = { atMost: 16, estimate: 4 };
/**
 * The prompt that a vendor adds if the request has tools or a form of the answer, and for each tool that it defines
 * itself. The largest known: Anthropic's 804 tokens (Claude Opus 4.7), and 735 and 499 for its computer tool
 * (platform.claude.com/docs/en/agents-and-tools/tool-use/overview).
 */
const TOOLS_PROMPT = { atMost: 1_000, estimate: 350 };
const VENDOR_TOOL_PROMPT = { atMost: 2_500, estimate: 600 };

/** Members whose content reaches the model as JSON, or in a form made from it, so characters may be escaped. */
const STRUCTURED = new Set([
  'tools',
  'functions',
  'args',
  'response',
  'response_format',
  'format',
  'output_config',
  'output_format',
  'generationConfig',
  'generation_config',
]);
/** Items and parts whose content only the vendor knows. */
const REFERENCE_TYPES = new Set([
  'item_reference',
  'compaction',
  'container_upload',
  'video',
  'video_url',
  'input_video',
]);

/** The beginning of a content's address: `https://`, `gs://`. */
const ADDRESS = /^(?:https?:|[a-z][a-z0-9+.-]*:\/\/)/i;

/** The fields that hold the messages of a conversation, one after the other. */
const CONVERSATIONS = new Set(['messages', 'contents', 'input']);

/** Bytes by which a reader may write a number differently if it came as `1.0` or `-0.0` instead of `1` or `0`. */
const NUMBER_SPELLING = 4;

/** The fields of forms whose files are images. */
export const IMAGE_FIELDS: readonly string[] = ['image', 'mask'];

export function inputBound({ kind, model, body, contextTokens, fillsContext }: InputRequest): InputBound {
  const walk = new Walk(kind, model);
  walk.request(withoutOutputBound(body), fillsContext);
  const context = contextTokens !== undefined && contextTokens > 0 ? contextTokens : undefined;
  const whole = (context ?? CONTEXT_TOKENS_UNKNOWN) * separateInputs(body);
  const counted = Math.min(walk.atMost, context === undefined ? COUNT_MAX : whole);
  const atMost = Math.min(COUNT_MAX, walk.isBounded ? counted : Math.max(whole, counted));
  const { following, isAllHere } = walk;
  return { atMost, estimate: Math.min(atMost, walk.estimate), following, isAllHere };
}

/** Texts that each have the model's context to themselves: inputs of embeddings and of older completions. */
function separateInputs({ input, prompt, requests }: Fields): number {
  const lists = [input, prompt, requests].filter((list) => Array.isArray(list));
  const isSeparate = (item: unknown) => typeof item === 'string' || Array.isArray(item) || isFields(item);
  const counts = lists.map((list) => (list === input && isFields(list[0]) ? 1 : list.filter(isSeparate).length));
  return Math.max(1, ...counts);
}

class Walk {
  readonly #kind: VendorKind;
  readonly #model: string;
  readonly #rewrites: boolean;
  readonly #text: TokenCount;
  /** Tokens beside those of texts. */
  #atMost = AROUND_ALL.atMost;
  #estimate = AROUND_ALL.estimate;
  /** Contents that can fill the whole context. */
  #unbounded = 0;
  /** Before the messages and after each of them: the most tokens so far, and the number of contents without a bound. */
  readonly #marks: { atMost: number; unbounded: number }[] = [];
  #numbers = 0;
  isAllHere = true;

  constructor(kind: VendorKind, model: string) {
    const vocabulary = chooseVocabulary(kind, model);
    this.#kind = kind;
    this.#model = model;
    this.#text = new TokenCount(vocabulary);
    this.#rewrites = vocabulary === 'claude';
  }

  get atMost(): number {
    return this.#text.bytes + this.#atMost;
  }

  get estimate(): number {
    return Math.ceil(this.#text.tokens + this.#estimate);
  }

  /** Nothing in the request can fill the whole context. */
  get isBounded(): boolean {
    return this.#unbounded === 0;
  }

  get following(): (number | null)[] {
    const last = this.#marks.at(-1);
    return last === undefined
      ? []
      : this.#marks.map(({ atMost, unbounded }) =>
          unbounded === last.unbounded ? last.atMost - atMost + this.#numbers * NUMBER_SPELLING : null,
        );
  }

  #mark(): void {
    this.#marks.push({ atMost: this.atMost, unbounded: this.#unbounded });
  }

  request(body: Fields, fillsContext: boolean): void {
    this.#fields(body, '', 0, false);
    const tools = listTools(body);
    if (fillsContext && this.isBounded) this.#media(UNKNOWN_CONTENT);
    if (tools.length > 0 || asksForForm(body)) this.#add(TOOLS_PROMPT);
    for (const { type } of tools) if (isOwn(type)) this.#add(VENDOR_TOOL_PROMPT);
  }

  #value(value: unknown, name: string, level: number, isStructured: boolean): void {
    if (typeof value === 'string') this.#string(value, isStructured);
    else if (level > JSON_LEVELS_MAX) this.#unbounded += 1;
    else if (Array.isArray(value)) this.#list(value, name, level, isStructured);
    else if (isFields(value)) this.#fields(value, name, level, isStructured);
    else {
      if (typeof value === 'number') this.#number(value);
      this.#add({ atMost: String(value).length, estimate: isStructured ? 1 : 0 });
    }
  }

  #number(value: number): void {
    this.#numbers += 1;
    // Such a number may be written with any number of digits, and readers disagree on them.
    if (Number.isInteger(value) ? !Number.isSafeInteger(value) : !Number.isFinite(value)) this.isAllHere = false;
  }

  #list(list: unknown[], name: string, level: number, isStructured: boolean): void {
    // Tokens that the caller made himself.
    if ((name === 'input' || name === 'prompt') && list.length > 0 && list.every((item) => Number.isInteger(item))) {
      this.#add({ atMost: list.length, estimate: list.length });
      return;
    }
    this.#add({ atMost: 2 + list.length, estimate: 0 });
    const isConversation = level === 1 && CONVERSATIONS.has(name);
    for (const item of list) {
      this.#value(item, name, level + 1, isStructured);
      if (isConversation) this.#mark();
    }
  }

  #fields(fields: Fields, name: string, level: number, isStructured: boolean): void {
    if (isFormFile(fields)) {
      this.#formFile(fields, name);
      return;
    }
    const counted = this.#mediaOf(fields);
    this.#add({ atMost: 2, estimate: 0 });
    if (fields.role !== undefined) this.#add(AROUND_MESSAGE);
    if (name === 'audio' && typeof fields.id === 'string') this.#elsewhere();
    for (const member of Object.keys(fields)) {
      if (member === counted) continue;
      const value = fields[member];
      // The arguments of a call. OpenAI has them as text.
      const isArguments = member === 'input' && level > 0 && isFields(value);
      const isInside = isStructured || STRUCTURED.has(member) || isArguments;
      this.#add({ atMost: escapedLength(member) + 6, estimate: isInside ? 3 : 0 });
      const isConversation = level === 0 && CONVERSATIONS.has(member);
      if (isConversation) this.#mark();
      this.#value(value, member, level + 1, isInside);
      // A text in place of the messages is one message.
      if (isConversation && typeof value === 'string') this.#mark();
    }
  }

  /** An image or a recording: forms have no other files. The sender's name for it proves nothing. */
  #formFile(file: FormFile, field: string): void {
    if (IMAGE_FIELDS.includes(field)) this.#image(undefined);
    else this.#media(tokensOfSound(this.#kind, recordingLength(file)));
  }

  /** Counts the image, sound or file that an object is; returns the name of the member that contains it. */
  #mediaOf(part: Fields): string | undefined {
    const inline = isFields(part.inlineData) ? 'inlineData' : isFields(part.inline_data) ? 'inline_data' : undefined;
    if (inline !== undefined) {
      const { mimeType, mime_type = mimeType, data } = fieldsOrEmpty(part[inline]);
      this.#file(textOrEmpty(mime_type), data);
      return inline;
    }
    if (isFields(part.fileData) || isFields(part.file_data)) this.#elsewhere();
    switch (part.type) {
      case 'image_url':
      case 'input_image':
      case 'computer_screenshot':
        this.#image(isFields(part.image_url) ? part.image_url.url : part.image_url);
        return 'image_url';
      case 'image_generation_call':
        this.#image(part.result);
        return 'result';
      case 'input_audio':
      case 'audio_url':
        return this.#sound(part);
      case 'file':
        return this.#document(fieldsOrEmpty(part.file), 'file');
      case 'input_file':
        return this.#document(part, 'file_data');
      case 'image':
      case 'document':
        return isFields(part.source) ? this.#source(part.type, part.source) : undefined;
      default:
        if (typeof part.type === 'string' && REFERENCE_TYPES.has(part.type)) this.#elsewhere();
        return undefined;
    }
  }

  #image(url: unknown): void {
    const isInline = typeof url === 'string' && !/^https?:/i.test(url.slice(0, 6));
    if (!isInline || ADDRESS.test(url.slice(0, 20))) this.isAllHere = false;
    this.#media(imageTokens(this.#kind, this.#model, isInline ? url : undefined));
  }

  #sound(part: Fields): string {
    const { data, format, url = data } = fieldsOrEmpty(part[String(part.type)]);
    this.#file(`audio/${textOrEmpty(format) || dataUrlMediaType(url)}`, url);
    return String(part.type);
  }

  /** OpenAI's file: its content as a `data:` URL, or a name of it. */
  #document(file: Fields, member: string): string {
    const isStored = hasContent(file.file_id) || hasContent(file.file_url);
    if (isStored) this.#elsewhere();
    if (!isStored || typeof file.file_data === 'string') this.#file(dataUrlMediaType(file.file_data), file.file_data);
    return member;
  }

  /** Anthropic's source of an image or document. */
  #source(type: 'image' | 'document', source: Fields): string | undefined {
    if (type === 'image') {
      this.#image(source.data);
      return 'source';
    }
    if (source.type === 'text' || source.type === 'content') return undefined;
    this.#file(source.type === 'base64' ? textOrEmpty(source.media_type) : '', source.data);
    return 'source';
  }

  #file(mediaType: string, content: unknown): void {
    if (typeof content !== 'string' || ADDRESS.test(content.slice(0, 20))) this.#elsewhere();
    else if (/^image\//i.test(mediaType)) this.#image(content);
    else if (/^audio\//i.test(mediaType)) this.#media(audioTokens(this.#kind, content));
    else this.#media(fileTokens(mediaType, content));
  }

  /** Content that is stored at the vendor, or that the vendor fetches. */
  #elsewhere(): void {
    this.isAllHere = false;
    this.#media(UNKNOWN_CONTENT);
  }

  #media({ atMost, estimate }: MediaTokens): void {
    if (atMost === null) this.#unbounded += 1;
    this.#add({ atMost: atMost ?? 0, estimate });
  }

  #string(text: string, isStructured: boolean): void {
    const before = this.#text.bytes;
    this.#text.add(text);
    const bytes = this.#text.bytes - before;
    // Claude 2's tokenizer rewrites a text before it counts; the present tokenizer is unknown.
    const rewritten = this.#rewrites && bytes > text.length ? countTextBytes(text.normalize('NFKC')) : 0;
    this.#atMost += Math.max(0, rewritten - bytes, isStructured ? escapedLength(text) - bytes : 0);
  }

  #add({ atMost, estimate }: { atMost: number; estimate: number }): void {
    this.#atMost += atMost;
    this.#estimate += estimate;
  }
}

function hasContent(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false;
  return !Array.isArray(value) || value.length > 0;
}

/** Whether the request describes a form that the answer must have. */
function asksForForm(body: Fields): boolean {
  const config = { ...fieldsOrEmpty(body.generation_config), ...fieldsOrEmpty(body.generationConfig) };
  return (
    isFields(body.response_format) ||
    isFields(body.output_format) ||
    isFields(fieldsOrEmpty(body.output_config).format) ||
    isFields(fieldsOrEmpty(body.text).format) ||
    Object.keys(config).some((name) => /^response_?(?:json_?)?schema$/i.test(name))
  );
}

/** A tool that the vendor defines: its definition is not in the request. */
function isOwn(type: unknown): boolean {
  return typeof type === 'string' && !/^(?:function|custom|namespace)$/.test(type);
}

function countTextBytes(text: string): number {
  const count = new TokenCount();
  count.add(text);
  return count.bytes;
}

/** The length of a text in JSON if everything outside of ASCII is escaped. */
function escapedLength(text: string): number {
  let length = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= 0x80 || code < 0x20) length += 5;
    else if (code === 0x22 || code === 0x5c) length += 1;
  }
  return length;
}
