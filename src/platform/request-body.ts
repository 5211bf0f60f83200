/**
 * The body of a request as it came, which is passed on with a few of its fields changed: JSON (json-text.ts) or a form
 * (form-body.ts).
 */

export interface RequestBody {
  readonly contentType: string;
  /** Nothing of it was read, so that nobody knows what it asks for. */
  readonly isUnread?: boolean;
  /**
   * The body, in which each field that differs between the two objects is as in `after`: set, added at the end, or left
   * out. All else stays as it came, byte for byte.
   */
  changed(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>): string | Uint8Array;
  /** A hash of the contents of its files; without it there are none. */
  filesHash?(): Promise<string>;
}
