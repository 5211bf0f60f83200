/**
 * Use case: list an organization's usage plans.
 */

import { listNewestPlans } from '../config/plans.ts';
import { accept } from '../contract/errors.ts';
import type { AnswerTo } from '../contract/operations.ts';
import { makePage, type PageRequest } from '../platform/page.ts';
import type { Caller } from './caller.ts';

export async function listUsagePlans(
  { env, organization }: Caller,
  { after, limit }: PageRequest,
): Promise<AnswerTo<'listUsagePlans'>> {
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
    makePage(items, limit, (item) => item.planId),
    Date.now(),
  );
}
