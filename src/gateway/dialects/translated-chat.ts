/**
 * Chat completions of Anthropic's models: translated to its messages API, because its compatibility layer drops strict
 * schemas, prompt caching and thinking.
 */
import type { z } from 'zod';
import type { modelOperations } from '../../contract/gateway/operations.ts';
import type { ChatCompletionRequest, MessageRequest } from '../../contract/gateway/requests.ts';
import { OUTPUT_TOKENS_MAX_DEFAULT } from '../../domain/hold.ts';
import { parseAnswer } from '../../platform/json.ts';
import type { Effort } from '../../vendors/effort.ts';
import { isFields } from '../../vendors/usage/figures.ts';
import { chatToMessages } from '../translation/chat-to-messages.ts';
import { DONE, MessageChunks, type StreamPart } from '../translation/message-stream-to-chunks.ts';
import { messageToCompletion } from '../translation/message-to-completion.ts';
import { anthropicEndpoint } from './anthropic.ts';
import { ChatClosing } from './chat-completions-closing.ts';
import type { StreamClosing, VendorForm } from './dialect.ts';
import { messageBody } from './messages.ts';

type Request = z.infer<typeof ChatCompletionRequest>;

const { endpoint, vendorUrl, vendorHeaders } = anthropicEndpoint('messages');
/** The id of a stream if its vendor names none. */
const NO_ID = 'chatcmpl-callmeter';

export const translatedChat: VendorForm<typeof modelOperations.createChatCompletion> = {
  endpoint,
  vendorUrl,
  vendorHeaders,

  vendorBody(request, terms) {
    // If the plan allows no thinking, a request to think is dropped, not a contradiction.
    const translated = translate(terms.ceiling === 'none' ? { ...request, thinking: undefined } : request, terms);
    if (!translated.ok) throw new Error(`${translated.param} cannot be translated: ${translated.message}`);
    return messageBody(translated.body as unknown as z.infer<typeof MessageRequest>, terms);
  },

  refused(request, terms) {
    const translated = translate(request, terms);
    return translated.ok ? null : { param: translated.param, message: translated.message };
  },

  answer: (document) => messageToCompletion(document, nowSeconds()),

  streamTransform({ model, stream_options }, cost) {
    const includeUsage = stream_options?.include_usage === true;
    const chunks = startChunks(model, includeUsage);
    return async ({ data }, reading) => {
      const event = parseAnswer(data);
      const parts = isFields(event) ? chunks.read(event) : [];
      const usage = includeUsage && parts.some(hasUsage) ? reading.usage() : null;
      const costUsd = usage && (await cost(usage));
      return parts.map((part) => ({ data: partText(part, costUsd) }));
    };
  },

  streamClosing({ model, stream_options }): StreamClosing {
    const includeUsage = stream_options?.include_usage === true;
    const [chunks, closing] = [startChunks(model, includeUsage), new ChatClosing(model, 1, includeUsage)];
    return {
      passed: (event) => {
        for (const part of chunks.read(event)) if (isFields(part)) closing.passed(part);
      },
      close: (stopped) => closing.close(stopped),
    };
  },
};

interface Terms {
  model: string;
  effort: Effort | undefined;
  outputTokensMax: number | undefined;
}

function translate({ model: _asked, ...request }: Request, { model, effort, outputTokensMax }: Terms) {
  return chatToMessages(request, { model, effort, outputTokensMax: outputTokensMax ?? OUTPUT_TOKENS_MAX_DEFAULT });
}

function startChunks(model: string, includeUsage: boolean): MessageChunks {
  return new MessageChunks({ created: nowSeconds(), id: NO_ID, model, includeUsage });
}

function hasUsage(part: StreamPart): boolean {
  return isFields(part) && isFields(part.usage);
}

function partText(part: StreamPart, costUsd: number | null): string {
  if (part === DONE) return DONE;
  if (costUsd === null || !isFields(part) || !isFields(part.usage)) return JSON.stringify(part);
  return JSON.stringify({ ...part, usage: { ...part.usage, cost_usd: costUsd } });
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
