/**
 * What a tab of the customer page is made from.
 */

import type { Child } from 'hono/jsx';
import type { OperatorCustomer } from '../../contract/operator-customers.ts';
import type { CustomerKey } from '../../domain/ids.ts';
import type { ConsoleContext } from '../context.ts';

interface TabRequest extends CustomerKey {
  c: ConsoleContext;
  /** Is being read; `null` where there is no such customer, which then is what the page says. */
  customer: Promise<OperatorCustomer | null>;
  nowMs: number;
}

/** Reads what the tab shows, and nothing of the other tabs. `null` where there is no such customer. */
export type Tab = (request: TabRequest) => Promise<Child>;
