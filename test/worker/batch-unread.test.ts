/**
 * Promise: a line of a batch that ran is never free: if its answer cannot be read, it counts by its hold, and if it
 * does not report its usage, that is estimated, which the record says. A line that did not run counts nothing.
 */
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { expect, test, vi } from 'vitest';
import type { Call } from '../../src/domain/call.ts';
import type { Tenant } from '../support/api.ts';
import { accountOf, ask, completion, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';

mockVendor();

const DAY = 24 * 3_600_000;
/** 1,000 tokens of GPT-5.2's output, in a batch. */
const OUTPUT_NANO_USD = 7_000_000;
const PAYG = { name: 'P', limitType: 'BLOCK', limits: { premiumCalls: 2 }, payg: { enabled: true, markupPercent: 0 } };

interface AtVendor {
  status: string;
  output_file_id?: string;
  error_file_id?: string;
  request_counts?: { total: number; completed: number; failed: number };
  /** The vendor's answers for its files; a status for a file that is gone. */
  files?: Record<string, string | number>;
}

/** A batch of lines with 1,000 tokens of output each at most, which has become `atVendor` when it is looked at. */
async function createBatch(plan: object, lines: number, atVendor: AtVendor, credit = '1') {
  const tenant = await newTenant(plan);
  const params = { org: tenant.organizationId, customerId: 'default' };
  await tenant.api.send('provisionCustomer', { body: { customerId: 'default' } });
  await operator.send('grantCredit', { params, body: { kind: 'USD', amountUsd: credit } });
  const line = { url: '/v1/chat/completions', body: { model: 'gpt-5.2', max_tokens: 1_000 } };
  let name = '';
  const { files = {}, ...document } = atVendor;
  vendor.answers = (url, { metadata }) => {
    if (url.endsWith('/files/file_in/content')) return new Response(`${JSON.stringify(line)}\n`.repeat(lines));
    if (metadata) {
      name = (metadata as { service_request_id: string }).service_request_id;
      return Response.json({ id: 'batch_1', metadata, status: 'validating' });
    }
    const file = files[/files\/(\w+)\/content$/.exec(url)?.[1] ?? ''];
    if (typeof file === 'number') return Response.json({ error: { message: 'no such file' } }, { status: file });
    return file === undefined ? Response.json({ id: 'batch_1', ...document }) : new Response(file);
  };
  const body = { input_file_id: 'file_in', endpoint: '/v1/chat/completions' };
  expect((await ask(tenant.key, body, bindings, '/v1/batches')).response.status).toBe(200);
  const look = () => runDurableObjectAlarm(bindings.GATEWAY_BATCHES.getByName(`${tenant.organizationId}:${name}`));
  /** Looks again after an hour, when missing answers count as gone. */
  const lookAgain = async () => {
    await look();
    expect((await accountOf(tenant)).consumed.premiumCalls ?? 0).toBe(0);
    const later = Date.now() + 61 * 60_000;
    vi.spyOn(Date, 'now').mockImplementation(() => later);
    await look();
  };
  return { tenant, look, lookAgain };
}

/** The customer's calls, as the object has them. */
const callsOf = ({ organizationId }: Tenant) =>
  runInDurableObject(customerStub(organizationId, 'default'), (_, { storage }) =>
    storage.sql
      .exec<{ record: string }>('SELECT record FROM calls ORDER BY call_id')
      .toArray()
      .map(({ record }) => JSON.parse(record) as Call),
  );
/** The counts, and whether anything is still held. */
async function readCounted(tenant: Tenant) {
  const { consumed, reserved, wallet } = await accountOf(tenant);
  expect([reserved.premiumCalls ?? 0, wallet.held]).toEqual([0, '0']);
  return { calls: consumed.premiumCalls ?? 0, charged: Number(wallet.unsettled) };
}

/** Between the cost of the lines' output, and slightly more for their prompts. */
const expectCharge = (nanoUsd: number, lines: number) => {
  expect(nanoUsd).toBeGreaterThanOrEqual(lines * OUTPUT_NANO_USD);
  expect(nanoUsd).toBeLessThan(lines * OUTPUT_NANO_USD * 1.1);
};
const answered = (id: string) =>
  JSON.stringify({ custom_id: id, response: { status_code: 200, body: completion('gpt-5.2') }, error: null });
const counts = (completed: number, total = 5) => ({ total, completed, failed: total - completed });

test.each<[string, AtVendor]>([
  ['its output file is gone', { status: 'completed', output_file_id: 'out', files: { out: 404 } }],
  ['it says that lines completed, and has no file', { status: 'completed', request_counts: counts(4) }],
])('a finished batch counts the completed lines by what they held where %s', async (_, atVendor) => {
  const { tenant, look, lookAgain } = await createBatch(PAYG, 5, { ...atVendor, request_counts: counts(4) });
  await lookAgain();
  const { calls, charged } = await readCounted(tenant);
  expect(calls).toBe(2);
  expectCharge(charged, 2);
  const records = await callsOf(tenant);
  expect(records.map(({ outcome }) => [outcome?.calls, outcome?.usageSource])).toEqual([
    [2, 'estimated'],
    [2, 'estimated'],
  ]);
  const [first] = records;
  const shown = (await tenant.api.send('readCall', { params: { callId: first?.callId ?? '' } })).data;
  expect(shown).toMatchObject({ status: 'COMPLETED', usageSource: 'estimated', pricingMode: 'batch' });
  expect(shown.costBreakdown?.lines).toMatchObject([{ component: 'held', quantity: 2 }]);
  // Finished is finished.
  await look();
  expect(await readCounted(tenant)).toEqual({ calls, charged });
});

test('lines of the error file are recorded although the output file is gone', async () => {
  const failed = JSON.stringify({
    custom_id: 'failed',
    response: { status_code: 400, body: null },
    error: { code: 'E' },
  });
  const { tenant, lookAgain } = await createBatch(PAYG, 3, {
    ...{ status: 'completed', output_file_id: 'out', error_file_id: 'err', request_counts: counts(2, 3) },
    files: { out: 410, err: failed },
  });
  await lookAgain();
  expect(await readCounted(tenant)).toMatchObject({ calls: 1 });
  expect((await callsOf(tenant)).map(({ status, outcome }) => [status, outcome?.calls])).toEqual([
    ['FAILED', 0],
    ['COMPLETED', 1],
    ['COMPLETED', 1],
  ]);
});

test.each(['cancelled', 'expired', 'failed', 'completed'])(
  'a batch that the vendor calls %s, and of which no line ran, counts nothing and holds nothing',
  async (status) => {
    const { tenant, look } = await createBatch(PAYG, 5, { status, request_counts: counts(0) });
    await look();
    expect(await readCounted(tenant)).toEqual({ calls: 0, charged: 0 });
    expect(await callsOf(tenant)).toEqual([]);
  },
);

test('a batch that is canceled half-way counts the lines that were answered', async () => {
  const { tenant, look } = await createBatch(PAYG, 5, {
    ...{ status: 'cancelled', output_file_id: 'out', request_counts: counts(1) },
    files: { out: answered('one') },
  });
  await look();
  expect(await readCounted(tenant)).toEqual({ calls: 1, charged: 0 });
});

test('a batch that is given up after 30 days counts all lines that were not recorded, by what they held', async () => {
  const { tenant, look } = await createBatch(PAYG, 5, { status: 'in_progress' });
  const later = Date.now() + 30 * DAY + 1;
  vi.spyOn(Date, 'now').mockImplementation(() => later);
  await look();
  const { calls, charged } = await readCounted(tenant);
  expect(calls).toBe(2);
  expectCharge(charged, 3);
});

test('while the vendor cannot be reached for a file, nothing is counted and all stays held', async () => {
  const { tenant, look } = await createBatch(PAYG, 5, {
    ...{ status: 'completed', output_file_id: 'out', request_counts: counts(5) },
    files: { out: 500 },
  });
  await look();
  const { consumed, reserved } = await accountOf(tenant);
  expect([consumed.premiumCalls ?? 0, reserved.premiumCalls]).toEqual([0, 2]);
});

test.each([
  ['on credit its usage is estimated', { ...PAYG, limits: { premiumCalls: 0 } }],
  ['on an allowance its cost is not known', { ...PAYG, limits: { premiumCalls: 100 } }],
])('a line that says nothing of its usage, or cannot be read, is a call: %s', async (_, plan) => {
  const isOnCredit = plan.limits.premiumCalls === 0;
  const silent = { ...completion('gpt-5.2'), usage: undefined };
  const lines = [
    JSON.stringify({ custom_id: 'silent', response: { status_code: 200, body: silent }, error: null }),
    '{"custom_id": "broken", "response',
    // Longer than any line that is read.
    `{"custom_id": "long", "response": "${'x'.repeat(8 * 1024 * 1024)}"}`,
  ];
  const { tenant, look } = await createBatch(plan, lines.length, {
    ...{ status: 'completed', output_file_id: 'out', files: { out: lines.join('\n') } },
  });
  await look();
  const calls = await callsOf(tenant);
  expect(calls.map(({ callId }) => callId)).toEqual(['broken', 'long', 'silent'].map((id) => `batch:batch_1:${id}`));
  const outcomes = calls.flatMap(({ outcome }) => outcome ?? []);
  const { calls: counted, charged } = await readCounted(tenant);
  if (isOnCredit) {
    expect(outcomes.map(({ usageSource, price }) => [usageSource, price.status])).toEqual(
      Array(3).fill(['estimated', 'FINAL']),
    );
    // Nothing can be counted of the longest one.
    expect(outcomes.map(({ usage }) => usage.responseTokens === 1_000)).toEqual([false, true, false]);
    expect(outcomes.every(({ usage }) => usage.responseTokens > 0 && usage.inputTokens > 0)).toBe(true);
    expect(charged).toBeGreaterThan(OUTPUT_NANO_USD);
    expect(charged).toBeLessThan(3 * OUTPUT_NANO_USD);
    for (const { credit } of calls) expect(credit?.exceededNanoUsd).toBeUndefined();
  } else {
    expect([counted, charged]).toEqual([3, 0]);
    for (const { price } of outcomes) expect(price).toEqual({ status: 'UNAVAILABLE', reason: 'USAGE_NOT_REPORTED' });
  }
});

test('an output file that the vendor shows within the hour is read as ever', async () => {
  const files: Record<string, string | number> = { out: 404 };
  const { tenant, look } = await createBatch(PAYG, 1, {
    ...{ status: 'completed', output_file_id: 'out', request_counts: counts(1, 1), files },
  });
  await look();
  files.out = answered('one');
  await look();
  expect(await readCounted(tenant)).toEqual({ calls: 1, charged: 0 });
  expect((await callsOf(tenant)).map(({ callId, outcome }) => [callId, outcome?.usageSource])).toEqual([
    ['batch:batch_1:one', undefined],
  ]);
});
