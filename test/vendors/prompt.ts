/**
 * A request to the vendors on loopback, in any form: the words of its prompt, and the special words that ask for more
 * than an answer (vendor.ts names them).
 */

const FAULTS = [
  '400',
  '429',
  '500',
  '503',
  /** No byte of an answer. */
  'cut-first',
  /** The connection breaks in the middle of an event, or of a plain answer. */
  'cut',
  /** The stream ends cleanly in the middle, without its mark of the end. */
  'end-early',
  /** The stream stops in the middle and stays open. */
  'silent',
  /** Nothing is ever answered. */
  'hang',
  'slow',
  /** Each byte on its own. */
  'split',
  'html',
  'shape',
  'redirect',
  /** An error event in the middle of the stream, with status 200. */
  'stream-error',
  'no-usage',
  'zero-usage',
  /** The usage stands in the last chunk that has choices. */
  'usage-in-choices',
  /** 422 for a request with `stream_options`. */
  'no-stream-options',
  'big',
] as const;
export type Fault = (typeof FAULTS)[number];

export type Form =
  | 'chat'
  | 'chat-google'
  | 'responses'
  | 'compaction'
  | 'response-count'
  | 'embeddings'
  | 'messages'
  | 'content'
  | 'content-array'
  | 'content-embedding'
  | 'content-embeddings'
  | 'message-count'
  | 'content-count';

export interface Prompt {
  form: Form;
  model: string;
  stream: boolean;
  includeUsage: boolean;
  inputTokens: number;
  cached: number;
  written: number;
  reasoning: number;
  searches: number;
  /** A chat that searched says so, and not how often. */
  cites: boolean;
  /** The function to call instead of an answer in words. */
  tool: string | null;
  replyText: string;
  /** In which a stream has the reply; else in words. */
  pieces?: string[];
  effort: string | null;
  inputs: number;
  fault: Fault | null;
}

/** For a prompt that asks only for an answer. */
export const NOTHING_ELSE = {
  stream: false,
  includeUsage: true,
  cached: 0,
  written: 0,
  reasoning: 0,
  searches: 0,
  cites: false,
  tool: null,
  effort: null,
  inputs: 1,
  fault: null,
} as const;

export type Json = Record<string, unknown>;

/** Written into every answer, so that characters of two, three and four bytes are on the wire. */
const REPLY_WORDS = ['héllo', '世界', '👋🏽', 'wörld'];

/** Words: the vendors on loopback count them as tokens. */
export function countWords(text: string): number {
  return splitWords(text).length;
}

function splitWords(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

/** The contents of a request; `null` if the path is not a model's. */
export function readPrompt(url: URL, body: unknown): Prompt | null {
  const json = (typeof body === 'object' && body !== null ? body : {}) as Json;
  const google = /^\/v1(?:beta)?\/models\/([^/:]+):(\w+)$/.exec(url.pathname);
  const form = google ? contentForm(google[2] ?? '', url) : requestForm(url);
  if (form === null) return null;
  const text = collectText([
    json.system,
    json.systemInstruction,
    json.instructions,
    json.messages,
    json.input,
    json.contents,
    json.content,
    ...(Array.isArray(json.requests) ? json.requests : []),
  ]);
  const asked = (word: string, otherwise = 0) =>
    Number(new RegExp(`\\[${word}:(\\d+)\\]`).exec(text)?.[1] ?? otherwise);
  const fault = /\[fail:([\w-]+)\]/.exec(text)?.[1];
  const structured = /json/.test(
    String((json.response_format as Json)?.type ?? ((json.text as Json)?.format as Json)?.type),
  );
  const reply = Array.from(
    { length: asked('reply', REPLY_WORDS.length) },
    (_, index) => REPLY_WORDS[index % REPLY_WORDS.length],
  );
  const several = json.requests ?? (form === 'embeddings' ? json.input : null);
  const inputs = Array.isArray(several) ? several.length : 1;
  return {
    form,
    model: google?.[1] ?? String(json.model),
    stream: google ? google[2] === 'streamGenerateContent' : json.stream === true,
    includeUsage: (json.stream_options as Json)?.include_usage === true,
    inputTokens: countWords(text),
    cached: asked('cached'),
    written: asked('written'),
    reasoning: asked('reasoning'),
    searches: asked('searches'),
    cites: json.web_search_options !== undefined && asked('searches') > 0,
    tool: /\[tool\]/.test(text) ? toolOf(json) : null,
    replyText: structured ? '{"answer":"42"}' : reply.join(' '),
    effort: String((json.reasoning as Json)?.effort ?? '') || null,
    inputs,
    fault: FAULTS.find((name) => name === fault) ?? null,
  };
}

function contentForm(action: string, url: URL): Form | null {
  switch (action) {
    case 'generateContent':
      return 'content';
    case 'streamGenerateContent':
      return url.searchParams.get('alt') === 'sse' ? 'content' : 'content-array';
    case 'countTokens':
      return 'content-count';
    case 'embedContent':
      return 'content-embedding';
    case 'batchEmbedContents':
      return 'content-embeddings';
    default:
      return null;
  }
}

function requestForm({ pathname }: URL): Form | null {
  switch (pathname) {
    case '/v1/chat/completions':
      return 'chat';
    case '/v1beta/openai/chat/completions':
      return 'chat-google';
    case '/v1/responses':
      return 'responses';
    case '/v1/responses/compact':
      return 'compaction';
    case '/v1/responses/input_tokens':
      return 'response-count';
    case '/v1/embeddings':
    case '/v1beta/openai/embeddings':
      return 'embeddings';
    case '/v1/messages':
      return 'messages';
    case '/v1/messages/count_tokens':
      return 'message-count';
    default:
      return null;
  }
}

/** All words of a prompt in whatever form: strings, and the `text` and `content` of parts. */
function collectText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(collectText).join(' ');
  if (typeof value !== 'object' || value === null) return '';
  const { text, content, parts } = value as Json;
  return collectText([text, content, parts]);
}

function toolOf({ tools }: Json): string {
  const [tool] = (Array.isArray(tools) ? tools : []) as Json[];
  const declared = ((tool?.functionDeclarations as Json[]) ?? [])[0];
  return String((tool?.function as Json)?.name ?? declared?.name ?? tool?.name ?? 'lookup');
}
