/**
 * Runs scenarios of the cap suite on one server, and judges each by all accounts.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { LAST_STEP_TOKENS, STEP_TOKENS } from '../../src/domain/hold.ts';
import { randomFrom } from '../crash/random.ts';
import { drained, type History, heldBy, readHistory } from './accounts.ts';
import { type GeneratedReport, runGenerated } from './generated.ts';
import { type Kind, Load } from './load.ts';
import { computeCharge, INCREMENT_NANO_USD, INPUT_TOKENS, PLAIN_OUTPUT_TOKENS } from './price.ts';
import { plain, type Scenario, type Stage, wantMore } from './scenarios.ts';
import type { VendorEntry } from './vendor.ts';
import {
  type Attempt,
  type Billed,
  type Budget,
  type Figures,
  HELD,
  judge,
  SPENT,
  TOO_OFTEN,
  total,
  type Verdict,
} from './verdict.ts';
import { type Customer, createWorld, HARD_RESERVED_TOKENS, HARD_TOKENS, type PlanId, type World } from './world.ts';

export interface CapOptions {
  scenarios: readonly Scenario[];
  seed: number;
  seconds: number;
  short: boolean;
  /** Generated requests, at most. */
  requests: number;
  /** Ends the run early; the sent requests are judged all the same. */
  signal: AbortSignal;
  onProgress: (line: string) => void;
}

interface ScenarioReport extends Verdict {
  name: string;
  tries: string;
  unit: 'nano-USD' | 'tokens';
  /** How often requests were refused or failed, by outcome and code. */
  codes: Record<string, number>;
  /** Expected events that never happened, so that the scenario proves too little. */
  unproven: string[];
}

export interface CapReport {
  seed: number;
  interrupted: boolean;
  /** The hold of the first step of each kind of call, observed on an open one; in nano-USD, by plan. */
  holds: Record<string, Record<string, bigint>>;
  scenarios: ScenarioReport[];
  /** The sums of all scenarios with a budget in money. */
  total: Figures;
  /** `null` if none were requested. */
  generated: GeneratedReport | null;
}

/** The results of a scenario, for the verdict. */
interface Played {
  scenario: Scenario;
  load: Load;
  customers: readonly Customer[];
  /** Customers who wanted more until they were refused. */
  wanted: ReadonlySet<string>;
  /** Customers with calls that stayed open. */
  open: readonly string[];
}

type Holds = Record<Exclude<PlanId, 'hard'>, Partial<Record<Kind, bigint>>>;

/** By how many input tokens the bounds of two prompts may differ: their digits do. */
const PROMPT_TOKENS_APART = 40;
const HELD_KINDS = ['plain', 'stream', 'unified', 'begin-estimate'] as const;
const CALIBRATION_MS = 1_500;
const CALIBRATION_POLL_MS = 50;
const DRAIN_MS_MAX = 60_000;

export async function runCap(options: CapOptions): Promise<CapReport> {
  const { scenarios, seed, short, signal, onProgress } = options;
  onProgress('bundling the Worker and starting the server ...');
  await using scope = new AsyncDisposableStack();
  const beganAtMs = Date.now();
  const world = await createWorld(scope);
  const holds = await measureHolds(world);
  const played: Played[] = [];
  let vars: Scenario['vars'];
  for (const together of groupsOf(scenarios, short)) {
    if (signal.aborted) break;
    const [{ vars: wanted }] = together;
    if (wanted !== vars) {
      await world.server.stop();
      await world.server.start(wanted?.(short));
      vars = wanted;
    }
    const plays = together.map((scenario) => {
      const index = scenarios.indexOf(scenario);
      onProgress(`${index + 1} of ${scenarios.length}: ${scenario.name}`);
      const stage: Stage = {
        ...{ ...options, world, load: new Load(world), random: randomFrom(seed + index) },
        onProgress: (line) => onProgress(`${scenario.name}: ${line}`),
      };
      return play(scenario, stage, short);
    });
    played.push(...(await Promise.all(plays)));
  }
  onProgress('waiting for D1 to have everything ...');
  const customers = played.flatMap((each) => each.customers);
  const waiting = await drained(world, customers, DRAIN_MS_MAX);
  if (waiting.length > 0) throw new Error(`changes of ${waiting.join(', ')} did not reach D1`);
  onProgress('comparing the accounts ...');
  const history = await readHistory(world, beganAtMs);
  const generated = options.requests > 0 && !signal.aborted ? await runGenerated(world, options) : null;
  const reports = played.map((each) => report(each, history, world.vendor.log, holds, signal.aborted));
  return {
    seed,
    interrupted: signal.aborted,
    holds: holds as CapReport['holds'],
    scenarios: reports,
    total: total(reports.filter(({ unit }) => unit === 'nano-USD')),
    generated,
  };
}

/** One scenario after the other; in a short run, those without variables of their own run at the same time. */
function groupsOf(scenarios: readonly Scenario[], short: boolean): [Scenario, ...Scenario[]][] {
  const groups: [Scenario, ...Scenario[]][] = [];
  for (const scenario of scenarios) {
    const last = groups.at(-1);
    if (short && last && !scenario.vars && !last[0].vars) last.push(scenario);
    else groups.push([scenario]);
  }
  return groups;
}

async function play(scenario: Scenario, stage: Stage, short: boolean): Promise<Played> {
  const { world, load, onProgress } = stage;
  const customers: Customer[] = [];
  for (const [index, [planId, usd]] of scenario.customers(short).entries())
    customers.push(await world.customer(`${scenario.name}-${index + 1}`, planId, usd));
  await scenario.run(stage, customers);
  onProgress(`${load.journal.attempts.length} requests sent; waiting for open calls, and wanting more ...`);
  const ends = await Promise.all(customers.map((customer) => wantMore(stage, scenario, customer)));
  const those = (test: (end: (typeof ends)[number]) => boolean) =>
    customers.filter((_, index) => test(ends[index] as (typeof ends)[number])).map(({ customerId }) => customerId);
  return {
    ...{ scenario, load, customers },
    wanted: new Set(those(({ wanted }) => wanted)),
    open: those(({ open }) => open),
  };
}

/**
 * The hold of a call of each kind just after its begin, as the service reports it for an open one; 0 if it holds
 * nothing.
 */
async function measureHolds(world: World): Promise<Holds> {
  const load = new Load(world);
  const measure = async (planId: 'credit' | 'markup', kind: (typeof HELD_KINDS)[number]) => {
    const customer = await world.customer(`hold-${planId}-${kind}`, planId, 25);
    let isOver = false;
    const sent = load
      .send({
        ...plain(customer, CALIBRATION_MS),
        kind,
        ...(kind === 'stream' && { outputTokens: STEP_TOKENS, outputTokensMax: STEP_TOKENS }),
      })
      .finally(() => {
        isOver = true;
      });
    let held = 0n;
    while (held === 0n && !isOver) {
      held = await heldBy(world, customer);
      await sleep(CALIBRATION_POLL_MS);
    }
    await sent;
    return [kind, held] as const;
  };
  const of = async (planId: 'credit' | 'markup') =>
    Object.fromEntries(await Promise.all(HELD_KINDS.map((kind) => measure(planId, kind))));
  const [credit, markup] = await Promise.all([of('credit'), of('markup')]);
  return { credit, markup };
}

/**
 * The amount that must be free for a call of each kind: the hold just after its begin; if that is nothing, the most
 * that a call can cost.
 */
function boundsOf({ planId, markupPercent }: Customer, holds: Holds): Record<string, bigint> {
  if (planId === 'hard') return { plain: BigInt(HARD_RESERVED_TOKENS), stream: BigInt(HARD_RESERVED_TOKENS) };
  const charge = (outputTokens: number) => computeCharge(INPUT_TOKENS, outputTokens, markupPercent);
  const whole = charge(PLAIN_OUTPUT_TOKENS);
  const apart = computeCharge(PROMPT_TOKENS_APART, 0, markupPercent);
  const heldOr = (kind: Kind, least: bigint) => (holds[planId][kind] || least) + apart;
  return {
    plain: heldOr('plain', whole),
    unified: heldOr('unified', whole),
    'begin-estimate': heldOr('begin-estimate', whole),
    stream: heldOr('stream', charge(STEP_TOKENS)) - computeCharge(0, STEP_TOKENS - LAST_STEP_TOKENS, markupPercent),
    increment: INCREMENT_NANO_USD,
    // With a markup, the caller cannot know whether the service adds it to the requested hold.
    ...(markupPercent === 0 && { 'begin-hold': whole }),
  };
}

function report(
  { scenario, load, customers, wanted, open }: Played,
  { recorded, ledger }: History,
  log: readonly VendorEntry[],
  holds: Holds,
  interrupted: boolean,
): ScenarioReport {
  const { attempts, reports } = load.journal;
  const customerOf = new Map(customers.map((customer) => [customer.customerId, customer]));
  const markers = new Map(attempts.map(({ marker, customerId }) => [marker, customerOf.get(customerId)]));
  const billed = new Map<string, Billed>();
  const bill = (marker: string, owed: bigint, beyond: bigint, outcome: Billed['outcome']) => {
    const before = billed.get(marker);
    // A vendor that was asked twice bills twice.
    billed.set(marker, {
      ...{ marker, outcome },
      owed: owed + (before?.owed ?? 0n),
      beyond: beyond + (before?.beyond ?? 0n),
    });
  };
  for (const { marker, inputTokens, outputTokens, outputTokensMax, outcome } of log) {
    const customer = markers.get(marker);
    if (!customer) continue;
    const more = Math.max(0, outputTokens - (outputTokensMax ?? outputTokens));
    bill(marker, worthOf(customer, inputTokens, outputTokens), worthOf(customer, 0, more), outcome);
  }
  for (const { marker, inputTokens, outputTokens } of reports) {
    const customer = markers.get(marker);
    if (customer) bill(marker, worthOf(customer, inputTokens, outputTokens), 0n, 'answered');
  }
  for (const { marker, kind, outcome } of attempts)
    if (kind === 'increment' && outcome === 'served') bill(marker, INCREMENT_NANO_USD, 0n, 'answered');

  const isHard = ({ planId }: Customer) => planId === 'hard';
  const own = recorded
    .filter(({ marker }) => markers.has(marker))
    .map((record) => {
      const customer = customerOf.get(record.customerId);
      return customer && isHard(customer) ? { ...record, took: BigInt(record.outputTokens) } : record;
    });
  const budgets = customers.map((customer): Budget => {
    const { customerId } = customer;
    const common = {
      customerId,
      bounds: boundsOf(customer, holds),
      wantedLast: wanted.has(customerId) ? scenario.wantedLast : null,
    };
    if (isHard(customer)) {
      const spent = [...billed.values()].reduce(
        (sum, { marker, owed }) => (markers.get(marker) === customer ? sum + owed : sum),
        0n,
      );
      const codes = ['ENTITLEMENT_DENIED', HELD, TOO_OFTEN];
      return { ...common, granted: BigInt(HARD_TOKENS), spentMost: spent, spent, codes, finalCodes: [] };
    }
    const entries = ledger.filter((entry) => entry.customerId === customerId);
    const granted = customer.grantedNanoUsd;
    const lowest = entries.reduce((least, { balance }) => (balance < least ? balance : least), granted);
    const spent = granted - (entries.at(-1)?.balance ?? 0n);
    const finalCodes = [SPENT, TOO_OFTEN];
    const codes = [HELD, 'BLOCKED', ...finalCodes];
    return { ...common, granted, spentMost: granted - lowest, spent, codes, finalCodes };
  });
  const { figures, wrong } = judge({ budgets, attempts, billed: [...billed.values()], recorded: own });
  const never = scenario.proves.filter((figure) => figures[figure] === 0n).map((figure) => `${figure}: there was none`);
  for (const customerId of open) never.push(`calls of ${customerId} stayed open`);
  return {
    name: scenario.name,
    tries: scenario.tries,
    unit: customers.some(isHard) ? 'tokens' : 'nano-USD',
    figures,
    codes: countCodes(attempts),
    wrong,
    unproven: interrupted ? [] : never,
  };
}

function countCodes(attempts: readonly Attempt[]): Record<string, number> {
  const named = attempts.flatMap(({ outcome, code }) => (code === null ? [] : [`${outcome} ${code}`]));
  return Object.fromEntries([...Map.groupBy(named, (name) => name)].map(([name, all]) => [name, all.length]));
}

/** The amount of the usage on the customer's budget. */
function worthOf(customer: Customer, inputTokens: number, outputTokens: number): bigint {
  if (customer.planId === 'hard') return BigInt(outputTokens);
  return computeCharge(inputTokens, outputTokens, customer.markupPercent);
}
