/**
 * Whom a request is metered for and how its call is labelled: our own fields of a body, the customer header, and the
 * session.
 */

import type { z } from 'zod';
import type { BeginCallBody } from '../contract/calls.ts';
import { CUSTOMER_HEADER, DEFAULT_CUSTOMER_ID, type GatewayCustomer, OWN_FIELDS } from '../contract/gateway.ts';
import type { Session } from '../storage/credentials.ts';
import { type Refused, refuseCall } from './error-envelope.ts';

/** Our own fields of a request, and OpenAI's `user`. */
export interface LabelledRequest {
  customer?: z.infer<typeof GatewayCustomer> | null | undefined;
  feature?: string | null | undefined;
  tags?: string[] | null | undefined;
  user?: string | null | undefined;
}

export type BeginFields = z.infer<typeof BeginCallBody>;

const USER_LENGTH_MAX = 255;

/** A session decides by itself; without one the body does, then the header. */
export function identify(
  request: LabelledRequest,
  header: string | null,
  session: Session | undefined,
): { ok: true; begin: BeginFields } | Refused {
  const { user } = request;
  const { customerId: inBody, ...contact } = request.customer ?? {};
  const { feature, tags } = session ?? request;
  const named = inBody ?? header ?? undefined;
  if (session && named !== undefined && named !== session.customerId) {
    const param = inBody === undefined ? CUSTOMER_HEADER : 'customer';
    return refuseCall('CUSTOMER_FORBIDDEN', 'the session speaks for another customer', { param });
  }
  const userId = session?.customerUserId ?? contact.customerUserId ?? (user?.trim() || undefined);
  const begin = {
    ...contact,
    customerId: session?.customerId ?? named ?? DEFAULT_CUSTOMER_ID,
    // OpenAI accepts any text as `user`. Cutting it to the length of an identifier keeps one user one user.
    ...(userId !== undefined && { customerUserId: userId.slice(0, USER_LENGTH_MAX) }),
    ...(feature != null && { feature }),
    ...(tags != null && { tags }),
  };
  return { ok: true, begin };
}

/** The body without our own fields. */
export function withoutOwnFields<Request extends Record<string, unknown>>(request: Request): Request {
  const body = { ...request };
  for (const field of OWN_FIELDS) delete body[field];
  return body;
}
