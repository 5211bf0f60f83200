/**
 * Usage in OpenAI's streams of images, speech and transcriptions.
 *
 * The event that ends an image, or the whole answer, reports the usage. A stream of several images has one such event
 * for each. Source: the types of OpenAI's SDK (images.ts, audio/transcriptions.ts); for speech, OpenAI's API reference,
 * `speech.audio.done`.
 */

import { type Fields, fitting, type StreamReading, textOrEmpty, type VendorUsage } from './figures.ts';
import { readResponse } from './openai.ts';

const EVENT = /^(?:image_(?:generation|edit)|speech\.audio|transcript\.text)\./;
const IMAGE_END = /^image_(?:generation|edit)\.completed$/;

export function isMediaEvent({ type }: Fields): boolean {
  return EVENT.test(textOrEmpty(type));
}

export class MediaStream implements StreamReading {
  completed = false;
  #images = 0;
  #usage: VendorUsage | null = null;

  read(event: Fields): void {
    const type = textOrEmpty(event.type);
    if (IMAGE_END.test(type)) {
      this.#images += 1;
      // To the reader of a whole answer, an answer with `data` is one of images.
      this.#usage = mergeUsage(this.#usage, readResponse({ ...event, data: [] }));
    } else if (type === 'transcript.text.done') {
      this.#usage = readResponse(event);
      this.completed = true;
    } else if (type === 'speech.audio.done') {
      this.#usage = readSpeech(event);
      this.completed = true;
    }
  }

  /** More images may follow. */
  get finished(): boolean {
    return this.completed || this.#images > 0;
  }

  usage(): VendorUsage | null {
    return this.#usage;
  }

  searches(): number {
    return 0;
  }
}

/** All of the output is audio. */
function readSpeech(event: Fields): VendorUsage | null {
  const usage = readResponse(event);
  if (usage === null) return null;
  const { responseTokens, unclear = [], ...others } = usage;
  const audioOutputTokens = responseTokens === 0 ? {} : { audio: responseTokens, audioOutputTokens: responseTokens };
  const isUnclear = unclear.includes('responseTokens');
  return fitting(
    { ...others, responseTokens, ...audioOutputTokens },
    isUnclear ? [...unclear, 'audioOutputTokens'] : unclear,
  );
}

const SUMMED = [
  'inputTokens',
  'cachedInputTokens',
  'cacheWriteInputTokens',
  'responseTokens',
  'reasoningTokens',
  'imageInputTokens',
  'cachedImageInputTokens',
  'imageOutputTokens',
  'totalTokens',
] as const;

function mergeUsage(before: VendorUsage | null, next: VendorUsage | null): VendorUsage | null {
  if (before === null || next === null) return next ?? before;
  const sum: VendorUsage = { ...before, ...next };
  for (const name of SUMMED) {
    const tokens = (before[name] ?? 0) + (next[name] ?? 0);
    if (tokens > 0) sum[name] = tokens;
  }
  return fitting(sum, [...(before.unclear ?? []), ...(next.unclear ?? [])]);
}
