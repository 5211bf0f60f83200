/**
 * A file of a form, as a field of its request. Its content stays in the body (form-body.ts).
 */
import type { ByteSource } from './byte-source.ts';

export interface FormFile {
  fileName: string;
  contentType: string;
  bytes: number;
  /** The first bytes, which identify the content. */
  head: Uint8Array;
  content: ByteSource;
}

/** Neither JSON nor a text of a form can look like one. */
export function isFormFile(value: unknown): value is FormFile {
  return typeof value === 'object' && value !== null && 'head' in value && value.head instanceof Uint8Array;
}
