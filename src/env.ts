/**
 * The bindings inventory: everything the Worker and its objects reach outside themselves (wrangler.toml).
 */
import type { ObjectBindings } from './objects/bindings.ts';

export interface Env extends ObjectBindings {
  /** The configuration, and the history of organizations in this database. */
  DB: D1Database;
  /** Closed days of history; absent: only D1 has it, for as long as it is kept. */
  ARCHIVE?: R2Bucket;
  /** `DB_2` to `DB_50`: the history of other organizations. */
  [more: `DB_${number}`]: D1Database | undefined;
  KV: KVNamespace;
  /** The files of the API reference. */
  ASSETS: Fetcher;
  /**
   * For each address; without them, the numbers of failures, and of public pages and lookups that are made, are not
   * limited.
   */
  FAILED_AUTHENTICATIONS?: RateLimit;
  FAILED_SIGN_INS?: RateLimit;
  MADE_PAGES?: RateLimit;
  MADE_LOOKUPS?: RateLimit;
  /** The milliseconds for which an isolate may use configuration that it read. */
  CONFIG_TTL_MS: number;
  CALL_DEADLINE_SECONDS: number;
  BATCH_CALL_DEADLINE_SECONDS: number;
  /** How long the gateway waits for vendors' answers, in all attempts together. */
  GATEWAY_TIMEOUT_MS: number;
  /** How long a stream may be silent. */
  GATEWAY_IDLE_TIMEOUT_MS: number;
  /** The address from which the daily import reads a catalog; absent: no import. */
  CATALOG_UPSTREAM_URL?: string;
  CATALOG_UPSTREAM_FORMAT?: 'models.dev' | 'litellm';
  /** Addresses of price and deprecation lists that the daily import compares with the catalog; absent: none. */
  CATALOG_NEWS_URLS?: string;
  /** Secret; absent means that charges are settled against the USD balance alone. */
  STRIPE_SECRET_KEY?: string;
  /** The meter at Stripe to which charges are reported, in nano-USD. */
  STRIPE_METER_EVENT_NAME: string;
  /** Another address than Stripe's own. */
  STRIPE_API_BASE?: string;
  /** Secret; vendor keys and secrets of webhooks are encrypted under it. Absent: none can be stored. */
  VENDOR_KEY_SECRET?: string;
  /** Secret; session tokens are signed with it. Absent: there are none. */
  SESSION_SECRET?: string;
  /** The key of the demo organization; only `npm start` sets it, and only the server's own machine shows it. */
  DEMO_API_KEY?: string;
  /** Secret; absent or shorter than 32 characters: no operator API. */
  OPERATOR_TOKEN?: string;
  /**
   * The address at which Cloudflare Access signs operators in, `https://TEAM.cloudflareaccess.com`; absent: no operator
   * is named.
   */
  ACCESS_TEAM_DOMAIN?: string;
  /** The audience tag of the Access application in front of the operator API and the console. */
  ACCESS_AUD?: string;
}
