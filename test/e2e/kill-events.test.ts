/**
 * Promise: a kill -9 under load loses no event of what was acknowledged, and tells none twice.
 */
import { expect, test } from 'vitest';
import { createTenant } from '../support/api.ts';
import { preparedState, startPrepared, until } from './local-server.ts';

const LIMIT = 120;
const WORKERS = 12;
const KILL_AT = [45, 80];
const customerId = 'ann';

test('each threshold is told once, although the server is killed while calls end', async () => {
  const state = await preparedState();
  let server = await startPrepared(state);
  const plan = { name: 'Limited', limitType: 'BLOCK', limits: { standardCalls: LIMIT } };
  const { organizationId, api } = await createTenant(server.operator, plan);

  /** Begins and ends a call; true when the end was acknowledged. Sent again, it counts once. */
  const meter = async (call: number): Promise<boolean> => {
    const headers = { 'Idempotency-Key': `call-${call}` };
    try {
      if ((await api.send('beginCall', { body: { customerId }, headers })).status !== 200) return false;
      const body = { callId: `call-${call}`, modelUsed: 'gpt-4o-mini', inputTokens: 1, responseTokens: 1 };
      return (await api.send('endCall', { body, headers })).status === 200;
    } catch {
      return false; // the connection went with the server
    }
  };
  const waiting = new Set(Array.from({ length: LIMIT }, (_, call) => call));
  const load = async (killAt: number | undefined) => {
    const queue = [...waiting];
    let killed: Promise<void> | undefined;
    const work = async () => {
      for (let call = queue.shift(); call !== undefined && !killed; call = queue.shift()) {
        if (await meter(call)) waiting.delete(call);
        if (killAt !== undefined && LIMIT - waiting.size >= killAt) killed ??= server.kill();
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, work));
    await killed;
    return killed !== undefined;
  };
  for (const killAt of KILL_AT) {
    expect(await load(killAt), 'the server was killed in mid-load').toBe(true);
    server = await startPrepared(state);
  }
  await load(undefined);
  expect(waiting.size).toBe(0);

  const params = { org: organizationId, customerId };
  await until(async () => (await server.operator.send('readCustomer', { params })).data.outbox.pending === 0);
  const told = async () => (await api.send('readEvents', { query: { customerId } })).data.items.toReversed();
  await until(async () => (await told()).length >= 4);
  expect((await told()).map(({ type, data }) => [type, 'crossed' in data ? data.crossed : null])).toEqual([
    ['customer.created', null],
    ['meter.threshold_reached', [50]],
    ['meter.threshold_reached', [80]],
    ['meter.threshold_reached', [100]],
  ]);
  await server.stop();
});
