/**
 * Promise: a search by range finds in SQLite exactly the texts that begin with what is sought, whatever the case and
 * the script.
 */
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { endOfPrefix, lowerCase, soughtForms } from '../../src/domain/case-search.ts';

const db = new DatabaseSync(':memory:');
db.exec('CREATE TABLE texts (lower text NOT NULL)');
afterAll(() => db.close());

const character = fc.oneof(
  fc.constantFrom(
    'a',
    'A',
    'b',
    'Z',
    '%',
    '_',
    'ß',
    'Ü',
    'ü',
    'Σ',
    'σ',
    'ς',
    'İ',
    '\ud7ff',
    '\ue000',
    '\uffff',
    '😀',
    '\u{10ffff}',
  ),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((text) => text !== '\0'),
);
const word = fc.array(character, { maxLength: 4 }).map((characters) => characters.join(''));
const sought = fc.array(character, { minLength: 1, maxLength: 3 }).map((characters) => characters.join(''));

/** Texts of the table in the range of a form. */
function inRange(form: string): string[] {
  const end = endOfPrefix(form);
  const rows =
    end === null
      ? db.prepare('SELECT lower FROM texts WHERE lower >= ?').all(form)
      : db.prepare('SELECT lower FROM texts WHERE lower >= ? AND lower < ?').all(form, end);
  return rows.map(({ lower }) => String(lower)).sort();
}

test('a search range contains exactly the texts that begin with its folded form', () => {
  fc.assert(
    fc.property(sought, fc.array(fc.tuple(fc.boolean(), word), { maxLength: 12 }), (search, words) => {
      const texts = words.map(([begins, text]) => lowerCase(begins ? search + text : text));
      db.exec('DELETE FROM texts');
      for (const text of texts) db.prepare('INSERT INTO texts (lower) VALUES (?)').run(text);
      const form = lowerCase(search);
      expect(inRange(form)).toEqual(texts.filter((text) => text.startsWith(form)).sort());
    }),
    { numRuns: 500 },
  );
});

test('a prefix is found in any case', () => {
  fc.assert(
    fc.property(sought, word, (beginning, rest) => {
      expect(lowerCase(beginning + rest).startsWith(lowerCase(beginning))).toBe(true);
      expect(soughtForms(beginning)).toContain(lowerCase(beginning));
    }),
  );
});

test('names that SQLite stored in lower case are still found: ASCII letters in any case, others as written', () => {
  fc.assert(
    fc.property(sought, word, (beginning, rest) => {
      const kept = String(db.prepare('SELECT LOWER(?) AS lower').get(beginning + rest)?.lower);
      expect(soughtForms(beginning).some((form) => kept.startsWith(form))).toBe(true);
    }),
  );
});

test.each([
  ['a', 'b'],
  ['\u{d7ff}', '\u{e000}'],
  ['a\u{10ffff}', 'b'],
  ['\u{10ffff}', null],
])('the range of prefix %j ends at %j', (prefix, end) => {
  expect(endOfPrefix(prefix)).toBe(end);
});
