/**
 * Which role a request to the console needs, the same as its operation in the API. A form that is not listed needs an
 * admin, so that a new one is open to nobody by mistake.
 */
import type { OperatorRole } from '../contract/roles.ts';
import { CONSOLE_PATH } from './context.ts';

const ORGANIZATION = `${CONSOLE_PATH}/organizations/[^/]+`;
const CUSTOMER = `${ORGANIZATION}/customers/[^/]+`;
const WEBHOOK = `${ORGANIZATION}/webhooks/[^/]+`;

/** Forms that an editor may send; previews are among them. */
const FOR_EDITORS: readonly RegExp[] = [
  `${ORGANIZATION}/settings`,
  `${ORGANIZATION}/(models|models/switch-back|prices|reprice|sampling)`,
  `${ORGANIZATION}/(compression|compression/jobs)`,
  `${ORGANIZATION}/plans(/[^/]+(/(migrate|archive|restore))?)?`,
  `${ORGANIZATION}/samples/[^/]+/delete`,
  `${ORGANIZATION}/calls/[^/]+/(reverse|amend)`,
  `${CUSTOMER}/(credit|credits/[^/]+/revoke|cancel|reactivate|replenish|plan)`,
  `${CUSTOMER}/reverse-increment`,
  `${WEBHOOK}/(test|replay|deliveries/[^/]+/send)`,
].map(whole);

/** Pages that show what customers sent. */
const READ_BY_EDITORS = whole(`${ORGANIZATION}/samples/[^/]+`);
/** Forms that change nothing but the operator's own browser. */
const FOR_ALL = whole(`${CONSOLE_PATH}/sign-out|${ORGANIZATION}/setup/(hide|show)`);

export function roleFor(method: string, path: string): OperatorRole {
  if (method === 'GET' || method === 'HEAD') return READ_BY_EDITORS.test(path) ? 'editor' : 'viewer';
  if (FOR_ALL.test(path)) return 'viewer';
  return FOR_EDITORS.some((form) => form.test(path)) ? 'editor' : 'admin';
}

function whole(pattern: string): RegExp {
  return new RegExp(`^(${pattern})$`);
}
