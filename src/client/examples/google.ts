/**
 * Meters Google's SDK, in a chat and as a stream.
 */
import { GoogleGenAI } from '@google/genai';
import { createClient } from '../index.ts';
import { modelByTier, wrapGoogle } from '../vendors.ts';
import { target } from './target.ts';

const callmeter = createClient(await target());
const google = wrapGoogle(new GoogleGenAI({}), { callmeter, customerId: 'alice', feature: 'chat' });
const model = modelByTier({ premium: 'gemini-4-argon', standard: 'gemini-3.8-flash' });

const chat = google.chats.create({ model });
const { text, usageMetadata } = await chat.sendMessage({ message: 'What is the capital of France?' });
console.log(`${text} (${usageMetadata?.totalTokenCount} tokens)`);

for await (const chunk of await google.models.generateContentStream({ model, contents: 'And of Spain?' })) {
  process.stdout.write(chunk.text ?? '');
}
process.stdout.write('\n');
