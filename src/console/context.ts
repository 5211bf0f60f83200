/**
 * The context of a console request: the operator's session, the organization of its path, and the submitted form.
 */

import type { Context } from 'hono';
import type { Catalog } from '../catalog/model.ts';
import type { Organization } from '../contract/operator.ts';
import type { OperatorRole } from '../contract/roles.ts';
import { asCallId, asCustomerId, type CallId, type CustomerKey, type OrganizationId } from '../domain/ids.ts';
import type { AppEnv } from '../http/middleware/context.ts';
import type { KnownOrganizations } from '../operator/known.ts';
import { CONSOLE_PATH } from './paths.ts';

export interface ConsoleSession {
  /** The signed-in operator; `by` says whether by the operator token or by Cloudflare Access. */
  operator: { name: string; role: OperatorRole };
  by: 'token' | 'access';
  id: string;
  expiresAtMs: number;
  /** The CSRF token for every form of the session. */
  csrf: string;
}

/** The fields of a form by their names, exactly as submitted. */
export type Fields = Record<string, string | string[] | undefined>;

export interface Submitted {
  fields: Fields;
  /** The text of each file by the name of its field. */
  files: Record<string, string>;
  nonce: string;
}

export interface ConsoleEnv {
  Bindings: AppEnv['Bindings'];
  Variables: AppEnv['Variables'] & {
    session: ConsoleSession;
    /** Set on the pages of an organization. */
    organization: Organization;
    /** Set behind the sign-in: the organizations of the navigation. */
    organizations: KnownOrganizations;
    /** Set behind the sign-in: the catalog that pages look models up in. */
    catalog: Catalog;
    /** Set on every POST behind the sign-in. */
    submitted: Submitted;
  };
}

export type ConsoleContext = Context<ConsoleEnv>;

export { CONSOLE_PATH, SEARCH_PATH } from './paths.ts';

/** The id in the path, not validated: an unknown id is not found. */
export const customerInPath = (c: ConsoleContext) => asCustomerId(c.req.param('customerId') ?? '');
export const callInPath = (c: ConsoleContext) => asCallId(c.req.param('callId') ?? '');

export function organizationPath(organizationId: OrganizationId, ...rest: string[]): string {
  return [`${CONSOLE_PATH}/organizations/${encodeURIComponent(organizationId)}`, ...rest.map(encodeURIComponent)].join(
    '/',
  );
}

export function customerPath({ organizationId, customerId }: CustomerKey, ...rest: string[]): string {
  return organizationPath(organizationId, 'customers', customerId, ...rest);
}

export function planPath(organizationId: OrganizationId, planId: string, ...rest: string[]): string {
  return organizationPath(organizationId, 'plans', planId, ...rest);
}

/** The address of the plan's page with one of its versions. */
export function versionPath(organizationId: OrganizationId, usagePlanVersionId: string): string {
  const [, planId = usagePlanVersionId, version] = /^(.*):v(\d+)$/.exec(usagePlanVersionId) ?? [];
  const path = planPath(organizationId, planId);
  return version === undefined ? path : `${path}?version=${version}`;
}

/** The address of a model in the catalog. */
export function modelPath(modelKey: string): string {
  return `${CONSOLE_PATH}/catalog/models/${modelKey.split('/').map(encodeURIComponent).join('/')}`;
}

/** The address of the calls with these values. */
export function callsPath(organizationId: OrganizationId, filter: Record<string, string>): string {
  return `${organizationPath(organizationId, 'calls')}?${new URLSearchParams(filter)}`;
}

export function callPath(organizationId: OrganizationId, callId: CallId): string {
  return organizationPath(organizationId, 'calls', callId);
}

export function eventPath(organizationId: OrganizationId, eventId: string): string {
  return organizationPath(organizationId, 'alerts', eventId);
}

export function webhookPath(organizationId: OrganizationId, webhookId: string, ...rest: string[]): string {
  return organizationPath(organizationId, 'webhooks', webhookId, ...rest);
}

/** The webhook of a page's path. */
export function webhookInPath(c: ConsoleContext) {
  const { organizationId } = c.get('organization');
  return { organizationId, webhookId: c.req.param('webhookId') ?? '' };
}

/**
 * A console path from a query: visible ASCII without a backslash. Any other text becomes the overview, so that a link
 * cannot redirect to another site.
 */
export function ownPath(path: string | undefined): string {
  return path !== undefined && /^\/console(\/[!-[\]-~]*)?$/.test(path) ? path : CONSOLE_PATH;
}
