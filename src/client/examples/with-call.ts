/**
 * Wraps a model call with `withCall`, which begins the call and ends it, as FAILED if the model call throws.
 */
import { createClient } from '../index.ts';
import { target } from './target.ts';

const callmeter = createClient({
  ...(await target()),
  defaults: { feature: 'chat' },
  onEvent: (event) => console.log(`event: ${event.type}`),
});

/** Stands for a vendor's SDK. */
async function runModel(model: string, prompt: string) {
  if (prompt === '') throw new TypeError('the prompt is empty');
  return { model, text: `${prompt.length} characters were read`, usage: { inputTokens: 18, responseTokens: 6 } };
}

async function answer(prompt: string): Promise<string | null> {
  const outcome = await callmeter.withCall({ customerId: 'alice', requested: { premium: true } }, async (call) => {
    const model = call.allowed.premium ? 'gpt-6-sol' : 'gpt-6-luna';
    const completion = await runModel(model, prompt);
    call.setUsage({ providerUsed: 'openai', modelUsed: completion.model, ...completion.usage });
    return completion.text;
  });
  if (outcome.denied) return null;
  console.log(`${outcome.ended?.status}: $${outcome.ended?.costUSD}`);
  return outcome.value;
}

console.log(await answer('What is the capital of France?'));
await answer('').catch((error: Error) => console.log(`the model's own error: ${error.message}`));

{
  // The same without a callback: the call ends with its block.
  await using call = await callmeter.startCall({ customerId: 'alice', requested: { standard: true } });
  if (!call.denied) {
    const completion = await runModel('gpt-6-luna', 'And of Spain?');
    call.setUsage({ providerUsed: 'openai', modelUsed: completion.model, ...completion.usage });
    console.log(completion.text);
  }
}
