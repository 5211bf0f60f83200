/**
 * Global setup of the end-to-end tests: the state that `npm start` prepares, which every other server gets as a copy
 * (local-server.ts), so that servers share no storage; and the servers that files share (shared-servers.ts). It also
 * creates `.dev.vars`, which servers starting at the same time would create twice.
 */
import { rm } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import { bundle } from '../../src/cli/bundle.ts';
import { ensureDevVars } from '../../src/cli/dev-vars.ts';
import { prepareState, seedState } from '../../src/cli/prepare.ts';
import { newState } from './local-server.ts';
import { offerServers } from './shared-servers.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the prepared state. */
    preparedState: string;
    /** The address at which files ask for a shared server. */
    sharedServers: string;
  }
}

export default async function prepare(project: TestProject): Promise<() => Promise<void>> {
  const { stateDir, vendorPort } = await newState();
  const [{ secrets }] = await Promise.all([ensureDevVars(), bundle(stateDir)]);
  await seedState(stateDir);
  await prepareState(stateDir, { secrets, vendorUrl: `http://127.0.0.1:${vendorPort}` });
  const shared = await offerServers(stateDir);
  project.provide('preparedState', stateDir);
  project.provide('sharedServers', shared.url);
  return async () => {
    await shared.stop();
    await rm(stateDir, { recursive: true, force: true });
  };
}
