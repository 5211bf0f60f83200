/**
 * Promise: a customer's events are recorded once, in the transaction in which they happen: limits, balance, denials,
 * changes of the plan and the period, charges that failed.
 */
import { describe, expect, test } from 'vitest';
import { ANSWER_RETENTION_MS } from '../../durable-objects/customer/retention.ts';
import { OrganizationEvent } from '../../src/contract/events.ts';
import { CALL_RETENTION_MS } from '../../src/domain/call.ts';
import { HOUR_MS } from '../../src/platform/time.ts';
import { createTenant } from '../support/api.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { bindings, deliverToD1, operator } from '../support/worker.ts';
import { usage } from '../unit/fixtures.ts';

const START = Date.UTC(2027, 2, 1, 12);
const PERIOD_END = '2027-04-01T12:00:00.000Z';
const PLAN = { name: 'P', limitType: 'BLOCK', limits: { standardTokens: 1_000, premiumCalls: 0 } };
const PAID = { name: 'Paid', limitType: 'BLOCK', limits: { standardCalls: 0 }, payg: { enabled: true } };
/** A dollar per input token. */
const PRICE = { available: true as const, card: rateCard({ input: '1000000000000000', output: '0' }) };

type Told = Pick<OrganizationEvent, 'type' | 'data'>;

/** The events so far, oldest first, each as the contract has it; without that of the new customer. */
function told(object: Clockwork): Told[] {
  const rows = object.query<{ event_id: string; at_ms: number; record: string }>(
    'SELECT event_id, at_ms, record FROM events ORDER BY event_id',
  );
  return rows
    .map(({ event_id: eventId, at_ms: atMs, record }) => {
      const { type, data } = JSON.parse(record);
      const timestamp = new Date(atMs).toISOString();
      expect(OrganizationEvent.parse({ eventId, type, timestamp, data })).toEqual({ eventId, type, timestamp, data });
      return { type, data };
    })
    .filter(({ type }) => type !== 'customer.created');
}

const typesOf = (object: Clockwork) => told(object).map(({ type }) => type);

/** A call that uses tokens of the standard tier. */
function use(object: Clockwork, callId: string, responseTokens: number, atMs: number): void {
  accepted(object.begin(callId, atMs));
  accepted(object.end(callId, atMs, { usage: usage({ responseTokens }) }));
}

/** A call that costs dollars. */
function spend(object: Clockwork, callId: string, inputTokens: number, atMs: number): void {
  accepted(object.begin(callId, atMs, { requested: { standard: true }, holdUsd: 0.01 }));
  accepted(object.end(callId, atMs, { usage: usage({ inputTokens }) }, PRICE));
}

describe('a limit', () => {
  test('is told of at 50, 80 and 100 percent, once each, with what is used', async () => {
    await withObject(PLAN, async (object) => {
      for (const [index, tokens] of [499, 1, 100, 199, 1, 150, 50].entries())
        use(object, `call-${index}`, tokens, START + index);
      const data = { customerId: 'clockwork', meter: 'standardTokens', limit: 1_000, periodEndsAt: PERIOD_END };
      expect(told(object)).toEqual(
        [
          { threshold: 50, crossed: [50], used: 500 },
          { threshold: 80, crossed: [80], used: 800 },
          { threshold: 100, crossed: [100], used: 1_000 },
        ].map((crossing) => ({ type: 'meter.threshold_reached', data: { ...data, ...crossing } })),
      );
    });
  });

  test('that one end crosses several times over is one event, for the highest', async () => {
    await withObject(PLAN, async (object) => {
      use(object, 'all', 1_200, START);
      expect(told(object)).toMatchObject([
        {
          type: 'meter.threshold_reached',
          data: { threshold: 100, crossed: [50, 80, 100], used: 1_200, limit: 1_000 },
        },
      ]);
    });
  });

  test('has the thresholds of the plan, none if the plan wants none, and is told of under every policy', async () => {
    const reach = (plan: object) =>
      new Promise<unknown>((resolve, reject) => {
        withObject(plan, async (object) => {
          use(object, 'a', 700, START);
          resolve(told(object).map(({ data }) => 'crossed' in data && data.crossed));
        }).catch(reject);
      });
    expect(await reach({ ...PLAN, alerts: { thresholdsPercent: [70, 10, 71] } })).toEqual([[10, 70]]);
    expect(await reach({ ...PLAN, alerts: { thresholdsPercent: [] } })).toEqual([]);
    expect(await reach({ ...PLAN, limitType: 'NONE' })).toEqual([[50]]);
    expect(await reach({ ...PLAN, limitType: 'DOWNGRADE' })).toEqual([[50]]);
    expect(await reach({ ...PLAN, limits: {} })).toEqual([]);
  });

  test('is not told of for what open calls reserve', async () => {
    await withObject({ ...PLAN, limits: { standardCalls: 2 } }, async (object) => {
      accepted(object.begin('a', START));
      accepted(object.begin('b', START));
      expect(typesOf(object)).toEqual([]);
      accepted(object.end('a', START + 1));
      expect(told(object)).toMatchObject([{ data: { meter: 'standardCalls', threshold: 50, used: 1, limit: 2 } }]);
    });
  });

  test('of a custom meter is told of, and again after a reversal made room', async () => {
    const plan = { ...PLAN, customMeters: { CUSTOM1: { included: 10 } } };
    await withObject(plan, async (object) => {
      use(object, 'opens', 0, START);
      const { eventId } = accepted(object.increment(9, START + 1));
      accepted(object.reverseMeterEvent(eventId, START + 2));
      accepted(object.increment(5, START + 3));
      expect(told(object)).toMatchObject([
        { type: 'meter.threshold_reached', data: { meter: 'customMeter1', crossed: [50, 80], used: 9, limit: 10 } },
        { type: 'meter.recovered', data: { meter: 'customMeter1', threshold: 80, used: 0, limit: 10 } },
        { type: 'meter.threshold_reached', data: { meter: 'customMeter1', crossed: [50], used: 5 } },
      ]);
    });
  });
});

describe('a meter that had reached a threshold', () => {
  const full = (object: Clockwork) => use(object, 'full', 900, START);

  test.each<[string, (object: Clockwork) => unknown, object[]]>([
    ['a new period', (object) => object.wake(Date.UTC(2027, 3, 1, 12)), [{ type: 'customer.replenished' }]],
    ['a replenishment', (object) => object.replenish(START + 1), [{ type: 'customer.replenished' }]],
    [
      'a plan that starts anew',
      (object) => object.changePlan({ ...PLAN, name: 'Q' }, 'IMMEDIATE_RESET', START + 1),
      [
        { type: 'customer.plan_changed', data: { planId: 'Q', previousPlanId: 'test' } },
        { type: 'customer.replenished' },
      ],
    ],
  ])('recovers by %s', async (_, change, before) => {
    await withObject(PLAN, async (object) => {
      full(object);
      change(object);
      const recovered = { type: 'meter.recovered', data: { meter: 'standardTokens', threshold: 80, used: 0 } };
      expect(told(object).slice(1)).toMatchObject([...before, recovered]);
    });
  });

  test('recovers by a plan with a higher limit, and by one without', async () => {
    for (const [standardTokens, limit] of [
      [2_000, 2_000],
      [null, null],
    ] as const)
      await withObject(PLAN, async (object) => {
        full(object);
        const plan = { ...PLAN, name: 'Q', limits: { standardTokens } };
        accepted(object.changePlan(plan, 'IMMEDIATE_PRORATED', START + 1));
        expect(told(object).slice(1)).toMatchObject([
          { type: 'customer.plan_changed' },
          { type: 'meter.recovered', data: { threshold: 80, used: 900, limit } },
        ]);
      });
  });

  test('reaches others by a plan with a lower limit', async () => {
    await withObject(PLAN, async (object) => {
      full(object);
      accepted(
        object.changePlan({ ...PLAN, name: 'Q', limits: { standardTokens: 900 } }, 'IMMEDIATE_PRORATED', START + 1),
      );
      expect(told(object).slice(2)).toMatchObject([
        { type: 'meter.threshold_reached', data: { threshold: 100, crossed: [100], used: 900, limit: 900 } },
      ]);
    });
  });

  test('recovers by the reversal of a call, once, and reaches it again', async () => {
    await withObject(PLAN, async (object) => {
      full(object);
      accepted(object.reverseCall('full', START + 1));
      expect(accepted(object.reverseCall('full', START + 2))).toBeDefined();
      use(object, 'again', 800, START + 3);
      expect(told(object)).toMatchObject([
        { type: 'meter.threshold_reached', data: { crossed: [50, 80] } },
        { type: 'meter.recovered', data: { threshold: 80, used: 0, limit: 1_000 } },
        { type: 'meter.threshold_reached', data: { crossed: [50, 80], used: 800 } },
      ]);
    });
  });
});

describe('a balance', () => {
  test('is told of when it falls below the amount of the plan, when it is used up, and again after a credit', async () => {
    await withObject({ ...PAID, alerts: { balanceBelowUsd: '5' } }, async (object) => {
      accepted(object.begin('opens', START, { requested: { standard: true } }));
      accepted(object.grant('USD', 10_000_000_000n, START));
      spend(object, 'a', 5, START + 1);
      expect(typesOf(object).filter((type) => type.startsWith('balance'))).toEqual([]);
      spend(object, 'b', 2, START + 2);
      await object.settle(START + 3);
      spend(object, 'c', 1, START + 4);
      spend(object, 'd', 2, START + 5);
      await object.settle(START + 6);
      accepted(object.grant('USD', 20_000_000_000n, START + 7));
      spend(object, 'e', 20, START + 8);
      const balances = told(object).filter(({ type }) => type.startsWith('balance'));
      expect(balances).toEqual([
        { type: 'balance.low', data: { customerId: 'clockwork', balanceUsd: '3', belowUsd: '5' } },
        { type: 'balance.exhausted', data: { customerId: 'clockwork', balanceUsd: '0' } },
        { type: 'balance.exhausted', data: { customerId: 'clockwork', balanceUsd: '0' } },
      ]);
    });
  });

  test('of a plan without pay-as-you-go is not told of', async () => {
    await withObject({ ...PLAN, alerts: { balanceBelowUsd: '5' } }, async (object) => {
      accepted(object.begin('opens', START));
      const { creditId } = accepted(object.grant('USD', 10_000_000_000n, START));
      accepted(object.revoke(creditId, START + 1));
      expect(typesOf(object)).toEqual([]);
    });
  });
});

describe('a denied call', () => {
  const deny = (object: Clockwork, callId: string, atMs: number, feature = 'chat') =>
    accepted(object.begin(callId, atMs, { requested: { premium: true }, feature }));

  test('is told of once for its meter and period', async () => {
    await withObject(PLAN, async (object) => {
      for (let index = 0; index < 5; index += 1) deny(object, `denied-${index}`, START + index);
      await object.restart();
      deny(object, 'after a restart', START + 10);
      expect(told(object)).toEqual([
        {
          type: 'call.denied',
          data: {
            customerId: 'clockwork',
            callId: 'denied-0',
            code: 'ALLOWANCE_EXHAUSTED',
            meter: 'premiumCalls',
            feature: 'chat',
            periodEndsAt: PERIOD_END,
          },
        },
      ]);
      accepted(object.replenish(START + 20));
      deny(object, 'next', START + 21);
      expect(told(object).slice(1)).toMatchObject([
        { type: 'customer.replenished' },
        { type: 'call.denied', data: { callId: 'next' } },
      ]);
    });
  });

  test('is told of by its code if no meter is the reason', async () => {
    await withObject(PLAN, async (object) => {
      use(object, 'opens', 0, START);
      accepted(object.setCanceled(true, START));
      deny(object, 'a', START + 1);
      deny(object, 'b', START + 2);
      expect(told(object)).toMatchObject([{ data: { callId: 'a', code: 'SUBSCRIPTION_CANCELED', meter: null } }]);
    });
  });
});

test('a new customer is told of, with its plan, once', async () => {
  await withObject(PLAN, async (object) => {
    use(object, 'a', 1, START);
    use(object, 'b', 1, START + 1);
    const rows = object.query<{ record: string }>('SELECT record FROM events');
    const data = { customerId: 'clockwork', planId: 'test', usagePlanVersionId: 'test:v1' };
    expect(rows.map(({ record }) => JSON.parse(record))).toEqual([{ type: 'customer.created', data, atMs: START }]);
  });
});

test('a charge that the billing provider refuses for good is told of, with the reason', async () => {
  await withObject(
    PAID,
    async (object) => {
      accepted(object.begin('opens', START, { requested: { standard: true } }));
      accepted(object.grant('USD', 10_000_000_000n, START));
      spend(object, 'a', 4, START + 1);
      const refuse = async () => ({ status: 'REJECTED', reason: 'no such customer' }) as const;
      await object.settle(START + 2, refuse);
      await object.settle(START + 3, refuse);
      expect(told(object).filter(({ type }) => type === 'charge.failed')).toEqual([
        {
          type: 'charge.failed',
          data: {
            customerId: 'clockwork',
            chargeId: expect.any(String),
            subject: 'call',
            subjectId: 'a',
            amountUsd: '4',
            reason: 'no such customer',
          },
        },
      ]);
    },
    { stripeCustomerId: 'cus_1' },
  );
});

test('what a lost call used before the period ended is told of in that period', async () => {
  await withObject(PLAN, async (object) => {
    use(object, 'most', 490, START);
    const end = Date.UTC(2027, 3, 1, 12);
    expect(object.beginServiceCall('lost', end - 10_000, { requested: { standard: true } }).ok).toBe(true);
    object.housekeep(end + 3_600_000);
    const types = typesOf(object);
    expect(types.filter((type) => type === 'customer.replenished')).toHaveLength(1);
  });
});

test('a transaction that fails tells nothing, and one that is made tells it with ids in its order', async () => {
  await withObject(PLAN, async (object) => {
    use(object, 'opens', 0, START);
    expect(() =>
      object.inOneTransaction(START + 1, () => {
        use(object, 'lost', 1_000, START + 1);
        throw new Error('a fault');
      }),
    ).toThrow('a fault');
    expect(typesOf(object)).toEqual([]);
    use(object, 'kept', 1_000, START + 1);
    accepted(object.changePlan({ ...PLAN, name: 'Q' }, 'IMMEDIATE_RESET', START + 1));
    expect(typesOf(object)).toEqual([
      'meter.threshold_reached',
      'customer.plan_changed',
      'customer.replenished',
      'meter.recovered',
    ]);
  });
});

test('an end that crosses nothing writes what it wrote before: no row of an event, and none in the outbox for it', async () => {
  await withObject(PLAN, async (object) => {
    use(object, 'opens', 0, START);
    const before = object.changes().length;
    use(object, 'a', 100, START + 1);
    const added = object.changes().slice(before);
    expect(added.map(({ kind }) => kind)).toEqual(['call']);
    expect(object.rows('events')).toBe(1);
  });
});

test('events stay in the object until D1 has them, and go with what else is past its retention', async () => {
  await withObject(PLAN, async (object) => {
    use(object, 'a', 1_000, START);
    object.housekeep(START + ANSWER_RETENTION_MS);
    expect(object.rows('events')).toBe(2);
    await object.deliver(bindings.DB, START + ANSWER_RETENTION_MS + 1);
    // Calls go within the hour after.
    object.housekeep(START + CALL_RETENTION_MS + HOUR_MS);
    expect(object.rows('events')).toBe(0);
  });
});

describe("the organization's own alerts", () => {
  test('hold for plans that say nothing of it, from the next begin of a customer on, and tell nothing by themselves', async () => {
    const tenant = await createTenant(operator, { ...PLAN, limits: { standardCalls: 10 } });
    const params = { org: tenant.organizationId };
    const use = async (calls: number) => {
      for (let n = 0; n < calls; n += 1) {
        const body = { customerId: 'ann', feature: crypto.randomUUID() };
        const { callId } = (await tenant.api.send('beginCall', { body })).data;
        await tenant.api.send('endCall', {
          body: { callId, modelUsed: 'gpt-4o-mini', inputTokens: 1, responseTokens: 1 },
        });
      }
    };
    const reached = async () => {
      await deliverToD1(tenant.organizationId, 'ann');
      const { items } = (await tenant.api.send('readEvents', { query: { type: 'meter.threshold_reached' } })).data;
      return items.map(({ data }) => ('crossed' in data ? data.crossed : null)).reverse();
    };
    await use(5);
    expect(await reached()).toEqual([[50]]);
    const body = { alertThresholdsPercent: [40, 70], alertBalanceBelowUsd: '3.5', alertBalanceBelowDays: 9 };
    expect((await operator.send('updateOrganization', { params, body })).data).toMatchObject(body);
    await use(1);
    expect(await reached()).toEqual([[50]]);
    await use(3);
    expect(await reached()).toEqual([[50], [70]]);
    const back = (await operator.send('updateOrganization', { params, body: { alertThresholdsPercent: null } })).data;
    expect(back).toMatchObject({ ...body, alertThresholdsPercent: [50, 80, 100] });
    await use(1);
    expect(await reached()).toEqual([[50], [70], [100]]);
  });

  test.each([
    [{ alertThresholdsPercent: [0] }, 'alertThresholdsPercent.0'],
    [{ alertThresholdsPercent: [50, 50] }, 'alertThresholdsPercent'],
    [{ alertBalanceBelowUsd: '-1' }, 'alertBalanceBelowUsd'],
    [{ alertBalanceBelowDays: 0 }, 'alertBalanceBelowDays'],
    [{ alertBalanceBelowDays: 91 }, 'alertBalanceBelowDays'],
  ])('are refused as %j', async (body, path) => {
    const { organizationId } = (await operator.send('createOrganization', { body: { name: 'Test' } })).data;
    const { refusal } = await operator.send('updateOrganization', { params: { org: organizationId }, body });
    expect([refusal.code, refusal.details]).toMatchObject(['BAD_REQUEST', [{ path }]]);
  });
});
