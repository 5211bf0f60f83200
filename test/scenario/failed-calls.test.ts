/**
 * Promise: of calls that a vendor refuses, which are free, D1 gets 60 an hour of a customer in full and the others as a count;
 * reports add up to all of them, calls that work are told as ever, and a correction of a counted call tells it after all.
 */

import { describe, expect, test } from 'vitest';
import { asCallId } from '../../src/domain/ids.ts';
import { answers, ask, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { bindings, customerStub, deliverToD1 } from '../support/worker.ts';

mockVendor();

const FULL_MAX = 60;
const refuses = () =>
  Response.json({ error: { message: 'no such parameter', type: 'invalid_request_error' } }, { status: 400 });

const tenant = await newTenant();
const { organizationId } = tenant;
const TAGS = Array.from({ length: 20 }, (_, at) => `${at}`.padEnd(200, 'x'));

async function call(customer: string, body: object = {}): Promise<string> {
  const { response, callId, rest } = await ask(tenant.key, { customer, tags: TAGS, ...body });
  await response.text();
  await rest();
  return callId;
}

async function calls(customer: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at += 10)
    ids.push(...(await Promise.all(Array.from({ length: Math.min(10, count - at) }, () => call(customer)))));
  return ids;
}

async function countRows(customer: string) {
  await deliverToD1(organizationId, customer);
  const of = async (sql: string) =>
    (await bindings.DB.prepare(sql).bind(organizationId, customer).all<{ n: number; bytes: number }>()).results[0];
  const { n: rows = 0, bytes = 0 } =
    (await of(
      'SELECT COUNT(*) AS n, SUM(LENGTH(record)) AS bytes FROM calls WHERE organization_id = ? AND customer_id = ?',
    )) ?? {};
  const { n: counted } =
    (await of('SELECT COALESCE(SUM(calls), 0) AS n FROM failed_hours WHERE organization_id = ? AND customer_id = ?')) ??
    {};
  const { n: failed } =
    (await of(
      "SELECT COALESCE(SUM(calls), 0) AS n FROM usage_hours WHERE organization_id = ? AND customer_id = ? AND outcome = 'FAILED'",
    )) ?? {};
  return { rows, bytes, counted, failed };
}

/** Failed calls of a customer, by the report. */
async function reported(customerId: string) {
  const { data } = await tenant.api.send('readUsageSummary', { query: { customerId } });
  return data.byOutcome.find(({ outcome }) => outcome === 'FAILED')?.calls;
}

describe('calls that the vendor refuses', () => {
  test('are 60 of an hour in D1 and a count, which add up; the object has each of them', async () => {
    vendor.answers = refuses;
    const startHour = Math.floor(Date.now() / 3_600_000);
    // Calls that are open when the others fail are reported.
    const ids = [...(await calls('bob', FULL_MAX)), ...(await calls('bob', 90))];
    if (Math.floor(Date.now() / 3_600_000) !== startHour) return;
    const told = await countRows('bob');
    expect(told).toMatchObject({ rows: FULL_MAX, counted: 90, failed: FULL_MAX + 90 });
    const last = ids.at(-1) ?? '';
    expect((await customerStub(organizationId, 'bob').readCall(organizationId, asCallId(last)))?.status).toBe('FAILED');
    expect((await tenant.api.send('readCall', { params: { callId: last } })).data.status).toBe('FAILED');

    // Another hundred leave nothing more.
    await calls('bob', 100);
    expect(await countRows('bob')).toEqual({ ...told, counted: 190, failed: FULL_MAX + 190 });

    // Successful calls are reported, and count.
    vendor.answers = answers;
    const worked = await call('bob');
    expect(await countRows('bob')).toMatchObject({ rows: FULL_MAX + 1, counted: 190 });
    expect(
      (await tenant.api.send('listCalls', { query: { customerId: 'bob', status: 'COMPLETED' } })).data.items,
    ).toMatchObject([{ callId: worked }]);
    expect(await reported('bob')).toBe(FULL_MAX + 190);

    // A correction tells a counted call, and the count is without it.
    const amended = await tenant.api.send('amendCall', {
      params: { callId: last },
      body: { reason: 'it ran', inputTokens: 7, responseTokens: 5, modelUsed: 'gpt-5.2', providerUsed: 'openai' },
    });
    expect(amended.status).toBe(200);
    const after = await countRows('bob');
    expect(after).toMatchObject({ rows: FULL_MAX + 2, counted: 189 });
    const reversed = await tenant.api.send('reverseCall', {
      params: { callId: ids.at(-2) ?? '' },
      body: { reason: 'none' },
    });
    expect(reversed.status).toBe(200);
    expect(await countRows('bob')).toMatchObject({ rows: FULL_MAX + 3, counted: 188 });
    const twice = await tenant.api.send('reverseCall', { params: { callId: last }, body: { reason: 'not at all' } });
    expect(twice.status).toBe(200);
    const { failed, counted } = await countRows('bob');
    expect([counted, failed]).toEqual([188, FULL_MAX + 188]);
  });

  test('at the same time are in full as many as were open when the others failed, and add up', async () => {
    vendor.answers = refuses;
    await Promise.all(Array.from({ length: 100 }, () => call('eve')));
    const { rows, counted, failed } = await countRows('eve');
    expect(rows + Number(counted)).toBe(100);
    expect(failed).toBe(100);
  });

  test('are counted for each customer', async () => {
    vendor.answers = refuses;
    await call('carl');
    expect(await countRows('carl')).toMatchObject({ rows: 1, counted: 0, failed: 1 });
  });
});
