/**
 * A file passes to the vendor byte for byte while the lines of a batch are checked: however the upload is cut into
 * chunks, the same lines are found, and the vendor never gets the end of a form that is refused.
 */
import fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { FILE_BODY_BYTES_MAX } from '../../src/contract/gateway/requests.ts';
import type { Tenant } from '../support/api.ts';
import { BASE_URL, newTenant } from '../support/gateway.ts';
import { worker } from '../support/worker.ts';

const MIB = 1_024 * 1_024;
const encoder = new TextEncoder();

let tenant: Tenant & { key: string };
beforeAll(async () => {
  tenant = await newTenant();
});

/** What the vendor got of the last upload: all bytes, and whether they came to a regular end. */
let got: { bytes: Uint8Array<ArrayBuffer>; ended: boolean; type: string | null } | null;
beforeEach(() => {
  got = null;
  vi.mocked(globalThis.fetch).mockImplementation(async (url, init) => {
    const { method, headers, body, signal } = init as unknown as Passed;
    expect([String(url), method]).toEqual([`${BASE_URL}/files`, 'POST']);
    const parts: Uint8Array[] = [];
    const reader = body.getReader();
    // As a connection does that is closed.
    signal.addEventListener('abort', () => void reader.cancel().catch(() => undefined));
    let ended = true;
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(part.value.slice());
    } catch {
      ended = false;
    }
    ended &&= !signal.aborted;
    const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
    got = { bytes, ended, type: new Headers(headers).get('Content-Type') };
    if (!ended) throw new Error('the upload broke off');
    return Response.json({ id: 'file_1', object: 'file' });
  });
});

interface Passed {
  method: string;
  headers: HeadersInit;
  body: ReadableStream<Uint8Array>;
  signal: AbortSignal;
}

interface Form {
  type: string;
  bytes: Uint8Array;
}

async function formOf(
  file: string | Uint8Array<ArrayBuffer>,
  purpose = 'batch',
  order: 'file first' | 'purpose first' = 'purpose first',
) {
  const data = new FormData();
  if (order === 'purpose first') data.append('purpose', purpose);
  data.append('file', new File([file], 'input.jsonl'));
  if (order === 'file first') data.append('purpose', purpose);
  const response = new Response(data);
  const type = response.headers.get('Content-Type') ?? '';
  return { type, bytes: new Uint8Array(await response.arrayBuffer()) };
}

/** Uploads the form in chunks that are cut at the numbers, with or without a declared length. */
async function upload({ type, bytes }: Form, cuts: readonly number[] = [], declares = true) {
  const { readable, writable } = declares ? new FixedLengthStream(bytes.length) : new IdentityTransformStream();
  const ends = [...new Set(cuts.map((cut) => cut % bytes.length)), bytes.length].sort((a, b) => a - b);
  const sent = (async () => {
    const writer = writable.getWriter();
    for (const [index, end] of ends.entries()) {
      const chunk = bytes.slice(ends[index - 1] ?? 0, end);
      if (chunk.length > 0) await writer.write(chunk);
    }
    await writer.close();
  })().catch(() => undefined);
  const response = await worker.fetch('https://callmeter.test/v1/files', {
    method: 'POST',
    headers: { Authorization: `Bearer ${tenant.key}`, 'Content-Type': type },
    body: readable,
  });
  const { error } = await response.json<{ error?: { code: string; message: string; param: string | null } }>();
  await sent;
  return { status: response.status, ...(error && { error }) };
}

const line = (custom_id: unknown, more: object = {}) =>
  JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body: { model: 'gpt-5.2' }, ...more });
const broken = (message: string, param: string | null = 'file') => ({
  status: 400,
  error: expect.objectContaining({ code: 'BAD_REQUEST', message, param }),
});

describe('an upload', () => {
  test('reaches the vendor byte for byte or is refused for its first broken line, however it is cut', async () => {
    const content = fc.constantFrom('word', 'é👋', '\r', '--', '\\n', ' ');
    const lines = fc.array(fc.tuple(fc.constantFrom('good', 'good', 'good', 'empty', 'bad'), content), {
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(
        lines,
        fc.array(fc.nat(5_000), { maxLength: 20 }),
        fc.constantFrom('file first', 'purpose first'),
        fc.boolean(),
        fc.constantFrom('\n', '\r\n'),
        async (kinds, cuts, order, declares, lineEnd) => {
          const texts = kinds.map(([kind, text], index) => {
            if (kind === 'empty') return '';
            return kind === 'bad' ? `{"custom_id":"${index}"` : line(`${index} ${text}`);
          });
          const form = await formOf(texts.join(lineEnd), 'batch', order as 'file first');
          const first = kinds.findIndex(([kind]) => kind === 'bad') + 1;
          const answer = await upload(form, cuts, declares);
          if (first === 0) {
            expect(answer).toEqual({ status: 200 });
            expect(got).toEqual({ ...form, ended: true });
            return;
          }
          expect(answer).toEqual(broken(`line ${first} of the file is no JSON`));
          expect(got?.ended).toBe(false);
          // What came is the beginning of the form: its last boundary, which two dashes follow, is not complete.
          const { bytes } = got ?? { bytes: new Uint8Array() };
          expect(bytes).toEqual(form.bytes.slice(0, bytes.length));
          expect(bytes.length).toBeLessThan(form.bytes.length - 2);
        },
      ),
      { numRuns: 100 },
    );
  });

  test('of another purpose has no lines, and passes unchanged', async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(60_000));
    for (const order of ['file first', 'purpose first'] as const) {
      const form = await formOf(bytes, 'user_data', order);
      expect(await upload(form, [1, 200, 30_000])).toEqual({ status: 200 });
      expect(got).toEqual({ ...form, ended: true });
    }
  });

  test('of 50,000 lines passes, and not with one more', async () => {
    const lines = Array.from({ length: 50_000 }, (_, index) => line(`line-${index}`));
    expect(await upload(await formOf(lines.join('\n')))).toEqual({ status: 200 });
    expect(await upload(await formOf([...lines, line('one more')].join('\n')))).toEqual(
      broken('the file has more than 50000 lines'),
    );
    lines[39_999] = '{"custom_id":';
    expect(await upload(await formOf(lines.join('\n')))).toEqual(broken('line 40000 of the file is no JSON'));
    expect(got?.ended).toBe(false);
  });
});

describe('a line of a batch', () => {
  test.each([
    ['no JSON', 'is no JSON', '{"custom_id":'],
    ['no model', 'names no model', line('x', { body: {} })],
    ['no custom_id', 'names no custom_id', line(undefined)],
    ['a custom_id that is no text', 'names no custom_id', line(7)],
    ['the custom_id of another', 'has the custom_id of a line before it', line('good')],
    ['the long custom_id of another', 'has the custom_id of a line before it', line('x'.repeat(300))],
    ['another method', 'must have the method POST', line('x', { method: 'GET' })],
    ['no url', 'must have a url that begins with /v1/', line('x', { url: undefined })],
    ['a url elsewhere', 'must have a url that begins with /v1/', line('x', { url: 'https://other.example/v1/' })],
    ['too many values', 'must have at most 200000 JSON values', line('x', { x: Array(200_000).fill(0) })],
    ['too many bytes', 'has more than 8388608 bytes', line('x', { x: 'y'.repeat(8 * MIB) })],
  ])('with %s is refused with its number', async (_, rule, text) => {
    const file = [line('good'), line('x'.repeat(300)), '', text, line('last')].join('\n');
    expect(await upload(await formOf(file))).toEqual(broken(`line 4 of the file ${rule}`));
    expect(got?.ended).toBe(false);
  });
});

describe('a form', () => {
  test.each([
    [
      'without its end',
      'the form must end with its boundary',
      (text: string) => text.slice(0, text.lastIndexOf('\r\n--')),
    ],
    [
      'with a field twice',
      'the form must have the field once',
      (text: string) => text.replace('name="file"', 'name="purpose"'),
    ],
  ])('%s is refused, and the vendor does not get its end', async (_, message, change) => {
    const { type, bytes } = await formOf(line('a'));
    const form = { type, bytes: encoder.encode(change(new TextDecoder().decode(bytes))) };
    for (const declares of [true, false]) {
      expect(await upload(form, [], declares)).toMatchObject({ status: 400, error: { code: 'BAD_REQUEST', message } });
      expect(got?.ended).toBe(false);
    }
  });

  test('that is larger than the largest file is refused before it is read', async () => {
    const response = await worker.fetch('https://callmeter.test/v1/files', {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${tenant.key}`,
        'Content-Type': 'multipart/form-data; boundary=b',
        'Content-Length': String(FILE_BODY_BYTES_MAX + 1),
      },
    });
    expect(response.status).toBe(413);
    expect(got).toBeNull();
  });

  test('that is empty is refused', async () => {
    const response = await worker.fetch('https://callmeter.test/v1/files', {
      method: 'POST',
      headers: { Authorization: `Bearer ${tenant.key}`, 'Content-Type': 'multipart/form-data; boundary=b' },
    });
    expect(response.status).toBe(400);
  });
});
