/**
 * What the object of a webhook answers.
 */
import type { DELIVERY_STATUSES } from '../contract/webhooks.ts';

type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** An event that was, is, or is to be sent. */
export interface DeliveryRow {
  /** Ascending in the order in which events were read. */
  delivery: number;
  eventId: string;
  type: string;
  customerId: string | null;
  /** When the event happened. */
  atMs: number;
  status: DeliveryStatus;
  attempts: number;
  lastAttemptMs: number | null;
  nextAttemptMs: number | null;
  answerStatus: number | null;
  answer: string | null;
}

export interface EndpointState {
  /** Events that wait. */
  pending: number;
  /** Since when every request failed; `null` where the last one did not. */
  failingSinceMs: number | null;
}

export interface TestResult {
  eventId: string;
  delivered: boolean;
  answerStatus: number | null;
  answer: string;
}

/** Whether an event is sent again: not while the webhook is off, not one that nobody recorded, not one of another type. */
export type SentAgain = 'sent' | 'off' | 'unknown' | 'unwanted';
