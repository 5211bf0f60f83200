/**
 * On whose behalf a use case runs: the bindings, the organization's configuration, and what its API key is limited to.
 * Given by a route, the gateway or the console, and never by a request's body.
 */

import type { OrganizationConfig } from '../config/credentials.ts';
import type { KeyLimits } from '../contract/key-limits.ts';
import type { Env } from '../env.ts';

/** Whose history is read, and for how many days it is kept. */
export interface Reader {
  env: Env;
  organization: Pick<OrganizationConfig, 'organizationId' | 'retention'>;
}

export interface Caller extends Reader {
  organization: OrganizationConfig;
  /** Of the API key; absent where there is none, or it has no limits. */
  limits?: KeyLimits | undefined;
  /** Keeps work alive beyond the request. */
  defer: (work: Promise<unknown>) => void;
}
