/**
 * The present data in the console's pages: today's calls, credit, versions of a plan, a key, a sample, webhooks, jobs
 * and a call without a price.
 */
import { expect } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';
import type { CatalogModel } from '../../src/contract/catalog.ts';
import { until } from '../e2e/local-server.ts';
import type { ConsoleIds } from './console-pages.ts';
import { PRESENT_CUSTOMERS } from './history.ts';
import type { OwnServer } from './server.ts';

const DAY_MS = 86_400_000;
const ENDING_DAYS_MAX = 120;

/** A model with a price that ends within four months. */
export function endingModel(): CatalogModel {
  const found = BUILT_IN_CATALOG.models.find(({ pricing, lifecycle: { shutdownAt } }) => {
    const leftMs = Date.parse(shutdownAt ?? '') - Date.now();
    return pricing && leftMs > DAY_MS && leftMs < ENDING_DAYS_MAX * DAY_MS;
  });
  if (!found) throw new Error('the catalog has no model with a price that ends');
  return found;
}

/** Creates it through the API, and returns the ids in the pages. */
export async function makePresent(server: OwnServer): Promise<ConsoleIds> {
  const { demo, operator } = server;
  const org = DEMO_ORGANIZATION_ID;
  const end = async (callId: string, model: string, usage: Record<string, number>) => {
    const body = { callId, providerUsed: model.split('/')[0], modelUsed: model, ...usage };
    expect((await demo.send('endCall', { body })).status).toBe(200);
  };
  for (const customerId of PRESENT_CUSTOMERS) {
    const identity = {
      customerId,
      customerFriendlyName: `${customerId.charAt(0).toUpperCase()}${customerId.slice(1)} Ltd`,
    };
    for (const [index, feature] of ['chat', 'search', 'chat'].entries()) {
      const begun = await demo.send('beginCall', {
        body: { ...identity, requested: { premium: index !== 1 }, feature, tags: ['web', 'eu'] },
      });
      const usage = {
        inputTokens: 2_000 + index * 900,
        cachedInputTokens: 500,
        responseTokens: 700,
        reasoningTokens: 200,
        searches: index,
      };
      await end(begun.data.callId, index === 1 ? 'openai/gpt-6-luna' : 'anthropic/claude-opus-5-5', usage);
    }
  }
  const ending = endingModel();
  for (const model of [`${ending.provider}/${ending.model}`, 'openai/a-model-that-nobody-knows']) {
    const begun = await demo.send('beginCall', { body: { customerId: 'acme', feature: 'chat' } });
    await end(begun.data.callId, model, { inputTokens: 1_200, responseTokens: 300 });
  }
  const open = await demo.send('beginCall', { body: { customerId: 'acme', feature: 'support' } });
  const params = { org, customerId: 'acme' };
  const { creditId } = (
    await operator.send('grantCredit', {
      params,
      body: { kind: 'USD', amountUsd: '25.00', reference: 'invoice 2026-11' },
    })
  ).data;
  await operator.send('grantCredit', { params, body: { kind: 'METER', meterSlot: 'CUSTOM1', units: 5_000 } });
  const plan = (premiumCalls: number) => ({
    name: 'Team',
    limitType: 'DOWNGRADE',
    limits: { premiumCalls, premiumTokens: 2_000_000, searches: 500 },
    payg: { enabled: true, markupPercent: 20 },
    customMeters: {
      CUSTOM1: {
        label: 'Pages',
        included: 1_000,
        funding: { credits: true, payg: true },
        overage: {
          model: 'GRADUATED',
          tiers: [
            { upTo: '1000', priceUsd: '0.01' },
            { upTo: null, priceUsd: '0.005' },
          ],
        },
      },
    },
  });
  for (const premiumCalls of [500, 800])
    await operator.send('putPlan', { params: { org, planId: 'team' }, body: plan(premiumCalls) });
  const job = await operator.send('migratePlan', { params: { org, planId: 'team' }, body: { when: 'NOW' } });
  const keyId = (await operator.send('createKey', { params: { org }, body: { name: 'Production' } })).data.keyId;
  await operator.send('putOperator', { params: { name: 'ada@example.com' }, body: { role: 'editor' } });
  await operator.send('setVendor', {
    params: { org, provider: 'openai' },
    body: { apiKey: 'sk-not-a-real-key-0123456789' },
  });
  const eventId = await makeWebhooks(server);
  const rates = { inputUsdPerMillion: 2, outputUsdPerMillion: 9.5 };
  await operator.send('setPrice', { params: { org, modelKey: 'ft:gpt-6-luna:acme' }, body: rates });
  const sample = {
    sampleId: 'sample-1',
    customerId: 'acme',
    feature: 'chat',
    provider: 'openai',
    model: 'gpt-6-luna',
    input: [{ role: 'user', content: 'Hi' }],
  };
  await demo.send('storeSample', {
    body: { ...sample, output: { role: 'assistant', content: 'Hello!' }, latencyMs: 812 },
  });
  // The projection follows within seconds.
  const countRows = async (sql: string) =>
    (await server.db.prepare(`SELECT COUNT(*) AS n FROM ${sql}`).first<{ n: number }>())?.n;
  await until(async () => (await countRows('customers')) === PRESENT_CUSTOMERS.length);
  await until(
    async () => (await countRows("calls WHERE call_id NOT LIKE 'past-%'")) === 3 * PRESENT_CUSTOMERS.length + 3,
  );
  expect(open.status).toBe(200);
  const row = await server.db
    .prepare(
      "SELECT call_id FROM calls WHERE customer_id = 'acme' AND status = 'COMPLETED' AND call_id NOT LIKE 'past-%' LIMIT 1",
    )
    .first<{ call_id: string }>();
  const [from, to] = [new Date(Date.now() - DAY_MS), new Date()].map((at) => at.toISOString()) as [string, string];
  const repricing = await operator.send('startRepricing', { params: { org }, body: { from, to, dryRun: true } });
  const estimate = await demo.send('startCompressionJob', { body: {} });
  return {
    callId: row?.call_id ?? '',
    keyId,
    eventId,
    creditId,
    migrationId: job.data.jobId,
    repricingId: repricing.data.jobId,
    estimateId: estimate.data.jobId,
  };
}

/** One webhook that is off and gets all later events, and one whose deliveries fail. Returns an event's id. */
async function makeWebhooks(server: OwnServer): Promise<string> {
  const org = DEMO_ORGANIZATION_ID;
  const webhook = (webhookId: string) => ({ params: { org, webhookId } });
  await server.operator.send('putWebhook', {
    ...webhook('billing'),
    body: { url: 'https://hooks.example.com/callmeter', types: ['balance.low', 'call.denied'], enabled: false },
  });
  // Nobody listens there.
  const url = 'http://127.0.0.1:9/callmeter';
  await server.operator.send('putWebhook', { ...webhook('ops'), body: { url, description: 'The team on call' } });
  expect((await server.operator.send('testWebhook', webhook('ops'))).data.delivered).toBe(false);
  await until(async () => (await server.demo.send('readEvents', { query: { limit: '1' } })).data.items.length > 0);
  const { items } = (await server.demo.send('readEvents')).data;
  const period = { from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };
  expect((await server.operator.send('replayWebhook', { ...webhook('ops'), body: period })).status).toBe(200);
  await until(async () => (await server.operator.send('readWebhook', webhook('ops'))).data.failingSince !== null);
  return items[0]?.eventId ?? '';
}
