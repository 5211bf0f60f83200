/**
 * Ids that sort by creation time: UUIDs of version 7 (RFC 9562). Rows with such keys are neighbours in an index, so a
 * database writes few pages for many rows; random keys would touch a page each.
 */
export function timeOrderedId(nowMs: number): string {
  const time = nowMs.toString(16).padStart(12, '0');
  // The random part and the variant are those of version 4.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}

/** The creation time of the id; `null` for a text that is not such an id. */
export function timeOfId(id: string): number | null {
  const [, high, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/.exec(id) ?? [];
  return high && low ? Number.parseInt(high + low, 16) : null;
}
