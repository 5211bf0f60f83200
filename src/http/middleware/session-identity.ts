/**
 * The fields that a browser may not state: its session token decides the customer, the user, the feature and the tags,
 * so bodies with those fields are refused. The session's own customer id is accepted, under any of its names.
 */
import { type Result, refuse } from '../../contract/errors.ts';
import { IDENTITY_FIELDS, isRecord } from '../../contract/identity.ts';
import type { Session } from '../../metering/credentials.ts';

const CLOSED: ReadonlySet<string> = new Set([...IDENTITY_FIELDS, 'feature', 'tags']);
const OWN_ID: ReadonlySet<string> = new Set(['customer', 'customerId', 'customer_id']);

/** 400 for the first field that the session decides; 403 for the id of another customer. */
export function checkIdentity({ customerId }: Session, body: unknown): Result {
  if (!isRecord(body)) return { ok: true };
  for (const [path, value] of Object.entries(body)) {
    if (value === null || !CLOSED.has(path)) continue;
    const isId = OWN_ID.has(path) && typeof value === 'string';
    if (isId && value === customerId) continue;
    const message = isId
      ? 'the session is for another customer'
      : 'must not be sent with a session token: the session decides it';
    const members = { details: [{ path, message }] };
    return refuse(isId ? 'CUSTOMER_FORBIDDEN' : 'FIELD_NOT_ALLOWED', `${path}: ${message}`, { members });
  }
  return { ok: true };
}
