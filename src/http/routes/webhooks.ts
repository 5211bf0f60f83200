/**
 * Webhooks over HTTP for keys of the organization: the operator's use cases, which know the requester.
 */

import type { Hono } from 'hono';
import { operations } from '../../contract/operations.ts';
import {
  deleteWebhook,
  listDeliveries,
  listWebhooks,
  putWebhook,
  readWebhook,
  replayWebhook,
  rotateWebhook,
  sendDelivery,
  testWebhook,
} from '../../operator/webhooks.ts';
import type { AppEnv } from '../middleware/context.ts';
import { mountForTenant } from './use-cases.ts';

export function mountWebhooks(app: Hono<AppEnv>): void {
  mountForTenant(app, operations.putOwnWebhook, putWebhook);
  mountForTenant(app, operations.listOwnWebhooks, listWebhooks);
  mountForTenant(app, operations.readOwnWebhook, readWebhook);
  mountForTenant(app, operations.deleteOwnWebhook, deleteWebhook);
  mountForTenant(app, operations.testOwnWebhook, testWebhook);
  mountForTenant(app, operations.replayOwnWebhook, replayWebhook);
  mountForTenant(app, operations.rotateOwnWebhook, rotateWebhook);
  mountForTenant(app, operations.listOwnDeliveries, listDeliveries);
  mountForTenant(app, operations.sendOwnDelivery, sendDelivery);
}
