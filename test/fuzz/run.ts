/**
 * The fuzz run: requests from the contract's schemas, most of them invalid, to a server whose state is checked.
 *
 * Each round sends its requests and checks every response. Then it repeats the rejected requests and compares the whole
 * state: a rejected request changes nothing. At the end it searches the disk and the server's output for every secret
 * used.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gatewayOperations } from '../../src/contract/gateway/operations.ts';
import { operations } from '../../src/contract/operations.ts';
import { type Random, randomFrom } from '../crash/random.ts';
import { faultOf, isRefusal } from './answers.ts';
import { type FuzzRequest, fuzzRequest } from './requests.ts';
import { type FuzzAnswer, Sender } from './sender.ts';
import { type Dump, differences, quietState } from './state-dump.ts';
import { createWorld, type World } from './world.ts';

export interface FuzzOptions {
  requests: number;
  seed: number;
  onProgress?: (line: string) => void;
  /** Ends the run early. */
  signal?: AbortSignal;
}

interface FuzzFault {
  what: string;
  operationId: string;
  request: string;
}

export interface FuzzReport {
  seed: number;
  requests: number;
  /** Requests that were refused and sent again between two dumps of the state. */
  refusalsCompared: number;
  operations: number;
  /** Operations that accepted a request at least once: behind their first check too, something was met. */
  operationsAccepted: number;
  statuses: Record<string, number>;
  interrupted: boolean;
  faults: FuzzFault[];
  /** Faults beyond the listed ones. */
  more: number;
  /** Expected events that a run of this length has missed, so that it proves too little. */
  unproven: string[];
}

const CONNECTIONS = 12;
const ROUND_REQUESTS = 2_000;
/** A refused request that is accepted later changes the state: it is put aside, and the others are compared anew. */
const COMPARISONS_MAX = 6;
const FAULTS_MAX = 50;
const REQUEST_TEXT_MAX = 1_500;
/** From so many on, the requests must have met nearly every operation, and behind its first check. */
const REQUESTS_TELLING = 3_000;
/** The runtime may refuse longer heads by itself, in its own words. */
const HEAD_LENGTH_MAX = 16_000;

class Run {
  readonly report: FuzzReport;
  readonly #world: World;
  readonly #random: Random;
  readonly #sender: Sender;
  readonly #seen = new Set<string>();
  readonly #accepted = new Set<string>();

  constructor(world: World, { seed }: FuzzOptions) {
    this.#world = world;
    this.#random = randomFrom(seed);
    this.#sender = new Sender(world.server.url, CONNECTIONS);
    this.report = {
      seed,
      requests: 0,
      refusalsCompared: 0,
      operations: 0,
      operationsAccepted: 0,
      statuses: {},
      interrupted: false,
      faults: [],
      more: 0,
      unproven: [],
    };
  }

  async round(requests: number): Promise<void> {
    const made = Array.from({ length: requests }, () => fuzzRequest(this.#random, this.#world.targets));
    const answers = await this.#sendAll(made);
    this.report.requests += made.length;
    for (const [index, request] of made.entries()) this.#judge(request, answers[index] ?? null);
    this.report.operations = this.#seen.size;
    this.report.operationsAccepted = this.#accepted.size;
    await this.#compareRefused(made.filter((_, index) => answers[index] && isRefusal(answers[index])));
  }

  #judge(request: FuzzRequest, answer: FuzzAnswer | null): void {
    if (answer === null) {
      if (lengthOfHead(request) < HEAD_LENGTH_MAX) this.#fault('there is no answer', request);
      return;
    }
    const { statuses } = this.report;
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    this.#seen.add(request.operationId);
    if (!isRefusal(answer)) this.#accepted.add(request.operationId);
    const fault = faultOf(request, answer);
    if (fault !== null && !(answer.status < 500 && lengthOfHead(request) >= HEAD_LENGTH_MAX))
      this.#fault(fault, request);
    this.#remember(request, answer);
  }

  /** Keys and tokens that were made on the way are secrets too. */
  #remember({ operationId, method }: FuzzRequest, { status, text }: FuzzAnswer): void {
    if (status !== 200 || method !== 'POST' || !/^create(Key|.*Session)$/.test(operationId)) return;
    const { key, token } = JSON.parse(text).data as { key?: string; token?: string };
    const secret = key ?? token;
    if (secret) this.#world.secrets.set(`${operationId} ${this.#world.secrets.size}`, secret);
  }

  async #compareRefused(refused: FuzzRequest[]): Promise<void> {
    const { stateDir } = this.#world.server;
    let waiting = refused;
    for (let comparison = 0; comparison < COMPARISONS_MAX; comparison += 1) {
      const before = await quietState(stateDir);
      const answers = await this.#sendAll(waiting);
      const after = await quietState(stateDir);
      const still = waiting.filter((_, index) => answers[index] && isRefusal(answers[index]));
      if (still.length === waiting.length) {
        this.report.refusalsCompared += waiting.length;
        if (differences(before, after).length > 0) await this.#findChange(waiting, before, after);
        return;
      }
      waiting = still;
    }
    throw new Error('requests that were refused are accepted again and again');
  }

  /** The refused requests that changed something: checked one by one, as many as time allows. */
  async #findChange(refused: FuzzRequest[], before: Dump, after: Dump): Promise<void> {
    const changes = differences(before, after);
    const text = changes.slice(0, 4).join('\n').slice(0, REQUEST_TEXT_MAX);
    let suspects = refused;
    while (suspects.length > 1) {
      const half = suspects.slice(0, Math.ceil(suspects.length / 2));
      const start = await quietState(this.#world.server.stateDir);
      await this.#sendAll(half);
      const changed = differences(start, await quietState(this.#world.server.stateDir)).length > 0;
      suspects = changed ? half : suspects.slice(half.length);
    }
    this.#fault(`was refused and changed the state: ${text}`, suspects[0] as FuzzRequest);
  }

  /** The answers in order; `null` if there was none. */
  async #sendAll(requests: readonly FuzzRequest[]): Promise<(FuzzAnswer | null)[]> {
    const answers: (FuzzAnswer | null)[] = Array(requests.length).fill(null);
    let next = 0;
    const work = async () => {
      while (next < requests.length) {
        const index = next;
        next += 1;
        answers[index] = await this.#sender.send(requests[index] as FuzzRequest).catch(() => null);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, work));
    return answers;
  }

  #fault(what: string, request: FuzzRequest): void {
    if (this.report.faults.length >= FAULTS_MAX) this.report.more += 1;
    else this.report.faults.push({ what, operationId: request.operationId, request: describe(request) });
  }

  /** Searches for every secret in every file of the state and in the server's output. */
  searchSecrets(): void {
    const { server, secrets } = this.#world;
    const places: [string, Buffer][] = [['the output of the server', Buffer.from(server.output())]];
    for (const folder of ['d1', 'do', 'kv', 'cache']) places.push(...filesIn(join(server.stateDir, folder)));
    for (const [name, secret] of secrets) {
      for (const [place, bytes] of places) {
        if (!bytes.includes(secret)) continue;
        this.report.faults.push({
          what: `the ${name} stands in ${place.replace(server.stateDir, '')}`,
          operationId: '',
          request: '',
        });
      }
    }
  }

  close(): void {
    this.#sender.close();
  }
}

export async function runFuzz(options: FuzzOptions): Promise<FuzzReport> {
  const { requests, signal, onProgress = () => undefined } = options;
  onProgress('bundling the Worker, and furnishing what requests are to meet ...');
  const world = await createWorld();
  const run = new Run(world, options);
  try {
    while (run.report.requests < requests && !signal?.aborted) {
      await run.round(Math.min(ROUND_REQUESTS, requests - run.report.requests));
      const { faults, more, refusalsCompared } = run.report;
      onProgress(
        `${run.report.requests} of ${requests} requests, ${refusalsCompared} refusals compared, ${faults.length + more} faults`,
      );
    }
    await world.server.stop();
    run.searchSecrets();
    return { ...run.report, interrupted: signal?.aborted ?? false, unproven: unprovenBy(run.report) };
  } finally {
    run.close();
    await world.close();
  }
}

/** A run that met no route, or was never refused, proves nothing. */
function unprovenBy({
  requests,
  operations: met,
  operationsAccepted,
  statuses,
  refusalsCompared,
}: FuzzReport): string[] {
  if (requests < REQUESTS_TELLING) return [];
  const known = Object.keys(operations).length + Object.keys(gatewayOperations).length;
  const checks: [boolean, string][] = [
    [met > 0.9 * known, `only ${met} of ${known} operations were met`],
    [operationsAccepted > met / 2, `only ${operationsAccepted} of ${met} operations accepted a request`],
    [(statuses[200] ?? 0) > requests / 20, `only ${statuses[200] ?? 0} of ${requests} requests were accepted`],
    [refusalsCompared > requests / 4, `only ${refusalsCompared} refusals were compared`],
  ];
  return checks.flatMap(([holds, sentence]) => (holds ? [] : [sentence]));
}

function lengthOfHead({ path, headers }: FuzzRequest): number {
  return path.length + headers.reduce((sum, text) => sum + text.length, 0);
}

function describe({ method, path, headers, body }: FuzzRequest): string {
  const text = `${method} ${path} ${JSON.stringify(headers)} ${body?.toString() ?? ''}`;
  // A key of a run that is over is worth nothing, but reports are passed on.
  return text.replace(/\b(Bearer |utk-|ck-|cmp-|ek-)[\w.-]{20,}/g, '$1...').slice(0, REQUEST_TEXT_MAX);
}

function filesIn(folder: string): [string, Buffer][] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        return [path, readFileSync(path)];
      });
  } catch {
    return []; // no such folder
  }
}
