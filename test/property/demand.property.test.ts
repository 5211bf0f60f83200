/**
 * Whatever a request asks for, credit pays for it only if its price has a rate for all that the vendor can bill, and the
 * bound of its cost is never below the bill of the worst vendor: the one that bills the most that the request allows.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CostBound, costAtMost } from '../../src/domain/bound.ts';
import { outputTokensOnCredit } from '../../src/domain/hold.ts';
import type { Plan } from '../../src/domain/plan.ts';
import { computeCost } from '../../src/domain/pricing.ts';
import { endpointAt } from '../../src/gateway/demand/endpoints.ts';
import { hasOutputBound, withOutputBound } from '../../src/gateway/demand/output.ts';
import { madeSafe } from '../../src/gateway/demand/safe.ts';
import { randomFrom } from '../crash/random.ts';
import { boundCall, type GeneratedCall, generateCall, REQUEST_FORMS } from '../support/generated-calls.ts';
import type { Json } from '../support/request-generator.ts';
import { BOUNDLESS, worstUsages } from '../support/worst-vendor.ts';

const RUNS = 3_000;
/** More tokens than any bound. */
const NOT_LOWERED = 1e9;
const PLAN = { payg: { enabled: true } } as Plan;

/** Whether the call would run on credit; and the other reason of its refusal. Throws if it can overspend. */
async function judge(call: GeneratedCall, lowered: number): Promise<string> {
  const bounded = await boundCall(call);
  if (!bounded.ok) return bounded.why;
  const { bound, form, price, request, terms, limits } = bounded;
  const { kind, model } = call;
  const onCredit = outputTokensOnCredit(bound, PLAN);
  // The balance may afford fewer than the request asks for, if the vendor can be held to it.
  const perAnswer = hasOutputBound(form.endpoint) ? Math.max(1, Math.min(onCredit, lowered)) : onCredit;
  const body = form.vendorBody(request, terms);
  const name = endpointAt(form.endpoint)?.name;
  if (name === undefined) throw new Error(`${form.endpoint} has no table`);
  const arrived = madeSafe(withOutputBound(body, { kind, path: form.endpoint }, perAnswer), name, kind).body as Json;
  const held = costAtMost(bound.cost as CostBound, perAnswer * bound.answers);
  const { contextTokens, maxOutputTokens } = limits;
  const sent = { kind, form: form === call.dialect ? call.form : ('messages' as const), model, body: arrived };
  for (const usage of worstUsages({ ...sent, contextTokens, maxOutputTokens })) {
    const priced = computeCost(price.card, usage, 'standard');
    const wrong = (what: string) =>
      new Error(`${call.form} at ${kind}: ${what} ${JSON.stringify({ usage, arrived, bound, perAnswer })}`);
    if (!priced.known) throw wrong(priced.reason);
    // A model is billed by tokens, or by its products.
    const free = priced.cost.assumptions.find((assumption) => /^(?:web|file)Search: no rate/.test(assumption));
    if (free) throw wrong(free);
    if (priced.cost.totalNanoUsd > held) throw wrong(`${priced.cost.totalNanoUsd - held} beyond ${held}`);
    if (usage.responseTokens >= BOUNDLESS) throw wrong('no bound of the output');
  }
  return 'ran';
}

test('the bound is never below the bill of the worst vendor, and nothing that runs is without a price', async () => {
  const ran = new Map<string, number>();
  const lowered = fc.oneof(fc.constant(NOT_LOWERED), fc.nat({ max: 5_000 }));
  await fc.assert(
    fc.asyncProperty(fc.noShrink(fc.nat({ max: 2 ** 31 })), lowered, async (seed, tokens) => {
      const call = generateCall(randomFrom(seed));
      if ((await judge(call, tokens)) === 'ran') ran.set(call.form, (ran.get(call.form) ?? 0) + 1);
    }),
    { numRuns: RUNS },
  );
  expect([...ran.keys()].sort()).toEqual([...REQUEST_FORMS].sort());
  expect([...ran.values()].reduce((all, times) => all + times, 0)).toBeGreaterThan(RUNS / 10);
});
