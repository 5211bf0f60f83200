/**
 * The service with its deliveries to D1 delayed until a given time, when every customer's alarm fires. It is only
 * bundled and run locally; no deployment has this entry point.
 *
 * Commands, storage and outbox are the service's own. Only the alarm is delayed, at no cost while the outboxes fill.
 */

import type { Env } from '../../src/env.ts';
import service, { Customer as ServiceCustomer } from '../../src/index.ts';

export {
  CallDirectory,
  CompressionJob,
  CustomerBatches,
  GatewayBatch,
  PlanMigration,
  Projector,
} from '../../src/index.ts';

/** The Worker and its objects share one isolate here. */
let heldUntilMs = 0;

export class Customer extends ServiceCustomer {
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
