/**
 * The crash suite: kills a server repeatedly under mixed load, then checks its state on disk.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Api, createTenant, OPERATOR_TOKEN } from '../support/api.ts';
import { createKillableServer, type KillableServer } from './killable-server.ts';
import { Load, PLAN_IDS, type Sent } from './load.ts';
import { randomFrom } from './random.ts';
import { readDatabases, readObjects } from './state.ts';
import { judge, usedDatabases } from './verdict.ts';

export interface CrashOptions {
  kills: number;
  seed: number;
  /** The customers of all organizations. */
  customers: number;
  workers: number;
  organizations: number;
  databases: number;
  onProgress?: (line: string) => void;
  /** Ends the kills early; the sent requests are judged all the same. */
  signal?: AbortSignal;
}

export interface CrashReport {
  seed: number;
  kills: number;
  /** Kills that hit the server while it was still starting. */
  killsInStart: number;
  /** That have history. */
  databases: number;
  calls: number;
  increments: number;
  grants: number;
  subscriptionChanges: number;
  requests: number;
  unanswered: number;
  replays: number;
  interrupted: boolean;
  /** Sentences about losses, duplicates or contradictions; empty if the promise held. */
  wrong: string[];
  /** Expected events that never happened, so that the run proves nothing about them. */
  unproven: string[];
}

/**
 * A kill comes within this time of the server's start, or of its being ready. In the longer half of these lives customers
 * hand over to projectors, and those deliver to D1.
 */
const LIFE_MS_MAX = 4_000;
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
const buildPlan = (name: string, premiumCalls: number) => ({
  name,
  limitType: 'NONE',
  limits: { premiumCalls },
  payg: { enabled: true, markupPercent: 12.5 },
  customMeters: { CUSTOM1: METER },
});

/** An organization under load. */
interface Tenant {
  organizationId: string;
  customers: readonly string[];
  load: Load;
}

export async function runCrashes(options: CrashOptions): Promise<CrashReport> {
  const { onProgress = () => undefined, signal } = options;
  onProgress('bundling the Worker ...');
  const server = await createKillableServer({}, options.databases);
  try {
    await server.start();
    const operator = new Api(fetch, server.url, OPERATOR_TOKEN);
    const random = randomFrom(options.seed);
    const tenants: Tenant[] = [];
    for (let number = 0; number < options.organizations; number += 1)
      tenants.push(await prepare(operator, server.url, options, number));
    await Promise.all(tenants.map(({ load }) => load.provision()));
    for (const { load } of tenants) load.start();
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
      const { requests, unanswered } = sumRequests(tenants);
      onProgress(`kill ${kills + 1} of ${options.kills}: ${requests} requests sent, ${unanswered} unanswered`);
    }
    await server.start();
    onProgress('sending again what was not acknowledged ...');
    await Promise.all(tenants.map(({ load }) => load.finish()));
    onProgress('waiting for D1 to have everything ...');
    for (const { organizationId, customers } of tenants) await drained(operator, organizationId, customers);
    onProgress('waiting for the rows that lists show of customers ...');
    await sleep(LISTED_ROWS_MS);
    await server.stop();
    return report(options, server, { tenants, kills, killsInStart });
  } finally {
    await server.remove();
  }
}

async function prepare(operator: Api, url: string, options: CrashOptions, number: number): Promise<Tenant> {
  const { organizationId } = await createTenant(operator, buildPlan('Default', 20));
  const params = { org: organizationId };
  for (const [index, planId] of PLAN_IDS.entries()) {
    const { status } = await operator.send('putPlan', {
      params: { ...params, planId },
      body: buildPlan(planId, 20 + 10 * index),
    });
    if (status !== 200) throw new Error(`the plan ${planId} was refused`);
  }
  await operator.send('updateOrganization', { params, body: { defaultPlanId: PLAN_IDS[0] } });
  const { key: apiKey } = (await operator.send('createKey', { params, body: { name: 'crash' } })).data;
  const share = (count: number) => Math.max(1, Math.round(count / options.organizations));
  const prefix = `o${number}`;
  const customers = Array.from({ length: share(options.customers) }, (_, index) => `${prefix}-customer-${index}`);
  const load = new Load({
    ...{ url, apiKey, organizationId, prefix, customers },
    operatorToken: OPERATOR_TOKEN,
    workers: share(options.workers),
    random: randomFrom(options.seed + 1 + number),
  });
  return { organizationId, customers, load };
}

function sumRequests(tenants: readonly Tenant[]): { requests: number; unanswered: number; replays: number } {
  const sum = (name: 'requests' | 'unanswered' | 'replays') =>
    tenants.reduce((all, { load }) => all + load.sent.counts[name], 0);
  return { requests: sum('requests'), unanswered: sum('unanswered'), replays: sum('replays') };
}

/** An alarm brings the rows that lists show, half a minute after the last change. */
const LISTED_ROWS_MS = 40_000;

async function drained(operator: Api, organizationId: string, customers: readonly string[]): Promise<void> {
  const giveUpAtMs = Date.now() + DRAIN_MS_MAX;
  for (const customerId of customers) {
    for (;;) {
      const { outbox, wallet } = (await operator.send('readCustomer', { params: { org: organizationId, customerId } }))
        .data;
      if (outbox.pending === 0 && wallet.openCharges === 0) break;
      if (Date.now() > giveUpAtMs) return; // The verdict names the changes that still wait.
      await sleep(100);
    }
  }
}

function report(
  { seed, signal, databases: bound }: CrashOptions,
  { stateDir }: KillableServer,
  { tenants, kills, killsInStart }: { tenants: readonly Tenant[]; kills: number; killsInStart: number },
): CrashReport {
  const databases = readDatabases(stateDir);
  const wrong = judge({
    organizations: tenants.map(({ organizationId, load }) => ({ organizationId, sent: load.sent })),
    databases,
    customers: readObjects(stateDir, 'Customer'),
    directories: readObjects(stateDir, 'CallDirectory'),
  });
  const sum = (count: (sent: Sent) => number) => tenants.reduce((all, { load }) => all + count(load.sent), 0);
  const sizes = {
    calls: sum(({ calls }) => calls.size),
    increments: sum(({ increments }) => increments.size),
    grants: sum(({ grants }) => grants.size),
    subscriptionChanges: sum(({ subscriptions }) =>
      [...subscriptions.values()].reduce((all, { version }) => all + version - 1, 0),
    ),
  };
  const counts = sumRequests(tenants);
  const interrupted = signal?.aborted ?? false;
  const never = Object.entries({ ...sizes, unanswered: counts.unanswered }).flatMap(([name, count]) =>
    count > 0 ? [] : [`${name}: there was none`],
  );
  const used = usedDatabases(databases);
  if (used < Math.min(bound, tenants.length)) never.push(`only ${used} of ${bound} databases were used`);
  const unproven = interrupted ? [] : never;
  return { seed, kills, killsInStart, databases: used, ...sizes, ...counts, interrupted, wrong, unproven };
}
