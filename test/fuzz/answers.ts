/**
 * The conditions of every response, whatever was sent: it is not an internal error, has the envelope of its interface,
 * and reveals nothing about the implementation.
 */
import { ErrorEnvelope } from '../../src/contract/envelope.ts';
import { AnthropicError, GatewayError, GoogleError } from '../../src/contract/gateway/answers.ts';
import { GATEWAY_HEADERS } from '../../src/contract/gateway/labels.ts';
import { FullResolution, LightResolution, LookupError } from '../../src/contract/model-lookup.ts';
import { type Operation, operations, responseSchema } from '../../src/contract/operations.ts';
import type { FuzzRequest } from './requests.ts';
import type { FuzzAnswer } from './sender.ts';

/** Stack traces, paths and words of the libraries underneath. */
const INTERNALS = [
  /\bat (?:async )?[\w.<>$]+ \(/,
  /\.(?:ts|js|mjs):\d+/,
  /node_modules|durable-objects\/|src\/(?:domain|storage|routes|metering)\//,
  /SQLITE_|D1_ERROR|SqlStorage|drizzle/i,
  /\b(?:TypeError|RangeError|ReferenceError|SyntaxError|ZodError|DataCloneError)\b/,
  /Maximum call stack|Unexpected token|is not a function|Cannot read propert/,
];

/** The fault of the answer; `null` if it has none. */
export function faultOf(request: FuzzRequest, answer: FuzzAnswer): string | null {
  const { status, text } = answer;
  if (status >= 500) return `status ${status}: ${text.slice(0, 300)}`;
  // Sent text may come back in an answer, and is not a leak.
  const sent = `${decodeURIComponentSafely(request.path)} ${request.body?.toString('latin1') ?? ''}`;
  const leak = [text, JSON.stringify(answer.headers)]
    .flatMap((part) => INTERNALS.map((rule) => rule.exec(part)?.[0]))
    .find((found) => found && !sent.includes(found));
  if (leak) return `tells of its inside: ${leak}`;
  if (request.method === 'HEAD' || status === 204 || status === 304) return null;
  if (status === 308) return redirectFault(request, answer);
  return envelopeFault(request, answer);
}

/** A path with a slash at its end leads to the one without, on this host, and says nothing. */
function redirectFault({ path }: FuzzRequest, { headers, text }: FuzzAnswer): string | null {
  const location = String(headers.location ?? '');
  const { pathname, search } = new URL(`http://host${path}`);
  const isOwn = /^\/(?!\/)/.test(location) && !location.includes('\\');
  const leadsOn = location === `/${pathname.replace(/^\/+|\/+$/g, '')}${search}` && pathname.endsWith('/');
  return isOwn && leadsOn && text === '' ? null : `redirects to ${location.slice(0, 200)}`;
}

/** Whether nothing may have changed. An error that names its call is a vendor's or a denial, and on record. */
export function isRefusal({ status, headers }: FuzzAnswer): boolean {
  return status >= 400 && headers[GATEWAY_HEADERS.callId] === undefined;
}

function isPage({ status, headers }: FuzzAnswer): boolean {
  return status === 200 && String(headers['content-type']).startsWith('text/html');
}

/** An unknown route below these is answered in the form of a vendor's client. */
const GATEWAY_PATH = /^\/v1(?:beta)?(?:[/?]|$)/;

/** A segment of one or two dots, encoded or not. */
const HAS_DOTS = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

function envelopeFault(request: FuzzRequest, answer: FuzzAnswer): string | null {
  const { method, path } = request;
  // The server reads a path as a URL: one with `..` in it is a request for another route. No operation has the start page.
  const { pathname } = new URL(`http://host${path}`);
  const isOther = HAS_DOTS.test(path.split('?', 1)[0] ?? '');
  const { operationId, kind } = isOther ? { operationId: 'none', kind: 'none' } : request;
  if (operationId === 'none' && pathname === '/' && isPage(answer)) return null;
  const operation = (operations as Record<string, Operation>)[operationId];
  if (operation?.lines && answer.status === 200)
    return answer.text.split('\n').filter(Boolean).every(isJson) ? null : 'is not one JSON value per line';
  // The vendor's own answers pass as they are.
  if (kind === 'gateway' && answer.status < 400) return null;
  if (!isJson(answer.text)) return `is no JSON: ${answer.text.slice(0, 200)}`;
  const body: unknown = JSON.parse(answer.text);
  if (answer.status < 400) {
    if (kind === 'lookup')
      return LightResolution.safeParse(body).success || FullResolution.safeParse(body).success || isDiscovery(body)
        ? null
        : 'is no resolution';
    if (!operation || operation.method !== method) return null;
    const parsed = responseSchema(operation).safeParse(body);
    return parsed.success ? null : `does not follow the contract: ${JSON.stringify(parsed.error.issues[0])}`;
  }
  const ofGateway = [GatewayError, AnthropicError, GoogleError, ErrorEnvelope];
  const schemas = isOther
    ? [...ofGateway, LookupError]
    : kind === 'lookup'
      ? [LookupError, ErrorEnvelope]
      : kind === 'gateway' || (kind === 'none' && GATEWAY_PATH.test(pathname))
        ? ofGateway
        : [ErrorEnvelope];
  return schemas.some((schema) => schema.safeParse(body).success)
    ? null
    : `is not in its envelope: ${answer.text.slice(0, 200)}`;
}

function isDiscovery(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'endpoints' in body;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
