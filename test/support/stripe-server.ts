/**
 * `POST /v1/billing/meter_events` with Stripe's answers, on a port of its own: keys, idempotency, unique identifiers,
 * checks, error shapes, and the ways in which an answer is lost.
 *
 * From Stripe's reference (meter events, idempotent requests, advanced error handling). Its messages for a used
 * identifier, an unknown meter and an old timestamp are worded as its users quote them.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Loopback, serveOnLoopback } from '../vendors/loopback.ts';

export const EVENT_NAME = 'callmeter_nano_usd';
export const SECRET_KEY = 'sk_test_Local_1';

const PATH = '/v1/billing/meter_events';
const BODY_BYTES_MAX = 64 * 1024;
const PAST_SECONDS_MAX = 35 * 24 * 3600;
const FUTURE_SECONDS_MAX = 5 * 60;
const IDENTIFIER_LENGTH_MAX = 100;
const VALUE_DIGITS_MAX = 15;

interface MeterEvent {
  eventName: string;
  stripeCustomerId: string;
  /** As it was sent. */
  value: string;
  identifier: string;
  timestamp: number;
}

interface StripeAnswer {
  status: number;
  headers?: Record<string, string>;
  /** Sent as JSON; a text is sent as HTML. */
  body: object | string | null;
}

/**
 * `RATE_LIMIT`, `UNAVAILABLE` and `HTML` come before the request is carried out, `SERVER_ERROR` while it is: Stripe
 * then repeats it for that key. `HANG` keeps the key in use until the client goes. `CUT_AFTER` records the event first.
 */
export type StripeFault =
  | 'RATE_LIMIT'
  | 'UNAVAILABLE'
  | 'HTML'
  | 'SERVER_ERROR'
  | 'HANG'
  | 'CUT_BEFORE'
  | 'CUT_AFTER'
  | StripeAnswer;

export interface StripeServer extends Loopback {
  /** The events that Stripe would bill. */
  events: MeterEvent[];
  /** All requests as they came. */
  requests: { headers: IncomingMessage['headers']; body: string }[];
  /** The meters that exist, by event name. */
  meters: Set<string>;
  /** The next `times` requests meet this. */
  fail(fault: StripeFault, times?: number): void;
  /** As after 24 hours: no idempotency key is known any more. */
  forgetKeys(): void;
}

interface StripeError {
  type: 'invalid_request_error' | 'idempotency_error' | 'api_error';
  message: string;
  code?: string;
  param?: string;
}

const refusal = (status: number, error: StripeError): StripeAnswer => ({ status, body: { error } });
const invalid = (message: string, more: { code?: string; param?: string } = {}) =>
  refusal(400, { type: 'invalid_request_error', message, ...more });

const BEFORE_EXECUTION: Partial<Record<string, StripeAnswer>> = {
  RATE_LIMIT: {
    ...refusal(429, { type: 'invalid_request_error', code: 'rate_limit', message: 'Request rate limit exceeded.' }),
    headers: { 'Retry-After': '2' },
  },
  UNAVAILABLE: refusal(503, { type: 'api_error', message: 'Stripe is temporarily unavailable.' }),
  HTML: { status: 502, body: '<html><body><h1>502 Bad Gateway</h1></body></html>' },
};

export async function startStripe(): Promise<StripeServer> {
  const account = new Account();
  const requests: StripeServer['requests'] = [];
  const faults: StripeFault[] = [];
  const loopback = await serveOnLoopback(async (request, response) => {
    const body = await readBody(request);
    if (body === null) return request.destroy();
    requests.push({ headers: request.headers, body });
    const answered = answer(account, request, body, faults.shift());
    if (answered === 'CUT') response.socket?.resetAndDestroy();
    else if (answered === 'HANG') account.holdKey(idempotencyKey(request), response);
    else send(request, response, answered);
  });
  return {
    ...loopback,
    events: account.events,
    requests,
    meters: account.meters,
    fail: (fault, times = 1) => void faults.push(...Array<StripeFault>(times).fill(fault)),
    forgetKeys: () => account.answers.clear(),
  };
}

/** `null` if the client left, or sent more than an event can have. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  let body = '';
  try {
    for await (const chunk of request.setEncoding('utf8')) {
      body += chunk;
      if (body.length > BODY_BYTES_MAX) return null;
    }
  } catch {
    return null;
  }
  return body;
}

/** In Stripe's order: rate limits, the key, the address, idempotency, and then the endpoint. */
function answer(
  account: Account,
  request: IncomingMessage,
  body: string,
  fault: StripeFault | undefined,
): StripeAnswer | 'CUT' | 'HANG' {
  if (fault === 'CUT_BEFORE') return 'CUT';
  const early = typeof fault === 'object' ? fault : BEFORE_EXECUTION[fault ?? ''];
  const refused = early ?? refuseCall(request);
  if (refused) return refused;
  if (fault === 'HANG') return 'HANG';
  const recorded = account.createMeterEvent(idempotencyKey(request), body, fault === 'SERVER_ERROR');
  return fault === 'CUT_AFTER' ? 'CUT' : recorded;
}

const idempotencyKey = ({ headers }: IncomingMessage) => String(headers['idempotency-key'] ?? '');

function send(request: IncomingMessage, response: ServerResponse, { status, headers, body }: StripeAnswer): void {
  const json = typeof body !== 'string';
  const names = ['stripe-version', 'idempotency-key'] as const;
  const echoed = Object.fromEntries(
    names.flatMap((name) => (request.headers[name] ? [[name, request.headers[name]]] : [])),
  );
  response.writeHead(status, {
    'Content-Type': json ? 'application/json' : 'text/html',
    'Request-Id': `req_${randomUUID().replaceAll('-', '').slice(0, 14)}`,
    ...echoed,
    ...headers,
  });
  response.end(json ? JSON.stringify(body) : body);
}

function refuseCall({ method, url, headers }: IncomingMessage): StripeAnswer | null {
  const key = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1];
  if (key !== SECRET_KEY) {
    const masked = key
      ? `Invalid API Key provided: ${key.slice(0, 8)}****${key.slice(-4)}`
      : 'You did not provide an API key.';
    return refusal(401, { type: 'invalid_request_error', message: masked });
  }
  if (method !== 'POST' || url !== PATH) {
    return refusal(404, { type: 'invalid_request_error', message: `Unrecognized request URL (${method}: ${url}).` });
  }
  const form = headers['content-type'] === 'application/x-www-form-urlencoded';
  return form ? null : invalid('Content-Type must be application/x-www-form-urlencoded.');
}

/** One account at Stripe: its recorded events, and its answers by key. */
class Account {
  readonly events: MeterEvent[] = [];
  readonly meters = new Set([EVENT_NAME]);
  readonly answers = new Map<string, { body: string; answer: StripeAnswer }>();
  readonly #keysInUse = new Set<string>();

  /** As if the request with this key were under way until the client goes. */
  holdKey(key: string, response: ServerResponse): void {
    this.#keysInUse.add(key);
    response.once('close', () => this.#keysInUse.delete(key));
  }

  createMeterEvent(key: string, body: string, fails: boolean): StripeAnswer {
    if (this.#keysInUse.has(key)) {
      const message = 'There is currently another in-progress request using this Idempotent Key.';
      return refusal(409, { type: 'idempotency_error', code: 'idempotency_key_in_use', message });
    }
    const earlier = this.answers.get(key);
    if (earlier && earlier.body !== body) {
      return refusal(400, {
        type: 'idempotency_error',
        message: `Keys for idempotent requests can only be used with the same parameters they were first used with. (${key})`,
      });
    }
    if (earlier) return { ...earlier.answer, headers: { ...earlier.answer.headers, 'Idempotent-Replayed': 'true' } };
    const event = readEvent(new URLSearchParams(body));
    // Nothing was carried out yet, so nothing is kept for the key.
    if ('status' in event) return event;
    const answer = fails
      ? refusal(500, { type: 'api_error', message: 'An unknown error occurred.' })
      : this.#record(event);
    if (key) this.answers.set(key, { body, answer });
    return answer;
  }

  #record(event: MeterEvent): StripeAnswer {
    const refused = this.#refuse(event);
    if (refused) return refused;
    this.events.push(event);
    return {
      status: 200,
      body: {
        object: 'billing.meter_event',
        created: nowSeconds(),
        event_name: event.eventName,
        identifier: event.identifier,
        livemode: false,
        payload: { stripe_customer_id: event.stripeCustomerId, value: event.value },
        timestamp: event.timestamp,
      },
    };
  }

  #refuse({ eventName, stripeCustomerId, identifier, timestamp }: MeterEvent): StripeAnswer | null {
    if (!this.meters.has(eventName)) return invalid(`No active meter found for event name "${eventName}".`);
    if (!/^cus_\w+$/.test(stripeCustomerId)) {
      const param = 'payload[stripe_customer_id]';
      return invalid(`No such customer: '${stripeCustomerId}'`, { code: 'resource_missing', param });
    }
    const earliest = nowSeconds() - PAST_SECONDS_MAX;
    if (timestamp < earliest) {
      return invalid(
        `The event timestamp cannot be more than 35 days in past. Expected a timestamp greater than or equal to ${earliest}.`,
      );
    }
    if (timestamp > nowSeconds() + FUTURE_SECONDS_MAX) {
      return invalid('The event timestamp cannot be more than 5 minutes in the future.', { param: 'timestamp' });
    }
    if (this.events.some((event) => event.identifier === identifier)) {
      return {
        ...invalid(`An event already exists with identifier ${identifier}.`),
        headers: { 'Stripe-Should-Retry': 'false' },
      };
    }
    return null;
  }
}

const nowSeconds = () => Math.floor(Date.now() / 1000);

/** The parameters as Stripe checks them before it does anything. */
function readEvent(form: URLSearchParams): MeterEvent | StripeAnswer {
  const known = new Set(['event_name', 'identifier', 'timestamp', 'payload[value]', 'payload[stripe_customer_id]']);
  for (const param of form.keys()) {
    if (!known.has(param)) return invalid(`Received unknown parameter: ${param}`, { code: 'parameter_unknown', param });
  }
  for (const param of ['event_name', 'payload[value]', 'payload[stripe_customer_id]']) {
    if (!form.get(param)) return invalid(`Missing required param: ${param}.`, { code: 'parameter_missing', param });
  }
  const value = form.get('payload[value]') ?? '';
  if (!/^-?\d+(\.\d{1,12})?$/.test(value))
    return invalid('The value in the event payload must be numeric.', { param: 'payload[value]' });
  const digits = value.replace(/\D/g, '').replace(/^0+/, '').length;
  if (digits > VALUE_DIGITS_MAX) {
    return invalid(`The value in the event payload can have at most ${VALUE_DIGITS_MAX} digits. Received ${value}.`);
  }
  const identifier = form.get('identifier') ?? randomUUID();
  if (identifier.length > IDENTIFIER_LENGTH_MAX) {
    return invalid('Invalid string: must be at most 100 characters', {
      code: 'parameter_invalid_string',
      param: 'identifier',
    });
  }
  const timestamp = form.get('timestamp') ?? String(nowSeconds());
  if (!/^\d{1,12}$/.test(timestamp)) {
    return invalid(`Invalid integer: ${timestamp}`, { code: 'parameter_invalid_integer', param: 'timestamp' });
  }
  const [eventName, stripeCustomerId] = [form.get('event_name') ?? '', form.get('payload[stripe_customer_id]') ?? ''];
  return { eventName, stripeCustomerId, value, identifier, timestamp: Number(timestamp) };
}
