/**
 * Fills the state of a local server on a random port, so that the data are complete when the real port opens: what
 * housekeeping makes, the demo organization, and the vendor for trying out as its vendors.
 */
import { ensureHistoryPlan } from './demo-history.ts';
import { ensureDemoOrganization, ensureDemoVendors } from './demo-organization.ts';
import type { LocalSecrets } from './dev-vars.ts';
import { freePort, startServer } from './server.ts';

interface Prepared {
  stateDir: string;
  secrets: Record<string, string> & LocalSecrets;
  /** Of the vendor for trying out. */
  vendorUrl: string;
  withHistory?: boolean;
}

/** Returns for whom the vendor for trying out answers. */
export async function prepareState({ stateDir, secrets, vendorUrl, withHistory }: Prepared): Promise<string[]> {
  const { DEMO_API_KEY, ...vars } = secrets;
  // No cache of the configuration exists yet, so changes need not wait for it.
  const server = await startServer({ port: await freePort(0), stateDir, vars: { ...vars, CONFIG_TTL_MS: 0 } });
  try {
    await server.housekeep();
    await ensureDemoOrganization(server, secrets.OPERATOR_TOKEN, DEMO_API_KEY);
    if (withHistory) await ensureHistoryPlan(server.url, secrets.OPERATOR_TOKEN);
    return await ensureDemoVendors(server.url, secrets.OPERATOR_TOKEN, vendorUrl);
  } finally {
    await server.stop();
  }
}
