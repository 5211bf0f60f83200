/**
 * The tokens that vendors count for images, sounds and files in a prompt: the most, and a likely number.
 *
 * Sources, read as of 2026-11-23:
 * - OpenAI: developers.openai.com/api/docs/guides/images-vision. Tiles: an image is scaled into 2,048 pixels with its
 *   short side at most 768, so it has at most 8 tiles of 512; GPT-4o mini counts 2,833 and 5,667 for each. Patches of
 *   32 pixels times a factor of the model: at most 1,536 up to GPT-5.3 (the largest factor is 2.46), 10,000 for GPT-5.4
 *   and 5.5, and from GPT-5.6 on as many as the image has; an image of more than 30,000 is refused. An image of low
 *   detail may be enlarged to 512 pixels. Audio: 10 tokens a second.
 * - Anthropic: platform.claude.com/docs/en/build-with-claude/vision: at most 4,784 tokens for an image, 1,600 before
 *   Claude Opus 4.7.
 * - Google: ai.google.dev/gemini-api/docs/media-resolution: at most 2,240 tokens for an image from Gemini 3 on. Before:
 *   258 for each tile; an image is scaled into 3,072 pixels, its tiles are at least 256 wide and as wide as two thirds
 *   of its short side, so it has at most 24. Audio: 32 tokens a second (ai.google.dev/gemini-api/docs/audio).
 * - Others: Qwen's models count at most 16,384 tokens for an image (their default of `max_pixels`), Llama's 6,404.
 */
import type { VendorKind } from '../../domain/vendor-kind.ts';
import { type ByteSource, base64Bytes } from '../../platform/byte-source.ts';
import type { FormFile } from '../../platform/form-file.ts';
import { ACCEPTED, type Accepted } from '../../vendors/kind.ts';
import { type ImageSize, imageSize } from './image-size.ts';
import { type SoundLength, soundLength, USUAL_BYTES_PER_SECOND } from './sound-length.ts';

export interface MediaTokens {
  /** `null`: as many as the model can take. */
  atMost: number | null;
  estimate: number;
}

/** A file, a stored conversation or search results, whose size is unknown. */
export const UNKNOWN_CONTENT: MediaTokens = { atMost: null, estimate: 8_000 };

interface ImageRule {
  model: RegExp;
  /** The most for any image. */
  atMost: number;
  estimate: number;
  /** For each patch of 32 pixels, if the model counts patches. */
  perPatch?: number;
}

const ANTHROPIC_IMAGE: ImageRule = { model: /claude/, atMost: 4_784, estimate: 1_600 };
const GOOGLE_IMAGES: readonly ImageRule[] = [
  { model: /gemini-[3-9]/, atMost: 2_240, estimate: 1_120 },
  { model: /(?:)/, atMost: 24 * 258, estimate: 258 },
];
const OPENAI_IMAGES: readonly ImageRule[] = [
  { model: /gpt-4o-mini/, atMost: 2_833 + 8 * 5_667, estimate: 25_500 },
  { model: /gpt-5\.[45](?!\d)/, atMost: 12_000, estimate: 1_230, perPatch: 1.2 },
  { model: /gpt-(?:5\.[6-9]|[6-9])/, atMost: 36_000, estimate: 1_230, perPatch: 1.2 },
  { model: /gpt-4o|gpt-4\.1|gpt-4-|gpt-5(?:\.[0-3])?(?![.\d])|^o\d|\/o\d/, atMost: 3_779, estimate: 1_000 },
  // A model without a rule here: the most patches, with the largest factor of a model that counts so many.
  { model: /(?:)/, atMost: 48_600, estimate: 1_500 },
];
const OTHER_IMAGE: ImageRule = { model: /(?:)/, atMost: 16_384, estimate: 1_500 };

const PATCH_PIXELS = 32;
/** An image of low detail, enlarged. */
const PATCHES_MIN = (512 / PATCH_PIXELS) ** 2;

/** An image, given as base64 (with or without a `data:` prefix), or `undefined` if it is stored elsewhere. */
export function imageTokens(kind: VendorKind, model: string, base64: string | undefined): MediaTokens {
  const { atMost, estimate, perPatch } = imageRule(kind, model);
  const size = perPatch === undefined || base64 === undefined ? null : imageSize(base64);
  if (size === null || perPatch === undefined) return { atMost, estimate: Math.min(atMost, estimate) };
  const patches = countPatches(size);
  return {
    atMost: Math.min(atMost, Math.ceil(Math.max(PATCHES_MIN, patches) * perPatch)),
    estimate: Math.min(atMost, Math.ceil(patches * perPatch)),
  };
}

function imageRule(kind: VendorKind, model: string): ImageRule {
  const { mediaRules } = ACCEPTED[kind];
  const name = model.toLowerCase();
  if (mediaRules === 'anthropic' || ANTHROPIC_IMAGE.model.test(name)) return ANTHROPIC_IMAGE;
  if (mediaRules === 'google') return GOOGLE_IMAGES.find((rule) => rule.model.test(name)) ?? OTHER_IMAGE;
  const isOpenAi = mediaRules === 'openai' || /(?:^|\/)gpt-[4-9]/.test(name);
  return (isOpenAi ? OPENAI_IMAGES : [OTHER_IMAGE]).find((rule) => rule.model.test(name)) ?? OTHER_IMAGE;
}

function countPatches({ width, height }: ImageSize): number {
  return Math.ceil(width / PATCH_PIXELS) * Math.ceil(height / PATCH_PIXELS);
}

/** Characters of base64 that identify a format; a multiple of four. */
const FORMAT_HEAD_LENGTH = 64;

/** More than any model that is known: Mistral's Voxtral counts 12.5. */
const OTHER_AUDIO_TOKENS_PER_SECOND = 50;
const AUDIO_TOKENS_PER_SECOND: Readonly<Record<Accepted['mediaRules'], number>> = {
  openai: 10,
  anthropic: OTHER_AUDIO_TOKENS_PER_SECOND,
  google: 32,
  others: OTHER_AUDIO_TOKENS_PER_SECOND,
};
/** A sound in base64, with or without a `data:` prefix. */
export function audioTokens(kind: VendorKind, base64: string): MediaTokens {
  const from = contentFrom(base64);
  const isBase64 = from === 0 || base64.slice(0, from).endsWith(';base64,');
  const bytes = isBase64 ? base64Bytes(base64, from) : null;
  if (bytes !== null) return tokensOfSound(kind, soundLength(bytes));
  return {
    ...UNKNOWN_CONTENT,
    estimate: Math.ceil(decodedBytes(base64) / USUAL_BYTES_PER_SECOND) * audioTokenRate(kind),
  };
}

export function tokensOfSound(kind: VendorKind, { atMost, estimate }: SoundLength): MediaTokens {
  const rate = audioTokenRate(kind);
  return { atMost: atMost === null ? null : atMost * rate, estimate: estimate * rate };
}

function audioTokenRate(kind: VendorKind): number {
  return AUDIO_TOKENS_PER_SECOND[ACCEPTED[kind].mediaRules];
}

/** Each file is read once for all models that may run. */
const READ = new WeakMap<ByteSource, SoundLength>();

/** A recording of a form. */
export function recordingLength({ content }: FormFile): SoundLength {
  const length = READ.get(content) ?? soundLength(content);
  READ.set(content, length);
  return length;
}

/** The media type of a `data:` URL; empty for anything else. */
export function dataUrlMediaType(url: unknown): string {
  return typeof url === 'string' ? (/^data:([\w.+/-]{1,100})/.exec(url.slice(0, 200))?.[1] ?? '') : '';
}

/** The beginning, in base64, of a PDF or of an office document's archive. */
const PACKED_CONTENT = /^(?:JVBER|UEsD)/;

/** A file in base64: text has at most its bytes; any other file has no known bound. */
export function fileTokens(mediaType: string, base64: string): MediaTokens {
  const head = base64.slice(contentFrom(base64), contentFrom(base64) + FORMAT_HEAD_LENGTH);
  if (!/^text\/|^application\/json$/i.test(mediaType) || PACKED_CONTENT.test(head)) return UNKNOWN_CONTENT;
  const bytes = decodedBytes(base64);
  return { atMost: bytes, estimate: Math.ceil(bytes / 3) };
}

function decodedBytes(base64: string): number {
  return Math.ceil(((base64.length - contentFrom(base64)) * 3) / 4);
}

/** The beginning of the content: after the `data:...,` prefix, if it has one. */
function contentFrom(base64: string): number {
  return base64.startsWith('data:') ? base64.indexOf(',') + 1 : 0;
}
