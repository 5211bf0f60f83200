/**
 * The color tone of each status, and its name.
 */
import { words } from '../ui/format.ts';
import type { Tone } from '../ui/parts.tsx';

export const STATUS_TONES: Readonly<Record<string, Tone>> = {
  IN_PROGRESS: 'info',
  COMPLETED: 'good',
  FAILED: 'bad',
  TIMEOUT: 'warn',
  NOT_ALLOWED: 'warn',
  PENDING: 'info',
  POSTED: 'good',
  RUNNING: 'info',
  ACTIVE: 'good',
  DEPRECATED: 'warn',
  RETIRED: 'bad',
  LOW: 'plain',
  MEDIUM: 'warn',
  HIGH: 'bad',
};

const NAMES: Readonly<Record<string, string>> = { NOT_ALLOWED: 'Denied', TIMEOUT: 'Timed out' };

/** The name of a call's status or outcome. */
export function statusWords(status: string): string {
  return NAMES[status] ?? words(status);
}
