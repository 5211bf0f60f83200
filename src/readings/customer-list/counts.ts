/**
 * How many customers a list has, and how many each question finds that is asked most.
 */
import type { ListCustomersQuery } from '../../contract/customers.ts';
import { countCustomers, countMarked } from '../../history/customers.ts';
import { filterOf, type ListScope } from './filters.ts';

/** Among as many as one page looks at: there may be more if `isAll` is false. */
export async function countListed(
  scope: ListScope,
  query: Omit<ListCustomersQuery, 'limit' | 'cursor' | 'sort'>,
  nowMs: number,
) {
  return countCustomers(scope.env, scope.organization.organizationId, await filterOf(scope, query, nowMs), nowMs);
}

/** Of the questions whose customers an index has. */
export function countByQuestion({ env, organization }: ListScope, nowMs: number) {
  return countMarked(env, organization.organizationId, nowMs);
}
