/**
 * Translation loses nothing: each part of a request arrives once and in order, an answer has the same content whole and
 * streamed however the network cuts it, it goes back unchanged, and the usage is the same in both forms.
 */
import type { Usage } from '@anthropic-ai/sdk/resources/messages';
import fc from 'fast-check';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { chatToMessages } from '../../src/gateway/translation/chat-to-messages.ts';
import { MessageChunks, type StreamPart } from '../../src/gateway/translation/message-stream-to-chunks.ts';
import { messageToCompletion } from '../../src/gateway/translation/message-to-completion.ts';
import { EventBlocks, serializeEvent } from '../../src/vendors/event-blocks.ts';
import { type Fields, fieldsOrEmpty, listOrEmpty } from '../../src/vendors/usage/figures.ts';
import { readUsage, StreamUsage, type VendorUsage } from '../../src/vendors/usage.ts';
import { WEB_ADDRESS } from '../support/characters.ts';
import { cut, event as written } from '../support/metered-stream.ts';
import { swept } from '../support/sweep.ts';
import { type Answer, type Block, streamedAnswer, wholeAnswer } from '../vendors/anthropic-blocks.ts';

const HI = { role: 'user', content: 'hi' };
const TERMS = { model: 'claude-sonnet-5-5', outputTokensMax: 128_000, effort: undefined };
const CHUNK_TERMS = { created: 1_790_000_000, id: 'call-1', model: 'claude-sonnet-5-5', includeUsage: true };

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const input = fc.dictionary(
  word.filter((name) => name !== '__proto__'),
  fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.array(text, { maxLength: 2 })),
  { maxKeys: 3 },
);
const page = fc.record({ url: WEB_ADDRESS, title: text });
const block: fc.Arbitrary<Block> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text }),
  fc.record({ type: fc.constant('text' as const), text: word, cites: fc.array(page, { maxLength: 2 }) }),
  fc.record({ type: fc.constant('thinking' as const), thinking: text, signature: word }),
  fc.record({ type: fc.constant('redacted_thinking' as const), data: word }),
  fc.record({ type: fc.constant('tool_use' as const), id: fc.uuid(), name: word, input }),
  fc.record({ type: fc.constant('search' as const), query: word }),
);

const count = fc.nat({ max: 1_000_000 });
const usage: fc.Arbitrary<Usage> = fc
  .record({
    input_tokens: count,
    cache_read_input_tokens: fc.option(count),
    minutes: count,
    hour: count,
    thinking: count,
    spoken: count,
    searches: fc.option(fc.nat({ max: 30 })),
    service_tier: fc.constantFrom('standard', 'priority', 'batch', 'odd' as 'batch', null),
    details: fc.boolean(),
  })
  .map(({ minutes, hour, thinking, spoken, searches, details, ...rest }) => ({
    ...rest,
    cache_creation_input_tokens: minutes + hour,
    cache_creation: details ? { ephemeral_5m_input_tokens: minutes, ephemeral_1h_input_tokens: hour } : null,
    output_tokens: thinking + spoken,
    output_tokens_details: details ? { thinking_tokens: thinking } : null,
    server_tool_use: searches === null ? null : { web_search_requests: searches, web_fetch_requests: 0 },
    inference_geo: 'us',
    speed: 'standard',
  }));

const answer: fc.Arbitrary<Answer> = fc.record({
  blocks: fc.array(block, { maxLength: 6 }),
  stop: fc.constantFrom('end_turn', 'tool_use', 'max_tokens', 'refusal', 'pause_turn'),
  explanation: fc.option(word),
  usage,
});
const lengths = fc.array(fc.nat({ max: 5 }), { maxLength: 8 });

const translateEvents = (events: readonly object[]) => {
  const chunks = new MessageChunks(CHUNK_TERMS);
  return events.flatMap((event) => chunks.read(event as Fields));
};

const writeStream = (parts: readonly StreamPart[]) => parts.map(written).join('');

/** The bytes of the vendor's stream, cut at these places, as the caller gets them. */
function passedOn(events: readonly { type: string }[], places: number[]): string {
  const bytes = new TextEncoder().encode(
    events.map((event) => serializeEvent({ event: event.type, data: JSON.stringify(event) })).join(''),
  );
  const blocks = new EventBlocks();
  const chunks = new MessageChunks(CHUNK_TERMS);
  return [...cut(bytes, places).flatMap((chunk) => blocks.push(chunk)), ...blocks.end()]
    .map(({ event }) => (event ? writeStream(chunks.read(JSON.parse(event.data))) : ''))
    .join('');
}

/** The chunks of a stream put together as OpenAI's SDK does it, but for the reasoning, which it does not know. */
function joined(parts: readonly StreamPart[]): object {
  const message: Fields = { role: undefined, content: '', refusal: null };
  const calls: { id: unknown; type: unknown; function: { name: string; arguments: string } }[] = [];
  let ended: unknown = null;
  for (const part of parts) {
    if (typeof part === 'string' || !('choices' in part)) continue;
    for (const { delta, finish_reason: reason, native_finish_reason: native } of part.choices) {
      const { role, content, reasoning_content: reasoning, tool_calls: called, ...rest } = delta;
      if (role) message.role = role;
      if (content) message.content += content;
      if (reasoning) message.reasoning_content = `${message.reasoning_content ?? ''}${reasoning}`;
      Object.assign(message, rest);
      for (const { index, id, type, function: made } of called ?? []) {
        calls[index] ??= { id, type, function: { name: made?.name ?? '', arguments: '' } };
        calls[index].function.arguments += made?.arguments ?? '';
      }
      if (reason) ended = { reason, native };
    }
  }
  return { ended, message: comparable({ ...message, ...(calls.length > 0 && { tool_calls: calls }) }) };
}

/** A message with its arguments parsed, and without the difference between no text and an empty one. */
function comparable(message: object | undefined): object {
  const { content, tool_calls: calls, ...rest } = { ...message } as Fields;
  const parsed = listOrEmpty(calls).map((call) => {
    const { function: made, ...names } = fieldsOrEmpty(call);
    const { name, arguments: given } = fieldsOrEmpty(made);
    return { ...names, name, given: JSON.parse(String(given)) };
  });
  return { ...rest, content: content || null, calls: parsed };
}

test("however a stream is cut, its chunks together are the whole answer's message", () => {
  fc.assert(
    fc.property(answer, lengths, fc.array(fc.nat(), { maxLength: 20 }), (made, sizes, places) => {
      const events = streamedAnswer(made, sizes);
      const choice = messageToCompletion(wholeAnswer(made), 0)?.choices[0];
      expect(joined(translateEvents(events))).toEqual({
        ended: { reason: choice?.finish_reason, native: choice?.native_finish_reason },
        message: comparable(choice?.message),
      });
      expect(passedOn(events, places)).toBe(writeStream(translateEvents(events)));
    }),
    { numRuns: swept(500, 200) },
  );
});

test('a stream that breaks off has told the beginning of what the whole stream tells', () => {
  fc.assert(
    fc.property(answer, lengths, fc.nat(), (made, sizes, place) => {
      const events = streamedAnswer(made, sizes);
      const whole = translateEvents(events);
      const begun = translateEvents(events.slice(0, place % (events.length + 1)));
      expect(begun).toEqual(whole.slice(0, begun.length));
    }),
  );
});

test('an answer that is sent back is what it was', () => {
  fc.assert(
    fc.property(answer, lengths, (made, sizes) => {
      const whole = wholeAnswer(made);
      const told = messageToCompletion(whole, 0)?.choices[0].message;
      const streamed = fieldsOrEmpty(fieldsOrEmpty(joined(translateEvents(streamedAnswer(made, sizes)))).message);
      const calls = listOrEmpty(streamed.calls).map(fieldsOrEmpty);
      const tool_calls = calls.map(({ name, given, ...names }) => ({
        ...names,
        function: { name, arguments: JSON.stringify(given) },
      }));
      const { calls: _calls, ...rest } = streamed;
      for (const message of [told, { ...rest, tool_calls }]) {
        const sent = chatToMessages({ messages: [HI, { ...message, refusal: null }, HI] }, TERMS);
        const said = (sent.ok ? sent.body.messages : []).filter(({ role }) => role === 'assistant');
        const expected = whole.content.filter((part) => part.type !== 'text' || part.text !== '').map(essence);
        expect(said.flatMap(({ content }) => listOrEmpty(content).map(fieldsOrEmpty).map(essence))).toEqual(expected);
      }
    }),
    { numRuns: 300 },
  );
});

/** A block without the members that say nothing. */
function essence(block: object): object {
  const { citations, caller: _caller, ...rest } = block as Fields;
  return listOrEmpty(citations).length > 0 ? { ...rest, citations } : rest;
}

/** The usage that our readers know but OpenAI's form has no member for. */
function common(usage: VendorUsage | null) {
  const { region: _region, speed: _speed, cacheWrite1hInputTokens: _hour, ...rest } = { ...usage };
  return { searches: 0, ...rest };
}

test('the usage read from a translated answer is the usage of the answer, whole and streamed', () => {
  fc.assert(
    fc.property(answer, (made) => {
      const whole = wholeAnswer(made);
      expect(common(readUsage(messageToCompletion(whole, 0)))).toEqual(common(readUsage(whole)));
      const events = streamedAnswer(made, []);
      const [original, translated] = [new StreamUsage(), new StreamUsage()];
      for (const event of events) original.push(serializeEvent({ event: event.type, data: JSON.stringify(event) }));
      translated.push(writeStream(translateEvents(events)));
      expect(common(translated.usage())).toEqual(common(original.usage()));
      expect([translated.completed, original.completed]).toEqual([true, true]);
    }),
    { numRuns: 300 },
  );
});

test("OpenAI's SDK puts every translated stream together without an error", async () => {
  await fc.assert(
    fc.asyncProperty(answer, lengths, async (made, sizes) => {
      const stream = writeStream(translateEvents(streamedAnswer(made, sizes)));
      const headers = { 'content-type': 'text/event-stream' };
      const client = new OpenAI({ apiKey: 'x', maxRetries: 0, fetch: async () => new Response(stream, { headers }) });
      const completion = await client.chat.completions
        .stream({ model: 'm', messages: [{ role: 'user', content: 'hi' }], stream_options: { include_usage: true } })
        .finalChatCompletion();
      const { parsed: _parsed, ...message } = fieldsOrEmpty(completion.choices[0]?.message);
      const told = messageToCompletion(wholeAnswer(made), 0)?.choices[0].message;
      // The SDK keeps the last piece of a member that it does not know.
      const { reasoning_content: _reasoning, ...known } = comparable(told) as Fields;
      expect(withoutParsed(comparable(message))).toEqual(known);
      expect(completion.usage?.total_tokens).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: 100 },
  );
});

function withoutParsed(message: object): object {
  const { reasoning_content: _reasoning, ...rest } = message as Fields;
  return rest;
}

/** A conversation, and its contents in order: texts, images, tool calls with their results, thinking. */
interface Said {
  message: object;
  says: string[];
}

const unique = fc.uuid();
const saidText = unique.map((id) => ({ part: { type: 'text', text: id }, says: [id] }));
const saidImage = unique.map((id) => ({
  part: { type: 'image_url', image_url: { url: `data:image/png;base64,${id}` } },
  says: [id],
}));
const saidLink = unique.map((id) => ({
  part: { type: 'image_url', image_url: { url: `https://example.com/${id}` } },
  says: [`https://example.com/${id}`],
}));
const userTurn: fc.Arbitrary<Said> = fc
  .array(fc.oneof(saidText, saidImage, saidLink), { maxLength: 4 })
  .map((parts) => ({
    message: { role: 'user', content: parts.map(({ part }) => part) },
    says: parts.flatMap(({ says }) => says),
  }));
const plainTurn: fc.Arbitrary<Said> = fc
  .record({ role: fc.constantFrom('user', 'assistant'), content: unique })
  .map((message) => ({ message, says: [message.content] }));
const toolTurns: fc.Arbitrary<Said[]> = fc
  .record({
    content: fc.option(unique),
    thinking: fc.option(unique),
    calls: fc.array(fc.record({ id: unique, given: unique, result: unique }), { minLength: 1, maxLength: 3 }),
  })
  .map(({ content, thinking, calls }) => [
    {
      message: {
        role: 'assistant',
        content,
        ...(thinking && { thinking_blocks: [{ type: 'thinking', thinking, signature: 's' }] }),
        tool_calls: calls.map(({ id, given }) => ({
          id,
          type: 'function',
          function: { name: 'f', arguments: JSON.stringify({ given }) },
        })),
      },
      says: [thinking, content, ...calls.flatMap(({ id, given }) => [id, given])].filter((said) => said !== null),
    },
    ...calls.map(({ id, result }) => ({
      message: { role: 'tool', tool_call_id: id, content: result },
      says: [id, result],
    })),
  ]);
const systemTurn: fc.Arbitrary<Said> = fc
  .record({ role: fc.constantFrom('system', 'developer'), content: unique })
  .map((message) => ({ message, says: [message.content] }));
const conversation = fc
  .tuple(
    fc.array(systemTurn, { maxLength: 3 }),
    plainTurn,
    fc.array(
      fc.oneof(
        userTurn.map((turn) => [turn]),
        plainTurn.map((turn) => [turn]),
        toolTurns,
      ),
      { maxLength: 6 },
    ),
  )
  .map(([system, first, turns]) => [...system, first, ...turns.flat()]);

/** The texts of a translated request, in the order of its blocks. */
function saidIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(saidIn);
  const { text, thinking, source, id, input, tool_use_id: used, content } = fieldsOrEmpty(value);
  const { data, url } = fieldsOrEmpty(source);
  return [text, thinking, data, url, id, fieldsOrEmpty(input).given, used, content]
    .filter((v) => v !== undefined)
    .flatMap(saidIn);
}

test('every text, image, tool call and result of a request arrives once and in order', () => {
  fc.assert(
    fc.property(conversation, (turns) => {
      const sent = chatToMessages({ messages: turns.map(({ message }) => message) }, TERMS);
      const body = sent.ok ? sent.body : { system: [], messages: [] };
      expect(saidIn([body.system ?? [], body.messages])).toEqual(turns.flatMap(({ says }) => says));
      const roles = body.messages.map(({ role }) => role);
      expect(roles.every((role, index) => role !== roles[index - 1])).toBe(true);
    }),
    { numRuns: 500 },
  );
});

const anything = fc.jsonValue({ maxDepth: 2 });
const names = fc.constantFrom(
  ...['messages', 'tools', 'tool_choice', 'response_format', 'stop', 'metadata', 'thinking', 'web_search_options'],
  ...['stream_options', 'temperature', 'max_tokens', 'service_tier', 'user', 'n', 'constructor', '__proto__'],
);
const message = fc.dictionary(
  fc.constantFrom('role', 'content', 'tool_calls', 'thinking_blocks', 'content_blocks', 'refusal', 'cache_control'),
  fc.oneof(anything, fc.constantFrom('user', 'assistant', 'tool', 'system'), fc.array(anything)),
);

test('whatever a request is, it is translated or refused by the name of a member', () => {
  fc.assert(
    fc.property(fc.dictionary(names, fc.oneof(anything, fc.array(message))), fc.array(message), (request, messages) => {
      for (const body of [request, { ...request, messages }]) {
        const result = chatToMessages(body, TERMS);
        if (result.ok) expect(result.body.messages.length).toBeGreaterThan(0);
        else expect(result.param).not.toBe('');
      }
    }),
    { numRuns: swept(200, 70) },
  );
});

const eventType = fc.constantFrom(
  ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta'],
  ...['message_stop', 'error', 'ping', 'message'],
);
const shaky = fc.oneof(
  anything,
  fc.record({
    type: fc.constantFrom('text', 'tool_use', 'thinking', 'text_delta'),
    text: anything,
    partial_json: text,
  }),
);

test('whatever the vendor sends, the caller gets events with JSON', () => {
  const event = fc.record({ type: eventType, message: anything, content_block: shaky, delta: shaky, error: anything });
  fc.assert(
    fc.property(fc.array(event), (events) => {
      const usage = new StreamUsage();
      usage.push(writeStream(translateEvents(events)));
      usage.end();
      expect(usage.truncated && translateEvents(events).includes('[DONE]')).toBe(false);
    }),
  );
});
