/**
 * Callmeter's count of the text that answers contain, whole or as a stream: text, reasoning, refusals and tool calls,
 * in tokens of the model's vendor.
 */
import type { VendorKind } from '../domain/vendor-kind.ts';
import { chooseVocabulary, TokenCount, tokensAtMost, type Vocabulary } from './token-count.ts';
import { errorIn } from './usage/failure.ts';
import { answerPlace, type Fields, fieldsOrEmpty, isFields, listOrEmpty, textOrEmpty } from './usage/figures.ts';
import type { Written } from './usage.ts';

/** The text of one answer. Pieces of parallel answers arrive in any order, so each answer is counted by itself. */
class Answer {
  readonly #count: TokenCount;
  #pieces = 0;

  constructor(vocabulary: Vocabulary) {
    this.#count = new TokenCount(vocabulary);
  }

  /** No vendor sends a token in several pieces. */
  get tokens(): number {
    return Math.max(this.#count.tokens, this.#pieces);
  }

  /** Takes a text, or a list of parts with text. Any other value has no text that can be counted. */
  take(value: unknown): void {
    if (typeof value === 'string') this.#add(value);
    else if (Array.isArray(value)) for (const part of value) this.#takePart(fieldsOrEmpty(part));
  }

  /** Mistral's parts of a reasoning have parts themselves. */
  #takePart({ text, thinking }: Fields): void {
    if (typeof text === 'string') this.#add(text);
    for (const part of listOrEmpty(thinking)) {
      const inner = fieldsOrEmpty(part).text;
      if (typeof inner === 'string') this.#add(inner);
    }
  }

  #add(text: string): void {
    if (text === '') return;
    this.#pieces += 1;
    this.#count.add(text);
  }
}

/** Its `delta` is sound, not text. */
const AUDIO_DELTA = 'response.audio.delta';
/** Types of events that bring no output. Any other brings some, known or not. */
const WITHOUT_OUTPUT =
  /^(?:error|ping|message_(?:start|delta|stop)|content_block_(?:start|delta|stop)|response\.(?:created|queued|in_progress|failed|incomplete|completed|cancelled|output_item\.added|content_part\.added))$/;

/** Counts the answers of one stream, or of one whole answer; the events show the vendor's form. */
export class WrittenTokens implements Written {
  readonly #vocabulary: Vocabulary;
  readonly #answers = new Map<number, Answer>();
  /** Pictures, sound or events of another form arrived. */
  #hasOther = false;

  constructor(kind: VendorKind, model: string) {
    this.#vocabulary = chooseVocabulary(kind, model);
  }

  get tokens(): number {
    let sum = 0;
    for (const answer of this.#answers.values()) sum += answer.tokens;
    return sum;
  }

  get hasOutput(): boolean {
    return this.#hasOther || this.tokens > 0;
  }

  read(event: Fields): void {
    this.#hasOther ||= isOtherOutput(event);
    const { type, choices, candidates, delta } = event;
    if (choices !== undefined) for (const choice of listOrEmpty(choices)) this.#choice(fieldsOrEmpty(choice));
    else if (candidates !== undefined)
      for (const candidate of listOrEmpty(candidates)) this.#candidate(fieldsOrEmpty(candidate));
    else if (event.object === 'response') for (const item of listOrEmpty(event.output)) this.#item(fieldsOrEmpty(item));
    else if (type === 'message') for (const block of listOrEmpty(event.content)) this.#block(fieldsOrEmpty(block));
    else if (type === 'content_block_start') this.#block(fieldsOrEmpty(event.content_block));
    else if (type === 'content_block_delta') this.#block(fieldsOrEmpty(delta));
    // Deltas of text, refusals, reasoning and the arguments of tool calls.
    else if (typeof delta === 'string' && type !== AUDIO_DELTA) this.#answer(0).take(delta);
    else if (type === 'response.output_item.added') this.#answer(0).take(fieldsOrEmpty(event.item).name);
  }

  /** Adds to a choice. `message` is a whole answer instead of a stream, `text` is the member of `completions`. */
  #choice({ index, delta, message, text }: Fields): void {
    const answer = this.#answer(index);
    const part = fieldsOrEmpty(delta ?? message);
    // Some servers send the same reasoning under both names.
    const reasoning = part.reasoning_content ?? part.reasoning;
    const { data: sound, transcript } = fieldsOrEmpty(part.audio);
    for (const value of [text, part.content, part.refusal, reasoning, transcript]) answer.take(value);
    this.#hasOther ||= listOrEmpty(part.images).length > 0 || sound !== undefined;
    const calls = listOrEmpty(part.tool_calls).map(
      (call) => fieldsOrEmpty(call).function ?? fieldsOrEmpty(call).custom,
    );
    for (const call of [...calls, part.function_call]) {
      const { name, arguments: given, input } = fieldsOrEmpty(call);
      for (const value of [name, given, input]) answer.take(value);
    }
  }

  /** Thoughts are text too. A function call comes whole. */
  #candidate({ index, content }: Fields): void {
    const answer = this.#answer(index);
    for (const part of listOrEmpty(fieldsOrEmpty(content).parts)) {
      const { text, functionCall: call, executableCode: code, inlineData, fileData } = fieldsOrEmpty(part);
      this.#hasOther ||= isFields(inlineData) || isFields(fileData);
      answer.take(text);
      answer.take(fieldsOrEmpty(code).code);
      if (isFields(call)) answer.take(JSON.stringify([call.name, call.args]));
    }
  }

  /** A block of Anthropic, or an addition to one; a tool call begins with a name and an empty input. */
  #block({ text, thinking, partial_json: json, name, input }: Fields): void {
    for (const value of [text, thinking, json, name]) this.#answer(0).take(value);
    if (isFields(input) && Object.keys(input).length > 0) this.#answer(0).take(JSON.stringify(input));
  }

  /** An item of a whole response. Its result is a picture. */
  #item({ content, summary, name, arguments: given, input, result }: Fields): void {
    this.#hasOther ||= textOrEmpty(result) !== '';
    for (const value of [content, summary, name, given, input]) this.#answer(0).take(value);
  }

  #answer(index: unknown): Answer {
    const place = answerPlace(index);
    const answer = this.#answers.get(place) ?? new Answer(this.#vocabulary);
    this.#answers.set(place, answer);
    return answer;
  }
}

/** Whether an event, or a whole answer, has output that is not counted, or that is unknown. */
function isOtherOutput(event: Fields): boolean {
  const { type, object, choices, candidates } = event;
  // The members of these answers show their output.
  if (choices !== undefined || candidates !== undefined || object === 'response' || type === 'message') return false;
  if (errorIn(event) !== null) return false;
  if (typeof type !== 'string') return true;
  const isText = typeof event.delta === 'string' && type !== AUDIO_DELTA;
  return !isText && !WITHOUT_OUTPUT.test(type);
}

/** Whether a whole, parsed answer has any output: text, or vectors, pictures and rankings. */
export function hasWritten(body: unknown): boolean {
  const { text, data, results } = fieldsOrEmpty(body);
  const isOther = textOrEmpty(text) !== '' || listOrEmpty(data).length > 0 || listOrEmpty(results).length > 0;
  return isOther || countWritten(body, 'compatible', '').hasOutput;
}

/** The number of tokens that a whole, parsed answer contains. If its form is unknown, all of its text is counted. */
export function writtenTokens(body: unknown, kind: VendorKind, model: string): number {
  return countWritten(body, kind, model).tokens || tokensAtMost(JSON.stringify(body) ?? '');
}

function countWritten(body: unknown, kind: VendorKind, model: string): WrittenTokens {
  const written = new WrittenTokens(kind, model);
  for (const event of (Array.isArray(body) ? body : [body]).filter(isFields)) written.read(event);
  return written;
}
