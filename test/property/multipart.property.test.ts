/**
 * The parts of a form are found wherever its bytes are cut, and equal those that Node finds in the whole. A form that
 * readers could read differently is broken, wherever it is cut.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type FormEvent, FormScanner, parseBoundary } from '../../src/platform/multipart.ts';
import { buildForm, encodeForm } from '../support/forms.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Contents of line ends, dashes and beginnings of boundaries. */
const content = fc.string({
  unit: fc.constantFrom('a', '\r', '\n', '-', '\r\n', '\r\n--', '\r\n--bound', 'é', '👋'),
  maxLength: 12,
});
const name = fc.string({ unit: fc.constantFrom('file', 'purpose', 'x', '[]', '.'), minLength: 1, maxLength: 3 });
const parts = fc.array(fc.record({ name, content, isFile: fc.boolean() }), { maxLength: 5 });
/** The bytes before the first boundary, and after the last. */
const preamble = fc.constantFrom('', '\r\n', '\r\n\r\n');
const epilogue = fc.constantFrom('', '\r\n', '\r\n--bound', 'x');
const cuts = fc.array(fc.nat(2_000), { maxLength: 30 });

function encodeParts(fields: readonly { name: string; content: string; isFile: boolean }[]) {
  return encodeForm(
    buildForm(
      fields.map(({ name, content, isFile }) => [name, isFile ? new File([content], 'a file.jsonl') : content]),
    ),
  );
}

function cutAt(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const ends = [...new Set(at.map((cut) => cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.slice(ends[index - 1] ?? 0, end));
}

/** The scanner's events, with the content of each part in one text. Each chunk is overwritten after it was taken. */
function scan(boundary: string, chunks: readonly Uint8Array[]) {
  const scanner = new FormScanner(boundary);
  const found: { name: string | null; content: string; isWhole: boolean }[] = [];
  const contents: Uint8Array[][] = [];
  const all: Uint8Array[] = [];
  let broken: string | null = null;
  const take = (event: FormEvent) => {
    const last = found.at(-1);
    if ('bytes' in event) all.push(event.bytes.slice());
    if (event.kind === 'part') {
      found.push({ name: event.name, content: '', isWhole: false });
      contents.push([]);
    } else if (event.kind === 'content') contents.at(-1)?.push(event.bytes.slice());
    else if (event.kind === 'partEnd' && last) last.isWhole = true;
    else if (event.kind === 'broken') broken = event.rule;
  };
  for (const chunk of chunks) {
    for (const event of scanner.push(chunk)) take(event);
    chunk.fill(0x2d);
  }
  for (const [index, part] of found.entries()) part.content = decoder.decode(Buffer.concat(contents[index] ?? []));
  return { found, broken, isComplete: scanner.isComplete, bytes: Buffer.concat(all) };
}

describe('a form', () => {
  test('has the parts that Node finds in it, however it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(parts, cuts, preamble, epilogue, async (fields, at, before, behind) => {
        const { type, bytes } = await encodeParts(fields);
        const expected: unknown[] = [];
        for (const [name, value] of (await new Response(bytes, {
          headers: { 'Content-Type': type },
        }).formData()) as never as [string, string | File][])
          expected.push({ name, content: typeof value === 'string' ? value : await value.text(), isWhole: true });
        const around = new Uint8Array(Buffer.concat([Buffer.from(before), bytes, Buffer.from(behind)]));
        const { bytes: read, ...scanned } = scan(parseBoundary(type) ?? '', cutAt(around, at));
        expect(scanned).toEqual({ found: expected, broken: null, isComplete: true });
        // The scanner also reports the other bytes: together they are the form up to its last boundary.
        expect(decoder.decode(read)).toBe(before + decoder.decode(bytes));
      }),
    );
  });

  test('that ends early is not complete, wherever it ends', async () => {
    const { type, bytes } = await encodeParts([
      { name: 'purpose', content: 'batch', isFile: false },
      { name: 'file', content: '{}\r\n{}', isFile: true },
    ]);
    const boundary = parseBoundary(type) ?? '';
    // Behind the last boundary stand two dashes and the end of the line.
    for (let length = 0; length < bytes.length - 2; length += 1)
      expect([length, scan(boundary, [bytes.slice(0, length)]).isComplete]).toEqual([length, false]);
    expect(scan(boundary, [bytes.slice(0, -2)]).isComplete).toBe(true);
  });

  const PLAIN = expect.stringContaining('plain headers');
  const named = 'Content-Disposition: form-data; name="n"';
  const part = (head: string, content = '1') => `--b\r\n${head}\r\n\r\n${content}\r\n`;
  const END = '--b--\r\n';

  test.each([
    ['too many parts', 'must have at most 100 parts', part(named).repeat(101)],
    ['too many headers', 'must have at most 16384 bytes of headers in each part', `--b\r\nX: ${'x'.repeat(20_000)}`],
    ['bytes behind a boundary', 'must be multipart/form-data', `--bx\r\n${named}\r\n\r\n1\r\n${END}`],
    ['blanks behind a boundary', 'must be multipart/form-data', `--b \r\n${named}\r\n\r\n1\r\n${END}`],
    ['a boundary whose line ends otherwise', 'must be multipart/form-data', `--b\n${named}\n\n1\n${END}`],
    ['bytes before its first boundary', 'must begin with its boundary', `x\r\n${part(named)}${END}`],
    ['a bare line end before its first boundary', 'must begin with its boundary', `\n${part(named)}${END}`],
    ...['1\n--b', '1\r--b', '1--b', '--b', '\r\n---b'].map((content) => [
      `the content ${JSON.stringify(content)}`,
      'must not have its boundary within a part',
      part(named, content) + END,
    ]),
    ...[
      '',
      'X: y',
      'Content-Disposition: form-data',
      'Content-Disposition: form-data; name=""',
      'Content-Disposition: attachment; name="n"',
      `${named}; x="; name=junk"`,
      `${named}; filename="a; name=\\"n\\""`,
      `${named}; filename="a\\"`,
      `${named}; filename=""`,
      `${named}; filename*=utf-8''a`,
      `${named}; name="m"`,
      `${named}; name*=utf-8''m`,
      "Content-Disposition: form-data; name*=utf-8''n",
      'Content-Disposition: form-data; x="y"; name="n"',
      'Content-Disposition: form-data; filename="name="; name="n"',
      'Content-Disposition: form-data; Name="n"',
      'Content-Disposition: form-data; name = "n"',
      'Content-Disposition: form-data; name="n',
      "Content-Disposition: form-data; name='n'",
      'Content-Disposition: form-data; name="n "',
      'Content-Disposition: form-data; name="\\n"',
      'Content-Disposition: form-data; name="%6e"',
      'Content-Disposition: form-data; name="\u00f1"',
      'Content-Disposition: form-data; name="_charset_"',
      'Content-Disposition: form-data;\r\n name="n"',
      'Content-Disposition : form-data; name="n"',
      ' Content-Disposition: form-data; name="n"',
      `${named}\r\nContent-Disposition: form-data; name="m"`,
      `${named}\r\ncontent-disposition: form-data; name="n"`,
      `${named}\nContent-Disposition: form-data; name="m"`,
      `${named}\rX: y`,
      `${named}\0`,
      `${named}\t`,
      `${named}; filename="a\u2028b"`,
      `X: y\u0085Content-Disposition: form-data; name="m"\r\n${named}`,
      `${named}\r\nContent-Transfer-Encoding: base64`,
      `${named}\r\nContent-Transfer-Encoding: quoted-printable`,
      `${named}\r\nContent-Type: text/plain; charset=utf-16`,
      `${named}\r\nContent-Type: application/octet-stream`,
      `${named}; filename="a"\r\nContent-Type: multipart/mixed; boundary=c`,
    ].map((head) => [`the headers ${JSON.stringify(head)}`, PLAIN, part(head) + END]),
  ])('with %s is broken', (_, rule, text) => {
    for (const size of [1, 7, text.length]) {
      const bytes = encoder.encode(text);
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.slice(index * size, (index + 1) * size),
      );
      expect(scan('b', chunks).broken).toEqual(rule);
    }
  });

  test.each([
    ['curl', 'Content-Disposition: form-data; name="file"; filename="a b.wav"\r\nContent-Type: audio/wav'],
    ['undici', 'Content-Disposition: form-data; name="file"; filename="C:\\a%22.wav"\r\nContent-Type: audio/wav'],
    ['requests', 'Content-Disposition: form-data; name="file"; filename="\u00e4; x.wav"'],
    [
      'OkHttp',
      'Content-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: audio/wav; codecs="1"\r\nContent-Length: 1',
    ],
    [
      "Apache's HttpClient",
      'Content-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: audio/wav\r\nContent-Transfer-Encoding: binary',
    ],
    [
      '.NET',
      "Content-Type: audio/wav\r\nContent-Disposition: form-data; name=file; filename=a.wav; filename*=utf-8''a.wav",
    ],
  ])('of %s is read', (_, head) => {
    const { found, broken } = scan('b', [encoder.encode(part(head) + END)]);
    expect([broken, found]).toEqual([null, [{ name: 'file', content: '1', isWhole: true }]]);
  });

  test.each([
    ['', ''],
    ['x', ''],
    ['\n', ''],
    ['\r\n', '\r\n'],
    ['\r\r\n', ''],
    [`\r\n${part('X: y')}`, '\r\n'],
  ])('ends with its last boundary: of %j behind it %j passes', (behind, passed) => {
    for (const cut of [0, 1, 2]) {
      const [form, rest] = [encoder.encode(`${part(named)}--b--${behind.slice(0, cut)}`), behind.slice(cut)];
      const { bytes, isComplete } = scan('b', [form, encoder.encode(rest)]);
      expect([decoder.decode(bytes), isComplete]).toEqual([`${part(named)}--b--${passed}`, true]);
    }
  });
});

test('a boundary is read if all readers take it for the same', () => {
  const read = [
    '; boundary=abc',
    ';boundary="a b"',
    '; charset=UTF-8; Boundary=abc',
    '; boundary=a+b; charset="utf-8"',
  ];
  expect(read.map((rest) => parseBoundary(`multipart/form-data${rest}`))).toEqual(['abc', 'a b', 'abc', 'a+b']);
  const refused = [
    '',
    '; boundary=',
    '; boundary=""',
    '; xboundary=a',
    '; boundary=a; boundary=b',
    '; boundary=a, multipart/form-data; boundary=b',
    '; boundary=a; x=y',
    '; boundary=a;',
    '; boundary="a\\"b"',
    '; boundary="a ',
    '; boundary="a "',
    '; boundary=a/b',
    "; boundary*=utf-8''a",
    '; charset=utf-16; boundary=a',
    `; boundary=${'a'.repeat(71)}`,
  ];
  for (const rest of refused) expect([rest, parseBoundary(`multipart/form-data${rest}`)]).toEqual([rest, null]);
  expect(parseBoundary('multipart/mixed; boundary=a')).toBe(null);
});
