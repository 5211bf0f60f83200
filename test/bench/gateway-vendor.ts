/**
 * A vendor for the benchmark, in a process of its own: one chat completion, plain or as a stream, always the same. It
 * tells its port to the process that started it.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const WORDS = 40;
const head = { id: 'chatcmpl-bench', created: 1_760_000_000, model: 'gpt-5.2' };
const usage = { prompt_tokens: 12, completion_tokens: WORDS, total_tokens: 12 + WORDS };
const plain = JSON.stringify({
  ...head,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(WORDS) }, finish_reason: 'stop' }],
  usage,
});
const chunk = (choices: unknown[], more: object = {}) =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
const words = Array.from({ length: WORDS }, () =>
  chunk([{ index: 0, delta: { content: 'word ' }, finish_reason: null }]),
);
const rest = [
  ...words.slice(1),
  chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
  chunk([], { usage }),
  'data: [DONE]\n\n',
].join('');

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    if (!Buffer.concat(parts).includes('"stream":true')) {
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(plain) })
        .end(plain);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(words[0] ?? '');
    // The rest comes later, as it does of a model.
    setTimeout(() => response.end(rest), 5);
  });
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
// Ends with whoever started it.
process.on('disconnect', () => process.exit(0));
