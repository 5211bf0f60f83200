/**
 * Customers over HTTP: provision, and read current usage.
 */
import type { Hono } from 'hono';
import { operations } from '../contract/operations.ts';
import { provisionCustomer, readUsage } from '../metering/customers.ts';
import type { AppEnv } from '../middleware/context.ts';
import { answerResponse } from '../middleware/errors.ts';
import { callerOf, headerKeyOf, mount } from './mount.ts';

export function mountCustomers(app: Hono<AppEnv>): void {
  mount(app, operations.provisionCustomer, async (c, { body }) =>
    answerResponse(c, await provisionCustomer(callerOf(c), body, headerKeyOf(c))),
  );
  mount(app, operations.readUsage, async (c, { params }) => answerResponse(c, await readUsage(callerOf(c), params.customerId)));
}
