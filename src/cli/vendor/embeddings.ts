/**
 * Embeddings in the forms of OpenAI and Google. A vector depends only on its text, has the length one, and means
 * nothing.
 */
import { createHash } from 'node:crypto';
import { chooseVocabulary, tokensAtMost } from '../../vendors/token-count.ts';
import { type Fields, fieldsOrEmpty, listOrEmpty, type VendorName } from '../../vendors/usage/figures.ts';
import { collectText, positiveInteger } from './prompt.ts';

export type Embedded =
  /** `first` is the first of the texts. */
  { ok: true; body: Fields; inputTokens: number; first: string } | { ok: false; field: string; message: string };

const DIMENSIONS_MAX = 3_072;
const DIMENSIONS: readonly (readonly [RegExp, number])[] = [
  [/text-embedding-(3-small|ada)/, 1_536],
  [/text-embedding-00/, 768],
];

/** OpenAI's `/embeddings`: one text or many, or texts that are tokens already. */
export function openaiEmbeddings(body: Fields, vendor: VendorName): Embedded {
  const { model, input } = body;
  if (typeof model !== 'string' || model === '')
    return { ok: false, field: 'model', message: 'model: must be the name of a model' };
  const isOne = typeof input === 'string' || typeof listOrEmpty(input)[0] === 'number';
  const inputs = isOne ? [input] : listOrEmpty(input);
  if (inputs.length === 0) return { ok: false, field: 'input', message: 'input: must be a text or a list of texts' };
  const inputTokens = inputs
    .map((text) => countInputTokens(text, vendor, model))
    .reduce((sum, count) => sum + count, 0);
  const data = inputs.map((text, index) => {
    const vector = makeVector(JSON.stringify(text), chooseDimensions(model, body.dimensions));
    const embedding = body.encoding_format === 'base64' ? encodeBase64(vector) : vector;
    return { object: 'embedding', index, embedding };
  });
  const usage = { prompt_tokens: inputTokens, total_tokens: inputTokens };
  return { ok: true, body: { object: 'list', data, model, usage }, inputTokens, first: String(inputs[0]) };
}

/** Google's `:embedContent`, and `:batchEmbedContents` with a list of the same (ai.google.dev/api/embeddings). */
export function googleEmbeddings(body: Fields, model: string, isBatch: boolean): Embedded {
  const requests = isBatch ? listOrEmpty(body.requests).map(fieldsOrEmpty) : [body];
  const texts = requests.map(({ content }) => collectText(fieldsOrEmpty(content).parts));
  if (texts.length === 0 || texts.includes(''))
    return { ok: false, field: 'content', message: 'content: must have a part with text' };
  const inputTokens = texts
    .map((text) => countInputTokens(text, 'google', model))
    .reduce((sum, count) => sum + count, 0);
  const embeddings = requests.map(({ outputDimensionality, embedContentConfig }, index) => {
    const wanted = outputDimensionality ?? fieldsOrEmpty(embedContentConfig).outputDimensionality;
    return { values: makeVector(texts[index] ?? '', chooseDimensions(model, wanted)) };
  });
  const promptTokenDetails = [{ modality: 'TEXT', tokenCount: inputTokens }];
  const usageMetadata = { promptTokenCount: inputTokens, promptTokenDetails };
  const answer = { ...(isBatch ? { embeddings } : { embedding: embeddings[0] }), usageMetadata };
  return { ok: true, body: answer, inputTokens, first: texts[0] ?? '' };
}

function countInputTokens(text: unknown, vendor: VendorName, model: string): number {
  return Array.isArray(text) ? text.length : tokensAtMost(String(text), chooseVocabulary(vendor, model));
}

function chooseDimensions(model: string, wanted: unknown): number {
  const usual = DIMENSIONS.find(([pattern]) => pattern.test(model))?.[1] ?? DIMENSIONS_MAX;
  return Math.min(DIMENSIONS_MAX, positiveInteger(wanted) ?? usual);
}

/** From the bytes of hashes: as many of them as there are dimensions. */
function makeVector(text: string, dimensions: number): number[] {
  const bytes: number[] = [];
  for (let block = 0; bytes.length < dimensions; block += 1)
    bytes.push(...createHash('sha512').update(`${block} ${text}`).digest());
  const values = bytes.slice(0, dimensions).map((byte) => byte - 127.5);
  const length = Math.hypot(...values);
  return values.map((value) => Math.fround(value / length));
}

/** As OpenAI's SDK asks for it: 32-bit floats, little-endian. */
function encodeBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}
