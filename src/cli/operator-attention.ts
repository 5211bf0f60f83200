/**
 * The items that need attention, on the command line.
 */
import type { Data } from './operator-client.ts';
import { show, table } from './table.ts';

export function showAttention({ items, notRead, lookedAt }: Data<'readAttention'>): string {
  const covered = `${lookedAt.isMore ? 'the first ' : ''}${show(lookedAt.organizations)} organizations`;
  const found =
    items.length === 0
      ? `Nothing needs attention: ${covered} and the service were looked at.`
      : `${table(items, {
          Count: ({ count, isMore }) => `${show(count)}${isMore ? '+' : ''}`,
          Of: ({ organizationName }) => organizationName ?? 'the service',
          'What it is': ({ meaning }) => meaning,
        })}\n\nLooked at: ${covered} and the service.`;
  const unread = [...new Set(notRead.map(({ kind }) => kind))];
  return unread.length === 0 ? found : `${found}\nNot read now: ${unread.join(', ')}.`;
}
