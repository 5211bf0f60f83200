/**
 * Promise: concurrent requests about one customer are answered as if they had come one after the other: each history
 * has an order in which a plain model of plans, meters and credits gives every single answer.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { Plan } from '../../src/contract/plans.ts';
import { type Random, randomFrom } from '../crash/random.ts';
import { type Api, createTenant, type Tenant } from '../support/api.ts';
import { ReferenceModel } from '../support/reference-model.ts';
import { operator } from '../support/worker.ts';
import { linearize, type Operation } from './history.ts';

const ROUNDS = 40;
const CLIENTS = 4;
const OPERATIONS_OF_A_CLIENT = 3;
const START = Date.UTC(2027, 0, 1);
const seed = Math.floor(Math.random() * 2 ** 31);

const buildPlan = (name: string, standardCalls: number, included: number) => ({
  name,
  limitType: 'BLOCK',
  limits: { standardCalls, premiumCalls: 2, standardTokens: 60 },
  customMeters: { CUSTOM1: { label: 'units', included, funding: { credits: true, payg: false } } },
});
const CONTENTS = [buildPlan('small', 3, 5), buildPlan('large', 5, 12)];
const PLANS = CONTENTS.map((content) => Plan.parse(content));
const PLAN_IDS = ['test', 'large'];

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator, CONTENTS[0]);
  const params = { org: tenant.organizationId, planId: 'large' };
  expect((await operator.send('putPlan', { params, body: CONTENTS[1] as object })).status).toBe(200);
});

type Step = { name: string; send: (api: Api) => Promise<string>; apply: (model: ReferenceModel) => string };

const used = (model: ReferenceModel, meter: 'standardCalls' | 'premiumCalls' | 'standardTokens' | 'customMeter1') =>
  Number((model.consumed(meter) + model.reserved(meter)) / 1000n);

/** The customer's reading, in the model's words. */
const readingOf = (model: ReferenceModel) =>
  JSON.stringify({
    version: model.version,
    plan: model.terms().name,
    used: [
      used(model, 'standardCalls'),
      used(model, 'premiumCalls'),
      used(model, 'standardTokens'),
      used(model, 'customMeter1'),
    ],
  });

/** Everything of the model that later answers depend on. */
const modelState = (model: ReferenceModel) =>
  `${readingOf(model)} ${model.balance('CUSTOM1')} ${model.slots.CUSTOM1.usage} ${[...model.calls.values()].map(({ callId, status }) => `${callId}${status}`).sort()}`;

type Meters = Record<string, { used: number } | undefined>;

const readStep = (name: string, customerId: string): Step => ({
  name,
  async send(api) {
    const { subscription, meters } = (await api.send('readUsage', { params: { customerId } })).data;
    const of = (meter: string) => (meters as Meters)[meter]?.used;
    const figures = [of('standardCalls'), of('premiumCalls'), of('standardTokens'), of('customMeter1')];
    return JSON.stringify({ version: subscription.subscriptionVersion, plan: subscription.planName, used: figures });
  },
  apply: readingOf,
});

function beginStep(name: string, customerId: string, premium: boolean): Step {
  return {
    name,
    async send(api) {
      const body = { customerId, requested: premium ? { premium: true } : { standard: true } };
      const { allowed, meters } = (await api.send('beginCall', { body, headers: { 'Idempotency-Key': name } })).data;
      const of = meters as Meters;
      return JSON.stringify([allowed.standard, allowed.premium, of.standardCalls?.used, of.premiumCalls?.used]);
    },
    apply(model) {
      const begun = model.begin(name, premium ? { premium: true } : { standard: true });
      if ('refused' in begun) throw new Error(`the model refused: ${begun.refused}`);
      return JSON.stringify([
        begun.call.allowed.standard,
        begun.call.allowed.premium,
        used(model, 'standardCalls'),
        used(model, 'premiumCalls'),
      ]);
    },
  };
}

/** Ends a call that the same client began; one that was denied cannot be ended. */
function endStep(name: string, callId: string, tokens: number): Step {
  return {
    name,
    async send(api) {
      const reply = await api.send('endCall', { body: { callId, isPremium: false, responseTokens: tokens } });
      if (reply.status !== 200) return reply.refusal.code;
      return JSON.stringify([reply.data.status, reply.data.metered?.tokens]);
    },
    apply(model) {
      const call = model.calls.get(callId);
      if (call?.status !== 'IN_PROGRESS') return 'CALL_ALREADY_FINALIZED';
      const amounts = { inputTokens: 0, cachedTokens: 0, tokens, searches: 0, audioMilli: 0 };
      model.end(call, {
        card: null,
        modelUsed: null,
        isPremium: false,
        failed: false,
        batch: undefined,
        used: amounts,
      });
      return JSON.stringify(['COMPLETED', tokens]);
    },
  };
}

function incrementStep(name: string, customerId: string, amount: number): Step {
  return {
    name,
    async send(api) {
      const body = { customerId, meterSlot: 'CUSTOM1', amount };
      const { blocked, meter } = (await api.send('incrementMeter', { body, headers: { 'Idempotency-Key': name } }))
        .data;
      return JSON.stringify([blocked, meter.used, meter.periodUsageBefore, meter.periodUsageAfter]);
    },
    apply(model) {
      const before = model.slots.CUSTOM1.usage;
      const { funding } = model.increment('CUSTOM1', BigInt(amount), name);
      return JSON.stringify([
        funding.unfunded > 0n,
        used(model, 'customMeter1'),
        String(before),
        String(before + BigInt(amount)),
      ]);
    },
  };
}

function grantStep(name: string, customerId: string, units: number): Step {
  return {
    name,
    async send() {
      const params = { org: tenant.organizationId, customerId };
      const body = { kind: 'METER', meterSlot: 'CUSTOM1', units };
      return String(
        (await operator.send('grantCredit', { params, body, headers: { 'Idempotency-Key': name } })).data
          .unitsRemaining,
      );
    },
    apply(model) {
      model.grant({ creditId: name, unit: 'CUSTOM1', remaining: BigInt(units), grantedAtMs: START, expiresAtMs: null });
      return String(model.balance('CUSTOM1'));
    },
  };
}

function changeStep(
  name: string,
  customerId: string,
  target: number,
  strategy: 'IMMEDIATE_RESET' | 'IMMEDIATE_PRORATED',
): Step {
  return {
    name,
    async send(api) {
      const body = { planId: PLAN_IDS[target], strategy };
      const { subscription } = (
        await api.send('changePlan', { params: { customerId }, body, headers: { 'Idempotency-Key': name } })
      ).data;
      return `${subscription.subscriptionVersion} ${subscription.planName}`;
    },
    apply(model) {
      model.changePlan(target, strategy);
      return `${model.version} ${model.terms().name}`;
    },
  };
}

function replenishStep(name: string, customerId: string): Step {
  return {
    name,
    async send(api) {
      const reply = await api.send('replenishCustomer', {
        params: { customerId },
        body: {},
        headers: { 'Idempotency-Key': name },
      });
      return String(reply.data.subscription.subscriptionVersion);
    },
    apply(model) {
      model.replenish();
      return String(model.version);
    },
  };
}

/** The operations of one client, in its order. */
function drawScript(random: Random, customerId: string, client: number): Step[] {
  const begun: string[] = [];
  return Array.from({ length: OPERATIONS_OF_A_CLIENT }, (_, index) => {
    const name = `${customerId}-${client}${index}`;
    const chance = random.next();
    const open = begun.at(-1);
    if (open !== undefined && chance < 0.4) {
      begun.pop();
      return endStep(name, open, 10 + random.below(30));
    }
    if (chance < 0.5) {
      begun.push(name);
      return beginStep(name, customerId, random.chance(0.3));
    }
    if (chance < 0.7) return incrementStep(name, customerId, 1 + random.below(5));
    if (chance < 0.78) return grantStep(name, customerId, 1 + random.below(4));
    if (chance < 0.88)
      return changeStep(name, customerId, random.below(2), random.pick(['IMMEDIATE_RESET', 'IMMEDIATE_PRORATED']));
    return chance < 0.93 ? replenishStep(name, customerId) : readStep(name, customerId);
  });
}

/** Runs the clients at the same time, and records each request and answer with its time. */
async function observe(scripts: readonly Step[][]): Promise<Operation<ReferenceModel>[]> {
  let clock = 0;
  const history: Operation<ReferenceModel>[] = [];
  const run = async (script: readonly Step[]) => {
    for (const { name, send, apply } of script) {
      clock += 1;
      const sentAt = clock;
      const observed = await send(tenant.api);
      clock += 1;
      history.push({ name, sentAt, answeredAt: clock, observed, apply });
    }
  };
  await Promise.all(scripts.map(run));
  return history;
}

const fresh = () => new ReferenceModel(PLANS, null, START);
const told = (history: readonly Operation<ReferenceModel>[]) =>
  history.map(({ name, sentAt, answeredAt, observed }) => `${sentAt}-${answeredAt} ${name}: ${observed}`).join('\n');

describe(`concurrent histories of one customer, with the seed ${seed}`, () => {
  let concurrent = 0;

  test.each(Array.from({ length: ROUNDS }, (_, round) => round))(
    'could have happened one by one: round %i',
    async (round) => {
      const random = randomFrom(seed + round);
      const customerId = `linear-${round}`;
      await tenant.api.send('provisionCustomer', { body: { customerId } });
      const scripts = Array.from({ length: CLIENTS }, (_, client) => drawScript(random, customerId, client));
      const history = [...(await observe(scripts))];
      // The last word is had by a reading that nothing is concurrent with.
      const last = readStep(`${customerId}-last`, customerId);
      const end = 2 * history.length + 1;
      history.push({ ...last, sentAt: end, answeredAt: end + 1, observed: await last.send(tenant.api) });
      const overlaps = (a: Operation<ReferenceModel>) =>
        history.some((b) => a !== b && a.sentAt < b.answeredAt && b.sentAt < a.answeredAt);
      concurrent += history.filter(overlaps).length;
      expect(linearize(history, fresh, modelState), `seed ${seed}, round ${round}\n${told(history)}`).not.toBeNull();
    },
  );

  test('overlap', () => {
    expect(concurrent).toBeGreaterThan((ROUNDS * CLIENTS * OPERATIONS_OF_A_CLIENT) / 2);
  });
});

describe('the search', () => {
  const begin = (
    name: string,
    sentAt: number,
    answeredAt: number,
    standardCalls: number,
  ): Operation<ReferenceModel> => {
    const { apply } = beginStep(name, 'any', false);
    return { name, sentAt, answeredAt, observed: JSON.stringify([true, false, standardCalls, 0]), apply };
  };

  test('finds the order of two begins that overlap', () => {
    const order = linearize([begin('a', 1, 4, 2), begin('b', 2, 3, 1)], fresh, modelState);
    expect(order?.map(({ name }) => name)).toEqual(['b', 'a']);
  });

  test('finds none if both begins claim to be the first', () => {
    expect(linearize([begin('a', 1, 4, 1), begin('b', 2, 3, 1)], fresh, modelState)).toBeNull();
  });

  test('finds none if a begin does not see one that was answered before it was sent', () => {
    expect(linearize([begin('a', 1, 2, 2), begin('b', 3, 4, 1)], fresh, modelState)).toBeNull();
  });
});
