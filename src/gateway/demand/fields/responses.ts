/** The fields of `POST /v1/responses` and of `/v1/responses/compact`. */
import {
  ACCOUNT,
  bills,
  closed,
  type Members,
  ONLY_FALSE,
  PRICE,
  REFERENCE,
  stored,
  type TypedMembers,
  values,
} from '../rules.ts';
import { BREAKPOINT, CHAT_AND_RESPONSES, RUN, USER_LOCATION } from './common.ts';

const FUNCTION: TypedMembers = {
  members: {
    ...values('name description strict allowed_callers async defer_loading'),
    parameters: 'any',
    output_schema: 'any',
  },
};
const CUSTOM: TypedMembers = {
  members: { ...values('name description allowed_callers async defer_loading'), format: 'any' },
};
const WEB_SEARCH: TypedMembers = {
  members: {
    ...values('external_web_access search_content_types search_context_size'),
    filters: { members: values('allowed_domains blocked_domains') },
    user_location: { members: { type: 'value', ...USER_LOCATION } },
  },
  bills: 'webSearch',
};
/** Tools that the caller runs and the vendor defines. */
const RUN_BY_CALLER: TypedMembers = { members: values('allowed_callers'), closed: true };

/**
 * Closed to sessions are tools that read content stored at the vendor (`file_search`), cost more than tokens
 * (`code_interpreter`, `shell`), let the vendor call others in the organization's name (`mcp`), or are new.
 */
const TOOLS: Readonly<Record<string, TypedMembers>> = {
  function: FUNCTION,
  custom: CUSTOM,
  namespace: {
    members: { ...values('name description'), tools: { list: { types: { function: FUNCTION, custom: CUSTOM } } } },
    closed: true,
  },
  web_search: WEB_SEARCH,
  web_search_2025_08_26: WEB_SEARCH,
  web_search_preview: WEB_SEARCH,
  web_search_preview_2025_03_11: WEB_SEARCH,
  image_generation: {
    members: {
      ...values(`action background input_fidelity output_compression output_format partial_images quality size`),
      ...Object.fromEntries(
        ['complexity', 'frame_count', 'frame_duration_ms', 'model', 'moderation'].map((name) => [name, closed(PRICE)]),
      ),
      input_image_mask: { members: { image_url: 'link', file_id: stored() } },
      svg: closed(PRICE, 'any'),
    },
    bills: 'drawing',
  },
  apply_patch: RUN_BY_CALLER,
  code_interpreter: { members: { container: 'any', allowed_callers: 'value' }, bills: 'code', closed: true },
  computer: RUN_BY_CALLER,
  computer_use_preview: { members: values('display_height display_width environment'), closed: true },
  file_search: {
    members: { ...values('vector_store_ids max_num_results'), filters: 'any', ranking_options: 'any' },
    bills: 'fileSearch',
    closed: true,
  },
  local_shell: RUN_BY_CALLER,
  mcp: {
    members: {
      ...values(
        `server_label server_url server_description authorization connector_id defer_loading allowed_callers tunnel_id`,
      ),
      allowed_tools: 'any',
      headers: 'any',
      require_approval: 'any',
    },
    bills: 'hosted',
    closed: true,
  },
  programmatic_tool_calling: { members: {}, bills: 'code', closed: true },
  // Without an environment, the caller runs it.
  shell: {
    members: {
      allowed_callers: 'value',
      environment: {
        types: {
          local: { members: { skills: 'any' } },
          container_auto: {
            members: { ...values('file_ids memory_limit'), network_policy: 'any', skills: 'any' },
            bills: 'code',
          },
          container_reference: { members: values('container_id'), bills: 'code' },
        },
      },
    },
    closed: true,
  },
  tool_search: {
    members: { ...values('description execution'), parameters: 'any' },
    closed: true,
  },
};

const INPUT_PARTS: Readonly<Record<string, TypedMembers>> = {
  input_text: { members: { text: 'value', ...BREAKPOINT } },
  input_image: {
    members: { image_url: 'link', detail: 'value', file_id: closed(REFERENCE), ...BREAKPOINT },
    bills: 'image',
  },
  input_file: {
    members: {
      file_data: bills('blob', 'content'),
      file_url: bills('stored', 'link'),
      ...values('filename detail'),
      file_id: stored(),
      ...BREAKPOINT,
    },
  },
  input_audio: { members: { input_audio: { members: { data: 'content', format: 'value' } } }, bills: 'audio' },
};

const CITATION: TypedMembers = { members: values('url title start_index end_index') };

const OUTPUT_PARTS: Readonly<Record<string, TypedMembers>> = {
  output_text: {
    members: {
      text: 'value',
      annotations: {
        list: {
          types: {
            url_citation: CITATION,
            file_citation: { members: values('file_id filename index'), closed: true },
            container_file_citation: {
              members: values('container_id file_id filename start_index end_index'),
              closed: true,
            },
            file_path: { members: values('file_id index'), closed: true },
          },
        },
      },
      logprobs: 'any',
      parsed: 'any',
    },
  },
  refusal: { members: { refusal: 'value' } },
};

const MESSAGE: Members = {
  ...values('role phase status'),
  content: { list: { types: { ...INPUT_PARTS, ...OUTPUT_PARTS } } },
};

const CALLER: Members = { caller: closed(ACCOUNT, 'any'), namespace: closed(ACCOUNT), async: closed(ACCOUNT) };
const TOOL_OUTPUT: TypedMembers = {
  members: { ...values('id call_id name status'), output: { list: { types: INPUT_PARTS } }, ...CALLER },
};
const TEXT: TypedMembers = { members: { text: 'value' } };
/** An item of an earlier answer, sent back unchanged. */
const EARLIER: TypedMembers = {
  members: Object.fromEntries(
    `id call_id name status action actions arguments code container_id environment error execution operation output
     outputs pending_safety_checks queries result results server_label approval_request_id approve reason caller
     max_output_length acknowledged_safety_checks fingerprint created_by tools_listed`
      .split(/\s+/)
      .map((name) => [name, 'any']),
  ),
  closed: true,
};

const ITEMS: Readonly<Record<string, TypedMembers>> = {
  message: { members: { id: 'value', ...MESSAGE } },
  function_call: {
    members: { ...values('id call_id name arguments status'), parsed_arguments: 'any', ...CALLER },
  },
  function_call_output: TOOL_OUTPUT,
  custom_tool_call: { members: { ...values('id call_id name input status'), ...CALLER } },
  custom_tool_call_output: TOOL_OUTPUT,
  reasoning: {
    members: {
      ...values('id encrypted_content status'),
      summary: { list: { types: { summary_text: TEXT } } },
      content: { list: { types: { reasoning_text: TEXT } } },
    },
    // Without this member the vendor would look the item up by its id.
    needs: 'encrypted_content',
  },
  ...Object.fromEntries(
    `file_search_call computer_call web_search_call code_interpreter_call local_shell_call local_shell_call_output
     shell_call shell_call_output apply_patch_call apply_patch_call_output mcp_approval_request mcp_approval_response
     mcp_call program program_output tool_search_call`
      .split(/\s+/)
      .map((type) => [type, EARLIER]),
  ),
  computer_call_output: {
    members: {
      ...values('id call_id status'),
      output: {
        types: { computer_screenshot: { members: { image_url: 'link', file_id: closed(REFERENCE) }, bills: 'image' } },
      },
      acknowledged_safety_checks: 'any',
    },
    closed: true,
  },
  image_generation_call: {
    members: {
      ...values('id result status action background output_format quality revised_prompt size'),
      error: 'any',
      svg_usage: 'any',
    },
    bills: 'image',
    closed: true,
  },
  mcp_list_tools: { members: { ...values('id server_label error'), tools: 'any' }, closed: true },
  tool_search_output: {
    members: { ...values('id call_id execution status'), tools: { list: { types: TOOLS } } },
    closed: true,
  },
  additional_tools: { members: { ...values('id role'), tools: { list: { types: TOOLS } } }, closed: true },
  configuration_update: { members: { id: 'value', reasoning: 'any', text: 'any' }, closed: true },
  compaction: { members: values('id encrypted_content'), bills: 'stored', closed: true },
  compaction_trigger: { members: values('id'), closed: true },
  item_reference: { members: { id: 'value' }, bills: 'stored', closed: true },
};

const TOOLS_BY_NAME: Readonly<Record<string, TypedMembers>> = {
  ...Object.fromEntries(
    Object.entries(TOOLS).map(([type, { closed: isClosed }]) => [
      type,
      { members: values('name server_label'), ...(isClosed && { closed: isClosed }) },
    ]),
  ),
};

const CONVERSATION: Members = {
  instructions: 'value',
  input: {
    list: {
      types: ITEMS,
      // Without an id, because an id alone is a reference.
      untyped: { members: { ...MESSAGE, id: closed(REFERENCE, bills('stored')) } },
    },
  },
  image: closed(PRICE, { members: values('context_compression') }),
  previous_response_id: stored(),
};

/** Tools that items of the input bring are not run: what would be bounded by a field is open here. */
export const COMPACT: Members = { ...RUN, ...CONVERSATION };

export const RESPONSES: Members = {
  ...CHAT_AND_RESPONSES,
  ...CONVERSATION,
  truncation: 'value',
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
  max_output_tokens: bills('outputBound'),
  max_tool_calls: bills('usesBound'),
  reasoning: {
    members: {
      ...values('effort summary generate_summary'),
      context: closed(REFERENCE),
      mode: closed(PRICE, bills('reasoningMode')),
    },
  },
  text: {
    members: { format: { members: { ...values('type name description strict'), schema: 'any' } }, verbosity: 'value' },
  },
  tool_choice: {
    types: {
      ...TOOLS_BY_NAME,
      allowed_tools: { members: { mode: 'value', tools: { list: { types: TOOLS_BY_NAME } } } },
    },
  },
  tools: { list: { types: TOOLS } },
  access_programs: closed(ACCOUNT, 'any'),
  // Codex sends this field.
  client_metadata: closed(ACCOUNT, 'any'),
  context_management: closed(REFERENCE, bills('otherModel', 'any')),
  conversation: stored('any'),
  prompt: closed(REFERENCE, bills('storedPrompt', 'any')),
};
