/**
 * The setup of the program: a service and the vendor for trying out, on loopback. They end with the scope.
 */
import { startTrialVendor } from '../../src/cli/vendor/server.ts';
import { startKillableServer } from '../crash/killable-server.ts';
import { Api, createTenant, OPERATOR_TOKEN } from '../support/api.ts';

/** How long an answer takes whose prompt says `slow`: longer than the program waits. */
const SLOW_MS = 20_000;

/** The addresses and the key that the program reads from its environment. */
export type World = Record<'SERVICE_URL' | 'VENDOR_URL' | 'CALLMETER_KEY', string>;

/** Samples every call; its plan `empty` allows none. */
export async function startWorld(scope: AsyncDisposableStack): Promise<World> {
  const server = await startKillableServer(scope);
  const vendor = await startTrialVendor({ port: 0, slowMs: SLOW_MS });
  scope.defer(vendor.stop);
  const operator = new Api((url, init) => fetch(url, init), server.url, OPERATOR_TOKEN);
  const { organizationId } = await createTenant(operator, { name: 'Open', limitType: 'NONE' });
  const params = { org: organizationId };
  const empty = { name: 'Empty', limitType: 'BLOCK', limits: { standardCalls: 0, premiumCalls: 0 } };
  const policy = { rate: 1, features: { include: [], exclude: ['private'] } };
  const [plan, sampling, created] = await Promise.all([
    operator.send('putPlan', { params: { ...params, planId: 'empty' }, body: empty }),
    operator.send('setSampling', { params, body: policy }),
    operator.send('createKey', { params, body: { name: 'runtimes' } }),
  ]);
  for (const { status } of [plan, sampling]) if (status !== 200) throw new Error(`preparing it was refused: ${status}`);
  const key = created.data.key;
  return { SERVICE_URL: server.url, VENDOR_URL: vendor.url, CALLMETER_KEY: key };
}
