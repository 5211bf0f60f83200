/**
 * The rows of a day, in their order: those that D1 has, and those of the archive that D1 no longer has. If both have a
 * row, the newer one counts. Rows of customers who were erased since are left out.
 */
import type { Env } from '../../env.ts';
import {
  type ArchiveErasure,
  findArchivedErasures,
  HISTORY_KINDS,
  type HistoryDay,
  type HistoryPlace,
  type HistoryRow,
  readHistory,
} from './days.ts';
import { type Manifest, readManifest, readMember } from './manifest.ts';
import { compareText, parseRow, unpackLines } from './members.ts';

type Rows = AsyncGenerator<HistoryRow[], void>;

/** Rows after a position, in groups of a bounded size. Fails if the archived day changes while it is read. */
export async function* dayRows(env: Env, day: HistoryDay, after: HistoryPlace | null = null): Rows {
  const erasures = await findArchivedErasures(env, day.organizationId);
  const manifest = env.ARCHIVE ? await readManifest(env, day) : null;
  const stored = rowsInD1(env, day, after);
  for await (const rows of manifest ? merged(rowsInArchive(env, day, manifest, after), stored) : stored)
    yield rows.filter((row) => !isErased(row, erasures));
}

async function* rowsInD1(env: Env, day: HistoryDay, after: HistoryPlace | null): Rows {
  for (let last = after; ; ) {
    const { rows, isLast } = await readHistory(env, day, last);
    if (rows.length > 0) yield rows;
    last = rows.at(-1) ?? null;
    if (isLast || last === null) return;
  }
}

async function* rowsInArchive(env: Env, day: HistoryDay, manifest: Manifest, after: HistoryPlace | null): Rows {
  for (const index of manifest.members.keys()) {
    const next = manifest.members[index + 1];
    if (after && next && comparePlaces({ kind: next.kind, atMs: next.fromMs, id: '' }, after) <= 0) continue;
    const rows = (await unpackLines(await readMember(env, day, manifest, index))).map(parseRow);
    yield after ? rows.filter((row) => comparePlaces(row, after) > 0) : rows;
  }
}

async function* merged(archived: Rows, stored: Rows): Rows {
  let [old, fresh] = [await take(archived), await take(stored)];
  while (old && fresh) {
    const rows: HistoryRow[] = [];
    let [i, j] = [0, 0];
    for (; i < old.length && j < fresh.length; ) {
      const [a, b] = [old[i] as HistoryRow, fresh[j] as HistoryRow];
      const order = comparePlaces(a, b);
      rows.push(order < 0 || (order === 0 && a.revision > b.revision) ? a : b);
      if (order <= 0) i += 1;
      if (order >= 0) j += 1;
    }
    if (rows.length > 0) yield rows;
    old = i < old.length ? old.slice(i) : await take(archived);
    fresh = j < fresh.length ? fresh.slice(j) : await take(stored);
  }
  for (let rows = old ?? fresh; rows; rows = await take(old ? archived : stored)) yield rows;
}

async function take(rows: Rows): Promise<HistoryRow[] | null> {
  const { done, value } = await rows.next();
  return done ? null : (value ?? null);
}

function comparePlaces(a: HistoryPlace, b: HistoryPlace): number {
  return HISTORY_KINDS.indexOf(a.kind) - HISTORY_KINDS.indexOf(b.kind) || a.atMs - b.atMs || compareText(a.id, b.id);
}

function isErased({ customerId, atMs }: HistoryRow, erasures: readonly ArchiveErasure[]): boolean {
  return erasures.some((erasure) => erasure.customerId === customerId && atMs < erasure.erasedAtMs);
}
