/**
 * The dialect of `POST /v1/chat/completions`. The usage of its streams is in completion-usage.ts.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import { ACCEPTED } from '../../vendors/kind.ts';
import { ChatClosing } from './chat-completions-closing.ts';
import { usageInStream, withUsageAsked } from './completion-usage.ts';
import type { Dialect, VendorBody } from './dialect.ts';
import { openAiEndpoint, openAiStreamError } from './openai.ts';
import { COMMON_CLOSED, COMMON_OPEN, type Members, type Rule, USER_LOCATION } from './session-fields.ts';
import { translatedChat } from './translated-chat.ts';

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
  translatedFor: (kind) => (ACCEPTED[kind].chatAs === 'messages' ? translatedChat : undefined),
  sessionFields: { open: OPEN_FIELDS, closed: COMMON_CLOSED },

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
