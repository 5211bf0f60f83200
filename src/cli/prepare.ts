/**
 * The preparation of a local server before its use: housekeeping's results, the demo organization, and the vendor for
 * trying out as its vendors.
 */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle, SERVICE } from './bundle.ts';
import { adoptDemoKey, ensureDemoOrganization, ensureDemoVendors } from './demo-organization.ts';
import { type LocalSecrets, newSecrets } from './dev-vars.ts';
import { copyKept, hashFiles, keep, SERVICE_SOURCES } from './kept-folders.ts';
import { type Server, startServer } from './server.ts';

interface Preparation {
  /** With the other variables of `.dev.vars`, if the server has them. */
  secrets: LocalSecrets;
  /** The address of the vendor for trying out. */
  vendorUrl: string;
  withHistory?: boolean;
}

/** No configuration is cached yet, so changes need not wait for caches. */
export const AT_ONCE = { CONFIG_TTL_MS: 0 };

/**
 * Fills the state of a folder that has a bundle, with a server on a port of its own, so that the data is complete when
 * the real port opens. Returns the providers for which the vendor for trying out answers.
 */
export async function prepareState(stateDir: string, preparation: Preparation): Promise<string[]> {
  const { DEMO_API_KEY: _key, ...vars } = preparation.secrets;
  const server = await startServer({ port: 0, stateDir, vars: { ...vars, ...AT_ONCE } });
  try {
    return await prepareServer(server, preparation);
  } finally {
    await server.stop();
  }
}

/** The same with a running server that applies changes at once. Existing data stays. */
export async function prepareServer(
  server: Server,
  { secrets, vendorUrl, withHistory }: Preparation,
): Promise<string[]> {
  await server.housekeep();
  await ensureDemoOrganization(server.url, secrets.OPERATOR_TOKEN);
  await adoptDemoKey(server, secrets.DEMO_API_KEY);
  if (withHistory) {
    // Imported only here: it loads much code that no other start needs.
    const { ensureHistoryPlan } = await import('./demo-history.ts');
    await ensureHistoryPlan(server.url, secrets.OPERATOR_TOKEN);
  }
  return ensureDemoVendors(server.url, secrets.OPERATOR_TOKEN, vendorUrl);
}

/**
 * Puts the state of a first start into an empty folder: the migrated database, the catalog and the demo organization,
 * and nothing that depends on a secret. It is made once for the same sources, and copied.
 */
export async function seedState(stateDir: string): Promise<void> {
  const seed = await nameOfSeed();
  if (await copyKept('states', seed, stateDir)) return;
  const folder = await mkdtemp(join(tmpdir(), 'callmeter-seed-'));
  try {
    await bundle(folder);
    const { DEMO_API_KEY: _key, ...vars } = newSecrets();
    const server = await startServer({ port: 0, stateDir: folder, vars: { ...vars, ...AT_ONCE } });
    try {
      await server.housekeep();
      await ensureDemoOrganization(server.url, vars.OPERATOR_TOKEN);
    } finally {
      await server.stop();
    }
    await rm(join(folder, SERVICE.folder), { recursive: true });
    // A source that was changed meanwhile may be included or not.
    if (seed === (await nameOfSeed())) await keep('states', seed, folder);
    await cp(folder, stateDir, { recursive: true });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function nameOfSeed(): Promise<string> {
  return hashFiles({ ...SERVICE_SOURCES, folders: [...SERVICE_SOURCES.folders, 'd1-migrations'] });
}
