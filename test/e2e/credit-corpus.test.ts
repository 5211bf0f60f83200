/**
 * No honest customer is stopped: the requests of the corpus, sent through the gateway by customers on credit at the
 * catalog's prices, reach their vendors, except those listed with a use that has no rate or no bound. No charge is
 * above its hold.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { costAtMost } from '../../src/domain/bound.ts';
import { OUTPUT_TOKENS_MAX_DEFAULT } from '../../src/domain/hold.ts';
import { boundOfCorpus, REFUSED_OF_CORPUS } from '../support/corpus-on-credit.ts';
import { planOnCredit } from '../support/credit-plans.ts';
import {
  bodyForm,
  CORPUS_DIALECTS,
  CORPUS_PATHS,
  CORPUS_UPLOADS,
  type CorpusDialect,
  type CorpusRequest,
  requestCorpus,
} from '../support/request-corpus.ts';
import { type GatewayTenant, type Setting, startGateway } from './gateway-tenant.ts';

const ON_CREDIT = planOnCredit();
const USD = 100_000;
const NANO_PER_USD = 1_000_000_000;
const AT_ONCE = 4;
/** The vendors, by the kind that a request of the corpus is for. */
const VENDORS: Record<CorpusRequest['kind'], string> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  openrouter: 'openrouter',
  compatible: 'maker',
};
let gateway: Setting;
let tenant: GatewayTenant;

beforeAll(async () => {
  gateway = await startGateway();
  tenant = await gateway.tenant(ON_CREDIT, []);
  const params = { org: tenant.organizationId };
  const { operator } = gateway.server;
  for (const [kind, provider] of Object.entries(VENDORS)) {
    const baseUrl = `${gateway.vendor.url}/${provider === 'google' ? 'v1beta' : 'v1'}`;
    // No other organization has it: requests of the corpus name files that nobody uploaded.
    const body = { apiKey: `sk-${tenant.organizationId}`, baseUrl, kind: kind as 'openai' };
    expect((await operator.send('setVendor', { params: { ...params, provider }, body })).status).toBe(200);
    const customerId = corpusCustomer(kind);
    await tenant.api.send('provisionCustomer', { body: { customerId } });
    const credit = { kind: 'USD', amountUsd: String(USD) } as const;
    const granted = await operator.send('grantCredit', { params: { ...params, customerId }, body: credit });
    expect(granted.status).toBe(200);
  }
});

afterAll(() => gateway.stop());

const corpusCustomer = (kind: string) => `corpus-${kind}`;

/** How the gateway refuses a request; `null` if it does not. */
async function sendRefused(dialect: CorpusDialect, request: CorpusRequest): Promise<string | null> {
  const { kind, model, headers, query, stream, body } = request;
  const key = `${VENDORS[kind]}/${model}`;
  const named = CORPUS_PATHS[dialect];
  const isGoogle = named.startsWith(':');
  const action = dialect === 'generateContent' && stream ? ':streamGenerateContent' : named;
  const path = isGoogle ? `/v1beta/models/${key}${action}?${stream ? 'alt=sse' : ''}` : `/v1/${named}?${query}`;
  const fields = { ...body, customer: corpusCustomer(kind), ...(!isGoogle && { model: key }) };
  const isForm = CORPUS_UPLOADS.has(dialect);
  const response = isForm
    ? await fetch(`${gateway.server.url}${path}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${tenant.key}` },
        body: bodyForm(fields),
      })
    : await tenant.send(path, { body: fields, headers });
  const text = await response.text();
  // The other statuses of the vendor or the schema do not concern credit.
  if (response.status !== 402 && response.status !== 403) return null;
  const { error } = JSON.parse(text) as { error: Record<string, string> & { details?: Record<string, unknown>[] } };
  const { reason, metadata = {} } = (error.details?.[0] ?? {}) as {
    reason?: string;
    metadata?: Record<string, string>;
  };
  return `${dialect}: ${reason ?? error.code} ${metadata.component ?? error.component}`;
}

test('requests as they are really sent reach their vendors, and are charged no more than was held', async () => {
  const refused: Record<string, number> = {};
  const heldNanoUsd: Record<string, bigint> = {};
  const queue = CORPUS_DIALECTS.flatMap((dialect) => requestCorpus(dialect).map((request) => ({ dialect, request })));
  expect(queue.length).toBeGreaterThanOrEqual(300);
  const next = queue.values();
  const send = async () => {
    for (const { dialect, request } of next) {
      const what = await sendRefused(dialect, request);
      if (what !== null) refused[what] = (refused[what] ?? 0) + 1;
      const { cost, outputTokens, answers, gap } = await boundOfCorpus(dialect, request);
      if (gap || !cost) continue;
      const tokens = Math.min(outputTokens ?? OUTPUT_TOKENS_MAX_DEFAULT, OUTPUT_TOKENS_MAX_DEFAULT) * answers;
      heldNanoUsd[request.kind] = (heldNanoUsd[request.kind] ?? 0n) + costAtMost(cost, tokens);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
  // Only the bytes of a form's file show that nothing bounds its length.
  expect(refused).toEqual({ ...REFUSED_OF_CORPUS, 'transcriptions: BOUND_UNKNOWN audioSeconds': 1 });
  for (const [kind, held] of Object.entries(heldNanoUsd)) {
    const { wallet } = await tenant.settled(corpusCustomer(kind));
    const spent = BigInt(Math.round((USD - Number(wallet.balanceUsd)) * NANO_PER_USD));
    expect([kind, spent > 0n, spent <= held]).toEqual([kind, true, true]);
  }
});
