/**
 * Customers over HTTP: provision, read current usage, change the plan, replenish, list.
 */
import type { Hono } from 'hono';
import { operations } from '../../contract/operations.ts';
import { changePlan, replenishCustomer } from '../../metering/change-plan.ts';
import { provisionCustomer, readUsage } from '../../metering/customers.ts';
import { listUsagePlans } from '../../metering/lists.ts';
import { customersCsv, listCustomers } from '../../readings/customer-list/list-customers.ts';
import type { AppEnv } from '../middleware/context.ts';
import { getCaller, headerKey, mount, mountCsvList, mountList } from './mount.ts';

export function mountCustomers(app: Hono<AppEnv>): void {
  mount(app, operations.provisionCustomer, (c, { body }) => provisionCustomer(getCaller(c), body, headerKey(c)));
  mount(app, operations.readUsage, (c, { params }) => readUsage(getCaller(c), params.customerId));
  mount(app, operations.changePlan, (c, { params, body }) =>
    changePlan(getCaller(c), params.customerId, body, headerKey(c)),
  );
  mount(app, operations.replenishCustomer, (c, { params, body }) =>
    replenishCustomer(getCaller(c), params.customerId, body, headerKey(c)),
  );
  mountCsvList(
    app,
    operations.listCustomers,
    (c, page, { query }) => listCustomers(getCaller(c), query, page),
    customersCsv,
  );
  mountList(app, operations.listUsagePlans, (c, page) => listUsagePlans(getCaller(c), page));
}
