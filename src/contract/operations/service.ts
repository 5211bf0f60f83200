/**
 * Operator: the model catalog with reviews, events, health, items that need attention, and the search over everything.
 */
import { z } from 'zod';
import { Attention, AttentionQuery } from '../attention.ts';
import { CatalogDocument, CatalogInfo, PublishedCatalog } from '../catalog.ts';
import { ListQuery, pageSchema } from '../fields.ts';
import { HealthHistory } from '../health-history.ts';
import { Database, EventLogFilter, Health, OperatorEvent } from '../operator.ts';
import { CatalogReview, DeletedReview, reviewedModelKey, SetReviewRequest } from '../reviews.ts';
import { ENDS_AFTER_START, endsAfterStart } from '../samples.ts';
import { SearchData, SearchQuery } from '../search.ts';
import { admin, type Operation, operation, viewer } from './operation.ts';

/** Enough for a catalog of 2,000 models with its transitions. */
const CATALOG_BYTES_MAX = 8 * 1024 * 1024;

const reviewParam = z.object({ modelKey: reviewedModelKey });

export const service = {
  readCatalog: operation({
    operationId: 'readCatalog',
    summary: 'Read the model catalog in use',
    method: 'GET',
    path: '/operator/catalog',
    security: viewer,
    code: 'CATALOG_READ',
    data: CatalogInfo,
  }),
  publishCatalog: operation({
    operationId: 'publishCatalog',
    summary: 'Validate a model catalog, record its prices, and make it the current one',
    method: 'POST',
    path: '/operator/catalog',
    security: admin,
    body: CatalogDocument,
    bodyBytesMax: CATALOG_BYTES_MAX,
    code: 'CATALOG_PUBLISHED',
    data: PublishedCatalog,
    refusals: ['CONFLICT'],
  }),
  listReviews: operation({
    operationId: 'listReviews',
    summary: 'List the replacements of models that operators reviewed',
    method: 'GET',
    path: '/operator/catalog/reviews',
    security: viewer,
    query: ListQuery,
    code: 'REVIEWS_LISTED',
    data: pageSchema(CatalogReview),
  }),
  readReview: operation({
    operationId: 'readReview',
    summary: 'Read the reviewed replacement of a model',
    method: 'GET',
    path: '/operator/catalog/reviews/{modelKey}',
    security: viewer,
    params: reviewParam,
    code: 'REVIEW_READ',
    data: CatalogReview,
    refusals: ['NOT_FOUND'],
  }),
  putReview: operation({
    operationId: 'putReview',
    summary: 'Review a replacement of a model; the public lookup recommends it before computed ones',
    method: 'PUT',
    path: '/operator/catalog/reviews/{modelKey}',
    security: admin,
    params: reviewParam,
    body: SetReviewRequest,
    code: 'REVIEW_SAVED',
    data: CatalogReview,
    refusals: ['NOT_FOUND', 'CONFLICT'],
  }),
  deleteReview: operation({
    operationId: 'deleteReview',
    summary: 'Delete the review of a model',
    method: 'DELETE',
    path: '/operator/catalog/reviews/{modelKey}',
    security: admin,
    params: reviewParam,
    code: 'REVIEW_DELETED',
    data: DeletedReview,
    refusals: ['NOT_FOUND'],
  }),
  listEvents: operation({
    operationId: 'listEvents',
    summary: 'List the event log, newest first',
    method: 'GET',
    path: '/operator/events',
    security: viewer,
    query: ListQuery.extend(EventLogFilter.shape).refine(endsAfterStart, ENDS_AFTER_START),
    code: 'EVENTS_LISTED',
    data: pageSchema(OperatorEvent),
  }),
  listDatabases: operation({
    operationId: 'listDatabases',
    summary: 'List the databases with the history of organizations, and how full they are',
    method: 'GET',
    path: '/operator/databases',
    security: viewer,
    code: 'DATABASES_LISTED',
    data: z.object({ items: z.array(Database).describe('In the order of their names') }),
  }),
  readAttention: operation({
    operationId: 'readAttention',
    summary: 'Read what needs attention: a count of each kind, and the path that lists it',
    method: 'GET',
    path: '/operator/attention',
    security: viewer,
    query: AttentionQuery,
    code: 'ATTENTION_READ',
    data: Attention,
    refusals: ['NOT_FOUND'],
  }),
  searchEverything: operation({
    operationId: 'searchEverything',
    summary:
      'Search customers, calls, plans, keys, models and organizations; a few of each kind, the best matches first',
    method: 'GET',
    path: '/operator/search',
    security: viewer,
    query: SearchQuery,
    code: 'SEARCH_DONE',
    data: SearchData,
    refusals: ['NOT_FOUND'],
  }),
  readHealth: operation({
    operationId: 'readHealth',
    summary: 'Bindings, catalog, backlog, versions',
    method: 'GET',
    path: '/operator/health',
    security: viewer,
    code: 'HEALTH_READ',
    data: Health,
  }),
  readHealthHistory: operation({
    operationId: 'readHealthHistory',
    summary: 'The last 24 hours: calls, denials, requests and their latency, deliveries, cron',
    method: 'GET',
    path: '/operator/health/history',
    security: viewer,
    code: 'HEALTH_HISTORY_READ',
    data: HealthHistory,
  }),
} as const satisfies Record<string, Operation>;
