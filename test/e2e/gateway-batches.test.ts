/**
 * Promise: a batch passes to the vendor unchanged but for the names of its models, and each of its lines is metered once
 * at the batch price.
 */
import { BadRequestError, NotFoundError, PermissionDeniedError, toFile, toStreamingFile } from 'openai';
import type { FileCreateParams } from 'openai/resources';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countWords } from '../vendors/vendor.ts';
import { type GatewayTenant, NO_LIMITS, type Setting, startGateway } from './gateway-tenant.ts';
import { until } from './local-server.ts';

let setting: Setting;
let tenant: GatewayTenant;
beforeAll(async () => {
  setting = await startGateway();
  tenant = await setting.tenant();
});
afterAll(() => setting.stop());

interface Asked {
  custom_id: string;
  content?: string;
  model?: string;
}

const line = ({ custom_id, content = 'hello', model = 'gpt-5.2' }: Asked) =>
  JSON.stringify({
    custom_id,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model, messages: [{ role: 'user', content }] },
  });

async function upload(from: GatewayTenant, lines: readonly Asked[]): Promise<string> {
  const file = await toFile(Buffer.from(lines.map(line).join('\n')), 'input.jsonl');
  return (await from.openai.files.create({ file, purpose: 'batch' })).id;
}

async function create(from: GatewayTenant, lines: readonly Asked[], more: object = {}) {
  const input_file_id = await upload(from, lines);
  return from.openai.batches.create({
    input_file_id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    ...more,
  } as never);
}

/** Reads the batch until the vendor has finished it, as a client does. */
async function finish(from: GatewayTenant, id: string) {
  let batch = await from.openai.batches.retrieve(id);
  await until(async () => {
    batch = await from.openai.batches.retrieve(id);
    return batch.status === 'completed';
  });
  return batch;
}

/** GPT-5.2 at half its price: 1.75 in and 14 out, in USD per million. */
const batchCost = (content: string, output: number) =>
  ((countWords(content) * 1.75 + output * 14) / 1e6 / 2).toFixed(9);

describe('a batch', () => {
  test('is metered line by line and once, for the customer that began it', async () => {
    const lines = [
      { custom_id: 'first', content: 'one two three [reply:7]' },
      { custom_id: 'zweite Zeile: ü', content: 'four' },
      { custom_id: 'refused', content: 'no [fail:400]' },
      { custom_id: 'x'.repeat(300), content: 'five six' },
    ];
    const batch = await create(tenant, lines, {
      customer: 'batcher',
      feature: 'nightly',
      tags: ['t'],
      metadata: { k: 'v' },
    });
    expect(batch).toMatchObject({ object: 'batch', status: 'validating', metadata: { k: 'v' } });
    const asked = setting.vendor.requests.at(-1);
    expect(asked).toMatchObject({ method: 'POST', path: '/v1/batches' });
    expect(Object.keys(asked?.body)).toEqual(['input_file_id', 'endpoint', 'completion_window', 'metadata']);
    expect((await tenant.customer('batcher')).recentCalls).toEqual([]);

    const finished = await finish(tenant, batch.id);
    const metered = await tenant.settled('batcher', lines.length);
    expect(metered.meters.premiumTokens?.used).toBe(7 + 4 + 4);
    expect(metered.meters.premiumCalls?.used).toBe(3);
    expect(await tenant.call(`batch:${batch.id}:first`)).toMatchObject({
      status: 'COMPLETED',
      pricingMode: 'batch',
      pricingMultiplier: 0.5,
      customerId: 'batcher',
      costUSD: Number(batchCost('one two three [reply:7]', 7)),
    });
    expect(await tenant.call(`batch:${batch.id}:refused`)).toMatchObject({ status: 'FAILED', costUSD: 0 });
    // Names that cannot travel as a key are told by hash.
    const ids = metered.recentCalls.map(({ callId }) => callId);
    expect(ids.filter((id) => /^batch:batch_\d+:[\da-f]{64}$/.test(id))).toHaveLength(2);

    const content = await (await tenant.openai.files.content(finished.output_file_id ?? '')).text();
    expect(content.trim().split('\n')).toHaveLength(lines.length);
    for (let again = 0; again < 3; again += 1) await tenant.openai.batches.retrieve(batch.id);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await tenant.customer('batcher')).recentCalls).toHaveLength(lines.length);
  });

  test('of many lines is metered completely', async () => {
    const lines = Array.from({ length: 230 }, (_, index) => ({
      custom_id: `line-${index}`,
      content: `word ${index} [reply:2]`,
    }));
    const batch = await create(tenant, lines, { customer: 'many' });
    await finish(tenant, batch.id);
    const used = async () => (await tenant.customer('many')).meters;
    await until(async () => (await used()).premiumTokens?.used === 2 * lines.length);
    expect((await used()).premiumCalls?.used).toBe(lines.length);
  });

  test('is metered even if nobody reads it', async () => {
    const batch = await create(tenant, [{ custom_id: 'a' }], { customer: 'nobody' });
    // The vendor is asked after five seconds, and finds it finished the second time.
    await tenant.openai.batches.retrieve(batch.id);
    expect((await tenant.settled('nobody')).recentCalls).toMatchObject([
      { callId: `batch:${batch.id}:a`, status: 'COMPLETED' },
    ]);
  });
});

describe('a file whose lines name models as the service does', () => {
  const lines = [
    { custom_id: 'a', content: 'one two', model: 'service/standard' },
    { custom_id: 'b', content: 'three', model: 'service/premium' },
    { custom_id: 'c', content: 'four', model: 'openai/gpt-5.2' },
  ];
  const content = Buffer.from(lines.map(line).join('\n'));
  const streamed = () => toStreamingFile(new Blob([content]).stream(), 'input.jsonl');
  let mapped: GatewayTenant;
  beforeAll(async () => {
    mapped = await setting.tenant();
    const params = { org: mapped.organizationId };
    // Each at a model of the other tier.
    const body = { standard: ['anthropic/claude-haiku-4-5', 'openai/gpt-5.2'], premium: ['openai/gpt-4o-mini'] };
    expect((await setting.server.operator.send('setModels', { params, body })).status).toBe(200);
  });

  // The SDK sends the fields in the order in which they are written, and with a length only if it knows the file's.
  test.each<[string, () => Promise<FileCreateParams>]>([
    ['before its purpose', async () => ({ file: await toFile(content, 'input.jsonl'), purpose: 'batch' })],
    ['behind its purpose', async () => ({ purpose: 'batch', file: new File([content], 'input.jsonl') })],
    ['as a stream before its purpose', async () => ({ file: streamed(), purpose: 'batch' })],
    ['as a stream behind its purpose', async () => ({ purpose: 'batch', file: streamed() })],
  ])('reaches the vendor with its names, sent %s', async (_, form) => {
    const { id } = await mapped.openai.files.create(await form());
    const sent = ['gpt-5.2', 'gpt-4o-mini', 'gpt-5.2'].map((model, index) =>
      line({ ...(lines[index] as Asked), model }),
    );
    expect(await (await mapped.openai.files.content(id)).text()).toBe(sent.join('\n'));
  });

  test('is metered by the price of the models that ran, whatever the lines named', async () => {
    const batch = await create(mapped, lines, { customer: 'named' });
    await finish(mapped, batch.id);
    const { meters } = await mapped.settled('named', lines.length);
    expect([meters.premiumCalls?.used, meters.standardCalls?.used]).toEqual([2, 1]);
    for (const [name, model] of [
      ['a', 'gpt-5.2'],
      ['b', 'gpt-4o-mini'],
      ['c', 'gpt-5.2'],
    ])
      expect(await mapped.call(`batch:${batch.id}:${name}`)).toMatchObject({
        modelUsed: model,
        providerUsed: 'openai',
      });
  });

  test('is refused with the number of the line that cannot run, and the vendor keeps no file of it', async () => {
    const kept = () => setting.vendor.requests.filter(({ path }) => path === '/v1/files').length;
    const before = kept();
    for (const model of ['anthropic/claude-haiku-4-5', 'service/other']) {
      const error = await upload(mapped, [...lines, { custom_id: 'd', model }]).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(BadRequestError);
      expect(error).toMatchObject({ param: 'file', message: expect.stringContaining('line 4 of the file cannot run') });
    }
    expect(kept()).toBe(before);
  });
});

describe('is refused before the vendor begins', () => {
  const begun = () =>
    setting.vendor.requests.filter(({ method, path }) => method === 'POST' && path === '/v1/batches').length;

  test('if a tier is used up or does not cover the lines, unless credit pays', async () => {
    const lines = [{ custom_id: 'a' }, { custom_id: 'b' }, { custom_id: 'c', model: 'gpt-4o-mini' }];
    const before = begun();
    for (const [premiumCalls, standardCalls] of [
      [1, 5],
      [5, 0],
    ]) {
      const poor = await setting.tenant({ name: 'P', limitType: 'BLOCK', limits: { premiumCalls, standardCalls } });
      const error = await create(poor, lines).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(PermissionDeniedError);
      expect(error.code).toBe('ENTITLEMENT_DENIED');
    }
    expect(begun()).toBe(before);
    const fitting = await setting.tenant({
      name: 'P',
      limitType: 'BLOCK',
      limits: { premiumCalls: 2, standardCalls: 1 },
    });
    expect(await create(fitting, lines)).toMatchObject({ status: 'validating' });
    const credit = await setting.tenant({
      name: 'P',
      limitType: 'BLOCK',
      limits: { premiumCalls: 1 },
      payg: { enabled: true, markupPercent: 0 },
    });
    expect(await create(credit, lines).catch(({ status, code }) => [status, code])).toEqual([402, 'CREDIT_REQUIRED']);
    const params = { org: credit.organizationId, customerId: 'default' };
    const granted = await setting.server.operator.send('grantCredit', {
      params,
      body: { kind: 'USD', amountUsd: '1' },
    });
    expect(granted.status).toBe(200);
    expect(await create(credit, lines)).toMatchObject({ status: 'validating' });
  });

  test('if its input cannot be judged', async () => {
    const before = begun();
    const batch = { endpoint: '/v1/chat/completions' as const, completion_window: '24h' as const };
    for (const input_file_id of ['file_none', '../secrets', await upload(tenant, [])]) {
      const error = await tenant.openai.batches.create({ ...batch, input_file_id }).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(BadRequestError);
      expect(error.param).toBe('input_file_id');
    }
    expect(begun()).toBe(before);
  });
});

describe('files and batches of an organization', () => {
  test('pass unchanged, with their errors', async () => {
    const id = await upload(tenant, [{ custom_id: 'a' }]);
    expect(await tenant.openai.files.retrieve(id)).toMatchObject({ id, purpose: 'batch', filename: 'input.jsonl' });
    expect(await (await tenant.openai.files.content(id)).text()).toBe(line({ custom_id: 'a' }));
    expect(await tenant.openai.files.delete(id)).toMatchObject({ deleted: true });
    expect(await tenant.openai.files.retrieve(id).catch((error) => error)).toBeInstanceOf(NotFoundError);
    expect(await tenant.openai.batches.retrieve('batch_none').catch((error) => error)).toBeInstanceOf(NotFoundError);
    expect((await tenant.send('/v1/files/..%2Fmodels', { method: 'GET' })).status).toBe(404);
  });

  test('an upload without a valid form content type is refused before the vendor is asked', async () => {
    // Batches of other tests are polled meanwhile.
    const uploads = () =>
      setting.vendor.requests.filter(({ method, path }) => method === 'POST' && path === '/v1/files');
    const before = uploads().length;
    for (const type of ['text/plain', 'multipart/form-data', 'multipart/form-data; boundary=\u00e9']) {
      const response = await tenant.send('/v1/files', { body: 'a file', headers: { 'Content-Type': type } });
      expect([type, response.status]).toEqual([type, 415]);
      expect(((await response.json()) as { error: unknown }).error).toMatchObject({
        code: 'UNSUPPORTED_MEDIA_TYPE',
        message: expect.stringContaining('Content-Type'),
      });
    }
    expect(uploads().length).toBe(before);
  });

  test('need the vendor', async () => {
    const none = await setting.tenant(NO_LIMITS, ['google']);
    expect(await none.openai.files.list().catch((error) => error)).toMatchObject({
      status: 400,
      code: 'VENDOR_NOT_CONFIGURED',
    });
  });

  test('are invisible to another organization, which neither meters them nor learns their customer', async () => {
    const other = await setting.tenant();
    const batch = await create(tenant, [{ custom_id: 'a' }], { customer: 'owner' });
    // Both have the same vendor key, and the vendor shows the batch to every holder of it.
    await expect(other.openai.batches.retrieve(batch.id)).rejects.toThrow(NotFoundError);
    await finish(tenant, batch.id);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await other.api.send('readCall', { params: { callId: `batch:${batch.id}:a` } })).status).toBe(404);
    await tenant.openai.batches.retrieve(batch.id);
    expect((await tenant.settled('owner')).recentCalls).toHaveLength(1);
  });
});
