/**
 * Canonical JSON: the same value always gives the same text, whatever the order in which its members were written.
 *
 * Idempotency compares payloads by it, and content-derived versions and snapshot ids hash it. Members that are
 * `undefined` are left out, as in JSON itself.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}
