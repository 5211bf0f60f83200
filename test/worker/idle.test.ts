/**
 * Promise: a customer who does not call costs only storage: its object has no alarm before something is due, and the
 * projectors have none at all.
 */
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { listProjectors } from '../../src/objects/projectors.ts';
import { MINUTE_MS } from '../../src/platform/time.ts';
import { createTenant } from '../support/api.ts';
import { bindings, customerStub, fireProjectors, operator } from '../support/worker.ts';

const PLAN = { name: 'Idle', limitType: 'BLOCK', limits: { standardCalls: 10 } };
/** The hand-over, and an alarm that fires early. */
const ALARMS_MAX = 3;
const REST_MS = 30 * MINUTE_MS;

test('after its last call has been handed over, a customer rests until the deadline that the call had', async () => {
  const { organizationId, api } = await createTenant(operator, PLAN);
  const { callId } = (await api.send('beginCall', { body: { customerId: 'quiet', feature: 'chat' } })).data;
  await api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', inputTokens: 10, responseTokens: 10 } });

  const customer = customerStub(organizationId, 'quiet');
  const alarmOf = (stub: DurableObjectStub) => runInDurableObject(stub, (_, { storage }) => storage.getAlarm());
  const isSoon = (atMs: number | null) => atMs !== null && atMs < Date.now() + REST_MS;
  let alarms = 0;
  for (; alarms < ALARMS_MAX && isSoon(await alarmOf(customer)); alarms += 1) {
    await runDurableObjectAlarm(customer);
    await fireProjectors();
  }

  expect(alarms, 'there was something to hand over').toBeGreaterThan(0);
  // An alarm is not moved to a later time: it stays at the call's deadline, in an hour.
  expect((await alarmOf(customer)) ?? Number.POSITIVE_INFINITY).toBeGreaterThan(Date.now() + REST_MS);
  for (const projector of listProjectors(bindings, 'DB')) expect(await alarmOf(projector())).toBeNull();
});
