/**
 * Samples calls for review; the application selects them by the organization's policy.
 */
import { createClient } from '../index.ts';
import { createSampler } from '../sampling.ts';
import { target } from './target.ts';

const sampler = createSampler(createClient(await target()));

for (const samplingKey of ['chat-1', 'chat-2', 'chat-3']) {
  const { decision, stored } = await sampler.offer({
    samplingKey,
    customerId: 'alice',
    feature: 'chat',
    provider: 'openai',
    model: 'gpt-6-luna',
    input: [{ role: 'user', content: 'What is the capital of France?' }],
    output: 'Paris',
    inputTokens: 14,
  });
  console.log(`${samplingKey}: ${decision.reason}${stored ? `, kept until ${stored.expiresAt}` : ''}`);
}
