/**
 * The setup for clients: a server, the vendor for trying out in place of OpenAI and Anthropic, an organization without
 * limits, and a relay that notes the requests. All of it is on loopback, and ends with the scope.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Entry, startTrialVendor } from '../../src/cli/vendor/server.ts';
import { startKillableServer } from '../crash/killable-server.ts';
import { Api, createTenant, OPERATOR_TOKEN } from '../support/api.ts';
import { type Relay, startRelay } from './relay.ts';

export interface World {
  relay: Relay;
  key: string;
  /** With that key. */
  api: Api;
  /** The vendor's requests and answers. */
  answered: Entry[];
}

/** A new folder, which goes with the scope. */
export async function openFolder(scope: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'callmeter-clients-'));
  scope.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

export async function startWorld(scope: AsyncDisposableStack): Promise<World> {
  // In a process of its own: an interrupt must not end it before what ran is told.
  const server = await startKillableServer(scope);
  const answered: Entry[] = [];
  const vendor = await startTrialVendor({ port: 0, onAnswer: (entry) => answered.push(entry) });
  scope.defer(vendor.stop);
  const operator = new Api((url, init) => fetch(url, init), server.url, OPERATOR_TOKEN);
  const { organizationId } = await createTenant(operator, { name: 'Free', limitType: 'NONE' });
  const params = { org: organizationId };
  for (const provider of ['openai', 'anthropic']) {
    const body = { apiKey: 'any-key-answers-are-made-up', baseUrl: `${vendor.url}/v1` };
    const set = await operator.send('setVendor', { params: { ...params, provider }, body });
    if (set.status !== 200) throw new Error(`the vendor was refused: ${set.status}`);
  }
  const { key } = (await operator.send('createKey', { params, body: { name: 'clients' } })).data;
  const relay = await startRelay(server.url);
  scope.defer(relay.close);
  return { relay, key, api: operator.with(key), answered };
}
