/**
 * The type of a tab of the customer page.
 */

import type { Child } from 'hono/jsx';
import type { OperatorCustomer } from '../../contract/operator-customers.ts';
import type { CustomerKey } from '../../domain/ids.ts';
import type { ConsoleContext } from '../context.ts';

interface TabRequest extends CustomerKey {
  c: ConsoleContext;
  /** The customer, which is still being read; `null` if it does not exist, which the page then says. */
  customer: Promise<OperatorCustomer | null>;
  nowMs: number;
}

/** Reads only the data of this tab. `null` if the customer does not exist. */
export type Tab = (request: TabRequest) => Promise<Child>;
