/**
 * The fields of a form are read as vendors' clients write them, and a changed form differs in the changed fields alone.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFormBody } from '../../src/platform/form-body.ts';
import { parseBoundary } from '../../src/platform/multipart.ts';
import { buildForm } from '../support/forms.ts';

const BYTES_MAX = 1024 * 1024;
/** The fields that clients repeat. */
const REPEATED = ['names', 'tags', 'x'];

async function read(form: FormData, bytesMax = BYTES_MAX) {
  const request = new Request('https://example.com', { method: 'POST', body: form });
  return readFormBody(request, parseBoundary(request.headers.get('Content-Type') ?? '') ?? '', bytesMax, REPEATED);
}

async function whole(form: FormData) {
  const result = await read(form);
  if (!result.ok) throw new Error('the form is whole');
  return result;
}

async function readEntries(bytes: Uint8Array, contentType: string) {
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType } }).formData();
  return Promise.all(
    [...form].map(async ([name, value]) => [name, value instanceof File ? await value.text() : value] as const),
  );
}

describe('the fields of a form', () => {
  test('are text, lists, objects and files', async () => {
    const file = new File(['12345'], 'a.wav', { type: 'audio/wav' });
    const { fields } = await whole(
      buildForm([
        ['model', 'whisper-1'],
        ['tags[]', 'web'],
        ['names', 'a'],
        ['names', 'b'],
        ['customer[customerId]', 'alice'],
        ['customer[customerName]', 'Alice'],
        ['__proto__[x]', 'y'],
        ['file', file],
        ['image[]', file],
      ]),
    );
    const asRead = {
      fileName: 'a.wav',
      contentType: 'audio/wav',
      bytes: 5,
      head: new TextEncoder().encode('12345'),
      content: expect.objectContaining({ length: 5 }),
    };
    expect(Object.entries(fields)).toEqual([
      ['model', 'whisper-1'],
      ['tags', ['web']],
      ['names', ['a', 'b']],
      ['customer', { customerId: 'alice', customerName: 'Alice' }],
      ['__proto__', { x: 'y' }],
      ['file', asRead],
      ['image', [asRead]],
    ]);
    expect(Object.getPrototypeOf(fields)).toBe(Object.prototype);
  });

  test('of a form without an end, without names or with too many bytes are refused', async () => {
    const headers = { 'Content-Type': 'multipart/form-data; boundary=b' };
    const send = (body: string, bytesMax = BYTES_MAX) =>
      readFormBody(new Request('https://example.com', { method: 'POST', headers, body }), 'b', bytesMax, REPEATED);
    const part = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n';
    expect(await send(part)).toMatchObject({ ok: false, broken: 'form', path: 'body' });
    expect(await send('--b\r\n\r\nx\r\n--b--')).toMatchObject({
      ok: false,
      rule: expect.stringContaining('plain headers'),
    });
    expect(await send(`${part}--b--`, 20)).toEqual({ ok: false, broken: 'bytes' });
    expect(await send(`${part}--b--`)).toMatchObject({ ok: true, fields: { a: 'x' } });
  });
});

describe('a field that comes twice', () => {
  const twice = (a: string, b: string) =>
    read(
      buildForm([
        [a, '1'],
        ['other', '1'],
        [b, '2'],
      ]),
    );

  test.each([
    ['model', 'model', 'model'],
    ['n', 'n', 'n[]'],
    ['n', 'n[]', 'n'],
    ['n', 'n', 'N'],
    ['Model', 'Model', 'model'],
    ['a', 'a[b]', 'a[b]'],
    ['a', 'a[b]', 'a[]'],
    ['a', 'a[]', 'a[b]'],
    ['a', 'a[b]', 'a'],
    ['a', 'a[]', 'A[]'],
    ['tags', 'tags', 'tags[]'],
    ['tags', 'tags', 'Tags'],
  ])('is refused by the name %s, as %s and %s', async (path, a, b) => {
    expect(await twice(a, b)).toEqual({ ok: false, broken: 'form', path, rule: 'must be in the form once' });
  });

  test('is a list by its name, or if clients repeat it', async () => {
    expect(await twice('a[]', 'a[]')).toMatchObject({ ok: true, fields: { a: ['1', '2'] } });
    expect(await twice('tags', 'tags')).toMatchObject({ ok: true, fields: { tags: ['1', '2'] } });
    expect(await twice('a[b]', 'a[c]')).toMatchObject({ ok: true, fields: { a: { b: '1', c: '2' } } });
  });
});

test('a text is UTF-8, and ASCII if its headers name another encoding', async () => {
  const send = (type: string, bytes: readonly number[]) => {
    const head = `--b\r\nContent-Disposition: form-data; name="a"\r\nContent-Type: text/plain${type}\r\n\r\n`;
    const body = Buffer.concat([Buffer.from(head), Buffer.from(bytes), Buffer.from('\r\n--b--\r\n')]);
    return readFormBody(new Request('https://example.com', { method: 'POST', body }), 'b', BYTES_MAX, REPEATED);
  };
  const refused = { ok: false, path: 'a', rule: 'must be text in UTF-8' };
  expect(await send('', [0xc3, 0xa9])).toMatchObject({ ok: true, fields: { a: 'é' } });
  expect(await send('; charset=utf-8', [0xc3, 0xa9])).toMatchObject({ ok: true, fields: { a: 'é' } });
  expect(await send('; charset=ISO-8859-1', [0x61])).toMatchObject({ ok: true, fields: { a: 'a' } });
  expect(await send('; charset=ISO-8859-1', [0xc3, 0xa9])).toMatchObject(refused);
  expect(await send('', [0xe9])).toMatchObject(refused);
  // A byte order mark stays: some take it for a letter.
  expect(await send('', [0xef, 0xbb, 0xbf, 0x61])).toMatchObject({ ok: true, fields: { a: '\uFEFFa' } });
});

describe('a changed form', () => {
  const name = fc.constantFrom('model', 'tags[]', 'names', 'customer[customerId]', 'file', 'x[]', 'y');
  const field = fc.record({
    name,
    content: fc.string({ unit: fc.constantFrom('a', '\r\n', '--', 'é', '\0'), maxLength: 20 }),
    isFile: fc.boolean(),
  });

  test('is the form without what was left out, with the new model in its place, and all else in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(field, { maxLength: 8 }), async (made) => {
        const isList = ({ name }: { name: string }) => name === 'names' || name.endsWith('[]');
        const fields = made.filter(
          (one, at) => isList(one) || made.findIndex((other) => other.name === one.name) === at,
        );
        const { fields: before, body } = await whole(
          buildForm(fields.map(({ name, content, isFile }) => [name, isFile ? new File([content], 'f') : content])),
        );
        const { tags: _tags, customer: _customer, ...after } = before;
        const changed = body.changed(before, { ...after, model: 'new' });
        const base = ({ name }: { name: string }) => name.split('[')[0];
        const left = fields.filter((one) => !['tags', 'customer'].includes(base(one) ?? ''));
        const first = left.findIndex((one) => one.name === 'model');
        const expected = left
          .filter((one, at) => one.name !== 'model' || at === first)
          .map((one): [string, string] => [one.name, one.name === 'model' ? 'new' : one.content]);
        if (first < 0) expected.push(['model', 'new']);
        expect(await readEntries(changed, body.contentType)).toEqual(expected);
      }),
    );
  });

  test('has the same hash of its files whatever else differs, and another if a file does', async () => {
    const hashForm = async (model: string, content: string) =>
      (
        await whole(
          buildForm([
            ['model', model],
            ['file', new File([content], 'f')],
          ]),
        )
      ).body.filesHash();
    expect(await hashForm('a', 'x')).toBe(await hashForm('b', 'x'));
    expect(await hashForm('a', 'x')).not.toBe(await hashForm('a', 'y'));
  });
});
