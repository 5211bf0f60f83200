/**
 * A file passes to the vendor byte for byte while the lines of a batch are checked, but for the models that the vendor
 * calls otherwise: however the upload is cut into chunks, the same lines are found, and the vendor never gets the end of
 * a form that is refused.
 */
import fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { FILE_BODY_BYTES_MAX, PART_BODY_BYTES_MAX } from '../../src/contract/gateway/requests.ts';
import type { Tenant } from '../support/api.ts';
import { buildForm, encodeForm } from '../support/forms.ts';
import { BASE_URL, mockVendor, newTenant } from '../support/gateway.ts';
import { operator, worker } from '../support/worker.ts';

mockVendor();

const MIB = 1_024 * 1_024;
const encoder = new TextEncoder();

let tenant: Tenant & { key: string };
beforeAll(async () => {
  tenant = await mapped(['anthropic/claude-haiku-4-5', 'GPT-4o', 'gpt-4o-mini'], ['openai/gpt-from-tomorrow']);
});

async function mapped(standard: string[], premium: string[]) {
  const made = await newTenant();
  const params = { org: made.organizationId };
  const aliases = { drafts: ['anthropic/claude-haiku-4-5', 'openai/gpt-5.2'] };
  expect((await operator.send('setModels', { params, body: { standard, premium, aliases } })).status).toBe(200);
  return made;
}

/** The bytes that the vendor got in the last upload, and whether they came to a regular end. */
let got: { bytes: Uint8Array<ArrayBuffer>; ended: boolean; type: string | null } | null;
beforeEach(() => {
  got = null;
  vi.mocked(globalThis.fetch).mockImplementation(async (url, init) => {
    const { method, headers, body, signal } = init as unknown as Passed;
    expect(method).toBe('POST');
    expect([`${BASE_URL}/files`, `${BASE_URL}/uploads/upload_1/parts`]).toContain(String(url));
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

type Order = 'file first' | 'purpose first' | 'no purpose';

function uploadForm(file: string | Uint8Array<ArrayBuffer>, purpose = 'batch', order: Order = 'purpose first') {
  const filePart = ['file', new File([file], 'input.jsonl')] as const;
  const purposePart = ['purpose', purpose] as const;
  const orders = {
    'purpose first': [purposePart, filePart],
    'file first': [filePart, purposePart],
    'no purpose': [filePart],
  };
  return encodeForm(buildForm(orders[order]));
}

/** Uploads the form in chunks that are cut at the numbers, with or without a declared length. */
async function upload(
  { type, bytes }: Form,
  cuts: readonly number[] = [],
  declares = true,
  { key } = tenant,
  path = '/v1/files',
) {
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
  const response = await worker.fetch(`https://callmeter.test${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': type },
    body: readable,
  });
  const { error } = await response.json<{ error?: { code: string; message: string; param: string | null } }>();
  await sent;
  return { status: response.status, ...(error && { error }) };
}

const line = (custom_id: unknown, more: object = {}) =>
  JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body: { model: 'gpt-5.2' }, ...more });
/** A line that asks for more, of another model. */
const asking = (more: object, model = 'gpt-5.2') => line('x', { body: { model, ...more } });
const ENDPOINT_RULE =
  'must have a url of /v1/chat/completions, /v1/responses, /v1/embeddings, /v1/completions, /v1/moderations, /v1/images/generations, /v1/images/edits';
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
          const form = await uploadForm(texts.join(lineEnd), 'batch', order as Order);
          const first = kinds.findIndex(([kind]) => kind === 'bad') + 1;
          const answer = await upload(form, cuts, declares);
          if (first === 0) {
            expect(answer).toEqual({ status: 200 });
            expect(got).toEqual({ ...form, ended: true });
            return;
          }
          expect(answer).toEqual(broken(`line ${first} of the file is no JSON`));
          expect(got?.ended).toBe(false);
          // The received bytes are the beginning of the form: its last boundary, which two dashes follow, is not
          // complete.
          const { bytes } = got ?? { bytes: new Uint8Array() };
          expect(bytes).toEqual(form.bytes.slice(0, bytes.length));
          expect(bytes.length).toBeLessThan(form.bytes.length - 2);
        },
      ),
      { numRuns: 100 },
    );
  });

  test.each([
    ['random bytes', crypto.getRandomValues(new Uint8Array(60_000))],
    ['a line that is too long', new Uint8Array(9 * MIB).fill(0x20)],
    ['lines that a batch could have', joinBytes(`${line('a')}\n${line('b')}\n`)],
  ])('of another purpose has no lines, and passes unchanged: %s', async (_, bytes) => {
    for (const order of ['file first', 'purpose first', 'no purpose'] as const) {
      const form = await uploadForm(bytes, 'user_data', order);
      expect(await upload(form, [1, 200, 30_000])).toEqual({ status: 200 });
      expect(got).toMatchObject({ type: form.type, ended: true });
      expect(got?.bytes.length).toBe(form.bytes.length);
      expect(form.bytes.findIndex((byte, at) => byte !== got?.bytes[at])).toBe(-1);
    }
  });

  test('of 50,000 lines passes, and not with one more', async () => {
    const lines = Array.from({ length: 50_000 }, (_, index) => line(`line-${index}`));
    expect(await upload(await uploadForm(lines.join('\n')))).toEqual({ status: 200 });
    expect(await upload(await uploadForm([...lines, line('one more')].join('\n')))).toEqual(
      broken('the file has more than 50000 lines'),
    );
    lines[39_999] = '{"custom_id":';
    expect(await upload(await uploadForm(lines.join('\n')))).toEqual(broken('line 40000 of the file is no JSON'));
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
    ['no url', ENDPOINT_RULE, line('x', { url: undefined })],
    ['a url elsewhere', ENDPOINT_RULE, line('x', { url: 'https://other.example/v1/' })],
    ['a url that no batch has', ENDPOINT_RULE, line('x', { url: '/v1/audio/speech' })],
    ['a url whose answers say nothing of their usage', ENDPOINT_RULE, line('x', { url: '/v1/videos' })],
    ['a streamed answer', 'must not have stream: its answer is one line of a file', asking({ stream: true })],
    [
      'an answer in the background',
      'must not have background: what a background response uses would not be known',
      asking({ background: true }),
    ],
    ['too many values', 'must have at most 200000 JSON values', line('x', { x: Array(200_000).fill(0) })],
    ['too many bytes', 'has more than 8388608 bytes', line('x', { x: 'y'.repeat(8 * MIB) })],
  ])('with %s is refused with its number', async (_, rule, text) => {
    const file = [line('good'), line('x'.repeat(300)), '', text, line('last')].join('\n');
    expect(await upload(await uploadForm(file))).toEqual(broken(`line 4 of the file ${rule}`));
    expect(got?.ended).toBe(false);
  });

  test('may say that it does not stream, at each endpoint of batches', async () => {
    const urls = ['chat/completions', 'responses', 'embeddings', 'completions', 'moderations', 'images/generations'];
    const body = { model: 'gpt-5.2', stream: false, background: null };
    const form = await uploadForm(urls.map((url) => line(url, { url: `/v1/${url}`, body })).join('\n'));
    expect(await upload(form)).toEqual({ status: 200 });
    expect(got).toEqual({ ...form, ended: true });
  });
});

describe('the model of a line', () => {
  test.each([
    ['service/standard', 'gpt-4o-2024-08-06'],
    ['service/premium', 'gpt-from-tomorrow'],
    ['service/drafts', 'gpt-5.2'],
    ['openai/gpt-5.2', 'gpt-5.2'],
    ['openai/ft:gpt-4o-mini:acme::x', 'ft:gpt-4o-mini:acme::x'],
    ['openai/anthropic/claude', 'anthropic/claude'],
    ['GPT-4o-mini', 'gpt-4o-mini-2024-07-18'],
    // As the vendor calls it, or as only the vendor knows it.
    ['gpt-4o', 'gpt-4o'],
    ['gpt-3.5-turbo-0301', 'gpt-3.5-turbo-0301'],
    ['ft:gpt-4o-mini:acme::x', 'ft:gpt-4o-mini:acme::x'],
    ['gpt-unheard-of', 'gpt-unheard-of'],
  ])('%s reaches the vendor as %s', async (model, sent) => {
    const buildFile = (name: string) => `${line('first')}\n${asking({}, name)}\n${line('last')}`;
    expect(await upload(await uploadForm(buildFile(model)))).toEqual({ status: 200 });
    expect(new TextDecoder().decode(got?.bytes)).toContain(`\r\n\r\n${buildFile(sent)}\r\n--`);
  });

  test.each([
    ['anthropic/claude-haiku-4-5', 'is at anthropic, and batches run at openai'],
    ['claude-haiku-4-5', 'is at anthropic, and batches run at openai'],
    ['gemini/gemini-2.5-flash', 'is at google, and batches run at openai'],
    ['acme/model', 'is at acme, and batches run at openai'],
    ['service/other', 'is not known; no model is mapped to it'],
    ['openai/', 'is not known; name it as provider/model'],
    ['Not A Vendor/x', 'is not known; name it as provider/model'],
  ])('%s is refused with the number of the line', async (model, reason) => {
    const file = [line('first'), '', asking({}, model), asking({}, 'acme/other')].join('\n');
    const message = `line 3 of the file cannot run: the model ${JSON.stringify(model)} ${reason}`;
    for (const order of ['purpose first', 'file first'] as const) {
      expect(await upload(await uploadForm(file, 'batch', order))).toEqual(broken(message));
      expect(got?.ended).toBe(false);
    }
  });

  test('is refused if nothing at the vendor is mapped to it', async () => {
    // Standard models that stand in for premium ones are for calls that are downgraded.
    for (const [standard, model, reason] of [
      [[], 'service/premium', 'is at anthropic, google, and batches run at openai'],
      [['openai/gpt-4o-mini'], 'service/premium', 'is at anthropic, google, and batches run at openai'],
      [[], 'service/standard', 'is not known; no model is mapped to it'],
    ] as const) {
      const from = await mapped([...standard], ['anthropic/claude-opus-4-5', 'google/gemini-2.5-pro']);
      const answer = await upload(await uploadForm(asking({}, model)), [], true, from);
      expect(answer).toEqual(broken(`line 1 of the file cannot run: the model "${model}" ${reason}`));
    }
  });

  test.each([
    ['a name that is too long', 'names a model with more than 330 characters', asking({}, `openai/${'x'.repeat(330)}`)],
    ['two bodies', 'must have each name once', asking({}, 'service/standard').replace('{', '{"body":{},')],
    [
      'two models',
      'must have each name once',
      asking({}, 'service/standard').replace('"body":{', '"body":{"mod\\u0065l":"gpt-5.2",'),
    ],
    ['a double of its own', 'must have each name once', asking({}, 'gpt-5.2').replace('{', '{"custom_id":"b",')],
    [
      'a double deep within',
      'must have each name once',
      asking({ a: [{ b: 1 }] }, 'gpt-5.2').replace('"b":1', '"b":1,"b":2'),
    ],
    ['a model in capitals', 'must have each name once', asking({ Model: 'gpt-4o' }, 'gpt-5.2')],
    ['a body in capitals', 'must have each name once', asking({}, 'gpt-5.2').replace('{', '{"Body":{},')],
  ])('with %s is refused', async (_, rule, text) => {
    expect(await upload(await uploadForm(text))).toEqual(broken(`line 1 of the file ${rule}`));
  });

  test('is one that the API key is for: another is skipped in a mapping, and refused by its line', async () => {
    const body = { name: 'limited', models: ['gpt-4o-mini', 'ft:own'] };
    const { key } = (await operator.send('createKey', { params: { org: tenant.organizationId }, body })).data;
    const limited = { ...tenant, key };
    const file = ['service/standard', 'openai/gpt-4o-mini', 'ft:own'].map((model, n) =>
      line(n.toString(), { body: { model } }),
    );
    expect(await upload(await uploadForm(file.join('\n')), [], true, limited)).toEqual({ status: 200 });
    const text = new TextDecoder().decode(got?.bytes);
    expect([...text.matchAll(/"model":"([^"]*)"/g)].map(([, model]) => model)).toEqual([
      'gpt-4o-mini',
      'gpt-4o-mini',
      'ft:own',
    ]);
    for (const model of ['gpt-5.2', 'openai/gpt-4o', 'gpt-unheard-of', 'service/premium']) {
      const rule = `the model "${model}" is not allowed: the API key is limited to the models gpt-4o-mini, ft:own`;
      const form = await uploadForm([line('first', { body: { model: 'gpt-4o-mini' } }), asking({}, model)].join('\n'));
      expect(await upload(form, [], true, limited)).toEqual(broken(`line 2 of the file cannot run: ${rule}`));
      expect(got?.ended).toBe(false);
    }
  });

  test('is replaced in a batch alone: another file is refused that comes before its purpose', async () => {
    const file = [line('first'), asking({}, 'service/standard')].join('\n');
    const plain = await uploadForm(file, 'user_data');
    expect(await upload(plain)).toEqual({ status: 200 });
    expect(got).toEqual({ ...plain, ended: true });
    const message =
      'purpose must come before the file, whose line 2 names the model "service/standard": only in a batch is it replaced';
    for (const order of ['file first', 'no purpose'] as const) {
      expect(await upload(await uploadForm(file, 'user_data', order))).toEqual(broken(message, 'purpose'));
      expect(got?.ended).toBe(false);
    }
  });

  test('is all that changes in the bytes of a file, however it is cut', async () => {
    const names = [
      ['service/standard', 'gpt-4o-2024-08-06'],
      ['service/premium', 'gpt-from-tomorrow'],
      ['openai/gpt-5.2', 'gpt-5.2'],
      ['gpt-5.2', 'gpt-5.2'],
      ['gpt-unheard-of', 'gpt-unheard-of'],
    ] as const;
    const space = fc.stringMatching(/^[ \t]{0,2}$/);
    const members = [
      '"seed":9223372036854775807',
      '"n":1.0e0',
      '"x":"\\"model\\":\\"service/standard\\" é👋"',
      '"y":{"model":"service/standard","body":{"model":"openai/z"}}',
      '"z":[[],{},"}","\\\\",{"model":1}]',
      // Not UTF-8.
      new Uint8Array([0x22, 0x77, 0x22, 0x3a, 0x22, 0xff, 0xc3, 0x22]),
    ];
    /** Each once, before and after another member. */
    const around = fc
      .tuple(fc.shuffledSubarray(members), fc.nat(3))
      .map(([some, before]) => [some.slice(0, before), some.slice(before)] as const);
    const randomLine = fc.record({
      name: fc.constantFrom(...names),
      escaped: fc.boolean(),
      gaps: fc.tuple(space, space, space, space),
      beside: around,
      inBody: around,
      isEmpty: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(randomLine, { maxLength: 8 }),
        fc.array(fc.nat(5_000), { maxLength: 30 }),
        fc.constantFrom<Order[]>('file first', 'purpose first'),
        fc.constantFrom('\n', '\r\n', '\n\n'),
        fc.boolean(),
        async (lines, cuts, order, lineEnd, declares) => {
          const buildFile = (which: 0 | 1) =>
            joinBytes(
              ...lines.flatMap(({ name, escaped, gaps: [a, b, c, d], beside: [before, after], inBody }, index) => {
                const quoted = JSON.stringify(name[which]);
                const isReplaced = name[0] !== name[1];
                const written = escaped && (which === 0 || !isReplaced) ? quoted.replace('-', '\\u002d') : quoted;
                return [
                  ...[index === 0 ? '' : lineEnd, `${a}{"custom_id":"${index}","method":"POST",`],
                  ...['"url":"/v1/responses",', ...list(before), `"body"${b}:${c}{`, ...list(inBody[0])],
                  ...[`"model"${d}:${a}${written}${b}`, ...list(inBody[1], true), `}${c}`, ...list(after, true)],
                  `}${d}`,
                ];
              }),
            );
          const form = await uploadForm(buildFile(0), 'batch', order);
          expect(await upload(form, cuts, declares)).toEqual({ status: 200 });
          const expected = spliced(form.bytes, buildFile(0), buildFile(1));
          expect(got).toEqual({ type: form.type, bytes: expected, ended: true });
        },
      ),
      { numRuns: 200 },
    );
  });
});

/** Members with a comma behind each, or before each. */
const list = (members: readonly (string | Uint8Array)[], comesLast = false) =>
  members.flatMap((member) => (comesLast ? [',', member] : [member, ',']));

function joinBytes(...parts: readonly (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(parts.flatMap((part) => [...(typeof part === 'string' ? encoder.encode(part) : part)]));
}

/** The bytes with one part of them replaced by another. */
function spliced(bytes: Uint8Array, part: Uint8Array, other: Uint8Array): Uint8Array {
  const isAt = (at: number) => part.every((byte, index) => bytes[at + index] === byte);
  // Behind the headers of a file.
  let at = 0;
  while (!isAt(at)) at += 1;
  return part.length === 0 ? bytes : joinBytes(bytes.slice(0, at), other, bytes.slice(at + part.length));
}

describe('a form', () => {
  test.each([
    [
      'without its end',
      'the form must end with its boundary',
      (text: string) => text.slice(0, text.lastIndexOf('\r\n--')),
    ],
    [
      'with a field twice',
      'the form must have the field once, under this name',
      (text: string) => text.replace('name="file"', 'name="purpose"'),
    ],
    [
      'with a field in another spelling',
      'the form must have the field once, under this name',
      (text: string) => text.replace('name="file"', 'name="Purpose[]"'),
    ],
  ])('%s is refused, and the vendor does not get its end', async (_, message, change) => {
    const { type, bytes } = await uploadForm(line('a'));
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

describe('a part of an upload', () => {
  const PARTS = '/v1/uploads/upload_1/parts';

  test('reaches the vendor byte for byte, however it is cut, and its lines are not looked at', async () => {
    for (const file of [crypto.getRandomValues(new Uint8Array(60_000)), '{"custom_id":']) {
      const form = await uploadForm(file);
      for (const declares of [true, false]) {
        expect(await upload(form, [1, 200, 30_000], declares, tenant, PARTS)).toEqual({ status: 200 });
        expect(got).toEqual({ ...form, ended: true });
      }
    }
  });

  test('without the end of its form is refused, and the vendor does not get an end', async () => {
    const { type, bytes } = await uploadForm('x');
    const form = { type, bytes: bytes.slice(0, -10) };
    for (const declares of [true, false]) {
      expect(await upload(form, [], declares, tenant, PARTS)).toEqual(
        broken('the form must end with its boundary', null),
      );
      expect(got?.ended).toBe(false);
    }
  });

  test('of more than 64 MiB is refused, before it is read if it declares that', async () => {
    const bytes = new Uint8Array(PART_BODY_BYTES_MAX + 1);
    bytes.set(encoder.encode('--b\r\nContent-Disposition: form-data; name="data"; filename="a"\r\n\r\n'));
    const larger = { type: 'multipart/form-data; boundary=b', bytes };
    const tooLarge = { status: 413, error: expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }) };
    expect(await upload(larger, [], true, tenant, PARTS)).toEqual(tooLarge);
    expect(got).toBeNull();
    expect(await upload(larger, [], false, tenant, PARTS)).toEqual(tooLarge);
    expect(got?.ended).not.toBe(true);
  });
});
