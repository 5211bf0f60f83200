/**
 * The dialect of `POST /v1/chat/completions`. The usage of its streams is in completion-usage.ts.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import { ACCEPTED } from '../../vendors/kind.ts';
import { ChatClosing } from './chat-completions-closing.ts';
import { usageInStream, withUsageAsked } from './completion-usage.ts';
import type { Dialect, VendorBody } from './dialect.ts';
import { openAiEndpoint, openAiStreamError } from './openai.ts';
import { translatedChat } from './translated-chat.ts';

export const chatCompletions: Dialect<typeof modelOperations.createChatCompletion> = {
  operation: modelOperations.createChatCompletion,
  ...openAiEndpoint('chat/completions'),
  isOfferedBy: () => true,
  alternative: null,
  translatedFor: (kind) => (ACCEPTED[kind].chatAs === 'messages' ? translatedChat : undefined),
  takesSessions: true,

  effortAsked({ reasoning_effort }) {
    return reasoning_effort ?? undefined;
  },

  vendorBody(request, terms) {
    const body: VendorBody = { ...request, model: terms.model };
    if (terms.effort !== undefined) body.reasoning_effort = terms.effort;
    else delete body.reasoning_effort;
    return withUsageAsked(body, request, terms);
  },

  streamTransform: usageInStream,

  streamError: openAiStreamError,

  streamClosing({ model, n, stream_options }) {
    const answers = typeof n === 'number' ? n : 1;
    return new ChatClosing(model, answers, stream_options?.include_usage === true);
  },
};
