/**
 * What a browser's session may ask of a model: the fields that are open to it, by endpoint, as data.
 *
 * A field that stands nowhere here is closed, so that what a vendor adds stays closed until somebody opens it. Open is
 * what shapes the answer and is paid for as the answer's tokens are. Closed is what names things in the organization's
 * account at a vendor, speaks of another person, or has a price or a model of its own. Source: OpenAI's API reference,
 * as the types of its SDK have it (`chat/completions` and `responses`); a test compares the two.
 */

/**
 * What a field may hold. `null` always passes, and so does plain text or a number but for `link`, `content` and `only`.
 *
 * - `value`: text, a number or a truth value, or a list of these
 * - `any`: any JSON, because nothing in it is more than a description
 * - `link`: an address that the vendor fetches, or a `data:` URL
 * - `content`: the content itself, as a `data:` URL or in base64
 */
export type Rule =
  | 'value'
  | 'any'
  | 'link'
  | 'content'
  | { only: readonly (string | boolean)[] }
  | { list: Rule }
  | { members: Members }
  /** By the member `type`; `untyped` is for objects without one. */
  | { types: Record<string, TypedMembers>; untyped?: Members }
  /** The one for a text, the other for an object. */
  | { text: Rule; object: Rule };

export type Members = Readonly<Record<string, Rule>>;

interface TypedMembers {
  /** Beside `type`. */
  members: Members;
  /** A member that has to be there, as a text. */
  needs?: string;
}

const REFERENCE = 'it names things that are stored at the vendor';
const PERSON = 'the session says whom a call concerns';
const PRICE = 'it has a price or a model of its own';
const KEEPING = "it changes what the vendor keeps or does for the organization's account";

const onlyFalse: Rule = { only: [false] };
const textParts: Rule = {
  list: { types: { text: { members: { text: 'value' } }, refusal: { members: { refusal: 'value' } } } },
};
const namedFunction: Rule = { members: { name: 'value', description: 'value', parameters: 'any', strict: 'value' } };
const userLocation: Members = { city: 'value', country: 'value', region: 'value', timezone: 'value' };
const webSearch: Members = {
  external_web_access: 'value',
  filters: { members: { allowed_domains: 'value', blocked_domains: 'value' } },
  search_content_types: 'value',
  search_context_size: 'value',
  user_location: { members: { type: 'value', ...userLocation } },
};

/** Fields of both endpoints. */
const COMMON: Members = {
  model: 'value',
  models: 'value',
  // The session's own id; see `identify`.
  customer: 'value',
  user: 'value',
  parallel_tool_calls: 'value',
  service_tier: { only: ['auto'] },
  store: onlyFalse,
  stream: 'value',
  stream_options: { members: { include_usage: 'value', include_obfuscation: 'value' } },
  temperature: 'value',
  top_logprobs: 'value',
  top_p: 'value',
};

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
    // The signature that Google's models want back with their calls.
    extra_content: { members: { google: { members: { thought_signature: 'value' } } } },
  },
};

const CHAT: Members = {
  ...COMMON,
  audio: { members: { format: 'value', voice: 'value' } },
  frequency_penalty: 'value',
  function_call: { members: { name: 'value' } },
  functions: { list: namedFunction },
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
        // What an answer says of itself, sent back with the conversation.
        annotations: { list: { types: { url_citation: { members: { url_citation: 'any' } } } } },
        parsed: 'any',
        reasoning_content: 'value',
      },
    },
  },
  modalities: 'value',
  n: 'value',
  prediction: { members: { type: 'value', content: textParts } },
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
        function: { members: { function: namedFunction } },
        custom: { members: { custom: { members: { name: 'value', description: 'value', format: 'any' } } } },
      },
    },
  },
  verbosity: 'value',
  web_search_options: {
    members: {
      search_context_size: 'value',
      user_location: { members: { type: 'value', approximate: { members: userLocation } } },
    },
  },
};

const INPUT_PARTS: Record<string, TypedMembers> = {
  input_text: { members: { text: 'value' } },
  input_image: { members: { image_url: 'link', detail: 'value' } },
  input_file: { members: { file_data: 'content', file_url: 'link', filename: 'value', detail: 'value' } },
  input_audio: { members: { input_audio: { members: { data: 'content', format: 'value' } } } },
};

const CITATION: TypedMembers = { members: { url: 'value', title: 'value', start_index: 'value', end_index: 'value' } };

const OUTPUT_PARTS: Record<string, TypedMembers> = {
  output_text: {
    members: {
      text: 'value',
      annotations: { list: { types: { url_citation: CITATION } } },
      logprobs: 'any',
      parsed: 'any',
    },
  },
  refusal: { members: { refusal: 'value' } },
};

const MESSAGE: Members = {
  role: 'value',
  content: { list: { types: { ...INPUT_PARTS, ...OUTPUT_PARTS } } },
  phase: 'value',
  status: 'value',
};

const toolOutput: TypedMembers = {
  members: { id: 'value', call_id: 'value', name: 'value', output: { list: { types: INPUT_PARTS } }, status: 'value' },
};
const textOf: TypedMembers = { members: { text: 'value' } };
const TOOLS_BY_NAME: Record<string, TypedMembers> = {
  function: { members: { name: 'value' } },
  custom: { members: { name: 'value' } },
  image_generation: { members: {} },
  web_search: { members: {} },
  web_search_2025_08_26: { members: {} },
  web_search_preview: { members: {} },
  web_search_preview_2025_03_11: { members: {} },
};

const RESPONSE: Members = {
  ...COMMON,
  background: onlyFalse,
  include: {
    only: [
      'reasoning.encrypted_content',
      'message.output_text.logprobs',
      'message.input_image.image_url',
      'web_search_call.action.sources',
      'web_search_call.results',
    ],
  },
  input: {
    list: {
      types: {
        message: { members: { id: 'value', ...MESSAGE } },
        function_call: {
          members: {
            id: 'value',
            call_id: 'value',
            name: 'value',
            arguments: 'value',
            status: 'value',
            parsed_arguments: 'any',
          },
        },
        function_call_output: toolOutput,
        custom_tool_call: {
          members: { id: 'value', call_id: 'value', name: 'value', input: 'value', status: 'value' },
        },
        custom_tool_call_output: toolOutput,
        reasoning: {
          members: {
            id: 'value',
            encrypted_content: 'value',
            summary: { list: { types: { summary_text: textOf } } },
            content: { list: { types: { reasoning_text: textOf } } },
            status: 'value',
          },
          // Without it, the vendor would look for the item under its id.
          needs: 'encrypted_content',
        },
      },
      // Without an id: alone, that would be a reference.
      untyped: MESSAGE,
    },
  },
  instructions: 'value',
  max_output_tokens: 'value',
  max_tool_calls: 'value',
  reasoning: { members: { effort: 'value', summary: 'value', generate_summary: 'value' } },
  text: {
    members: {
      format: { members: { type: 'value', name: 'value', description: 'value', schema: 'any', strict: 'value' } },
      verbosity: 'value',
    },
  },
  tool_choice: {
    types: {
      ...TOOLS_BY_NAME,
      allowed_tools: { members: { mode: 'value', tools: { list: { types: TOOLS_BY_NAME } } } },
    },
  },
  tools: {
    list: {
      types: {
        function: { members: { name: 'value', description: 'value', parameters: 'any', strict: 'value' } },
        custom: { members: { name: 'value', description: 'value', format: 'any' } },
        web_search: { members: webSearch },
        web_search_2025_08_26: { members: webSearch },
        web_search_preview: { members: webSearch },
        web_search_preview_2025_03_11: { members: webSearch },
        image_generation: {
          members: {
            action: 'value',
            background: 'value',
            input_fidelity: 'value',
            input_image_mask: { members: { image_url: 'link' } },
            output_compression: 'value',
            output_format: 'value',
            partial_images: 'value',
            quality: 'value',
            size: 'value',
          },
        },
      },
    },
  },
  truncation: 'value',
};

/** By the path of the endpoint. */
export const OPEN_FIELDS: Readonly<Record<string, Members>> = {
  '/v1/chat/completions': CHAT,
  '/v1/responses': RESPONSE,
};

const CLOSED_IN_BOTH = {
  feature: PERSON,
  tags: PERSON,
  metadata: KEEPING,
  moderation: PRICE,
  // With these, a browser could have another user blamed, or push another's prompts out of the vendor's cache.
  safety_identifier: PERSON,
  prompt_cache_key: KEEPING,
  prompt_cache_options: REFERENCE,
  prompt_cache_retention: KEEPING,
} as const;

/** Fields that are known and closed, with the reason that a refusal gives, by the path of the endpoint. */
export const CLOSED_FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/v1/chat/completions': CLOSED_IN_BOTH,
  '/v1/responses': {
    ...CLOSED_IN_BOTH,
    access_programs: KEEPING,
    context_management: REFERENCE,
    conversation: REFERENCE,
    image: PRICE,
    previous_response_id: REFERENCE,
    prompt: REFERENCE,
  },
};

/**
 * Types of `tools` of a response that are known and closed: they read what is stored at the vendor (`file_search`),
 * have a price beside the tokens (`code_interpreter`, `shell`, `computer`), let the vendor ask others in the
 * organization's name (`mcp`), or are new.
 */
export const CLOSED_TOOLS: readonly string[] = [
  'apply_patch',
  'code_interpreter',
  'computer',
  'computer_use_preview',
  'file_search',
  'local_shell',
  'mcp',
  'namespace',
  'programmatic_tool_calling',
  'shell',
  'tool_search',
];
