/**
 * What a request to a model asks of the service, and what of it goes to a vendor.
 */

import type { z } from 'zod';
import type { BeginCallBody } from '../contract/calls.ts';
import { CUSTOMER_HEADER, DEFAULT_CUSTOMER_ID, type GatewayCustomer, OWN_FIELDS } from '../contract/gateway.ts';
import type { Session } from '../storage/credentials.ts';
import type { Effort } from '../vendors/effort.ts';
import type { Failure } from './answer.ts';
import type { EffortChoice } from './effort.ts';
import type { Attempt, Endpoint } from './models.ts';

/** Whom a request names, and how it may be told apart in reports. */
export interface NamedCustomer {
  customer?: z.infer<typeof GatewayCustomer> | null | undefined;
  feature?: string | null | undefined;
  tags?: string[] | null | undefined;
  user?: string | null | undefined;
}

/** A request to a model, validated. */
export interface ModelRequest extends NamedCustomer {
  model: string;
  models?: string[] | null | undefined;
  stream?: boolean | null | undefined;
  stream_options?: { include_usage?: boolean | null | undefined; [option: string]: unknown } | null | undefined;
  reasoning_effort?: Effort | null | undefined;
  reasoning?: { effort?: Effort | null | undefined; [option: string]: unknown } | null | undefined;
  n?: number | null | undefined;
  [field: string]: unknown;
}

export type BeginFields = z.infer<typeof BeginCallBody>;

/** Fields of a body that bound the output, the newest name first. */
const OUTPUT_BOUNDS: Record<Endpoint, readonly string[]> = {
  'chat/completions': ['max_completion_tokens', 'max_tokens'],
  responses: ['max_output_tokens'],
  embeddings: [],
};
/** Vendors that know the newest name; of any other only the oldest is sure to be known. */
const CURRENT = new Set(['openai', 'anthropic', 'google']);
const USER_LENGTH_MAX = 255;

/** Who is metered, and what the call is filed under: as the session says; else as the body and the header do. */
export function identify(
  request: NamedCustomer,
  header: string | null,
  session: Session | undefined,
): BeginFields | Failure {
  const { user } = request;
  const customer = request.customer ?? {};
  const { feature, tags } = session ?? request;
  const { customerId: named = header ?? undefined, ...contact } = customer;
  if (session && named !== undefined && named !== session.customerId) {
    const message = 'the session speaks for another customer';
    return {
      status: 403,
      code: 'CUSTOMER_FORBIDDEN',
      message,
      param: customer.customerId === undefined ? CUSTOMER_HEADER : 'customer',
    };
  }
  const userId = session?.customerUserId ?? contact.customerUserId ?? (user?.trim() || undefined);
  return {
    ...contact,
    customerId: session?.customerId ?? named ?? DEFAULT_CUSTOMER_ID,
    // OpenAI takes any text here: what is too long for an identifier is cut, and the same user stays the same.
    ...(userId !== undefined && { customerUserId: userId.slice(0, USER_LENGTH_MAX) }),
    ...(feature != null && { feature }),
    ...(tags != null && { tags }),
  };
}

export function effortAsked(endpoint: Endpoint, request: ModelRequest): Effort | undefined {
  return (
    (endpoint === 'responses'
      ? request.reasoning?.effort
      : endpoint === 'chat/completions'
        ? request.reasoning_effort
        : null) ?? undefined
  );
}

/** The body without our fields. */
export function withoutOwnFields(request: Record<string, unknown>): Record<string, unknown> {
  const body = { ...request };
  for (const field of OWN_FIELDS) delete body[field];
  return body;
}

/** What one attempt sends: the vendor's name of the model, the effort, the bound of the output, and usage asked for. */
export function vendorBody(
  endpoint: Endpoint,
  body: ModelRequest,
  { provider, model }: Attempt,
  effort: EffortChoice,
  outputTokensMax: number | null,
): Record<string, unknown> {
  const sent: Record<string, unknown> = { ...body, model };
  if (endpoint === 'chat/completions') {
    if (effort.sent !== undefined) sent.reasoning_effort = effort.sent;
    else delete sent.reasoning_effort;
    if (body.stream === true) sent.stream_options = { ...body.stream_options, include_usage: true };
  }
  if (endpoint === 'responses' && effort.sent !== body.reasoning?.effort) {
    const { effort: _asked, ...reasoning } = body.reasoning ?? {};
    sent.reasoning = { ...reasoning, ...(effort.sent !== undefined && { effort: effort.sent }) };
  }
  if (outputTokensMax !== null) boundOutput(endpoint, sent, outputTokensMax, CURRENT.has(provider));
  return sent;
}

/** Keeps the output within what was reserved for the call, whatever the caller asked for. */
function boundOutput(endpoint: Endpoint, sent: Record<string, unknown>, tokensMax: number, current: boolean): void {
  const names = OUTPUT_BOUNDS[endpoint];
  const perChoice = Math.max(1, Math.floor(tokensMax / (typeof sent.n === 'number' ? sent.n : 1)));
  const named = names.filter((name) => typeof sent[name] === 'number');
  for (const name of named) sent[name] = Math.min(sent[name] as number, perChoice);
  const name = current ? names[0] : names.at(-1);
  if (named.length === 0 && name !== undefined) sent[name] = perChoice;
}
