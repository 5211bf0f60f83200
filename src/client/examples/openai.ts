/**
 * Meters OpenAI's SDK; the customer's remaining allowance selects the tier.
 */
import OpenAI from 'openai';
import { createClient } from '../index.ts';
import { isCallDeniedError, modelByTier, wrapOpenAI } from '../vendors.ts';
import { target } from './target.ts';

const callmeter = createClient(await target());
const openai = wrapOpenAI(new OpenAI(), {
  callmeter,
  customerId: 'alice',
  feature: 'chat',
  onDowngrade: ({ model, fallback }) => {
    console.log(`${fallback} instead of ${model}`);
    return undefined;
  },
});
const model = modelByTier({ premium: 'gpt-6-sol', standard: 'gpt-6-luna' });

try {
  const answer = await openai.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'What is the capital of France?' }],
  });
  console.log(`${answer.model}: ${answer.choices[0]?.message.content}`);

  const stream = await openai.responses.create({ model, input: 'And of Spain?', stream: true });
  for await (const event of stream) if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);
  process.stdout.write('\n');
} catch (error) {
  if (!isCallDeniedError(error)) throw error;
  console.log(`not now: ${error.message}`);
}

const { meters } = await callmeter.readUsage({ customerId: 'alice' });
console.log(`premium calls used this period: ${meters.premiumCalls?.used}`);
