/**
 * `operator -- archive verify`: follows the pages of the verification to the end and reports its progress on standard
 * error. Ctrl+C stops it; it changes nothing.
 */
import { callOperation, type Data } from './operator-client.ts';
import type { Target } from './operator-target.ts';
import { pairs, section, show, table } from './table.ts';

/** The combined result of all pages. */
export interface Verified {
  days: number;
  rows: number;
  bytes: number;
  problems: Data<'verifyArchive'>['problems'];
}

export async function verifyAll(target: Target, tell: (line: string) => void): Promise<Verified> {
  const all: Verified = { days: 0, rows: 0, bytes: 0, problems: [] };
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query: Record<string, string> = cursor === undefined ? {} : { cursor };
    const { data } = await callOperation(target, 'verifyArchive', { query });
    all.days += data.days;
    all.rows += data.rows;
    all.bytes += data.bytes;
    all.problems.push(...data.problems);
    for (const { object, problem } of data.problems) tell(`${problem}  ${object}`);
    if (data.nextCursor !== null) tell(`verified ${show(all.days)} days, ${show(all.rows)} rows, up to ${data.at}`);
    cursor = data.nextCursor;
  }
  return all;
}

export function showVerified({ days, rows, bytes, problems }: Verified): string {
  const sums = pairs({ Days: days, Rows: rows, Bytes: bytes, Problems: problems.length });
  if (problems.length === 0) return sums;
  const columns = {
    Object: ({ object }: Verified['problems'][number]) => object,
    Problem: ({ problem }: Verified['problems'][number]) => problem,
    Detail: ({ detail }: Verified['problems'][number]) => detail,
  };
  return `${sums}\n${section('Problems', table(problems, columns))}`;
}
