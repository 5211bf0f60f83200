/**
 * The commands of calls in the money model: begin, a step of a stream, end, and a begin that is taken back.
 */

import fc from 'fast-check';
import { expect } from 'vitest';
import type { CallBound } from '../../src/domain/bound.ts';
import type { Call } from '../../src/domain/call.ts';
import { asCallId } from '../../src/domain/ids.ts';
import { tierOfPrice } from '../../src/domain/price.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { usage } from '../unit/fixtures.ts';
import { dollars, subscriptionOf, summarizeMeters, withoutId } from './money-agreement.ts';
import { afterCall, command, DAY, follow, note, type System, write } from './money-steps.ts';
import { accepted, type Clockwork } from './object.ts';
import type { ModelBound } from './reference-holds.ts';
import type { Asked, ModelCall, ModelEstimate, ReferenceModel } from './reference-model.ts';
import { CARDS, type Ending } from './reference-prices.ts';

const CALL_RETENTION_MS = 7 * DAY;

const flag = fc.constantFrom(true, true, false, undefined);
const bounds = fc
  .record({
    card: fc.option(fc.nat(CARDS.length - 1), { nil: null, freq: 9 }),
    hasTier: fc.boolean(),
    inputTokens: fc.constantFrom(0, 10, 1_000),
    outputTokens: fc.constantFrom(null, 0, 30, 64, 500, 2_000, 2_000, 2_000, 100_000),
    answers: fc.constantFrom(1, 1, 1, 2),
    inSteps: fc.constantFrom(true, true, true, false),
    fits: fc.boolean(),
  })
  .map(({ card, hasTier, inputTokens, ...bound }): ModelBound => {
    const price = card === null ? null : (CARDS[card] ?? null);
    const rate = (component: string) =>
      BigInt(price?.rates.find((each) => each.component === component)?.nanoUsdPerMillion ?? 0);
    return {
      ...bound,
      tier: hasTier && price ? tierOfPrice(price) : null,
      cost: price && { input: (rate('input') * BigInt(inputTokens)) / 1_000_000n + 18n, rate: rate('output') },
      lost: { card, inputTokens, modelUsed: 'some-model' },
    };
  });
const begins = fc.record({
  asked: fc.record({
    standard: flag,
    premium: flag,
    audio: fc.constantFrom(true, undefined),
    search: fc.constantFrom(true, undefined),
  }),
  hold: fc.constantFrom(null, null, null, '0', '0.000000001', '0.05', '0.3', '2.5'),
  batch: fc.constantFrom(false, false, false, true),
  models: fc.oneof(
    { weight: 1, arbitrary: fc.constant<ModelBound[]>([]) },
    { weight: 3, arbitrary: fc.array(bounds, { minLength: 1, maxLength: 2 }) },
  ),
  /** Whether the service makes the call itself. */
  isOurs: fc.boolean(),
  refusesHeld: fc.boolean(),
  times: fc.constantFrom(1, 1, 1, 2, 5),
});
type Beginning = typeof begins extends fc.Arbitrary<infer Value> ? Value : never;

/** As the command of a begin carries it. */
function buildBound({ cost, lost, fits, ...bound }: ModelBound): CallBound {
  return {
    ...bound,
    ...(fits && { fitsBalance: true, thinks: true }),
    cost: cost && { inputNanoUsd: cost.input.toString(), outputNanoUsdPerMillion: cost.rate.toString() },
    ...(lost && {
      ifLost: { modelUsed: lost.modelUsed, inputTokens: lost.inputTokens, price: resolved(lost.card) },
    }),
  };
}

function resolved(card: number | null): ResolvedPrice {
  const known = card === null ? undefined : CARDS[card];
  return known ? { available: true, card: known } : { available: false, reason: 'MODEL_NOT_IN_CATALOG' };
}

export const begin = command('begin', begins, (model, system, beginning) => {
  for (let time = 0; time < beginning.times; time += 1) beginOnce(model, system, beginning);
});

function beginOnce(
  model: ReferenceModel,
  system: System,
  { asked, hold, batch, models, isOurs, refusesHeld }: Beginning,
): void {
  system.serial += 1;
  const callId = `call-${system.serial}`;
  const requested = Object.fromEntries(Object.entries(asked).filter(([, wanted]) => wanted !== undefined)) as Asked;
  const request = {
    requested,
    ...(hold !== null && { holdUsd: Number(hold) }),
    pricingMode: batch ? ('batch' as const) : ('standard' as const),
  };
  const known = isOurs ? models : models.map((bound) => ({ ...bound, lost: null }));
  const begun = model.begin(callId, requested, { hold, batch, bounds: known, refusesHeld });
  const send = (more: object) => (atMs: number) => {
    const key = { source: 'explicit', callId: asCallId(callId), claimedAtMs: atMs } as const;
    return system.object.begin(callId, atMs, { ...request, ...more }, key, {
      bounds: known.map(buildBound),
      refusesHeld,
    });
  };
  const kept = { repeat: send({}), alter: send({ feature: 'other' }), isKept: afterCall(callId, 'begin') };
  const answer = write<BeginData>(system, `begin ${callId}`, kept, model.nowMs);
  if ('refused' in begun) {
    expect(answer).toMatchObject({ ok: false, refusal: { code: begun.refused } });
    expect(system.object.seen(callId)).toBeNull();
    note(
      begun.refused === 'RATE_LIMITED' ? 'call limited by its rate' : 'call to be repeated, as others hold the balance',
    );
    return;
  }
  const { call, denial } = begun;
  if (isOurs && models.length > 0) system.ours.add(callId);
  note('call denied', denial !== null);
  note('call denied for the lack of credit', denial?.code === 'CREDIT_REQUIRED');
  note('call denied, as others hold the balance', denial?.code === 'BALANCE_HELD');
  note('call on credit', call.onCredit.length > 0);
  note('hold', call.held > 0n);
  note('hold of the usual charge', call.held > 0n && hold === null && call.outputTokens === null);
  note('hold of a first step', call.steps !== null);
  note('hold that fits the balance', call.isFitted);
  const data = accepted(answer);
  const { reasoningLevel: _, ...allowed } = data.allowed;
  const { rollingCalls } = model.terms();
  expect({
    allowed,
    denial: data.denial ? { code: data.denial.code, ...(data.denial.meter && { meter: data.denial.meter }) } : null,
    tier: data.entitlementHints.suggestedModelTier,
    meters: data.meters,
    subscription: withoutId(data.subscription),
    status: system.object.call(callId, model.nowMs)?.status,
    maxResponseTokens: data.vendorHints?.maxResponseTokens,
    rolling: data.rateLimits?.rollingCalls.used,
  }).toEqual({
    allowed: call.allowed,
    denial,
    tier: call.suggested,
    meters: summarizeMeters(model),
    subscription: subscriptionOf(model),
    status: call.status,
    maxResponseTokens: model.outputBound(call, call.suggested) ?? undefined,
    rolling: rollingCalls ? model.begunInWindow() : undefined,
  });
}

const steps = fc.record({
  pick: fc.nat(),
  more: fc.constantFrom(-10, 1, 40, 64, 1_024, 1_024, 9_000, 9_000, 9_000),
  times: fc.constantFrom(1, 3),
});

/** A stream goes on: it holds more of its output, or as much as the balance allows. */
export const extend = command('extend', steps, (model, { object }, { pick, more, times }) => {
  const streams = model.openCalls().filter(({ steps }) => steps);
  const calls = streams.length > 0 ? streams : [...model.calls.values()];
  const call = calls[pick % calls.length] as ModelCall;
  for (let time = 0; time < times; time += 1) {
    const before = call.steps?.heldTokens ?? 0;
    const wanted = Math.max(0, before + more);
    const held = model.extend(call, wanted);
    expect(object.extendHold(call.callId, wanted, model.nowMs).heldTokens).toBe(held ?? 0);
    note('step', held !== null && held > before);
    note('smaller step', held !== null && held > before && held < Math.min(wanted, call.outputTokens ?? 0));
    note('step refused', held === before && wanted > before && before < (call.outputTokens ?? 0));
    note('step of a call that holds none', held === null);
  }
});

type BeginData = Extract<ReturnType<Clockwork['begin']>, { ok: true }>['data'];
type EndData = Extract<ReturnType<Clockwork['end']>, { ok: true }>['data'];

/** The choices of an ending: the call, and the known facts if the vendor reported no usage. */
interface Choice {
  pick: number;
  stripe: boolean;
  estimate: ModelEstimate | null;
}

const endings: fc.Arbitrary<Ending & Choice> = fc.record({
  pick: fc.nat(),
  stripe: fc.constantFrom(false, false, true),
  card: fc.option(fc.nat(CARDS.length - 1), { nil: null, freq: 4 }),
  modelUsed: fc.constantFrom('some-model', 'some-model', 'other-model', null),
  estimate: fc.option(
    fc.record({
      source: fc.constantFrom('partial' as const, 'estimated' as const),
      isWhole: fc.boolean(),
      outputTokensMax: fc.constantFrom(null, 40, 3_000),
      workedMs: fc.constantFrom(null, 0, 999, 1_000, 2_700),
      outputRate: fc.constantFrom(null, 100, 5_000),
    }),
    { nil: null, freq: 2 },
  ),
  isPremium: fc.constantFrom(undefined, undefined, true, false),
  failed: fc.constantFrom(false, false, false, true),
  batch: fc.constantFrom(undefined, undefined, true, false),
  used: fc
    .record({
      inputTokens: fc.constantFrom(0, 1, 999, 12_345),
      cachedTokens: fc.constantFrom(0, 1, 500),
      tokens: fc.oneof(
        { weight: 3, arbitrary: fc.constant(0) },
        { weight: 6, arbitrary: fc.nat(60) },
        { weight: 3, arbitrary: fc.nat(1_000) },
        { weight: 1, arbitrary: fc.nat(20_000) },
      ),
      searches: fc.constantFrom(0, 0, 0, 1, 2),
      audioMilli: fc.constantFrom(0, 0, 0, 1, 100, 2_345),
    })
    .map((used) => ({ ...used, cachedTokens: Math.min(used.cachedTokens, used.inputTokens) })),
});

function endRequest({ used, modelUsed, isPremium, failed, batch, stripe }: Ending & { stripe: boolean }) {
  const { inputTokens, cachedTokens: cachedInputTokens, tokens: responseTokens, searches, audioMilli } = used;
  return {
    usage: usage({ inputTokens, cachedInputTokens, responseTokens, searches, audioSeconds: audioMilli / 1000 }),
    ...(modelUsed !== null && { modelUsed }),
    ...(isPremium !== undefined && { isPremium }),
    ...(failed && { error: { code: 'vendor_error', message: 'it broke' } }),
    ...(batch !== undefined && { pricingMode: batch ? ('batch' as const) : ('standard' as const) }),
    ...(stripe && { stripeCustomerId: 'cus_override' }),
  };
}

/** Calls that an end may still be recorded for. */
function endable(model: ReferenceModel): ModelCall[] {
  const late = ({ finishedAtMs }: ModelCall) => finishedAtMs !== null && model.nowMs - finishedAtMs < CALL_RETENTION_MS;
  // test/worker/corrected-charges.test.ts tests the differences that the billing provider gets.
  const mayReplace = ({ counted }: ModelCall) => counted === null || model.stripeCustomerId === null;
  return [...model.calls.values()].filter(
    (call) => call.status === 'IN_PROGRESS' || (call.status === 'TIMEOUT' && late(call) && mayReplace(call)),
  );
}

/** Sends the end of a call: for the service's own call with its known facts, and once more, which changes nothing. */
function sendEnd(
  { nowMs }: ReferenceModel,
  system: System,
  { callId }: ModelCall,
  ending: Ending & { stripe: boolean },
  estimate: ModelEstimate | null,
): EndData {
  const price = resolved(ending.card);
  const request = endRequest(ending);
  const { object } = system;
  if (!system.ours.has(callId)) {
    const send = (more: object) => (atMs: number) => object.end(callId, atMs, { ...request, ...more }, price);
    const isKept = afterCall(callId, 'end');
    const kept = { repeat: send({}), alter: send({ providerUsed: 'other' }), isKept };
    return accepted(write<EndData>(system, `end ${callId}`, kept, nowMs));
  }
  const { usage: counted, ...facts } = request;
  const reported = { ...facts, usage: usage({ searches: counted.searches }) };
  const known = estimate && {
    source: estimate.source,
    isWhole: estimate.isWhole,
    usage: { ...counted, searches: 0 },
    price,
    ...(estimate.outputTokensMax !== null && { outputTokensMax: estimate.outputTokensMax }),
    ...(estimate.workedMs !== null && { worked: { ms: estimate.workedMs, answers: 1 } }),
    ...(estimate.outputRate !== null && { outputRate: estimate.outputRate }),
  };
  const sent = known
    ? object.endServiceCall(callId, nowMs, reported, {
        estimate: known,
        price: { available: false, reason: 'USAGE_NOT_REPORTED' },
      })
    : object.endServiceCall(callId, nowMs, request, { price });
  const before = object.seen(callId);
  expect(object.endServiceCall(callId, nowMs, { usage: usage({ responseTokens: 1 }) })).toMatchObject({ ok: true });
  expect(object.seen(callId)).toEqual(before);
  if (!sent.ok || !sent.answer) throw new Error(`refused: ${JSON.stringify(sent)}`);
  return sent.answer.data;
}

export const end = command(
  'end',
  endings,
  (model, system, { pick, stripe: wantsStripe, estimate: known, ...ending }) => {
    const calls = endable(model);
    const call = calls[pick % Math.max(1, calls.length)];
    if (!call) {
      expect(system.object.end('no-such-call', model.nowMs)).toMatchObject({
        ok: false,
        refusal: { code: 'CALL_NOT_FOUND' },
      });
      return;
    }
    const isOurs = system.ours.has(call.callId);
    // The service's own call has no customer of the billing provider, and asserts no tier.
    const stripe = wantsStripe && !isOurs;
    const estimate = isOurs ? known : null;
    const made: Ending = { ...ending, ...(isOurs && { isPremium: undefined }) };
    const was = model.settlements.get(call.callId);
    const wasLost = call.counted !== null;
    note('late end', call.status === 'TIMEOUT');
    note('estimate replaced', wasLost);
    const ended = model.end(call, made, estimate);
    note('charge of a call', ended.settlement?.status === 'PENDING');
    note('charge without a price', ended.settlement?.status === 'FAILED');
    note('charge by the hold', ended.isByHold);
    note('vendor beyond its bound', call.exceeded !== null);
    note('estimated end', call.counted?.source === 'estimated');
    note('difference that comes back', (ended.difference ?? 0n) < 0n);
    const data = sendEnd(model, system, call, { ...made, stripe }, estimate);
    const stored = system.object.call(call.callId, model.nowMs);
    const outcome = stored?.outcome as NonNullable<Call['outcome']>;
    const charged = ended.settlement?.amount ?? null;
    expect({
      status: data.status,
      costUsdNano: data.costUsdNano,
      payg: data.payg?.chargedUsd,
      basis: outcome.charge?.basis,
      tier: outcome.tier,
      took: Object.entries(outcome.consumed).sort(),
      stripe: data.stripeCustomerId,
    }).toEqual({
      status: ending.failed ? 'FAILED' : 'COMPLETED',
      costUsdNano: ended.price?.cost.toString(),
      payg: charged === null ? undefined : dollars(charged),
      basis: ended.isByHold ? 'HELD' : undefined,
      tier: ended.tier,
      took: [...ended.took].map(([meter, milli]) => [meter, Number(milli) / 1000]).sort(),
      stripe: (stripe ? 'cus_override' : model.stripeCustomerId) ?? undefined,
    });
    if (!wasLost) {
      const stripeCustomerId = stripe ? 'cus_override' : model.stripeCustomerId;
      follow(model, call.callId, ended.settlement, outcome.charge?.chargeId, stripeCustomerId);
      return;
    }
    const difference = stored?.corrections?.at(-1)?.charge;
    expect(difference?.amountNanoUsd).toBe(ended.difference?.toString());
    if (difference && ended.difference !== null)
      model.follow(difference.chargeId, call.callId, ended.difference, null, was?.chargeId ?? null);
  },
);

/** A begin whose key proves to be taken is undone at once. */
export const takeBack = command('void', fc.nat(), (model, system) => {
  const call = model.openCalls().at(-1);
  if (!call) return;
  system.object.void(call.callId, model.nowMs);
  model.void(call);
  system.writes.delete(`begin ${call.callId}`);
  expect(system.object.begin(call.callId, model.nowMs)).toMatchObject({
    ok: false,
    refusal: { code: 'IDEMPOTENCY_KEY_CONFLICT' },
  });
});
