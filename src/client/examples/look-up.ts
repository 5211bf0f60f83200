/**
 * Looks up whether a model is still a good choice, and what to use instead. Needs no API key.
 */
import { createClient } from '../index.ts';
import { target } from './target.ts';

const { baseUrl } = await target();
const callmeter = createClient({ baseUrl });

for (const modelKey of ['openai/gpt-4o', 'anthropic/claude-3-5-sonnet-latest', 'google/gemini-1.5-pro']) {
  const { lifecycle, action, recommendedModelKey } = await callmeter.lookUpModel(modelKey, { response: 'light' });
  console.log(`${modelKey}: ${lifecycle.status}, ${action}${recommendedModelKey ? ` by ${recommendedModelKey}` : ''}`);
}

const { alternatives } = await callmeter.lookUpModel('openai/gpt-4o', {
  purpose: 'fallback',
  requiredParameters: ['tools', 'vision'],
});
for (const { modelKey, priceChangePercent } of alternatives.slice(0, 3))
  console.log(`  instead: ${modelKey}, price ${priceChangePercent} %`);

const { lifecycle } = await callmeter.discoverModels();
console.log(`${lifecycle.transitions.length} lifecycle transitions are known`);
