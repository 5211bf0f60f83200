/**
 * The differences between two JSON values, field by field: `limits.premiumCalls` with both values.
 */
import { canonicalJson } from '../domain/canonical.ts';
import { isRecord } from './field-words.ts';

export interface FieldChange {
  field: string;
  /** `undefined` if the field did not exist. */
  before: unknown;
  after: unknown;
}

/** Fields that are compared as a whole: a period, a window, a price. */
const WHOLE = /(^|\.)(replenish|rollingCalls|overage)$/;
/** The most fields in an answer, and the most levels that are compared. */
const FIELDS_MAX = 200;
const DEPTH_MAX = 4;

export function changedFields(before: unknown, after: unknown): FieldChange[] {
  return compare('', before, after, DEPTH_MAX).slice(0, FIELDS_MAX);
}

/** Every field of either value, changed or not. */
export function allFields(before: unknown, after: unknown): (FieldChange & { changed: boolean })[] {
  return compareFields('', before, after, DEPTH_MAX)
    .slice(0, FIELDS_MAX)
    .map((field) => ({ ...field, changed: !same(field.before, field.after) }));
}

function compare(path: string, before: unknown, after: unknown, depth: number): FieldChange[] {
  return compareFields(path, before, after, depth).filter((field) => !same(field.before, field.after));
}

function compareFields(path: string, before: unknown, after: unknown, depth: number): FieldChange[] {
  const [old, now] = [isRecord(before) ? before : {}, isRecord(after) ? after : {}];
  const open =
    (isRecord(before) || before == null) && (isRecord(after) || after == null) && (isRecord(before) || isRecord(after));
  if (!open || depth === 0 || WHOLE.test(path)) return [{ field: path, before, after }];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return names.flatMap((name) =>
    compareFields(path === '' ? name : `${path}.${name}`, old[name], now[name], depth - 1),
  );
}

function same(a: unknown, b: unknown): boolean {
  return canonicalJson(a ?? null) === canonicalJson(b ?? null);
}
