/**
 * Compresses a prompt and records the savings with the call. The prompt stays in the application.
 */
import { compressPrompt } from '../compression.ts';
import { createClient } from '../index.ts';
import { target } from './target.ts';

const callmeter = createClient(await target());
const rows = Array.from({ length: 20 }, (_, id) => ({ id, city: `City ${id}`, inhabitants: 1_000 * id }));
const messages = [
  { role: 'user', content: `Please note that   I want the largest city.\n\n\n${JSON.stringify(rows, null, 2)}` },
];

await callmeter.withCall({ customerId: 'alice', feature: 'chat' }, async (call) => {
  const { prompt, recorded, techniques } = await compressPrompt(callmeter, { callId: call.callId, prompt: messages });
  console.log(
    `${recorded?.originalTokens} tokens became ${recorded?.compressedTokens}, by ${techniques.map(({ name }) => name).join(', ')}`,
  );
  // The application runs the model here, with `prompt`.
  call.setUsage({
    providerUsed: 'openai',
    modelUsed: 'gpt-6-luna',
    inputTokens: prompt[0]?.content.length ?? 0,
    responseTokens: 5,
  });
});
