/**
 * Writes weeks of plausible calls to D1, as the objects' outboxes would: working days busier than weekends, a few large
 * customers and many small ones, some failures.
 */
import type { D1Database } from '@cloudflare/workers-types';
import { countCalls } from '../support/usage.ts';

const DAY_MS = 86_400_000;
const CALLS_A_DAY = 60;
const SPIKE_DAYS_AGO = 6;
const SPIKE_FACTOR = 8;

const MODELS = [
  { provider: 'anthropic', model: 'claude-opus-5-5', nanoPerToken: 11_000, weight: 3 },
  { provider: 'openai', model: 'gpt-6-sol', nanoPerToken: 9_000, weight: 2 },
  { provider: 'openai', model: 'gpt-6-luna', nanoPerToken: 900, weight: 6 },
  { provider: 'google', model: 'gemini-3.8-flash', nanoPerToken: 600, weight: 5 },
];
const FEATURES = ['chat', 'search', 'summaries', 'support'];
const CUSTOMERS = ['acme', 'globex', 'initech', 'umbrella', 'hooli', 'stark', 'wayne', 'wonka', 'tyrell', 'cyberdyne'];

/** The same history for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

export async function writeHistory(db: D1Database, organizationId: string, days: number, nowMs: number): Promise<void> {
  const random = randomFrom(20_261_120);
  const pick = <Item>(items: readonly Item[], skew = 1): Item =>
    items[Math.floor(random() ** skew * items.length)] as Item;
  const models = MODELS.flatMap((model) => Array.from({ length: model.weight }, () => model));
  const rows: unknown[] = [];
  for (let day = days; day >= 1; day -= 1) {
    const startMs = nowMs - day * DAY_MS;
    const weekend = [0, 6].includes(new Date(startMs).getUTCDay());
    const calls = Math.round(CALLS_A_DAY * (weekend ? 0.35 : 1) * (1 + (days - day) / days) * (0.8 + random() * 0.4));
    // One day stands out.
    const busy = day === SPIKE_DAYS_AGO ? SPIKE_FACTOR : 1;
    for (let call = 0; call < calls * busy; call += 1) {
      const atMs = Math.round(startMs + random() * DAY_MS);
      const { provider, model, nanoPerToken } = pick(models);
      const [input, output] = [Math.round(200 + random() ** 3 * 12_000), Math.round(50 + random() ** 2 * 1_500)];
      const failed = random() < 0.03;
      const cost = failed ? 0 : input * nanoPerToken + output * nanoPerToken * 5;
      const [customer, feature] = [pick(CUSTOMERS, 2), pick(FEATURES, 1.5)];
      rows.push({
        id: `past-${day}-${call}`,
        customer,
        feature,
        status: failed ? 'FAILED' : 'COMPLETED',
        atMs,
        provider,
        model,
        input,
        output,
        cost,
      });
    }
  }
  const calls = db
    .prepare(
      `INSERT INTO calls (organization_id, call_id, customer_id, feature, status, started_at_ms, finished_at_ms, usage_plan_version_id,
         pricing_mode, provider_used, usage_provider, model_used, model_key, tier, input_tokens, cached_input_tokens, response_tokens, reasoning_tokens,
         searches, standard_cost_nano_usd, cost_nano_usd, record, revision, delivery)
       SELECT ?1, value ->> 'id', value ->> 'customer', value ->> 'feature', value ->> 'status', value ->> 'atMs', (value ->> 'atMs') + 1800,
         'pro:v1', 'standard', value ->> 'provider', value ->> 'provider', value ->> 'model', (value ->> 'provider') || '/' || (value ->> 'model'), 'standard',
         value ->> 'input', 0, value ->> 'output', 0, 0, value ->> 'cost', value ->> 'cost', '{}', 1, 0
       FROM json_each(?2)`,
    )
    .bind(organizationId, JSON.stringify(rows));
  await db.batch([calls, ...countCalls("call_id LIKE 'past-%'").map((sql) => db.prepare(sql))]);
}

/** Customers with calls of today, through the API. */
export const PRESENT_CUSTOMERS = CUSTOMERS.slice(0, 6);
