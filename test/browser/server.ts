/**
 * Starts a server for the browser tests, with the demo organization and access to its database to insert a history.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureDemoOrganization } from '../../src/cli/demo-organization.ts';
import { bundle, freePort, type Server, startServer } from '../../src/cli/server.ts';
import { createApiKey } from '../../src/platform/api-key.ts';
import { Api } from '../support/api.ts';

export interface BrowserServer extends Server {
  operatorToken: string;
  operator: Api;
  demo: Api;
}

const secret = () => randomBytes(32).toString('base64url');

export async function startBrowserServer(): Promise<BrowserServer> {
  const stateDir = await mkdtemp(join(tmpdir(), 'callmeter-browser-'));
  const operatorToken = secret();
  const demoKey = createApiKey('utk-');
  await bundle(stateDir);
  const vars = {
    OPERATOR_TOKEN: operatorToken,
    SESSION_SECRET: secret(),
    VENDOR_KEY_SECRET: secret(),
    CONFIG_TTL_MS: 300,
    // As `npm start` sets it.
    DEMO_API_KEY: demoKey,
  };
  const server = await startServer({ port: await freePort(0), stateDir, vars });
  await ensureDemoOrganization(server, operatorToken, demoKey);
  await server.housekeep();
  return {
    ...server,
    operatorToken,
    operator: new Api(fetch, server.url, operatorToken),
    demo: new Api(fetch, server.url, demoKey),
    async stop() {
      await server.stop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}
