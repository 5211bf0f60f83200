/**
 * The headers that a request to a vendor may have. Names are in lower case.
 */

/** Headers of the connection, and headers that the runtime sets itself. */
const CONNECTION = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'true-client-ip',
  'upgrade',
  'via',
  'x-real-ip',
]);
/** Headers in which proxies describe the caller; a vendor would believe them. */
const CALLER_PREFIXES = ['cf-', 'proxy-', 'x-forwarded-'];
/** Each request sets the headers that describe its body. */
const BODY = new Set(['accept', 'content-encoding', 'content-type']);
const CREDENTIAL = /(?:^|-)(?:api-?key|auth|authorization|cookies?|credentials?|key|password|secret|signature|token)$/;

/** Whether no request to a vendor may have the header. */
export function isConnectionHeader(name: string): boolean {
  return CONNECTION.has(name) || CALLER_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** Whether an operator may give the header to all requests to a vendor. The values are stored in clear text. */
export function mayBeFixed(name: string): boolean {
  return !isConnectionHeader(name) && !BODY.has(name) && !CREDENTIAL.test(name);
}
