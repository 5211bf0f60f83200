/**
 * The scenarios of the cap suite: the ways in which callers try to spend more than they have. Each has customers of its
 * own.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerOptions } from '../../src/cli/server.ts';
import type { Random } from '../crash/random.ts';
import { settled } from './accounts.ts';
import type { Ask, Kind, Load } from './load.ts';
import { PLAIN_OUTPUT_TOKENS } from './price.ts';
import { FAULTS } from './vendor.ts';
import type { Attempt, CallerOutcome } from './verdict.ts';
import { type Customer, HARD_RESERVED_TOKENS, type PlanId, UNREACHABLE_PROVIDER, type World } from './world.ts';

export interface Stage {
  world: World;
  load: Load;
  random: Random;
  /** How long a scenario that is not done before goes on sending. */
  seconds: number;
  short: boolean;
  /** Ends the run early. */
  signal: AbortSignal;
  onProgress: (line: string) => void;
}

export interface Scenario {
  name: string;
  /** The callers' attempt, in one sentence. */
  tries: string;
  /** The customers, each with its plan and its balance in USD. */
  customers(short: boolean): readonly (readonly [planId: PlanId, usd: number])[];
  /** Variables of the server, if they differ. */
  vars?(short: boolean): ServerOptions['vars'];
  /** The kind of call that is requested until it is refused at the end. */
  wantedLast: Kind;
  /** How long its last calls may stay open. */
  settleMsMax: number;
  /** The events that must have happened for the run to prove anything. */
  proves: readonly (CallerOutcome | 'streamsEndedByBalance' | 'provisional')[];
  run(stage: Stage, customers: readonly Customer[]): Promise<void>;
}

/** Retries of one request of an SDK. */
const RETRIES_MAX = 12;
const PAUSE_MS = 200;
/** Callers under a hard plan come back by themselves, because its denials do not say when. */
const HARD_RETRIES_MAX = 4;
const HARD_RETRY_MS = 500;
/** Far less than the shortest deadline of a call, also on a slow machine. */
const STREAM_MS_MAX = 2_500;
/** The most requests of a worker, so that a scenario ends even if nothing is refused. */
const REQUESTS_MAX = 2_000;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'plain',
    tries: 'plain completions of $0.18 each, up to 1,000 at the same time',
    customers: (short) => [
      ['credit', 1],
      ['credit', short ? 5 : 25],
      ['markup', 1],
      ['markup', short ? 5 : 25],
    ],
    wantedLast: 'plain',
    settleMsMax: 20_000,
    proves: ['served', 'refused'],
    async run(stage, customers) {
      await inTurn(stage, customers, async (customer) => {
        const callers = customer.planId === 'credit' ? (stage.short ? 100 : 1_000) : stage.short ? 40 : 300;
        await together(callers, () => {
          const durationMs = 100 + stage.random.below(400);
          return untilServed(stage, plain(customer, durationMs, stage.random.chance(0.3)));
        });
        stage.onProgress(`${customer.customerId}: ${callers} callers at once`);
      });
    },
  },
  {
    name: 'streams',
    tries: '128 streams at the same time, ended by the vendor or by the balance',
    customers: (short) => [
      ['credit', 5],
      ['markup', short ? 5 : 25],
    ],
    wantedLast: 'stream',
    settleMsMax: 20_000,
    proves: ['served', 'refused', 'streamsEndedByBalance'],
    async run(stage, customers) {
      await inTurn(stage, customers, async (customer) => {
        const callers = stage.short ? 32 : 128;
        await together(callers, () => untilServed(stage, stream(stage.random, customer)));
        stage.onProgress(`${customer.customerId}: ${callers} streams at once`);
      });
    },
  },
  {
    name: 'mixed',
    tries: 'completions, streams, begins and ends, unified calls and increments, all of one balance',
    customers: (short) => [
      ['credit', short ? 15 : 60],
      ['markup', short ? 10 : 40],
    ],
    wantedLast: 'plain',
    settleMsMax: 20_000,
    proves: ['served', 'refused'],
    async run(stage, customers) {
      const kinds: Kind[] = ['plain', 'stream', 'begin-hold', 'begin-estimate', 'unified', 'increment'];
      await Promise.all(
        customers.map((customer) =>
          workers(stage, 16, ({ random }) => {
            const kind = random.pick(kinds);
            if (kind === 'stream') return stream(random, customer);
            return { ...plain(customer, 50 + random.below(400)), kind, outputTokens: 100 + random.below(900) };
          }),
        ),
      );
    },
  },
  {
    name: 'leaves',
    tries: 'callers that leave at random moments, before, in and after the answer',
    customers: (short) => [
      ['credit', short ? 10 : 40],
      ['markup', short ? 5 : 25],
    ],
    wantedLast: 'plain',
    settleMsMax: 60_000,
    proves: ['served', 'refused', 'left'],
    async run(stage, customers) {
      const leaving = customers.map((customer) =>
        workers(stage, 16, ({ random }) => {
          const ask = random.chance(0.5) ? stream(random, customer) : plain(customer, 100 + random.below(900));
          return random.chance(0.7) ? { ...ask, leaveAfterMs: random.below(1.2 * ask.durationMs) } : ask;
        }),
      );
      // The vendor of these is read for less time than it needs.
      const slow = { outputTokens: 1_500, outputTokensMax: 2_000, durationMs: 40_000, leaveAfterMs: 1_000 };
      const [first] = customers;
      if (!stage.short && first)
        leaving.push(together(4, () => stage.load.send({ ...stream(stage.random, first), ...slow })));
      await Promise.all(leaving);
    },
  },
  {
    name: 'hard',
    tries: 'completions and streams of a plan that blocks at a number of output tokens',
    customers: () => [
      ['hard', 0],
      ['hard', 0],
    ],
    wantedLast: 'plain',
    settleMsMax: 20_000,
    proves: ['served', 'refused'],
    async run(stage, customers) {
      await Promise.all(
        customers.map((customer) =>
          together(stage.short ? 30 : 80, async () => {
            const { random } = stage;
            const ask = random.chance(0.5) ? stream(random, customer) : plain(customer, 50 + random.below(300));
            const outputTokensMax = random.pick([400, HARD_RESERVED_TOKENS, null]);
            const outputTokens = 100 + random.below(3_000);
            for (let retries = 0; retries <= HARD_RETRIES_MAX && !stage.signal.aborted; retries += 1) {
              const { outcome } = await stage.load.send({ ...ask, outputTokens, outputTokensMax });
              if (outcome !== 'refused') return;
              await sleep(HARD_RETRY_MS);
            }
          }),
        ),
      );
    },
  },
  {
    name: 'errors',
    tries: 'vendors that refuse, hang, fall silent, break off, cannot be reached, or exceed their bound',
    customers: (short) => [
      ['credit', short ? 10 : 40],
      ['markup', short ? 5 : 25],
    ],
    vars: shortLived,
    wantedLast: 'plain',
    settleMsMax: 30_000,
    proves: ['served', 'refused', 'failed', 'provisional'],
    async run(stage, customers) {
      await Promise.all(
        customers.map((customer) =>
          workers(stage, 16, ({ random }) => {
            const ask = random.chance(0.5) ? stream(random, customer) : plain(customer, 50 + random.below(300));
            if (random.chance(0.08)) return { ...ask, provider: UNREACHABLE_PROVIDER };
            if (random.chance(0.4)) return ask;
            const fault = random.pick(FAULTS);
            // A request that hangs takes the time of many others.
            return fault === 'hang' && random.chance(0.7) ? ask : { ...ask, fault };
          }),
        ),
      );
    },
  },
  {
    name: 'kills',
    tries: 'the server is killed every few seconds, and calls of its isolates end by their deadline',
    customers: (short) => [
      ['credit', short ? 20 : 100],
      ['markup', short ? 10 : 60],
    ],
    vars: shortLived,
    wantedLast: 'plain',
    settleMsMax: 60_000,
    proves: ['served', 'refused', 'lost', 'provisional'],
    async run(stage, customers) {
      const over = new AbortController();
      const signal = AbortSignal.any([over.signal, stage.signal]);
      const kinds: Kind[] = ['plain', 'stream', 'begin-estimate', 'unified', 'increment'];
      const load = customers.map((customer) =>
        workers(
          { ...stage, signal, seconds: Number.POSITIVE_INFINITY },
          10,
          ({ random }) => {
            const kind = random.pick(kinds);
            if (kind === 'stream') return stream(random, customer);
            const durationMs = 100 + random.below(1_000);
            return { ...plain(customer, durationMs), kind, outputTokens: 100 + random.below(900) };
          },
          true,
        ),
      );
      const { server } = stage.world;
      const kills = stage.short ? 2 : 5;
      try {
        for (let kill = 1; kill <= kills && !stage.signal.aborted; kill += 1) {
          await sleep(1_000 + stage.random.below(stage.short ? 500 : 3_000));
          await server.kill();
          await server.start(shortLived(stage.short));
          stage.onProgress(`kill ${kill} of ${kills}`);
        }
      } finally {
        over.abort();
      }
      await Promise.all(load);
    },
  },
];

/** With these, a vendor that says nothing is given up, and a call of a dead isolate ends, within the run. */
export function shortLived(short: boolean): ServerOptions['vars'] {
  return { CALL_DEADLINE_SECONDS: short ? 6 : 10, GATEWAY_TIMEOUT_MS: 4_000, GATEWAY_IDLE_TIMEOUT_MS: 1_500 };
}

/**
 * After the load, when nothing is open any more: callers who want more until they are refused. False if the run was
 * interrupted, or if calls stay open.
 */
export async function wantMore(
  { world, load, signal }: Stage,
  { wantedLast, settleMsMax }: Scenario,
  customer: Customer,
): Promise<{ wanted: boolean; open: boolean }> {
  const open = (await settled(world, [customer], settleMsMax)).length > 0;
  if (signal.aborted) return { wanted: false, open };
  const ask: Ask =
    wantedLast === 'stream'
      ? { ...plain(customer, 500), kind: 'stream', outputTokens: 3_000, outputTokensMax: null }
      : plain(customer, 50);
  let refused = false;
  await together(8, async () => {
    for (let request = 0; request < REQUESTS_MAX && !signal.aborted; request += 1) {
      const { outcome } = await load.sendUntilServed(ask, RETRIES_MAX, signal);
      refused ||= outcome === 'refused';
      if (outcome !== 'served') return;
    }
  });
  const stillOpen = (await settled(world, [customer], settleMsMax)).length > 0;
  return { wanted: refused && !signal.aborted, open: open || stillOpen };
}

/** A plain completion that costs $0.18. */
export function plain(customer: Customer, durationMs: number, keyed = false): Ask {
  const outputTokens = PLAIN_OUTPUT_TOKENS;
  return { kind: 'plain', customer, outputTokens, outputTokensMax: outputTokens, durationMs, keyed };
}

/** A stream of a random length, with or without a bound. */
function stream(random: Random, customer: Customer): Ask {
  const outputTokens = 200 + random.below(5_000);
  const outputTokensMax = random.pick([null, 2_000, 6_000]);
  const durationMs = 200 + random.below(STREAM_MS_MAX);
  return { kind: 'stream', customer, outputTokens, outputTokensMax, durationMs, keyed: random.chance(0.3) };
}

async function together(callers: number, call: () => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: callers }, call));
}

/** One customer after the other, each with all callers; all customers together in a short run. */
async function inTurn(
  { short }: Stage,
  customers: readonly Customer[],
  run: (customer: Customer) => Promise<void>,
): Promise<void> {
  if (short) return void (await Promise.all(customers.map(run)));
  for (const customer of customers) await run(customer);
}

function untilServed({ load, signal }: Stage, ask: Ask): Promise<Attempt> {
  return load.sendUntilServed(ask, RETRIES_MAX, signal);
}

/**
 * So many workers, each with one request at a time, until the time is over or a worker was refused for good; with
 * `persist` they go on after that.
 */
async function workers(stage: Stage, count: number, next: (stage: Stage) => Ask, persist = false): Promise<void> {
  const endsAtMs = Date.now() + stage.seconds * 1_000;
  await together(count, async () => {
    for (let request = 0; request < REQUESTS_MAX; request += 1) {
      if (stage.signal.aborted || Date.now() > endsAtMs) return;
      const ask = next(stage);
      const { outcome } = await untilServed(stage, ask);
      if (outcome !== 'refused') continue;
      if (!persist && ask.kind !== 'increment') return;
      await sleep(PAUSE_MS);
    }
  });
}
