/**
 * A vendor on loopback that keeps accounts: it follows the prompt, keeps to the output bound that it gets, reports its
 * usage exactly, and logs its bill for every request.
 *
 * A prompt always has the same length, and so do all bodies. An answer is billed as far as it was made: a stream by its
 * tokens, a plain answer by the time of the work.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildChunks, chatUsage, completion, failureBody, writeFrame } from '../vendors/answers.ts';
import { serveOnLoopback, writable } from '../vendors/loopback.ts';
import { NOTHING_ELSE } from '../vendors/prompt.ts';
import { INPUT_TOKENS, MODEL } from './price.ts';

/** How a vendor can fail. */
export const FAULTS = [
  '400',
  '429',
  '500',
  /** Works, and never answers. */
  'hang',
  /** The connection breaks in the middle of the answer. */
  'cut',
  /** A stream stops in the middle and stays open. */
  'silent',
  /** Makes a tenth more than the bound that it was sent, and bills it. */
  'beyond',
] as const;
export type Fault = (typeof FAULTS)[number];

export interface Instructions {
  marker: string;
  /** The output if no bound is smaller. */
  outputTokens: number;
  /** The time of a plain answer; a stream takes as long from its first token to its last. */
  durationMs: number;
  fault?: Fault | undefined;
}

export interface VendorEntry {
  marker: string;
  inputTokens: number;
  /** Billed. */
  outputTokens: number;
  /** The bound in the request; `null` if there was none. */
  outputTokensMax: number | null;
  outcome: 'answered' | 'refused' | 'unfinished';
}

export interface CapVendor {
  /** `http://127.0.0.1:port/v1`. */
  baseUrl: string;
  /** Requests in the order in which they came. Entries change until the request is over. */
  log: readonly VendorEntry[];
  close(): Promise<void>;
}

/** Characters of every prompt: four for each of its tokens. */
const PROMPT_LENGTH = 4 * INPUT_TOKENS;
const PREFIX = 'cap ';
const FILLER = 'please answer at length and in plain words about the weather ';
/** Words that are one token each in the vocabularies of real models. */
const WORDS = ' the of and to in is that for it as was with be by on not he his but at are this have from or had'.split(
  /(?= )/,
);
/** The most that a model makes, whatever the request. */
const MODEL_OUTPUT_TOKENS = 20_000;
const TICK_MS = 25;
const BEYOND_PERCENT = 110;
/** Longer than a run: a connection that is closed just as it is used again would be a failure that nobody asked for. */
const KEEP_ALIVE_MS = 3_600_000;

export function writePrompt(instructions: Instructions): string {
  const text = `${PREFIX}${JSON.stringify(instructions)} `;
  const filler = FILLER.repeat(Math.ceil(PROMPT_LENGTH / FILLER.length));
  if (text.length > PROMPT_LENGTH) throw new Error(`the instructions are longer than ${PROMPT_LENGTH} characters`);
  return (text + filler).slice(0, PROMPT_LENGTH);
}

export async function startCapVendor(): Promise<CapVendor> {
  const log: VendorEntry[] = [];
  const options = { keepAliveTimeout: KEEP_ALIVE_MS };
  const { url, close } = await serveOnLoopback((request, response) => answer(log, request, response), options);
  return { baseUrl: `${url}/v1`, log, close };
}

interface Body {
  messages: { content: string }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  max_tokens?: number | null;
  max_completion_tokens?: number | null;
}

/** An answered request, with its coming bill. */
interface Work {
  body: Body;
  instructions: Instructions;
  /** The output of the whole answer. */
  outputTokens: number;
  finishReason: 'stop' | 'length';
  entry: VendorEntry;
  response: ServerResponse;
}

async function answer(log: VendorEntry[], request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
  const instructions = instructionsOf(body);
  const outputTokensMax = body.max_completion_tokens ?? body.max_tokens ?? null;
  const bound = Math.min(outputTokensMax ?? MODEL_OUTPUT_TOKENS, MODEL_OUTPUT_TOKENS);
  const { fault } = instructions;
  const wanted = Math.min(instructions.outputTokens, bound);
  const outputTokens = fault === 'beyond' ? Math.ceil((bound * BEYOND_PERCENT) / 100) : wanted;
  const entry: VendorEntry = {
    marker: instructions.marker,
    inputTokens: INPUT_TOKENS,
    outputTokens: 0,
    outputTokensMax,
    outcome: 'unfinished',
  };
  log.push(entry);
  const finishReason = wanted < instructions.outputTokens ? 'length' : 'stop';
  const work: Work = { body, instructions, outputTokens, finishReason, entry, response };
  if (fault === '400' || fault === '429' || fault === '500') refuse(work, Number(fault));
  else if (body.stream) await stream(work);
  else await answerPlain(work);
}

function instructionsOf({ messages }: Body): Instructions {
  const text = messages.at(-1)?.content ?? '';
  return JSON.parse(text.slice(PREFIX.length, text.indexOf('}') + 1)) as Instructions;
}

function refuse({ entry, response }: Work, status: number): void {
  Object.assign(entry, { outcome: 'refused', inputTokens: 0 });
  response
    .writeHead(status, { 'content-type': 'application/json', ...(status === 429 && { 'retry-after': '1' }) })
    .end(JSON.stringify(failureBody('openai', status)));
}

async function answerPlain({ instructions, outputTokens, finishReason, entry, response }: Work): Promise<void> {
  const { durationMs, fault } = instructions;
  const beganAtMs = Date.now();
  let isGone = false;
  response.on('close', () => {
    isGone = true;
    if (entry.outcome === 'answered' || entry.outputTokens > 0) return;
    const share = Math.min(1, (Date.now() - beganAtMs) / Math.max(1, durationMs));
    entry.outputTokens = Math.floor(outputTokens * share);
  });
  await sleep(durationMs);
  if (isGone) return;
  entry.outputTokens = outputTokens;
  if (fault === 'hang') return;
  const content = Array.from({ length: outputTokens }, (_, token) => wordOf(token)).join('');
  const text = JSON.stringify(completion(MODEL, { content }, finishReason, reportUsage(outputTokens)));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) });
  if (fault === 'cut') {
    response.write(text.slice(0, text.length / 2));
    await sleep(TICK_MS);
    response.destroy();
    return;
  }
  response.end(text, () => {
    entry.outcome = 'answered';
  });
}

async function stream({ body, instructions, outputTokens, finishReason, entry, response }: Work): Promise<void> {
  const { durationMs, fault } = instructions;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const lastToken = fault === 'cut' || fault === 'silent' ? Math.ceil(outputTokens / 2) : outputTokens;
  const chunks = buildChunks({ model: MODEL, includeUsage: body.stream_options?.include_usage === true });
  const beganAtMs = Date.now();
  while (entry.outputTokens < lastToken) {
    if (response.destroyed) return;
    const share = (Date.now() - beganAtMs + TICK_MS) / Math.max(1, durationMs);
    const due = Math.min(lastToken, Math.max(entry.outputTokens + 1, Math.ceil(outputTokens * share)));
    const events: string[] = [];
    for (let token = entry.outputTokens; token < due; token += 1)
      events.push(writeFrame(chunks.delta({ content: wordOf(token) })));
    // A model has made the billed output before anybody can have read it.
    entry.outputTokens = due;
    if (!response.write(events.join(''))) await writable(response);
    await sleep(TICK_MS);
  }
  if (fault === 'cut') response.destroy();
  // `hang` is a stream without its end, too: until the other side gives up.
  if (fault === 'cut' || fault === 'silent' || fault === 'hang') return;
  response.write(writeFrame(chunks.finish(finishReason)));
  if (body.stream_options?.include_usage) response.write(writeFrame(chunks.usage(reportUsage(outputTokens))));
  response.end(writeFrame(chunks.done), () => {
    entry.outcome = 'answered';
  });
}

const reportUsage = (outputTokens: number) => chatUsage({ ...NOTHING_ELSE, inputTokens: INPUT_TOKENS }, outputTokens);

function wordOf(token: number): string {
  return WORDS[token % WORDS.length] as string;
}
