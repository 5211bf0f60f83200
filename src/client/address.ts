/**
 * Addresses: the service's own, an operation's path with its parameters, a query.
 */
import { badInput } from './errors.ts';

export function baseAddress(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash) {
    throw badInput('baseUrl', 'must be an http or https address without credentials and query');
  }
  return url.href.replace(/\/+$/, '');
}

/** The path with its parameters filled in, and what of the input is left for query or body. */
export function addressOf(
  path: string,
  input: Record<string, unknown>,
): { address: string; rest: Record<string, unknown> } {
  const rest = { ...input };
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name];
    delete rest[name];
    return encodeSegment(name, value);
  });
  return { address, rest };
}

/** A list travels as its items with commas between them. */
export function queryOf(query: object): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size > 0 ? `?${search}` : '';
}

/** The model after the provider may hold slashes of its own. */
export function encodeModelKey(modelKey: string): string {
  const slash = String(modelKey).indexOf('/');
  const parts = slash < 0 ? [modelKey] : [modelKey.slice(0, slash), modelKey.slice(slash + 1)];
  return parts.map((part) => encodeSegment('modelKey', part)).join('/');
}

/** `.` and `..` are resolved away in every address, and broken Unicode cannot stand in one. */
function encodeSegment(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw badInput(name, 'is required');
  if (/^\.{1,2}$/.test(value) || !value.isWellFormed()) throw badInput(name, 'cannot stand in an address');
  return encodeURIComponent(value);
}
