/**
 * A customer's object driven from inside, with a clock of the test's own: the real storage and the real commands.
 */
import { runInDurableObject } from 'cloudflare:test';
import * as commands from '../../durable-objects/customer/commands.ts';
import { deliver } from '../../durable-objects/customer/outbox.ts';
import type { BeginCommand, EndCommand } from '../../durable-objects/customer/protocol.ts';
import { CustomerStore } from '../../durable-objects/customer/store.ts';
import { Plan } from '../../src/contract/plans.ts';
import { NO_USAGE } from '../unit/fixtures.ts';
import { bindings, customerStub } from './worker.ts';

export interface Clockwork {
  begin(callId: string, atMs: number, more?: Partial<BeginCommand['request']>): ReturnType<typeof commands.begin>;
  end(callId: string, atMs: number, more?: Partial<EndCommand['request']>): ReturnType<typeof commands.end>;
  usage(atMs: number): ReturnType<typeof commands.readUsage>;
  call(callId: string, atMs: number): ReturnType<typeof commands.readCall>;
  housekeep(atMs: number): void;
  deliver(db: D1Database, atMs: number): Promise<void>;
  /** When the object would wake next. */
  alarm(): Promise<number | null>;
  rows(table: string): number;
  outbox(): ReturnType<CustomerStore['outboxState']> & ReturnType<CustomerStore['delivery']>;
  /** The same object after it was evicted: nothing in memory. */
  restart(): Promise<void>;
}

/** Runs `steps` in a fresh customer's object on the given plan. */
export async function withObject(
  plan: object,
  steps: (object: Clockwork, names: { organizationId: string; customerId: string }) => Promise<void>,
): Promise<void> {
  const organizationId = crypto.randomUUID();
  const customerId = 'clockwork';
  const defaultPlan = { planId: 'test', usagePlanVersionId: 'test:v1', version: 1, plan: Plan.parse(plan) };
  const stub = customerStub(organizationId, customerId);
  await runInDurableObject(stub, async (_, state) => {
    let store = new CustomerStore(state.storage);
    await store.load();
    const at = (nowMs: number): commands.Context => ({
      store,
      objectId: state.id.toString(),
      deadlineSeconds: { standard: 3_600, batch: 172_800 },
      nowMs,
      newId: () => crypto.randomUUID(),
    });
    const object: Clockwork = {
      begin: (callId, atMs, more = {}) =>
        commands.begin(at(atMs), {
          organizationId,
          customerId,
          defaultPlan,
          contact: {},
          key: { source: 'explicit', callId, claimedAtMs: atMs },
          fingerprint: JSON.stringify(more),
          request: { requested: {}, pricingMode: 'standard', ...more },
          tierHints: {},
        }),
      end: (callId, atMs, more = {}) =>
        commands.end(at(atMs), {
          organizationId,
          callId,
          idempotencyKey: null,
          fingerprint: JSON.stringify(more),
          price: { available: false, reason: 'MODEL_NOT_REPORTED' },
          request: { usage: NO_USAGE, ...more },
        }),
      usage: (atMs) => commands.readUsage(at(atMs), { organizationId }),
      call: (callId, atMs) => commands.readCall(at(atMs), organizationId, callId),
      housekeep: (atMs) => {
        store.alarmFired();
        commands.housekeep(at(atMs));
      },
      deliver: (db, atMs) => deliver({ store, db, kv: bindings.KV, objectId: state.id.toString(), now: () => atMs }),
      alarm: () => state.storage.getAlarm(),
      rows: (table) => state.storage.sql.exec<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`).one().n,
      outbox: () => ({ ...store.outboxState(), ...store.delivery() }),
      restart: async () => {
        store = new CustomerStore(state.storage);
        await store.load();
      },
    };
    await steps(object, { organizationId, customerId });
  });
}

/** The data of an accepted answer; throws on a refusal. */
export function accepted<Data>(answer: { ok: true; data: Data } | { ok: false; refusal: unknown }): Data {
  if (!answer.ok) throw new Error(`refused: ${JSON.stringify(answer.refusal)}`);
  return answer.data;
}
