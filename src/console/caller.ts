/**
 * The caller for use cases of the API that the console runs: the organization of the page.
 */
import type { Caller, Reader } from '../metering/caller.ts';
import { loadOrganization } from '../storage/credentials.ts';
import type { ConsoleContext } from './context.ts';

/** Reads the organization's current configuration, so that what the operator just saved applies. */
export async function callerOf(c: ConsoleContext): Promise<Caller> {
  const { organizationId } = c.get('organization');
  const organization = await loadOrganization(c.env, organizationId);
  if (!organization) throw new Error(`the organization ${organizationId} was there a moment ago`);
  return { env: c.env, organization, defer: deferrer(c) };
}

/** For readings of the organization of the page. */
export function readerOf(c: ConsoleContext): Reader {
  const organization = c.get('organization');
  return { env: c.env, organization: { organizationId: organization.organizationId, retention: organization } };
}

/** Keeps work alive after the response. */
export function deferrer(c: ConsoleContext): (work: Promise<unknown>) => void {
  return (work) => c.executionCtx.waitUntil(work);
}
