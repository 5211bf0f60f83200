/**
 * Whatever a request asks for, credit pays for it only if its price has a rate for all that the vendor can bill, and the
 * bound of its cost is never below the bill of the worst vendor: the one that bills the most that the request allows.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BUILT_IN_CATALOG as catalog } from '../../src/catalog/built-in.ts';
import { limitsOf } from '../../src/catalog/limits.ts';
import { type OwnPrice, ownPriceKey, resolvePrice } from '../../src/catalog/prices.ts';
import { callBound } from '../../src/demand/call-bound.ts';
import { endpointAt } from '../../src/demand/endpoints.ts';
import { hasOutputBound, withOutputBound } from '../../src/demand/output.ts';
import { madeSafe } from '../../src/demand/safe.ts';
import { costAtMost } from '../../src/domain/bound.ts';
import { outputTokensOnCredit } from '../../src/domain/hold.ts';
import type { Plan } from '../../src/domain/plan.ts';
import { rateOf } from '../../src/domain/price.ts';
import { costOf } from '../../src/domain/pricing.ts';
import { formAt, type ModelRequest } from '../../src/gateway/dialects/dialect.ts';
import type { FormFile } from '../../src/platform/form-file.ts';
import { chooseEffort } from '../../src/vendors/effort.ts';
import { randomFrom } from '../crash/random.ts';
import {
  type GeneratedCall,
  type GeneratedVendor,
  generateCall,
  OWN_COMPONENTS,
  pricingOf,
  REQUEST_FORMS,
} from '../support/generated-calls.ts';
import { type Json, MadeFile } from '../support/request-generator.ts';
import { BOUNDLESS, worstUsages } from '../support/worst-vendor.ts';

const NOW = Date.UTC(2026, 10, 27);
const RUNS = 3_000;
/** More tokens than any bound. */
const NOT_LOWERED = 1e9;
const PLAN = { payg: { enabled: true } } as Plan;

const OPENED = { allowUnpricedModels: false, creditOpen: [] };
const prices = new Map<string, OwnPrice[]>();

/** Whether the call would run on credit; with what else it was refused for. Throws if it can overspend. */
async function judge(call: GeneratedCall, lowered: number): Promise<string> {
  const { dialect, provider, kind, model } = call;
  addPrice(provider, model);
  const asked = dialect.addressed?.(model, () => 'sse') ?? { model: `${provider}/${model}` };
  const parsed = dialect.operation.body.safeParse({ ...asked, ...formFiles(call.body) });
  if (!parsed.success) return 'BAD_REQUEST';
  const request = parsed.data as ModelRequest;
  const limits = limitsOf(catalog, model, NOW);
  const { contextTokens, maxOutputTokens, efforts } = limits;
  const { effort } = chooseEffort(dialect.effortAsked(request), 'HIGH', efforts);
  const terms = { model, effort, ceiling: undefined, outputTokensMax: maxOutputTokens, addsUsage: true };
  const form = formAt(dialect, kind);
  if (form.refused?.(request, terms)) return 'not translatable';
  const price = await resolvePrice(catalog, prices, { modelUsed: model, providerUsed: provider }, NOW);
  const toModel = { provider, kind, model, path: dialect.endpoint, body: request, price, limits };
  const whose = { tier: null, onDowngrade: false, inSteps: false, asIs: false };
  const bound = callBound({ ...toModel, ...whose }, 'standard', OPENED);
  if (bound.gap) return `${bound.gap.code} ${bound.gap.component}`;
  if (!bound.cost || !price.available) throw new Error('credit pays, and there is no price');

  const onCredit = outputTokensOnCredit(bound, PLAN);
  // The balance may afford fewer than the request asks for, if the vendor can be held to it.
  const perAnswer = hasOutputBound(form.endpoint) ? Math.max(1, Math.min(onCredit, lowered)) : onCredit;
  const body = form.vendorBody(request, terms);
  const name = endpointAt(form.endpoint)?.name;
  if (name === undefined) throw new Error(`${form.endpoint} has no table`);
  const arrived = madeSafe(withOutputBound(body, { kind, path: form.endpoint }, perAnswer), name, kind).body as Json;
  const held = costAtMost(bound.cost, perAnswer * bound.answers);
  const sent = { kind, form: form === dialect ? call.form : ('messages' as const), model, body: arrived };
  for (const usage of worstUsages({ ...sent, contextTokens, maxOutputTokens })) {
    const priced = costOf(price.card, usage, 'standard');
    const facts = {
      usage,
      arrived,
      card: price.card.snapshotId,
      held: bound.cost,
      answers: bound.answers,
      perAnswer,
    };
    if (!priced.known) throw new Error(`${call.form} at ${kind}: ${priced.reason} ${JSON.stringify(facts)}`);
    // A model is billed by tokens, or by what it makes.
    const free = priced.cost.assumptions.find((assumption) => /^(?:web|file)Search: no rate/.test(assumption));
    if (free) throw new Error(`${call.form} at ${kind}: ${free} ${JSON.stringify(facts)}`);
    const beyond = priced.cost.totalNanoUsd - held;
    if (beyond > 0n) throw new Error(`${call.form} at ${kind}: ${beyond} beyond ${held} ${JSON.stringify(facts)}`);
    if (usage.responseTokens >= BOUNDLESS)
      throw new Error(`${call.form} at ${kind}: no bound ${JSON.stringify(facts)}`);
  }
  return 'ran';
}

/** The operator's own price of the model. */
function addPrice(provider: GeneratedVendor, model: string): void {
  const modelKey = `${provider}/${model}`;
  const pricing = pricingOf(provider, model);
  if (pricing === 'catalog') return;
  const rates = OWN_COMPONENTS[pricing].map(({ component, usd, per, when }) => rateOf(component, usd, per, when));
  const card = { snapshotId: `own/${modelKey}@1`, provider: 'own', modelKey, rates, regionalPercent: 100 };
  prices.set(ownPriceKey(catalog, modelKey, NOW), [{ fromMs: 0, card, strict: pricing === 'strict' }]);
}

/** Files as the service has them of a form. */
function formFiles(body: Json): Json {
  const formFile = ({ name, type, content }: MadeFile): FormFile => ({
    ...{ fileName: name, contentType: type, bytes: content.byteLength, head: content.subarray(0, 64) },
  });
  const one = (value: unknown) => (value instanceof MadeFile ? formFile(value) : value);
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, Array.isArray(value) ? value.map(one) : one(value)]),
  );
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
