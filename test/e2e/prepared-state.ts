/**
 * Global setup of the end-to-end tests: one `npm start`, whose state every test that is not about starting copies
 * (local-server.ts), so that servers share no storage. It also creates `.dev.vars`, which servers starting at the same
 * time would create twice.
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
