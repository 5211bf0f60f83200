/**
 * Promise: for 48 hours a retry gets the answer of the first request byte for byte, whatever happened meanwhile, and keeping
 * it takes at most 300 bytes of a call.
 */
import { expect, it } from 'vitest';
import { answerText } from '../../src/contract/errors.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { type Random, randomFrom } from '../crash/random.ts';
import { planOnCredit } from '../support/credit-plans.ts';
import { type Clockwork, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { NO_USAGE } from '../unit/fixtures.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2027, 0, 31, 12);
const STEPS = 250;

const PLANS = [
  { name: 'None', limitType: 'NONE' },
  {
    name: 'Block',
    limitType: 'BLOCK',
    limits: { standardCalls: 40, standardTokens: 9_000, premiumCalls: 3 },
  },
  {
    name: 'Downgrade',
    limitType: 'DOWNGRADE',
    limits: { premiumCalls: 2, searches: 5 },
  },
  { name: 'Rolling', limitType: 'BLOCK', rollingCalls: { limit: 60, windowSeconds: 600 } },
  { ...planOnCredit({ markupPercent: 15 }), customMeters: { CUSTOM1: { label: 'Pages', included: 30 } } },
];
const REQUESTS = [
  {},
  { feature: 'chat', tags: ['a', 'b'] },
  { feature: 'search "quoted" \n line', requested: { search: true } },
  { requested: { premium: true, reasoningLevel: 'HIGH' as const }, holdUsd: 0.01 },
  { requested: { standard: true, premium: true }, pricingMode: 'batch' as const },
];

/** A request that was answered, and how it is repeated. */
interface Answered {
  text: string;
  atMs: number;
  repeat: (atMs: number) => Repeatable;
}
type Repeatable =
  | { ok: true; result: { status: 'ACCEPTED'; code: string; timestamp: string }; data: unknown; replayed: boolean }
  | { ok: false; refusal: unknown };

function priceOf(random: Random): ResolvedPrice {
  if (random.chance(0.1)) return { available: false, reason: 'MODEL_NOT_REPORTED' };
  const per = random.pick(['2000000000', '333333333', '10000000000']);
  return { available: true, card: rateCard({ input: per, output: random.pick(['7000000001', '10000000000']) }) };
}

const endOf = (random: Random) => ({
  usage: { ...NO_USAGE, inputTokens: random.below(5_000), responseTokens: random.below(900) },
  modelUsed: random.pick(['openai/gpt-5.2', 'made/up']),
  ...(random.chance(0.15) && { error: { code: 'vendor_error', message: `it broke ${random.below(1_000)} times` } }),
  ...(random.chance(0.1) && { isPremium: true }),
});

/** Random calls, with everything between them that changes an account. */
function runSteps(object: Clockwork, random: Random): { answered: Answered[]; nowMs: number } {
  const answered: Answered[] = [];
  const open: string[] = [];
  const ended: string[] = [];
  const note = (atMs: number, repeat: Answered['repeat']) => {
    const answer = repeat(atMs);
    if (answer.ok) answered.push({ text: answerText(answer as never), atMs, repeat });
    return answer.ok;
  };
  let nowMs = START;
  for (let step = 0; step < STEPS; step += 1) {
    nowMs += random.pick([7, 1_003, MINUTE, 11 * MINUTE]);
    const atMs = nowMs;
    const dice = random.below(20);
    if (dice < 9) {
      const [callId, request] = [`call-${step}`, random.pick(REQUESTS)];
      if (note(atMs, (ms) => object.begin(callId, ms, request))) open.push(callId);
    } else if (dice < 16 && open.length > 0) {
      // A call that waits here for more than an hour ends late.
      const callId = open.splice(random.below(open.length), 1)[0] ?? '';
      const [report, price] = [endOf(random), priceOf(random)];
      if (note(atMs, (ms) => object.end(callId, ms, report, price))) ended.push(callId);
    } else if (dice === 16) {
      const [plan, key] = [random.pick(PLANS), `plan-${step}`];
      const strategy = random.pick(['IMMEDIATE_RESET', 'IMMEDIATE_PRORATED', 'AT_NEXT_REPLENISH'] as const);
      note(atMs, (ms) => object.changePlan(plan, strategy, ms, { key }));
    } else if (dice === 17) {
      const [amount, key] = [random.below(9) + 1, `meter-${step}`];
      note(atMs, (ms) => object.increment(amount, ms, { key }));
      object.grant('USD', BigInt(random.below(9_000_000)), atMs);
    } else if (dice === 18 && ended.length > 0) {
      const callId = random.pick(ended);
      if (random.chance(0.5)) object.reverseCall(callId, atMs);
      else object.amendCall(callId, atMs, endOf(random), priceOf(random));
    } else {
      object.housekeep(atMs);
    }
  }
  return { answered, nowMs };
}

it.each([1, 2, 3, 4, 5])('answers of random calls come back byte for byte: seed %s', async (seed) => {
  const random = randomFrom(seed);
  await withObject(PLANS[seed % PLANS.length] ?? {}, async (object) => {
    object.begin('first', START - 1);
    object.grant('USD', 50_000_000n, START);
    const { answered, nowMs } = runSteps(object, random);
    expect(answered.length).toBeGreaterThan(STEPS / 3);
    await object.restart();
    for (const { text, atMs, repeat } of answered) {
      if (atMs < nowMs - 47 * HOUR) continue;
      const again = repeat(nowMs);
      expect(again).toMatchObject({ ok: true, replayed: true });
      if (again.ok) expect(answerText(again as never)).toBe(text);
    }
  });
});

it('an answer that was stored before answers were packed is read as it is', async () => {
  await withObject({ name: 'P', limitType: 'NONE' }, async (object) => {
    const first = object.begin('a', START);
    const text = first.ok ? answerText(first) : '';
    object.query(`UPDATE calls SET begin_answer = '${text}'`);
    const again = object.begin('a', START + 1);
    expect([again.ok && again.replayed, again.ok && answerText(again)]).toEqual([true, text]);
  });
});

it('both answers of a call take at most 300 bytes, forms included', async () => {
  const plan = {
    name: 'P',
    limitType: 'DOWNGRADE',
    limits: { standardCalls: 9_000, standardTokens: 9_000_000, premiumCalls: 90 },
  };
  await withObject(plan, async (object) => {
    const calls = 1_000;
    const card = rateCard({ input: '2000000000', output: '10000000000' });
    for (let n = 0; n < calls; n += 1) {
      const callId = crypto.randomUUID();
      const usage = { ...NO_USAGE, inputTokens: 500 + ((n * 7_919) % 5_000), responseTokens: (n * 104_729) % 900 };
      object.begin(callId, START + n * 9_000, { feature: `feature-${n % 3}` });
      object.end(callId, START + n * 9_000 + 400, { usage, modelUsed: 'openai/gpt-5.2' }, { available: true, card });
    }
    const [sums] = object.query<{ answers: number; forms: number }>(`SELECT
      (SELECT SUM(length(begin_answer) + length(end_answer)) FROM calls) AS answers, (SELECT SUM(length(text)) FROM forms) AS forms`);
    const perCall = ((sums?.answers ?? 0) + (sums?.forms ?? 0)) / calls;
    expect(perCall).toBeGreaterThan(0);
    expect(perCall).toBeLessThan(300);
  });
});
