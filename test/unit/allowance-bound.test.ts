/**
 * Promise: with one call open at a time, no meter of a plan is charged beyond its limit, whatever is asked for, if the vendor
 * keeps to the bounds that it is sent.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { beginCall, outputTokensByTier } from '../../src/domain/begin-call.ts';
import { endCall } from '../../src/domain/call.ts';
import { asCallId } from '../../src/domain/ids.ts';
import type { Capability } from '../../src/domain/plan.ts';
import type { Tier } from '../../src/domain/tiers.ts';
import { callBound } from '../../src/gateway/demand/call-bound.ts';
import { endpointAt } from '../../src/gateway/demand/endpoints.ts';
import { outputAsked, withOutputBound } from '../../src/gateway/demand/output.ts';
import { asAllowed } from '../../src/gateway/demand/safe.ts';
import { searchesMax, tokensPerAnswer } from '../../src/gateway/service-calls/output.ts';
import { rateCard } from '../support/rate-cards.ts';
import { account, plan, usage } from '../unit/fixtures.ts';

const PRICE = {
  available: true as const,
  card: rateCard({ input: '1000000', output: '1000000', webSearch: '10000000000' }),
};
const TIER: Tier = 'standard';

const searchTool = fc.record(
  { type: fc.constant('web_search_20250305'), max_uses: fc.integer({ min: 1, max: 80 }) },
  { requiredKeys: ['type'] },
);
const requests = fc.oneof(
  fc.record({
    kind: fc.constant('openai' as const),
    path: fc.constant('chat/completions'),
    body: fc.record(
      { max_completion_tokens: fc.integer({ min: 1, max: 5_000 }), n: fc.integer({ min: 1, max: 12 }) },
      { requiredKeys: [] },
    ),
  }),
  fc.record({
    kind: fc.constant('anthropic' as const),
    path: fc.constant('messages'),
    body: fc.record({ max_tokens: fc.integer({ min: 1, max: 5_000 }), tools: fc.array(searchTool, { maxLength: 3 }) }),
  }),
  fc.record({
    kind: fc.constant('openai' as const),
    path: fc.constant('responses'),
    body: fc.record(
      { max_tool_calls: fc.integer({ min: 1, max: 80 }), tools: fc.constantFrom([], [{ type: 'web_search' }]) },
      { requiredKeys: ['tools'] },
    ),
  }),
);
type Request = typeof requests extends fc.Arbitrary<infer Value> ? Value : never;

/** The account after a call whose vendor writes and searches as much as its request allows; without a bound, a lot. */
function called(from: Account, { kind, path, body }: Request, thinks: boolean): Account {
  const model = 'a-model';
  const toModel = { provider: kind, kind, model, path, body, price: PRICE, limits: {}, tier: TIER, thinks } as const;
  const opened = { allowUnpricedModels: false, creditOpen: [] };
  const bound = callBound({ ...toModel, onDowngrade: false, inSteps: false, asIs: false }, 'standard', opened);
  const needs: Capability[] = bound.uses?.webSearch === undefined ? [] : ['search'];
  const requested = { [TIER]: true, ...(needs.length > 0 && { search: true }) };
  const asked = { requested, needs, pricingMode: 'standard' as const, runsOn: [TIER] };
  const begun = beginCall(
    from,
    asCallId('c'),
    { ...asked, runsOn: [TIER] },
    { bounds: [bound], usualCharge: () => 0n },
    { deadlineAtMs: 1_000, nowMs: 0 },
  );
  if (begun.call.status === 'NOT_ALLOWED') return from;
  const { allowance } = begun.call;
  const admission = {
    ...({ callId: asCallId('c'), canceled: false, entitlementHints: begun.decision.hints } as const),
    allowed: begun.call.allowed,
    outputTokens: outputTokensByTier(begun.call),
    ...(allowance?.searches !== undefined && { searches: allowance.searches }),
  };
  const endpoint = endpointAt(path)?.name;
  if (!endpoint) throw new Error('an endpoint of the tables');
  const perAnswer = tokensPerAnswer({ tier: TIER, bound }, admission);
  const bounded = perAnswer === null ? body : withOutputBound(body, { kind, path }, perAnswer);
  const searches = searchesMax({ bound }, admission);
  const sent = asAllowed(bounded, { endpoint, kind, searches, onCredit: false }).body as Record<string, unknown>;
  const written = outputAsked(sent, path);
  const searched =
    endpoint === 'messages'
      ? (sent.tools as { max_uses?: number }[]).reduce((sum, { max_uses: uses = 1_000 }) => sum + uses, 0)
      : needs.length > 0
        ? Number(sent.max_tool_calls ?? 1_000)
        : 0;
  const used = usage({ responseTokens: (written.perAnswer ?? 1_000_000) * written.answers, searches: searched });
  return endCall(begun.account, begun.call, { usage: used, isPremium: false }, PRICE, 'charge', 1).account;
}

test('of one call after the other', () => {
  fc.assert(
    fc.property(
      fc.record({ standardTokens: fc.integer({ min: 0, max: 20_000 }), searches: fc.integer({ min: 0, max: 30 }) }),
      fc.option(fc.integer({ min: 1, max: 3_000 })),
      fc.option(fc.integer({ min: 1, max: 3_000 })),
      fc.array(fc.tuple(requests, fc.boolean()), { minLength: 1, maxLength: 12 }),
      (limits, maxOutputTokens, reserveOutputTokens, calls) => {
        const content = plan({ limits, maxOutputTokens, reserveOutputTokens });
        const after = calls.reduce((from, [request, thinks]) => called(from, request, thinks), account(content));
        const { consumed, reserved } = after.meters;
        expect(consumed.standardTokens ?? 0).toBeLessThanOrEqual(limits.standardTokens);
        expect(consumed.searches ?? 0).toBeLessThanOrEqual(limits.searches);
        expect([reserved.standardTokens ?? 0, reserved.searches ?? 0]).toEqual([0, 0]);
      },
    ),
  );
});
