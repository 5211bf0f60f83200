/**
 * Cross-site request forgery: a browser adds cookies, and Cloudflare Access a token, to any request that another site
 * makes it send. Such a request counts only if a page of this origin, or a program that says so, has sent it.
 */
import { OPERATOR_HEADER } from '../../contract/envelope.ts';
import { type Result, refuse } from '../../contract/errors.ts';
import type { AppContext } from './context.ts';

/**
 * Applies to every method: reading costs the databases time too. Two signs are accepted, because either may be missing:
 * an old browser sends no `Sec-Fetch-Site`, and a proxy in front may allow headers in preflights.
 */
export function requireSameOrigin(c: AppContext): Result {
  const site = c.req.header('Sec-Fetch-Site');
  const isOwn = site === undefined ? c.req.header('Origin') === new URL(c.req.url).origin : site === 'same-origin';
  if (isOwn && c.req.header(OPERATOR_HEADER) !== undefined) return { ok: true };
  return refuse(
    'CROSS_SITE_REQUEST',
    `without a bearer token, an operator's request needs Sec-Fetch-Site: same-origin (or an Origin of this service, if there is none) and ${OPERATOR_HEADER}: 1`,
  );
}
