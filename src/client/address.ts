/**
 * Addresses of requests: the base URL, paths with their parameters, and queries.
 */
import { badInput } from './errors.ts';

export function baseAddress(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash) {
    throw badInput('baseUrl', 'must be an http or https URL without credentials, query and fragment');
  }
  return url.href.replace(/\/+$/, '');
}

/** Fills in the parameters of the path. `rest` is the input without them: the query or the body. */
export function fillAddress(
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

/** Writes a list as its items, separated by commas. */
export function formatQuery(query: object): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size > 0 ? `?${search}` : '';
}

/** Encodes provider and model separately: the model's name may contain slashes. */
export function encodeModelKey(modelKey: string): string {
  const slash = String(modelKey).indexOf('/');
  const parts = slash < 0 ? [modelKey] : [modelKey.slice(0, slash), modelKey.slice(slash + 1)];
  return parts.map((part) => encodeSegment('modelKey', part)).join('/');
}

/** Rejects `.` and `..`, which URL parsing would resolve, and text that is not well-formed Unicode. */
function encodeSegment(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw badInput(name, 'is required');
  if (/^\.{1,2}$/.test(value) || !value.isWellFormed()) throw badInput(name, 'cannot be part of a URL path');
  return encodeURIComponent(value);
}
