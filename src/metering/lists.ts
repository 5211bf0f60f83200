/**
 * Use cases: list an organization's customers and its usage plans, from D1. They are as of the last projection, a
 * second or so behind the customers' objects.
 */
import type { z } from 'zod';
import type { CustomerListItem, UsagePlan } from '../contract/customers.ts';
import { type Answer, accept } from '../contract/errors.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { type CustomerFilter, type CustomerRow, findCustomers } from '../storage/customers.ts';
import { listNewestPlans } from '../storage/plans.ts';
import type { Caller } from './caller.ts';

export async function listCustomers(
  { env, organization }: Caller,
  filter: CustomerFilter,
  page: PageRequest,
): Promise<Answer<Page<z.infer<typeof CustomerListItem>>>> {
  const { items, nextCursor } = await findCustomers(env, organization.organizationId, filter, page);
  return accept('CUSTOMERS_LISTED', { items: items.map(presentCustomer), nextCursor }, Date.now());
}

export async function listUsagePlans(
  { env, organization }: Caller,
  { after, limit }: PageRequest,
): Promise<Answer<Page<z.infer<typeof UsagePlan>>>> {
  const plans = await listNewestPlans(env, organization.organizationId, after, limit);
  const items = plans.map(({ planId, usagePlanVersionId, version, plan }) => ({
    planId,
    usagePlanVersionId,
    version: String(version),
    name: plan.name,
    limitType: plan.limitType,
    reasoningLevel: plan.reasoningLevel,
    isDefault: organization.defaultPlan?.planId === planId,
  }));
  return accept(
    'USAGE_PLANS_LISTED',
    pageOf(items, limit, (item) => item.planId),
    Date.now(),
  );
}

function presentCustomer(row: CustomerRow): z.infer<typeof CustomerListItem> {
  return {
    customerId: row.customerId,
    customerFriendlyName: row.friendlyName,
    customerEmail: row.email,
    stripeCustomerId: row.stripeCustomerId,
    planId: row.planId,
    usagePlanVersionId: row.usagePlanVersionId,
    subscriptionVersion: row.subscriptionVersion,
    canceled: row.canceledAtMs !== null,
    createdAt: new Date(row.createdAtMs).toISOString(),
    nextReplenishAt: new Date(row.nextReplenishAtMs).toISOString(),
  };
}
