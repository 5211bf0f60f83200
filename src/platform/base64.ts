/**
 * Bytes as base64, or as base64url without padding, and back.
 */
export function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

/** The most bytes that become a text in one step: more would exhaust the stack. */
const STEP_BYTES = 0x8000;

/** The usual base64 of bytes of any length. */
export function toBase64(bytes: Uint8Array): string {
  let characters = '';
  for (let at = 0; at < bytes.length; at += STEP_BYTES)
    characters += String.fromCharCode(...bytes.subarray(at, at + STEP_BYTES));
  return btoa(characters);
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** `null` if the text is not base64url. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return null;
  return fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'));
}
