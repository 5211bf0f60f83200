/**
 * The archive, for operators: its days, and whether their objects are unchanged since they were written.
 */

import { badRequest, refuse } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import { asOrganizationId } from '../domain/ids.ts';
import { findArchivedDays, type HistoryDay } from '../history/archive/days.ts';
import { type VerifyPlace, verifyArchive as verifyStep } from '../history/archive/verify.ts';
import { parseJson } from '../platform/json.ts';
import { encodeCursor, makePage } from '../platform/page.ts';
import { utcDay } from '../platform/time.ts';
import { list } from './operation.ts';

const noArchive = () => refuse('NOT_FOUND', 'there is no archive, because no bucket is bound as ARCHIVE');
const badCursor = () => badRequest({ path: 'cursor', message: 'must be the nextCursor of an earlier page' });

export const listArchive = list(operations.listArchive, async ({ env, page: { after, limit } }) => {
  if (!env.ARCHIVE) return noArchive();
  const from = after === null ? null : parseHistoryDay(after);
  if (after !== null && !from) return badCursor();
  const days = await findArchivedDays(env, from, limit + 1);
  const page = makePage(days, limit, ({ organizationId, dayMs }) => `${dayMs} ${organizationId}`);
  const items = page.items.map(({ organizationId, dayMs, archivedRows, archivedAtMs }) => ({
    organizationId,
    day: utcDay(dayMs),
    rows: archivedRows,
    archivedAt: new Date(archivedAtMs).toISOString(),
  }));
  return { ...page, items };
});

function parseHistoryDay(text: string): HistoryDay | null {
  const [, dayMs, organizationId] = /^(\d{1,15}) (\S+)$/.exec(text) ?? [];
  return dayMs === undefined || organizationId === undefined
    ? null
    : { organizationId: asOrganizationId(organizationId), dayMs: Number(dayMs) };
}

/** One page: the next days, or a part of a large day. */
export const verifyArchive = list(operations.verifyArchive, async ({ env, page: { after } }) => {
  if (!env.ARCHIVE) return noArchive();
  const place = after === null ? { after: null, within: null } : parseVerifyPlace(after);
  if (!place) return badCursor();
  const { next, ...step } = await verifyStep(env, place);
  return { ...step, nextCursor: next === null ? null : encodeCursor(formatVerifyPlace(next)) };
});

function formatVerifyPlace({ after, within }: VerifyPlace): string {
  const dayParts = (day: HistoryDay | undefined | null) => (day ? [day.organizationId, day.dayMs] : null);
  return JSON.stringify([
    dayParts(after),
    within && [...(dayParts(within.day) ?? []), within.object, within.member, within.rows, within.sha256],
  ]);
}

/** `null` if the text is not a place that `formatVerifyPlace` made. */
function parseVerifyPlace(text: string): VerifyPlace | null {
  const json = parseJson(text);
  if (!json.ok || !Array.isArray(json.value)) return null;
  const [after, within] = json.value as [unknown[] | null, unknown[] | null];
  const readDay = (values: unknown[]): HistoryDay | null => {
    const [organizationId, dayMs] = values;
    return typeof organizationId === 'string' && Number.isSafeInteger(dayMs) && isTime(dayMs as number)
      ? { organizationId: asOrganizationId(organizationId), dayMs: dayMs as number }
      : null;
  };
  const afterDay = Array.isArray(after) ? readDay(after) : null;
  if (after !== null && !afterDay) return null;
  if (within === null) return { after: afterDay, within: null };
  if (!Array.isArray(within)) return null;
  const [object, member, rows, sha256] = within.slice(2);
  const day = readDay(within);
  const isWhole =
    [member, rows].every(Number.isSafeInteger) && [object, sha256].every((part) => typeof part === 'string');
  return day && isWhole
    ? {
        after: afterDay,
        within: {
          day,
          object: object as string,
          member: member as number,
          rows: rows as number,
          sha256: sha256 as string,
        },
      }
    : null;
}

const isTime = (ms: number) => !Number.isNaN(new Date(ms).getTime());
