/**
 * `npm start -- --temporary`: a server for an application's tests, with the demo organization and the vendor for trying
 * out. It uses free ports, and a state and secrets of its own that are removed at the end. It prints its addresses as
 * one line of JSON, and ends with its standard input, which closes when its parent ends in any way.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from './bundle.ts';
import { DEMO_ORGANIZATION_ID } from './demo-organization.ts';
import { newSecrets } from './dev-vars.ts';
import { AT_ONCE, prepareServer, seedState } from './prepare.ts';
import { startServer } from './server.ts';
import { startTrialVendor } from './vendor/server.ts';

/** Resolves when all of it has ended; `whenElse` calls its argument if it has to end for another reason. */
export async function runTemporary(whenElse: (stop: () => void) => void): Promise<void> {
  const told = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve).once('error', resolve).resume();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    whenElse(resolve);
  });
  await using scope = new AsyncDisposableStack();
  const stateDir = await mkdtemp(join(tmpdir(), 'callmeter-temporary-'));
  scope.defer(() => rm(stateDir, { recursive: true, force: true }));
  const vendor = await startTrialVendor({ port: 0 });
  scope.defer(vendor.stop);
  await bundle(stateDir);
  await seedState(stateDir);
  const secrets = newSecrets();
  const { DEMO_API_KEY: apiKey, ...vars } = secrets;
  const server = await startServer({ port: 0, stateDir, isTemporary: true, vars: { ...vars, ...AT_ONCE } });
  scope.defer(server.stop);
  await prepareServer(server, { secrets, vendorUrl: vendor.url });
  const running = {
    url: server.url,
    vendorUrl: vendor.url,
    apiKey,
    operatorToken: vars.OPERATOR_TOKEN,
    organizationId: DEMO_ORGANIZATION_ID,
  };
  console.log(JSON.stringify(running));
  await told;
}
