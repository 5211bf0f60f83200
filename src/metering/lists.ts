/**
 * Use case: list an organization's usage plans.
 */
import type { z } from 'zod';
import type { UsagePlan } from '../contract/customers.ts';
import { type Answer, accept } from '../contract/errors.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { listNewestPlans } from '../storage/plans.ts';
import type { Caller } from './caller.ts';

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
