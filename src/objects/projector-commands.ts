/**
 * The input and the reports of a projector.
 */
import type { CustomerId, CustomerKey, OrganizationId } from '../domain/ids.ts';
import type { DatabaseName } from '../platform/database-name.ts';
import type { ChangeKind } from './projection-page.ts';

/** A page of changes. */
export interface HandOver extends CustomerKey {
  /** The database of the organization and of the projector. */
  database: DatabaseName;
  subscriptionId: string;
  /** The time of the oldest change in the page. */
  sinceMs: number;
  /** Changes in the page. */
  changes: number;
  /** The customer has more changes, which it sends when this page is taken. */
  more: boolean;
  /** A `ProjectionPage` as JSON. */
  page: string;
}

/** The owner of the changes in a question: one customer, one organization, or everybody. */
export interface Whose {
  organizationId?: OrganizationId;
  customerId?: CustomerId;
}

/** The changes that wait for D1, and those that D1 refused. */
export interface ProjectorState {
  waiting: {
    changes: number;
    /** The changes among those that wait longer than a usual delivery, and their customers. */
    lateChanges: number;
    lateCustomers: number;
    /** The time since which the oldest change waits; `null` if none waits. */
    oldestMs: number | null;
  };
  setAside: { rows: number; oldestMs: number | null };
  /** The number of failed attempts in a row, and the reason of the last one. */
  failures: number;
  lastError: string | null;
}

/** A change that D1 refused. */
export interface SetAsideChange {
  /** Ascending within a projector. */
  place: number;
  customerId: CustomerId;
  kind: ChangeKind;
  id: string;
  atMs: number;
  reason: string;
}

export interface ResentChanges {
  rows: number;
  customerIds: CustomerId[];
  /** Whether more changes are left to send again. */
  more: boolean;
}
