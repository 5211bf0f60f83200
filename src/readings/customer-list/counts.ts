/**
 * The number of customers of a list, and the numbers that the most common questions find.
 */
import type { ListCustomersQuery } from '../../contract/customers.ts';
import { countCustomers, countMarked } from '../../history/customers.ts';
import { buildCustomerFilter, type ListScope } from './filters.ts';

/** Counts as many customers as one page looks at: more may exist if `isAll` is false. */
export async function countListed(
  scope: ListScope,
  query: Omit<ListCustomersQuery, 'limit' | 'cursor' | 'sort'>,
  nowMs: number,
) {
  return countCustomers(
    scope.env,
    scope.organization.organizationId,
    await buildCustomerFilter(scope, query, nowMs),
    nowMs,
  );
}

/** Counts for the questions whose customers have an index. */
export function countByQuestion({ env, organization }: ListScope, nowMs: number) {
  return countMarked(env, organization.organizationId, nowMs);
}
