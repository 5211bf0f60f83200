/**
 * Begins a call, ends it with its usage, and reads its cost.
 */
import { createClient } from '../index.ts';
import { target } from './target.ts';

const callmeter = createClient(await target());

const { callId, allowed, entitlementHints } = await callmeter.beginCall({
  customerId: 'alice',
  feature: 'chat',
  requested: { premium: true, reasoningLevel: 'MEDIUM' },
});
console.log(
  `${callId}: suggested tier ${entitlementHints.suggestedModelTier}, reasoning up to ${allowed.reasoningLevel}`,
);

// The application runs the model here. A vendor's response would contain this usage.
const usage = { inputTokens: 1_200, cachedInputTokens: 200, responseTokens: 350 };

const ended = await callmeter.endCall({ callId, providerUsed: 'openai', modelUsed: 'gpt-6-sol', ...usage });
console.log(
  `${ended.status}: $${ended.costUSD} for ${ended.usage.inputTokens} tokens in and ${ended.usage.responseTokens} out`,
);

const call = await callmeter.readCall({ callId });
for (const line of call.costBreakdown?.lines ?? [])
  console.log(`  ${line.component}: ${line.quantity} at $${line.usdPerMillion} per million`);

const { meters } = await callmeter.readUsage({ customerId: 'alice' });
console.log(`premium calls used this period: ${meters.premiumCalls?.used}`);
