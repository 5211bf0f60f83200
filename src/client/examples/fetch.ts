/**
 * Meters hand-written vendor requests with a wrapped `fetch`.
 */
import { createClient } from '../index.ts';
import { wrapFetch } from '../vendors.ts';
import { target } from './target.ts';

const callmeter = createClient(await target());
const meteredFetch = wrapFetch(fetch, { callmeter, customerId: 'alice', feature: 'search' });

const response = await meteredFetch(`${process.env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1'}/embeddings`, {
  method: 'POST',
  headers: { Authorization: `Bearer ${process.env.OPENAI_API_KEY}`, 'Content-Type': 'application/json' },
  body: JSON.stringify({ model: 'text-embedding-3-small', input: ['a river', 'a mountain'] }),
});
const { data, usage } = (await response.json()) as { data: unknown[]; usage: { total_tokens: number } };
console.log(`${data.length} vectors for ${usage.total_tokens} tokens`);
