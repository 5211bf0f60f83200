/**
 * The service with its deliveries to D1 delayed until a given time, when every projector's alarm fires. It is only
 * bundled and run locally; no deployment has this entry point.
 *
 * Customers, their hand-overs and projectors are the service's own. Only the projectors' alarms are delayed, at no cost
 * while they fill.
 */

import type { Env } from '../../src/env.ts';
import service, { Projector as ServiceProjector } from '../../src/index.ts';

export {
  CallDirectory,
  CompressionJob,
  Customer,
  CustomerBatches,
  GatewayBatch,
  OrganizationWatch,
  PlanMigration,
  Repricing,
  WebhookEndpoint,
} from '../../src/index.ts';

/** The Worker and its objects share one isolate here. */
let heldUntilMs = 0;

export class Projector extends ServiceProjector {
  override async alarm(): Promise<void> {
    if (Date.now() < heldUntilMs) await this.ctx.storage.setAlarm(heldUntilMs);
    else await super.alarm();
  }
}

export default {
  ...service,
  /** `POST /hold/MS` holds deliveries back until that time. */
  async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
    const [, route, untilMs] = new URL(request.url).pathname.split('/');
    if (route !== 'hold') return service.fetch(request as never, env, context) as unknown as Promise<Response>;
    heldUntilMs = Number(untilMs);
    return new Response(null, { status: 204 });
  },
};
