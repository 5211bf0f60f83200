/**
 * The cost of a customer on a day on which it calls, and on one on which it does not, without the plan's included
 * units. What the retention writes later is in it.
 */
import type { Table } from '../suite.ts';
import { usageOfCall } from './call-cost.ts';
import { ASSUMED, BYTES, SETTINGS } from './measured.ts';
import { marginalDollars, NO_USAGE, sumUsage, total, type Usage } from './prices.ts';

/** The stored data of a customer while it is kept, on one day of a month. */
function storedUsage(callsKept: number): Usage {
  return {
    ...NO_USAGE,
    d1StoredGb: (callsKept * BYTES.call) / 1e9 / 30,
    objectStoredGb:
      (Math.min(callsKept, SETTINGS.objectCallDays * ASSUMED.callsPerCustomerDay) * BYTES.callInObject) / 1e9 / 30,
  };
}

export function customerDays(): Table {
  const day = (callsPerTransaction: number) => {
    const shared = { callsPerTransaction, organizationsPerTransaction: 1, pastShare: 0 };
    const usage = sumUsage(Object.values(usageOfCall(shared)), ASSUMED.callsPerCustomerDay);
    return total(marginalDollars(usage)) * 1e6;
  };
  const stored = total(marginalDollars(storedUsage(ASSUMED.callsPerCustomerDay * SETTINGS.callRetentionDays))) * 1e6;
  return {
    title: 'a customer, millionths of $ a day',
    columns: [{ key: 'microDollars', heading: 'micro-$', digits: 1 }],
    rows: [
      { name: `${ASSUMED.callsPerCustomerDay} calls, each alone`, figures: { microDollars: day(1) } },
      { name: `${ASSUMED.callsPerCustomerDay} calls, among 100 others`, figures: { microDollars: day(100) } },
      { name: 'storage of 400 such days', figures: { microDollars: stored } },
      { name: 'idle, nothing stored', figures: { microDollars: 0 } },
    ],
  };
}
