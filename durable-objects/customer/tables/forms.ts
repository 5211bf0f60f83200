/**
 * Forms of JSON texts, and the texts packed by them (packed-text.ts). Most answers of a customer differ in a few values, so
 * a retry's answer takes a tenth of its length. A text that resembles no form becomes one.
 */
import { BoundedMap } from '../../../src/platform/bounded-map.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/platform/time.ts';
import { assertTextFits } from '../../stored-value.ts';
import { buildForm, type Form, formIdOf, packText, parseText, unpackText } from '../packed-text.ts';

/** A form is compared with new texts for this long. */
const FORM_USE_MS = DAY_MS;
/** What is packed by a form is read no longer than this after the form was made: an answer is kept until two days after its call, and a call may be open for days. */
export const FORM_RETENTION_MS = 10 * DAY_MS;
/** Forms that a new text is compared with at most; as many others are remembered for reading. */
const FORMS_MAX = 8;
/** A longer text is stored as it is. */
const LENGTH_MAX = 32_768;
/** A packed text that is longer gets a form of its own, if the last form is old enough that this pays. */
const PACKED_LENGTH_GOAL = 140;
const NEW_FORM_MS = 10 * MINUTE_MS;

type Row = { form_id: number; call_id: string; made_at_ms: number; text: string };

export class FormTable {
  readonly #sql: SqlStorage;
  /** Those that were used last come first. */
  #recent: Form[] | undefined;
  readonly #read = new BoundedMap<number, Form>(FORMS_MAX);

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The text as it is stored. */
  pack(text: string, callId: string, nowMs: number): string {
    if (text.length > LENGTH_MAX) return text;
    const parsed = parseText(text);
    let best: { form: Form; packed: string } | null = null;
    for (const form of this.#forms()) {
      if (form.madeAtMs <= nowMs - FORM_USE_MS) continue;
      const packed = packText(form, parsed, callId);
      if (packed !== null && packed.length < (best?.packed.length ?? text.length)) best = { form, packed };
      if (best && best.packed.length <= PACKED_LENGTH_GOAL) break;
    }
    const isGood = best && (best.packed.length <= PACKED_LENGTH_GOAL || best.form.madeAtMs > nowMs - NEW_FORM_MS);
    const { form, packed } = best && isGood ? best : this.#add(text, callId, nowMs);
    if (this.#forms()[0] !== form)
      this.#recent = [form, ...this.#forms().filter((other) => other !== form)].slice(0, FORMS_MAX);
    return packed;
  }

  /** The text again; `null` if its form is gone. */
  unpack(stored: string, callId: string): string | null {
    const id = formIdOf(stored);
    if (id === null) return stored;
    const form = this.#find(id);
    return form && unpackText(form, stored, callId);
  }

  /** Drops forms that were made by then. Returns the rows written. */
  drop(madeByMs: number, rowsMax: number): number {
    const sql =
      'DELETE FROM forms WHERE form_id IN (SELECT form_id FROM forms WHERE made_at_ms <= ? ORDER BY form_id LIMIT ?)';
    return this.#sql.exec(sql, madeByMs, rowsMax).rowsWritten;
  }

  /** A form that was made in a transaction that failed is not stored. */
  rolledBack(): void {
    this.#recent = undefined;
    this.#read.clear();
  }

  #add(text: string, callId: string, nowMs: number): { form: Form; packed: string } {
    assertTextFits('a form of answers', text);
    const sql = 'INSERT INTO forms (call_id, made_at_ms, text) VALUES (?, ?, ?) RETURNING form_id';
    const { form_id: id } = this.#sql.exec<{ form_id: number }>(sql, callId, nowMs, text).one();
    const form = buildForm({ id, callId, madeAtMs: nowMs, text });
    return { form, packed: packText(form, form.text, callId) ?? text };
  }

  #forms(): Form[] {
    this.#recent ??= this.#sql
      .exec<Row>('SELECT form_id, call_id, made_at_ms, text FROM forms ORDER BY form_id DESC LIMIT ?', FORMS_MAX)
      .toArray()
      .map(readForm);
    return this.#recent;
  }

  #find(id: number): Form | null {
    const known = this.#recent?.find((form) => form.id === id) ?? this.#read.get(id);
    if (known) return known;
    const sql = 'SELECT form_id, call_id, made_at_ms, text FROM forms WHERE form_id = ?';
    const row = this.#sql.exec<Row>(sql, id).toArray()[0];
    if (!row) return null;
    const form = readForm(row);
    this.#read.set(id, form);
    return form;
  }
}

function readForm({ form_id: id, call_id: callId, made_at_ms: madeAtMs, text }: Row): Form {
  return buildForm({ id, callId, madeAtMs, text });
}
