/**
 * The customer of a request and the labels of its call: our own fields of a body, headers for clients whose body is
 * fixed, and the session.
 */

import type { z } from 'zod';
import type { Session } from '../config/credentials.ts';
import type { BeginCallBody } from '../contract/calls.ts';
import { brokenRules } from '../contract/errors.ts';
import {
  DEFAULT_CUSTOMER_ID,
  type GatewayCustomer,
  HeaderLabels as HeaderLabelsSchema,
  LABEL_HEADERS,
} from '../contract/gateway/labels.ts';
import { OWN_FIELDS } from '../contract/gateway/requests.ts';
import { closedFeature, type KeyLimits } from '../contract/key-limits.ts';
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

/** The headers with the customer and the labels, unchanged. */
export type HeaderLabels = Partial<Record<keyof typeof LABEL_HEADERS, string>>;

export function headerLabels(read: (name: string) => string | undefined): HeaderLabels {
  const pairs = Object.entries(LABEL_HEADERS).map(([label, name]) => [label, read(name)] as const);
  return Object.fromEntries(pairs.filter(([, value]) => value !== undefined));
}

/**
 * A session decides alone; without one, the body comes first, then the headers. Refuses a feature that the API key does
 * not open.
 */
export function identify(
  request: LabelledRequest,
  headers: HeaderLabels,
  session: Session | undefined,
  limits: KeyLimits | undefined,
): { ok: true; begin: BeginFields } | Refused {
  const unreadable = unreadableHeader(headers);
  if (unreadable) return unreadable;
  const parsed = HeaderLabelsSchema.safeParse(headers);
  if (parsed.error) return brokenHeader(parsed.error);
  const header = parsed.data;
  const { user } = request;
  const { customerId: inBody, ...contact } = request.customer ?? {};
  const named = inBody ?? header.customerId;
  if (session && named !== undefined && named !== session.customerId) {
    const param = inBody === undefined ? LABEL_HEADERS.customerId : 'customer';
    return refuseCall('CUSTOMER_FORBIDDEN', 'the session is for another customer', { param });
  }
  const closed =
    session && (['customerUserId', 'feature', 'tags'] as const).find((name) => headers[name] !== undefined);
  if (closed) {
    const param = LABEL_HEADERS[closed];
    return refuseCall('FIELD_NOT_ALLOWED', `${param}: must not be sent with a session token`, { param });
  }
  const { feature = header.feature ?? undefined, tags = header.tags } = session ?? present(request);
  const refused = closedFeature(limits, feature);
  if (refused) return refused;
  const userId =
    session?.customerUserId ?? contact.customerUserId ?? (user?.trim() || undefined) ?? header.customerUserId;
  const begin = {
    ...contact,
    customerId: session?.customerId ?? named ?? DEFAULT_CUSTOMER_ID,
    // OpenAI accepts any text as `user`. A cut to the length of an identifier keeps one user one user.
    ...(userId !== undefined && { customerUserId: userId.slice(0, USER_LENGTH_MAX) }),
    ...(feature !== undefined && { feature }),
    ...(tags !== undefined && { tags }),
  };
  return { ok: true, begin };
}

/** The labels of a body; `null` means no label. */
function present({ feature, tags }: LabelledRequest): { feature?: string; tags?: string[] } {
  return { ...(feature != null && { feature }), ...(tags != null && { tags }) };
}

/** What a runtime puts in place of bytes that are not UTF-8: two customers would become one. */
const REPLACEMENT_CHARACTER = '\ufffd';

function unreadableHeader(headers: HeaderLabels): Refused | null {
  const labels = Object.keys(headers) as (keyof HeaderLabels)[];
  const label = labels.find((name) => headers[name]?.includes(REPLACEMENT_CHARACTER));
  if (label === undefined) return null;
  const param = LABEL_HEADERS[label];
  return refuseCall('BAD_REQUEST', `${param}: must be text in UTF-8`, { param });
}

function brokenHeader(error: z.ZodError): Refused {
  const [rule] = brokenRules(error);
  const [label = ''] = (rule?.path ?? '').split('.');
  const param = LABEL_HEADERS[label as keyof typeof LABEL_HEADERS];
  return refuseCall('BAD_REQUEST', `${param}: ${rule?.message ?? 'is invalid'}`, { param });
}

/** The body without our own fields. */
export function withoutOwnFields<Request extends Record<string, unknown>>(request: Request): Request {
  const body = { ...request };
  for (const field of OWN_FIELDS) delete body[field];
  return body;
}
