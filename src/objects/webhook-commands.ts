/**
 * The answers of a webhook's object.
 */

import type { DELIVERY_STATUSES } from '../contract/webhooks.ts';
import type { CustomerId } from '../domain/ids.ts';

type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** An event that was sent, is being sent, or waits. */
export interface DeliveryRow {
  /** Ascending in the order in which events were read. */
  delivery: number;
  eventId: string;
  type: string;
  customerId: CustomerId | null;
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
  /** The number of waiting events. */
  pending: number;
  /** The time since which every request failed; `null` if the last one did not. */
  failingSinceMs: number | null;
}

export interface TestResult {
  eventId: string;
  delivered: boolean;
  answerStatus: number | null;
  answer: string;
}

/**
 * The result of a request to send an event again: it fails while the webhook is off, for an event that nobody recorded,
 * and for another type.
 */
export type SentAgain = 'sent' | 'off' | 'unknown' | 'unwanted';
