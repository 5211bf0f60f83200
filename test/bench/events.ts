/**
 * The cost of threshold events: begins and ends whose every end reaches a threshold, against the same begins and ends
 * that reach none. The processor time includes the delivery of the events to D1.
 */
import { Connection } from './load.ts';
import { MeteredLoad } from './metered-load.ts';
import { printed } from './report.ts';
import { measureRates, RATE_COLUMNS, type Target } from './rounds.ts';
import { callsArrived, createTenantKey, operatorOf, PLAN, startAlone } from './service.ts';
import type { Suite } from './suite.ts';

/** As many as a plan may have: each end of a customer's first calls reaches one. */
const CALLS_EACH = 10;
const thresholdsPercent = Array.from({ length: CALLS_EACH }, (_, index) => ((index + 1) * 100) / CALLS_EACH);
const CROSSING = {
  ...{ name: 'Crossing', limitType: 'NONE', limits: { ...PLAN.limits, premiumCalls: CALLS_EACH } },
  alerts: { thresholdsPercent },
};
const NOT_CROSSING = { ...CROSSING, name: 'Not crossing', limits: PLAN.limits };
/** More than a run has calls for, so that no customer comes again. */
const CUSTOMERS = 50_000;
const SETTLE_POLL_MS = 250;

export const events: Suite = {
  about: 'begins and ends that reach a threshold each, against those that reach none',
  shares: true,
  rounds: 10,
  seconds: 2,
  async run(options) {
    options.progress('starting');
    const { url, pid } = await startAlone(options);
    const connection = options.scope.use(new Connection());
    const turns = Array.from({ length: CUSTOMERS * CALLS_EACH }, (_, index) => `c-${Math.floor(index / CALLS_EACH)}`);
    const createTarget = async (name: string, plan: object, floor?: string): Promise<Target> => {
      const tenant = await createTenantKey(url, plan);
      const load = new MeteredLoad(url, tenant, turns);
      const api = operatorOf(url).with(tenant.key);
      // The first calls of a server take longer than a round may.
      for (let call = 0; call < CALLS_EACH; call += 1)
        await load.endOnce(connection, await load.beginOnce(connection, { keyed: true }));
      return {
        ...{ name, pid, load: (seconds: number) => load.pairs(seconds, { keyed: true }) },
        settle: () => callsArrived(api, load.ended, SETTLE_POLL_MS),
        ...(floor !== undefined && { floor }),
      };
    };
    const none = 'no threshold is reached';
    const targets = [
      await createTarget(none, NOT_CROSSING),
      await createTarget('each end reaches a threshold', CROSSING, none),
    ];
    const rows = await measureRates(targets, options);
    return printed('Events of thresholds', [{ title: 'begin+end, 16 connections', columns: RATE_COLUMNS, rows }]);
  },
};
