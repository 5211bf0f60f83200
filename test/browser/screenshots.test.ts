/**
 * Every page of the console in light and dark mode, at phone width, and in forced colours: none scrolls sideways, logs an
 * error or violates an accessibility rule. Screenshots are stored in `.state/screenshots` for people to review.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';
import { until } from '../e2e/local-server.ts';
import { violations } from './accessibility.ts';
import { launch, openPage, signIn, type Watched } from './browser.ts';
import { PRESENT_CUSTOMERS, writeHistory } from './history.ts';
import { type BrowserServer, startBrowserServer } from './server.ts';

const PICTURES = join(import.meta.dirname, '../../.state/screenshots');
const ORG = `/console/organizations/${DEMO_ORGANIZATION_ID}`;
const HISTORY_DAYS = 45;

let server: BrowserServer;
let browser: Browser;
let callId: string;
let jobPath: string;
let keyId: string;
let eventId: string;

beforeAll(async () => {
  [server, browser] = await Promise.all([startBrowserServer(), launch()]);
  await writeHistory(server.db, DEMO_ORGANIZATION_ID, HISTORY_DAYS, Date.now());
  callId = await makePresent();
  await rm(PICTURES, { recursive: true, force: true });
  await mkdir(PICTURES, { recursive: true });
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/**
 * What pages show besides the past: calls of today, credit, a second version of a plan, a sample. Answers a call's id.
 */
async function makePresent(): Promise<string> {
  const { demo, operator } = server;
  const org = DEMO_ORGANIZATION_ID;
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
      const model = index === 1 ? 'openai/gpt-6-luna' : 'anthropic/claude-opus-5-5';
      const end = { callId: begun.data.callId, providerUsed: model.split('/')[0], modelUsed: model, ...usage };
      expect((await demo.send('endCall', { body: end })).status).toBe(200);
    }
  }
  const open = await demo.send('beginCall', { body: { customerId: 'acme', feature: 'support' } });
  const params = { org, customerId: 'acme' };
  await operator.send('grantCredit', {
    params,
    body: { kind: 'USD', amountUsd: '25.00', reference: 'invoice 2026-11' },
  });
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
  jobPath = `plans/team/migrations/${job.data.jobId}`;
  keyId = (await operator.send('createKey', { params: { org }, body: { name: 'Production' } })).data.keyId;
  await operator.send('setVendor', {
    params: { org, provider: 'openai' },
    body: { apiKey: 'sk-not-a-real-key-0123456789' },
  });
  await makeWebhooks();
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
  const countOf = async (sql: string) =>
    (await server.db.prepare(`SELECT COUNT(*) AS n FROM ${sql}`).first<{ n: number }>())?.n;
  await until(async () => (await countOf('customers')) === PRESENT_CUSTOMERS.length);
  await until(
    async () => (await countOf("calls WHERE call_id NOT LIKE 'past-%'")) === 3 * PRESENT_CUSTOMERS.length + 1,
  );
  expect(open.status).toBe(200);
  const row = await server.db
    .prepare(
      "SELECT call_id FROM calls WHERE customer_id = 'acme' AND status = 'COMPLETED' AND call_id NOT LIKE 'past-%' LIMIT 1",
    )
    .first<{ call_id: string }>();
  return row?.call_id ?? '';
}

/** One webhook that is off and has all events to come, and one whose deliveries fail. */
async function makeWebhooks(): Promise<void> {
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
  eventId = items[0]?.eventId ?? '';
  const period = { from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };
  expect((await server.operator.send('replayWebhook', { ...webhook('ops'), body: period })).status).toBe(200);
  await until(async () => (await server.operator.send('readWebhook', webhook('ops'))).data.failingSince !== null);
}

const pages = (): Record<string, string> => ({
  overview: '/console',
  search: '/console/search?q=acme',
  organizations: '/console/organizations',
  'organization-new': '/console/organizations/new',
  usage: ORG,
  'usage-filtered': `${ORG}?customerId=acme&days=7`,
  anomalies: `${ORG}/anomalies`,
  alerts: `${ORG}/alerts`,
  alert: `${ORG}/alerts/${eventId}`,
  webhooks: `${ORG}/webhooks`,
  'webhook-new': `${ORG}/new-webhook`,
  webhook: `${ORG}/webhooks/ops`,
  'webhook-off': `${ORG}/webhooks/billing`,
  'webhook-edit': `${ORG}/webhooks/ops/edit`,
  'webhook-rotate': `${ORG}/webhooks/ops/rotate`,
  'webhook-replay': `${ORG}/webhooks/ops/replay`,
  'webhook-delete': `${ORG}/webhooks/ops/delete`,
  customers: `${ORG}/customers`,
  customer: `${ORG}/customers/acme`,
  'customer-calls': `${ORG}/customers/acme?tab=calls`,
  'customer-wallet': `${ORG}/customers/acme?tab=wallet`,
  'customer-changes': `${ORG}/customers/acme?tab=changes`,
  'customer-settings': `${ORG}/customers/acme?tab=settings`,
  'customer-credit': `${ORG}/customers/acme/credit`,
  'customer-plan': `${ORG}/customers/acme/plan?planId=team&strategy=IMMEDIATE_PRORATED`,
  'customer-erase': `${ORG}/customers/acme/erase`,
  calls: `${ORG}/calls`,
  call: `${ORG}/calls/${callId}`,
  plans: `${ORG}/plans`,
  plan: `${ORG}/plans/team`,
  'plan-edit': `${ORG}/plans/team/edit`,
  'plan-json': `${ORG}/plans/team/edit?as=json`,
  'plan-compare': `${ORG}/plans/team/compare`,
  migration: `${ORG}/${jobPath}`,
  keys: `${ORG}/keys`,
  'key-new': `${ORG}/keys/new`,
  key: `${ORG}/keys/${keyId}`,
  models: `${ORG}/models`,
  vendors: `${ORG}/vendors`,
  sampling: `${ORG}/sampling`,
  samples: `${ORG}/samples`,
  sample: `${ORG}/samples/sample-1`,
  compression: `${ORG}/compression`,
  settings: `${ORG}/settings`,
  catalog: '/console/catalog',
  model: '/console/catalog/models/anthropic/claude-opus-5-5',
  'catalog-publish': '/console/catalog/publish',
  events: '/console/events',
  health: '/console/health',
  'not-found': `${ORG}/customers/nobody`,
});

const LOOKS = [
  { look: 'light', width: 1440, height: 900, colorScheme: 'light', forcedColors: 'none' },
  { look: 'dark', width: 1440, height: 900, colorScheme: 'dark', forcedColors: 'none' },
  { look: 'phone', width: 360, height: 740, colorScheme: 'light', forcedColors: 'none' },
  { look: 'high-contrast', width: 1440, height: 900, colorScheme: 'dark', forcedColors: 'active' },
] as const;

describe.each(LOOKS)('$look', ({ look, width, height, colorScheme, forcedColors }) => {
  let watched: Watched;
  beforeAll(async () => {
    watched = await openPage(browser, server.url, { viewport: { width, height }, colorScheme, forcedColors });
    await watched.page.goto('/console');
    await watched.page.screenshot({ path: join(PICTURES, `sign-in.${look}.png`), fullPage: true });
    await signIn(watched.page, server.operatorToken);
  });
  afterAll(() => watched?.close());

  test('every page fits its width, logs no error, and passes axe-core', async () => {
    const { page, complaints } = watched;
    for (const [name, path] of Object.entries(pages())) {
      const response = await page.goto(path);
      expect([name, response?.status()]).toEqual([name, name === 'not-found' ? 404 : 200]);
      await page.screenshot({ path: join(PICTURES, `${name}.${look}.png`), fullPage: true });
      const overhang = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect([name, overhang]).toEqual([name, 0]);
      expect([name, await violations(page)]).toEqual([name, []]);
      expect([name, complaints]).toEqual([name, []]);
    }
  });
});
