/**
 * The additional time until the first byte of a stream through the gateway, against a Worker that passes the same
 * request to the same vendor: for each form of a stream, and for chat completions that are translated for Anthropic.
 *
 * One request at a time, from eight customers in turn. Both targets get each request, alternately first, after a pause
 * in which the previous one is recorded; the figure is the median of the differences. The suite `gateway` measures the
 * effect of load.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { CUSTOMER_HEADER, customerName, type Endpoint, startGateway } from './gateway-service.ts';
import { Connection } from './load.ts';
import { printed } from './report.ts';
import { median, quantile } from './rounds.ts';
import type { Column, Options, Row, Suite } from './suite.ts';

/** The goal: at most so many milliseconds later. */
const ADDED_MS_MAX = 3;
/** So few that each asks again before its object, idle for ten seconds, leaves memory. */
const CUSTOMERS = 8;
/** Turns that nobody counts: every customer's object starts, and code is compiled. */
const WARM_UP_TURNS = 3 * CUSTOMERS;

/** In which the request before is done with. */
const PAUSE_MS = 25;

const PROMPT = 'Say forty words about anything at all, please; answer after 0 ms.';
const messages = [{ role: 'user', content: PROMPT }];

interface Asked {
  path: string;
  body: object;
  /** A whole answer has it. */
  ending: string;
}

interface Form {
  name: string;
  asked: Asked;
  /** The pass-through's request to the vendor, if it differs. */
  vendorAsked?: Asked;
}

const COMPLETION: Asked = {
  path: '/v1/chat/completions',
  body: { model: 'gpt-5.2', stream: true, stream_options: { include_usage: true }, messages },
  ending: 'data: [DONE]',
};
const MESSAGE: Asked = {
  path: '/v1/messages',
  body: { model: 'claude-sonnet-5-5', stream: true, max_tokens: 500, messages },
  ending: 'message_stop',
};

const FORMS: readonly Form[] = [
  { name: 'chat completions', asked: COMPLETION },
  {
    name: 'responses',
    asked: {
      path: '/v1/responses',
      body: { model: 'gpt-5.2', stream: true, input: messages },
      ending: 'response.completed',
    },
  },
  { name: 'messages', asked: MESSAGE },
  {
    name: 'generateContent',
    asked: {
      path: '/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse',
      body: { contents: [{ role: 'user', parts: [{ text: PROMPT }] }] },
      ending: 'finishReason',
    },
  },
  {
    name: 'chat completions, translated',
    asked: { ...COMPLETION, body: { ...COMPLETION.body, model: 'claude-sonnet-5-5' } },
    vendorAsked: MESSAGE,
  },
];

const COLUMNS: readonly Column[] = [
  { key: 'passThroughMs', heading: 'pass-through', digits: 2 },
  { key: 'callmeterMs', heading: 'Callmeter', digits: 2 },
  { key: 'addedMs', heading: 'added', digits: 2 },
  // On a busy machine, this is nearest to the figure of a quiet one.
  { key: 'addedP10Ms', heading: '10th', digits: 2 },
  { key: 'addedP90Ms', heading: '90th', digits: 2 },
  { key: 'streams', heading: 'streams', digits: 0 },
];

/** To the first byte of one stream, through each. */
interface Pair {
  passThroughMs: number;
  callmeterMs: number;
}

export const firstByte: Suite = {
  about: 'how much later the first byte of a stream comes than through a pass-through, for each form',
  shares: true,
  rounds: 5,
  seconds: 5,
  async run(options) {
    options.progress('starting');
    const service = await startGateway(options);
    const pairs = await measure(service, options);
    const rows = FORMS.map(({ name }) => buildRow(name, pairs.get(name) ?? []));
    return printed('The first byte of a stream, one request at a time', [
      { title: 'ms, medians', columns: COLUMNS, rows },
    ]);
  },
};

async function measure(
  { passThrough, metered }: { passThrough: Endpoint; metered: Endpoint },
  { rounds, seconds, short, scope, progress }: Options,
): Promise<Map<string, Pair[]>> {
  const connection = scope.use(new Connection());
  const pairs = new Map<string, Pair[]>(FORMS.map(({ name }) => [name, []]));
  progress(`warming up, then ${rounds * seconds} s`);
  let untilMs = Number.POSITIVE_INFINITY;
  let asks = 0;
  for (let turn = short ? 0 : -WARM_UP_TURNS; turn < 1 || performance.now() < untilMs; turn += 1) {
    if (turn === 0) untilMs = performance.now() + rounds * seconds * 1_000;
    for (const { name, asked, vendorAsked = asked } of FORMS) {
      // No form always comes when the customer changes.
      const customer = customerName(asks % CUSTOMERS);
      asks += 1;
      const ours = () => firstByteMs(connection, metered, asked, customer);
      const theirs = () => firstByteMs(connection, passThrough, vendorAsked, customer);
      const oursFirst = turn % 2 === 0;
      const first = await (oursFirst ? ours() : theirs());
      const second = await (oursFirst ? theirs() : ours());
      const pair = oursFirst
        ? { callmeterMs: first, passThroughMs: second }
        : { callmeterMs: second, passThroughMs: first };
      if (turn >= 0) pairs.get(name)?.push(pair);
    }
  }
  return pairs;
}

async function firstByteMs(
  connection: Connection,
  { url, headers }: Endpoint,
  { path, body, ending }: Asked,
  customer: string,
): Promise<number> {
  const request = {
    method: 'POST' as const,
    headers: { ...headers, [CUSTOMER_HEADER]: customer },
    body: JSON.stringify(body),
  };
  await sleep(PAUSE_MS);
  let firstMs = Number.NaN;
  const startMs = performance.now();
  const answer = await connection.send(url + path, request, () => {
    if (Number.isNaN(firstMs)) firstMs = performance.now() - startMs;
  });
  if (!answer.includes(ending)) throw new Error(`an answer is not whole: ${answer.slice(-100)}`);
  return firstMs;
}

function buildRow(name: string, pairs: readonly Pair[]): Row {
  const added = pairs.map(({ callmeterMs, passThroughMs }) => callmeterMs - passThroughMs);
  return {
    name,
    figures: {
      passThroughMs: median(pairs.map(({ passThroughMs }) => passThroughMs)),
      callmeterMs: median(pairs.map(({ callmeterMs }) => callmeterMs)),
      addedMs: median(added),
      addedP10Ms: quantile(added, 0.1),
      addedP90Ms: quantile(added, 0.9),
      streams: pairs.length,
    },
    promised: { of: 'addedMs', atMost: ADDED_MS_MAX },
  };
}
