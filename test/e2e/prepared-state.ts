/**
 * Global setup of the end-to-end tests: one `npm start`, whose state every server that is not about starting copies
 * (local-server.ts), so that servers share no storage; and the servers that files share (shared-servers.ts). It also
 * creates `.dev.vars`, which servers starting at the same time would create twice.
 */
import { rm } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import { newState, startLocal } from './local-server.ts';
import { offerServers } from './shared-servers.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the prepared state. */
    preparedState: string;
    /** Who is asked for a shared server. */
    sharedServers: string;
  }
}

export default async function prepare(project: TestProject): Promise<() => Promise<void>> {
  const { stateDir, ...ports } = await newState();
  const server = await startLocal({ stateDir, ...ports });
  await server.stop();
  const shared = await offerServers(stateDir);
  project.provide('preparedState', stateDir);
  project.provide('sharedServers', shared.url);
  return async () => {
    await shared.stop();
    await rm(stateDir, { recursive: true, force: true });
  };
}
