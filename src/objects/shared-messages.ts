/**
 * Commands for one customer, of requests that this isolate serves at the same time, travel in one message: a message
 * costs more than most commands do, and the operator pays for each.
 *
 * A command that finds its customer idle goes at once, alone. Those of a busy one are gathered, as the object itself
 * gathers what comes in messages of their own (durable-objects/group-commit.ts). The first of them carries the others:
 * its request is kept alive until they are answered.
 *
 * Of each other, requests may settle promises and nothing else. With the runtime's
 * `handle_cross_request_promise_resolution`, what follows then runs for the request that made the promise, and not at
 * all where that request is gone; without it, nothing is shared. So each waits on a promise of its own, and for a
 * limited time: where the one that carries is gone all the same, or the message fails, each sends for itself. By that
 * nothing happens twice, because a command may always be sent again.
 */

import type { Env } from '../env.ts';
import { GroupSize } from '../platform/group-size.ts';
import { ServiceUnavailable } from '../platform/unavailable.ts';
import { ask, type CustomerAddress, customerByName } from './addresses.ts';
import type { SharedCommand } from './customer-commands.ts';

/** Commands of one message. */
const COMMANDS_MAX = 100;
/** A customer is busy for so long after a message of several. */
const BUSY_MS = 20;
/** How long the commands of a busy customer wait for company at most: callers who come in step come within this. */
const GATHER_MS = 5;
/** A command that follows a lone one as closely as this is not alone. */
const FOLLOWS_MS = 1;
/** Looks, of a millisecond each, whether still others follow than were expected. */
const LOOKS_MAX = 10;
/** Gathering has ended long before this: nobody joins a message that is older, because nobody carries it. */
const STALE_MS = 1_000;
/**
 * Whoever has no answer by then sends for itself. The carrier's own attempts end before, unless the object is stuck.
 */
const ANSWER_MS = 10_000;
/** Customers that one isolate remembers to be busy. */
const LINES_MAX = 1_000;

export interface Command {
  kind: SharedCommand[0];
  /** As the object takes it; `again` where it may have arrived before. */
  text: (again: boolean) => string;
}

/** On whose behalf a command is sent. */
interface Sender {
  env: Env;
  organization: { organizationId: string };
  defer: (work: Promise<unknown>) => void;
}

interface Waiting {
  command: Command;
  /** With `null`, each sends for itself. */
  resolve: (answer: string | null) => void;
  reject: (error: unknown) => void;
}

/** Commands that are being gathered. */
interface Gathering {
  sinceMs: number;
  waiting: Waiting[];
  /** Nobody else is waited for. */
  complete: () => void;
}

const lines = new Map<string, Line>();

/** The object's answer to the command. Throws `ServiceUnavailable`, and what the object throws, as `ask` does. */
export async function sendShared(
  { env, organization, defer }: Sender,
  customerId: string,
  command: Command,
): Promise<string> {
  const { organizationId } = organization;
  const address = customerByName(env, organizationId, customerId);
  if (!maySettleForOthers())
    return ask(address, (customer, attempt) => customer[command.kind](command.text(attempt > 1)));
  const answer = await lineTo(`${organizationId}:${customerId}`).send(command, address, defer);
  return answer ?? ask(address, (customer) => customer[command.kind](command.text(true)));
}

function maySettleForOthers(): boolean {
  const { Cloudflare: runtime } = globalThis as { Cloudflare?: { compatibilityFlags: Record<string, boolean> } };
  return runtime?.compatibilityFlags.handle_cross_request_promise_resolution === true;
}

function lineTo(name: string): Line {
  const known = lines.get(name);
  if (known) return known;
  const line = new Line();
  lines.set(name, line);
  if (lines.size > LINES_MAX) lines.delete(lines.keys().next().value as string);
  return line;
}

/** What is on its way to one customer's object. */
class Line {
  readonly #size = new GroupSize();
  #gathering: Gathering | null = null;
  #busyUntilMs = 0;

  /** The answer; `null` where none came, or none of this message. */
  send(command: Command, address: CustomerAddress, defer: Sender['defer']): Promise<string | null> {
    const { promise, resolve, reject } = Promise.withResolvers<string | null>();
    const timer = setTimeout(() => resolve(null), ANSWER_MS);
    const waiting = { command, resolve, reject };
    const nowMs = Date.now();
    const gathering = this.#gathering;
    if (gathering && gathering.waiting.length < COMMANDS_MAX && nowMs - gathering.sinceMs < STALE_MS) {
      if (this.#size.isComplete(gathering.waiting.push(waiting))) gathering.complete();
    } else if (nowMs < this.#busyUntilMs) {
      defer(this.#gather(waiting, address, nowMs));
    } else {
      defer(this.#carry([waiting], address));
    }
    return promise.finally(() => clearTimeout(timer));
  }

  async #gather(first: Waiting, address: CustomerAddress, nowMs: number): Promise<void> {
    const { promise, resolve: complete } = Promise.withResolvers<void>();
    const gathering: Gathering = { sinceMs: nowMs, waiting: [first], complete };
    this.#gathering = gathering;
    const { waiting } = gathering;
    const isWaitedFor = this.#size.isSeveral;
    const timer = setTimeout(complete, isWaitedFor ? GATHER_MS : 0);
    await promise;
    clearTimeout(timer);
    const isComplete = this.#size.isComplete(waiting.length);
    if (!isComplete || !this.#size.goesUnlooked()) {
      if (isComplete || !isWaitedFor) await growing(waiting);
      this.#size.waited(waiting.length);
    }
    if (this.#gathering === gathering) this.#gathering = null;
    await this.#carry(waiting, address);
  }

  /** Never fails: what becomes of the message is told to those who wait. */
  async #carry(waiting: readonly Waiting[], address: CustomerAddress): Promise<void> {
    this.#size.went(waiting.length);
    this.#stayBusy(waiting.length);
    try {
      const answers = await sendAll(waiting, address);
      for (const [index, { resolve }] of waiting.entries()) resolve(answers[index] ?? null);
    } catch (error) {
      const isAway = error instanceof ServiceUnavailable;
      for (const { resolve, reject } of waiting) {
        if (isAway) reject(error);
        else resolve(null);
      }
    }
    this.#stayBusy(waiting.length);
  }

  #stayBusy(count: number): void {
    this.#busyUntilMs = Date.now() + (count > 1 ? BUSY_MS : FOLLOWS_MS);
  }
}

/** Until no more join. */
async function growing(waiting: readonly Waiting[]): Promise<void> {
  for (let looks = 0, seen = 0; looks < LOOKS_MAX && waiting.length > seen; looks += 1) {
    seen = waiting.length;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

/** A lone command goes by itself: its object may gather it with those of other isolates. */
function sendAll(waiting: readonly Waiting[], address: CustomerAddress): Promise<(string | null)[]> {
  const [only] = waiting;
  return ask(address, async (customer, attempt) => {
    const again = attempt > 1;
    if (waiting.length === 1 && only) return [await customer[only.command.kind](only.command.text(again))];
    return customer.runAll(waiting.map(({ command: { kind, text } }): SharedCommand => [kind, text(again)]));
  });
}
