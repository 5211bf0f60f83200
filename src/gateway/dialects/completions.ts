/**
 * The dialect of `POST /v1/completions`, the legacy form of completions. Streams and their usage work as in chat
 * completions.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import { offering } from '../../vendors/kind.ts';
import { ChatClosing, TEXT_SHAPE } from './chat-completions-closing.ts';
import { usageInStream, withUsageAsked } from './completion-usage.ts';
import type { Dialect } from './dialect.ts';
import { openAiEndpoint, openAiStreamError } from './openai.ts';

export const completions: Dialect<typeof modelOperations.createCompletion> = {
  operation: modelOperations.createCompletion,
  ...openAiEndpoint('completions'),
  isOfferedBy: offering('others'),
  alternative: '/v1/chat/completions',
  effortAsked: () => undefined,
  vendorBody: (request, terms) => withUsageAsked({ ...request, model: terms.model }, request, terms),
  streamTransform: usageInStream,
  streamError: openAiStreamError,
  streamClosing({ model, n, prompt, stream_options }) {
    const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1;
    return new ChatClosing(model, (n ?? 1) * prompts, stream_options?.include_usage === true, TEXT_SHAPE);
  },
};
