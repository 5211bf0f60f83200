/**
 * The setup of an organization, from nothing to a first priced call: by API and in the console; and the console's
 * question before it changes many customers, or shows a secret.
 */
import { beforeAll, expect, test } from 'vitest';
import { createTenant } from '../support/api.ts';
import { deliverToD1, operator } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

let visitor: Visitor;
beforeAll(async () => {
  visitor = new Visitor();
  await visitor.signIn();
});

const setupOf = async (org: string) => (await operator.send('readOrganizationSetup', { params: { org } })).data;
const doneOf = async (org: string) =>
  (await setupOf(org)).steps.filter(({ done }) => done).map(({ step }) => step as string);

async function createOrganization(name: string): Promise<string> {
  const created = await visitor.submit('/console/organizations/new', '/console/organizations', { name });
  const [, org = ''] =
    /^\/console\/organizations\/([^/]+)\/setup\?done=organization$/.exec(created.headers.get('Location') ?? '') ?? [];
  expect(org).not.toBe('');
  return org;
}

test('each step is done when its object is there, and the setup is complete with the first call that has a cost', async () => {
  const org = await createOrganization('New Ltd');
  const path = `/console/organizations/${org}`;
  expect(await doneOf(org)).toEqual([]);
  expect((await visitor.read(`${path}/setup`)).text).toContain('0 of 5 steps done. Next: Create a plan');

  await operator.send('putPlan', {
    params: { org, planId: 'free' },
    body: { name: 'Free', limitType: 'BLOCK', limits: { premiumCalls: 5 } },
  });
  expect(await doneOf(org)).toEqual(['plan']);
  await operator.send('updateOrganization', { params: { org }, body: { defaultPlanId: 'free' } });
  expect(await doneOf(org)).toEqual(['plan', 'defaultPlan']);

  const made = await visitor.submit(`${path}/keys/new`, `${path}/keys`, { name: 'Backend' });
  const key = /id="key">([^<]+)</.exec(made.html)?.[1] ?? '';
  expect(key).toMatch(/^utk-/);
  expect(made.text).toContain(`KEY='${key}'`);
  expect(made.text).toContain('curl -s "https://callmeter.test/call_begin"');
  expect(await doneOf(org)).toEqual(['plan', 'defaultPlan', 'key']);

  const api = operator.with(key);
  const { callId } = (await api.send('beginCall', { body: { customerId: 'first-customer' } })).data;
  await deliverToD1(org, 'first-customer');
  expect(await doneOf(org)).toEqual(['plan', 'defaultPlan', 'key', 'call']);
  expect((await setupOf(org)).lastCall).toEqual({ callId, status: 'IN_PROGRESS' });
  const waiting = await visitor.read(`${path}/setup`);
  expect(waiting.html).toContain('data-live=""');
  expect(waiting.text).toContain('is in progress: end it with');
  expect((await visitor.read(path)).html).toContain('id="setup"');

  await api.send('endCall', {
    body: { callId, modelUsed: 'openai/gpt-6-luna', inputTokens: 1_200, responseTokens: 350 },
  });
  await deliverToD1(org, 'first-customer');
  const { complete, steps } = await setupOf(org);
  expect([complete, steps.filter(({ done }) => !done).every(({ optional }) => optional)]).toEqual([true, true]);
  const finished = await visitor.read(`${path}/setup`);
  expect(finished.text).toContain('The setup is complete.');
  expect(finished.html).not.toMatch(/data-live=|http-equiv="refresh"/);
  expect((await visitor.read(path)).html).not.toContain('id="setup"');
});

test('a call without a known cost leaves the last step open, and a revoked key the step of the key', async () => {
  const { organizationId: org, api } = await createTenant(operator, {
    name: 'Free',
    limitType: 'BLOCK',
    limits: { premiumCalls: 5 },
  });
  const { callId } = (await api.send('beginCall', { body: { customerId: 'ada' } })).data;
  await api.send('endCall', { body: { callId, modelUsed: 'own/unknown', inputTokens: 1, responseTokens: 1 } });
  await deliverToD1(org, 'ada');
  expect(await doneOf(org)).toEqual(['plan', 'defaultPlan', 'key', 'call']);
  expect((await visitor.read(`/console/organizations/${org}/setup`)).text).toContain('ended without a known cost');
  const { items } = (await operator.send('listKeys', { params: { org } })).data;
  for (const { keyId } of items) await operator.send('revokeKey', { params: { org, keyId } });
  expect(await doneOf(org)).toEqual(['plan', 'defaultPlan', 'call']);
});

test('the setup of a missing organization is 404', async () => {
  expect((await operator.send('readOrganizationSetup', { params: { org: 'nobody' } })).status).toBe(404);
});

test('can be hidden on the overviews in one browser, and stays on its own page', async () => {
  const org = await createOrganization('Hidden Ltd');
  const path = `/console/organizations/${org}`;
  expect((await visitor.read(path)).html).toContain('id="setup"');
  const hidden = await visitor.submit(`${path}/setup`, `${path}/setup/hide`);
  const cookie = hidden.headers.get('Set-Cookie')?.split(';')[0] ?? '';
  expect(cookie).toBe(`callmeter_setup_hidden=${org}`);
  visitor = new Visitor();
  await visitor.signIn();
  const withCookie = { headers: { Cookie: `${visitor.cookie}; ${cookie}` } };
  expect((await visitor.send(path, withCookie)).html).not.toContain('id="setup"');
  expect((await visitor.send(`${path}/setup`, withCookie)).text).toContain('Show on the overview');
  expect((await visitor.read(path)).html).toContain('id="setup"');
});

test('the form of a key that is sent again much later shows the key no more', async () => {
  const org = await createOrganization('Once Ltd');
  const path = `/console/organizations/${org}/keys`;
  const values = await visitor.form(`${path}/new`, path, { name: 'Once' });
  const key = /id="key">([^<]+)</.exec((await visitor.post(path, values)).html)?.[1] ?? '';
  expect(key).toMatch(/^utk-/);
  // A double click: the browser shows the second answer.
  expect((await visitor.post(path, values)).html).toContain(key);
  await scheduler.wait(5_100);
  const again = await visitor.post(path, values);
  expect([again.status, again.html.includes(key)]).toEqual([200, false]);
  expect(again.text).toContain('The key was shown already');
  expect((await operator.send('listKeys', { params: { org } })).data.items).toHaveLength(1);
});

test('moving customers and revoking a key ask first, and say what it concerns', async () => {
  const plan = { name: 'Free', limitType: 'BLOCK' as const, limits: { premiumCalls: 5 } };
  const { organizationId: org, api } = await createTenant(operator, plan);
  for (const customerId of ['ada', 'bob']) {
    await api.send('beginCall', { body: { customerId } });
    await deliverToD1(org, customerId);
  }
  await operator.send('putPlan', { params: { org, planId: 'test' }, body: { ...plan, name: 'Freer' } });
  const path = `/console/organizations/${org}`;
  const asked = await visitor.read(`${path}/plans/test/migrate?when=NOW`);
  expect(asked.text).toContain('Move 2 customers');
  expect((await visitor.send(`${path}/plans/test/migrate?when=SOON`)).status).toBe(400);
  const moved = await visitor.submit(`${path}/plans/test/migrate?when=NOW`, `${path}/plans/test/migrate`);
  expect(moved.headers.get('Location')).toContain(`${path}/plans/test/migrations/`);

  const { keyId } = (await operator.send('listKeys', { params: { org } })).data.items[0] ?? { keyId: '' };
  expect((await visitor.read(`${path}/keys/${keyId}`)).html).not.toContain(`action="${path}/keys/${keyId}/revoke"`);
  expect((await visitor.read(`${path}/keys/${keyId}/revoke`)).text).toContain('stops working at once');
  await visitor.submit(`${path}/keys/${keyId}/revoke`, `${path}/keys/${keyId}/revoke`);
  expect((await api.send('beginCall', { body: { customerId: 'ada' } })).status).toBe(401);
});
