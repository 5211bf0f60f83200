/**
 * Promise: a plan with expected holds learns the next holds of a model from the ends of its calls. It keeps a bounded
 * number of them, and an overdraft is charged, recorded and reported.
 */

import { expect, test } from 'vitest';
import { SHARED_MODELS_MAX, SHARES_LEAST, SHARES_MAX } from '../../src/domain/expected-hold.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { planOnCredit, TWO_RATES } from '../support/credit-plans.ts';
import { fundedCustomer } from '../support/customer.ts';
import { ask, completion, mockVendor, newTenant, readStoredCall, vendor } from '../support/gateway.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { operator } from '../support/worker.ts';
import { usage } from '../unit/fixtures.ts';

mockVendor();

const MODEL = 'openai/gpt-4o-mini';
const ON_CREDIT = planOnCredit({ maxOutputTokens: 4_096, holds: 'EXPECTED' });

test('through the gateway more calls run at once than their bounds would let, and what they overdraw is told', async () => {
  const tenant = await newTenant(ON_CREDIT);
  const params = { org: tenant.organizationId, modelKey: MODEL };
  expect((await operator.send('setPrice', { params, body: { components: TWO_RATES } })).status).toBe(200);
  const customer = await fundedCustomer(tenant, 'default', { usd: '0.05' });
  const held = async () => Number((await customer.wallet()).heldUsd);
  let completion_tokens = 4;
  let whileAsked = async (): Promise<void> => undefined;
  const sent = new Set<unknown>();
  vendor.answers = async (_url, { model, max_completion_tokens }) => {
    sent.add(max_completion_tokens);
    await whileAsked();
    return Response.json({ ...completion(model), usage: { prompt_tokens: 10, completion_tokens } });
  };
  for (let answers = 0; answers < SHARES_LEAST; answers += 1) {
    const { response, rest } = await ask(tenant.key, { model: MODEL });
    expect(response.status).toBe(200);
    await rest();
  }
  // Two bounds of 4,096 output tokens are more than the balance. Each holds a step.
  completion_tokens = 4_096;
  const most: number[] = [];
  const { promise: both, resolve } = Promise.withResolvers<void>();
  whileAsked = async () => {
    most.push(await held());
    if (most.length === 2) resolve();
    await both;
  };
  const asked = await Promise.all([1, 2].map(() => ask(tenant.key, { model: MODEL })));
  for (const { response, rest } of asked) {
    expect(response.status).toBe(200);
    await rest();
  }
  expect(Math.max(...most)).toBeCloseTo(2 * 1_024 * 1e-5, 9);
  expect([...sent]).toEqual([4_096]);
  await customer.settle();
  const { balanceUsd } = await customer.wallet();
  expect(Number(balanceUsd)).toBeLessThan(0);
  const [first] = asked;
  const call = await readStoredCall(tenant, first?.callId ?? '');
  expect(call?.credit).toMatchObject({ exceededNanoUsd: '10240000', expectation: { model: MODEL, isHeld: true } });
  const { items } = (await tenant.api.send('readEvents', { query: { type: 'balance.overdrawn' } })).data;
  expect(items).toMatchObject([{ type: 'balance.overdrawn', data: { customerId: 'default' } }]);
  expect((await ask(tenant.key, { model: MODEL })).response.status).toBe(402);
});

const START = Date.UTC(2039, 5, 1, 12);
const PRICE: ResolvedPrice = { available: true, card: rateCard({ input: '1000000', output: '10000000' }) };
const boundShares = (object: Clockwork) =>
  object.query<{ model: string; shares: string }>('SELECT model, shares FROM bound_shares ORDER BY ended_at_ms');

/** Calls of the model, one after the other. Each costs 1,400 of at most 41,000 nano-USD. */
function run(object: Clockwork, model: string, calls: number, atMs: number): void {
  for (let index = 0; index < calls; index += 1) {
    const callId = `${model}-${atMs}-${index}`;
    const cost = { inputNanoUsd: '1000', outputNanoUsdPerMillion: '10000000' };
    const bound = { model, tier: null, outputTokens: 4_000, answers: 1, inSteps: false, cost };
    accepted(object.begin(callId, atMs, {}, undefined, { bounds: [bound] }));
    accepted(object.end(callId, atMs, { usage: usage({ inputTokens: 900, responseTokens: 50 }) }, PRICE));
  }
}

const funded = (plan: object, steps: (object: Clockwork) => void) =>
  withObject(plan, async (object) => {
    object.begin('opens', START);
    accepted(object.grant('USD', 10_000_000_000n, START));
    steps(object);
  });

test('a model has one row, with its last hundred answers, and a customer has a bounded number of models', () =>
  funded(ON_CREDIT, (object) => {
    run(object, 'often', SHARES_MAX + 10, START);
    const [row] = boundShares(object);
    expect(JSON.parse(row?.shares ?? '')).toEqual(Array.from({ length: SHARES_MAX }, () => 34_147));
    for (let index = 0; index < SHARED_MODELS_MAX; index += 1) run(object, `model-${index}`, 1, START + 1 + index);
    const models = boundShares(object).map(({ model }) => model);
    expect([models.length, models[0], models.at(-1)]).toEqual([SHARED_MODELS_MAX, 'model-0', 'model-31']);
  }));

test('a plan with exact holds remembers nothing', () =>
  funded({ ...ON_CREDIT, payg: { enabled: true } }, (object) => {
    run(object, 'often', 30, START);
    expect(boundShares(object)).toEqual([]);
  }));

test('a begin by an estimate holds what is expected of its model, and the end of a lost call teaches nothing', () =>
  funded(ON_CREDIT, (object) => {
    run(object, 'm', SHARES_LEAST, START);
    const heldNanoUsd = (callId: string) => object.seen(callId)?.credit?.heldNanoUsd;
    const cost = { inputNanoUsd: '100000', outputNanoUsdPerMillion: '10000000' };
    const ifLost = { modelUsed: 'm', inputTokens: 100_000, price: PRICE };
    const bound = { model: 'm', tier: null, outputTokens: 90_000, answers: 1, inSteps: false, cost };
    object.begin('estimated', START, {}, undefined, { bounds: [bound] });
    // 4,096 tokens are the most of the plan: 140,960 nano-USD; 3.4 % of that are less than a step.
    expect(heldNanoUsd('estimated')).toBe('10240');
    object.begin('lost', START, {}, undefined, { bounds: [{ ...bound, ifLost }] });
    object.begin('other', START, {}, undefined, { bounds: [{ ...bound, model: 'other' }] });
    expect(heldNanoUsd('other')).toBe('140960');
    object.housekeep(START + 3_600_000);
    expect(object.seen('lost')).toMatchObject({ status: 'TIMEOUT', credit: { exceededNanoUsd: '10240' } });
    expect(JSON.parse(boundShares(object)[0]?.shares ?? '')).toHaveLength(SHARES_LEAST);
  }));
