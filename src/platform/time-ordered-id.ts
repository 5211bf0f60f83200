/**
 * Ids that sort by the time at which they were made: UUIDs of version 7 (RFC 9562). Rows under such keys stand
 * together, so a database writes a few pages for many of them, where random ones would touch a page each.
 */
export function timeOrderedId(nowMs: number): string {
  const time = nowMs.toString(16).padStart(12, '0');
  // The random part and the variant are those of version 4.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}
