/**
 * class UnwrittenCalls: calls that began and stand in memory alone, because nobody is told of them before their end.
 *
 * What they hold counts in the account that commands see, and is left out of the one that is stored: an object that
 * dies forgets these calls together with what they held. A transaction that fails takes back what it did here.
 */
import type { Account } from '../../src/domain/account.ts';
import { type Call, type Held, heldBy, holdLess, holdMore } from '../../src/domain/call.ts';
import { addQuantities, subtractQuantities } from '../../src/domain/meters.ts';

export interface UnwrittenCall {
  call: Call;
  fingerprint: string;
  /** What its begin answered. */
  answer: () => string;
}

export class UnwrittenCalls {
  readonly #calls = new Map<string, UnwrittenCall>();
  #held: Held = { reserved: {}, nanoUsd: 0n };
  /** Reverts what the transaction under way did, the last first. */
  #undo: (() => void)[] = [];

  get size(): number {
    return this.#calls.size;
  }

  find(callId: string): UnwrittenCall | null {
    return this.#calls.get(callId) ?? null;
  }

  begunBy(atMs: number): UnwrittenCall[] {
    return [...this.#calls.values()].filter(({ call }) => call.startedAtMs <= atMs);
  }

  add(unwritten: UnwrittenCall): void {
    this.#put(unwritten);
    this.#undo.push(() => this.#remove(unwritten));
  }

  /** The call, which is to be written now; `null` where it was written before. */
  take(callId: string): UnwrittenCall | null {
    const unwritten = this.find(callId);
    if (unwritten) {
      this.#remove(unwritten);
      this.#undo.push(() => this.#put(unwritten));
    }
    return unwritten;
  }

  committed(): void {
    this.#undo = [];
  }

  rolledBack(): void {
    for (const undo of this.#undo.reverse()) undo();
    this.#undo = [];
  }

  /** The account as it is stored. */
  toStore(account: Account): Account {
    return this.#calls.size === 0 ? account : holdLess(account, this.#held);
  }

  /** The stored account as commands see it. */
  fromStore(stored: Account): Account {
    return this.#calls.size === 0 ? stored : holdMore(stored, this.#held);
  }

  #put(unwritten: UnwrittenCall): void {
    const { reserved, nanoUsd } = heldBy(unwritten.call);
    this.#calls.set(unwritten.call.callId, unwritten);
    this.#held = { reserved: addQuantities(this.#held.reserved, reserved), nanoUsd: this.#held.nanoUsd + nanoUsd };
  }

  #remove({ call }: UnwrittenCall): void {
    const { reserved, nanoUsd } = heldBy(call);
    this.#calls.delete(call.callId);
    this.#held = { reserved: subtractQuantities(this.#held.reserved, reserved), nanoUsd: this.#held.nanoUsd - nanoUsd };
  }
}
