/**
 * Promise: a search in SQLite finds exactly the texts that contain the searched one, in any case and script.
 */
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { lowerCase, soughtForms } from '../../src/domain/case-search.ts';
import { CHARACTER } from '../support/characters.ts';

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
  fc.string({ unit: CHARACTER, minLength: 1, maxLength: 1 }).filter((text) => text !== '\0'),
);
const word = fc.array(character, { maxLength: 4 }).map((characters) => characters.join(''));
const sought = fc.array(character, { minLength: 1, maxLength: 3 }).map((characters) => characters.join(''));

/** Texts of the table that contain a form. */
function containing(form: string): string[] {
  const rows = db.prepare('SELECT lower FROM texts WHERE INSTR(lower, ?) > 0').all(form);
  return rows.map(({ lower }) => String(lower)).sort();
}

test('a search finds exactly the texts that contain its folded form', () => {
  fc.assert(
    fc.property(sought, fc.array(fc.tuple(fc.boolean(), word, word), { maxLength: 12 }), (search, words) => {
      const texts = words.map(([contains, before, after]) => lowerCase(contains ? before + search + after : before));
      db.exec('DELETE FROM texts');
      for (const text of texts) db.prepare('INSERT INTO texts (lower) VALUES (?)').run(text);
      const form = lowerCase(search);
      expect(containing(form)).toEqual(texts.filter((text) => text.includes(form)).sort());
    }),
    { numRuns: 500 },
  );
});

test('a part is found in any case', () => {
  fc.assert(
    fc.property(word, sought, word, (before, part, after) => {
      expect(lowerCase(before + part + after)).toContain(lowerCase(part));
      expect(soughtForms(part)).toContain(lowerCase(part));
    }),
  );
});

test('names that SQLite stored in lower case are still found: ASCII letters in any case, others as written', () => {
  fc.assert(
    fc.property(word, sought, word, (before, part, after) => {
      const kept = String(db.prepare('SELECT LOWER(?) AS lower').get(before + part + after)?.lower);
      expect(soughtForms(part).some((form) => kept.includes(form))).toBe(true);
    }),
  );
});
