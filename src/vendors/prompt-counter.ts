/**
 * Free counts of a prompt's tokens by its vendor, without running a model: the requests that each kind counts, the
 * address, the fields that its counter takes, and the possible difference between its count and its bill.
 *
 * OpenAI has no counter for chat completions, and its count of the same text as a response has another frame.
 */
import type { VendorKind } from '../domain/vendor-kind.ts';
import { type Fetcher, requestVendor } from './request.ts';
import { type Fields, fieldsOrEmpty, isFields } from './usage/figures.ts';

/** A request in the form that its vendor would get. */
export interface PromptToCount {
  kind: VendorKind;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: Fields;
}

/** A request to a counter. */
export interface CountRequest {
  kind: VendorKind;
  url: string;
  headers: Record<string, string>;
  /** JSON. */
  body: string;
}

export interface PromptCount {
  /** The vendor's count. */
  tokens: number;
  /** The most that it bills for that count. */
  atMost: number;
}

interface Counter {
  /** Matches the end of the paths whose requests it counts. */
  counts: RegExp;
  /** The counter's own end of the path in its place. */
  at: string;
  /** The fields that it takes of a request at the path; `null` if it cannot count all of it. */
  countedBody(request: Fields, path: string): Fields | null;
  /** The member of its answer with the count. */
  member: string;
  /** The provider calls the count exact, and not an estimate. */
  isExact: boolean;
}

/**
 * The margin of an estimated count: both vendors say, or show in their own example, that the difference is a few
 * tokens. 64 are several frames of messages; 2 % are the possible addition for a prompt of many messages and tools.
 */
const MARGIN_TOKENS = 64;
const MARGIN_PERCENT = 2;

const words = (text: string) => new Set(text.split(/\s+/));

const COUNTERS: Partial<Record<VendorKind, Counter>> = {
  /**
   * Fields: platform.claude.com/docs/en/api/messages-count-tokens, and `MessageCountTokensParams` of its SDK. "Should
   * be considered an estimate. In some cases, the actual number may differ by a small amount". It does not include the
   * results of the vendor's tools: platform.claude.com/docs/en/build-with-claude/token-counting.
   */
  anthropic: {
    counts: /(?<=^|\/)messages$/,
    at: 'messages/count_tokens',
    countedBody: ofFields(
      words('model messages system tools tool_choice thinking output_config output_format'),
      words(`max_tokens metadata stop_sequences stream temperature top_k top_p service_tier inference_geo speed
             cache_control context_management`),
    ),
    member: 'input_tokens',
    isExact: false,
  },
  /**
   * ai.google.dev/api/tokens. Instructions and tools count only in a `generateContentRequest`. The example there counts
   * 10 tokens for a prompt that is reported as 11.
   */
  google: {
    counts: /:(?:g|streamG)enerateContent$/,
    at: ':countTokens',
    countedBody(request, path) {
      const [, model] = /(?:^|\/)models\/(.+):\w+$/.exec(path) ?? [];
      return model === undefined ? null : ofGenerateContent(request, decodeURIComponent(model));
    },
    member: 'totalTokens',
    isExact: false,
  },
  /**
   * Fields: `InputTokenCountParams` of its SDK. "The exact count the model will receive":
   * developers.openai.com/api/docs/guides/token-counting.
   */
  openai: {
    counts: /(?<=^|\/)responses$/,
    at: 'responses/input_tokens',
    countedBody: ofFields(
      words('model input instructions tools tool_choice parallel_tool_calls reasoning text truncation'),
      words(`background include max_output_tokens max_tool_calls metadata prompt_cache_key prompt_cache_options
             prompt_cache_retention safety_identifier service_tier store stream stream_options temperature top_logprobs
             top_p user`),
    ),
    member: 'input_tokens',
    isExact: true,
  },
};

/** The body of Google's counter for a whole request. */
export function ofGenerateContent(request: Fields, model: string): Fields {
  return { generateContentRequest: { ...request, model: `models/${model}` } };
}

/** Whether vendors of the kind count prompts of requests to this address, which may be only a path. */
export function isCounted(kind: VendorKind, address: string): boolean {
  return COUNTERS[kind]?.counts.test(address.replace(/[?#].*$/s, '')) ?? false;
}

/**
 * The counter's request for a request: to the same origin, with the same headers. `null` if there is no counter, or if
 * it does not count a part of the request.
 */
export function countRequest({ kind, url: asked, headers, body: request }: PromptToCount): CountRequest | null {
  const counter = COUNTERS[kind];
  const url = URL.parse(asked);
  if (!counter || !url || !isCounted(kind, asked) || hasLink(request)) return null;
  const body = counter.countedBody(request, url.pathname);
  if (body === null) return null;
  url.pathname = url.pathname.replace(counter.counts, counter.at);
  // This parameter selects the form of a stream.
  url.searchParams.delete('alt');
  return { kind, url: url.href, headers: headersToCounter(headers), body: JSON.stringify(body) };
}

/** Asks the counter; `null` if it does not answer with a count in time. */
export async function askCounter(
  { kind, url, headers, body }: CountRequest,
  timeoutMs: number,
  fetcher?: Fetcher,
): Promise<PromptCount | null> {
  const counter = COUNTERS[kind];
  if (!counter) return null;
  const result = await requestVendor({ url, method: 'POST', headers, body, timeoutMs, responseType: 'json' }, fetcher);
  if (result.kind !== 'answer' || !result.ok) return null;
  const tokens = fieldsOrEmpty(result.body)[counter.member];
  if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 1) return null;
  return {
    tokens,
    atMost: counter.isExact ? tokens : tokens + MARGIN_TOKENS + Math.ceil((tokens * MARGIN_PERCENT) / 100),
  };
}

/** Leaves out headers that belong only to the later request. */
function headersToCounter(headers: Readonly<Record<string, string>>): Record<string, string> {
  const passed = Object.entries(headers).filter(([name]) => !/^(?:content-type|accept|idempotency-key)$/i.test(name));
  return { ...Object.fromEntries(passed), 'content-type': 'application/json' };
}

/** Whether the vendor fetches a part of the prompt, which may have changed when the model is asked. */
function hasLink(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasLink);
  if (!isFields(value)) return false;
  const { type, url, image_url: image } = value;
  const isLink = (type === 'url' && url !== undefined) || (typeof image === 'string' && !image.startsWith('data:'));
  return isLink || Object.values(value).some(hasLink);
}

/** Takes the fields that the counter knows, and leaves out those that add nothing to a prompt. */
function ofFields(taken: ReadonlySet<string>, leftOut: ReadonlySet<string>) {
  return (request: Fields): Fields | null => {
    const fields = Object.entries(request).filter(([name, value]) => value != null && !leftOut.has(name));
    return fields.every(([name]) => taken.has(name)) ? Object.fromEntries(fields) : null;
  };
}
