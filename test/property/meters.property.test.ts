/**
 * The meters always add up: after any sequence of begins, ends, timeouts and late ends, they equal a ledger that merely
 * writes down every hold, return and consumption. Under BLOCK, callers that keep to their allowance never pass a limit.
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { summarizeAll, UNLIMITED_REMAINING } from '../../src/domain/allowances.ts';
import { beginCall } from '../../src/domain/begin-call.ts';
import { type Call, endCall, timeOutCall } from '../../src/domain/call.ts';
import { asCallId } from '../../src/domain/ids.ts';
import { METER_NAMES, type MeterName, type MeterSlot } from '../../src/domain/meters.ts';
import type { LimitPolicy, Plan } from '../../src/domain/plan.ts';
import type { Tier } from '../../src/domain/tiers.ts';
import { account, NOTHING_KNOWN, outputBound, plan, usage } from '../unit/fixtures.ts';

type Step =
  | { kind: 'begin'; standard: boolean; premium: boolean; search: boolean }
  | {
      kind: 'end';
      pick: number;
      isPremium: boolean;
      tokens: number;
      searches: number;
      milliseconds: number;
      failed: boolean;
    }
  | { kind: 'timeout'; pick: number }
  | { kind: 'lateEnd'; pick: number; isPremium: boolean; tokens: number };

/** How a call ends; a late end says less. */
interface Ending {
  isPremium: boolean;
  tokens: number;
  searches?: number;
  milliseconds?: number;
  failed?: boolean;
}

/** An unlimited slot, one of seven units, and one that is switched off; in thousandths. */
const CUSTOM_LIMITS: Record<MeterSlot, number | null> = { AGENTIC_API: null, CUSTOM1: 7_000, CUSTOM2: 0 };
const slot = { enabled: true, label: 'x', included: 7, unlimited: false, funding: { credits: false, payg: false } };
const customMeters = { AGENTIC_API: { ...slot, unlimited: true }, CUSTOM1: slot, CUSTOM2: { ...slot, enabled: false } };

const small = fc.nat({ max: 60 });
const limit = fc.option(fc.nat({ max: 6 }), { nil: null });
const tokenLimit = fc.option(fc.nat({ max: 200 }), { nil: null });
const plans = fc
  .record({
    limitType: fc.constantFrom<LimitPolicy>('NONE', 'BLOCK', 'DOWNGRADE'),
    reserveOutputTokens: fc.option(fc.integer({ min: 1, max: 50 }), { nil: null }),
    limits: fc.record({
      standardCalls: limit,
      premiumCalls: limit,
      standardTokens: tokenLimit,
      premiumTokens: tokenLimit,
      searches: limit,
      audioSeconds: limit,
    }),
  })
  .map((content) => plan({ ...content, customMeters }));
const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('begin' as const),
        standard: fc.boolean(),
        premium: fc.boolean(),
        search: fc.boolean(),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('end' as const),
        pick: fc.nat(),
        isPremium: fc.boolean(),
        tokens: small,
        searches: fc.nat({ max: 2 }),
        milliseconds: fc.nat({ max: 5_000 }),
        failed: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('timeout' as const), pick: fc.nat() }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('lateEnd' as const),
        pick: fc.nat(),
        isPremium: fc.boolean(),
        tokens: small,
      }),
    },
  ),
  { maxLength: 60 },
);

/** Quantities in thousandths, so that the ledger adds integers only. */
type Amounts = Map<MeterName, number>;

/** The consumption and the holds of each open call, written down and never computed from the account. */
class Ledger {
  readonly consumed: Amounts = new Map();
  readonly held = new Map<string, Amounts>();
  readonly #plan: Plan;

  constructor(content: Plan) {
    this.#plan = content;
  }

  limit(meter: MeterName): number | null {
    const slot = (
      { agenticApi: 'AGENTIC_API', customMeter1: 'CUSTOM1', customMeter2: 'CUSTOM2' } as Record<string, MeterSlot>
    )[meter];
    if (slot !== undefined) return CUSTOM_LIMITS[slot];
    const units = this.#plan.limits[meter as keyof Plan['limits']];
    return units === null ? null : units * 1000;
  }

  used(meter: MeterName): number {
    let sum = this.consumed.get(meter) ?? 0;
    for (const amounts of this.held.values()) sum += amounts.get(meter) ?? 0;
    return sum;
  }

  left(meter: MeterName): number {
    const limit = this.limit(meter);
    return limit === null ? Number.POSITIVE_INFINITY : Math.max(0, limit - this.used(meter));
  }

  /** The tiers that a request gets, worked out from the rules and this ledger alone. */
  tiers(wanted: { standard: boolean; premium: boolean; search: boolean }): Tier[] {
    const { limitType } = this.#plan;
    const open = (tier: Tier) =>
      limitType === 'NONE' || (this.left(`${tier}Calls`) > 0 && this.left(`${tier}Tokens`) > 0);
    const implied = !wanted.standard && !wanted.premium && !wanted.search;
    const premium = wanted.premium && open('premium');
    const instead = wanted.premium && !premium && limitType === 'DOWNGRADE';
    const standard = (wanted.standard || implied || instead) && open('standard');
    return [...(standard ? ['standard' as const] : []), ...(premium ? ['premium' as const] : [])];
  }

  /** Whether a request may search. */
  maySearch(wanted: { search: boolean }): boolean {
    const { limitType, features } = this.#plan;
    return wanted.search && features.search && (limitType === 'NONE' || this.left('searches') > 0);
  }

  hold(callId: string, tiers: Tier[], searches: boolean): void {
    const amounts: Amounts = new Map();
    if (searches) amounts.set('searches', 1000);
    const reserve = this.#plan.reserveOutputTokens;
    for (const tier of tiers) {
      amounts.set(`${tier}Calls`, 1000);
      if (reserve === null) continue;
      const bounded = this.#plan.limitType === 'NONE' ? Number.POSITIVE_INFINITY : this.left(`${tier}Tokens`);
      amounts.set(`${tier}Tokens`, Math.min(reserve * 1000, bounded));
    }
    this.held.set(callId, amounts);
  }

  consume(meter: MeterName, milli: number): void {
    this.consumed.set(meter, (this.consumed.get(meter) ?? 0) + milli);
  }
}

function expectBooksToAgree(current: Account, ledger: Ledger): void {
  const summaries = summarizeAll(current.subscription.plan.plan, current.meters);
  for (const meter of METER_NAMES) {
    const { used, remaining, limit, unlimited } = summaries[meter];
    expect([meter, used]).toEqual([meter, ledger.used(meter) / 1000]);
    expect(used).toBeGreaterThanOrEqual(0);
    const bound = ledger.limit(meter);
    expect([meter, limit, unlimited]).toEqual([meter, bound === null ? null : bound / 1000, bound === null]);
    expect([meter, remaining]).toEqual([meter, bound === null ? UNLIMITED_REMAINING : ledger.left(meter) / 1000]);
    // Within its limit, a meter is used up by exactly its remainder.
    if (bound !== null && ledger.used(meter) <= bound)
      expect([meter, Math.round((used + remaining) * 1000)]).toEqual([meter, bound]);
    expect(current.meters.reserved[meter] ?? 0).toBeGreaterThanOrEqual(0);
  }
}

test('used is always consumed plus reserved, and nothing is reserved once all calls have ended', () => {
  fc.assert(
    fc.property(plans, steps, (content, script) => {
      let current = account(content);
      const ledger = new Ledger(content);
      const open = new Map<string, Call>();
      const late: Call[] = [];
      const pickOpen = (pick: number) => [...open.values()][pick % Math.max(1, open.size)];

      const end = (call: Call, { isPremium, tokens, searches = 0, milliseconds = 0, failed = false }: Ending) => {
        const used = usage({ responseTokens: tokens, searches, audioSeconds: milliseconds / 1000 });
        const error = failed ? { code: 'x', message: 'y' } : undefined;
        const request = { usage: used, isPremium, error };
        ({ account: current } = endCall(
          current,
          call,
          request,
          { available: false, reason: 'MODEL_NOT_REPORTED' },
          'charge',
          2,
        ));
        const tier: Tier = isPremium ? 'premium' : 'standard';
        const modelRan = call.suggestedTier !== 'none' || used.responseTokens > 0;
        const spent = used.responseTokens + searches + milliseconds > 0;
        ledger.held.delete(call.callId);
        open.delete(call.callId);
        if (modelRan && (spent || !failed)) ledger.consume(`${tier}Calls`, 1000);
        ledger.consume(`${tier}Tokens`, used.responseTokens * 1000);
        ledger.consume('searches', searches * 1000);
        ledger.consume('audioSeconds', milliseconds);
      };
      const timeOut = (call: Call) => {
        const timedOut = timeOutCall(current, call);
        current = timedOut.account;
        late.push(timedOut.call);
        ledger.held.delete(call.callId);
        open.delete(call.callId);
      };

      for (const [index, step] of script.entries()) {
        if (step.kind === 'begin') {
          const callId = `call-${index}`;
          const { standard, premium, search } = step;
          const expected = ledger.tiers(step);
          const searches = ledger.maySearch(step);
          const begun = beginCall(
            current,
            asCallId(callId),
            { requested: { standard, premium, search }, pricingMode: 'standard' },
            NOTHING_KNOWN,
            { deadlineAtMs: 10, nowMs: 1 },
          );
          current = begun.account;
          const { allowed } = begun.call;
          expect([allowed.standard, allowed.premium, allowed.search]).toEqual([
            expected.includes('standard'),
            expected.includes('premium'),
            searches,
          ]);
          if (begun.call.status === 'IN_PROGRESS') {
            ledger.hold(callId, expected, searches);
            open.set(callId, begun.call);
          }
        } else if (step.kind === 'lateEnd') {
          const [call] = late.splice(step.pick % Math.max(1, late.length), 1);
          if (call) end(call, step);
        } else {
          const call = pickOpen(step.pick);
          if (call && step.kind === 'end') end(call, step);
          else if (call) timeOut(call);
        }
        expectBooksToAgree(current, ledger);
      }

      for (const call of [...open.values()]) timeOut(call);
      expectBooksToAgree(current, ledger);
      expect(Object.values(current.meters.reserved).every((amount) => amount === 0)).toBe(true);
    }),
    { numRuns: 300 },
  );
});

describe('under BLOCK, with callers that use the tier they were allowed', () => {
  const bounded = fc.record({
    standardCalls: fc.integer({ min: 0, max: 5 }),
    premiumCalls: fc.integer({ min: 0, max: 5 }),
    standardTokens: fc.integer({ min: 0, max: 150 }),
    premiumTokens: fc.integer({ min: 0, max: 150 }),
  });

  /** Runs the script; a caller uses the suggested tier and a share of the output tokens that it may. */
  function run(
    content: Plan,
    script: Step[],
    cappedTokens: (maxResponseTokens: number | null, wish: number) => number,
    check: (now: Account) => void,
  ) {
    let current = account(content);
    let admitted = 0;
    const open: { call: Call }[] = [];
    for (const [index, step] of script.entries()) {
      if (step.kind === 'begin') {
        const { standard, premium } = step;
        const begun = beginCall(
          current,
          asCallId(`call-${index}`),
          { requested: { standard, premium }, pricingMode: 'standard' },
          NOTHING_KNOWN,
          { deadlineAtMs: 10, nowMs: 1 },
        );
        current = begun.account;
        if (begun.call.status === 'IN_PROGRESS') {
          open.push(begun);
          admitted += 1;
        }
      } else if (step.kind !== 'lateEnd') {
        const [picked] = open.splice(step.pick % Math.max(1, open.length), 1);
        if (!picked) continue;
        if (step.kind === 'timeout') {
          current = timeOutCall(current, picked.call).account;
        } else {
          const responseTokens = cappedTokens(outputBound(picked.call), step.tokens);
          const isPremium = picked.call.suggestedTier === 'premium';
          const request = { usage: usage({ responseTokens }), isPremium };
          current = endCall(
            current,
            picked.call,
            request,
            { available: false, reason: 'MODEL_NOT_REPORTED' },
            'charge',
            2,
          ).account;
        }
      }
      check(current);
    }
    return admitted;
  }

  function expectWithin(current: Account, meters: readonly MeterName[]): void {
    const summaries = summarizeAll(current.subscription.plan.plan, current.meters);
    for (const meter of meters) {
      const { used, limit, remaining } = summaries[meter];
      expect(used, meter).toBeLessThanOrEqual(limit ?? 0);
      expect(used + remaining, meter).toBe(limit);
    }
  }

  test('a call limit is never exceeded', () => {
    fc.assert(
      fc.property(bounded, steps, (limits, script) => {
        run(
          plan({ limits }),
          script,
          (_max, wish) => wish,
          (now) => expectWithin(now, ['standardCalls', 'premiumCalls']),
        );
      }),
      { numRuns: 300 },
    );
  });

  test('a token limit is never exceeded by callers that stay within their reserved tokens', () => {
    fc.assert(
      fc.property(bounded, fc.integer({ min: 1, max: 60 }), steps, (limits, reserveOutputTokens, script) => {
        const cappedTokens = (max: number | null, wish: number) => Math.min(max ?? 0, wish);
        run(plan({ limits, reserveOutputTokens }), script, cappedTokens, (now) =>
          expectWithin(now, ['standardCalls', 'premiumCalls', 'standardTokens', 'premiumTokens']),
        );
      }),
      { numRuns: 300 },
    );
  });

  test('a limit of N allows exactly N of any number of begins', () => {
    fc.assert(
      fc.property(fc.nat({ max: 20 }), fc.integer({ min: 0, max: 40 }), (standardCalls, begins) => {
        const script = Array.from(
          { length: begins },
          () => ({ kind: 'begin', standard: true, premium: false, search: false }) as const,
        );
        const admitted = run(
          plan({ limits: { standardCalls } }),
          script,
          () => 0,
          () => {},
        );
        expect(admitted).toBe(Math.min(begins, standardCalls));
      }),
    );
  });
});
