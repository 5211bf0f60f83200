/**
 * The form of a day's object: lines of JSON, one for each row, in gzip members of a bounded number of lines. Any gunzip
 * reads the whole; a reader who knows the start of a member can read that member alone.
 */
import type { HistoryRow } from './days.ts';

/** Lines of one member: the amount that is unpacked to read one call. */
export const MEMBER_ROWS_MAX = 1_000;
/** Characters after which a member ends early. */
export const MEMBER_LENGTH_MAX = 4 * 1024 * 1024;

/** A row as its line, with the line end. The record stays unchanged. */
export function formatRow({ kind, id, customerId, atMs, revision, record }: HistoryRow): string {
  const head = JSON.stringify({ kind, id, customerId, atMs, revision });
  return `${head.slice(0, -1)},"record":${record}}\n`;
}

/** Throws if `formatRow` did not make the line. */
export function parseRow(line: string): HistoryRow {
  const { record, ...row } = JSON.parse(line) as Omit<HistoryRow, 'record'> & { record: unknown };
  return { ...row, record: JSON.stringify(record) };
}

export async function compress(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return readBytes(new Blob([text]).stream().pipeThrough(new CompressionStream('gzip')));
}

/** The lines of a member, without their line ends. Throws if the bytes are not a complete member. */
export async function unpackLines(member: Uint8Array<ArrayBuffer>): Promise<string[]> {
  const bytes = await readBytes(new Blob([member]).stream().pipeThrough(new DecompressionStream('gzip')));
  const lines = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes).split('\n');
  if (lines.pop() !== '') throw new Error('the last line of a member has no end');
  return lines;
}

async function readBytes(stream: ReadableStream): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Whether `a` comes before `b`, as D1 orders text: by the bytes of UTF-8. */
export function compareText(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (let index = 0; index < left.length && index < right.length; index += 1) {
    const difference = (left[index]?.codePointAt(0) ?? 0) - (right[index]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
