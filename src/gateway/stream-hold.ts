/**
 * The hold of a stream on credit, which grows in steps while text flows.
 *
 * The next step is requested before the present one is used up, so that text need not wait for it if the balance
 * suffices.
 */

import { STEP_TOKENS } from '../domain/hold.ts';
import type { CallId, CustomerId } from '../domain/ids.ts';
import type { Caller } from '../metering/caller.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import { sendCommand } from '../objects/command-text.ts';
import type { ExtendedHold, ExtendHoldCommand } from '../objects/customer-commands.ts';
import { log } from '../platform/log.ts';

/** The next step is requested this many tokens before the end of the present one. */
const AHEAD_TOKENS = 256;

export class StreamHold {
  readonly #extend: (outputTokens: number) => Promise<number>;
  #heldTokens: number;
  readonly #tokensMax: number;
  /** The step that is being requested. */
  #next: Promise<void> | null = null;
  /** The held tokens for which the next step was requested ahead. */
  #aheadOf = 0;

  constructor(heldTokens: number, tokensMax: number, extend: (outputTokens: number) => Promise<number>) {
    this.#heldTokens = heldTokens;
    this.#tokensMax = tokensMax;
    this.#extend = extend;
  }

  /** The tokens that are held now. */
  get heldTokens(): number {
    return this.#heldTokens;
  }

  /** Whether this many tokens in all are held. */
  mayContinue(tokens: number): true | Promise<boolean> {
    // Output beyond the bound that the vendor was sent cannot be held.
    const needed = Math.min(tokens, this.#tokensMax);
    if (needed > this.#heldTokens) return this.#wait(needed);
    if (needed + AHEAD_TOKENS > this.#heldTokens && this.#aheadOf !== this.#heldTokens) {
      this.#aheadOf = this.#heldTokens;
      this.#ask(needed);
    }
    return true;
  }

  #ask(tokens: number): Promise<void> {
    if (this.#heldTokens >= this.#tokensMax) return Promise.resolve();
    const wanted = Math.min(this.#tokensMax, Math.max(tokens, this.#heldTokens) + STEP_TOKENS);
    this.#next ??= this.#extend(wanted)
      .then((heldTokens) => {
        this.#heldTokens = Math.max(this.#heldTokens, heldTokens);
      })
      // An amount that is not held may not be spent: the stream ends as if the balance did not suffice.
      .catch((error) => log('warn', 'hold_not_extended', {}, error))
      .finally(() => {
        this.#next = null;
      });
    return this.#next;
  }

  /** A refusal ahead of time is not final: other calls may have released their holds. */
  async #wait(tokens: number): Promise<boolean> {
    await this.#next;
    if (tokens > this.#heldTokens) await this.#ask(tokens);
    return tokens <= this.#heldTokens;
  }
}

/** Asks the customer's object to hold this many tokens for a call in all. */
export function holdExtender({ env, organization }: Caller, customerId: CustomerId, callId: CallId) {
  const { organizationId } = organization;
  return async (outputTokens: number): Promise<ExtendedHold> => {
    const command = sendCommand<ExtendHoldCommand>({ organizationId, callId, outputTokens });
    const address = customerByName(env, { organizationId, customerId });
    return ask(address, (customer) => customer.extendHold(command));
  };
}
