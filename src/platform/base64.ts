/**
 * Bytes as base64, or as base64url without padding, and back.
 */
export function toBase64Url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
}

export function toBase64(bytes: Uint8Array): string {
  return bytes.toBase64();
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromBase64(text);
}

/** `null` if the text is not base64url. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return null;
  return Uint8Array.fromBase64(text, { alphabet: 'base64url' });
}
