/**
 * What a projector takes and tells.
 */
import type { CustomerId, CustomerKey, OrganizationId } from '../domain/ids.ts';
import type { DatabaseName } from '../platform/database-name.ts';
import type { ChangeKind } from './projection-page.ts';

/** A page of changes, for the projector to store as it comes. */
export interface HandOver extends CustomerKey {
  /** The database of the organization, which is that of the projector. */
  database: DatabaseName;
  subscriptionId: string;
  /** When the oldest change of the page was made. */
  sinceMs: number;
  /** Changes in the page. */
  changes: number;
  /** A `ProjectionPage` as JSON. */
  page: string;
}

/** Whose changes a question is about: of one customer, of one organization, or of everybody. */
export interface Whose {
  organizationId?: OrganizationId;
  customerId?: CustomerId;
}

/** What waits for D1, and what D1 refused. */
export interface ProjectorState {
  waiting: {
    changes: number;
    /** Of those, changes that wait for longer than a delivery usually takes, and the customers whose they are. */
    lateChanges: number;
    lateCustomers: number;
    /** Since when the oldest change waits; `null` where none waits. */
    oldestMs: number | null;
  };
  setAside: { rows: number; oldestMs: number | null };
  /** Attempts that failed in a row, and why the last one did. */
  failures: number;
  lastError: string | null;
}

/** A change that D1 refused. */
export interface SetAsideChange {
  /** Ascending in a projector. */
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
  /** There are more to send again. */
  more: boolean;
}
