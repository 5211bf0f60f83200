/**
 * The media type of an answer: the vendor's own, under the name that the `Accept` header asks for (RFC 9110, 12.5.1),
 * or CSV for a list that has it.
 */
import { MEDIA_TYPE } from '../../contract/envelope.ts';

/** The vendor media type of version 1, whatever the brand. */
const VENDOR_TYPE = /^application\/vnd\.[a-z0-9][a-z0-9_-]{0,63}\.v1\+json$/;
/** From the most specific: the first one that the header names decides. */
const RANGES_OF_DEFAULT = [MEDIA_TYPE, 'application/*', '*/*'];
/** Entries are between commas or semicolons that are not in quotes. */
const ENTRIES = /(?:[^,"]|"(?:\\.|[^"\\])*"?)+/g;
const PARTS = /(?:[^;"]|"(?:\\.|[^"\\])*"?)+/g;

/**
 * The vendor media type with the highest weight, and among equal weights a named one; a wildcard means the contract's.
 * `null` if the header admits none.
 */
export function acceptedType(header: string | undefined): string | null {
  if (header === undefined || header === MEDIA_TYPE) return header ?? null;
  const weights = parseRangeWeights(header);
  const byWildcard = RANGES_OF_DEFAULT.find((range) => weights.has(range));
  const named = [...weights].filter(([range]) => VENDOR_TYPE.test(range));
  const fallback: [string, number] = [MEDIA_TYPE, weights.get(byWildcard ?? '') ?? 0];
  const [type, weight] = [...named, fallback].reduce((best, each) => (each[1] > best[1] ? each : best));
  return weight > 0 ? type : null;
}

/** Whether the header names `text/csv`, and no type of JSON with the same weight or a higher one. */
export function prefersCsv(header: string | undefined): boolean {
  const weights = parseRangeWeights(header ?? '');
  const csv = weights.get('text/csv') ?? 0;
  const isJson = (range: string) => VENDOR_TYPE.test(range) || range === 'application/json';
  return csv > 0 && [...weights].every(([range, weight]) => !isJson(range) || weight < csv);
}

/** Each range with its weight, the higher one if it is named twice. */
function parseRangeWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const entry of header.match(ENTRIES) ?? []) {
    const [range = '', ...parameters] = (entry.match(PARTS) ?? []).map((part) => part.trim().toLowerCase());
    const weight = parseWeight(parameters.find((parameter) => /^q\s*=/.test(parameter)));
    weights.set(range, Math.max(weight, weights.get(range) ?? 0));
  }
  return weights;
}

/** 1 if there is none, or none that can be read. */
function parseWeight(parameter: string | undefined): number {
  const weight = parameter === undefined ? 1 : Number.parseFloat(parameter.slice(parameter.indexOf('=') + 1));
  return Number.isNaN(weight) ? 1 : weight;
}
