/**
 * The results of the search, on the command line.
 */
import type { Data } from './operator-client.ts';
import { show, table } from './table.ts';

export function showFound({ items, searched: { organizations, isMore } }: Data<'searchEverything'>): string {
  const found = table(items, {
    Kind: ({ kind }) => kind,
    Id: ({ id }) => id,
    Name: ({ name }) => name,
    Detail: ({ detail, state }) => [detail, state].filter((text) => text !== null).join(', ') || null,
    Organization: ({ organizationName, organizationId }) => organizationName ?? organizationId,
  });
  return isMore ? `${found}\n\nSearched: the first ${show(organizations)} organizations.` : found;
}
