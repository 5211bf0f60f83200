/**
 * The parts of a form are found wherever its bytes are cut, and they are those that Node finds in the whole.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundaryOf, type FormEvent, FormScanner } from '../../src/platform/multipart.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Contents of line ends, dashes and beginnings of boundaries. */
const content = fc.string({
  unit: fc.constantFrom('a', '\r', '\n', '-', '\r\n', '\r\n--', '\r\n--bound', 'é', '👋'),
  maxLength: 12,
});
const name = fc.string({ unit: fc.constantFrom('file', 'purpose', 'x', ' '), minLength: 1, maxLength: 3 });
const parts = fc.array(fc.record({ name, content, isFile: fc.boolean() }), { maxLength: 5 });
/** What stands before the first boundary, and behind the last. */
const preamble = fc.constantFrom('', '\r\n', 'x\r\n', '-\r\n\r\n');
const epilogue = fc.constantFrom('', '\r\n', '\r\n--bound');
const cuts = fc.array(fc.nat(2_000), { maxLength: 30 });

async function formOf(fields: readonly { name: string; content: string; isFile: boolean }[]) {
  const data = new FormData();
  for (const { name, content, isFile } of fields)
    data.append(name, isFile ? new File([content], 'a file.jsonl') : content);
  const response = new Response(data);
  const type = response.headers.get('Content-Type') ?? '';
  return { type, bytes: new Uint8Array(await response.arrayBuffer()) };
}

function cutAt(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const ends = [...new Set(at.map((cut) => cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.slice(ends[index - 1] ?? 0, end));
}

/** What the scanner finds, with the content of each part in one text. Each chunk is overwritten once it was taken. */
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
        const { type, bytes } = await formOf(fields);
        const expected: unknown[] = [];
        for (const [name, value] of (await new Response(bytes, {
          headers: { 'Content-Type': type },
        }).formData()) as never as [string, string | File][])
          expected.push({ name, content: typeof value === 'string' ? value : await value.text(), isWhole: true });
        const around = new Uint8Array(Buffer.concat([Buffer.from(before), bytes, Buffer.from(behind)]));
        const { bytes: read, ...scanned } = scan(boundaryOf(type) ?? '', cutAt(around, at));
        expect(scanned).toEqual({ found: expected, broken: null, isComplete: true });
        // What is no content is told as well: together that is the form.
        expect(read.equals(around)).toBe(true);
      }),
    );
  });

  test('that ends early is not complete, wherever it ends', async () => {
    const { type, bytes } = await formOf([
      { name: 'purpose', content: 'batch', isFile: false },
      { name: 'file', content: '{}\r\n{}', isFile: true },
    ]);
    const boundary = boundaryOf(type) ?? '';
    // Behind the last boundary stand two dashes and the end of the line.
    for (let length = 0; length < bytes.length - 2; length += 1)
      expect([length, scan(boundary, [bytes.slice(0, length)]).isComplete]).toEqual([length, false]);
    expect(scan(boundary, [bytes.slice(0, -2)]).isComplete).toBe(true);
  });

  test.each([
    ['parts', 'must have at most 100 parts', '--b\r\n\r\n\r\n'.repeat(101)],
    ['headers', 'must have at most 16384 bytes of headers in each part', `--b\r\nX: ${'x'.repeat(20_000)}`],
    ['bytes behind a boundary', 'must be multipart/form-data', `--b${'x'.repeat(200)}`],
    ['a boundary whose line ends otherwise', 'must be multipart/form-data', '--bx\n\r\n'],
  ])('with too many %s is broken', (_, rule, text) => {
    for (const size of [1, 7, text.length]) {
      const bytes = encoder.encode(text);
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.slice(index * size, (index + 1) * size),
      );
      expect(scan('b', chunks).broken).toBe(rule);
    }
  });
});

test('a boundary is read with and without quotes', () => {
  expect(
    ['; boundary=abc', ';boundary="a b"; x=y', '; x=y; Boundary=abc;z', '; boundary=', '', '; xboundary=a'].map(
      (rest) => boundaryOf(`multipart/form-data${rest}`),
    ),
  ).toEqual(['abc', 'a b', 'abc', null, null, null]);
});
