/**
 * The rows of the console's mappings: what they show is what is stored, and an error is at its row.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Fields } from '../../src/console/context.ts';
import { atRow, mappingsBody, movedUp, rowValues, storedRows, submittedRows } from '../../src/console/mapping-rows.ts';
import { CAPABILITIES } from '../../src/contract/model-lookup.ts';
import { SetModelsRequest } from '../../src/contract/model-mappings.ts';
import { SWITCH_SOURCES } from '../../src/domain/model-mappings.ts';

test("the rows of the console's form, sent as they are shown, are the mappings", () => {
  const names = fc.stringMatching(/^[a-z0-9][a-z0-9./-]{0,30}$/).filter((name) => !name.startsWith('service/'));
  const entries = fc.array(
    fc.oneof(
      names,
      fc
        .record(
          {
            model: names,
            switchTo: fc.constantFrom(...SWITCH_SOURCES),
            switchDaysBefore: fc.nat(365),
            maxPriceIncreasePercent: fc.integer({ min: 0, max: 100_000 }).map((hundredths) => hundredths / 100),
            requiredCapabilities: fc.subarray([...CAPABILITIES]),
            memory: fc.option(names),
          },
          {
            requiredKeys: ['model', 'switchTo', 'switchDaysBefore', 'maxPriceIncreasePercent', 'requiredCapabilities'],
          },
        )
        .map(({ memory, ...entry }) => ({
          ...entry,
          ...(memory != null && { switchedFrom: memory, switchedAt: '2026-12-31T00:00:00.000Z' }),
        })),
    ),
    { maxLength: 6 },
  );
  const aliases = fc.dictionary(
    fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,20}$/).filter((name) => !['standard', 'premium'].includes(name)),
    entries.filter((list) => list.length > 0),
    { maxKeys: 4, noNullPrototype: true },
  );
  fc.assert(
    fc.property(fc.record({ standard: entries, premium: entries, aliases }), (mappings) => {
      // A browser does not send a group of boxes that are all empty.
      const filled = Object.entries(rowValues(storedRows(mappings))).filter(([, value]) => value !== '');
      const shown = Object.fromEntries(filled) as Fields;
      expect(SetModelsRequest.parse(mappingsBody(submittedRows(shown, mappings)))).toEqual(mappings);
    }),
  );
});

const ALIASES: Fields = {
  'aliases.0.alias': 'cheap',
  'aliases.0.model': 'a/one',
  'aliases.1.alias': 'fast.v2',
  'aliases.1.model': 'a/two',
  'aliases.2.alias': '',
  'aliases.2.model': '',
  'aliases.3.alias': 'cheap',
  'aliases.3.model': 'a/three',
};

test('an error of an alias is at its row, and one of a list at the list', () => {
  const rows = submittedRows(ALIASES, null);
  const at = (path: string) => atRow(rows, { path, message: 'm' }).path;
  expect(at('aliases.cheap.1')).toBe('aliases.2.model');
  expect(at('aliases.cheap.1.switchDaysBefore')).toBe('aliases.2.switchDaysBefore');
  expect(at('aliases.fast.v2.0.model')).toBe('aliases.1.model');
  expect(at('aliases.fast.v2')).toBe('aliases.1.alias');
  expect(at('aliases')).toBe('aliases');
  expect(at('standard.3')).toBe('standard.3.model');
  expect(at('standard.3.switchTo')).toBe('standard.3.switchTo');
});

test('a row without a policy is a model alone, and a policy without its source is refused at that field', () => {
  const typed = { 'standard.0.model': ' a/one ', 'standard.1.model': 'a/two', 'standard.1.switchDaysBefore': '7' };
  const body = mappingsBody(submittedRows(typed, null));
  expect(body.standard).toEqual(['a/one', { model: 'a/two', switchDaysBefore: 7, requiredCapabilities: [] }]);
  expect(SetModelsRequest.safeParse(body).error?.issues.map(({ path }) => path.join('.'))).toEqual(['standard.1']);
});

test('a row moves up with all its fields, and the first one stays', () => {
  const moved = mappingsBody(submittedRows(movedUp(ALIASES, 'aliases', 1), null)).aliases;
  expect(Object.entries(moved)).toEqual([
    ['fast.v2', ['a/two']],
    ['cheap', ['a/one', 'a/three']],
  ]);
  expect(movedUp(ALIASES, 'aliases', 0)).toEqual(ALIASES);
});
