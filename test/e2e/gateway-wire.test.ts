/**
 * Promise: a vendor's stream reaches the caller byte for byte, in every shape of vendors of OpenAI's form. Only the
 * usage chunk that the service itself has asked for is removed; a stream that breaks off ends with an error event.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Loopback, serveOnLoopback } from '../vendors/loopback.ts';
import { type GatewayTenant, type Setting, startGateway } from './gateway-tenant.ts';

const ID = '"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"m"';
const event = (members: string) => `data: {${ID},${members}}\n\n`;
const text = (content: string, more = '') =>
  event(`"choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]${more}`);
const stop = (more = '') => event(`"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]${more}`);
const FIGURES = '{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}';
const ASKED_FOR = event(`"choices":[],"usage":${FIGURES}`);
const DONE = 'data: [DONE]\n\n';
const ROLE = event('"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]');

/** The parts of each stream, in the order in which they are sent. */
const SHAPES: Record<string, string[]> = {
  OpenAI: [ROLE, text('Hi', ',"usage":null,"obfuscation":"x1"'), stop(',"usage":null'), ASKED_FOR, DONE],
  'Azure, with the verdicts of its filters first': [
    event('"choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]'),
    ROLE,
    text('Hi', ',"content_filter_results":{}'),
    stop(),
    ASKED_FOR,
    DONE,
  ],
  'OpenRouter, with comments and a cost': [
    ': OPENROUTER PROCESSING\n\n',
    ROLE,
    ': OPENROUTER PROCESSING\n\n',
    text('Hi'),
    stop(),
    DONE,
  ],
  'Mistral, with usage beside the last choice': [ROLE, text('Hi'), stop(`,"usage":${FIGURES}`), DONE],
  'Groq, with usage in a member of its own': [ROLE, text('Hi'), stop(`,"x_groq":{"id":"r","usage":${FIGURES}}`), DONE],
  "Gemini's OpenAI form, with usage in every chunk": [
    text('H', ',"usage":{"prompt_tokens":7,"completion_tokens":1,"total_tokens":8}'),
    text('i', `,"usage":${FIGURES}`),
    stop(`,"usage":${FIGURES}`),
    DONE,
  ],
  'DeepSeek, with reasoning and a keep-alive': [
    ': keep-alive\n\n',
    event('"choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"hm"}}]'),
    text('Hi'),
    stop(`,"usage":${FIGURES}`),
    DONE,
  ],
  'without a mark of the end': [ROLE, text('Hi'), stop(), ASKED_FOR],
  'with carriage returns': [ROLE, text('Hi'), stop(), DONE].map((part) => part.replaceAll('\n', '\r\n')),
  'without a blank after the colon, and with names and numbers of events': [
    `event: message\nid: 1\n${ROLE.replace('data: ', 'data:')}`,
    `id: 2\n${text('Hi').replace('data: ', 'data:')}`,
    stop().replace('data: ', 'data:'),
    DONE.replace('data: ', 'data:'),
  ],
  'with an event over several lines, and members that nobody knows': [
    `data: {${ID},\ndata: "choices":[{"index":0,"delta":{"content":"H\\u0069"}}],"new":{"a":1.0}}\n\n`,
    stop(),
    DONE,
  ],
  'with an error in the middle': [
    ROLE,
    text('Hi'),
    'data: {"error":{"message":"overloaded","type":"server_error","code":"overloaded"}}\n\n',
  ],
};

let gateway: Setting;
let tenant: GatewayTenant;
let vendor: Loopback;
/** The vendor's next bytes, and whether it then breaks the connection. */
let next: { parts: string[]; cut: boolean };

beforeAll(async () => {
  vendor = await serveOnLoopback(async (request, response) => {
    for await (const _chunk of request);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const part of next.parts) response.write(part);
    if (!next.cut) response.end();
    else setTimeout(() => response.destroy(), 20);
  });
  gateway = await startGateway();
  tenant = await gateway.tenant(undefined, []);
  const baseUrl = `${vendor.url}/v1`;
  const params = { org: tenant.organizationId, provider: 'wire' };
  expect((await gateway.server.operator.send('setVendor', { params, body: { apiKey: 'k', baseUrl } })).status).toBe(
    200,
  );
});
afterAll(async () => {
  await gateway?.stop();
  await vendor?.close();
});

async function streamed(parts: string[], options: object = {}, cut = false): Promise<string> {
  next = { parts, cut };
  // Without a price nothing is added to a usage.
  const body = { model: 'wire/m', messages: [{ role: 'user', content: 'Hello' }], stream: true, ...options };
  return (await tenant.send('/v1/chat/completions', { body })).text();
}

describe('a stream of chat completions', () => {
  test.each(Object.entries(SHAPES))('%s', async (_name, parts) => {
    expect(await streamed(parts), 'as it was not asked for').toBe(parts.filter((part) => part !== ASKED_FOR).join(''));
    const asked = { stream_options: { include_usage: true } };
    expect(await streamed(parts, asked), 'as the caller asked for usage').toBe(parts.join(''));
  });

  test('that is cut ends with an error event after all whole events', async () => {
    const whole = [ROLE, text('Hi')];
    const got = await streamed([...whole, text('the').slice(0, 40)], {}, true);
    expect(got.startsWith(whole.join(''))).toBe(true);
    const last = got.slice(whole.join('').length);
    expect(JSON.parse(last.replace(/^data: /, ''))).toMatchObject({ error: { code: 'VENDOR_STREAM_CUT' } });
  });
});
