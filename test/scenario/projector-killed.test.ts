/**
 * Promise: a projector that is killed before D1 has a page, after D1 has it, or before it answers, loses nothing, and nothing
 * counts twice: the customer's object keeps its changes until the answer, and hands them over again.
 */
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeAll, expect, test, vi } from 'vitest';
import type { Env } from '../../src/env.ts';
import type { HandOver } from '../../src/objects/projector-commands.ts';
import { customerProjector } from '../../src/objects/projectors.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { customerKey } from '../support/ids.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';

const POLL = { timeout: 60_000, interval: 100 };

let tenant: Tenant;
beforeAll(async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  tenant = await createTenant(operator, { name: 'P', limitType: 'NONE' });
});

/** A customer with one ended call, none of which D1 has. */
async function oneCall(customerId: string) {
  const { organizationId, api } = tenant;
  const { callId } = (await api.send('beginCall', { body: { customerId } })).data;
  await api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', inputTokens: 10, responseTokens: 0 } });
  const count = async (sql: string) =>
    (await bindings.DB.prepare(sql).bind(organizationId, customerId).first<{ n: number | null }>())?.n ?? 0;
  return {
    stub: customerStub(organizationId, customerId),
    projector: customerProjector(bindings, 'DB', customerKey(organizationId, customerId))() as never,
    inD1: () => count('SELECT COUNT(*) AS n FROM calls WHERE organization_id = ? AND customer_id = ?'),
    /** The changes that wait, and what D1 has of the customer. */
    seen: async () => ({
      waits: (await operator.send('readCustomer', { params: { org: organizationId, customerId } })).data.outbox.pending,
      calls: await count('SELECT COUNT(*) AS n FROM calls WHERE organization_id = ? AND customer_id = ?'),
      counted: await count('SELECT SUM(calls) AS n FROM usage_hours WHERE organization_id = ? AND customer_id = ?'),
      events: await count(
        `SELECT COUNT(*) AS n FROM organization_events WHERE organization_id = ? AND customer_id = ? AND type = 'customer.created'`,
      ),
    }),
  };
}

const EVERYTHING_ONCE = { waits: 0, calls: 1, counted: 1, events: 1 };

/** The next transaction of the projector goes this way. */
function replaceBatch(
  projector: never,
  batch: (send: () => Promise<D1Result[]>, stop: () => void) => Promise<D1Result[]>,
): Promise<void> {
  return runInDurableObject(projector, (instance, context) => {
    const { env } = instance as unknown as { env: Env };
    const DB = {
      prepare: (sql: string) => env.DB.prepare(sql),
      batch: (statements: D1PreparedStatement[]) =>
        batch(
          () => env.DB.batch(statements),
          () => context.abort('the machine stops'),
        ),
    };
    Object.defineProperty(instance, 'env', { value: { ...env, DB } });
  });
}

test('before D1 has the page', async () => {
  const { stub, projector, inD1, seen } = await oneCall('before');
  let sent = 0;
  await replaceBatch(projector, (_, stop) => {
    sent += 1;
    stop();
    return Promise.reject(new Error('the machine stops'));
  });
  await runDurableObjectAlarm(stub);
  expect([sent, await inD1()]).toEqual([1, 0]);
  await expect.poll(seen, POLL).toEqual(EVERYTHING_ONCE);
});

test('after D1 has the page', async () => {
  const { stub, projector, inD1, seen } = await oneCall('after');
  await replaceBatch(projector, async (send, stop) => {
    const results = await send();
    stop();
    return results;
  });
  await runDurableObjectAlarm(stub);
  expect(await inD1()).toBe(1);
  expect((await seen()).waits, 'the object keeps what was not answered').toBeGreaterThan(0);
  await expect.poll(seen, POLL).toEqual(EVERYTHING_ONCE);
});

test('before it answers', async () => {
  const { stub, inD1, seen } = await oneCall('unanswered');
  let lost = 0;
  await runInDurableObject(stub, (instance) => {
    const { env } = instance as unknown as { env: Env };
    const getByName = (name: string) => ({
      take: async (handOver: HandOver) => {
        const answer = await env.PROJECTORS.getByName(name).take(handOver);
        lost += 1;
        if (lost === 1) throw new Error('the machine stops');
        return answer;
      },
    });
    Object.defineProperty(instance, 'env', { value: { ...env, PROJECTORS: { getByName } } });
  });
  await runDurableObjectAlarm(stub);
  expect([lost, await inD1()]).toEqual([1, 1]);
  await expect.poll(seen, POLL).toEqual(EVERYTHING_ONCE);
  expect(lost).toBeGreaterThan(1);
});
