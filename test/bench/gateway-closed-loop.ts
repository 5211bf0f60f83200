/**
 * The maximum rate of chat completions through the gateway: 16 callers that send the next request as soon as they have
 * a response, and a vendor that responds at once. No gateway is used like this, so there is no promised figure;
 * `gateway.ts` measures the added latency with a realistic vendor.
 */
import {
  COMPLETIONS_PATH,
  CUSTOMERS,
  completionRequest,
  customerName,
  type Endpoint,
  PASS_THROUGH,
  startGateway,
} from './gateway-service.ts';
import { loadSteps } from './load.ts';
import { printed } from './report.ts';
import { measureRates, RATE_COLUMNS, type Target } from './rounds.ts';
import { settled } from './service.ts';
import type { Suite } from './suite.ts';

export const gatewayClosedLoop: Suite = {
  about: 'completions per second in a closed loop, against a Worker that passes them to the same vendor',
  shares: true,
  rounds: 5,
  seconds: 2,
  async run(options) {
    options.progress('starting');
    const { passThrough, metered, tenant } = await startGateway(options);
    const customers = Array.from({ length: CUSTOMERS }, (_, index) => customerName(index));
    const settle = () => settled(metered.url, tenant.organizationId, customers);
    const { pid } = metered;
    const targets: Target[] = [
      { name: PASS_THROUGH, pid: passThrough.pid, load: completionsLoad(passThrough, 1) },
      {
        name: `metered, ${CUSTOMERS} customers`,
        pid,
        load: completionsLoad(metered, CUSTOMERS),
        settle,
        floor: PASS_THROUGH,
      },
      { name: 'metered, one customer', pid, load: completionsLoad(metered, 1), settle, floor: PASS_THROUGH },
    ];
    const rows = await measureRates(targets, options);
    return printed('Chat completions through the gateway in a closed loop', [
      { title: 'rates, 16 connections', columns: RATE_COLUMNS, rows },
    ]);
  },
};

/** Completions of so many customers in turn, which the vendor answers at once. */
export function completionsLoad(endpoint: Endpoint, customers: number, stream = false): Target['load'] {
  // The connections share the count: in step, they would ask for the same customer at the same time.
  let serial = 0;
  const request = () => {
    serial += 1;
    return completionRequest(endpoint, { customer: serial % customers, vendorMs: 0, stream });
  };
  return (seconds) => loadSteps(endpoint.url, [{ path: COMPLETIONS_PATH, status: 200, request }], seconds);
}
