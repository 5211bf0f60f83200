/**
 * Agents of one customer who spend a balance to its end, against the real service: the part of it that they can use,
 * and the amount that is spent beyond it, also while the server is killed and callers leave.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { formatUsd, parseUsd } from '../../../src/domain/money.ts';
import { isUse } from '../../../src/domain/price.ts';
import { type KillableServer, startKillableServer } from '../../crash/killable-server.ts';
import { type Random, randomFrom } from '../../crash/random.ts';
import { Api, OPERATOR_TOKEN } from '../../support/api.ts';
import { Agent } from './agent.ts';
import { type AgentVendor, MODEL, startAgentVendor } from './vendor.ts';

export const HOLDS = ['EXACT', 'EXPECTED'] as const;
export type Holds = (typeof HOLDS)[number];

export interface Setting {
  holds: Holds;
  promptKilobytes: number;
  usd: number;
  atOnce: number;
  /** How often the server is killed in the middle of the work. If it is, some callers leave, too. */
  kills: number;
  seed: number;
}

export interface Outcome {
  /** The part of the balance that calls before the first refusal used; not known with kills. */
  untilRefused: number | null;
  /** The same if agents wait while open calls hold the balance. */
  untilSpent: number;
  /** The amount that was spent or billed beyond the balance. */
  overshootNanoUsd: bigint;
  /** The amount charged above the vendor's bill; `null` with kills, after which charges are estimates. */
  mischargedNanoUsd: bigint | null;
  calls: number;
  /** How often agents waited. */
  waits: number;
  kills: number;
  left: number;
}

export interface Agents {
  /** Plans with these holds exist in this service. */
  offers(holds: Holds): boolean;
  run(setting: Setting): Promise<Outcome>;
}

/** Bounds for a server that is killed, so that its calls end within the run. */
const SHORT_LIVED = { CALL_DEADLINE_SECONDS: 6, GATEWAY_TIMEOUT_MS: 5_000 };
const PROVIDER = 'anthropic';
const buildPlan = (holds: Holds) => ({
  name: `On credit, ${holds}`,
  limitType: 'BLOCK',
  limits: { standardCalls: 0, premiumCalls: 0 },
  // Without the field, the plan is as before the choice existed.
  payg: { enabled: true, markupPercent: 0, ...(holds !== 'EXACT' && { holds }) },
});
/** The time of an answer. */
const ANSWER_MS = 24;
/** Between two attempts of a turn that was refused because of open calls, or that nobody answered. */
const RETRY_MS = 120;
/** A run ends after so many, whatever is left. */
const REQUESTS_MAX = 20_000;
const LEAVES_PERCENT = 6;
/** About so many calls come between two kills. */
const CALLS_BETWEEN_KILLS = 12;
const SETTLE_MS_MAX = 60_000;
const POLL_MS = 50;
const REQUEST_MS_MAX = 60_000;

/** A server, its vendor, and an organization with a plan for each mode. */
export async function startAgents(scope: AsyncDisposableStack): Promise<Agents> {
  const vendor = await startAgentVendor();
  scope.defer(() => vendor.close());
  const server = await startKillableServer(scope);
  const operator = new Api(fetch, server.url, OPERATOR_TOKEN);
  const { organizationId } = (await operator.send('createOrganization', { body: { name: 'Usable' } })).data;
  const params = { org: organizationId };
  const offered = new Set<Holds>();
  for (const holds of HOLDS) {
    const put = { params: { ...params, planId: holds.toLowerCase() }, body: buildPlan(holds) };
    if ((await operator.send('putPlan', put)).status === 200) offered.add(holds);
  }
  expectOk(await operator.send('updateOrganization', { params, body: { defaultPlanId: 'exact' } }));
  const body = { apiKey: 'sk-usable-0123456789', baseUrl: vendor.url };
  expectOk(await operator.send('setVendor', { params: { ...params, provider: PROVIDER }, body }));
  // A vendor on loopback may run a request in any region, as far as the service knows. These rates have none, as at the
  // vendor's own host. Agents here use no tool that the vendor bills.
  const components = vendor.rates
    .filter(({ component }) => !isUse(component))
    .map(({ component, nanoUsdPerMillion }) => ({
      component,
      per: 1_000_000,
      usd: formatUsd(BigInt(nanoUsdPerMillion)),
    }));
  const ofModel = { ...params, modelKey: `${PROVIDER}/${MODEL}` };
  expectOk(await operator.send('setPrice', { params: ofModel, body: { strict: true, components } }));
  const { key } = (await operator.send('createKey', { params, body: { name: 'usable' } })).data;
  let runs = 0;
  return {
    offers: (holds) => offered.has(holds),
    run: (setting) => {
      runs += 1;
      return new Run({ server, vendor, operator, organizationId, key }, `agents-${runs}`, setting).toItsEnd();
    },
  };
}

interface World {
  server: KillableServer;
  vendor: AgentVendor;
  operator: Api;
  organizationId: string;
  key: string;
}

type Answer = 'served' | 'held' | 'spent' | 'lost';

class Run {
  readonly #world: World;
  readonly #customerId: string;
  readonly #setting: Setting;
  readonly #random: Random;
  /** Markers of requests that were not refused. */
  readonly #passed = new Set<string>();
  /** The calls before the first refusal. */
  #before: ReadonlySet<string> | null = null;
  #requests = 0;
  #waits = 0;
  #kills = 0;
  #left = 0;
  #killAt: number;
  #isSpent = false;
  /** The restart of a server that was killed. */
  #restarting = Promise.resolve();

  constructor(world: World, customerId: string, setting: Setting) {
    this.#world = world;
    this.#customerId = customerId;
    this.#setting = setting;
    this.#random = randomFrom(setting.seed);
    this.#killAt = setting.kills > 0 ? this.#nextKill() : Number.POSITIVE_INFINITY;
  }

  async toItsEnd(): Promise<Outcome> {
    const { usd, atOnce, promptKilobytes, kills } = this.#setting;
    await this.#open();
    const agents = Array.from(
      { length: atOnce },
      () => new Agent(randomFrom(this.#random.below(2 ** 31)), promptKilobytes * 1_000),
    );
    await Promise.all(agents.map((agent) => this.#work(agent)));
    await this.#restarting;
    const balance = await this.#settledBalance();
    const granted = BigInt(usd) * 1_000_000_000n;
    const bills = this.#world.vendor.bills.filter(({ marker }) => marker.startsWith(`${this.#customerId}/`));
    const sum = (some: typeof bills) => some.reduce((all, { nanoUsd }) => all + nanoUsd, 0n);
    const billed = sum(bills);
    const charged = granted - balance;
    const before = this.#before ?? this.#passed;
    const beyond = [-balance, billed - granted].reduce((most, one) => (one > most ? one : most), 0n);
    const share = (nanoUsd: bigint) => Number(nanoUsd) / Number(granted);
    return {
      untilRefused: kills > 0 ? null : share(sum(bills.filter(({ marker }) => before.has(marker)))),
      untilSpent: share(charged),
      mischargedNanoUsd: kills > 0 ? null : charged - billed,
      overshootNanoUsd: beyond,
      calls: bills.length,
      waits: this.#waits,
      kills: this.#kills,
      left: this.#left,
    };
  }

  /** A customer with the balance. */
  async #open(): Promise<void> {
    const { server, operator, organizationId, key } = this.#world;
    const { usd, holds, kills } = this.#setting;
    const customerId = this.#customerId;
    if (kills > 0) {
      await server.stop();
      await server.start(SHORT_LIVED);
    }
    const api = operator.with(key);
    expectOk(await api.send('provisionCustomer', { body: { customerId } }));
    if (holds !== 'EXACT')
      expectOk(await api.send('changePlan', { params: { customerId }, body: { planId: holds.toLowerCase() } }));
    const grant = { kind: 'USD', amountUsd: String(usd) };
    expectOk(await operator.send('grantCredit', { params: { org: organizationId, customerId }, body: grant }));
  }

  /** Turn after turn, until the balance is spent. */
  async #work(agent: Agent): Promise<void> {
    while (!this.#isSpent && this.#requests < REQUESTS_MAX) {
      await this.#restarting;
      const answer = await this.#ask(agent);
      if (answer === 'served') agent.answered();
      else if (answer === 'spent') this.#isSpent = true;
      else {
        if (answer === 'held') this.#waits += 1;
        await sleep(RETRY_MS);
      }
    }
  }

  async #ask(agent: Agent): Promise<Answer> {
    this.#requests += 1;
    const marker = `${this.#customerId}/${this.#requests}`;
    this.#passed.add(marker);
    const leaves = this.#setting.kills > 0 && this.#random.chance(LEAVES_PERCENT / 100);
    const asked = this.#send(agent.turn(marker, ANSWER_MS), leaves ? ANSWER_MS / 2 : REQUEST_MS_MAX);
    if (this.#requests >= this.#killAt) {
      this.#killAt =
        this.#kills + 1 < this.#setting.kills ? this.#requests + this.#nextKill() : Number.POSITIVE_INFINITY;
      this.#restarting = this.#kill();
    }
    const answer = await asked;
    if (leaves && answer === 'lost') this.#left += 1;
    if (answer === 'held' || answer === 'spent') {
      this.#passed.delete(marker);
      this.#before ??= new Set(this.#passed);
    }
    return answer;
  }

  async #send(body: string, msMax: number): Promise<Answer> {
    const { server, key } = this.#world;
    let status: number;
    let text: string;
    try {
      const response = await fetch(`${server.url}/v1/messages?beta=true`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'anthropic-version': '2023-06-01',
          'content-type': 'application/json',
          'x-usage-customer-id': this.#customerId,
        },
        body,
        signal: AbortSignal.timeout(msMax),
      });
      status = response.status;
      text = await response.text();
    } catch (error) {
      if (this.#setting.kills > 0) return 'lost';
      throw error;
    }
    if (status === 200) return text.includes('message_stop') ? 'served' : 'lost';
    if (status === 429 && text.includes('BALANCE_HELD')) return 'held';
    if (status === 402 && text.includes('CREDIT_REQUIRED')) return 'spent';
    if (this.#setting.kills > 0 && status >= 500) return 'lost';
    throw new Error(`a turn was answered with ${status}: ${text}`);
  }

  /** In the middle of the last requests. */
  async #kill(): Promise<void> {
    const { server } = this.#world;
    await sleep(this.#random.below(ANSWER_MS));
    await server.kill();
    this.#kills += 1;
    await server.start(SHORT_LIVED);
  }

  #nextKill(): number {
    return 2 + this.#random.below(2 * CALLS_BETWEEN_KILLS);
  }

  /** The balance after the last charge, in nano-USD. */
  async #settledBalance(): Promise<bigint> {
    const { operator, organizationId } = this.#world;
    const params = { org: organizationId, customerId: this.#customerId };
    for (const giveUpAtMs = Date.now() + SETTLE_MS_MAX; ; await sleep(POLL_MS)) {
      const { openCalls, wallet } = (await operator.send('readCustomer', { params })).data;
      if (openCalls === 0 && wallet.openCharges === 0) return parseUsd(wallet.balanceUsd) ?? 0n;
      if (Date.now() > giveUpAtMs) throw new Error(`calls of ${this.#customerId} stayed open`);
    }
  }
}

function expectOk({ status, body }: { status: number; body: unknown }): void {
  if (status !== 200) throw new Error(`the setup was refused: ${status} ${JSON.stringify(body)}`);
}
