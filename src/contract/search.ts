/**
 * The operator's search over everything: customers, calls, plans, keys, models, organizations.
 */
import { z } from 'zod';
import type { OrganizationId } from '../domain/ids.ts';
import { branded, text } from './fields.ts';

/** The most characters of a searched text. */
export const SEARCH_LENGTH_MAX = 200;
/** The most results of a kind. */
export const FOUND_MAX = 6;
/** The most organizations that are searched if none is named. */
export const SEARCHED_ORGANIZATIONS_MAX = 10;

export const FOUND_KINDS = ['CUSTOMER', 'CALL', 'PLAN', 'KEY', 'MODEL', 'ORGANIZATION'] as const;
export type FoundKind = (typeof FOUND_KINDS)[number];

/** The way in which a name matches: as a whole, by its beginning, or by a part. The results have this order. */
export const MATCHES = ['WHOLE', 'BEGINNING', 'PART'] as const;

export const SearchQuery = z.object({
  q: text(SEARCH_LENGTH_MAX).describe('Any part of an id, a name or an e-mail address; of a call, its whole id'),
  organizationId: branded<OrganizationId>(z.uuid('must be a UUID').toLowerCase())
    .optional()
    .describe(
      `Only things of this organization; default the first ${SEARCHED_ORGANIZATIONS_MAX}. Models of the catalog, and organizations by their names, are found with either`,
    ),
});

export const FoundItem = z.object({
  kind: z.enum(FOUND_KINDS).describe('What it is'),
  id: z.string().describe('Its id: of a model its key, or its name in the mappings of the organization'),
  name: z.string().nullable().describe('Its display name; null if it has none'),
  detail: z
    .string()
    .nullable()
    .describe(
      "Distinction from others of its name: a customer's e-mail address, the beginning and the end of a key, `own price`, `in a mapping` or `alias` of an organization's model; else null",
    ),
  state: z.enum(['ARCHIVED', 'REVOKED']).nullable().describe('An archived plan, a revoked key; else null'),
  organizationId: branded<OrganizationId>(z.string())
    .nullable()
    .describe('Organization that has it; null for a model of the catalog'),
  organizationName: z.string().nullable().describe('Its display name'),
  match: z.enum(MATCHES).describe('How its id, its name or its detail matches'),
});

export type FoundItem = z.infer<typeof FoundItem>;

export const SearchData = z.object({
  items: z
    .array(FoundItem)
    .describe(`At most ${FOUND_MAX} of each kind, the best matches first; the kind of the best match is first`),
  searched: z
    .object({
      organizations: z.number().int().describe('Organizations whose things were searched'),
      isMore: z.boolean().describe(`There are more: only the first ${SEARCHED_ORGANIZATIONS_MAX} were searched`),
    })
    .describe('What the search covers'),
});

export type SearchData = z.infer<typeof SearchData>;
