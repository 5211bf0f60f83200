/**
 * Protected spans are kept byte for byte: well written ones, malformed ones, and a megabyte of their marks.
 */
import { describe, expect, test } from 'vitest';
import { compressText } from '../../src/compression/compress.ts';
import { splitSegments } from '../../src/compression/segments.ts';
import { TECHNIQUES } from '../../src/compression/techniques.ts';
import { swept } from '../support/sweep.ts';

const compress = (text: string, protectedPhrases: string[] = []) =>
  compressText(text, { techniques: TECHNIQUES, aggressiveness: 1, protectedPhrases, minInputTokens: 0 }).text;
const protectedIn = (text: string, phrases: string[] = []) =>
  splitSegments(text, phrases)
    .filter(({ kind }) => kind === 'protected')
    .map((segment) => segment.text);

describe('a protected span', () => {
  test.each([
    ['a fence', '```py\nx  =  1   # please\n\n\n\n```'],
    ['a fence of tildes around a fence', '~~~\n```\na  b\n```\nc  d\n~~~'],
    ['a longer fence around a shorter one', '````\n```\na  b\n```\nc  d\n````'],
    ['a fence in a list', '- ```\n  a  b\n  ```'],
    ['a fence in a quotation', '> ```\n> a  b\n> ```'],
    ['a fence of JSON', '```json\n{ "a":  1, "b":   2 }\n```'],
    ['a fence that is never closed', '```\na  b\n\n\nplease  do'],
    ['inline code', '`a   b`'],
    ['inline code with a backtick in it', '``a ` b   c``'],
    ['a quotation', '"please   do"'],
    ['a quotation with escaped marks in it', '"say \\"hi   there\\" to   all"'],
    ['a quotation with JSON in it', '"use {"a":  "x   y"}   here"'],
    ['a quotation of JSON', '"[1,  2,  3,  4,  5,  6]"'],
    ['three marks, across paragraphs', '"""a   b\n\n\n\nc   "d   e" """'],
    ['typographic marks', '“please   do”'],
    ['single typographic marks with an apostrophe', '‘the dog’s   tail’'],
    ['German marks', '„please   do“'],
    ['guillemets', '«please   do»'],
    ['guillemets that point inwards', '»please   do«'],
    ['corner brackets', '「a   b」'],
    ['tags', '<nocompress>please   do!!!</nocompress>'],
    ['tags in tags', '<nocompress>a   <nocompress>b   </nocompress>c   d</nocompress>'],
    ['tags around an open quotation', '<nocompress>5   "</nocompress>'],
    ['tags in capitals', '<NoCompress>a   b</NOCOMPRESS>'],
    ['a tag that is never closed', '<nocompress>a   b\n\n\n\nplease   do'],
    ['an address', 'https://a.example/please!!!?q=very'],
  ])('%s', (_what, span) => {
    const text = `Please   read   this:\n\n\n${span}`;
    const expected = `Read this:\n\n${span}`;
    expect(compress(text)).toBe(expected);
    expect(protectedIn(text)).toEqual([span.replace(/^[->] /, '')]);
  });

  test('prose after it is compressed again', () => {
    for (const span of [
      '`a   b`',
      '"a   b"',
      '<nocompress>a   b</nocompress>',
      '<nocompress>"</nocompress>',
      '```\na   b\n```\n',
    ]) {
      expect(compress(`${span} quite   good`)).toBe(`${span} quite good`);
    }
  });

  test('marks inside tags do not pair with marks outside', () => {
    expect(compress('<nocompress>5 "</nocompress> he   said "quite   good" to   `a')).toBe(
      '<nocompress>5 "</nocompress> he said "quite   good" to `a',
    );
  });

  test('phrases are protected everywhere, case-sensitively', () => {
    expect(compress('Please act in   order to win very   much', ['in   order to', 'very   '])).toBe(
      'Act in   order to win very   much',
    );
    expect(compress('please   act', ['Please   act'])).toBe('act');
    expect(compress('a   b', [''])).toBe('a b');
  });
});

describe('text that is not a protected span', () => {
  test.each([
    ['an inch', 'a 5" pipe   and  a "real   one" here', 'a 5" pipe and a "real   one" here'],
    ['a mark without its partner', 'a " b   c', 'a " b c'],
    ['a mark whose partner is in another paragraph', 'a "b   c\n\nd   e" f', 'a "b c\n\nd e" f'],
    ['a backtick without its partner', 'a ` b   c', 'a ` b c'],
    ['a run of another length', 'a `` b   ` c', 'a `` b ` c'],
    ['an apostrophe', "the dog's   tail and the cat’s   tail", "the dog's tail and the cat’s tail"],
    ['a closing tag alone', 'a   b</nocompress> c   d', 'a b</nocompress> c d'],
  ])('%s', (_what, text, expected) => {
    expect(compress(text)).toBe(expected);
  });
});

test('a phrase stays if removing it would change the meaning of the marks after it', () => {
  // Without "Thanks. " the first mark would open a fence, the second would close it, and the last line would be prose.
  const text = 'Thanks. ```\n\na\n```\nkeep   this';
  expect(protectedIn(text)).toEqual(['```\nkeep   this']);
  expect(protectedIn(text.slice('Thanks. '.length))).toEqual(['```\n\na\n```']);
  expect(compress(text)).toBe(text);
});

test('a text that contains the mask itself keeps it', () => {
  expect(compress('a\uFFFC   `b   c`   \uFFFC\uFFFC   d')).toBe('a\uFFFC `b   c` \uFFFC\uFFFC d');
});

test('half a surrogate pair is kept', () => {
  expect(compress('Please   keep \ud83d   and \ude00   !')).toBe('Keep \ud83d and \ude00 !');
});

describe('hostile texts do not fail, do not get longer, and do not change when compressed again', () => {
  const check = (text: string) => {
    const once = compress(text);
    expect(once.length).toBeLessThanOrEqual(text.length);
    // The same text is compressed to the same again.
    if (once !== text) expect(compress(once)).toBe(once);
  };
  /** Alone, and within a line: a sample has a shorter one there, because the words around it change little of the cost. */
  const checkBoth = (unit: string, length: number) => {
    check(unit.repeat(Math.ceil(length / unit.length)));
    check(`x ${unit.repeat(Math.ceil(swept(length, length / 10) / unit.length))} x`);
  };

  // A quadratic step over a million characters takes minutes.
  test.each([' ', '`', '"', '{', '[', '\n', '-', 'a', '\ud800'])('a megabyte of %j', (unit) => {
    checkBoth(unit, 1_000_000);
  });

  test('nested more deeply than any recursion could follow', () => {
    check(`${'['.repeat(100_000)}"x"${']'.repeat(100_000)}`);
    check(`${'{"a":'.repeat(100_000)}"x"${'}'.repeat(100_000)}`);
    check(`${'<nocompress>'.repeat(100_000)}"x"${'</nocompress>'.repeat(99_999)}  x`);
  });

  test.each([
    '```\n',
    '~~~\n',
    '```a`',
    '`` ` ',
    '“',
    '‘a’b',
    '"a" ',
    '\\"',
    '"\\',
    '<nocompress>',
    '<nocompress></nocompress>',
    '</nocompress>',
    '{"a":',
    '["',
    '[1,',
    '{"a":"b"},',
    '[[[[[[[[1]]]]]]]]',
    '{"aaaaaaaaaaaaaa":1} ',
    'please ',
    'and please ',
    ', please',
    'thanks. ',
    'Hello\n',
    'very ',
    'in order to ',
    'www.',
    'a://',
    '**a',
    '** ',
    '!?',
    '-----x',
    '- -',
    '> ',
    '1. ',
    '   ```x',
    '\n ',
    '\r\n',
    '\t ',
    '\uFFFC',
    '中',
    'é',
    'A sentence that is said twice and more. ',
    'A sentence that is said twice and more.\n\n',
  ])('100 KB of %j', (unit) => {
    checkBoth(unit, 100_000);
  });
});
