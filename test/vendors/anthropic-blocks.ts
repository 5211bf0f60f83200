/**
 * Answers of Anthropic's messages API, whole and as the events of a stream, made of the same blocks.
 */
import type {
  ContentBlock,
  Message,
  RawContentBlockDelta,
  RawMessageStreamEvent,
  StopReason,
  Usage,
} from '@anthropic-ai/sdk/resources/messages';

export type Block =
  | { type: 'text'; text: string; cites?: { url: string; title: string }[] }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; id: string; name: string; input: object }
  | { type: 'search'; query: string };

export interface Answer {
  blocks: Block[];
  stop: StopReason;
  /** Why a refusal. */
  explanation?: string | null | undefined;
  usage: Usage;
}

export const USAGE: Usage = {
  input_tokens: 20,
  cache_read_input_tokens: 100,
  cache_creation_input_tokens: 30,
  cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
  output_tokens: 50,
  output_tokens_details: { thinking_tokens: 12 },
  server_tool_use: { web_search_requests: 2, web_fetch_requests: 0 },
  service_tier: 'standard',
  inference_geo: 'us',
  speed: 'standard',
};

const MODEL = 'claude-sonnet-5-5';
const CALLER = { type: 'direct' } as const;

/** Pieces of a text; a length of 0 is an empty piece. */
function pieces(text: string, lengths: readonly number[]): string[] {
  const parts: string[] = [];
  let at = 0;
  for (const length of lengths) {
    if (at >= text.length) break;
    parts.push(text.slice(at, at + length));
    at += length;
  }
  return at < text.length ? [...parts, text.slice(at)] : parts;
}

function cited({ url, title }: { url: string; title: string }) {
  return { type: 'web_search_result_location', url, title, cited_text: 'c', encrypted_index: 'e' } as const;
}

function blockContent(block: Block): ContentBlock[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text, citations: block.cites?.length ? block.cites.map(cited) : null }];
    case 'tool_use':
      return [{ ...block, caller: CALLER }];
    case 'search':
      return [
        { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: block.query }, caller: CALLER },
        { type: 'web_search_tool_result', tool_use_id: 's1', content: [], caller: CALLER },
      ];
    default:
      return [block];
  }
}

export function wholeAnswer({ blocks, stop, explanation, usage }: Answer): Message {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: MODEL,
    container: null,
    diagnostics: null,
    content: blocks.flatMap(blockContent),
    stop_reason: stop,
    stop_sequence: null,
    stop_details: stop === 'refusal' ? { type: 'refusal', category: 'cyber', explanation: explanation ?? null } : null,
    usage,
  };
}

/** The events of the same answer; texts come in pieces of these lengths. */
export function streamedAnswer(answer: Answer, lengths: readonly number[]): RawMessageStreamEvent[] {
  const whole = wholeAnswer(answer);
  const { stop_reason, stop_details, usage } = whole;
  const { cache_creation: _lifetimes, service_tier: _tier, inference_geo: _geo, speed: _speed, ...ended } = usage;
  const begun = { ...usage, output_tokens: 1, output_tokens_details: null, server_tool_use: null };
  return [
    {
      type: 'message_start',
      message: { ...whole, content: [], stop_reason: null, stop_details: null, usage: begun },
    },
    ...whole.content.flatMap((block, index) => blockEvents(block, index, lengths)),
    {
      type: 'message_delta',
      delta: { stop_reason, stop_details, stop_sequence: null, container: null },
      usage: ended,
    },
    { type: 'message_stop' },
  ];
}

function blockEvents(block: ContentBlock, index: number, lengths: readonly number[]): RawMessageStreamEvent[] {
  const [begin, deltas] = openedBlock(block, lengths);
  return [
    { type: 'content_block_start', index, content_block: begin },
    ...deltas.map((delta) => ({ type: 'content_block_delta' as const, index, delta })),
    { type: 'content_block_stop', index },
  ];
}

function openedBlock(block: ContentBlock, lengths: readonly number[]): [ContentBlock, RawContentBlockDelta[]] {
  switch (block.type) {
    case 'text': {
      const citations = (block.citations ?? []).map((citation) => ({ type: 'citations_delta' as const, citation }));
      const text = pieces(block.text, lengths).map((part) => ({ type: 'text_delta' as const, text: part }));
      return [{ ...block, text: '', citations: block.citations && [] }, [...citations, ...text]];
    }
    case 'thinking': {
      const thinking = pieces(block.thinking, lengths).map((part) => ({
        type: 'thinking_delta' as const,
        thinking: part,
        estimated_tokens: null,
      }));
      const signature = { type: 'signature_delta' as const, signature: block.signature };
      return [{ ...block, thinking: '', signature: '' }, [...thinking, signature]];
    }
    case 'tool_use':
    case 'server_tool_use': {
      // Without arguments there is one piece, and it is empty.
      const json = Object.keys(block.input as object).length === 0 ? '' : JSON.stringify(block.input);
      const parts = json === '' ? [''] : pieces(json, lengths);
      const deltas = parts.map((part) => ({ type: 'input_json_delta' as const, partial_json: part }));
      return [{ ...block, input: {} }, deltas];
    }
    default:
      return [block, []];
  }
}
