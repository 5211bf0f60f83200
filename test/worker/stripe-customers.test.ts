/**
 * Promise: a customer's usage is billed only to ids at Stripe that its organization has.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, deliverToD1, operator } from '../support/worker.ts';

const PLAN = { name: 'P', limitType: 'BLOCK', limits: { standardCalls: 100 } };

let ours: Tenant;
let theirs: Tenant;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([createTenant(operator, PLAN), createTenant(operator, PLAN)]);
});

let serial = 0;
const newId = (kind: string) => {
  serial += 1;
  return `${kind}_${serial}`;
};
const provision = ({ api }: Tenant, stripeCustomerId: string, customerId = newId('customer')) =>
  api.send('provisionCustomer', { body: { customerId, stripeCustomerId } });
const begin = ({ api }: Tenant, customerId: string, stripeCustomerId?: string) =>
  api.send('beginCall', { body: { customerId, stripeCustomerId }, headers: { 'Idempotency-Key': newId('call') } });
const end = ({ api }: Tenant, callId: string, stripeCustomerId: string) =>
  api.send('endCall', { body: { callId, stripeCustomerId } });
const usage = async ({ api }: Tenant, customerId: string) =>
  (await api.send('readUsage', { params: { customerId } })).data;
const refused = { code: 'BAD_REQUEST', details: [{ path: 'stripeCustomerId' }] };

describe('the end of a call', () => {
  test("may name an id of the organization, and neither another organization's nor one that nobody has", async () => {
    const [own, foreign] = [newId('cus'), newId('cus')];
    await provision(theirs, foreign);
    const { callId } = (await begin(ours, newId('customer'))).data;
    for (const id of [foreign, newId('cus'), own]) {
      const { status, refusal } = await end(ours, callId, id);
      expect([status, refusal]).toMatchObject([400, refused]);
    }
    expect((await ours.api.send('readCall', { params: { callId } })).data.status).toBe('IN_PROGRESS');
    await provision(ours, own);
    expect((await end(ours, callId, own)).data.stripeCustomerId).toBe(own);
  });

  test('may not be amended to the id of another organization either', async () => {
    const [own, foreign] = [newId('cus'), newId('cus')];
    await Promise.all([provision(ours, own), provision(theirs, foreign)]);
    const { callId } = (await begin(ours, newId('customer'))).data;
    await end(ours, callId, own);
    const amend = (stripeCustomerId: string) =>
      ours.api.send('amendCall', { params: { callId }, body: { reason: 'wrong', stripeCustomerId } });
    expect((await amend(foreign)).refusal).toMatchObject(refused);
    expect((await amend(own)).status).toBe(200);
  });
});

describe('a provisioning', () => {
  test('with the id of another organization is refused, and leaves the customer as it was', async () => {
    const [own, foreign] = [newId('cus'), newId('cus')];
    await provision(theirs, foreign);
    expect((await provision(ours, foreign, 'never')).refusal).toMatchObject(refused);
    expect((await ours.api.send('readUsage', { params: { customerId: 'never' } })).status).toBe(404);
    await provision(ours, own, 'keeps');
    expect((await provision(ours, foreign, 'keeps')).refusal).toMatchObject(refused);
    expect((await usage(ours, 'keeps')).stripeCustomerId).toBe(own);
  });

  test('may give several customers of an organization one id', async () => {
    const shared = newId('cus');
    const both = [await provision(ours, shared), await provision(ours, shared)];
    expect(both.map(({ data }) => data.stripeCustomerId)).toEqual([shared, shared]);
  });

  test('of two organizations at the same moment gives the id to one', async () => {
    for (let n = 0; n < 10; n += 1) {
      const id = newId('cus');
      const answers = await Promise.all([provision(ours, id), provision(theirs, id)]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400]);
    }
  });

  test('by the operator is checked as well', async () => {
    const foreign = newId('cus');
    await provision(theirs, foreign);
    const params = { org: ours.organizationId };
    const body = { customerId: newId('customer'), stripeCustomerId: foreign };
    expect((await operator.send('operatorCreateCustomer', { params, body })).refusal).toMatchObject(refused);
  });

  test('of a customer who is erased leaves the id to others', async () => {
    const id = newId('cus');
    await provision(ours, id, 'erased');
    await operator.send('eraseCustomer', { params: { org: ours.organizationId, customerId: 'erased' } });
    expect((await provision(theirs, id)).status).toBe(200);
  });
});

describe('the begin of a call', () => {
  test('gives its id to a customer whom it creates, once and for all', async () => {
    const [first, second] = [newId('cus'), newId('cus')];
    const customerId = newId('customer');
    expect((await begin(ours, customerId, first)).data).toMatchObject({
      newCustomer: true,
      subscription: { stripeCustomerId: first },
    });
    expect((await begin(ours, customerId, second)).data.subscription.stripeCustomerId).toBe(first);
    expect((await provision(theirs, first)).refusal).toMatchObject(refused);
    expect((await provision(theirs, second)).status).toBe(200);
  });

  test('gives no id to a customer who exists', async () => {
    const customerId = newId('customer');
    await begin(ours, customerId);
    expect((await begin(ours, customerId, newId('cus'))).data.subscription.stripeCustomerId).toBeUndefined();
  });

  test('goes without the id of another organization', async () => {
    const foreign = newId('cus');
    await provision(theirs, foreign);
    const customerId = newId('customer');
    const headers = { 'Idempotency-Key': newId('call') };
    const body = { customerId, stripeCustomerId: foreign };
    const begun = await ours.api.send('beginCall', { body, headers });
    expect(begun.data).toMatchObject({ newCustomer: true, allowed: { standard: true } });
    expect(begun.data.subscription.stripeCustomerId).toBeUndefined();
    expect((await ours.api.send('beginCall', { body, headers })).data).toEqual(begun.data);
    const ended = await ours.api.send('endCall', { body: { callId: begun.data.callId } });
    expect(ended.data.stripeCustomerId).toBeUndefined();
  });

  test('that POST /call makes is treated alike', async () => {
    const [own, foreign] = [newId('cus'), newId('cus')];
    await provision(theirs, foreign);
    const call = async (stripeCustomerId: string) =>
      (await ours.api.send('makeCall', { body: { customerId: newId('customer'), stripeCustomerId, usage: {} } })).data;
    expect((await call(own)).end?.stripeCustomerId).toBe(own);
    expect((await call(foreign)).end?.stripeCustomerId).toBeUndefined();
  });
});

describe('an id that two organizations had before', () => {
  test('goes on for both, is listed for operators, and is released from one', async () => {
    const id = newId('cus');
    const customerId = newId('customer');
    await provision(ours, id, customerId);
    await provision(theirs, newId('cus'), customerId);
    const params = { org: theirs.organizationId, stripeCustomerId: id };
    await bindings.DB.prepare('INSERT INTO stripe_customers VALUES (?, ?, ?)')
      .bind(id, theirs.organizationId, customerId)
      .run();
    const shared = async () => (await operator.send('listSharedStripeCustomers')).data.items;
    const [listed] = await shared();
    expect(listed?.stripeCustomerId).toBe(id);
    expect(listed?.organizations).toEqual(
      [ours, theirs]
        .map(({ organizationId }) => ({ organizationId, customers: 1 }))
        .toSorted((a, b) => (a.organizationId < b.organizationId ? -1 : 1)),
    );
    expect((await provision(theirs, id, customerId)).status).toBe(200);
    const [one, other] = [await begin(theirs, customerId), await begin(theirs, customerId)];
    expect((await end(theirs, one.data.callId, id)).data.stripeCustomerId).toBe(id);

    const released = await operator.send('releaseStripeCustomer', { params });
    expect(released.data).toEqual({ stripeCustomerId: id, customers: 1, more: false });
    expect(await shared()).toEqual([]);
    expect((await usage(theirs, customerId)).stripeCustomerId).toBeUndefined();
    expect((await end(theirs, other.data.callId, id)).refusal).toMatchObject(refused);
    expect((await usage(ours, customerId)).stripeCustomerId).toBe(id);
    await deliverToD1(theirs.organizationId, customerId);
    const { items } = (await theirs.api.send('listCustomers', { query: { search: customerId } })).data;
    expect(items[0]?.stripeCustomerId).toBeNull();
    expect((await operator.send('releaseStripeCustomer', { params })).status).toBe(404);
    const [event] = (await operator.send('listEvents', { query: { organizationId: theirs.organizationId } })).data
      .items;
    expect(event).toMatchObject({ action: 'stripe_customer.release', after: { stripeCustomerId: id, customers: 1 } });
  });
});
