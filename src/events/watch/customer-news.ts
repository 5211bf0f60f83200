/**
 * News from the forecasts of customers, for a bounded number of customers in a step. The customers of a day are those
 * with the highest cost in the day before.
 */
import { asCustomerId, type CustomerId } from '../../domain/ids.ts';
import type { Alerts } from '../../domain/plan.ts';
import { sumUsage } from '../../history/usage.ts';
import type { Caller } from '../../metering/caller.ts';
import { log } from '../../platform/log.ts';
import { DAY_MS, HOUR_MS } from '../../platform/time.ts';
import { type CustomerHistory, customerHistory } from '../../readings/forecast/read-forecast.ts';
import { balanceDays, COLUMNS_NEEDED, metersRunningOut } from '../../readings/forecast/running-out.ts';
import { type Found, type Look, type Memory, memoryKey, type News, type Remembered } from './look.ts';

/** The most customers of a day, and of one step: the object of each is read, and up to six forecasts are made. */
const CUSTOMERS_PER_DAY_MAX = 200;
export const CUSTOMERS_PER_STEP = 20;
/** A low balance is reported again after this time if its customer makes no call. */
const LOW_MS = 90 * DAY_MS;

/** The customers with calls in the last 24 hours, those with the highest cost first. */
export async function customersOfDay({ env, organizationId, nowMs }: Look): Promise<CustomerId[]> {
  const toMs = nowMs - (nowMs % HOUR_MS) + HOUR_MS;
  const period = { fromMs: toMs - DAY_MS, toMs };
  const { customer } = await sumUsage(env, organizationId, period, ['customer'], CUSTOMERS_PER_DAY_MAX);
  return customer.map(({ key }) => asCustomerId(key));
}

/** A customer who cannot be read is left out until tomorrow. */
export async function customerNews(
  { env, nowMs, memory }: Look,
  organization: Caller['organization'],
  customerIds: readonly CustomerId[],
): Promise<News[]> {
  const news: News[] = [];
  for (const customerId of customerIds) {
    try {
      const history = await customerHistory({ env, organization }, customerId, COLUMNS_NEEDED, []);
      if (history) news.push(findNews(customerId, history, organization.alerts ?? undefined, memory, nowMs));
    } catch (error) {
      log('warn', 'watch_step_failed', { step: 'customer', organizationId: organization.organizationId }, error);
    }
  }
  return news;
}

function findNews(
  customerId: CustomerId,
  history: CustomerHistory,
  alerts: Alerts | undefined,
  memory: Memory,
  nowMs: number,
): News {
  const events: Found[] = [];
  const remember: Remembered[] = [];
  const forget: string[] = [];
  const day = String(Math.floor(nowMs / DAY_MS));
  for (const data of metersRunningOut(history, nowMs)) {
    const key = memoryKey('runningOut', customerId, data.meter);
    if (memory.get(key) === day) continue;
    events.push({ type: 'forecast.will_run_out', atMs: nowMs, data: { customerId, ...data } });
    remember.push({ key, value: day, untilMs: nowMs + 2 * DAY_MS, customerId });
  }
  const balance = balanceDays(history, alerts, nowMs);
  if (balance) {
    const { isLow, ...data } = balance;
    const key = memoryKey('balanceLow', customerId);
    const isTold = memory.get(key) !== null;
    if (isLow && !isTold) events.push({ type: 'balance.low', atMs: nowMs, data: { customerId, ...data } });
    if (isLow) remember.push({ key, value: day, untilMs: nowMs + LOW_MS, customerId });
    else if (isTold) forget.push(key);
  }
  return { events, remember, forget };
}
