/**
 * Servers for the browser tests: the one that shared.ts starts for all, furnished with a history, and servers of a test's
 * own on the same bundle. Each has the demo organization.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { bundle } from '../../src/cli/bundle.ts';
import { adoptDemoKey, ensureDemoOrganization } from '../../src/cli/demo-organization.ts';
import { freePort, type Server, startServer } from '../../src/cli/server.ts';
import { createApiKey } from '../../src/platform/api-key.ts';
import { Api } from '../support/api.ts';
import type { ConsoleIds } from './console-pages.ts';

/** The parts of a server that a test uses. */
export interface BrowserServer {
  url: string;
  operatorToken: string;
  operator: Api;
  demo: Api;
}

export interface OwnServer extends BrowserServer, Pick<Server, 'db' | 'stop'> {
  demoKey: string;
  bundleDir: string;
}

/** The values that shared.ts provides to the tests. */
interface Shared extends Pick<OwnServer, 'url' | 'operatorToken' | 'demoKey' | 'bundleDir'> {
  /** The ids in the console's pages. */
  consoleIds: ConsoleIds;
}

declare module 'vitest' {
  interface ProvidedContext {
    shared: Shared;
  }
}

const secret = () => randomBytes(32).toString('base64url');

/** The server of all tests, which change nothing in it that another one looks at. */
export function sharedServer(): BrowserServer {
  const { url, operatorToken, demoKey } = inject('shared');
  return clientsOf(url, operatorToken, demoKey);
}

/** With a bundle that is there, or one that it makes; `more` are further settings. */
export async function startBrowserServer(bundleDir?: string, more: Record<string, string> = {}): Promise<OwnServer> {
  const stateDir = await mkdtemp(join(tmpdir(), 'callmeter-browser-'));
  const operatorToken = secret();
  const demoKey = createApiKey('utk-');
  const ownBundleDir = join(stateDir, 'bundle');
  if (bundleDir) await symlink(bundleDir, ownBundleDir);
  else await bundle(stateDir);
  const vars = {
    OPERATOR_TOKEN: operatorToken,
    SESSION_SECRET: secret(),
    VENDOR_KEY_SECRET: secret(),
    CONFIG_TTL_MS: 300,
    // As `npm start` sets it.
    DEMO_API_KEY: demoKey,
    ...more,
  };
  const server = await startServer({ port: await freePort(0), stateDir, vars });
  await ensureDemoOrganization(server.url, operatorToken);
  await adoptDemoKey(server, demoKey);
  await server.housekeep();
  return {
    ...clientsOf(server.url, operatorToken, demoKey),
    demoKey,
    bundleDir: ownBundleDir,
    db: server.db,
    async stop() {
      await server.stop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

function clientsOf(url: string, operatorToken: string, demoKey: string): BrowserServer {
  return { url, operatorToken, operator: new Api(fetch, url, operatorToken), demo: new Api(fetch, url, demoKey) };
}
