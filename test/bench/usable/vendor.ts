/**
 * A vendor on loopback with Anthropic's messages for agents: it counts the tokens of a prompt by a fixed rule, thinks,
 * keeps to the bound of the output that it is sent, and logs its bill at the catalog's price.
 *
 * The last message determines the answer (`instructionsText`).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Usage as VendorUsage } from '@anthropic-ai/sdk/resources/messages';
import { BUILT_IN_CATALOG as catalog } from '../../../src/catalog/built-in.ts';
import { resolvePrice } from '../../../src/catalog/prices.ts';
import type { Rate } from '../../../src/domain/price.ts';
import { computeCost } from '../../../src/domain/pricing.ts';
import { NO_USAGE } from '../../../src/domain/usage.ts';
import { writeFrame } from '../../vendors/answers.ts';
import { streamedAnswer, USAGE } from '../../vendors/anthropic-blocks.ts';
import { serveOnLoopback } from '../../vendors/loopback.ts';
import type { Json } from '../../vendors/prompt.ts';

export const MODEL = 'claude-sonnet-5-5';

export interface Instructions {
  marker: string;
  /** The output if no bound is smaller. */
  outputTokens: number;
  /** The cached part of the prompt. The rest is written to the cache. */
  cachedPercent: number;
  durationMs: number;
}

interface Bill {
  marker: string;
  nanoUsd: bigint;
}

export interface AgentVendor {
  url: string;
  /** The rates of its bill. */
  rates: readonly Rate[];
  /** In the order of the requests. The amount that a request owes grows until it is over. */
  bills: readonly Readonly<Bill>[];
  close(): Promise<void>;
}

/** About the number of Claude's tokens for code and prose. */
const TOKENS_PER_KILOBYTE = 450;
/** Around each message and tool. */
const PART_TOKENS = 4;
/** The part of the output that is not shown. */
const THOUGHT_PERCENT = 60;
/** The uncached tokens: those after the last mark. */
const FRESH_TOKENS = 8;
const BYTES_PER_SHOWN_TOKEN = 4;
const PIECES = 4;
/** Longer than a run: a connection that is closed just as it is used again would be a failure that nobody asked for. */
const KEEP_ALIVE_MS = 3_600_000;

export const instructionsText = (instructions: Instructions): string => `[${JSON.stringify(instructions)}]`;

export async function startAgentVendor(): Promise<AgentVendor> {
  const bills: Bill[] = [];
  const price = await resolvePrice(catalog, new Map(), { modelUsed: MODEL, providerUsed: 'anthropic' }, Date.now());
  if (!price.available) throw new Error(`${MODEL} has no price`);
  const { card } = price;
  const billFor = (tokens: Counted, outputTokens: number) => {
    const { input, cached, written } = tokens;
    const inputTokens = input + cached + written;
    const counts = { inputTokens, cachedInputTokens: cached, cacheWriteInputTokens: written };
    const priced = computeCost(card, { ...NO_USAGE, ...counts, responseTokens: outputTokens }, 'standard');
    if (!priced.known) throw new Error(priced.reason);
    return priced.cost.totalNanoUsd;
  };
  const { url, close } = await serveOnLoopback(
    async (request, response) => {
      const body = await readBody(request);
      if (request.url?.includes('/count_tokens')) return count(body, response);
      await answer(body, response, bills, billFor);
    },
    { keepAliveTimeout: KEEP_ALIVE_MS },
  );
  return { url: `${url}/v1`, rates: card.rates, bills, close };
}

interface Counted {
  input: number;
  cached: number;
  written: number;
}

function count(body: Json, response: ServerResponse): void {
  const text = JSON.stringify({ input_tokens: countTokens(body) });
  response.writeHead(200, { 'content-type': 'application/json' }).end(text);
}

async function answer(
  body: Json,
  response: ServerResponse,
  bills: Bill[],
  billFor: (tokens: Counted, outputTokens: number) => bigint,
): Promise<void> {
  const { marker, outputTokens: wanted, cachedPercent, durationMs } = instructionsIn(body);
  const prompt = countTokens(body);
  const input = Math.min(FRESH_TOKENS, prompt);
  const cached = Math.min(prompt - input, Math.floor((prompt * cachedPercent) / 100));
  const counted = { input, cached, written: prompt - input - cached };
  const outputTokens = Math.min(wanted, Number(body.max_tokens));
  const thoughtTokens = Math.floor((outputTokens * THOUGHT_PERCENT) / 100);
  const usage: VendorUsage = {
    ...USAGE,
    input_tokens: input,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: counted.written,
    cache_creation: { ephemeral_5m_input_tokens: counted.written, ephemeral_1h_input_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: thoughtTokens },
    server_tool_use: null,
    inference_geo: 'global',
  };
  const text = 'word'.padEnd(BYTES_PER_SHOWN_TOKEN).repeat(outputTokens - thoughtTokens);
  const stop = outputTokens < wanted ? 'max_tokens' : 'end_turn';
  const blocks = [
    { type: 'thinking', thinking: 'A summary of the thoughts.', signature: 's' },
    { type: 'text', text },
  ] as const;
  const lengths = Array.from({ length: PIECES }, () => Math.ceil(text.length / PIECES));
  const events = streamedAnswer({ blocks: [...blocks], stop, usage }, lengths);
  const bill = { marker, nanoUsd: billFor(counted, 0) };
  bills.push(bill);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [place, event] of events.entries()) {
    if (response.destroyed) return;
    // A model has made the billed output before anybody can have read it.
    bill.nanoUsd = billFor(counted, Math.ceil((outputTokens * (place + 1)) / events.length));
    response.write(writeFrame({ event: event.type, data: event }));
    await sleep(durationMs / events.length);
  }
  response.end();
}

/** The rule of this vendor. Marks are no text. */
function countTokens({ system, tools, messages }: Json): number {
  const parts = [system, tools, messages].flatMap((list) => (Array.isArray(list) ? list : []));
  return parts.reduce<number>((sum, part) => {
    const text = JSON.stringify(part, (name, value) => (name === 'cache_control' ? undefined : value));
    return sum + PART_TOKENS + Math.ceil((Buffer.byteLength(text) * TOKENS_PER_KILOBYTE) / 1_000);
  }, 0);
}

function instructionsIn({ messages }: Json): Instructions {
  const last = JSON.stringify((messages as unknown[]).at(-1));
  const [, found = '{}'] = /\[(\{\\"marker\\".*?\})\]/.exec(last) ?? [];
  return JSON.parse(found.replaceAll('\\"', '"')) as Instructions;
}

async function readBody(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Json;
}
