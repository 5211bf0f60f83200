/**
 * The dialect of `POST /v1/responses`. Its streams pass byte for byte: the last event has the usage by itself.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import { serializeEvent } from '../../vendors/event-blocks.ts';
import { offering } from '../../vendors/kind.ts';
import type { Dialect, VendorBody } from './dialect.ts';
import { openAiEndpoint } from './openai.ts';
import { ResponseClosing } from './responses-closing.ts';
import {
  ACCOUNT,
  COMMON_CLOSED,
  COMMON_OPEN,
  type Members,
  ONLY_FALSE,
  PRICE,
  REFERENCE,
  type TypedMembers,
  USER_LOCATION,
} from './session-fields.ts';

const WEB_SEARCH: Members = {
  external_web_access: 'value',
  filters: { members: { allowed_domains: 'value', blocked_domains: 'value' } },
  search_content_types: 'value',
  search_context_size: 'value',
  user_location: { members: { type: 'value', ...USER_LOCATION } },
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

const TOOL_OUTPUT: TypedMembers = {
  members: { id: 'value', call_id: 'value', name: 'value', output: { list: { types: INPUT_PARTS } }, status: 'value' },
};
const TEXT: TypedMembers = { members: { text: 'value' } };
const TOOLS_BY_NAME: Record<string, TypedMembers> = {
  function: { members: { name: 'value' } },
  custom: { members: { name: 'value' } },
  image_generation: { members: {} },
  web_search: { members: {} },
  web_search_2025_08_26: { members: {} },
  web_search_preview: { members: {} },
  web_search_preview_2025_03_11: { members: {} },
};

const OPEN_FIELDS: Members = {
  ...COMMON_OPEN,
  background: ONLY_FALSE,
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
        function_call_output: TOOL_OUTPUT,
        custom_tool_call: {
          members: { id: 'value', call_id: 'value', name: 'value', input: 'value', status: 'value' },
        },
        custom_tool_call_output: TOOL_OUTPUT,
        reasoning: {
          members: {
            id: 'value',
            encrypted_content: 'value',
            summary: { list: { types: { summary_text: TEXT } } },
            content: { list: { types: { reasoning_text: TEXT } } },
            status: 'value',
          },
          // Without this member the vendor would look the item up by its id.
          needs: 'encrypted_content',
        },
      },
      // Without an id, because an id alone is a reference.
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
        web_search: { members: WEB_SEARCH },
        web_search_2025_08_26: { members: WEB_SEARCH },
        web_search_preview: { members: WEB_SEARCH },
        web_search_preview_2025_03_11: { members: WEB_SEARCH },
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

const CLOSED_FIELDS = {
  ...COMMON_CLOSED,
  access_programs: ACCOUNT,
  context_management: REFERENCE,
  conversation: REFERENCE,
  image: PRICE,
  previous_response_id: REFERENCE,
  prompt: REFERENCE,
};

/**
 * Types of `tools` that are known and closed. They read what is stored at the vendor (`file_search`), have a price
 * besides the tokens (`code_interpreter`, `shell`, `computer`), let the vendor call others in the organization's name
 * (`mcp`), or are new.
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

export const responses: Dialect<typeof modelOperations.createResponse> = {
  operation: modelOperations.createResponse,
  ...openAiEndpoint('responses'),
  isOfferedBy: offering('others'),
  alternative: '/v1/chat/completions',
  sessionFields: { open: OPEN_FIELDS, closed: CLOSED_FIELDS },

  effortAsked({ reasoning }) {
    return reasoning?.effort ?? undefined;
  },

  vendorBody(request, terms) {
    const body: VendorBody = { ...request, model: terms.model };
    if (terms.effort !== undefined) body.reasoning = { ...request.reasoning, effort: terms.effort };
    // A model that takes no effort refuses a summary of its reasoning too.
    else if (request.reasoning?.effort != null) delete body.reasoning;
    return body;
  },

  streamTransform: () => undefined,

  streamError({ code, message, param }, last) {
    const { sequence_number: number } = last ?? {};
    const sequence_number = typeof number === 'number' ? number + 1 : 0;
    const data = JSON.stringify({ type: 'error', code, message, param, sequence_number });
    return serializeEvent({ event: 'error', data });
  },

  streamClosing: () => new ResponseClosing(),
};
