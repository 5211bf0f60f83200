/**
 * The unchanged body of a request, which is passed on with a few changed fields: JSON (json-text.ts) or a form
 * (form-body.ts).
 */

export interface RequestBody {
  readonly contentType: string;
  /** It was not read, so its request is unknown. */
  readonly isUnread?: boolean;
  /**
   * The body, in which each field that differs between the two objects is as in `after`: set, added at the end, or left
   * out. All else stays byte for byte.
   */
  changed(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>): string | Uint8Array;
  /** A hash of the contents of its files; absent if it has none. */
  filesHash?(): Promise<string>;
}
