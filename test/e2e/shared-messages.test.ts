/**
 * Promise: in the runtime as it is deployed, requests share their messages to a customer's object, and each is answered
 * and recorded once, also where the answer to a message that carried several is lost.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GatewayTenant, type Setting, startGateway } from './gateway-tenant.ts';

let setting: Setting;
let tenant: GatewayTenant;
beforeAll(async () => {
  setting = await startGateway({ script: 'test/e2e/counting-worker.ts', folder: 'counting' });
  tenant = await setting.tenant({ name: 'P', limitType: 'BLOCK', limits: { premiumCalls: 10_000 } });
});
afterAll(() => setting.stop());

/** The statuses that so many callers get, one request after the other. */
async function callAtOnce(customer: string, callers: number, rounds: number): Promise<number[]> {
  const body = { model: 'gpt-5.2', customer, messages: [{ role: 'user', content: 'x' }] };
  const statuses = Array.from({ length: callers }, async () => {
    const answered: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const response = await tenant.send('/v1/chat/completions', { body });
      await response.text();
      answered.push(response.status);
    }
    return answered;
  });
  return (await Promise.all(statuses)).flat();
}

const counted = async () =>
  (await (await tenant.send('/messages', { method: 'GET' })).json()) as Record<string, number>;
const used = async (customer: string) => (await tenant.settled(customer)).meters.premiumCalls?.used;

test('callers of one moment send fewer messages than they have commands', async () => {
  await callAtOnce('together', 16, 2);
  await counted();
  expect(await callAtOnce('together', 16, 10)).toEqual(Array(160).fill(200));
  const { open = 0, finish = 0, runAll = 0 } = await counted();
  expect(runAll).toBeGreaterThan(0);
  // Two commands a call.
  expect(open + finish + runAll).toBeLessThan(320);
  expect(await used('together')).toBe(192);
});

test('where the answer to a message is lost, all whom it carried send for themselves, and count once', async () => {
  await callAtOnce('lost', 12, 5);
  await tenant.send('/lose');
  const startedMs = performance.now();
  expect(await callAtOnce('lost', 12, 5)).toEqual(Array(60).fill(200));
  expect(performance.now() - startedMs, 'an answer was lost').toBeGreaterThan(10_000);
  expect(await used('lost')).toBe(120);
});
