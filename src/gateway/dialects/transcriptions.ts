/**
 * The dialects of `POST /v1/audio/transcriptions` and `POST /v1/audio/translations`: forms with a recording, answered
 * as JSON, as plain text, or with events. JSON and events report usage, or the length of the recording.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import type { CountedUses } from '../../domain/unclear-usage.ts';
import { offering } from '../../vendors/kind.ts';
import { fieldsOrEmpty, quantity } from '../../vendors/usage/figures.ts';
import type { Dialect } from './dialect.ts';
import { openAiEndpoint, openAiStreamError } from './openai.ts';

/** Formats other than JSON. Source: OpenAI's API reference, `response_format` of transcriptions. */
const PLAIN = new Set(['text', 'srt', 'vtt']);

/**
 * The length of the recording that the answer states, or that the figure makes no sense; empty if the answer states
 * none.
 */
function countDuration(duration: unknown): CountedUses {
  if (duration === undefined || duration === null) return {};
  const audioSeconds = quantity(duration);
  return audioSeconds === null ? { unclear: ['audioSeconds'] } : { audioSeconds };
}

const shared = {
  isOfferedBy: offering('others'),
  alternative: null,
  effortAsked: () => undefined,
  vendorBody: <Request extends object>(request: Request, { model }: { model: string }) => ({ ...request, model }),
  answerForm: ({ response_format: format }: { response_format?: string | undefined }) =>
    format !== undefined && PLAIN.has(format) ? ('text' as const) : ('json' as const),
  counted: (_request: unknown, answer: unknown) => countDuration(fieldsOrEmpty(answer).duration),
  streamTransform: () => undefined,
  streamError: openAiStreamError,
  streamClosing: () => undefined,
};

export const transcriptions: Dialect<typeof modelOperations.createTranscription> = {
  operation: modelOperations.createTranscription,
  ...openAiEndpoint('audio/transcriptions'),
  ...shared,
};

export const translations: Dialect<typeof modelOperations.createTranslation> = {
  operation: modelOperations.createTranslation,
  ...openAiEndpoint('audio/translations'),
  ...shared,
};
