/**
 * A line of a batch's input file: how it is read, and how long lines and files may be.
 */
import { JSON_BOUND_RULES, type JsonBound, parseSingleJson, respelledName } from '../../platform/json.ts';
import { textOrEmpty } from '../../vendors/usage/figures.ts';
import type { BatchLineRequest } from './line-bounds.ts';

/** The longest line of a batch's files: an answer with a picture fits. */
export const BATCH_LINE_BYTES_MAX = 8 * 1024 * 1024;
/** The vendor accepts 50,000 lines; a file with more is refused without reading the rest. */
export const BATCH_LINES_MAX = 50_000;

/** A line of an input file. Its unchecked fields are `unknown`. */
export interface InputLine extends BatchLineRequest {
  customId: unknown;
  method: unknown;
}

/** The request of a line, or the rule that the line breaks. */
export function parseInputLine(text: string): InputLine | { rule: string } {
  const json = parseSingleJson(text);
  if (!json.ok) return { rule: ruleForBound(json.broken) };
  const { custom_id, method, url, body } = (json.value ?? {}) as Record<string, unknown>;
  const request = (body ?? {}) as Record<string, unknown>;
  if (respelledName(json.value ?? {}) !== undefined || respelledName(request) !== undefined)
    return { rule: ruleForBound('double') };
  const { model } = request;
  return typeof model === 'string' && model !== ''
    ? { customId: custom_id, method, path: textOrEmpty(url), model, body: request }
    : { rule: 'names no model' };
}

function ruleForBound(broken: JsonBound | 'syntax' | 'double'): string {
  switch (broken) {
    case 'syntax':
      return 'is no JSON';
    case 'double':
      return 'must have each name once';
    default:
      return JSON_BOUND_RULES[broken];
  }
}
