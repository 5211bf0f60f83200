/**
 * The mixed load of the crash suite: calls, increments, credits, plan changes and replenishments, each with its own
 * idempotency key. Each is sent until it is acknowledged, and some are sent once more after that.
 *
 * Sent and acknowledged requests are recorded by id and later compared with the state on disk.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import type { Random } from './random.ts';

const MODELS = { standard: 'gpt-4o-mini', premium: 'gpt-4o' } as const;
export const PLAN_IDS = ['plan-a', 'plan-b'] as const;

interface SentCall {
  id: string;
  customerId: string;
  premium: boolean;
  holdUsd: number;
  inputTokens: number;
  responseTokens: number;
  failed: boolean;
  /** Never ended: its reservation stays. */
  leftOpen: boolean;
  /** The cost in the acknowledged end; `null` if there was none. */
  costUsdNano: string | null;
}

interface SentIncrement {
  id: string;
  customerId: string;
  amount: number;
  /** The id of the acknowledged increment. */
  eventId: string | null;
}

interface SentGrant {
  id: string;
  customerId: string;
  unit: 'USD' | 'CUSTOM1';
  /** Nano-USD, or units. */
  amount: bigint;
  creditId: string | null;
}

/** The state of a customer's subscription after the changes that were acknowledged, one after the other. */
interface SentSubscription {
  planId: string;
  version: number;
}

export interface Sent {
  calls: Map<string, SentCall>;
  increments: Map<string, SentIncrement>;
  grants: Map<string, SentGrant>;
  subscriptions: Map<string, SentSubscription>;
  /** Keys of provisionings, and their customers. */
  provisionings: Map<string, string>;
  /** Answers that must never come: each is a loss, or contradicts an earlier answer. */
  violations: string[];
  counts: { requests: number; unanswered: number; replays: number };
}

export interface LoadOptions {
  url: string;
  apiKey: string;
  operatorToken: string;
  organizationId: string;
  /** Begins every id, so that no two organizations have the same. */
  prefix: string;
  customers: readonly string[];
  workers: number;
  random: Random;
}

interface Reply {
  status: number;
  replayed: boolean;
  body: { data: Record<string, unknown>; error?: { code: string } };
}

/** The refusal of a credit to a customer who has as many as can be. */
const CREDITS_FULL = 'CONFLICT';
/** Acknowledged requests that are sent once more. */
const REPLAY_SHARE = 0.1;
const RETRY_MS = 40;
/** Longer than any restart: a request that is not answered by then never will be. */
const GIVE_UP_MS = 120_000;
const REQUEST_MS_MAX = 10_000;

export class Load {
  readonly sent: Sent;
  readonly #options: LoadOptions;
  #serial = 0;
  #stopping = false;
  #workers: Promise<unknown> = Promise.resolve();

  constructor(options: LoadOptions) {
    this.#options = options;
    this.sent = {
      calls: new Map(),
      increments: new Map(),
      grants: new Map(),
      subscriptions: new Map(options.customers.map((id) => [id, { planId: PLAN_IDS[0], version: 1 }])),
      provisionings: new Map(options.customers.map((id) => [`new-${id}`, id])),
      violations: [],
      counts: { requests: 0, unanswered: 0, replays: 0 },
    };
  }

  /** Provisions the customers; to be awaited before the load starts. */
  async provision(): Promise<void> {
    for (const [key, customerId] of this.sent.provisionings)
      await this.#deliver('POST', '/customers', key, { customerId });
  }

  start(): void {
    const { workers } = this.#options;
    const work = async (step: () => Promise<void>) => {
      while (!this.#stopping) await step();
    };
    // Only one worker changes subscriptions, so that the expected result is known.
    const all = [
      work(() => this.#changeSubscription()),
      ...Array.from({ length: workers }, () => work(() => this.#step())),
    ];
    this.#workers = Promise.all(all);
  }

  /** No new operations; resolves when all that were begun are acknowledged. */
  async finish(): Promise<void> {
    this.#stopping = true;
    await this.#workers;
  }

  #step(): Promise<void> {
    const chance = this.#options.random.next();
    if (chance < 0.55) return this.#call();
    return chance < 0.88 ? this.#increment() : this.#grant();
  }

  #nextId(kind: string): { id: string; customerId: string } {
    this.#serial += 1;
    return {
      id: `${this.#options.prefix}-${kind}-${this.#serial}`,
      customerId: this.#options.random.pick(this.#options.customers),
    };
  }

  async #call(): Promise<void> {
    const { random } = this.#options;
    const call: SentCall = {
      ...this.#nextId('call'),
      premium: random.chance(0.4),
      holdUsd: random.pick([0, 0, 0.0001, 0.01]),
      inputTokens: 1 + random.below(5_000),
      responseTokens: 1 + random.below(500),
      failed: random.chance(0.1),
      leftOpen: random.chance(0.03),
      costUsdNano: null,
    };
    this.sent.calls.set(call.id, call);
    const { id, customerId, premium, holdUsd, inputTokens, responseTokens } = call;
    await this.#deliver('POST', '/call_begin', id, {
      customerId,
      requested: premium ? { premium: true } : { standard: true },
      holdUsd,
    });
    if (call.leftOpen) return;
    if (random.chance(0.2)) await sleep(random.below(200));
    const end = {
      callId: id,
      providerUsed: 'openai',
      modelUsed: premium ? MODELS.premium : MODELS.standard,
      inputTokens,
      responseTokens,
      ...(call.failed && { error: { code: 'STOPPED', message: 'the vendor stopped' } }),
    };
    const data = await this.#deliver('POST', '/call_end', id, end);
    call.costUsdNano = (data.costUsdNano as string | undefined) ?? null;
  }

  async #increment(): Promise<void> {
    const increment: SentIncrement = {
      ...this.#nextId('unit'),
      amount: 1 + this.#options.random.below(4),
      eventId: null,
    };
    this.sent.increments.set(increment.id, increment);
    const { id, customerId, amount } = increment;
    // The feature carries the id to the place of the comparison.
    const data = await this.#deliver('POST', '/custom_meter', id, {
      customerId,
      meterSlot: 'CUSTOM1',
      amount,
      feature: id,
    });
    increment.eventId = data.eventId as string;
  }

  async #grant(): Promise<void> {
    const { random, organizationId } = this.#options;
    const usd = random.chance(0.6);
    const units = 1 + random.below(20);
    const grant: SentGrant = {
      ...this.#nextId('grant'),
      unit: usd ? 'USD' : 'CUSTOM1',
      amount: usd ? BigInt(units) * 1_000_000n : BigInt(units),
      creditId: null,
    };
    this.sent.grants.set(grant.id, grant);
    const terms = usd
      ? { kind: 'USD', amountUsd: (units / 1_000).toFixed(3) }
      : { kind: 'METER', meterSlot: 'CUSTOM1', units };
    const path = `/operator/organizations/${organizationId}/customers/${grant.customerId}/credits`;
    const data = await this.#deliver('POST', path, grant.id, { ...terms, reference: grant.id }, CREDITS_FULL);
    // A refusal must have left nothing.
    if (data.creditId === undefined) this.sent.grants.delete(grant.id);
    else grant.creditId = data.creditId as string;
  }

  async #changeSubscription(): Promise<void> {
    const { random } = this.#options;
    const { id, customerId } = this.#nextId('change');
    const known = this.sent.subscriptions.get(customerId) as SentSubscription;
    const planId = random.pick(PLAN_IDS);
    const replenishes = random.chance(0.3);
    const strategy = random.pick(['IMMEDIATE_RESET', 'IMMEDIATE_PRORATED']);
    const changes = replenishes || strategy === 'IMMEDIATE_RESET' || planId !== known.planId;
    const next = { planId: replenishes ? known.planId : planId, version: known.version + (changes ? 1 : 0) };
    this.sent.subscriptions.set(customerId, next);
    const data = replenishes
      ? await this.#deliver('POST', `/customers/${customerId}/replenish`, id, {})
      : await this.#deliver('POST', `/customers/${customerId}/change_plan`, id, { planId, strategy });
    const { subscriptionVersion } = data.subscription as { subscriptionVersion: number };
    if (subscriptionVersion !== next.version) {
      this.sent.violations.push(
        `${id}: the subscription of ${customerId} has version ${subscriptionVersion}, not ${next.version}`,
      );
    }
    await sleep(20);
  }

  /** Sends a request under its key until it is acknowledged. Some are sent again, and must be replayed. */
  async #deliver(
    method: string,
    path: string,
    key: string,
    body: object,
    expected?: string,
  ): Promise<Record<string, unknown>> {
    const reply = await this.#untilAnswered(method, path, key, body);
    if (reply.status !== 200) {
      if (reply.body.error?.code === expected) return {};
      this.sent.violations.push(`${key}: ${method} ${path} was refused: ${reply.status} ${reply.body.error?.code}`);
      return {};
    }
    if (this.#options.random.chance(REPLAY_SHARE)) {
      this.sent.counts.replays += 1;
      const again = await this.#untilAnswered(method, path, key, body);
      const same = JSON.stringify(again.body.data) === JSON.stringify(reply.body.data);
      if (!again.replayed || !same)
        this.sent.violations.push(`${key}: ${method} ${path} was acknowledged, and is not replayed`);
    }
    return reply.body.data;
  }

  async #untilAnswered(method: string, path: string, key: string, body: object): Promise<Reply> {
    const { url, apiKey, operatorToken } = this.#options;
    const bearer = path.startsWith('/operator') ? operatorToken : apiKey;
    const headers = {
      Authorization: `Bearer ${bearer}`,
      Accept: MEDIA_TYPE,
      'Content-Type': 'application/json',
      'Idempotency-Key': key,
    };
    for (const giveUpAtMs = Date.now() + GIVE_UP_MS; ; ) {
      this.sent.counts.requests += 1;
      try {
        const signal = AbortSignal.timeout(REQUEST_MS_MAX);
        const response = await fetch(url + path, { method, headers, body: JSON.stringify(body), signal });
        const answer = (await response.json()) as Reply['body'];
        const replayed = response.headers.get('Idempotency-Replayed') === 'true';
        if (response.status < 500) return { status: response.status, replayed, body: answer };
      } catch {
        // The connection went with the server.
      }
      this.sent.counts.unanswered += 1;
      if (Date.now() > giveUpAtMs) throw new Error(`${key}: nobody answered ${method} ${path}`);
      await sleep(RETRY_MS);
    }
  }
}
