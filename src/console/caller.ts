/**
 * On whose behalf the console asks the use cases that are made for API keys: the organization of the page.
 */
import type { Organization } from '../contract/operator.ts';
import { DEFAULT_SAMPLING_POLICY } from '../domain/sampling.ts';
import type { Caller } from '../metering/caller.ts';
import { versionedPolicy } from '../storage/sampling.ts';
import type { ConsoleContext } from './context.ts';

/** The use cases that the console asks read an organization's id and models; they meter nothing, so they need no prices. */
export async function callerOf(c: ConsoleContext, { organizationId, models }: Organization = c.get('organization')): Promise<Caller> {
  return {
    env: c.env,
    organization: {
      organizationId,
      models,
      defaultPlan: null,
      prices: new Map(),
      vendors: new Map(),
      vendorOrigins: [],
      sampling: await versionedPolicy(DEFAULT_SAMPLING_POLICY),
    },
    defer: deferrer(c),
  };
}

/** Keeps work alive after the response. */
export function deferrer(c: ConsoleContext): (work: Promise<unknown>) => void {
  return (work) => c.executionCtx.waitUntil(work);
}
