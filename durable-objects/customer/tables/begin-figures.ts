/**
 * What a begin needs to know of the calls before it: how many are open, how many began in the plan's rolling window, and
 * what the last ones cost. They are counted as calls begin and end, so that a begin reads no calls.
 *
 * Of open calls it lists the deadlines too, so that a call costs no entry in an index of deadlines. That has those beyond
 * `LISTED_MAX`, whose rows do not have the status `LISTED`.
 *
 * They are a column of the account's row, which every begin and end writes in any case. An object that has none yet, or
 * whose plan has another window now, counts them from its calls once.
 */
import type { Call } from '../../../src/domain/call.ts';
import type { CallId } from '../../../src/domain/ids.ts';
import { addCost, correctCost, type RecentCost } from '../../../src/domain/recent-costs.ts';
import { addBegun, type BegunCalls, removeBegun } from '../../../src/domain/rolling-window.ts';
import type { CallBeforeChange, CallTable } from './calls.ts';

type ListedCall = readonly [callId: CallId, deadlineAtMs: number];

/** Open calls in the list. */
export const LISTED_MAX = 64;

/** Plain JSON. */
interface Figures {
  openCalls: number;
  /** Absent in what earlier releases stored. */
  listed?: readonly ListedCall[];
  /** `null` if the plan of the last begin had no rolling limit. */
  begun: BegunCalls | null;
  recentCosts: readonly RecentCost[];
}

export class BeginFigures {
  readonly #sql: SqlStorage;
  readonly #calls: CallTable;
  #known: Figures | undefined;
  /** As JSON; `null` until a call is counted. */
  #text: string | null = null;
  #hasChanged = false;

  constructor(sql: SqlStorage, calls: CallTable) {
    this.#sql = sql;
    this.#calls = calls;
  }

  openCalls(): number {
    return this.#read().openCalls;
  }

  /** The listed calls whose deadline has come. */
  pastDeadline(nowMs: number): CallId[] {
    return this.#listed()
      .filter(([, deadlineAtMs]) => deadlineAtMs <= nowMs)
      .map(([callId]) => callId);
  }

  /** The next deadline of a listed call; `null` if there is none. */
  nextDeadlineMs(): number | null {
    const deadlines = this.#listed().map(([, deadlineAtMs]) => deadlineAtMs);
    return deadlines.length === 0 ? null : Math.min(...deadlines);
  }

  #listed(): readonly ListedCall[] {
    return this.#read().listed ?? [];
  }

  recentCosts(): bigint[] {
    return this.#read().recentCosts.map(([, costNanoUsd]) => BigInt(costNanoUsd));
  }

  /** The calls that began in a window of this length until now. */
  begun(windowSeconds: number, nowMs: number): BegunCalls {
    const figures = this.#read();
    if (figures.begun?.windowSeconds === windowSeconds) return figures.begun;
    const begun = { windowSeconds, parts: this.#calls.begunParts(windowSeconds, nowMs) };
    this.#known = { ...figures, begun };
    return begun;
  }

  /**
   * To be called before the call is stored. `windowSeconds` is the plan's, if it has a rolling limit. Returns whether the call
   * is listed.
   */
  callBegins({ callId, startedAtMs, deadlineAtMs }: Call, windowSeconds: number | undefined): boolean {
    const begun = windowSeconds === undefined ? null : addBegun(this.begun(windowSeconds, startedAtMs), startedAtMs);
    const figures = this.#read();
    const listed = this.#listed();
    const isListed = listed.length < LISTED_MAX;
    this.#change({
      ...figures,
      openCalls: figures.openCalls + 1,
      begun,
      listed: isListed ? [...listed, [callId, deadlineAtMs]] : listed,
    });
    return isListed;
  }

  /** To be called before the call is stored. `statusBefore` is the one that is stored. */
  callEnds(call: Call, statusBefore: CallBeforeChange['status']): void {
    const { openCalls, begun, recentCosts } = this.#read();
    const wasCounted = statusBefore === 'COMPLETED' || statusBefore === 'FAILED';
    this.#change({
      openCalls: openCalls - (statusBefore === 'IN_PROGRESS' ? 1 : 0),
      listed: this.#listed().filter(([callId]) => callId !== call.callId),
      begun: begun && call.status === 'NOT_ALLOWED' ? removeBegun(begun, call.startedAtMs) : begun,
      recentCosts: wasCounted ? recentCosts : addCost(recentCosts, call),
    });
  }

  /** To be called before the correction is stored. */
  callIsCorrected(before: Call, after: Call): void {
    const { begun, recentCosts, ...figures } = this.#read();
    const isReversedNow = before.reversedAtMs === undefined && after.reversedAtMs !== undefined;
    this.#change({
      ...figures,
      begun: begun && isReversedNow ? removeBegun(begun, after.startedAtMs) : begun,
      recentCosts: correctCost(recentCosts, before, after),
    });
  }

  /** Whether the account's row is to be written for them. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** What the account's row is to have; `null` if nothing was read or counted. */
  takeText(): string | null {
    if (this.#hasChanged) this.#text = JSON.stringify(this.#known);
    this.#hasChanged = false;
    return this.#text;
  }

  /** The row may be another than the one that was read. */
  rolledBack(): void {
    this.#known = undefined;
    this.#text = null;
    this.#hasChanged = false;
  }

  #change(figures: Figures): void {
    this.#known = figures;
    this.#hasChanged = true;
  }

  #read(): Figures {
    if (this.#known) return this.#known;
    const sql = 'SELECT begin_figures AS text FROM account';
    this.#text = this.#sql.exec<{ text: string | null }>(sql).toArray()[0]?.text ?? null;
    this.#known = this.#text === null ? this.#count() : (JSON.parse(this.#text) as Figures);
    return this.#known;
  }

  #count(): Figures {
    return { openCalls: this.#calls.countOpen(), begun: null, recentCosts: this.#calls.recentCosts() };
  }
}
