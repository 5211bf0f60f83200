/**
 * Operator: the model catalog, events and health of the service.
 */
import { z } from 'zod';
import { CatalogDocument, CatalogInfo, PublishedCatalog } from '../catalog.ts';
import { ListQuery, listOf, text } from '../fields.ts';
import { Database, Health, OperatorEvent } from '../operator.ts';
import { type Operation, operation, operator } from './operation.ts';

/** Enough for a catalog of 2,000 models with its transitions. */
const CATALOG_BYTES_MAX = 8 * 1024 * 1024;

export const service = {
  readCatalog: operation({
    operationId: 'readCatalog',
    summary: 'Read which model catalog is in use',
    method: 'GET',
    path: '/operator/catalog',
    security: operator,
    code: 'CATALOG_READ',
    data: CatalogInfo,
  }),
  publishCatalog: operation({
    operationId: 'publishCatalog',
    summary: 'Validate a model catalog, record its prices, and make it the current one',
    method: 'POST',
    path: '/operator/catalog',
    security: operator,
    body: CatalogDocument,
    bodyBytesMax: CATALOG_BYTES_MAX,
    code: 'CATALOG_PUBLISHED',
    data: PublishedCatalog,
  }),
  listEvents: operation({
    operationId: 'listEvents',
    summary: 'List operator events, newest first',
    method: 'GET',
    path: '/operator/events',
    security: operator,
    query: ListQuery.extend({ organizationId: text(64).optional().describe('Only of this organization') }),
    code: 'EVENTS_LISTED',
    data: listOf(OperatorEvent),
  }),
  listDatabases: operation({
    operationId: 'listDatabases',
    summary: 'List the databases that have the history of organizations, and how full they are',
    method: 'GET',
    path: '/operator/databases',
    security: operator,
    code: 'DATABASES_LISTED',
    data: z.object({ items: z.array(Database).describe('In the order of their names') }),
  }),
  readHealth: operation({
    operationId: 'readHealth',
    summary: 'Bindings, catalog, backlog, versions',
    method: 'GET',
    path: '/operator/health',
    security: operator,
    code: 'HEALTH_READ',
    data: Health,
  }),
} as const satisfies Record<string, Operation>;
