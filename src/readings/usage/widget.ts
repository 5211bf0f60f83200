/**
 * Use case: what a customer sees in a widget: meters, calls by day, renewal. All of it is read from the customer's
 * object and so is current.
 */

import type { CustomerState } from '../../contract/entitlements.ts';
import { type MeterName, type MeterSlot, SLOT_METERS } from '../../domain/meters.ts';
import type { Caller } from '../../metering/caller.ts';
import { ask, customerByName } from '../../objects/addresses.ts';
import { DAY_MS } from '../../platform/time.ts';
import { COLUMNS, customerHistory } from '../forecast/read-forecast.ts';
import { seriesOf } from './series-hours.ts';

/** Days of the widget's chart. */
export const WIDGET_DAYS = 14;

export interface WidgetUsage {
  planName: string;
  canceled: boolean;
  nextReplenishAt: string;
  meters: CustomerState['meters'];
  /** The plan's names of the custom meters. */
  labels: Partial<Record<MeterName, string>>;
  /** Ended calls on each of the latest UTC days, today last. */
  days: { startMs: number; calls: number }[];
}

/** `null` for an unknown customer. */
export async function readWidgetUsage(
  { env, organization, defer }: Caller,
  customerId: string,
  nowMs: number,
): Promise<WidgetUsage | null> {
  const { organizationId } = organization;
  const address = customerByName(env, organizationId, customerId);
  const [usage, history] = await Promise.all([
    ask(address, (customer) => customer.readUsage({ organizationId })),
    customerHistory({ env, organization, defer }, customerId, [], COLUMNS.calls),
  ]);
  if (!usage.ok || !history) return null;
  const { meters, subscription, canceled } = usage.data;
  const { customMeters } = history.account.subscription.plan.plan;
  const slots = Object.entries(SLOT_METERS) as [MeterSlot, MeterName][];
  const labels = slots.flatMap(([slot, meter]) =>
    customMeters[slot] ? [[meter, customMeters[slot].label] as const] : [],
  );
  const todayMs = nowMs - (nowMs % DAY_MS);
  const days = Array.from({ length: WIDGET_DAYS }, (_, index) => ({
    startMs: todayMs - (WIDGET_DAYS - 1 - index) * DAY_MS,
    calls: 0,
  }));
  for (const { startMs, quantity } of seriesOf(history.recent, COLUMNS.calls)) {
    const day = days[Math.floor((startMs - (days[0]?.startMs ?? 0)) / DAY_MS)];
    if (day) day.calls += quantity;
  }
  return {
    planName: subscription.planName,
    canceled,
    nextReplenishAt: subscription.nextReplenishAt,
    meters,
    labels: Object.fromEntries(labels),
    days,
  };
}
