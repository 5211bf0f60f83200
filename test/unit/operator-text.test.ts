/**
 * Tables of the command line: if rows add up, their last line is an exact total, which says what it is the sum of.
 */
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/operator-commands.ts';
import { inspectCustomer } from '../../src/cli/operator-views.ts';
import { counts, dollars, firstRows, table } from '../../src/cli/table.ts';

interface Row {
  name: string;
  calls: number | null;
  nano: string | null;
}
const COLUMNS = {
  Name: ({ name }: Row) => name,
  Calls: counts(({ calls }: Row) => calls),
  Cost: dollars(({ nano }: Row) => nano),
};
const lastLine = (text: string) => text.split('\n').at(-1)?.split(/ {2,}/);
const row = (name: string, calls: number | null, nano: string | null): Row => ({ name, calls, nano });

function printList(noun: string, items: object[]): string {
  const list = COMMANDS.find((command) => command.noun === noun && command.verb === 'list');
  return list?.view({ items, nextCursor: null } as never) ?? '';
}

describe('a total', () => {
  test('is below the sizes of databases and of samples', () => {
    const database = { name: 'DB', organizations: 2, bytes: 1_500, growthBytesPerDay: null, fullAt: null };
    expect(lastLine(printList('databases', [database, { ...database, growthBytesPerDay: 7 }]))).toEqual([
      ...['Total', '4', '3,000', '7'],
    ]);
    const sample = { sampleId: 's', receivedAt: '2026-11-28T00:00:00.000Z', payloadBytes: 400 };
    expect(lastLine(printList('samples', [sample, sample]))).toEqual(['Total', '800']);
  });

  test('is exact to the nano-USD, also of amounts that a number cannot hold', () => {
    const rows = [row('a', 1, '9007199254740993000000001'), row('b', 2, '100000000'), row('c', 3, '200000000')];
    expect(lastLine(table(rows, COLUMNS))).toEqual(['Total', '6', '$9007199254740993.300000001']);
  });

  test('counts what is known, and a loss as one; nothing known is not zero', () => {
    const rows = [row('a', null, null), row('b', 1_500, '-2500000000'), row('c', 1, '1')];
    expect(lastLine(table(rows, COLUMNS))).toEqual(['Total', '1,501', '-$2.499999999']);
    const unknown = [row('a', null, null), row('b', null, null)];
    expect(lastLine(table(unknown, COLUMNS))).toEqual(['Total', '-', '-']);
  });

  test('of one row, of no row, and of columns that do not add up is not printed', () => {
    expect(table([row('a', 1, '1')], COLUMNS)).not.toContain('Total');
    expect(table([], COLUMNS)).toBe('(none)');
    expect(table([row('a', 1, '1'), row('b', 1, '1')], { Name: COLUMNS.Name })).not.toContain('Total');
  });

  test('of the rows on a page says so, if there are more', () => {
    const rows = [row('a', 1, '1'), row('b', 1, '1')];
    expect(lastLine(table(rows, COLUMNS, { hasMore: true }))?.[0]).toBe('Total of these 2');
    const list = COMMANDS.find(({ noun, verb }) => noun === 'calls' && verb === 'list');
    const call = { callId: 'c', costUsdNano: '1500000000', inputTokens: 4, responseTokens: 2, chargedUsdNano: null };
    const lists = (nextCursor: string | null) => list?.view({ items: [call, call], nextCursor } as never) ?? '';
    expect(lastLine(lists('more'))).toEqual(['Total of these 2', '8', '4', '$3', '-']);
    expect(lastLine(lists(null))?.[0]).toBe('Total');
  });

  test('includes the rows that only --json has', () => {
    const rows = Array.from({ length: 12 }, (_, index) => row(`n${index}`, 1, '1'));
    const [total, more] = firstRows(rows, COLUMNS).split('\n').slice(-2);
    expect(total?.split(/ {2,}/)).toEqual(['Total of all 12', '12', '$0.000000012']);
    expect(more).toBe('2 more in --json');
  });
});

test('in customers show, changes add up for each unit, and an id of a call is followed by its model', () => {
  const entry = (unit: string, amount: string, id: string | null, kind = 'call') => ({
    ...{ entryId: 1, at: 'then', unit, cause: 'SPEND', amount, balance: '0', creditId: null, reference: null },
    subject: id === null ? null : { kind, id },
  });
  const shown = inspectCustomer({
    customerId: 'alice',
    subscription: { planName: 'Pro' },
    meters: {},
    wallet: { balanceUsd: '0', heldUsd: '0', unsettledUsd: '0', availableUsd: '0', units: {}, openCharges: 0 },
    outbox: { pending: 0 },
    failedCharges: [],
    credits: [],
    recentCalls: [{ callId: 'dk-1', modelUsed: 'gpt-6-luna', costUSD: 0.1 }],
    ledger: [entry('USD', '-0.1', 'dk-1'), entry('USD', '-0.2', 'dk-2'), entry('CUSTOM1', '-5', 'e-1', 'meter_event')],
  } as never);
  expect(shown).toMatch(/^ {2}Total +-\$0\.3, -5 CUSTOM1$/m);
  expect(shown).toMatch(/ dk-1 +call of gpt-6-luna$/m);
  expect(shown).toMatch(/ dk-2 +call$/m);
  expect(shown).toMatch(/ e-1 +increment$/m);
});
