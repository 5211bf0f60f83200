/**
 * GET /usage/summary: its sums are those of GET /calls over the same calls, to the nano-USD, in every dimension, time
 * zone and filter. That nothing counts twice, whatever is sent again, rewritten or deleted: ledger-model.test.ts.
 */

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { GROUPS_MAX } from '../../src/contract/usage-summary.ts';
import { asCustomerId, type CustomerId } from '../../src/domain/ids.ts';
import type { ProjectionPage } from '../../src/objects/projection-page.ts';
import { customerProjector } from '../../src/objects/projectors.ts';
import { type Course, readUsageCourse } from '../../src/readings/usage/course.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { writeReportHours } from '../support/history.ts';
import { customerKey } from '../support/ids.ts';
import { chance } from '../support/series.ts';
import { bindings, deliverToD1, fireProjectors, operator, storePage } from '../support/worker.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Clocks in Europe go back on the 31st, those in America a week later, on the 7th. */
const START = Date.UTC(2027, 9, 27, 20);
const CALLS = 240;
const STEP = 1.2 * HOUR;
const END = START + CALLS * STEP;
const PERIOD = { from: '2027-10-20', to: '2027-11-20' };

/** Twenty premium calls are included; credit pays for the rest, and a customer without any is denied. */
const PLAN = {
  name: 'P',
  limitType: 'BLOCK',
  limits: { premiumCalls: 20 },
  payg: { enabled: true, markupPercent: 15 },
};
const CUSTOMERS = ['alpha', 'beta', 'ünï/4 ∆'] as const;

/** A sent call and its result, according to GET /calls. */
interface Fact {
  customerId: string;
  feature: string | null;
  model: string | null;
  provider: string | null;
  status: string;
  endMs: number;
  costNanoUsd: bigint;
  unpriced: boolean;
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  searches: number;
}

let tenant: Tenant;
let other: Tenant;
let facts: Fact[];
/** Ends as they were sent. */
const ends: { body: object; atMs: number }[] = [];

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: START - DAY });
  tenant = await createTenant(operator, PLAN);
  other = await createTenant(operator, PLAN);
  const params = { org: tenant.organizationId, customerId: 'alpha' };
  await tenant.api.send('provisionCustomer', { body: { customerId: 'alpha' } });
  await operator.send('grantCredit', { params, body: { kind: 'USD', amountUsd: '10000' } });
  const sent = await makeCalls();
  vi.setSystemTime(END + 3 * DAY);
  await deliverAll();
  facts = [];
  for (const [callId, { feature, end }] of sent) facts.push(await factOf(callId, feature, end));
});
afterAll(() => {
  vi.useRealTimers();
});

type Sent = Map<string, { feature: string | null; end: Record<string, number> | null }>;

/** Random calls over twelve days: priced and not, failed, denied, never ended, ended late, in batches. */
async function makeCalls(): Promise<Sent> {
  const { pick, uniform, between } = chance(20_271_027);
  const some = (max: number) => Math.floor(between(0, max));
  const sent: Sent = new Map();
  const late: (() => Promise<void>)[] = [];
  for (let n = 0; n < CALLS; n += 1) {
    const beginMs = START + n * STEP;
    vi.setSystemTime(beginMs);
    for (let due = late.length; due > 0 && uniform() < 0.5; due -= 1) await late.shift()?.();
    const customerId = pick(CUSTOMERS);
    const feature = pick(['chat', 'search', 'Chat', null]);
    const requested = pick([{ premium: true }, { standard: true }, {}]);
    const pricingMode = pick(['standard', 'standard', 'batch']);
    const callId = `sum-${n}`;
    const body = { customerId, requested, pricingMode, ...(feature && { feature }) };
    const { status } = await tenant.api.send('beginCall', { body, headers: { 'Idempotency-Key': callId } });
    expect(status).toBe(200);
    sent.set(callId, { feature, end: null });
    const denied = (await tenant.api.send('readCall', { params: { callId } })).data.status === 'NOT_ALLOWED';
    if (denied || uniform() < 0.06) continue;
    const inputTokens = some(90_000);
    const cachedInputTokens = some(inputTokens / 2);
    const responseTokens = some(4_000);
    const tokens = {
      inputTokens,
      cachedInputTokens,
      responseTokens,
      reasoningTokens: some(responseTokens),
      searches: some(3),
    };
    const modelUsed = pick([
      'gpt-4o',
      'gpt-4o-mini',
      'openai/gpt-4o',
      'claude-3-5-haiku-20241022',
      'no-such-model',
      undefined,
    ]);
    const providerUsed = modelUsed === undefined ? pick(['OpenAI', undefined]) : undefined;
    const error = uniform() < 0.15 ? { code: 'overloaded', message: 'try later' } : undefined;
    const end = { callId, ...tokens, modelUsed, providerUsed, error };
    const finish = async () => {
      expect((await tenant.api.send('endCall', { body: end })).status).toBe(200);
      sent.set(callId, { feature, end: tokens });
      ends.push({ body: end, atMs: Date.now() });
    };
    if (uniform() < 0.15) late.push(finish);
    else {
      vi.setSystemTime(beginMs + between(0, 0.4) * HOUR);
      await finish();
    }
    // D1 sees some calls while they are open, or before their charge is settled, and some only when all is over.
    if (uniform() < 0.2) await deliverAll();
  }
  vi.setSystemTime(END);
  for (const finish of late) await finish();
  return sent;
}

async function deliverAll(): Promise<void> {
  for (const customerId of CUSTOMERS) await deliverToD1(tenant.organizationId, customerId);
}

async function factOf(callId: string, feature: string | null, end: Record<string, number> | null): Promise<Fact> {
  const call = (await tenant.api.send('readCall', { params: { callId } })).data;
  const model = call.costBreakdown?.modelKey ?? call.modelUsed;
  return {
    customerId: call.customerId ?? '',
    feature,
    model,
    provider: call.costBreakdown?.provider ?? call.providerUsed?.toLowerCase() ?? null,
    status: call.status,
    endMs: Date.parse(call.endTime ?? ''),
    costNanoUsd: BigInt(call.costUsdNano ?? '0'),
    unpriced: ['COMPLETED', 'FAILED'].includes(call.status) && call.costUsdNano === null,
    inputTokens: end?.inputTokens ?? 0,
    cachedInputTokens: end?.cachedInputTokens ?? 0,
    outputTokens: end?.responseTokens ?? 0,
    reasoningTokens: end?.reasoningTokens ?? 0,
    searches: end?.searches ?? 0,
  };
}

const COUNTED = ['inputTokens', 'cachedInputTokens', 'outputTokens', 'reasoningTokens', 'searches'] as const;

/** The figures that a summary owes for these calls. */
function sumFigures(calls: readonly Fact[]) {
  const cost = calls.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n);
  return {
    calls: calls.length,
    unpricedCalls: calls.filter(({ unpriced }) => unpriced).length,
    ...Object.fromEntries(COUNTED.map((name) => [name, calls.reduce((sum, call) => sum + call[name], 0)])),
    costUSD: expect.closeTo(Number(cost) / 1e9, 9),
    costUsdNano: cost.toString(),
    // All of it is reported.
    ...{ provisionalCalls: 0, provisionalCostUSD: 0, provisionalCostUsdNano: '0' },
  };
}

const summary = async (query: Record<string, string> = PERIOD, { api }: Tenant = tenant) =>
  (await api.send('readUsageSummary', { query })).data;

describe('the totals', () => {
  test('are the sum of GET /calls over the same calls, to the nano-USD', async () => {
    const { totals, truncated } = await summary();
    expect(totals).toEqual(sumFigures(facts));
    expect(truncated).toEqual([]);
    // The subjects of the promise were present: every outcome, calls without a price, and money.
    expect(new Set(facts.map(({ status }) => status))).toEqual(
      new Set(['COMPLETED', 'FAILED', 'TIMEOUT', 'NOT_ALLOWED']),
    );
    expect(totals.unpricedCalls).toBeGreaterThan(10);
    expect(BigInt(totals.costUsdNano)).toBeGreaterThan(1_000_000_000n);
    const late = ends.filter(
      ({ atMs, body }) => atMs - (START + Number((body as { callId: string }).callId.slice(4)) * STEP) > HOUR,
    );
    expect(late.length).toBeGreaterThan(5);
  });

  test.each([
    ['byCustomer', 'customerId', ({ customerId }: Fact) => customerId],
    ['byFeature', 'feature', ({ feature }: Fact) => feature],
    ['byModel', 'model', ({ model }: Fact) => model],
    ['byProvider', 'provider', ({ provider }: Fact) => provider],
    ['byOutcome', 'outcome', ({ status }: Fact) => status],
  ] as const)('are split %s, the dearest first', async (list, name, keyOf) => {
    const groups = (await summary())[list] as ({ costUsdNano: string } & Record<string, unknown>)[];
    const keys = [...new Set(facts.map(keyOf))];
    expect(keys.length).toBeGreaterThan(2);
    expect(Object.fromEntries(groups.map(({ [name]: key, ...rest }) => [String(key), rest]))).toEqual(
      Object.fromEntries(keys.map((key) => [String(key), sumFigures(facts.filter((fact) => keyOf(fact) === key))])),
    );
    const costs = groups.map(({ costUsdNano }) => BigInt(costUsdNano));
    expect(costs).toEqual(costs.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0)));
  });

  const FILTERS: Record<string, string>[] = [
    { customerId: 'beta' },
    { feature: 'chat' },
    { customerId: 'ünï/4 ∆', feature: 'search' },
  ];

  test.each(FILTERS)(
    'of a filter, %o, equal the sums of its calls, in every dimension and on every local day',
    async (filter) => {
      const asked = facts.filter((fact) =>
        Object.entries(filter).every(([name, value]) => fact[name as keyof Fact] === value),
      );
      expect(asked.length).toBeGreaterThan(5);
      // Days that UTC cuts nowhere, in hours, and in parts of hours; of all the calls, and of some.
      const periods = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Asia/Kathmandu'].flatMap((timezone) => [
        { ...PERIOD, timezone },
        { from: '2027-10-30', to: '2027-11-02', timezone },
      ]);
      for (const period of periods) {
        const data = await summary({ ...period, ...filter });
        const hourStart = ({ endMs }: Fact) => endMs - (endMs % HOUR);
        const within =
          ({ startedAt, endedAt }: { startedAt: string; endedAt: string }) =>
          (fact: Fact) =>
            hourStart(fact) >= Date.parse(startedAt) && hourStart(fact) < Date.parse(endedAt);
        const own = asked.filter(within(data.period));
        expect(own.length).toBeGreaterThan(0);
        expect(data.totals).toEqual(sumFigures(own));
        for (const { date, ...day } of data.byDay)
          expect({ date, ...day }).toEqual({ date, ...borders(day), ...sumFigures(own.filter(within(day))) });
        const lists: (readonly [readonly Record<string, unknown>[], string, keyof Fact])[] = [
          [data.byCustomer, 'customerId', 'customerId'],
          [data.byFeature, 'feature', 'feature'],
          [data.byModel, 'model', 'model'],
          [data.byProvider, 'provider', 'provider'],
          [data.byOutcome, 'outcome', 'status'],
        ];
        for (const [groups, name, of] of lists) {
          const keys = [...new Set(own.map((fact) => fact[of]))];
          expect(groups).toHaveLength(keys.length);
          for (const key of keys) {
            expect(groups.find(({ [name]: shown }) => shown === key)).toEqual({
              [name]: key,
              ...sumFigures(own.filter((fact) => fact[of] === key)),
            });
          }
        }
      }
    },
  );

  test('of a filter that matches no call are zero, without groups', async () => {
    for (const filter of [{ customerId: 'nobody' }, { feature: 'CHAT' }] as Record<string, string>[]) {
      const { totals, byCustomer, byFeature, byModel } = await summary({ ...PERIOD, ...filter });
      expect(totals).toMatchObject({ calls: 0, costUsdNano: '0' });
      expect([byCustomer, byFeature, byModel]).toEqual([[], [], []]);
    }
  });

  test('do not include another organization', async () => {
    const mine = await summary();
    const theirs = await summary(PERIOD, other);
    expect(theirs.totals).toMatchObject({ calls: 0, costUsdNano: '0', inputTokens: 0 });
    expect([theirs.byCustomer, theirs.byModel, theirs.byOutcome]).toEqual([[], [], []]);
    await other.api.send('beginCall', { body: { customerId: 'alpha' }, headers: { 'Idempotency-Key': 'sum-0' } });
    await other.api.send('endCall', { body: { callId: 'sum-0', modelUsed: 'gpt-4o', inputTokens: 1_000 } });
    await deliverToD1(other.organizationId, 'alpha');
    expect((await summary(PERIOD, other)).totals).toMatchObject({ calls: 1, costUsdNano: '2500000' });
    expect((await summary()).totals).toEqual(mine.totals);
  });
});

const borders = ({ startedAt, endedAt }: { startedAt: string; endedAt: string }) => ({ startedAt, endedAt });

type Summed = { calls: number; unpricedCalls: number; costUsdNano: string } & Record<(typeof COUNTED)[number], number>;

function sumFacts(list: readonly Summed[]) {
  const add = (name: 'calls' | 'unpricedCalls' | (typeof COUNTED)[number]) =>
    list.reduce((sum, group) => sum + group[name], 0);
  const cost = list.reduce((sum, { costUsdNano }) => sum + BigInt(costUsdNano), 0n);
  return [add('calls'), add('unpricedCalls'), ...COUNTED.map(add), cost];
}

describe('the course of a chart', () => {
  const COURSES: { customerId?: CustomerId; feature?: string }[] = [
    {},
    { customerId: asCustomerId('beta') },
    { feature: 'chat' },
    { customerId: asCustomerId('alpha'), feature: 'search' },
  ];

  test.each(COURSES)(
    'of %o has the sums of its calls at every step, and its models and the others add up',
    async (filter) => {
      const asked = facts.filter((fact) =>
        Object.entries(filter).every(([name, value]) => fact[name as keyof Fact] === value),
      );
      const models = [...new Set(asked.map(({ model }) => model ?? ''))].slice(0, 2);
      // By day, by hour, and a period that is not over.
      for (const [fromMs, toMs, step, nowMs] of [
        [Date.UTC(2027, 9, 26), Date.UTC(2027, 10, 12), 'day', END + 9 * DAY],
        [Date.UTC(2027, 10, 1), Date.UTC(2027, 10, 3), 'hour', END + 9 * DAY],
        [Date.UTC(2027, 9, 26), Date.UTC(2027, 10, 30), 'day', END + 3 * DAY],
      ] as const) {
        const course = await readUsageCourse(
          bindings,
          tenant.organizationId,
          { fromMs, toMs, ...filter },
          models,
          nowMs,
        );
        expect(course.step).toBe(step);
        const size = step === 'day' ? DAY : HOUR;
        expect(course.startsMs).toEqual(
          Array.from(
            { length: Math.ceil((Math.min(toMs, nowMs) - fromMs) / size) },
            (_, place) => fromMs + place * size,
          ),
        );
        expect(course.isLastOpen).toBe(nowMs < toMs);
        const sumHour = (calls: readonly Fact[], startMs: number) => {
          const own = calls.filter(({ endMs }) => endMs - (endMs % size) === startMs);
          const { calls: number, inputTokens, outputTokens, costUsdNano } = sumFigures(own) as Record<string, unknown>;
          return [number, inputTokens, outputTokens, BigInt(costUsdNano as string)];
        };
        const shown = (one: Course, place: number) =>
          [one.calls, one.inputTokens, one.outputTokens, one.costNanoUsd].map((values) => values[place]);
        for (const [place, startMs] of course.startsMs.entries()) {
          expect(shown(course.all, place)).toEqual(sumHour(asked, startMs));
          for (const { model, ...own } of course.models) {
            const ofModel = asked.filter((fact) => (fact.model ?? '') === model);
            expect(shown(own, place), model).toEqual(sumHour(ofModel, startMs));
          }
          const rest = asked.filter(({ model }) => !models.includes(model ?? ''));
          expect(shown(course.others, place)).toEqual(sumHour(rest, startMs));
          expect(shown(course.before, place)).toEqual(sumHour(asked, startMs - (toMs - fromMs)));
        }
      }
      expect(asked.length).toBeGreaterThan(5);
    },
  );
});

describe('the days', () => {
  const ZONES: [string, number][] = [
    ['UTC', 24],
    // The last Sunday of October has 25 hours if the clock goes back by one.
    ['Europe/Berlin', 25],
    ['Asia/Kolkata', 24],
    ['Asia/Kathmandu', 24],
    ['America/St_Johns', 24],
    ['America/New_York', 24],
    ['Pacific/Kiritimati', 24],
  ];

  test.each(ZONES)('in %s have no gaps, and sum to the totals in every dimension', async (timezone, hours) => {
    const data = await summary({ ...PERIOD, timezone });
    expect(data.byDay.map(({ date }) => date)).toEqual(
      Array.from({ length: 31 }, (_, day) => new Date(Date.UTC(2027, 9, 20 + day)).toISOString().slice(0, 10)),
    );
    expect([data.byDay[0]?.startedAt, data.byDay.at(-1)?.endedAt]).toEqual([
      data.period.startedAt,
      data.period.endedAt,
    ]);
    for (const [index, { endedAt }] of data.byDay.slice(0, -1).entries())
      expect(data.byDay[index + 1]?.startedAt).toBe(endedAt);
    const sunday = data.byDay.find(({ date }) => date === '2027-10-31');
    expect((Date.parse(sunday?.endedAt ?? '') - Date.parse(sunday?.startedAt ?? '')) / HOUR).toBe(hours);

    // Placed by the runtime's calendar, which the days are not made with: an hour belongs to the day in which it
    // starts.
    const local = new Intl.DateTimeFormat('en-CA', { timeZone: timezone, dateStyle: 'short' });
    for (const { date, startedAt: _, endedAt: __, ...day } of data.byDay) {
      const own = facts.filter(({ endMs }) => local.format(endMs - (endMs % HOUR)) === date);
      expect(day, `${timezone} ${date}`).toEqual(sumFigures(own));
    }
    for (const list of [data.byDay, data.byCustomer, data.byFeature, data.byModel, data.byProvider, data.byOutcome]) {
      expect(sumFacts(list)).toEqual(sumFacts([data.totals]));
    }
    expect(data.totals).toEqual(sumFigures(facts));
  });

  test.each(['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'Asia/Kathmandu'])(
    'of filtered calls in %s agree with every dimension',
    async (timezone) => {
      const data = await summary({ from: '2027-10-30', to: '2027-11-02', timezone });
      const [fromMs, toMs] = [Date.parse(data.period.startedAt), Date.parse(data.period.endedAt)];
      const own = facts.filter(({ endMs }) => endMs - (endMs % HOUR) >= fromMs && endMs - (endMs % HOUR) < toMs);
      expect(own.length).toBeGreaterThan(20);
      expect(own.length).toBeLessThan(CALLS);
      expect(data.totals).toEqual(sumFigures(own));
      for (const list of [data.byDay, data.byCustomer, data.byFeature, data.byModel, data.byProvider, data.byOutcome]) {
        expect(sumFacts(list)).toEqual(sumFacts([data.totals]));
      }
    },
  );

  test.each([
    ['UTC', Date.UTC(2027, 10, 10, 23, 59), '2027-10-12', '2027-11-10'],
    // Already tomorrow there.
    ['Asia/Tokyo', Date.UTC(2027, 10, 10, 23, 59), '2027-10-13', '2027-11-11'],
    ['America/New_York', Date.UTC(2027, 10, 11, 4, 59), '2027-10-12', '2027-11-10'],
    ['Europe/Berlin', Date.UTC(2027, 3, 10, 12), '2027-03-12', '2027-04-10'],
  ])('are the last thirty by default, today in %s included', async (timezone, nowMs, first, last) => {
    vi.setSystemTime(nowMs);
    const { byDay } = await summary({ timezone });
    expect([byDay.length, byDay[0]?.date, byDay.at(-1)?.date]).toEqual([30, first, last]);
    vi.setSystemTime(END + 3 * DAY);
  });

  test.each([
    ['timezone', { timezone: 'Mars/Olympus' }],
    ['timezone', { timezone: '+02:00' }],
    ['from', { from: '2027-02-30' }],
    ['from', { from: '20271020' }],
    ['from', { from: '0099-01-01', to: '0099-02-01' }],
    ['from', { from: '2026-01-01', to: '2027-11-01' }],
    ['to', { to: 'tomorrow' }],
    ['to', { from: '2027-10-20', to: '2027-10-20' }],
    ['to', { from: '2027-10-20', to: '2027-10-19' }],
    ['customerId', { customerId: '' }],
    ['feature', { feature: ' ' }],
  ])('refuse %s in %j by name', async (path, query) => {
    const { status, refusal } = await tenant.api.send('readUsageSummary', { query: query as Record<string, string> });
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect((refusal.details as { path: string }[]).map((detail) => detail.path)).toContain(path);
    expect(refusal.message).toContain(`${path}: `);
  });

  test('are four hundred and one at most', async () => {
    const from = new Date(Date.UTC(2027, 10, 20) - 401 * DAY).toISOString().slice(0, 10);
    expect((await summary({ from, to: '2027-11-20' })).byDay).toHaveLength(401);
  });
});

describe('a late projection', () => {
  test('is reported: asOf is the time of the oldest undelivered change, with the age of the backlog', async () => {
    const nowMs = END + 3 * DAY;
    vi.setSystemTime(nowMs);
    expect(await summary()).toMatchObject({
      asOf: new Date(nowMs - 5_000).toISOString(),
      backlog: { customers: 0, ageSeconds: 0 },
    });
    const sinceMs = nowMs - 90_500;
    const waits = async (organizationId: string) => {
      const page = { ...customerKey(organizationId, 'behind'), subscriptionId: organizationId };
      const empty: ProjectionPage = { ...page, columns: {}, changes: [] };
      await storePage(customerProjector(bindings, 'DB', page)(), {
        ...page,
        database: 'DB',
        sinceMs,
        more: false,
        changes: 1,
        page: JSON.stringify(empty),
      });
    };
    await waits('another-organization');
    expect(await summary()).toMatchObject({ backlog: { customers: 0, ageSeconds: 0 } });
    await waits(tenant.organizationId);
    expect(await summary()).toMatchObject({
      asOf: new Date(sinceMs).toISOString(),
      backlog: { customers: 1, ageSeconds: 91 },
    });
    await fireProjectors();
    expect(await summary()).toMatchObject({
      asOf: new Date(nowMs - 5_000).toISOString(),
      backlog: { customers: 0, ageSeconds: 0 },
    });
  });
});

describe('many groups', () => {
  test(`are listed up to ${GROUPS_MAX} of a dimension, and all are in the totals`, async () => {
    const many = await createTenant(operator, PLAN);
    const hours = Array.from({ length: GROUPS_MAX + 5 }, (_, n) => ({
      customerId: `c${n % 7}`,
      atMs: Math.floor(START / HOUR) * HOUR,
      feature: `f${n}`,
      calls: 2,
      costNanoUsd: n * 1_000,
    }));
    await writeReportHours(many.organizationId, hours.slice(5));
    expect((await summary(PERIOD, many)).truncated).toEqual([]);
    await writeReportHours(many.organizationId, hours.slice(0, 5));
    const { truncated, byFeature, totals, byCustomer } = await summary(PERIOD, many);
    expect(truncated).toEqual(['feature']);
    expect(byFeature.map(({ feature }) => feature)).toEqual(
      hours
        .slice(5)
        .toReversed()
        .map(({ feature }) => feature),
    );
    expect(totals).toMatchObject({ calls: 410, costUsdNano: String((204 * 205 * 1_000) / 2) });
    expect(byCustomer).toHaveLength(7);
  });

  test.each([
    ['of all that there was', '2027-10-01', '2027-12-01'],
    ['of a part in the middle', '2027-10-28', '2027-11-05'],
    ['from a day on', '2027-11-03', '2027-12-01'],
  ])('of customers are those with the highest cost (%s), for all features and for one', async (_, from, to) => {
    const many = await createTenant(operator, PLAN);
    const { between } = chance(77);
    const shared = new Set<string>();
    // The customers with the highest cost ever had it before the period, within it, or after it. Some cost nothing, and
    // differ by calls.
    const hours = Array.from({ length: 3_000 }, (__, n) => {
      const customer = Math.floor(between(0, 260));
      const atMs = Math.floor((Date.UTC(2027, 9, 25) + (n / 3_000) * 15 * DAY) / HOUR) * HOUR;
      const heavy = customer % 3 === Math.floor(n / 1_000);
      const costNanoUsd = customer > 190 ? 0 : Math.floor(between(1, heavy ? 5_000_000 : 50_000));
      // About half are of one feature, where the customer has no such hour yet.
      const hour = `${customer} ${atMs}`;
      const feature = n % 2 === 0 && !shared.has(hour) ? 'shared' : `f${n}`;
      if (feature === 'shared') shared.add(hour);
      return { customerId: `c${customer}`, atMs, feature, calls: 1 + Math.floor(between(0, 4)), costNanoUsd };
    });
    for (let first = 0; first < hours.length; first += 500)
      await writeReportHours(many.organizationId, hours.slice(first, first + 500));
    const dearestOf = (some: typeof hours) => {
      const expected = new Map<string, { calls: number; cost: number }>();
      for (const { customerId, atMs, calls, costNanoUsd } of some) {
        if (atMs < Date.parse(from) || atMs >= Date.parse(to)) continue;
        const known = expected.get(customerId) ?? { calls: 0, cost: 0 };
        expected.set(customerId, { calls: known.calls + calls, cost: known.cost + costNanoUsd });
      }
      return [...expected].sort(([a, x], [b, y]) => y.cost - x.cost || y.calls - x.calls || (a < b ? -1 : 1));
    };
    for (const feature of [undefined, 'shared']) {
      const dearest = dearestOf(hours.filter((hour) => feature === undefined || hour.feature === feature));
      expect(dearest.length).toBeGreaterThan(GROUPS_MAX);
      const { byCustomer, truncated } = await summary({ from, to, ...(feature && { feature }) }, many);
      expect(byCustomer.map(({ customerId, calls, costUsdNano }) => [customerId, calls, costUsdNano])).toEqual(
        dearest.slice(0, GROUPS_MAX).map(([customerId, { calls, cost }]) => [customerId, calls, String(cost)]),
      );
      expect(truncated).toEqual(feature === undefined ? ['customer', 'feature'] : ['customer']);
    }
  });
});
