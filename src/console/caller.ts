/**
 * Arguments for the use cases that a page calls directly: the organization of the page, and a way to keep work alive.
 */
import type { Reader } from '../metering/caller.ts';
import type { ConsoleContext } from './context.ts';

/** A reader of the page's organization, for the readings. */
export function buildReader(c: ConsoleContext): Reader {
  const organization = c.get('organization');
  return { env: c.env, organization: { organizationId: organization.organizationId, retention: organization } };
}

/** Keeps work alive after the response. */
export function deferrer(c: ConsoleContext): (work: Promise<unknown>) => void {
  return (work) => c.executionCtx.waitUntil(work);
}
