/**
 * On whose behalf a use case runs: the bindings and the organization's configuration. Given by a route, the gateway or
 * the console, and never by a request's body.
 */
import type { Env } from '../env.ts';
import type { OrganizationConfig } from '../storage/credentials.ts';

export interface Caller {
  env: Env;
  organization: OrganizationConfig;
  /** Keeps work alive beyond the request. */
  defer: (work: Promise<unknown>) => void;
}
