/**
 * The dialect of `POST /v1/chat/completions`.
 *
 * The vendor is asked to report usage at the end of a stream. A caller that did not ask for that gets the stream without
 * the chunk that only reports usage; a caller that did also gets the cost.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import { parseAnswer } from '../../platform/json.ts';
import { serializeEvent } from '../../vendors/event-blocks.ts';
import { ChatClosing } from './chat-completions-closing.ts';
import type { Dialect, VendorBody } from './dialect.ts';
import { openAiEndpoint, openAiError } from './openai.ts';
import { COMMON_CLOSED, COMMON_OPEN, type Members, type Rule, USER_LOCATION } from './session-fields.ts';
import { translatedChat } from './translated-chat.ts';

/** A chunk whose usage is an object; most chunks say `"usage":null`, or have no usage. */
const HAS_USAGE = /"usage"\s*:\s*\{/;

const TEXT_PARTS: Rule = {
  list: { types: { text: { members: { text: 'value' } }, refusal: { members: { refusal: 'value' } } } },
};
const NAMED_FUNCTION: Rule = { members: { name: 'value', description: 'value', parameters: 'any', strict: 'value' } };

const CHAT_PARTS: Rule = {
  types: {
    text: { members: { text: 'value' } },
    refusal: { members: { refusal: 'value' } },
    image_url: { members: { image_url: { text: 'link', object: { members: { url: 'link', detail: 'value' } } } } },
    input_audio: { members: { input_audio: { members: { data: 'content', format: 'value' } } } },
    file: { members: { file: { members: { file_data: 'content', filename: 'value' } } } },
  },
};

const CHAT_TOOL_CALL: Rule = {
  members: {
    id: 'value',
    type: 'value',
    index: 'value',
    function: { members: { name: 'value', arguments: 'value', parsed_arguments: 'any' } },
    custom: { members: { name: 'value', input: 'value' } },
    // The signature that Google's models expect back with their calls.
    extra_content: { members: { google: { members: { thought_signature: 'value' } } } },
  },
};

const OPEN_FIELDS: Members = {
  ...COMMON_OPEN,
  audio: { members: { format: 'value', voice: 'value' } },
  frequency_penalty: 'value',
  function_call: { members: { name: 'value' } },
  functions: { list: NAMED_FUNCTION },
  logit_bias: 'any',
  logprobs: 'value',
  max_completion_tokens: 'value',
  max_tokens: 'value',
  messages: {
    list: {
      members: {
        role: 'value',
        name: 'value',
        content: { list: CHAT_PARTS },
        refusal: 'value',
        tool_call_id: 'value',
        tool_calls: { list: CHAT_TOOL_CALL },
        function_call: { members: { name: 'value', arguments: 'value' } },
        // Members of an earlier answer, sent back with the conversation.
        annotations: { list: { types: { url_citation: { members: { url_citation: 'any' } } } } },
        parsed: 'any',
        reasoning_content: 'value',
      },
    },
  },
  modalities: 'value',
  n: 'value',
  prediction: { members: { type: 'value', content: TEXT_PARTS } },
  presence_penalty: 'value',
  reasoning_effort: 'value',
  response_format: { members: { type: 'value', json_schema: 'any' } },
  seed: 'value',
  stop: 'value',
  tool_choice: {
    types: {
      function: { members: { function: { members: { name: 'value' } } } },
      custom: { members: { custom: { members: { name: 'value' } } } },
      allowed_tools: {
        members: {
          allowed_tools: {
            members: {
              mode: 'value',
              tools: {
                list: {
                  types: {
                    function: { members: { function: { members: { name: 'value' } } } },
                    custom: { members: { custom: { members: { name: 'value' } } } },
                  },
                },
              },
            },
          },
        },
      },
    },
  },
  tools: {
    list: {
      types: {
        function: { members: { function: NAMED_FUNCTION } },
        custom: { members: { custom: { members: { name: 'value', description: 'value', format: 'any' } } } },
      },
    },
  },
  verbosity: 'value',
  web_search_options: {
    members: {
      search_context_size: 'value',
      user_location: { members: { type: 'value', approximate: { members: USER_LOCATION } } },
    },
  },
};

export const chatCompletions: Dialect<typeof modelOperations.createChatCompletion> = {
  operation: modelOperations.createChatCompletion,
  ...openAiEndpoint('chat/completions'),
  isOfferedBy: () => true,
  alternative: null,
  translatedFor: (provider) => (provider === 'anthropic' ? translatedChat : undefined),
  sessionFields: { open: OPEN_FIELDS, closed: COMMON_CLOSED },

  effortAsked({ reasoning_effort }) {
    return reasoning_effort ?? undefined;
  },

  vendorBody(request, terms) {
    const body: VendorBody = { ...request, model: terms.model };
    if (terms.effort !== undefined) body.reasoning_effort = terms.effort;
    else delete body.reasoning_effort;
    if (terms.addsUsage && request.stream === true && request.stream_options?.include_usage !== true)
      body.stream_options = { ...request.stream_options, include_usage: true };
    return body;
  },

  streamTransform({ stream_options }, cost, addsUsage) {
    const includeUsage = stream_options?.include_usage === true;
    if (!includeUsage && !addsUsage) return undefined;
    return async (event, reading) => {
      if (!HAS_USAGE.test(event.data)) return event;
      const chunk = parseAnswer(event.data) as { usage?: unknown; choices?: unknown } | null | undefined;
      if (chunk == null || typeof chunk.usage !== 'object' || chunk.usage === null) return event;
      if (!includeUsage) {
        const hasChoices = Array.isArray(chunk.choices) && chunk.choices.length > 0;
        return hasChoices ? event : null;
      }
      const usage = reading.usage();
      const costUsd = usage && (await cost(usage));
      if (costUsd === null) return event;
      return { ...event, data: JSON.stringify({ ...chunk, usage: { ...chunk.usage, cost_usd: costUsd } }) };
    };
  },

  streamError: (error) => serializeEvent({ data: JSON.stringify(openAiError(error)) }),

  streamClosing({ model, n, stream_options }) {
    const answers = typeof n === 'number' ? n : 1;
    return new ChatClosing(model, answers, stream_options?.include_usage === true);
  },
};
