/**
 * Checks the form of an uploaded file while it arrives, and passes the part that may pass.
 *
 * Lines of a batch are checked, and their models get the vendor's names; a file of any other purpose passes byte for
 * byte. SDKs send the fields in the order in which their caller wrote them. If the file comes before its purpose, it is
 * treated as a batch's: a broken line counts once the purpose says so, and a file of another purpose is refused if a
 * model in it was replaced.
 */
import { FormScanner, parseFieldName } from '../../platform/multipart.ts';
import { type Refused, refuseCall } from '../error-envelope.ts';
import { brokenForm, type CheckedPart, type FormCheck, unendedForm } from '../form-upload.ts';
import type { LineCheck } from './line-check.ts';
import { PassedLines } from './passed-lines.ts';

/** Longer than any vendor's purpose. */
const PURPOSE_BYTES_MAX = 100;
/** Fields that may occur only once: given two, vendors disagree on which one counts. */
const FIELDS = ['file', 'purpose'];

export class FileCheck implements FormCheck {
  readonly #scanner: FormScanner;
  readonly #lines: PassedLines;
  readonly #decoder = new TextDecoder();
  readonly #fields: string[] = [];
  #field: string | null = null;
  #purpose = '';
  /** `undefined` until the purpose has arrived. */
  #isBatch: boolean | undefined;

  constructor(boundary: string, lines: LineCheck) {
    this.#scanner = new FormScanner(boundary);
    this.#lines = new PassedLines(lines);
  }

  /** The bytes that may pass after this part was read: views of its memory, and bytes held before. */
  async push(part: Uint8Array): Promise<CheckedPart> {
    const passed: Uint8Array[] = [];
    for (const event of this.#scanner.push(part)) {
      switch (event.kind) {
        case 'broken':
          return brokenForm(event.rule);
        case 'frame':
          passed.push(event.bytes);
          break;
        case 'part': {
          this.#field = event.name;
          const field = parseFieldName(event.name).toLowerCase();
          if (!FIELDS.includes(field)) break;
          if (event.name !== field || this.#fields.includes(field))
            return refuseCall('BAD_REQUEST', 'the form must have the field once, under this name', { param: field });
          this.#fields.push(field);
          break;
        }
        case 'content':
          if (this.#field === 'purpose') this.#readPurpose(event.bytes);
          passed.push(...(this.#hasLines ? await this.#lines.push(event.bytes) : [event.bytes]));
          break;
        case 'partEnd':
          if (this.#hasLines) passed.push(...(await this.#lines.end()));
          if (this.#field === 'purpose') this.#isBatch = this.#purpose === 'batch';
          this.#field = null;
      }
      const refused = this.#refused();
      if (refused) return refused;
    }
    return { ok: true, passed };
  }

  end(): Refused | null {
    return unendedForm(this.#scanner);
  }

  /** The arriving content belongs to a batch's file, or may belong to one. */
  get #hasLines(): boolean {
    return this.#field === 'file' && this.#isBatch !== false;
  }

  #readPurpose(bytes: Uint8Array): void {
    if (this.#purpose.length < PURPOSE_BYTES_MAX)
      this.#purpose += this.#decoder.decode(bytes.subarray(0, PURPOSE_BYTES_MAX), { stream: true });
  }

  #refused(): Refused | null {
    const { broken, replaced } = this.#lines;
    if (this.#isBatch && broken !== null) return refuseCall('BAD_REQUEST', broken, { param: 'file' });
    // A form without a purpose is not a batch's.
    const isOther = this.#isBatch === false || (this.#isBatch === undefined && this.#scanner.isComplete);
    if (!isOther || !replaced) return null;
    const name = JSON.stringify(replaced.named);
    const message = `purpose must come before the file, whose line ${replaced.number} names the model ${name}: only in a batch is it replaced`;
    return refuseCall('BAD_REQUEST', message, { param: 'purpose' });
  }
}
