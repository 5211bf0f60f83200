/**
 * The color tone of each status.
 */
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
