/**
 * Global setup of the browser tests: one bundle, and one server with weeks of history and all data of the console's
 * pages. A test that needs a history of its own starts a server with the same bundle.
 */
import type { TestProject } from 'vitest/node';
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';
import { writeHistory } from './history.ts';
import { removePictures } from './pictures.ts';
import { makePresent } from './present.ts';
import { startBrowserServer } from './server.ts';

const HISTORY_DAYS = 45;

export default async function share(project: TestProject): Promise<() => Promise<void>> {
  await removePictures();
  const server = await startBrowserServer();
  await writeHistory(server.db, DEMO_ORGANIZATION_ID, HISTORY_DAYS, Date.now());
  const consoleIds = await makePresent(server);
  const { url, operatorToken, demoKey, bundleDir } = server;
  project.provide('shared', { url, operatorToken, demoKey, bundleDir, consoleIds });
  return server.stop;
}
