/**
 * Usage in OpenAI's streams of images, speech and transcriptions.
 *
 * The event that ends an image, or the whole answer, reports the usage. A stream of several images has one such event
 * for each. Source: the types of OpenAI's SDK (images.ts, audio/transcriptions.ts); for speech, OpenAI's API reference,
 * `speech.audio.done`.
 */

import {
  audioOf,
  checked,
  count,
  detailsOf,
  type Fields,
  fieldsOf,
  IMPLAUSIBLE,
  type ReportedUsage,
  type StreamReading,
  textOf,
  type VendorUsage,
} from './figures.ts';
import { isDuration, readDuration, readResponse } from './openai.ts';

const EVENT = /^(?:image_(?:generation|edit)|speech\.audio|transcript\.text)\./;
const IMAGE_END = /^image_(?:generation|edit)\.completed$/;

export function isMediaEvent({ type }: Fields): boolean {
  return EVENT.test(textOf(type));
}

export class MediaStream implements StreamReading {
  completed = false;
  #images = 0;
  #usage: ReportedUsage = null;

  read(event: Fields): void {
    const type = textOf(event.type);
    if (IMAGE_END.test(type)) {
      this.#images += 1;
      // The reading of a whole answer takes an answer with `data` for one of images.
      this.#usage = sumOf(this.#usage, readResponse({ ...event, data: [] }));
    } else if (type === 'transcript.text.done') {
      this.#usage = isDuration(event) ? readDuration(event) : readResponse(event);
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

  usage(): ReportedUsage {
    return this.#usage;
  }

  searches(): number {
    return 0;
  }
}

/** All of the output is audio. */
function readSpeech({ usage }: Fields): ReportedUsage {
  const { input_tokens: input, output_tokens: output } = fieldsOf(usage);
  if (input == null) return null;
  return checked({
    inputTokens: count(input),
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    responseTokens: count(output),
    reasoningTokens: 0,
    ...audioOf(output),
    ...detailsOf({ audioOutputTokens: count(output) }),
  });
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
] as const;

function sumOf(before: ReportedUsage, next: ReportedUsage): ReportedUsage {
  if (before === null || next === IMPLAUSIBLE) return next;
  if (next === null || before === IMPLAUSIBLE) return before;
  const sum: VendorUsage = { ...before, ...next };
  for (const name of SUMMED) {
    const tokens = (before[name] ?? 0) + (next[name] ?? 0);
    if (tokens > 0) sum[name] = tokens;
  }
  return checked(sum);
}
