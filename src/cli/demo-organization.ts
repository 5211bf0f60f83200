/**
 * The demo organization: a Free and a Pro plan, real model mappings, the demo key of `.dev.vars`, and the vendor for
 * trying out in place of each vendor without a key.
 *
 * Everything except the key is created through the operator API. The key's value is fixed, so its row is written
 * directly.
 */
import { createHash } from 'node:crypto';
import { SERVER_SCOPES } from '../contract/scopes.ts';
import { hasChecksum } from '../platform/api-key.ts';
import { OperatorClient } from './operator-client.ts';
import type { Server } from './server.ts';

export const DEMO_ORGANIZATION_ID = '00000000-0000-4000-8000-00000000de00';

const FREE = {
  name: 'Free',
  limitType: 'BLOCK',
  reasoningLevel: 'LOW',
  limits: {
    standardCalls: 50,
    premiumCalls: 0,
    standardTokens: 50_000,
    premiumTokens: 0,
    searches: 10,
    audioSeconds: 0,
  },
  features: { audio: false, image: false, search: true },
  priceUsd: '0',
};

const PRO = {
  name: 'Pro',
  limitType: 'DOWNGRADE',
  reasoningLevel: 'HIGH',
  replenish: { every: 1, unit: 'MONTH' },
  limits: {
    standardCalls: null,
    premiumCalls: 500,
    standardTokens: null,
    premiumTokens: 1_000_000,
    searches: 200,
    audioSeconds: 3_600,
  },
  customMeters: { CUSTOM1: { label: 'Pages', included: 1_000, funding: { credits: true } } },
  priceUsd: '20',
};

const MODELS = {
  standard: ['openai/gpt-6-luna', 'google/gemini-3.8-flash', 'anthropic/claude-haiku-5-5'],
  premium: ['anthropic/claude-opus-5-5', 'openai/gpt-6-sol'],
};

/** Creates the missing parts, except the key; if everything exists, it changes nothing. */
export async function ensureDemoOrganization(url: string, operatorToken: string): Promise<void> {
  const operator = new OperatorClient(url, operatorToken);
  const path = `/operator/organizations/${DEMO_ORGANIZATION_ID}`;
  const known = await operator.send('GET', path);
  if (known.status === 404)
    await operator.demand('POST', '/operator/organizations', { name: 'Demo', organizationId: DEMO_ORGANIZATION_ID });
  const data = known.body.data as { defaultPlanId?: string | null; models?: unknown } | undefined;
  if (data?.defaultPlanId && data.models) return renewPro(operator, path);
  await Promise.all([
    operator.demand('PUT', `${path}/plans/free`, FREE),
    operator.demand('PUT', `${path}/plans/pro`, PRO),
  ]);
  await Promise.all([
    operator.demand('PATCH', path, { defaultPlanId: 'pro' }),
    operator.demand('PUT', `${path}/models`, MODELS),
  ]);
}

/**
 * An older Pro plan without a custom meter gets one, together with its customers, unless an operator changed the plan.
 */
async function renewPro(operator: OperatorClient, path: string): Promise<void> {
  const { data } = (await operator.send('GET', `${path}/plans/pro`)).body;
  const known = data as { version: number; plan: { customMeters: object } } | undefined;
  if (known?.version !== 1 || Object.keys(known.plan.customMeters).length > 0) return;
  await operator.demand('PUT', `${path}/plans/pro`, PRO);
  await operator.demand('POST', `${path}/plans/pro/migrate`, { when: 'NOW' });
}

/** Providers that the vendor for trying out replaces, with the path of its address (`VENDOR_BASE_URLS`). */
const VENDOR_PATHS = { openai: '/v1', anthropic: '/v1', google: '/v1beta/openai' };
/**
 * The vendor for trying out takes any key; the last four characters of this one, its hint, distinguish it from an own
 * key.
 */
const MADE_UP_KEY = 'any-key-answers-are-MadeUp';

/**
 * Registers the vendor for trying out as each provider without a key, and returns those. An address that an operator
 * registered stays.
 */
export async function ensureDemoVendors(url: string, operatorToken: string, vendorUrl: string): Promise<string[]> {
  const operator = new OperatorClient(url, operatorToken);
  const providers: string[] = [];
  for (const [provider, path] of Object.entries(VENDOR_PATHS)) {
    const address = `/operator/organizations/${DEMO_ORGANIZATION_ID}/vendors/${provider}`;
    const { data } = (await operator.send('GET', address)).body;
    const known = data as { baseUrl: string; keyHint: string } | undefined;
    if (known && !isForTryingOut(known, vendorUrl)) continue;
    providers.push(provider);
    const baseUrl = `${vendorUrl}${path}`;
    if (known?.baseUrl !== baseUrl) await operator.demand('PUT', address, { apiKey: MADE_UP_KEY, baseUrl });
  }
  return providers;
}

const VENDORS_LOOK_MS = 500;

/**
 * Until it is stopped, registers the vendor for trying out again as each provider whose key an operator deletes: a deletion
 * is acknowledged later than the next look, so that the next request has a vendor. It looks into the table, because requests
 * would count as the operator's.
 */
export function keepDemoVendors({ db, url }: Server, operatorToken: string, vendorUrl: string): () => void {
  const count = db
    .prepare('SELECT COUNT(*) AS found FROM vendor_credentials WHERE organization_id = ? AND provider IN (?, ?, ?)')
    .bind(DEMO_ORGANIZATION_ID, ...Object.keys(VENDOR_PATHS));
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    const found = await count.first<number>('found');
    if (found !== Object.keys(VENDOR_PATHS).length) await ensureDemoVendors(url, operatorToken, vendorUrl);
  };
  const lookAgain = (): void => {
    // A server that is busy or stopping is asked again.
    timer = setTimeout(
      () =>
        void look()
          .catch(() => undefined)
          .finally(() => timer && lookAgain()),
      VENDORS_LOOK_MS,
    );
  };
  lookAgain();
  return () => {
    clearTimeout(timer);
    timer = undefined;
  };
}

/** The same host and key; its port may have changed since the last start. */
function isForTryingOut({ baseUrl, keyHint }: { baseUrl: string; keyHint: string }, vendorUrl: string): boolean {
  return keyHint === MADE_UP_KEY.slice(-4) && new URL(baseUrl).hostname === new URL(vendorUrl).hostname;
}

/** Makes it a key of the demo organization, which must exist. */
export async function adoptDemoKey(server: Server, key: string): Promise<void> {
  const hash = createHash('sha256').update(key).digest('hex');
  await server.db
    .prepare(
      `INSERT INTO api_keys (key_id, organization_id, key_hash, prefix, hint, name, scopes, has_checksum, created_at_ms, revoked_at_ms)
       VALUES (?, ?, ?, 'utk-', ?, 'Demo key', ?, ?, ?, NULL) ON CONFLICT (key_hash) DO NOTHING`,
    )
    .bind(
      `key_demo_${hash.slice(0, 16)}`,
      DEMO_ORGANIZATION_ID,
      hash,
      key.slice(-4),
      JSON.stringify(SERVER_SCOPES),
      hasChecksum(key) ? 1 : 0,
      Date.now(),
    )
    .run();
}
