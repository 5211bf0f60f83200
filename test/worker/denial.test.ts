/**
 * Promise: a denied call says why, with the figures of that moment and the sums if credit would have paid: to its application,
 * in the lists of calls, in the CSV and in the console. Whatever the customer's plan has since, the reason stays.
 */

import { beforeAll, describe, expect, test } from 'vitest';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import type { DenialCode } from '../../src/domain/denial.ts';
import { asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import { sendCommand } from '../../src/objects/command-text.ts';
import type { BeginCommand } from '../../src/objects/customer-commands.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { storeRecordsAsText } from '../support/call-records.ts';
import { bindings, customerStub, deliverToD1, operator, worker } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

const FREE = {
  name: 'Free',
  limitType: 'BLOCK',
  limits: { premiumCalls: 0, standardCalls: 2 },
  features: { search: false },
};
const CREDIT = {
  name: 'Credit',
  limitType: 'BLOCK',
  limits: { premiumCalls: 0, standardCalls: 0 },
  payg: { enabled: true },
};

const visitor = new Visitor();
let tenant: Tenant;
let org: string;
/** The denied call of each reason. */
const denied = new Map<DenialCode, { callId: string; customerId: string }>();
/** The answer to its begin. */
const told = new Map<DenialCode, object>();

const list = async (query: Record<string, string> = {}) => (await tenant.api.send('listCalls', { query })).data.items;
const begin = async (customerId: string, more: object = {}) =>
  (await tenant.api.send('beginCall', { body: { customerId, idempotencyKey: crypto.randomUUID(), ...more } })).data;

async function deny(customerId: string, more: object = {}): Promise<void> {
  const { callId, denial } = await begin(customerId, more);
  if (denial) told.set(denial.code, denial);
  if (denial) denied.set(denial.code, { callId, customerId });
}

beforeAll(async () => {
  await visitor.signIn();
  tenant = await createTenant(operator, FREE);
  org = tenant.organizationId;
  expect((await operator.send('putPlan', { params: { org, planId: 'credit' }, body: CREDIT })).status).toBe(200);
  const onCredit = async (customerId: string, amountUsd?: string) => {
    await tenant.api.send('provisionCustomer', { body: { customerId } });
    await tenant.api.send('changePlan', { params: { customerId }, body: { planId: 'credit' } });
    const params = { org, customerId };
    if (amountUsd) await operator.send('grantCredit', { params, body: { kind: 'USD', amountUsd } });
  };
  for (let call = 0; call < 2; call += 1) await begin('used-up');
  await deny('used-up');
  await deny('no-search', { requested: { search: true } });
  await tenant.api.send('provisionCustomer', { body: { customerId: 'gone' } });
  await operator.send('cancelCustomer', { params: { org, customerId: 'gone' } });
  await deny('gone');
  await onCredit('broke');
  await deny('broke', { requested: { premium: true } });
  await onCredit('busy', '5');
  await begin('busy', { holdUsd: 4 });
  await deny('busy', { holdUsd: 3 });
  // The service itself asks for the tiers of the models that it runs: no request leads to it.
  await tenant.api.send('provisionCustomer', { body: { customerId: 'other-tier' } });
  const command: BeginCommand = {
    organizationId: asOrganizationId(org),
    customerId: asCustomerId('other-tier'),
    defaultPlan: null,
    contact: {},
    alerts: null,
    key: { source: 'request', requestId: crypto.randomUUID() },
    fingerprint: '',
    request: { requested: { standard: true }, runsOn: ['premium'], pricingMode: 'standard' },
    tierHints: {},
    callType: 'API',
  };
  const begun = await customerStub(org, 'other-tier').begin(sendCommand<BeginCommand>(command));
  if (!begun.ok) throw new Error('the begin was refused');
  const { callId, denial } = (JSON.parse(begun.text) as { data: { callId: string; denial: object } }).data;
  told.set('TIER_NOT_REQUESTED', denial);
  denied.set('TIER_NOT_REQUESTED', { callId, customerId: 'other-tier' });
  expect([...denied.keys()].sort()).toEqual(Object.keys(EXPECTED).sort());
  for (const { customerId } of denied.values()) await deliverToD1(org, customerId);
});

const EXPECTED: Record<DenialCode, { figures: object; sentence: string }> = {
  ALLOWANCE_EXHAUSTED: {
    figures: { meter: 'standardCalls', limit: 2, used: 2, openCalls: 2, resetsAt: expect.stringMatching(/^20\d\d-/) },
    sentence: 'Asked for standard. Denied: 2 of the 2 standard calls of Free were used.',
  },
  CAPABILITY_NOT_IN_PLAN: {
    figures: { meter: null, limit: null, used: null },
    sentence: 'Asked for search. Denied: Free does not include search.',
  },
  SUBSCRIPTION_CANCELED: {
    figures: { meter: null, limit: null, used: null },
    sentence: 'Asked for standard. Denied: the subscription was canceled.',
  },
  CREDIT_REQUIRED: {
    figures: {
      ...{ meter: 'premiumCalls', limit: 0, used: 0, openCalls: 0, resetsAt: null },
      ...{ neededUsd: 0.01, availableUsd: 0, heldUsd: 0, maxTokensThatPass: null },
    },
    sentence:
      'Asked for premium. Denied: Credit includes 0 premium calls, and the balance did not cover the call. The call needed $0.01, and $0.00 was available.',
  },
  BALANCE_HELD: {
    figures: {
      ...{ meter: 'standardCalls', limit: 0, used: 0, openCalls: 1, resetsAt: null },
      ...{ neededUsd: 3, availableUsd: 1, heldUsd: 4, maxTokensThatPass: null },
    },
    sentence:
      'Asked for standard. Denied: Credit includes 0 standard calls, and open calls and batches held the balance that the call needed. The call needed $3.00, and $1.00 was available; 1 open call held $4.00.',
  },
  TIER_NOT_REQUESTED: {
    figures: { meter: null, limit: null, used: null },
    sentence: 'Asked for standard. Denied: the model is of a tier that was not asked for.',
  },
};

describe.each(Object.entries(EXPECTED) as [DenialCode, (typeof EXPECTED)[DenialCode]][])(
  '%s',
  (code, { figures, sentence }) => {
    test('stands in the call, in the list and in the filter', async () => {
      const { callId = '', customerId } = denied.get(code) ?? {};
      const { data } = await tenant.api.send('readCall', { params: { callId } });
      expect(data).toMatchObject({ status: 'NOT_ALLOWED', denial: { code, ...figures } });
      expect((await list({ reason: code })).map((item) => [item.callId, item.denial])).toEqual([
        [callId, { code, ...figures }],
      ]);
      expect((await list({ reason: code, customerId: customerId ?? '' })).map((item) => item.callId)).toEqual([callId]);
    });

    test('is answered with the same figures', () => {
      const { message: _message, ...answered } = { message: '', ...told.get(code) };
      const none = Object.entries(figures).filter(([name]) => !(name in answered));
      expect(none.filter(([, value]) => value !== null)).toEqual([]);
      expect({ ...Object.fromEntries(none), ...answered }).toEqual({ code, ...figures });
    });

    test('is a sentence on the page of the call, which says nothing of a price or an allowance that paid', async () => {
      const { text } = await visitor.read(`/console/organizations/${org}/calls/${denied.get(code)?.callId}`);
      expect(text).toContain(sentence);
      expect(text).not.toMatch(/no known price|allowance, without|Cost breakdown/);
    });
  },
);

test('the reason stays when the plan changes, and once D1 alone has the call', async () => {
  const { callId = '', customerId = '' } = denied.get('ALLOWANCE_EXHAUSTED') ?? {};
  await tenant.api.send('changePlan', { params: { customerId }, body: { planId: 'credit' } });
  const { denial } = (await tenant.api.send('readCall', { params: { callId } })).data;
  expect(denial).toEqual({
    code: 'ALLOWANCE_EXHAUSTED',
    requested: ['standard'],
    capability: null,
    meter: 'standardCalls',
    limit: 2,
    used: 2,
    openCalls: 2,
    resetsAt: expect.any(String),
    usagePlanVersionId: 'test:v1',
  });
});

test('the sums are told as a sentence too, if there are any', () => {
  const messageOf = (code: DenialCode) => (told.get(code) as { message?: string }).message;
  expect(messageOf('BALANCE_HELD')).toBe('The call needs $3.00, and $1.00 is available; 1 open call holds $4.00.');
  expect(messageOf('CREDIT_REQUIRED')).toBe('The call needs $0.01, and $0.00 is available.');
  expect(messageOf('ALLOWANCE_EXHAUSTED')).toMatch(
    /^standardCalls: 2 of 2 are used, with what 2 open calls reserve; they renew on \d{4}-\d\d-\d\d at \d\d:\d\d UTC\.$/,
  );
  expect(messageOf('CAPABILITY_NOT_IN_PLAN')).toBeUndefined();
  expect(messageOf('SUBSCRIPTION_CANCELED')).toBeUndefined();
});

test('a denial of before the sums were kept is read without them', async () => {
  const { callId = '' } = denied.get('BALANCE_HELD') ?? {};
  await storeRecordsAsText(bindings.DB, 'call_id = ?', callId);
  await bindings.DB.prepare(
    `INSERT INTO calls (organization_id, call_id, customer_id, status, started_at_ms, finished_at_ms, usage_plan_version_id, pricing_mode,
       usage_provider, denial_code, record, revision, delivery)
     SELECT organization_id, 'older', 'older', status, started_at_ms, finished_at_ms, usage_plan_version_id, pricing_mode, usage_provider,
       denial_code, json_remove(json_set(record, '$.callId', 'older'), '$.denial.money', '$.denial.open', '$.denial.resetsAtMs'), 1, 0
     FROM calls WHERE call_id = ?`,
  )
    .bind(callId)
    .run();
  expect((await list({ customerId: 'older' })).map(({ denial }) => denial)).toEqual([
    { code: 'BALANCE_HELD', meter: 'standardCalls', limit: 0, used: 0 },
  ]);
});

test('calls that were not denied, and those of before the reason was kept, have none', async () => {
  expect((await list({ status: 'IN_PROGRESS' })).map(({ denial }) => denial)).toContain(null);
  const { callId = '' } = denied.get('SUBSCRIPTION_CANCELED') ?? {};
  await storeRecordsAsText(bindings.DB, 'call_id = ?', callId);
  await bindings.DB.prepare(
    `INSERT INTO calls (organization_id, call_id, customer_id, status, started_at_ms, finished_at_ms, usage_plan_version_id, pricing_mode,
       usage_provider, record, revision, delivery)
     SELECT organization_id, 'before', 'before', status, started_at_ms, finished_at_ms, usage_plan_version_id, pricing_mode, usage_provider,
       json_remove(json_set(record, '$.callId', 'before'), '$.denial'), 1, 0 FROM calls WHERE call_id = ?`,
  )
    .bind(callId)
    .run();
  expect((await list({ customerId: 'before' })).map(({ status, denial }) => [status, denial])).toEqual([
    ['NOT_ALLOWED', null],
  ]);
});

test('the CSV has the reason and its figures in columns of their own', async () => {
  const { key } = (await operator.send('createKey', { params: { org }, body: { name: 'csv' } })).data;
  const response = await worker.fetch('https://callmeter.test/calls?reason=ALLOWANCE_EXHAUSTED', {
    headers: { Authorization: `Bearer ${key}`, Accept: `text/csv, ${MEDIA_TYPE};q=0.5` },
  });
  const [titles = '', line = ''] = (await response.text()).split('\r\n');
  expect(titles).toMatch(/,denialCode,denialMeter,denialLimit,denialUsed,chargeBasis$/);
  expect(line).toMatch(/,ALLOWANCE_EXHAUSTED,standardCalls,2,2,$/);
});

test('a call for two tiers is denied for the one that is used up, with what else blocks it, wherever its reason is told', async () => {
  const limits = { premiumCalls: 0, standardCalls: 20, standardTokens: 20 };
  await operator.send('putPlan', {
    params: { org, planId: 'both' },
    body: { name: 'Both', limitType: 'BLOCK', limits },
  });
  const customerId = 'both-tiers';
  await tenant.api.send('provisionCustomer', { body: { customerId } });
  await tenant.api.send('changePlan', { params: { customerId }, body: { planId: 'both' } });
  for (let call = 0; call < 20; call += 1) {
    const { callId } = await begin(customerId);
    await tenant.api.send('endCall', { body: { callId, modelUsed: 'gpt-4o-mini', responseTokens: 1 } });
  }
  const { callId, denial } = await begin(customerId, { requested: { standard: true, premium: true } });
  const [at, day, time] = /^(.{10})T(.{5})/.exec(denial?.resetsAt ?? '') ?? [];
  const also = [{ meter: 'standardTokens', limit: 20, used: 20, resetsAt: denial?.resetsAt }];
  const figures = { code: 'ALLOWANCE_EXHAUSTED', meter: 'standardCalls', limit: 20, used: 20, also, openCalls: 0 };
  expect(at).toBeDefined();
  expect(denial).toMatchObject({
    ...figures,
    message: ['standardCalls', 'standardTokens']
      .map((meter) => `${meter}: 20 of 20 are used; they renew on ${day} at ${time} UTC.`)
      .join(' '),
  });
  expect((await tenant.api.send('readCall', { params: { callId } })).data.denial).toMatchObject(figures);
  await deliverToD1(org, customerId);
  expect((await list({ customerId, status: 'NOT_ALLOWED' })).map((item) => item.denial)).toMatchObject([figures]);
  const events = (await tenant.api.send('readEvents', { query: { customerId, type: 'call.denied' } })).data.items;
  expect(events.map(({ data }) => data)).toMatchObject([{ code: figures.code, meter: 'standardCalls', also }]);
  const { text } = await visitor.read(`/console/organizations/${org}/calls/${callId}`);
  expect(text).toContain(
    'Denied: 20 of the 20 standard calls of Both were used. Besides, 20 of the 20 standard tokens of Both were used.',
  );
});
