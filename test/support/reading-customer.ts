/**
 * A customer with a past, on a clock that the test holds: provisioned weeks ago, with hours of known truth, and read
 * now.
 */
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { createTenant, type Tenant } from './api.ts';
import { type ObjectHour, writeObjectHours } from './history.ts';
import { customerStub, operator } from './worker.ts';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
/** A Wednesday. Clocks in Europe went forward on the Sunday before, those in America two weeks earlier. */
export const NOW = Date.UTC(2027, 2, 31, 15, 30);
export const PRESENT_HOUR = NOW - HOUR / 2;
export const TODAY = Date.UTC(2027, 2, 31);
export const CREATED = NOW - 40 * DAY;
export const PERIOD_START = '2027-03-19T15:30:00.000Z';
export const PERIOD_END = '2027-04-19T15:30:00.000Z';

export const PLAN = {
  name: 'Pro',
  limitType: 'BLOCK',
  limits: { premiumCalls: 100 },
  payg: { enabled: true, markupPercent: 20 },
  customMeters: {
    CUSTOM1: { label: 'Pages', included: 5_000, funding: { credits: true } },
    CUSTOM2: { label: 'Images', included: 10 },
    AGENTIC_API: { label: 'Requests', unlimited: true },
  },
};

export const iso = (atMs: number) => new Date(atMs).toISOString();
export const secondsTo = (at: string | null | undefined, expectedMs: number) =>
  Math.abs(Date.parse(at ?? '') - expectedMs) / 1_000;

export let tenant: Tenant;

/** To be called by a test file: its clock stands still from CREATED on, and `tenant` is there before its first test. */
export function holdTheClock(): void {
  beforeAll(async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: CREATED });
    tenant = await createTenant(operator, PLAN);
  });
  afterAll(() => {
    vi.useRealTimers();
  });
}

let serial = 0;
export interface Options {
  hours?: ObjectHour[];
  createdMs?: number;
  of?: Tenant;
}
/** A customer of `of`, with these hours, seen from NOW. */
export async function customer({ hours = [], createdMs = CREATED, of = tenant }: Options = {}) {
  serial += 1;
  const customerId = `reader-${serial}`;
  const { organizationId, api } = of;
  vi.setSystemTime(createdMs);
  expect((await api.send('provisionCustomer', { body: { customerId } })).data.newCustomer).toBe(true);
  await writeObjectHours(organizationId, customerId, hours);
  vi.setSystemTime(NOW);
  const params = { customerId };
  return {
    customerId,
    stub: customerStub(organizationId, customerId),
    context: async (query: Record<string, string> = {}) => (await api.send('readUsageContext', { params, query })).data,
    forecast: async (metric: string, query: Record<string, string> = {}) =>
      (await api.send('readForecast', { params, query: { metric, ...query } })).data,
    call: async (end: object, begin: object = { requested: { premium: true } }) => {
      serial += 1;
      const headers = { 'Idempotency-Key': `reading-${serial}` };
      const { callId } = (await api.send('beginCall', { body: { customerId, ...begin }, headers })).data;
      expect((await api.send('endCall', { body: { callId, ...end } })).status).toBe(200);
    },
    use: async (meterSlot: string, amount: number) =>
      expect((await api.send('incrementMeter', { body: { customerId, meterSlot, amount } })).status).toBe(200),
    grant: (body: object) => operator.send('grantCredit', { params: { org: organizationId, customerId }, body }),
    cancel: () => operator.send('cancelCustomer', { params: { org: organizationId, customerId } }),
  };
}

/** The same in every hour of the last `days` days, up to the present hour. */
export function everyHour(days: number, hour: Omit<ObjectHour, 'atMs'>): ObjectHour[] {
  return Array.from({ length: days * 24 }, (_, ago) => ({ ...hour, atMs: PRESENT_HOUR - (ago + 1) * HOUR }));
}
