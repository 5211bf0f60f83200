/**
 * Promise: a receiver that fails at random, while the server and the receiver itself are killed, gets every event of
 * the list at least once, a customer's events in their order, each signed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook as Verifier } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { freePort, PROJECT_DIR } from '../../src/cli/server.ts';
import { createTenant } from '../support/api.ts';
import { swept } from '../support/sweep.ts';
import { type LocalServer, preparedState, startPrepared, until } from './local-server.ts';
import type { Receipt } from './webhook-receiver.ts';

const CUSTOMERS = Array.from({ length: 8 }, (_, n) => `customer-${n}`);
const LIMIT = 10;
const CALLS = CUSTOMERS.length * LIMIT;
const WORKERS = 8;
const KILL_AT = swept([CALLS / 4, CALLS / 2], [CALLS / 2]);
/** The events of a customer: its creation, and three reached thresholds. */
const EVENTS = CUSTOMERS.length * 4;

async function startReceiver(port: number, file: string, seed: string): Promise<{ kill(): Promise<void> }> {
  const child = spawn(process.execPath, ['test/e2e/webhook-receiver.ts', String(port), file, seed], {
    cwd: PROJECT_DIR,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return {
    kill: async () => {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}

test('every event arrives, in order and signed, although receiver and server fail and are killed', async () => {
  const seed = `${Date.now()}`;
  console.log(`seed ${seed}`);
  const state = await preparedState();
  const file = join(state.stateDir, 'receipts.jsonl');
  const receiverPort = await freePort(0);
  let receiver = await startReceiver(receiverPort, file, seed);
  let server: LocalServer = await startPrepared(state);
  const plan = { name: 'Limited', limitType: 'BLOCK', limits: { standardCalls: LIMIT } };
  const { organizationId, api } = await createTenant(server.operator, plan);
  const events = async () => (await api.send('readEvents', { query: { limit: '200' } })).data.items.toReversed();
  // The organization first gets the event of its key; the webhook is for later events.
  await until(async () => (await events()).length === 1);
  const params = { org: organizationId, webhookId: 'receiver' };
  const body = { url: `http://127.0.0.1:${receiverPort}/hooks` };
  const { secret = '' } = (await server.operator.send('putWebhook', { params, body })).data;

  const waiting = new Set(Array.from({ length: CALLS }, (_, call) => call));
  /** Begins and ends a call; true when the end was acknowledged. Sent again, it counts once. */
  const meter = async (call: number): Promise<boolean> => {
    const headers = { 'Idempotency-Key': `call-${call}` };
    const customerId = CUSTOMERS[call % CUSTOMERS.length];
    try {
      if ((await api.send('beginCall', { body: { customerId }, headers })).status !== 200) return false;
      const end = { callId: `call-${call}`, modelUsed: 'gpt-4o-mini', inputTokens: 1, responseTokens: 1 };
      return (await api.send('endCall', { body: end, headers })).status === 200;
    } catch {
      return false; // the connection went with the server
    }
  };
  const load = async (killAt: number | undefined) => {
    const queue = [...waiting];
    let killed: Promise<void> | undefined;
    const work = async () => {
      for (let call = queue.shift(); call !== undefined && !killed; call = queue.shift()) {
        if (await meter(call)) waiting.delete(call);
        if (killAt !== undefined && CALLS - waiting.size >= killAt) killed ??= server.kill();
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, work));
    await killed;
  };
  for (const killAt of KILL_AT) {
    await load(killAt);
    server = await startPrepared(state);
  }
  await load(undefined);
  expect(waiting.size).toBe(0);

  const receipts = async (): Promise<Receipt[]> => {
    const text = await readFile(file, 'utf8').catch(() => '');
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Receipt);
  };
  const taken = async () => new Set((await receipts()).filter(({ status }) => status === 200).map(webhookId));
  // Both in the middle of the deliveries.
  await until(async () => (await taken()).size >= EVENTS / 4);
  await receiver.kill();
  await server.kill();
  [receiver, server] = [await startReceiver(receiverPort, file, `${seed} again`), await startPrepared(state)];
  await until(async () => (await taken()).size >= EVENTS);

  const listed = (await events()).filter(({ type }) => type !== 'key.created');
  expect(listed).toHaveLength(EVENTS);
  const all = await receipts();
  const verifier = new Verifier(secret);
  for (const { text, headers } of all)
    expect(verifier.verify(text, headers)).toMatchObject({ type: expect.any(String) });
  for (const { eventId, type, timestamp, data } of listed) {
    const found = all.filter((receipt) => webhookId(receipt) === eventId);
    expect(found.length, eventId).toBeGreaterThan(0);
    // A repeat is the same, to the letter.
    for (const { text } of found) expect(JSON.parse(text)).toEqual({ type, timestamp, data });
  }
  for (const customerId of CUSTOMERS) {
    const ofCustomer = (text: string) =>
      (JSON.parse(text) as { data: { customerId: string } }).data.customerId === customerId;
    const expected = listed.filter(({ data }) => 'customerId' in data && data.customerId === customerId);
    for (const seen of [all, all.filter(({ status }) => status === 200)])
      expect([...new Set(seen.filter(({ text }) => ofCustomer(text)).map(webhookId))], customerId).toEqual(
        expected.map(({ eventId }) => eventId),
      );
  }
  const repeats = all.length - new Set(all.map(webhookId)).size;
  console.log(`${all.length} requests for ${EVENTS} events, ${repeats} of them repeats`);
  const { items } = (await server.operator.send('listDeliveries', { params, query: { limit: '200' } })).data;
  expect(items.map(({ eventId }) => eventId).toSorted()).toEqual(listed.map(({ eventId }) => eventId).toSorted());
  await until(async () => (await server.operator.send('readWebhook', { params })).data.pending === 0);
  await server.stop();
  await receiver.kill();
});

const webhookId = ({ headers }: Receipt) => headers['webhook-id'] ?? '';
