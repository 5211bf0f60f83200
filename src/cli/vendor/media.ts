/**
 * The answers of OpenAI's endpoints for images, audio and moderations. Two of them take forms.
 */
import { type Fields, isFields } from '../../vendors/usage/figures.ts';
import { makeSpeech, makeTranscript } from './audio.ts';
import { makeImages } from './images.ts';
import { moderate } from './moderations.ts';
import type { Outcome, Refusal, Told } from './outcome.ts';
import { collectText, readWords, type Words } from './prompt.ts';

const FORMS = new Set(['/v1/images/edits', '/v1/audio/transcriptions', '/v1/audio/translations']);

export function isForm(pathname: string): boolean {
  return FORMS.has(pathname);
}

/** The fields of a form, and its files; `null` if the body is not a form. */
export async function readMultipart(
  contentType: string,
  body: Buffer,
): Promise<{ fields: Fields; files: File[] } | null> {
  const response = new Response(new Uint8Array(body), { headers: { 'content-type': contentType } });
  const form = await response.formData().catch(() => null);
  if (!form) return null;
  const entries = [...form];
  const texts = entries.filter(([, value]) => typeof value === 'string');
  return {
    fields: Object.fromEntries(texts),
    files: entries.flatMap(([, value]) => (value instanceof File ? value : [])),
  };
}

/** `null` for any other path. */
export function mediaAnswer(pathname: string, body: Fields, files: readonly File[]): Outcome | null {
  const answer = answerers[pathname];
  if (!answer) return null;
  // The prompt of a transcription, or else the other text of the request.
  const words = readWords({ by: 'user', text: collectText(body.prompt ?? body.input) });
  if (words.status !== null)
    return { kind: 'refused', status: words.status, message: 'the prompt asked for this error' };
  if (pathname !== '/v1/moderations' && (typeof body.model !== 'string' || body.model === ''))
    return refused('model', 'must be the name of a model');
  return answer(body, files, words);
}

type Answerer = (body: Fields, files: readonly File[], words: Words) => Outcome;

const answerers: Readonly<Record<string, Answerer>> = {
  '/v1/moderations': (body, _files, words) => ({ kind: 'json', body: moderate(body), words }),
  '/v1/images/generations': images,
  '/v1/images/edits': (body, files, words) =>
    files.length === 0 ? refused('image', 'must be a file') : images(body, files, words),
  '/v1/audio/speech': (body, _files, words) => {
    const made = makeSpeech(body);
    if (!made.ok) return refused(made.field, made.message);
    const told = toReportedUsage(body, made);
    return body.stream_format === 'sse'
      ? { kind: 'events', form: 'sse', frames: made.frames, words, told }
      : { kind: 'file', content: made.audio, type: made.type, words, told };
  },
  '/v1/audio/transcriptions': transcript,
  '/v1/audio/translations': (body, files, words) => transcript({ ...body, stream: false }, files, words),
};

function images(body: Fields, files: readonly File[], words: Words): Outcome {
  const made = makeImages(body, files.length);
  const told = toReportedUsage(body, made);
  if (isTrue(body.stream)) return { kind: 'events', form: 'sse', frames: made.frames, words, told };
  return { kind: 'json', body: made.body, words, told };
}

function transcript(body: Fields, [file]: readonly File[], words: Words): Outcome {
  if (!file) return refused('file', 'must be a file');
  const made = makeTranscript(body, file.size);
  const told = toReportedUsage(body, made);
  // Whisper ignores it.
  const isStream = isTrue(body.stream) && !/^whisper/.test(String(body.model));
  if (isStream) return { kind: 'events', form: 'sse', frames: made.frames, words, told };
  if (isFields(made.body)) return { kind: 'json', body: made.body, words, told };
  return { kind: 'file', content: made.body, type: 'text/plain; charset=utf-8', words, told };
}

/** Fields of a form are text. */
function isTrue(value: unknown): boolean {
  return value === true || value === 'true';
}

function toReportedUsage({ model }: Fields, { inputTokens, outputTokens }: Omit<Told, 'model'>): Told {
  return { model: String(model), inputTokens, outputTokens };
}

function refused(field: string, message: string): Refusal {
  return { kind: 'refused', status: 400, message: message.startsWith(field) ? message : `${field}: ${message}`, field };
}
