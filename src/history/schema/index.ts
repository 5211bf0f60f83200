/**
 * The schema of D1: the operators' configuration, and the projection of the customers' objects' records.
 *
 * Instants are integer milliseconds. Money is an integer column of nano-USD, always written and read as a decimal
 * string, because neither side of D1 carries integers above 2^53; a sum of money is two such columns (`sumOfCost`). The
 * projection tables (`customers`, `calls`, `denied_hours`, `failed_hours`, `meter_events`, `credit_entries`,
 * `organization_events`) are written only by the objects' outboxes: `revision` keeps a late row from overwriting a
 * newer one, and `erased_subscriptions` keeps rows from coming back after an erasure.
 */
export * from '../../config/schema/index.ts';
export * from './archive.ts';
export * from './calls.ts';
export * from './customers.ts';
export * from './databases.ts';
export * from './events.ts';
export * from './samples.ts';
export * from './usage.ts';
