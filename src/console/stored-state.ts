/**
 * Reads the stored state of an event: JSON from any release, so every member may be absent or have another type.
 */
import { moment } from '../ui/format.ts';
import { isRecord } from './field-words.ts';

export type State = Readonly<Record<string, unknown>>;

export function asState(value: unknown): State {
  return isRecord(value) ? value : {};
}

export function textAt(state: State, member: string): string | undefined {
  const value = state[member];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function numberAt(state: State, member: string): number | undefined {
  const value = state[member];
  return typeof value === 'number' ? value : undefined;
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** For example `20 Nov 2026, 14:03 UTC`. */
export function instantText(state: State, member: string): string {
  const atMs = Date.parse(textAt(state, member) ?? '');
  return Number.isNaN(atMs) ? 'an unknown time' : `${moment(atMs)} UTC`;
}
