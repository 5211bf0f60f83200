/**
 * The gateway inside workerd, with a vendor that answers as the test says.
 */

import { createExecutionContext, runInDurableObject, waitOnExecutionContext } from 'cloudflare:test';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Account } from '../../src/domain/account.ts';
import { asCallId } from '../../src/domain/ids.ts';
import { EMPTY_WALLET } from '../../src/domain/wallet.ts';
import type { Env } from '../../src/env.ts';
import { createTenant, type Tenant } from './api.ts';
import { bindings, customerStub, operator } from './worker.ts';

const app = createApp();
const PLAN = { name: 'P', limitType: 'BLOCK', reasoningLevel: 'MEDIUM', limits: { premiumCalls: 1_000 } };
export const BASE_URL = 'https://vendor.example.com/v1';

/** The parts that a vendor gets besides the parsed body. */
interface Sent {
  headers: Record<string, string>;
  text: string;
  /** The bytes of a form. */
  bytes: Uint8Array<ArrayBuffer> | null;
}
type Answers = (url: string, body: Record<string, unknown>, sent: Sent) => Response | Promise<Response>;
const silent: Answers = () => {
  throw new Error('the test does not say what the vendor answers');
};
/** Each test sets its vendor's answers. */
export const vendor = { answers: silent };

/** Call this in a test file: in each of its tests, `vendor.answers` answers the Worker's fetches. */
export function mockVendor(): void {
  beforeEach(() => {
    vendor.answers = silent;
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
      const { body, headers = {} } = (init ?? {}) as { body?: unknown; headers?: Record<string, string> };
      const text = typeof body === 'string' ? body : '{}';
      const bytes = body instanceof Uint8Array ? new Uint8Array(body) : null;
      return vendor.answers(String(url), JSON.parse(text), { headers, text, bytes });
    });
  });
  afterEach(() => vi.restoreAllMocks());
}

export async function newTenant(plan: object = PLAN): Promise<Tenant & { key: string }> {
  const tenant = await createTenant(operator, plan);
  const params = { org: tenant.organizationId };
  const set = await operator.send('setVendor', {
    params: { ...params, provider: 'openai' },
    // Its own: organizations that share a key reach only their recorded objects.
    body: { apiKey: `sk-test-${tenant.organizationId}`, baseUrl: BASE_URL },
  });
  expect(set.status).toBe(200);
  const { key } = (await operator.send('createKey', { params, body: { name: 'gateway' } })).data;
  return { ...tenant, key };
}

export const usage = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 };
export const completion = (model: unknown) => ({
  id: 'c',
  object: 'chat.completion',
  model,
  choices: [{ index: 0, message: { content: 'hi' } }],
  usage,
});
/** One completion of whatever model is asked for. */
export const answers = (_url: string, { model }: Record<string, unknown>) => Response.json(completion(model));

/** Asks the gateway; `rest` waits for the work after the answer. */
export async function ask(
  key: string,
  body: object,
  env: Env = bindings,
  path = '/v1/chat/completions',
  more: Record<string, string> = {},
) {
  const context = createExecutionContext();
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...more };
  const request = {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'gpt-5.2', messages: [{ role: 'user', content: 'x' }], ...body }),
  };
  const response = await app.request(path, request, env, context);
  return {
    response,
    callId: response.headers.get('x-service-call-id') ?? '',
    rest: () => waitOnExecutionContext(context),
  };
}

/**
 * The consumption and holds of the customer's calls, as its object knows them; empty if the customer does not exist.
 */
export const accountOf = ({ organizationId }: Tenant, customerId = 'default') =>
  runInDurableObject(customerStub(organizationId, customerId), (_, { storage }) => {
    const isThere = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'account'").toArray().length > 0;
    const rows = isThere ? storage.sql.exec<{ value: string }>('SELECT value FROM account').toArray() : [];
    const { meters, wallet }: Pick<Account, 'meters' | 'wallet'> = rows[0]
      ? (JSON.parse(rows[0].value) as Account)
      : { meters: { consumed: {}, reserved: {} }, wallet: EMPTY_WALLET };
    return { ...meters, wallet };
  });

export const readStoredCall = async ({ organizationId }: Tenant, callId: string) =>
  customerStub(organizationId, 'default').readCall(organizationId, asCallId(callId));
