/**
 * The caller for whom a use case runs: the bindings, the organization's configuration, and the limits of its API key. A
 * route, the gateway or the console provides it, never a request's body.
 */

import type { OrganizationConfig } from '../config/credentials.ts';
import type { KeyLimits } from '../contract/key-limits.ts';
import type { Env } from '../env.ts';

/** The organization whose history is read, and the number of days that it is kept. */
export interface Reader {
  env: Env;
  organization: Pick<OrganizationConfig, 'organizationId' | 'retention'>;
}

export interface Caller extends Reader {
  organization: OrganizationConfig;
  /** The limits of the API key; absent without a key, or if it has no limits. */
  limits?: KeyLimits | undefined;
  /** Keeps work alive beyond the request. */
  defer: (work: Promise<unknown>) => void;
}
