/**
 * The commands of calls in the money model: begin, end, and a begin that is taken back.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Call } from '../../src/domain/call.ts';
import { usage } from '../unit/fixtures.ts';
import { dollars, metersOf, subscriptionOf, withoutId } from './money-agreement.ts';
import { afterCall, command, DAY, follow, note, write } from './money-steps.ts';
import { accepted, type Clockwork } from './object.ts';
import type { Asked, ModelCall, ReferenceModel } from './reference-model.ts';
import { CARDS, type Ending } from './reference-prices.ts';

const CALL_RETENTION_MS = 7 * DAY;

const flag = fc.constantFrom(true, true, false, undefined);
const begins = fc.record({
  asked: fc.record({
    standard: flag,
    premium: flag,
    audio: fc.constantFrom(true, undefined),
    search: fc.constantFrom(true, undefined),
  }),
  hold: fc.constantFrom('0', '0', '0.000000001', '0.05', '0.3', '2.5'),
  batch: fc.constantFrom(false, false, false, true),
});

export const begin = command('begin', begins, (model, system, { asked, hold, batch }) => {
  system.serial += 1;
  const callId = `call-${system.serial}`;
  const requested = Object.fromEntries(Object.entries(asked).filter(([, wanted]) => wanted !== undefined)) as Asked;
  const request = { requested, holdUsd: Number(hold), pricingMode: batch ? ('batch' as const) : ('standard' as const) };
  const begun = model.begin(callId, requested, hold, batch);
  const send = (more: object) => (atMs: number) => system.object.begin(callId, atMs, { ...request, ...more });
  const kept = { repeat: send({}), alter: send({ feature: 'other' }), isKept: afterCall(callId, 'begin') };
  const answer = write<BeginData>(system, `begin ${callId}`, kept, model.nowMs);
  if ('rateLimited' in begun) {
    expect(answer).toMatchObject({ ok: false, refusal: { code: 'RATE_LIMITED' } });
    note('call limited by its rate');
    return;
  }
  note('call denied', begun.status === 'NOT_ALLOWED');
  note('call on credit', begun.onCredit.length > 0);
  note('hold', begun.held > 0n);
  const data = accepted(answer);
  const { reasoningLevel: _, ...allowed } = data.allowed;
  const { reserveOutputTokens, rollingCalls } = model.terms();
  const reserved = begun.suggested === 'none' ? undefined : begun.reserved.get(`${begun.suggested}Tokens`);
  expect({
    allowed,
    tier: data.entitlementHints.suggestedModelTier,
    meters: data.meters,
    subscription: withoutId(data.subscription),
    status: system.object.call(callId, model.nowMs)?.status,
    maxResponseTokens: data.vendorHints?.maxResponseTokens,
    rolling: data.rateLimits?.rollingCalls.used,
  }).toEqual({
    allowed: begun.allowed,
    tier: begun.suggested,
    meters: metersOf(model),
    subscription: subscriptionOf(model),
    status: begun.status,
    // A tier on credit has nothing reserved, and so no bound.
    maxResponseTokens: reserveOutputTokens === null || reserved === undefined ? undefined : Number(reserved / 1000n),
    rolling: rollingCalls ? model.begunInWindow() : undefined,
  });
});

type BeginData = Extract<ReturnType<Clockwork['begin']>, { ok: true }>['data'];
type EndData = Extract<ReturnType<Clockwork['end']>, { ok: true }>['data'];

const endings: fc.Arbitrary<Ending & { pick: number; stripe: boolean }> = fc.record({
  pick: fc.nat(),
  stripe: fc.constantFrom(false, false, true),
  card: fc.option(fc.nat(CARDS.length - 1), { nil: null, freq: 4 }),
  modelUsed: fc.boolean(),
  isPremium: fc.constantFrom(undefined, undefined, true, false),
  failed: fc.constantFrom(false, false, false, true),
  batch: fc.constantFrom(undefined, undefined, true, false),
  used: fc
    .record({
      inputTokens: fc.constantFrom(0, 1, 999, 12_345),
      cachedTokens: fc.constantFrom(0, 1, 500),
      tokens: fc.oneof(fc.constant(0), fc.nat(60), fc.nat(20_000)),
      searches: fc.constantFrom(0, 0, 0, 1, 2),
      audioMilli: fc.constantFrom(0, 0, 0, 1, 100, 2_345),
    })
    .map((used) => ({ ...used, cachedTokens: Math.min(used.cachedTokens, used.inputTokens) })),
});

function endRequest({ used, modelUsed, isPremium, failed, batch, stripe }: Ending & { stripe: boolean }) {
  const { inputTokens, cachedTokens: cachedInputTokens, tokens: responseTokens, searches, audioMilli } = used;
  return {
    usage: usage({ inputTokens, cachedInputTokens, responseTokens, searches, audioSeconds: audioMilli / 1000 }),
    ...(modelUsed && { modelUsed: 'some-model' }),
    ...(isPremium !== undefined && { isPremium }),
    ...(failed && { error: { code: 'vendor_error', message: 'it broke' } }),
    ...(batch !== undefined && { pricingMode: batch ? ('batch' as const) : ('standard' as const) }),
    ...(stripe && { stripeCustomerId: 'cus_override' }),
  };
}

/** Calls that an end may still be recorded for. */
function endable(model: ReferenceModel): ModelCall[] {
  const late = ({ finishedAtMs }: ModelCall) => finishedAtMs !== null && model.nowMs - finishedAtMs < CALL_RETENTION_MS;
  return [...model.calls.values()].filter(
    (call) => call.status === 'IN_PROGRESS' || (call.status === 'TIMEOUT' && late(call)),
  );
}

export const end = command('end', endings, (model, system, { pick, ...ending }) => {
  const calls = endable(model);
  const call = calls[pick % Math.max(1, calls.length)];
  if (!call) {
    expect(system.object.end('no-such-call', model.nowMs)).toMatchObject({
      ok: false,
      refusal: { code: 'CALL_NOT_FOUND' },
    });
    return;
  }
  const request = endRequest(ending);
  const card = ending.card === null ? undefined : CARDS[ending.card];
  const price = card
    ? ({ available: true, card } as const)
    : ({ available: false, reason: 'MODEL_NOT_IN_CATALOG' } as const);
  note('late end', call.status === 'TIMEOUT');
  const ended = model.end(call, ending);
  note('charge of a call', ended.settlement?.status === 'PENDING');
  note('charge without a price', ended.settlement?.status === 'FAILED');
  const send = (more: object) => (atMs: number) => system.object.end(call.callId, atMs, { ...request, ...more }, price);
  const isKept = afterCall(call.callId, 'end');
  const kept = { repeat: send({}), alter: send({ providerUsed: 'other' }), isKept };
  const data = accepted(write<EndData>(system, `end ${call.callId}`, kept, model.nowMs));
  const outcome = system.object.call(call.callId, model.nowMs)?.outcome as NonNullable<Call['outcome']>;
  const charged = ended.settlement?.amount ?? null;
  expect({
    status: data.status,
    costUsdNano: data.costUsdNano,
    payg: data.payg?.chargedUsd,
    tier: outcome.tier,
    took: Object.entries(outcome.consumed).sort(),
    stripe: data.stripeCustomerId,
  }).toEqual({
    status: ending.failed ? 'FAILED' : 'COMPLETED',
    costUsdNano: ended.price?.cost.toString(),
    payg: charged === null ? undefined : dollars(charged),
    tier: ended.tier,
    took: [...ended.took].map(([meter, milli]) => [meter, Number(milli) / 1000]).sort(),
    stripe: (ending.stripe ? 'cus_override' : model.stripeCustomerId) ?? undefined,
  });
  follow(
    model,
    call.callId,
    ended.settlement,
    outcome.charge?.chargeId,
    ending.stripe ? 'cus_override' : model.stripeCustomerId,
  );
});

/** A begin whose key turned out to be taken is taken back at once. */
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
