/**
 * The most that one address may cost in a minute: failed authentications, failed sign-ins, and public pages and lookups
 * that have to be made. The Worker's rate limits count them.
 *
 * An authentication is counted only after it failed, so a valid credential always works, whatever else came from its
 * address. Without a rate limit binding, or without an address, nothing is limited.
 */
import { type Refusal, refuse } from '../../contract/errors.ts';
import { log } from '../../platform/log.ts';
import type { AppContext } from './context.ts';

/** The period of the limits in wrangler.toml. */
export const LIMIT_PERIOD_SECONDS = 60;
/** Cloudflare sets this header; a direct socket has none. */
const ADDRESS_HEADER = 'CF-Connecting-IP';
const ADDRESS_LENGTH_MAX = 64;
const GROUPS = 8;
const NETWORK_GROUPS = 4;

/** 401, or 429 if the address failed too often in this minute. */
export async function refuseAuthentication(c: AppContext): Promise<Refusal> {
  if (!(await isBeyond(c.env.FAILED_AUTHENTICATIONS, c))) {
    return refuse('UNAUTHORIZED', 'the credential is missing, malformed, unknown or revoked').refusal;
  }
  const message = 'too many failed authentications from this address; retry in a minute';
  return refuse('RATE_LIMITED', message, { retryAfterSeconds: LIMIT_PERIOD_SECONDS }).refusal;
}

/** The same for the operator's sign-in. */
export function failsToSignInTooOften(c: Pick<AppContext, 'env' | 'req'>): Promise<boolean> {
  return isBeyond(c.env.FAILED_SIGN_INS, c);
}

/** 429 if the address had too many public pages made in this minute; otherwise this one is counted. */
export function refuseManyPages(c: AppContext): Promise<Refusal<'RATE_LIMITED'> | null> {
  return refuseMade(c, c.env.MADE_PAGES, 'public pages');
}

/** The same for answers of the model lookup, which programs ask for, and which cost less. */
export function refuseManyLookups(c: AppContext): Promise<Refusal<'RATE_LIMITED'> | null> {
  return refuseMade(c, c.env.MADE_LOOKUPS, 'lookups');
}

async function refuseMade(
  c: AppContext,
  limit: RateLimit | undefined,
  what: string,
): Promise<Refusal<'RATE_LIMITED'> | null> {
  if (!(await isBeyond(limit, c))) return null;
  const message = `too many ${what} for this address; retry in a minute`;
  return { code: 'RATE_LIMITED', message, retryAfterSeconds: LIMIT_PERIOD_SECONDS };
}

/** Counts one more for the address. */
async function isBeyond(limit: RateLimit | undefined, { req }: Pick<AppContext, 'req'>): Promise<boolean> {
  const address = req.header(ADDRESS_HEADER);
  if (!limit || !address) return false;
  try {
    return !(await limit.limit({ key: addressNetwork(address) })).success;
  } catch (error) {
    log('warn', 'rate_limit_failed', {}, error);
    return false;
  }
}

/** The first 64 bits of an IPv6 address: one subscriber usually has all addresses that begin with them. */
export function addressNetwork(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address.slice(0, ADDRESS_LENGTH_MAX);
  const [head = '', tail] = address.toLowerCase().split('::');
  const before = head.split(':').filter(Boolean);
  const after = (tail ?? '').split(':').filter(Boolean);
  const zeros = Array(Math.max(0, GROUPS - before.length - after.length)).fill('0');
  const groups = [...before, ...zeros, ...after].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, '')).join(':')}::/64`.slice(0, ADDRESS_LENGTH_MAX);
}
