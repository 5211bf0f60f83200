/**
 * A browser's session says what is asked, and not whom that concerns: bodies that name a person, a feature or tags are
 * refused. The customer's own id is fine, under any of its names.
 */
import { type Refusal, refuse } from '../contract/errors.ts';
import { IDENTITY_FIELDS, isRecord } from '../contract/identity.ts';
import type { Session } from '../storage/credentials.ts';

const CLOSED: ReadonlySet<string> = new Set([...IDENTITY_FIELDS, 'feature', 'tags']);
const OWN_ID: ReadonlySet<string> = new Set(['customer', 'customerId', 'customer_id']);

/**
 * 400 for the first field that a session has said itself, 403 for the id of another customer; `null` for what may pass.
 */
export function refuseIdentity({ customerId }: Session, body: unknown): Refusal | null {
  if (!isRecord(body)) return null;
  for (const [path, value] of Object.entries(body)) {
    if (value === null || !CLOSED.has(path)) continue;
    const isId = OWN_ID.has(path) && typeof value === 'string';
    if (isId && value === customerId) continue;
    const message = isId
      ? 'the session speaks for another customer'
      : 'must not be sent with a session token: the session says it';
    const members = { details: [{ path, message }] };
    return refuse(isId ? 'CUSTOMER_FORBIDDEN' : 'FIELD_NOT_ALLOWED', `${path}: ${message}`, { members }).refusal;
  }
  return null;
}
