/** The fields of `POST /v1/chat/completions`. */
import { ACCOUNT, bills, closed, type Members, PRICE, type Rule, stored, values } from '../rules.ts';
import { BREAKPOINT, CACHE_CONTROL, CHAT_AND_RESPONSES, USER_LOCATION } from './common.ts';

const MARKS: Members = { ...BREAKPOINT, ...CACHE_CONTROL };

const TEXT_PARTS: Rule = {
  list: {
    types: { text: { members: { text: 'value', ...MARKS } }, refusal: { members: { refusal: 'value' } } },
  },
};
const NAMED_FUNCTION: Rule = { members: { ...values('name description strict'), parameters: 'any' } };

const PARTS: Rule = {
  types: {
    text: { members: { text: 'value', ...MARKS } },
    refusal: { members: { refusal: 'value' } },
    image_url: {
      members: {
        image_url: { text: 'link', object: { members: { url: 'link', ...values('detail') } } },
        ...MARKS,
      },
      bills: 'image',
    },
    input_audio: {
      members: { input_audio: { members: { data: 'content', format: 'value' } }, ...MARKS },
      bills: 'audio',
    },
    file: {
      members: {
        file: { members: { file_data: bills('blob', 'content'), filename: 'value', file_id: stored() } },
        ...MARKS,
      },
    },
    // Compatible servers take these fields.
    thinking: { members: { thinking: 'any', ...values('signature') }, closed: true },
    video_url: {
      members: { video_url: { text: 'link', object: { members: { url: 'link' } } } },
      bills: 'video',
      closed: true,
    },
    audio_url: {
      members: { audio_url: { text: 'link', object: { members: { url: 'link' } } } },
      bills: 'audio',
      closed: true,
    },
  },
};

const TOOL_CALL: Rule = {
  members: {
    ...values('id type index'),
    function: { members: { ...values('name arguments'), parsed_arguments: 'any' } },
    custom: { members: values('name input') },
    // The signature that Google's models expect back with their calls.
    extra_content: { members: { google: { members: values('thought_signature') } } },
  },
};

const NAMED = {
  types: {
    function: { members: { function: { members: { name: 'value' } } } },
    custom: { members: { custom: { members: { name: 'value' } } } },
  },
} as const satisfies Rule;

export const CHAT: Members = {
  ...CHAT_AND_RESPONSES,
  ...values('frequency_penalty logprobs presence_penalty reasoning_effort seed stop verbosity'),
  audio: bills('spoken', { members: values('format voice') }),
  function_call: { members: { name: 'value' } },
  functions: { list: NAMED_FUNCTION },
  logit_bias: 'any',
  max_completion_tokens: bills('outputBound'),
  max_tokens: bills('outputBound'),
  messages: {
    list: {
      members: {
        ...values('role name refusal tool_call_id reasoning_content'),
        content: { list: PARTS },
        tool_calls: { list: TOOL_CALL },
        function_call: { members: values('name arguments') },
        // Members of an earlier answer, sent back with the conversation.
        annotations: { list: { types: { url_citation: { members: { url_citation: 'any' } } } } },
        parsed: 'any',
        audio: stored({ members: values('id data expires_at transcript') }),
        ...CACHE_CONTROL,
        // Compatible servers take these fields: a model's thoughts, and the beginning of an answer that the model
        // continues.
        reasoning: closed(ACCOUNT),
        reasoning_details: closed(ACCOUNT, 'any'),
        prefix: closed(ACCOUNT),
      },
    },
  },
  modalities: bills('modalities'),
  n: bills('answers'),
  prediction: bills('prediction', { members: { type: 'value', content: TEXT_PARTS } }),
  // `schema` is an older form of some servers.
  response_format: { members: { type: 'value', json_schema: 'any', schema: closed(ACCOUNT, 'any') } },
  tool_choice: {
    types: {
      ...NAMED.types,
      allowed_tools: {
        members: { allowed_tools: { members: { mode: 'value', tools: { list: NAMED } } } },
      },
    },
  },
  tools: {
    list: {
      types: {
        function: { members: { function: NAMED_FUNCTION, ...CACHE_CONTROL } },
        custom: { members: { custom: { members: { ...values('name description'), format: 'any' } } } },
      },
    },
  },
  web_search_options: bills('webSearch', {
    members: {
      search_context_size: 'value',
      user_location: { members: { type: 'value', approximate: { members: USER_LOCATION } } },
    },
  }),
  // Google's own fields at its compatible endpoint.
  extra_body: closed(PRICE, {
    members: { google: { members: { cached_content: stored(), thinking_config: 'any', thought_tag_marker: 'value' } } },
  }),
};
