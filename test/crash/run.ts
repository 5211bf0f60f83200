/**
 * The crash suite: kills a server repeatedly under mixed load, then checks its state on disk.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Api, createTenant } from '../support/api.ts';
import { createKillableServer, type KillableServer } from './killable-server.ts';
import { Load, PLAN_IDS } from './load.ts';
import { randomFrom } from './random.ts';
import { readD1, readObjects } from './state.ts';
import { judge } from './verdict.ts';

export interface CrashOptions {
  kills: number;
  seed: number;
  customers: number;
  workers: number;
  onProgress?: (line: string) => void;
  /** Ends the kills early; what was sent is judged all the same. */
  signal?: AbortSignal;
}

export interface CrashReport {
  seed: number;
  kills: number;
  /** Kills that hit the server while it was still starting. */
  killsInStart: number;
  calls: number;
  increments: number;
  grants: number;
  subscriptionChanges: number;
  requests: number;
  unanswered: number;
  replays: number;
  interrupted: boolean;
  /** Sentences about what was lost, doubled or contradicted; none where the promise held. */
  wrong: string[];
  /** What never happened, so that the run says nothing about it. */
  unproven: string[];
}

const OPERATOR_TOKEN = 'crash-operator-token-of-at-least-32-characters';
const SECRETS = {
  OPERATOR_TOKEN,
  VENDOR_KEY_SECRET: 'crash-vendor-key-secret-of-32-characters',
  SESSION_SECRET: 'crash-session-secret-of-at-least-32-characters',
};
/** A kill comes within this time of the server's start, or of its being ready. */
const LIFE_MS_MAX = 1_200;
const START_KILL_SHARE = 0.15;
const START_KILL_MS_MAX = 500;
const DRAIN_MS_MAX = 120_000;

const METER = {
  label: 'units',
  included: 200,
  funding: { credits: true, payg: true },
  overage: {
    model: 'GRADUATED',
    tiers: [
      { upTo: '500', priceUsd: '0.0001', per: '1' },
      { upTo: null, priceUsd: '0.00003', per: '1' },
    ],
  },
};
const planOf = (name: string, premiumCalls: number) => ({
  name,
  limitType: 'NONE',
  limits: { premiumCalls },
  payg: { enabled: true, markupPercent: 12.5 },
  customMeters: { CUSTOM1: METER },
});

export async function runCrashes(options: CrashOptions): Promise<CrashReport> {
  const { onProgress = () => undefined, signal } = options;
  onProgress('bundling the Worker ...');
  const server = await createKillableServer({ ...SECRETS, CONFIG_TTL_MS: 100 });
  try {
    await server.start();
    const operator = new Api(fetch, server.url, OPERATOR_TOKEN);
    const { organizationId, apiKey } = await prepare(operator);
    const random = randomFrom(options.seed);
    const customers = Array.from({ length: options.customers }, (_, index) => `customer-${index}`);
    const load = new Load({
      url: server.url,
      apiKey,
      operatorToken: OPERATOR_TOKEN,
      organizationId,
      customers,
      workers: options.workers,
      random: randomFrom(options.seed + 1),
    });
    await load.provision();
    load.start();
    let killsInStart = 0;
    let kills = 0;
    for (; kills < options.kills && !signal?.aborted; kills += 1) {
      const early = kills > 0 && random.chance(START_KILL_SHARE);
      if (early) {
        killsInStart += 1;
        void server.start().catch(() => undefined);
        await sleep(random.below(START_KILL_MS_MAX));
      } else {
        if (kills > 0) await server.start();
        await sleep(random.below(LIFE_MS_MAX));
      }
      await server.kill();
      const { requests, unanswered } = load.sent.counts;
      onProgress(`kill ${kills + 1} of ${options.kills}: ${requests} requests sent, ${unanswered} unanswered`);
    }
    await server.start();
    onProgress('sending again what was not acknowledged ...');
    await load.finish();
    onProgress('waiting for D1 to have everything ...');
    await drained(operator, organizationId, customers);
    await server.stop();
    return report(options, server, { organizationId, load, kills, killsInStart });
  } finally {
    await server.remove();
  }
}

async function prepare(operator: Api): Promise<{ organizationId: string; apiKey: string }> {
  const { organizationId } = await createTenant(operator, planOf('Default', 20));
  const params = { org: organizationId };
  for (const [index, planId] of PLAN_IDS.entries()) {
    const { status } = await operator.send('putPlan', {
      params: { ...params, planId },
      body: planOf(planId, 20 + 10 * index),
    });
    if (status !== 200) throw new Error(`the plan ${planId} was refused`);
  }
  await operator.send('updateOrganization', { params, body: { defaultPlanId: PLAN_IDS[0] } });
  const { key } = (await operator.send('createKey', { params, body: { name: 'crash' } })).data;
  return { organizationId, apiKey: key };
}

async function drained(operator: Api, organizationId: string, customers: readonly string[]): Promise<void> {
  const giveUpAtMs = Date.now() + DRAIN_MS_MAX;
  for (const customerId of customers) {
    for (;;) {
      const { outbox, wallet } = (await operator.send('readCustomer', { params: { org: organizationId, customerId } }))
        .data;
      if (outbox.pending === 0 && wallet.openCharges === 0) break;
      if (Date.now() > giveUpAtMs) return; // the verdict says what still waits
      await sleep(100);
    }
  }
}

function report(
  { seed, signal }: CrashOptions,
  { stateDir }: KillableServer,
  {
    organizationId,
    load,
    kills,
    killsInStart,
  }: { organizationId: string; load: Load; kills: number; killsInStart: number },
): CrashReport {
  const { sent } = load;
  const wrong = judge({
    organizationId,
    sent,
    d1: readD1(stateDir),
    customers: readObjects(stateDir, 'Customer'),
    directories: readObjects(stateDir, 'CallDirectory'),
  });
  const sizes = {
    calls: sent.calls.size,
    increments: sent.increments.size,
    grants: sent.grants.size,
    subscriptionChanges: [...sent.subscriptions.values()].reduce((sum, { version }) => sum + version - 1, 0),
  };
  const interrupted = signal?.aborted ?? false;
  const never = Object.entries({ ...sizes, unanswered: sent.counts.unanswered }).flatMap(([name, count]) =>
    count > 0 ? [] : [name],
  );
  const unproven = interrupted ? [] : never.map((name) => `${name}: there was none`);
  return { seed, kills, killsInStart, ...sizes, ...sent.counts, interrupted, wrong, unproven };
}
