/**
 * Before the end-to-end tests: one `npm start`, whose state is prepared for every test that is not about starting. Each
 * copies it (local-server.ts), so that no two servers share what they store. It also makes `.dev.vars`, which servers
 * that start at the same moment would make twice.
 */
import { rm } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import { newState, startLocal } from './local-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the prepared state. */
    preparedState: string;
  }
}

export default async function prepare(project: TestProject): Promise<() => Promise<void>> {
  const state = await newState();
  const server = await startLocal(state);
  await server.stop();
  project.provide('preparedState', state.stateDir);
  return () => rm(state.stateDir, { recursive: true, force: true });
}
