/**
 * Meters Anthropic's SDK, with a stream that the application stops reading early.
 */
import Anthropic from '@anthropic-ai/sdk';
import { createClient } from '../index.ts';
import { wrapAnthropic } from '../vendors.ts';
import { target } from './target.ts';

const callmeter = createClient(await target());
const anthropic = wrapAnthropic(new Anthropic(), {
  callmeter,
  customerId: 'alice',
  feature: 'chat',
  requested: { standard: true },
});
const message = {
  model: 'claude-haiku-5-5',
  max_tokens: 200,
  messages: [{ role: 'user' as const, content: 'Name three rivers.' }],
};

const answer = await anthropic.messages.create(message);
console.log(`${answer.model}: ${answer.usage.output_tokens} tokens`);

// The rest of the stream is read in the background, because the vendor bills it.
for await (const event of await anthropic.messages.create({ ...message, stream: true })) {
  if (event.type !== 'content_block_delta' || event.delta.type !== 'text_delta') continue;
  console.log(`it begins with ${event.delta.text.trim()}`);
  break;
}
