/**
 * A client of the service for tests: sends requests, and checks every answer against the contract's own schemas.
 */

import { expect } from 'vitest';
import type { z } from 'zod';
import { ErrorEnvelope, MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { type Operation, type OperationId, operations, responseSchema } from '../../src/contract/operations.ts';
import { asOrganizationId, type OrganizationId } from '../../src/domain/ids.ts';

export const OPERATOR_TOKEN = 'test-operator-token-of-at-least-32-characters';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
type Data<Id extends OperationId> = z.infer<(typeof operations)[Id]['data']>;

export interface Sent {
  /** Values of the path's parameters. */
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Reply<Id extends OperationId> {
  status: number;
  headers: Headers;
  /** The success, checked against the contract. Throws with the refusal if there is none. */
  readonly data: Data<Id>;
  /** The refusal, checked against the contract. Throws if there is none. */
  readonly refusal: { code: string; message: string; [member: string]: unknown };
  /** The whole body as it came. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  body: any;
}

export class Api {
  readonly #fetch: Fetch;
  readonly #url: string;
  readonly #key: string;

  constructor(fetcher: Fetch, url: string, key: string) {
    this.#fetch = fetcher;
    this.#url = url;
    this.#key = key;
  }

  with(key: string): Api {
    return new Api(this.#fetch, this.#url, key);
  }

  async send<Id extends OperationId>(
    id: Id,
    { params = {}, query, body, headers = {} }: Sent = {},
  ): Promise<Reply<Id>> {
    const operation: Operation = operations[id];
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    const search = query ? `?${new URLSearchParams(query)}` : '';
    const response = await this.#fetch(`${this.#url}${path}${search}`, {
      method: operation.method,
      headers: {
        Authorization: `Bearer ${this.#key}`,
        Accept: MEDIA_TYPE,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const answer = await response.json();
    return {
      status: response.status,
      headers: response.headers,
      body: answer,
      get data() {
        expect(response.status, JSON.stringify(answer)).toBe(200);
        return responseSchema(operation).parse(answer).data as Data<Id>;
      },
      get refusal() {
        expect(response.status, JSON.stringify(answer)).not.toBe(200);
        return ErrorEnvelope.parse(answer).error as { code: string; message: string };
      },
    };
  }
}

/** An organization with one plan as its default, and a key with all server scopes. */
export interface Tenant {
  organizationId: OrganizationId;
  operator: Api;
  api: Api;
}

export async function createTenant(
  operator: Api,
  plan: object = { name: 'Test', limitType: 'BLOCK' },
): Promise<Tenant> {
  const { organizationId } = (await operator.send('createOrganization', { body: { name: 'Test' } })).data;
  const params = { org: organizationId };
  expect((await operator.send('putPlan', { params: { ...params, planId: 'test' }, body: plan })).status).toBe(200);
  // The change of the organization waits until it is in force everywhere.
  const [changed, created] = await Promise.all([
    operator.send('updateOrganization', { params, body: { defaultPlanId: 'test' } }),
    operator.send('createKey', { params, body: { name: 'test' } }),
  ]);
  expect(changed.status).toBe(200);
  return { organizationId: asOrganizationId(organizationId), operator, api: operator.with(created.data.key) };
}

/** A premium call of the customer for each, all of the same usage: the same however often they are asked for. */
export async function makeCalls(api: Api, customerId: string, calls: number): Promise<void> {
  for (let call = 0; call < calls; call += 1) {
    const begin = { customerId, requested: { premium: true }, idempotencyKey: `${customerId}-${call}` };
    const { callId } = (await api.send('beginCall', { body: begin })).data;
    const body = { callId, modelUsed: 'anthropic/claude-opus-5-5', inputTokens: 10, responseTokens: 1_000 };
    expect((await api.send('endCall', { body })).status).toBe(200);
  }
}
