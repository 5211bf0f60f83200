/**
 * The answers of the vendor for trying out: text that says that it is made up, a tool call, or JSON of a schema. The
 * same request always gets the same answer and the same usage.
 *
 * Tokens are counted in the same way as in the service (src/vendors/token-count.ts): the input in the text of the
 * request, the output in the text of the answer. No answer exceeds the bound of its request.
 */
import { chooseVocabulary, TokenCount, tokensAtMost } from '../../vendors/token-count.ts';
import type { Prompt, Tool, Words } from './prompt.ts';
import { makeSample } from './schema-sample.ts';

export interface Reply {
  model: string;
  inputTokens: number;
  outputTokens: number;
  /** A tool call has its arguments as JSON. The pieces together are the text. */
  text: string;
  pieces: string[];
  tool: { name: string; namespace?: string; input: unknown } | null;
  /** The bound of the output ended the answer. */
  isCutOff: boolean;
}

const QUOTE_LENGTH_MAX = 200;
const LONG_NUMBERS = 1_000;
/** A shorter word of a function's name (`get`, `of`) does not ask for it. */
const NAME_WORD_LENGTH_MIN = 4;
const JSON_PIECE_LENGTH = 12;

export function replyTo(prompt: Prompt, words: Words): Reply {
  const { vendor, model, outputTokensMax } = prompt;
  const vocabulary = chooseVocabulary(vendor, model);
  const inputTokens = tokensAtMost(prompt.text, vocabulary);
  const called = toolFor(prompt, words);
  if (called !== null) {
    const { schema, ...named } = called;
    const tool = { ...named, input: makeSample(schema ?? { type: 'object' }) };
    const text = JSON.stringify(tool.input);
    const outputTokens = tokensAtMost(text, vocabulary);
    // Half of a call is useless: the answer is then text.
    if (outputTokens <= (outputTokensMax ?? Number.POSITIVE_INFINITY))
      return { model, inputTokens, outputTokens, text, pieces: jsonPieces(text), tool, isCutOff: false };
  }
  const full = prompt.json === null ? proseFor(prompt, words) : jsonFor(prompt.json.schema);
  const text = within(full, vocabulary, outputTokensMax);
  const pieces = text.match(/\S+\s*/g) ?? [];
  const outputTokens = tokensAtMost(text, vocabulary);
  return { model, inputTokens, outputTokens, text, pieces, tool: null, isCutOff: text.length < full.length };
}

function jsonPieces(json: string): string[] {
  const count = Math.ceil(json.length / JSON_PIECE_LENGTH);
  return Array.from({ length: count }, (_, at) => json.slice(at * JSON_PIECE_LENGTH, (at + 1) * JSON_PIECE_LENGTH));
}

/** The number of tokens of the answer after each of its pieces. */
export function tokensAfterEach(vendor: Prompt['vendor'], { model, pieces }: Reply): number[] {
  const count = new TokenCount(chooseVocabulary(vendor, model));
  return pieces.map((piece) => {
    count.add(piece);
    return count.tokens;
  });
}

/** The function that is called, if any: the answer to a result is text, so that a conversation ends. */
function toolFor({ tools, toolChoice, last }: Prompt, words: Words): Tool | null {
  if (toolChoice === 'none') return null;
  if (typeof toolChoice === 'object') return tools.find(({ name }) => name === toolChoice.name) ?? null;
  const asked = tools.find(({ name }) => asksFor(last.text, name)) ?? null;
  if (toolChoice === 'required') return asked ?? tools[0] ?? null;
  if (last.by === 'tool') return null;
  return asked ?? (words.tool ? (tools[0] ?? null) : null);
}

function asksFor(text: string, name: string): boolean {
  const lower = text.toLowerCase();
  const parts = name
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^\p{L}\d]+/u);
  return parts.some((part) => part.length >= NAME_WORD_LENGTH_MIN && lower.includes(part));
}

function proseFor({ last }: Prompt, words: Words): string {
  const said = last.text.trim();
  const quote = said.length > QUOTE_LENGTH_MAX ? `${[...said].slice(0, QUOTE_LENGTH_MAX).join('')}...` : said;
  const told = last.by === 'tool' ? 'The tool said' : 'You said';
  const answer = `This answer is made up: no model was asked. ${told}: "${quote}"`;
  if (!words.long) return answer;
  return `${answer} ${Array.from({ length: LONG_NUMBERS }, (_, index) => index + 1).join(' ')}`;
}

function jsonFor(schema: unknown): string {
  return JSON.stringify(schema === undefined ? { answer: 'made up' } : makeSample(schema));
}

/** As much of the text as the bound allows, in whole characters. */
function within(text: string, vocabulary: ReturnType<typeof chooseVocabulary>, tokensMax: number | null): string {
  if (tokensMax === null) return text;
  const count = new TokenCount(vocabulary);
  let length = 0;
  for (const character of text) {
    count.add(character);
    if (count.tokens > tokensMax) break;
    length += character.length;
  }
  return text.slice(0, length);
}
