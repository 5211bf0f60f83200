/**
 * The dialect of `POST /v1/audio/speech`: audio while it is made, or events with `stream_format: "sse"`. Only the
 * events report usage; the characters of the input are counted for models that are billed by characters.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import { offering } from '../../vendors/kind.ts';
import type { Dialect } from './dialect.ts';
import { openAiEndpoint, openAiStreamError } from './openai.ts';

export const speech: Dialect<typeof modelOperations.createSpeech> = {
  operation: modelOperations.createSpeech,
  ...openAiEndpoint('audio/speech'),
  isOfferedBy: offering('others'),
  alternative: null,
  effortAsked: () => undefined,
  vendorBody: (request, { model }) => ({ ...request, model }),
  answerForm: () => 'bytes',
  counted: ({ input }) => ({ characters: charactersIn(input) }),
  streamTransform: () => undefined,
  streamError: openAiStreamError,
  streamClosing: () => undefined,
};

/** Characters as Unicode counts them: a character outside of the basic plane takes two code units in a string. */
function charactersIn(text: string): number {
  let count = 0;
  for (const _character of text) count += 1;
  return count;
}
