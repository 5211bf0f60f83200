/**
 * Operator: the archive of closed days, and the export of history.
 */
import { ArchivedDay, ExportedRow, ExportHistoryQuery, VerifiedArchive } from '../archive.ts';
import { ListQuery, pageSchema } from '../fields.ts';
import { admin, type Operation, operation, organizationParam, viewer } from './operation.ts';

export const archive = {
  listArchive: operation({
    operationId: 'listArchive',
    summary: 'List the days that the archive has, by organization',
    method: 'GET',
    path: '/operator/archive',
    security: viewer,
    query: ListQuery,
    code: 'ARCHIVE_LISTED',
    data: pageSchema(ArchivedDay),
    refusals: ['NOT_FOUND'],
  }),
  verifyArchive: operation({
    operationId: 'verifyArchive',
    summary: 'Compare the objects of the archive with their manifests, some at a time',
    method: 'GET',
    path: '/operator/archive/verify',
    security: viewer,
    query: ListQuery.pick({ cursor: true }),
    code: 'ARCHIVE_VERIFIED',
    data: VerifiedArchive,
    refusals: ['NOT_FOUND'],
  }),
  exportHistory: operation({
    operationId: 'exportHistory',
    summary: 'Export calls, increments and ledger entries of an organization, from D1 and the archive',
    method: 'GET',
    path: '/operator/organizations/{org}/export',
    security: admin,
    params: organizationParam,
    query: ExportHistoryQuery,
    code: 'HISTORY_EXPORTED',
    data: ExportedRow,
    lines: true,
  }),
} as const satisfies Record<string, Operation>;
