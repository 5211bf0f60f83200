/**
 * When D1 gets the row that lists show of the customer: at once if something of it changed that lists show within seconds, or
 * if the customer calls rarely; otherwise its figures may be up to a minute old.
 *
 * The outbox keeps its newest change as long as the row is owed, so that an object that stops owes it still.
 */
import type { Account } from '../../src/domain/account.ts';
import { isOnCredit } from '../../src/domain/next-payer.ts';
import { wasDenied } from '../../src/domain/summary.ts';
import { sumBalance } from '../../src/domain/wallet.ts';

/** Figures that were handed over so lately are new enough for lists. A projector needs some seconds of the minute. */
const FIGURES_MS = 55_000;

/** The row on its way to a projector. */
interface UnderWay {
  account: Account;
  owedSinceMs: number | null;
  hasFiguresAlone: boolean;
}

export class ListedRow {
  /** The customer as it was when the row was handed over last; `null` if that is not known. */
  #known: Account | null;
  #owedSinceMs: number | null;
  #underWay: UnderWay | null = null;
  #figuresSentMs = 0;

  constructor({ account, waitingSinceMs }: { account: Account | null; waitingSinceMs: number | null }) {
    this.#known = waitingSinceMs === null ? account : null;
    this.#owedSinceMs = waitingSinceMs;
  }

  changed(nowMs: number): void {
    this.#owedSinceMs ??= nowMs;
  }

  /** Since when D1 lacks something of the row; `null` if it lacks nothing. */
  get owedSinceMs(): number | null {
    return this.#underWay?.owedSinceMs ?? this.#owedSinceMs;
  }

  /** Whether the row goes with a page that the timer hands over. A call that is open changes it again soon. */
  isDue(account: Account, nowMs: number, hasOpenCalls: () => boolean): boolean {
    if (this.#owedSinceMs === null) return false;
    if (!hasFiguresAlone(this.#known, account) || nowMs - this.#owedSinceMs >= FIGURES_MS) return true;
    return nowMs - this.#figuresSentMs >= FIGURES_MS && !hasOpenCalls();
  }

  /** The row is in a page, as it is now. */
  leaves(account: Account): void {
    this.#underWay = {
      account,
      owedSinceMs: this.#owedSinceMs,
      hasFiguresAlone: hasFiguresAlone(this.#known, account),
    };
    this.#owedSinceMs = null;
  }

  /** A projector has that page. */
  arrived(nowMs: number): void {
    if (!this.#underWay) return;
    this.#known = this.#underWay.account;
    if (this.#underWay.hasFiguresAlone) this.#figuresSentMs = nowMs;
    this.#underWay = null;
  }

  /** No projector took that page. */
  returned(): void {
    this.#owedSinceMs = this.owedSinceMs;
    this.#underWay = null;
  }
}

/** Whether nothing else of the row changed than figures that may be a minute old. */
function hasFiguresAlone(known: Account | null, account: Account): boolean {
  return (
    known !== null &&
    known.subscription === account.subscription &&
    known.contact === account.contact &&
    wasDenied(known) === wasDenied(account) &&
    isOnCredit(known) === isOnCredit(account) &&
    sumBalance(known.wallet, 'USD') === sumBalance(account.wallet, 'USD')
  );
}
