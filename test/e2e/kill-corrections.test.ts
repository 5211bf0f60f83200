/**
 * Promise: a kill -9 between reversals loses none that was acknowledged, and makes none twice: sent again, they leave
 * the balance, the allowance and the reports of a history without the mistakes.
 */
import { expect, test } from 'vitest';
import { createTenant } from '../support/api.ts';
import { preparedState, startPrepared, until } from './local-server.ts';

const CALLS = 60;
const MISTAKES = 40;
const INCREMENTS = 10;
const WORKERS = 8;
const KILL_AT = 15;
const customerId = 'ann';
const PLAN = {
  name: 'As you go',
  limitType: 'BLOCK',
  limits: { premiumCalls: 0 },
  payg: { enabled: true, markupPercent: 20 },
  customMeters: {
    CUSTOM1: {
      label: 'Pages',
      included: 30,
      funding: { payg: true },
      overage: { model: 'SINGLE', priceUsd: '0.001', per: '1' },
    },
  },
};

test('reversals that were cut off by a kill are made once when they are sent again', async () => {
  const state = await preparedState();
  let server = await startPrepared(state);
  const { organizationId, api } = await createTenant(server.operator, PLAN);
  const params = { org: organizationId, customerId };
  const read = async () => (await server.operator.send('readCustomer', { params })).data;
  await api.send('provisionCustomer', { body: { customerId } });
  await server.operator.send('grantCredit', { params, body: { kind: 'USD', amountUsd: '100' } });

  const calls: string[] = [];
  for (let call = 0; call < CALLS; call += 1) {
    const { callId } = (
      await api.send('beginCall', {
        body: { customerId, requested: { premium: true }, idempotencyKey: `call-${call}` },
      })
    ).data;
    // 0.0075 USD, with the markup 0.009.
    await api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 500 } });
    calls.push(callId);
  }
  const events: string[] = [];
  for (let event = 0; event < INCREMENTS; event += 1)
    events.push(
      (await api.send('incrementMeter', { body: { customerId, meterSlot: 'CUSTOM1', amount: 5 } })).data.eventId,
    );

  const body = { reason: 'a test' };
  const mistakes = [
    ...calls.slice(0, MISTAKES).map((callId) => () => api.send('reverseCall', { params: { callId }, body })),
    ...events
      .slice(0, 3)
      .map((eventId) => () => api.send('reverseMeterEvent', { params: { eventId }, body: { ...body, customerId } })),
  ];
  let acknowledged = 0;
  let killed: Promise<void> | undefined;
  const queue = [...mistakes];
  const work = async () => {
    for (let next = queue.shift(); next && !killed; next = queue.shift()) {
      const answer = await next().catch(() => undefined);
      if (answer?.status === 200) acknowledged += 1;
      if (acknowledged >= KILL_AT) killed ??= server.kill();
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  await killed;
  expect(killed, 'the server was killed in between').toBeDefined();

  server = await startPrepared(state);
  const replayed = [];
  for (const send of mistakes) {
    const answer = await send();
    expect(answer.status).toBe(200);
    if (answer.headers.get('Idempotency-Replayed') === 'true') replayed.push(answer);
  }
  expect(replayed.length).toBeGreaterThanOrEqual(acknowledged);
  await until(async () => {
    const { wallet, outbox } = await read();
    return wallet.openCharges === 0 && outbox.pending === 0;
  });
  const { wallet, meters } = await read();
  // 20 calls at 0.009, and 35 of 50 units: 30 are included, 5 at 0.001.
  expect(wallet).toMatchObject({ balanceUsd: '99.815', unsettledUsd: '0', heldUsd: '0' });
  expect(meters.customMeter1).toMatchObject({ used: 30 });
  await until(async () => (await api.send('readUsageSummary')).data.totals.calls === CALLS - MISTAKES);
  await server.stop();
}, 120_000);
