/**
 * What vendors counted for prompts of the customer, for those that begin alike: digests and tokens, the newest 256 calls,
 * used for two hours.
 *
 * The rows are a ring, so that an ended call writes one, and never deletes another. They are read once per life of the
 * object.
 */
import type { CountedPrompt, PromptBeginnings } from '../../../src/objects/customer-commands.ts';
import { HOUR_MS } from '../../../src/platform/time.ts';

/** Calls whose prompts are known. */
export const COUNTED_CALLS_MAX = 256;
/** An agent's next turn comes within minutes; a vendor that counts otherwise tomorrow is believed tomorrow. */
export const COUNTED_MS = 2 * HOUR_MS;

interface Counted {
  atMs: number;
  /** The plan decides at which effort a model is asked, and so what its vendor adds to the prompt. */
  planVersionId: string;
  prompts: readonly CountedPrompt[];
}

type Row = { place: number; number: number; at_ms: number; plan_version_id: string; prompts: string };

export class CountedPromptTable {
  readonly #sql: SqlStorage;
  /** By place; `undefined` until they are read. */
  #calls: Map<number, Counted> | undefined;
  /** The number of the next call. */
  #nextNumber = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Keeps what was counted for a call, in the place of the oldest one if all places are taken. */
  add(counted: Counted): void {
    const calls = this.#read();
    const number = this.#nextNumber;
    const place = number % COUNTED_CALLS_MAX;
    this.#sql.exec(
      `INSERT INTO counted_prompts (place, number, at_ms, plan_version_id, prompts) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET number = excluded.number, at_ms = excluded.at_ms,
         plan_version_id = excluded.plan_version_id, prompts = excluded.prompts`,
      place,
      number,
      counted.atMs,
      counted.planVersionId,
      JSON.stringify(counted.prompts),
    );
    calls.set(place, counted);
    this.#nextNumber = number + 1;
  }

  /**
   * The most tokens that each prompt can have by what is known of its beginnings, of which each is a bound of its own: the
   * lowest counts. `null` if nothing is known. What was counted twice counts as the higher.
   */
  tokensOf(prompts: readonly (PromptBeginnings | null)[], planVersionId: string, nowMs: number): (number | null)[] {
    const known = new Map<string, number>();
    for (const { atMs, planVersionId: itsPlan, prompts: counted } of this.#read().values()) {
      if (itsPlan !== planVersionId || atMs <= nowMs - COUNTED_MS) continue;
      for (const [digest, tokens] of counted) known.set(digest, Math.max(tokens, known.get(digest) ?? 0));
    }
    return prompts.map((beginnings) => {
      const bounds = (beginnings ?? []).flatMap(([digest, more]) => {
        const tokens = known.get(digest);
        return tokens === undefined ? [] : [tokens + more];
      });
      return bounds.length === 0 ? null : Math.min(...bounds);
    });
  }

  /** Drops what is used no more. Returns the rows written. */
  drop(untilMs: number, rowsMax: number): number {
    this.rolledBack();
    const sql = `DELETE FROM counted_prompts WHERE place IN (
      SELECT place FROM counted_prompts WHERE at_ms <= ? LIMIT ?)`;
    return this.#sql.exec(sql, untilMs, rowsMax).rowsWritten;
  }

  /** The rows may be others than those that were read. */
  rolledBack(): void {
    this.#calls = undefined;
  }

  #read(): Map<number, Counted> {
    if (this.#calls) return this.#calls;
    const rows = this.#sql.exec<Row>('SELECT * FROM counted_prompts').toArray();
    this.#nextNumber = Math.max(-1, ...rows.map(({ number }) => number)) + 1;
    this.#calls = new Map(
      rows.map(({ place, at_ms, plan_version_id, prompts }) => [
        place,
        { atMs: at_ms, planVersionId: plan_version_id, prompts: JSON.parse(prompts) as CountedPrompt[] },
      ]),
    );
    return this.#calls;
  }
}
