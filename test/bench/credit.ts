/**
 * The cost of payment by credit: completions of customers whose balance pays, with holds, charges, ledger and
 * settlement, against the same completions of customers whose allowance pays.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { planOnCredit } from '../support/credit-plans.ts';
import { completionsLoad } from './gateway-closed-loop.ts';
import { CUSTOMERS, customerName, type Endpoint, startGateway } from './gateway-service.ts';
import { printed } from './report.ts';
import { measureRates, RATE_COLUMNS, type Target } from './rounds.ts';
import { createTenantKey, operatorOf, settled } from './service.ts';
import type { Suite } from './suite.ts';

/** Credit pays from the first call on. */
const ON_CREDIT = planOnCredit({ markupPercent: 20 });
const ALLOWANCE = 'an allowance pays';
const CHARGES_POLL_MS = 100;
const CHARGES_POLLS_MAX = 600;

export const credit: Suite = {
  about: 'completions that credit pays for, against those that an allowance pays for, in a closed loop',
  shares: true,
  rounds: 5,
  seconds: 2,
  async run(options) {
    options.progress('starting');
    const { metered, vendorUrl, tenant } = await startGateway(options);
    const operator = operatorOf(metered.url);
    const onCredit = await createTenantKey(metered.url, ON_CREDIT);
    const org = onCredit.organizationId;
    const body = { apiKey: 'sk-bench', baseUrl: `${vendorUrl}/v1` };
    await operator.send('setVendor', { params: { org, provider: 'openai' }, body });
    const customers = Array.from({ length: CUSTOMERS }, (_, index) => customerName(index));
    const application = operator.with(onCredit.key);
    for (const customerId of customers) {
      await application.send('provisionCustomer', { body: { customerId } });
      const granted = { kind: 'USD', amountUsd: '100000' };
      await operator.send('grantCredit', { params: { org, customerId }, body: granted });
    }
    const paying: Endpoint = { ...metered, headers: { ...metered.headers, Authorization: `Bearer ${onCredit.key}` } };
    /** The settlement of charges is part of the cost of credit. */
    const chargesSettled = async () => {
      await settled(metered.url, org, customers);
      for (const customerId of customers) {
        for (let poll = 0; ; poll += 1) {
          const { data } = await operator.send('readCustomer', { params: { org, customerId } });
          if (data.wallet.openCharges === 0 && data.outbox.pending === 0) break;
          if (poll === CHARGES_POLLS_MAX) throw new Error(`${customerId} still has charges that are not settled`);
          await sleep(CHARGES_POLL_MS);
        }
      }
    };
    const { pid } = metered;
    const targets: Target[] = [false, true].flatMap((stream) => {
      const kind = stream ? 'streams' : 'completions';
      const floor = `${kind}: ${ALLOWANCE}`;
      const settle = () => settled(metered.url, tenant.organizationId, customers);
      return [
        { name: floor, pid, load: completionsLoad(metered, CUSTOMERS, stream), settle },
        {
          name: `${kind}: credit pays`,
          pid,
          load: completionsLoad(paying, CUSTOMERS, stream),
          settle: chargesSettled,
          floor,
          promised: { atLeast: 1 / 1.1 },
        },
      ];
    });
    const rows = await measureRates(targets, options);
    return printed('Completions on credit against completions on an allowance', [
      { title: 'rates, 16 connections', columns: RATE_COLUMNS, rows },
    ]);
  },
};
