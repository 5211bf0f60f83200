/**
 * Webhooks over HTTP, for the operator and for keys of the organization: the same use cases, which know who asks.
 */

import type { Hono } from 'hono';
import type { Answer } from '../contract/errors.ts';
import { type Operation, operations } from '../contract/operations.ts';
import type { AppContext, AppEnv } from '../middleware/context.ts';
import type { OperatorRequest } from '../operator/change.ts';
import {
  listDeliveries,
  listWebhooks,
  putWebhook,
  type Registrar,
  readWebhook,
  removeWebhook,
  replayWebhook,
  rotateWebhook,
  sendAgain,
  testWebhook,
} from '../operator/webhooks.ts';
import { headerKeyOf, type Input, mount, mountList } from './mount.ts';
import { change as operatorChange } from './operator.ts';

export function mountWebhooks(app: Hono<AppEnv>): void {
  mountOfOperator(app);
  mountOfTenant(app);
}

function mountOfOperator(app: Hono<AppEnv>): void {
  const webhookOf = ({ params }: Pick<Input<typeof operations.readWebhook>, 'params'>) => ({
    organizationId: params.org,
    webhookId: params.webhookId,
  });
  operatorChange(app, operations.putWebhook, (request, input, c) =>
    putWebhook(request, webhookOf(input), input.body, {
      by: 'operator',
      consoleOrigin: new URL(c.req.url).origin,
    }),
  );
  mountList(app, operations.listWebhooks, (c, page, { params }) => listWebhooks(c.env, params.org, page));
  mount(app, operations.readWebhook, (c, input) => readWebhook(c.env, webhookOf(input)));
  operatorChange(app, operations.deleteWebhook, (request, input) => removeWebhook(request, webhookOf(input)));
  operatorChange(app, operations.testWebhook, (request, input) => testWebhook(request, webhookOf(input)));
  operatorChange(app, operations.replayWebhook, (request, input) =>
    replayWebhook(request, webhookOf(input), input.body),
  );
  operatorChange(app, operations.rotateWebhook, (request, input) => rotateWebhook(request, webhookOf(input)));
  mountList(app, operations.listDeliveries, (c, page, input) => listDeliveries(c.env, webhookOf(input), page));
  operatorChange(app, operations.sendDelivery, (request, input) =>
    sendAgain(request, webhookOf(input), input.params.eventId),
  );
}

const TENANT: Registrar = { by: 'tenant' };

function mountOfTenant(app: Hono<AppEnv>): void {
  const organizationOf = (c: AppContext) => c.get('credential').organization.organizationId;
  const webhookOf = (c: AppContext, { params }: { params: { webhookId: string } }) => ({
    organizationId: organizationOf(c),
    webhookId: params.webhookId,
  });
  tenantChange(app, operations.putOwnWebhook, (request, input, c) =>
    putWebhook(request, webhookOf(c, input), input.body, TENANT),
  );
  mountList(app, operations.listOwnWebhooks, (c, page) => listWebhooks(c.env, organizationOf(c), page, TENANT.by));
  mount(app, operations.readOwnWebhook, (c, input) => readWebhook(c.env, webhookOf(c, input), TENANT.by));
  tenantChange(app, operations.deleteOwnWebhook, (request, input, c) => removeWebhook(request, webhookOf(c, input)));
  tenantChange(app, operations.testOwnWebhook, (request, input, c) =>
    testWebhook(request, webhookOf(c, input), TENANT.by),
  );
  tenantChange(app, operations.replayOwnWebhook, (request, input, c) =>
    replayWebhook(request, webhookOf(c, input), input.body),
  );
  tenantChange(app, operations.rotateOwnWebhook, (request, input, c) => rotateWebhook(request, webhookOf(c, input)));
  mountList(app, operations.listOwnDeliveries, (c, page, input) =>
    listDeliveries(c.env, webhookOf(c, input), page, TENANT.by),
  );
  tenantChange(app, operations.sendOwnDelivery, (request, input, c) =>
    sendAgain(request, webhookOf(c, input), input.params.eventId),
  );
}

/** A change by a key of the organization: the log names the key, and an idempotency key is the organization's own. */
function tenantChange<O extends Operation>(
  app: Hono<AppEnv>,
  operation: O,
  answer: (request: OperatorRequest, input: Input<O>, c: AppContext) => Promise<Answer<unknown>>,
): void {
  mount(app, operation, async (c, input) => {
    const { keyId, organization } = c.get('credential');
    const request: OperatorRequest = {
      env: c.env,
      actor: keyId,
      correlationId: c.get('correlationId'),
      idempotencyKey: operation.method === 'POST' ? headerKeyOf(c) : null,
      operationId: `${operation.operationId} ${organization.organizationId}`,
      input,
    };
    return answer(request, input, c);
  });
}
