/** The fields of `POST /v1/messages`. No session may send them. */
import { bills, type Members, type Rule, stored, type TypedMembers, values } from '../rules.ts';
import { CACHE_CONTROL } from './common.ts';

const CALLED: Members = { ...CACHE_CONTROL, caller: 'any' };
const CITATIONS: Members = { citations: 'any' };

const TEXT: TypedMembers = { members: { text: 'value', ...CITATIONS, ...CACHE_CONTROL } };
const SOURCE = {
  base64: { members: values('media_type data') },
  url: { members: values('url') },
  file: { members: { file_id: stored() } },
} as const satisfies Record<string, TypedMembers>;
const IMAGE: TypedMembers = {
  // A stored image is one image too.
  members: {
    source: { types: { ...SOURCE, file: { members: values('file_id') } } },
    transformations: 'any',
    ...CACHE_CONTROL,
  },
  bills: 'image',
};
const DOCUMENT: TypedMembers = {
  members: {
    ...values('title context'),
    ...CITATIONS,
    source: {
      types: {
        ...SOURCE,
        // The vendor fetches it.
        url: { members: values('url'), bills: 'stored' },
        text: { members: values('media_type data') },
        content: { members: { content: { list: { types: { text: TEXT, image: IMAGE } } } } },
      },
    },
    ...CACHE_CONTROL,
  },
};
const SEARCH_RESULT: TypedMembers = {
  members: { ...values('source title'), ...CITATIONS, content: { list: { types: { text: TEXT } } }, ...CACHE_CONTROL },
};
const NAMED_TOOL: Rule = {
  members: { ...values('type name tool_name mcp_server_name server_name'), definition: 'any', tool: 'any' },
};
const TOOL_CHANGES = {
  // A tool that is added is described as in `tools`; a tool that the vendor runs is unknown here.
  tool_removal: { members: { tool: NAMED_TOOL, ...CACHE_CONTROL } },
} as const satisfies Record<string, TypedMembers>;
/** An earlier answer of one of the vendor's own tools, sent back unchanged. */
const earlier = (content: Rule): TypedMembers => ({ members: { tool_use_id: 'value', content, ...CALLED } });
const TOOL_REFERENCE: TypedMembers = { members: { tool_name: 'value', ...CACHE_CONTROL } };

const BLOCKS: Readonly<Record<string, TypedMembers>> = {
  text: TEXT,
  image: IMAGE,
  document: DOCUMENT,
  search_result: SEARCH_RESULT,
  thinking: { members: values('thinking signature') },
  redacted_thinking: { members: values('data') },
  tool_use: { members: { ...values('id name toolset_name'), input: 'any', ...CALLED } },
  tool_result: {
    members: {
      ...values('tool_use_id is_error toolset_name'),
      content: {
        list: {
          types: {
            text: TEXT,
            image: IMAGE,
            document: DOCUMENT,
            search_result: SEARCH_RESULT,
            tool_reference: TOOL_REFERENCE,
            browser_state: { members: { tabs: 'any', state_changes: 'any', ...CACHE_CONTROL } },
          },
        },
      },
      ...CACHE_CONTROL,
    },
  },
  server_tool_use: { members: { ...values('id name'), input: 'any', ...CALLED } },
  web_search_tool_result: earlier('any'),
  web_fetch_tool_result: earlier({
    types: {
      web_fetch_result: {
        members: { ...values('url retrieved_at'), content: { types: { document: DOCUMENT } } },
      },
      web_fetch_tool_result_error: { members: values('error_code') },
    },
  }),
  code_execution_tool_result: earlier('any'),
  bash_code_execution_tool_result: earlier('any'),
  text_editor_code_execution_tool_result: earlier('any'),
  tool_search_tool_result: earlier({
    types: {
      tool_search_tool_search_result: {
        members: { tool_references: { list: { types: { tool_reference: TOOL_REFERENCE } } } },
      },
      tool_search_tool_result_error: { members: values('error_code error_message') },
    },
  }),
  advisor_tool_result: earlier('any'),
  mcp_tool_use: { members: { ...values('id name server_name'), input: 'any', ...CACHE_CONTROL } },
  mcp_tool_result: {
    members: {
      ...values('tool_use_id is_error'),
      content: { list: { types: { text: TEXT } } },
      ...CACHE_CONTROL,
    },
  },
  container_upload: { members: { file_id: 'value', ...CACHE_CONTROL }, bills: 'stored' },
  compaction: { members: { ...values('content encrypted_content signature'), ...CACHE_CONTROL }, bills: 'stored' },
  ...TOOL_CHANGES,
};

const TOOL: Members = {
  ...values('name allowed_callers defer_loading strict eager_input_streaming description'),
  input_examples: 'any',
  ...CACHE_CONTROL,
};
const FUNCTION: TypedMembers = { members: { ...TOOL, input_schema: 'any' } };
/** The caller runs the tool; the vendor defines it. */
const RUN_BY_CALLER: TypedMembers = {
  members: {
    ...TOOL,
    ...values('display_height_px display_width_px display_number enable_zoom max_characters'),
    configs: 'any',
  },
};
const BY_WEB: Members = {
  ...TOOL,
  ...values('allowed_domains blocked_domains max_content_tokens use_cache response_inclusion'),
  max_uses: bills('usesBound'),
  citations: 'any',
  url_sources: 'any',
  user_location: { members: values('type city country region timezone') },
};
const dated = (name: string, dates: string, rule: TypedMembers): Record<string, TypedMembers> =>
  Object.fromEntries(dates.split(' ').map((date) => [`${name}_${date}`, rule]));

const TOOLS: Readonly<Record<string, TypedMembers>> = {
  custom: FUNCTION,
  ...dated('bash', '20241022 20250124', RUN_BY_CALLER),
  ...dated('text_editor', '20241022 20250124 20250429 20250728', RUN_BY_CALLER),
  ...dated('computer', '20241022 20250124 20251124', RUN_BY_CALLER),
  ...dated('memory', '20250818', RUN_BY_CALLER),
  ...dated('browser_toolset', '20260801', RUN_BY_CALLER),
  ...dated('computer_toolset', '20260801', RUN_BY_CALLER),
  ...dated('web_search', '20250305 20260209 20260318', { members: BY_WEB, bills: 'webSearch' }),
  ...dated('web_fetch', '20250910 20260209 20260309 20260318', { members: BY_WEB, bills: 'hosted' }),
  ...dated('code_execution', '20250522 20250825 20260120 20260521', { members: TOOL, bills: 'code' }),
  ...dated('tool_search_tool_bm25', '20251119', { members: TOOL }),
  ...dated('tool_search_tool_regex', '20251119', { members: TOOL }),
  tool_search_tool_bm25: { members: TOOL },
  tool_search_tool_regex: { members: TOOL },
  mcp_toolset: {
    members: { mcp_server_name: 'value', configs: 'any', default_config: 'any', ...CACHE_CONTROL },
    bills: 'hosted',
  },
  advisor_20260301: {
    members: { ...TOOL, ...values('model max_tokens'), max_uses: bills('usesBound'), caching: 'any' },
    bills: 'otherModel',
  },
};

const OUTPUT_CONFIG: Rule = {
  members: {
    effort: 'value',
    format: { members: { type: 'value', schema: 'any' } },
    task_budget: { members: values('type total remaining') },
  },
};

export const MESSAGES: Members = {
  ...values('model stream temperature top_k top_p stop_sequences inference_geo user_profile_id workspace_id'),
  ...CACHE_CONTROL,
  max_tokens: bills('outputBound'),
  messages: {
    list: {
      members: {
        ...values('role clear_at'),
        content: { list: { types: BLOCKS } },
        output_config: { members: { effort: 'value' } },
      },
    },
  },
  metadata: { members: { user_id: 'value' } },
  output_config: OUTPUT_CONFIG,
  output_format: { members: { type: 'value', schema: 'any' } },
  service_tier: bills('serviceTier'),
  speed: bills('speed'),
  system: { list: { types: { text: TEXT } } },
  thinking: { members: { ...values('type budget_tokens display'), block_binding: 'any' } },
  tool_choice: { members: values('type name disable_parallel_tool_use') },
  tools: { list: { types: TOOLS, untyped: FUNCTION } },
  context_management: {
    members: {
      edits: {
        list: {
          types: {
            clear_tool_uses_20250919: {
              members: {
                trigger: 'any',
                keep: 'any',
                clear_at_least: 'any',
                ...values('clear_tool_inputs exclude_tools'),
              },
            },
            clear_thinking_20251015: { members: { keep: 'any' } },
          },
        },
      },
    },
  },
  thread: { types: { create: { members: {} }, continue: { members: values('previous_message_id'), bills: 'stored' } } },
  diagnostics: { members: values('previous_message_id') },
  container: bills('code', { members: { id: 'value', skills: 'any' } }),
  fallbacks: bills('otherModel', 'any'),
  mcp_servers: bills('hosted', 'any'),
};
