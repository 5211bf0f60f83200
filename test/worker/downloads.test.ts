/**
 * Downloads: no cell of any CSV begins like a formula, although all of the callers' names do, and a browser trusts the
 * declared type of every download.
 */
import { beforeAll, expect, test } from 'vitest';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { type Operation, type OperationId, operations } from '../../src/contract/operations.ts';
import { createTenant, OPERATOR_TOKEN, type Tenant } from '../support/api.ts';
import { deliverToD1, operator, worker } from '../support/worker.ts';

const CUSTOMER = '=HYPERLINK("https://evil.example")';
const DAY_MS = 86_400_000;
const day = (offset: number) => new Date(Date.now() + offset * DAY_MS).toISOString().slice(0, 10);
const PERIOD = { from: day(0), to: day(1) };

let tenant: Tenant;
let key: string;

beforeAll(async () => {
  tenant = await createTenant(operator, {
    name: '=Plan',
    limitType: 'BLOCK',
    payg: { enabled: true },
    customMeters: {
      CUSTOM1: { label: '=u', included: 0, overage: { model: 'SINGLE', priceUsd: '1', per: '1' } },
    },
  });
  const params = { org: tenant.organizationId, customerId: CUSTOMER };
  await operator.send('updateOrganization', { params, body: { name: '=cmd' } });
  key = (await operator.send('createKey', { params, body: { name: 'csv' } })).data.key;
  const customer = { customerId: CUSTOMER, customerFriendlyName: '@name', customerEmail: '=cmd@example.com' };
  expect((await tenant.api.send('provisionCustomer', { body: customer })).status).toBe(200);
  await operator.send('grantCredit', { params, body: { kind: 'USD', amountUsd: '9' } });
  const begin = { customerId: CUSTOMER, customerUserId: '+1', feature: '-feature', tags: ['@tag'] };
  const { callId } = (await tenant.api.send('beginCall', { body: begin, headers: { 'Idempotency-Key': '=call' } }))
    .data;
  const usage = { providerUsed: 'openai', modelUsed: 'gpt-4o-mini', inputTokens: 10, responseTokens: 5 };
  expect((await tenant.api.send('endCall', { body: { callId, ...usage } })).status).toBe(200);
  const units = { customerId: CUSTOMER, meterSlot: 'CUSTOM1', amount: 2 };
  expect((await tenant.api.send('incrementMeter', { body: units })).status).toBe(200);
  await deliverToD1(tenant.organizationId, CUSTOMER);
});

/** A download as it is asked for with its credential. */
async function download(id: OperationId, query: Record<string, string> = {}): Promise<Response> {
  const { path, security } = operations[id] as Operation;
  const bearer = security.kind === 'operator' ? OPERATOR_TOKEN : key;
  const address = path.replace('{org}', tenant.organizationId).replace('{customerId}', encodeURIComponent(CUSTOMER));
  const response = await worker.fetch(`https://callmeter.test${address}?${new URLSearchParams(query)}`, {
    headers: { Authorization: `Bearer ${bearer}`, Accept: `text/csv, ${MEDIA_TYPE};q=0.5` },
  });
  expect([id, response.status]).toEqual([id, 200]);
  return response as unknown as Response;
}

const cellsOf = (csv: string) =>
  [...csv.matchAll(/(?:^|,|\r\n)(?:"((?:[^"]|"")*)"|([^",\r\n]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
  );

const LISTS = Object.entries<Operation>(operations).flatMap(([id, { csv }]) => (csv ? [id as OperationId] : []));

test.each([...LISTS.map((id) => [id, {}] as const), ['exportHistory', { format: 'focus', ...PERIOD }] as const])(
  '%s: no cell of its CSV begins as a formula, and no browser guesses what it is',
  async (id, query) => {
    const response = await download(id, query);
    expect(response.headers.get('Content-Type')).toMatch(/^text\/csv;/);
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
    const text = await response.text();
    expect(text.split('\r\n').length, text).toBeGreaterThan(2);
    // A number below zero is no formula.
    const begins = cellsOf(text).filter((cell) => /^\s*[=+\-@]/.test(cell) && !/^-\d+(\.\d+)?$/.test(cell));
    expect(begins).toEqual([]);
  },
);

test('FOCUS has what callers named, each behind an apostrophe', async () => {
  const text = await (await download('exportHistory', { format: 'focus', ...PERIOD })).text();
  for (const named of [`'${CUSTOMER}`, "'=cmd", "'=call"]) expect(cellsOf(text)).toContain(named);
});

test.each([
  ['exportHistory', PERIOD],
  ['exportSamples', {}],
] as const)('%s: no browser guesses what its lines are', async (id, query) => {
  const response = await download(id, query);
  expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
  await response.body?.cancel();
});
