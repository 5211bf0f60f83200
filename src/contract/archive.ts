/**
 * The archive in the operator API: its days, whether they are unchanged since they were written, and the export of
 * history from D1 and the archive.
 */

import { z } from 'zod';
import type { CustomerId, OrganizationId } from '../domain/ids.ts';
import { branded, instant } from './fields.ts';

const day = z.string().describe('The UTC day, for example `2026-11-23`');
const organizationId = branded<OrganizationId>(z.string()).describe('Organization id');

export const ArchivedDay = z.object({
  organizationId,
  day,
  rows: z.number().int().describe('Calls, increments of custom meters and entries of the ledger in it'),
  archivedAt: instant.describe('When it was last written'),
});

export type ArchivedDay = z.infer<typeof ArchivedDay>;

/** The most days that one request verifies; each takes some reads. */
export const VERIFIED_DAYS_MAX = 50;

export const ARCHIVE_PROBLEMS = ['DAMAGED', 'MISSING', 'NO_MANIFEST'] as const;

export const VerifiedArchive = z.object({
  days: z.number().int().describe('Days that this page has finished'),
  rows: z.number().int().describe('Rows that it has counted'),
  bytes: z.number().int().describe('Bytes that it has read'),
  problems: z
    .array(
      z.object({
        object: z.string().describe('Name of the object in the bucket'),
        problem: z
          .enum(ARCHIVE_PROBLEMS)
          .describe('Its bytes or rows are not those of the manifest, it is gone, or no manifest names it'),
        detail: z.string().describe('What was found'),
      }),
    )
    .describe('Objects that are not as they were written'),
  at: day.nullable().describe('The last day that this page verified; null if there was nothing to verify'),
  nextCursor: z.string().nullable().describe('Cursor of the next page; null if all is verified'),
});

export type VerifiedArchive = z.infer<typeof VerifiedArchive>;

/** The most days of one export, so that an answer ends. */
const EXPORT_DAYS_MAX = 366;
const EXPORT_FORMATS = ['ndjson', 'focus'] as const;

const date = z.iso.date();

export const ExportHistoryQuery = z
  .object({
    format: z
      .enum(EXPORT_FORMATS)
      .default('ndjson')
      .describe('`ndjson`: a line of JSON for each row; `focus`: CSV with the columns of FOCUS 1.3'),
    from: date.describe('First UTC day'),
    to: date.describe('Day after the last one'),
  })
  .refine(({ from, to }) => from < to, { path: ['to'], error: 'must be after `from`' })
  .refine(({ from, to }) => Date.parse(to) - Date.parse(from) <= EXPORT_DAYS_MAX * 86_400_000, {
    path: ['to'],
    error: `must be at most ${EXPORT_DAYS_MAX} days after \`from\``,
  });

export type ExportHistoryQuery = z.infer<typeof ExportHistoryQuery>;

export const ExportedRow = z.object({
  kind: z.enum(['call', 'meter_event', 'credit_entry']).describe('What the row is'),
  id: z.string().describe('Its id: the call, the event, or the number of the entry and the customer'),
  customerId: branded<CustomerId>(z.string()).describe('The customer'),
  atMs: z.number().int().describe('When the call began, the increment or the entry was made, in milliseconds'),
  revision: z.number().int().describe('Number that grows with each change of the row'),
  record: z.record(z.string(), z.unknown()).describe('Every fact that was recorded'),
});
