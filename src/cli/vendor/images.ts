/**
 * OpenAI's images: each is one black pixel. GPT Image models report tokens; DALL-E models report nothing, as at OpenAI.
 */
import { chooseVocabulary, tokensAtMost } from '../../vendors/token-count.ts';
import type { Fields } from '../../vendors/usage/figures.ts';
import { type Frame, nowSeconds } from './dialect.ts';
import { positiveInteger } from './prompt.ts';

/** A PNG of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==';
/** The tokens of a square image. Source: developers.openai.com/api/docs/guides/image-generation, "Cost and latency". */
const OUTPUT_TOKENS: Readonly<Record<string, number>> = { low: 272, medium: 1_056, high: 4_160 };
const OUTPUT_TOKENS_USUAL = 1_056;
/** The tokens of an edited image. */
const IMAGE_TOKENS = 194;
const PARTIAL_IMAGES_MAX = 3;

export interface Images {
  body: Fields;
  frames: Frame[];
  inputTokens: number;
  outputTokens: number;
}

/** `edited` is the number of images that came with the request. */
export function makeImages(body: Fields, edited: number): Images {
  const { model, prompt, quality, response_format: format } = body;
  const count = positiveInteger(Number(body.n)) ?? 1;
  const textTokens = tokensAtMost(String(prompt), chooseVocabulary('openai', String(model)));
  const imageTokens = edited * IMAGE_TOKENS;
  const each = OUTPUT_TOKENS[String(quality)] ?? OUTPUT_TOKENS_USUAL;
  const isDallE = /^dall-e/.test(String(model));
  const imageUsage = (input: number, output: number) => ({
    input_tokens: input,
    input_tokens_details: { text_tokens: input === 0 ? 0 : textTokens, image_tokens: input === 0 ? 0 : imageTokens },
    output_tokens: output,
    total_tokens: input + output,
  });
  const inputTokens = textTokens + imageTokens;
  const image = isDallE && format !== 'b64_json' ? { url: 'https://example.com/pixel.png' } : { b64_json: PIXEL };
  const shared = { background: 'opaque', output_format: 'png', quality: quality ?? 'medium', size: '1024x1024' };
  const plain = { created: nowSeconds(), data: Array.from({ length: count }, () => image) };
  const kind = edited > 0 ? 'image_edit' : 'image_generation';
  const event = (type: string, more: Fields): Frame => ({
    event: `${kind}.${type}`,
    data: { type: `${kind}.${type}`, b64_json: PIXEL, created_at: nowSeconds(), ...shared, ...more },
  });
  const partial = Math.min(PARTIAL_IMAGES_MAX, positiveInteger(Number(body.partial_images)) ?? 0);
  return {
    body: isDallE ? plain : { ...plain, ...shared, usage: imageUsage(inputTokens, each * count) },
    frames: [
      ...Array.from({ length: partial }, (_, index) => event('partial_image', { partial_image_index: index })),
      // The input is reported once.
      ...Array.from({ length: count }, (_, index) =>
        event('completed', { usage: imageUsage(index === 0 ? inputTokens : 0, each) }),
      ),
    ],
    inputTokens,
    outputTokens: each * count,
  };
}
