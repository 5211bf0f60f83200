/**
 * Samples over HTTP: their storage and its duration, retries, the size limit, the operator's view, and their end
 * (contract 4.14).
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import type { Sample } from '../../src/contract/samples.ts';
import { deleteExpired } from '../../src/history/housekeeping.ts';
import { countSamples, findSamples, readPayloads } from '../../src/history/samples.ts';
import { createTenant, OPERATOR_TOKEN, type Tenant } from '../support/api.ts';
import { bindings, operator, worker } from '../support/worker.ts';

const DAY_MS = 86_400_000;
const BASE = 'https://callmeter.test';
const MINIMAL = { provider: 'openai', input: 'Hi' };
const FULL = {
  decisionId: 'sd_1',
  policyVersion: 'sp_client',
  customerId: 'ann',
  feature: 'chat',
  environment: 'production',
  tags: ['a', 'b'],
  provider: 'openai',
  model: 'gpt-4o',
  input: [{ role: 'user', content: 'Grüße 👋 "quoted"' }],
  output: { text: 'Hello', logprobs: [0.25, null] },
  usage: { prompt_tokens: 7 },
  error: null,
  latencyMs: 1234.5,
};

let tenant: Tenant;
let key: string;
beforeAll(async () => {
  tenant = await createTenant(operator);
  key = (await operator.send('createKey', { params: { org: tenant.organizationId }, body: { name: 'raw' } })).data.key;
});

const store = (body: unknown, headers: Record<string, string> = {}, of = tenant) =>
  of.api.send('storeSample', { body, headers });
const read = (sampleId: string, of = tenant) =>
  operator.send('readSample', { params: { org: of.organizationId, sampleId } });
const list = async (query: Record<string, string> = {}, of = tenant) =>
  (await operator.send('listSamples', { params: { org: of.organizationId }, query })).data;

function exported(query: Record<string, string> = {}, of = tenant): Promise<Response> {
  const path = `/operator/organizations/${of.organizationId}/samples/export?${new URLSearchParams(query)}`;
  return worker.fetch(BASE + path, {
    headers: { Authorization: `Bearer ${OPERATOR_TOKEN}` },
  }) as unknown as Promise<Response>;
}
/** workerd takes JSON Lines for no text. */
const readText = async (response: Response) => new TextDecoder().decode(await response.arrayBuffer());
const exportLines = async (query: Record<string, string> = {}, of = tenant): Promise<Sample[]> => {
  const text = await readText(await exported(query, of));
  return text === ''
    ? []
    : text
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => JSON.parse(line));
};

/** Moves a stored sample in time. */
async function shift(
  sampleId: string,
  { receivedAtMs, expiresAtMs }: { receivedAtMs?: number; expiresAtMs?: number },
  of = tenant,
) {
  const sql = `UPDATE samples SET received_at_ms = COALESCE(?, received_at_ms), expires_at_ms = COALESCE(?, expires_at_ms)
    WHERE organization_id = ? AND sample_id = ?`;
  await bindings.DB.prepare(sql)
    .bind(receivedAtMs ?? null, expiresAtMs ?? null, of.organizationId, sampleId)
    .run();
}
const rowsStored = async (of = tenant) =>
  (
    await bindings.DB.prepare('SELECT COUNT(*) AS n FROM samples WHERE organization_id = ?')
      .bind(of.organizationId)
      .first<{ n: number }>()
  )?.n;

describe('a sample', () => {
  test('is stored with every field for the retention of the current policy, and read back unchanged', async () => {
    const own = await createTenant(operator);
    const policy = { rate: 1, retentionDays: 3 };
    const { version } = (await operator.send('setSampling', { params: { org: own.organizationId }, body: policy }))
      .data;
    const reply = await store({ sampleId: 'full-1', ...FULL }, {}, own);
    expect(reply.body.result.code).toBe('SAMPLE_STORED');
    const { receivedAt, expiresAt, ...rest } = reply.data;
    expect(rest).toEqual({ sampleId: 'full-1', retentionDays: 3, policyVersion: version });
    expect(Date.parse(expiresAt) - Date.parse(receivedAt)).toBe(3 * DAY_MS);
    expect(Math.abs(Date.now() - Date.parse(receivedAt))).toBeLessThan(60_000);

    const { policyVersion, ...content } = FULL;
    const found = await read('full-1', own);
    expect(found.body.result.code).toBe('SAMPLE_READ');
    const { input, output, usage, error } = FULL;
    const payloadBytes = new TextEncoder().encode(JSON.stringify({ input, output, usage, error })).byteLength;
    expect(found.data).toEqual({ ...reply.data, ...content, decisionPolicyVersion: policyVersion, payloadBytes });
  });

  test('needs a provider and an input, and is kept 30 days if nothing was set', async () => {
    const { data } = await store(MINIMAL);
    expect(data).toMatchObject({ sampleId: expect.stringMatching(/^[0-9a-f-]{36}$/), retentionDays: 30 });
    expect((await read(data.sampleId)).data).toEqual({
      ...data,
      ...MINIMAL,
      decisionId: null,
      decisionPolicyVersion: null,
      customerId: null,
      feature: null,
      environment: null,
      tags: [],
      model: null,
      latencyMs: null,
      payloadBytes: 14,
    });
  });

  test.each([
    [null],
    [false],
    [0],
    [''],
    [[]],
    [{}],
    ['\ud800'],
    [{ __proto__: null, constructor: { a: 1 } }],
    [1e21],
    ['\u0000'],
  ])('may have any JSON as its input: %j', async (input) => {
    const body = { provider: 'openai', input };
    const { sampleId } = (await store(body)).data;
    expect((await read(sampleId)).data.input).toEqual(JSON.parse(JSON.stringify(input)));
    expect((await exportLines()).find((sample) => sample.sampleId === sampleId)?.input).toEqual(
      JSON.parse(JSON.stringify(input)),
    );
  });

  test("accepts any spelling of its customer's fields", async () => {
    for (const identity of [{ customer_id: 'spelled' }, { customer: { id: 'spelled' } }]) {
      const { sampleId } = (await store({ ...MINIMAL, ...identity })).data;
      expect((await read(sampleId)).data.customerId).toBe('spelled');
    }
  });

  test.each([
    ['provider', { provider: undefined }],
    ['provider', { provider: '' }],
    ['provider', { provider: 5 }],
    ['input', { input: undefined }],
    ['sampleId', { sampleId: '' }],
    ['sampleId', { sampleId: 'a b' }],
    ['sampleId', { sampleId: 'export' }],
    ['sampleId', { sampleId: 'x'.repeat(256) }],
    ['tags', { tags: 'a' }],
    ['tags.0', { tags: [''] }],
    ['latencyMs', { latencyMs: -1 }],
    ['latencyMs', { latencyMs: '1' }],
    ['customerId', { customerId: 5 }],
    ['model', { model: '' }],
    ['environment', { environment: 'x'.repeat(101) }],
  ])('names %s where it is wrong, and stores nothing', async (field, change) => {
    const before = await rowsStored();
    const { status, refusal } = await store({ ...MINIMAL, ...change });
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect((refusal.details as { path: string }[]).map(({ path }) => path)).toContain(field);
    expect(await rowsStored()).toBe(before);
  });

  test('may nest 100 levels deep, its own included', async () => {
    const { sampleId } = (await store({ ...MINIMAL, input: nested(99) })).data;
    expect((await read(sampleId)).data.input).toEqual(nested(99));
    const before = await rowsStored();
    const { status, refusal } = await store({ ...MINIMAL, input: nested(100) });
    expect([status, refusal.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    expect(await rowsStored()).toBe(before);
  });
});

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

describe('the body', () => {
  const LIMIT = 307_200;
  const paddedSample = (bytes: number, sampleId: string) => {
    const empty = JSON.stringify({ sampleId, provider: 'openai', input: '' });
    return JSON.stringify({ sampleId, provider: 'openai', input: 'x'.repeat(bytes - empty.length) });
  };
  /** In parts, without a length: the limit applies to the received bytes. */
  const streamed = (body: string) => {
    const bytes = new TextEncoder().encode(body);
    let at = 0;
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at >= bytes.length) return controller.close();
        controller.enqueue(bytes.slice(at, at + 10_000));
        at += 10_000;
      },
    });
  };
  const post = async (body: string | ReadableStream) => {
    const headers = { Authorization: `Bearer ${key}`, Accept: MEDIA_TYPE, 'Content-Type': 'application/json' };
    const response = await worker.fetch(`${BASE}/samples`, { method: 'POST', headers, body: body as never });
    return { status: response.status, answer: await response.json<{ result: { code: string } }>() };
  };

  test('of 307,200 bytes is accepted, of 307,201 refused, with a length and without one', async () => {
    for (const [name, send] of [
      ['whole', (body: string) => body],
      ['streamed', streamed],
    ] as const) {
      const fits = paddedSample(LIMIT, `fits-${name}`);
      expect(new TextEncoder().encode(fits).byteLength).toBe(307_200);
      expect((await post(send(fits))).status).toBe(200);
      const { status, answer } = await post(send(paddedSample(LIMIT + 1, `too-large-${name}`)));
      expect([status, answer.result.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
      expect((await read(`fits-${name}`)).data.input).toHaveLength(
        LIMIT - JSON.stringify({ sampleId: `fits-${name}`, ...MINIMAL, input: '' }).length,
      );
      expect((await read(`too-large-${name}`)).status).toBe(404);
    }
  });

  test('is counted in bytes, not in characters', async () => {
    const wide = JSON.stringify({ provider: 'openai', input: '€'.repeat(102_400) });
    expect(wide.length).toBeLessThan(LIMIT);
    expect((await post(wide)).status).toBe(413);
  });

  test('that grows when it is serialized again is still stored', async () => {
    // 1e20 has five characters with its comma, and 21 digits when it is printed.
    const body = `{"sampleId":"grown","provider":"openai","input":[${'1e20,'.repeat(61_000)}1]}`;
    expect((await post(body)).status).toBe(200);
    expect((await read('grown')).data.payloadBytes).toBeGreaterThan(1_300_000);
  });
});

describe('a retry', () => {
  test('by sampleId is the same sample, whatever the order of its members', async () => {
    const body = { sampleId: 'retry-1', ...FULL };
    const first = await store(body);
    expect(first.headers.get('Idempotency-Replayed')).toBeNull();
    const again = await store(Object.fromEntries(Object.entries(body).reverse()));
    expect([again.headers.get('Idempotency-Replayed'), again.body.result, again.data]).toEqual([
      'true',
      first.body.result,
      first.data,
    ]);
    expect((await exportLines()).filter(({ sampleId }) => sampleId === 'retry-1')).toHaveLength(1);
  });

  test('with other content is 409, and the first is kept', async () => {
    await store({ sampleId: 'retry-2', ...FULL });
    for (const change of [{ input: 'other' }, { latencyMs: 1 }, { tags: ['b', 'a'] }, { output: undefined }]) {
      const { status, refusal } = await store({ sampleId: 'retry-2', ...FULL, ...change });
      expect([status, refusal.code]).toEqual([409, 'IDEMPOTENCY_KEY_CONFLICT']);
    }
    expect((await read('retry-2')).data.input).toEqual(FULL.input);
  });

  test('by the idempotency key, in the header or the body, is the same sample; sampleId takes precedence', async () => {
    const headers = { 'Idempotency-Key': 'key-1' };
    expect((await store(MINIMAL, headers)).data.sampleId).toBe('key-1');
    expect((await store(MINIMAL, headers)).headers.get('Idempotency-Replayed')).toBe('true');
    expect((await store({ ...MINIMAL, idempotencyKey: 'key-1' })).headers.get('Idempotency-Replayed')).toBe('true');
    expect((await store({ ...MINIMAL, sampleId: 'key-1' })).headers.get('Idempotency-Replayed')).toBe('true');
    expect((await store({ ...MINIMAL, input: 'other' }, headers)).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    expect((await store({ ...MINIMAL, sampleId: 'key-2' }, headers)).data.sampleId).toBe('key-2');
  });

  test('without any is another sample', async () => {
    expect((await store(MINIMAL)).data.sampleId).not.toBe((await store(MINIMAL)).data.sampleId);
  });

  test('at the same time is one sample', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => store({ sampleId: 'race', ...FULL })));
    expect(new Set(replies.map(({ data }) => JSON.stringify(data))).size).toBe(1);
    expect(replies.filter(({ headers }) => headers.get('Idempotency-Replayed') === null)).toHaveLength(1);
  });

  test('of an expired sample stores it anew', async () => {
    const first = (await store({ sampleId: 'again', ...MINIMAL })).data;
    await shift('again', { receivedAtMs: Date.now() - 2 * DAY_MS, expiresAtMs: Date.now() });
    const again = await store({ sampleId: 'again', ...MINIMAL, input: 'another one' });
    expect(again.headers.get('Idempotency-Replayed')).toBeNull();
    expect(Date.parse(again.data.expiresAt)).toBeGreaterThanOrEqual(Date.parse(first.expiresAt));
    expect((await read('again')).data.input).toBe('another one');
  });

  test('keeps the retention and policy version of the first', async () => {
    const own = await createTenant(operator);
    const first = (await store({ sampleId: 'kept', ...MINIMAL }, {}, own)).data;
    await operator.send('setSampling', { params: { org: own.organizationId }, body: { rate: 1, retentionDays: 1 } });
    expect((await store({ sampleId: 'kept', ...MINIMAL }, {}, own)).data).toEqual(first);
    expect((await store({ sampleId: 'new', ...MINIMAL }, {}, own)).data).toMatchObject({ retentionDays: 1 });
  });
});

describe('the operator', () => {
  let own: Tenant;
  const START = Date.parse('2026-01-01T00:00:00.000Z');
  /** Ten samples a minute apart, two of them at the same time. */
  const minute = (n: number) => START + Math.min(n, 8) * 60_000;
  beforeAll(async () => {
    own = await createTenant(operator);
    for (let n = 0; n < 10; n += 1) {
      const body = {
        sampleId: `s${n}`,
        provider: n < 5 ? 'openai' : 'anthropic',
        model: `m${n % 3}`,
        ...(n % 2 === 0 && { customerId: 'ann', feature: 'chat' }),
        environment: n === 9 ? 'staging' : 'production',
        input: `prompt ${n}`,
      };
      await store(body, {}, own);
      await shift(`s${n}`, { receivedAtMs: minute(n) }, own);
    }
  });
  const at = (n: number) => new Date(minute(n)).toISOString();
  const ids = (items: { sampleId: string }[]) => items.map(({ sampleId }) => sampleId);

  test('lists them newest first, page by page, without their content but with its size', async () => {
    const found: string[] = [];
    let query: Record<string, string> = { limit: '3' };
    for (let page = 0; page < 4; page += 1) {
      const { items, nextCursor } = await list(query, own);
      found.push(...ids(items));
      for (const item of items) {
        expect(item).not.toHaveProperty('input');
        expect(item.payloadBytes).toBe('{"input":"prompt 0"}'.length);
      }
      expect(nextCursor === null).toBe(page === 3);
      query = { limit: '3', cursor: nextCursor ?? '' };
    }
    expect(found).toEqual(['s9', 's8', 's7', 's6', 's5', 's4', 's3', 's2', 's1', 's0']);
  });

  test.each<[Record<string, string>, string[]]>([
    [{ customerId: 'ann' }, ['s8', 's6', 's4', 's2', 's0']],
    [{ feature: 'chat', provider: 'openai' }, ['s4', 's2', 's0']],
    [{ model: 'm1' }, ['s7', 's4', 's1']],
    [{ environment: 'staging' }, ['s9']],
    [{ from: at(3), to: at(6) }, ['s5', 's4', 's3']],
    [{ from: at(8) }, ['s9', 's8']],
    [{ to: at(1) }, ['s0']],
    [{ customerId: 'nobody' }, []],
  ])('finds them by %j, in a list and in an export', async (query, expected) => {
    expect(ids((await list(query, own)).items)).toEqual(expected);
    expect(ids(await exportLines(query, own))).toEqual(expected);
  });

  test.each<[string, Record<string, string>]>([
    ['from', { from: 'yesterday' }],
    ['to', { from: at(3), to: at(3) }],
    ['cursor', { cursor: '???' }],
    ['cursor', { cursor: btoa('nonsense').replaceAll('=', '') }],
    ['limit', { limit: '201' }],
  ])('is told about %s in %j', async (field, query) => {
    const reply = await operator.send('listSamples', { params: { org: own.organizationId }, query });
    expect([reply.status, reply.refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect((reply.refusal.details as { path: string }[]).map(({ path }) => path)).toContain(field);
  });

  test('exports JSON Lines with every field', async () => {
    const response = await exported({ customerId: 'ann' }, own);
    expect(response.headers.get('Content-Type')).toBe('application/jsonl; charset=utf-8');
    expect(response.headers.get('Cache-Control')).toBe('private, no-store');
    const text = await readText(response);
    expect(text.endsWith('\n')).toBe(true);
    for (const line of text.trimEnd().split('\n')) {
      const sample = JSON.parse(line) as Sample;
      expect(sample).toEqual((await read(sample.sampleId, own)).data);
    }
  });

  test('deletes one, with an event that contains nothing of its content', async () => {
    const { sampleId } = (await store({ ...MINIMAL, input: 'TOP SECRET', customerId: 'hidden-customer' }, {}, own))
      .data;
    const params = { org: own.organizationId, sampleId };
    const deleted = await operator.send('deleteSample', { params });
    expect([deleted.body.result.code, deleted.data]).toEqual(['SAMPLE_DELETED', { sampleId }]);
    expect((await operator.send('deleteSample', { params })).status).toBe(404);
    expect((await read(sampleId, own)).status).toBe(404);
    const { items } = (await operator.send('listEvents', { query: { organizationId: own.organizationId, limit: '1' } }))
      .data;
    expect(items[0]).toMatchObject({ action: 'sample.delete', subject: sampleId, after: null });
    expect(JSON.stringify(items[0])).not.toMatch(/TOP SECRET|hidden-customer/);
  });

  test('sees only the samples of the named organization', async () => {
    const other = await createTenant(operator);
    await store({ sampleId: 's1', provider: 'openai', input: 'theirs' }, {}, other);
    expect((await read('s1', other)).data.input).toBe('theirs');
    expect((await read('s1', own)).data.input).toBe('prompt 1');
    expect(ids((await list({}, other)).items)).toEqual(['s1']);
    expect(ids(await exportLines({}, other))).toEqual(['s1']);
    expect(
      (await operator.send('deleteSample', { params: { org: other.organizationId, sampleId: 's2' } })).status,
    ).toBe(404);
    expect((await read('s2', own)).status).toBe(200);
    const nowhere = { org: crypto.randomUUID() };
    expect((await operator.send('listSamples', { params: nowhere })).refusal.code).toBe('NOT_FOUND');
    expect((await exported({}, { organizationId: nowhere.org } as Tenant)).status).toBe(404);
  });
});

describe('the end of a retention', () => {
  test('hides a sample at once, and the next cleanup deletes its row', async () => {
    const own = await createTenant(operator);
    for (const sampleId of ['over', 'left']) await store({ sampleId, ...MINIMAL }, {}, own);
    await shift('over', { expiresAtMs: Date.now() }, own);
    expect((await read('over', own)).refusal.code).toBe('NOT_FOUND');
    expect((await list({}, own)).items.map(({ sampleId }) => sampleId)).toEqual(['left']);
    expect((await exportLines({}, own)).map(({ sampleId }) => sampleId)).toEqual(['left']);
    expect(
      (await operator.send('deleteSample', { params: { org: own.organizationId, sampleId: 'over' } })).status,
    ).toBe(404);
    expect(await rowsStored(own)).toBe(2);
    await deleteExpired(bindings, Date.now());
    expect(await rowsStored(own)).toBe(1);
    expect((await read('left', own)).status).toBe(200);
  });

  test('also comes with the erasure of its customer, for that customer only', async () => {
    const own = await createTenant(operator);
    await own.api.send('provisionCustomer', { body: { customerId: 'gone' } });
    for (const customerId of ['gone', 'gone', 'stays', 'only-samples'])
      await store({ ...MINIMAL, customerId }, {}, own);
    const erase = (customerId: string) =>
      operator.send('eraseCustomer', { params: { org: own.organizationId, customerId } });
    expect((await erase('gone')).data.erased.samples).toBe(2);
    expect((await erase('only-samples')).data.erased).toMatchObject({ object: false, samples: 1 });
    expect((await list({}, own)).items.map(({ customerId }) => customerId)).toEqual(['stays']);
  });
});

describe('many large samples', () => {
  const COUNT = 120;
  const KIB_100 = 100 * 1024;
  let own: Tenant;
  beforeAll(async () => {
    own = await createTenant(operator);
    const input = 'x'.repeat(KIB_100);
    for (let from = 0; from < COUNT; from += 20) {
      await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          store({ sampleId: `big-${from + n}`, provider: 'openai', input }, {}, own),
        ),
      );
    }
  });

  test('are read in parts that fit into memory', async () => {
    const nowMs = Date.now();
    const rows = await findSamples(
      bindings,
      own.organizationId,
      {},
      { order: 'oldest', after: null, limit: COUNT, nowMs },
    );
    expect([rows.length, await countSamples(bindings, own.organizationId, {}, nowMs)]).toEqual([COUNT, COUNT]);
    expect(JSON.stringify(rows)).not.toContain('xxxx');
    const { read: first, samples } = await readPayloads(bindings, own.organizationId, rows);
    expect([first, samples.length]).toEqual([20, 20]);
    const huge = rows.map((row) => ({ ...row, payloadBytes: 10_000_000 }));
    expect((await readPayloads(bindings, own.organizationId, huge)).read).toBe(1);
  });

  test('are exported to the last one, through a stream', async () => {
    const response = await exported({}, own);
    const reader = response.body?.getReader();
    let bytes = 0;
    const seen = new Set<string>();
    let rest = '';
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done || !value) break;
      bytes += value.byteLength;
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) seen.add((JSON.parse(line) as Sample).sampleId);
    }
    expect([seen.size, rest]).toEqual([COUNT, '']);
    expect(bytes).toBeGreaterThan(COUNT * KIB_100);
  });

  test('are deleted to the last one once they expired', async () => {
    await bindings.DB.prepare('UPDATE samples SET expires_at_ms = 1 WHERE organization_id = ?')
      .bind(own.organizationId)
      .run();
    await deleteExpired(bindings, Date.now());
    expect(await rowsStored(own)).toBe(0);
  });
});
