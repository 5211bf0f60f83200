/**
 * The steps of an organization up to its first priced call: which are done, and the purpose of each. `setup.ts` lists
 * the missing parts of a whole deployment.
 */

import { operations } from '../contract/operations.ts';
import type { Organization, OrganizationSetup, SETUP_STEPS } from '../contract/operator.ts';
import type { Env } from '../env.ts';
import { findCalled, findConfigured } from '../history/setup.ts';
import { read } from './operation.ts';

type Step = (typeof SETUP_STEPS)[number];

export const readOrganizationSetup = read(operations.readOrganizationSetup, ({ env, organization }) =>
  findSetup(env, organization, Date.now()),
);

export async function findSetup(env: Env, organization: Organization, nowMs: number): Promise<OrganizationSetup> {
  const { organizationId, defaultPlanId, models } = organization;
  const [configured, { last, called, priced }] = await Promise.all([
    findConfigured(env, organizationId, nowMs),
    findCalled(env, organizationId),
  ]);
  const step = (name: Step, purpose: string, done: boolean, optional = false) => ({
    step: name,
    purpose,
    optional,
    done,
  });
  const steps = [
    step('plan', 'A plan says what a customer may use in a period.', configured.plan),
    step('defaultPlan', 'New customers get it with their first call.', defaultPlanId !== null),
    step('key', 'Your application presents it with every call.', configured.key),
    step('vendor', 'With a vendor key, the gateway calls models for you.', configured.vendor, true),
    step('models', 'A mapping says which models stand for standard and premium.', models !== null, true),
    step('webhook', 'A webhook gets events such as a limit that is nearly used up.', configured.webhook, true),
    step('call', 'The first call_begin shows that your application reaches Callmeter.', called),
    step('cost', 'The first call_end with usage shows that calls are priced.', priced),
  ];
  return { organizationId, complete: steps.every(({ done, optional }) => done || optional), steps, lastCall: last };
}
