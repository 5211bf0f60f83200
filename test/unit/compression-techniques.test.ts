/**
 * The effect of each technique by aggressiveness, and the text that it leaves alone because it may be meant.
 */
import { describe, expect, test } from 'vitest';
import { compressText } from '../../src/compression/compress.ts';
import { TECHNIQUES, type TechniqueName } from '../../src/compression/techniques.ts';

const by = (techniques: readonly TechniqueName[], text: string, aggressiveness = 1) =>
  compressText(text, { techniques, aggressiveness, protectedPhrases: [], minInputTokens: 0 }).text;

describe('whitespace', () => {
  test.each([
    ['a  \nb\t\nc', 'a\nb\nc'],
    ['a\r\nb', 'a\nb'],
    ['a\n\n\n\nb', 'a\n\nb'],
    ['a\n \t\n\nb', 'a\n\nb'],
    ['\n\na\n\n', 'a'],
    ['a    b   c', 'a b c'],
    ['a `b`    c', 'a `b` c'],
    // Indentation and columns mean something.
    ['def f():\n    return 1', 'def f():\n    return 1'],
    ['a\t\tb', 'a\t\tb'],
    ['    a  b', '    a b'],
  ])('%j becomes %j', (text, expected) => {
    expect(by(['whitespace'], text)).toBe(expected);
  });

  test.each([0, 0.69])('at %d only white space between instructions goes', (aggressiveness) => {
    const instructions = 'You are an agent.  Be brief.  \n\n\nBe kind to all.';
    expect(by(['whitespace'], instructions, aggressiveness)).toBe('You are an agent. Be brief.\n\nBe kind to all.');
    expect(by(['whitespace'], 'a    b  \n\n\nc', aggressiveness)).toBe('a    b  \n\n\nc');
  });
});

describe('decoration', () => {
  test.each([
    ['==========', '==='],
    ['| a |\n|--------|\n| b |', '| a |\n|---|\n| b |'],
    ['wait.......', 'wait...'],
    ['Stop!!! Why???', 'Stop! Why?'],
    ['This is **very** bold', 'This is very bold'],
    // Names, keys, operators and levels.
    ['-----BEGIN KEY-----', '-----BEGIN KEY-----'],
    ['__init__ and #### four', '__init__ and #### four'],
    ['a ?? b and 2**3 and 4**5', 'a ?? b and 2**3 and 4**5'],
    ['a ** b ** c', 'a ** b ** c'],
  ])('%j becomes %j', (text, expected) => {
    expect(by(['decoration'], text)).toBe(expected);
  });

  test.each([
    [0, 'Stop!!! **now** ====='],
    [0.69, 'Stop!!! **now** ====='],
    [0.7, 'Stop! now ==='],
  ])('at %d', (aggressiveness, expected) => {
    expect(by(['decoration'], 'Stop!!! **now** =====', aggressiveness)).toBe(expected);
  });
});

describe('politeness', () => {
  test.each([
    ['Please summarize this.', 'Summarize this.'],
    ['Could you please summarize this?', 'Summarize this?'],
    ['Read it and please answer.', 'Read it and answer.'],
    ['If it fails, please stop.', 'If it fails, stop.'],
    ['- Please do it', '- Do it'],
    ['Please use `x`.', 'Use `x`.'],
    ['Please `x` it.', '`x` it.'],
    ['Answer briefly, please.', 'Answer briefly.'],
    ['please please please please stop', 'stop'],
    ['Answer it.\n\nThank you very much in advance!', 'Answer it.\n\n'],
    ['I hope you’re doing well. Answer it.', 'Answer it.'],
    ['It must be 0. Thanks in advance.', 'It must be 0. '],
    ['1. Greet.\n2. Thank you.', '1. Greet.\n2. Thank you.'],
    ['Hello,\nanswer it.', '\nanswer it.'],
    ['I would like you to act as a judge.', 'Act as a judge.'],
    ['Please iPhone me', 'iPhone me'],
    // Text that may be meant stays.
    ['Always say please and thank you to users.', 'Always say please and thank you to users.'],
    ['Please and thank you are polite words.', 'Please and thank you are polite words.'],
    ['Do not use the word please.', 'Do not use the word please.'],
    ['Can you swim?', 'Can you swim?'],
    ['Write to please@example.com or please-reply/now', 'Write to please@example.com or please-reply/now'],
    ['Translate this: Thank you.', 'Translate this: Thank you.'],
    ['Translate this:\nThank you.', 'Translate this:\nThank you.'],
    ['Good day.\nThank you.\nGood bye.', 'Good day.\nThank you.\nGood bye.'],
    ['Translate:\n- Hello\n- Thank you', 'Translate:\n- Hello\n- Thank you'],
    ['"Please answer" is a title', '"Please answer" is a title'],
  ])('%j becomes %j', (text, expected) => {
    expect(by(['politeness'], text)).toBe(expected);
  });

  test.each(['Thank you!', 'Hello', 'Thanks.'])(
    'a text of only %j is kept: no model accepts an empty prompt',
    (text) => {
      expect(by(TECHNIQUES, text)).toBe(text);
    },
  );

  test.each([
    [0, 'Hi!\nI want you to act. Please answer.'],
    [0.69, 'Hi!\nI want you to act. Please answer.'],
    [0.7, '\nAct. Answer.'],
  ])('at %d', (aggressiveness, expected) => {
    expect(by(['politeness'], 'Hi!\nI want you to act. Please answer.', aggressiveness)).toBe(expected);
  });
});

describe('filler', () => {
  test.each([
    ['In order to win, act.', 'To win, act.'],
    ['It failed due to the fact that it rained.', 'It failed because it rained.'],
    ['It is important to note that users are children.', 'Users are children.'],
    ['This is a very new and really good idea.', 'This is a new and good idea.'],
    ['The very important idea is really good.', 'The important idea is good.'],
    ['A very important idea, an extremely good one.', 'A very important idea, an extremely good one.'],
    ['Basically, it works.', 'It works.'],
    // Another meaning, a denial, or part of a name.
    ['The derivative with respect to x', 'The derivative with respect to x'],
    ['It is not very good and isn’t really bad.', 'It is not very good and isn’t really bad.'],
    ['She is, as you know, tall.', 'She is, as you know, tall.'],
    ['the option in-order to-do', 'the option in-order to-do'],
    ['Read docs/prior to/x', 'Read docs/prior to/x'],
  ])('%j becomes %j', (text, expected) => {
    expect(by(['filler'], text)).toBe(expected);
  });

  test.each([
    [0.69, 'It is worth noting that it runs in order to win.'],
    [0.7, 'It runs to win.'],
  ])('at %d', (aggressiveness, expected) => {
    expect(by(['filler'], 'It is worth noting that it runs in order to win.', aggressiveness)).toBe(expected);
  });
});

test('filler from 0.3 is the published list, in instructions alone', () => {
  const text = 'You are a planner. In order to plan, use the tools.';
  const short = 'You are a planner. To plan, use the tools.';
  expect([0.29, 0.3, 0.69].map((aggressiveness) => by(['filler'], text, aggressiveness))).toEqual([text, short, short]);
  expect(by(['filler'], `Data: ${text}`, 0.3)).toBe(`Data: ${text}`);
});

describe('duplicates', () => {
  const RULE = 'Always answer in the language of the question.';

  test.each([
    ['a paragraph', `${RULE}\n\nBe short.\n\n${RULE}`, `${RULE}\n\nBe short.`],
    ['a paragraph, whatever the blank line', `${RULE}\n \n${RULE}\n\nEnd.`, `${RULE}\n\nEnd.`],
    [
      'a line, though one with code in it stays,',
      `${RULE}\nAlways use \`x\` for all of this and that.\nAlways use \`x\` for all of this and that.\n${RULE}`,
      `${RULE}\nAlways use \`x\` for all of this and that.\nAlways use \`x\` for all of this and that.`,
    ],
    ['a line', `${RULE}\nBe short.\n${RULE}\nEnd.`, `${RULE}\nBe short.\nEnd.`],
    ['case and punctuation', `${RULE}\nAlways answer - in the LANGUAGE of the question!`, RULE],
  ])('a repeated %s is removed', (_what, text, expected) => {
    expect(by(['duplicates'], text)).toBe(expected);
  });

  test.each([
    ['short lines', 'Yes, of course.\nYes, of course.'],
    ['records', '2026-01-01,error,disk full on node seven\n'.repeat(2)],
    ['indented lines', `- a\n    ${RULE}\n- b\n    ${RULE}`],
    ['lines with code in them', 'Always use `x` in the language of it.\n'.repeat(2)],
    ['lines that differ', `${RULE}\nAlways answer in the language of the answer.`],
  ])('%s stay', (_what, text) => {
    expect(by(['duplicates'], text)).toBe(text);
  });

  test.each([
    [0, `${RULE}\nB.\n${RULE}`, `${RULE}\nB.\n${RULE}`],
    [0.69, `${RULE}\nB.\n${RULE}`, `${RULE}\nB.\n${RULE}`],
    [0.7, `${RULE}\nB.\n${RULE}`, `${RULE}\nB.`],
    [0.7, `${RULE}\n\n${RULE.toUpperCase()}`, RULE],
  ])('at %d %j becomes %j', (aggressiveness, text, expected) => {
    expect(by(['duplicates'], text, aggressiveness)).toBe(expected);
  });
});

describe('json', () => {
  test.each([
    ['{ "a": 1,\n  "b": "x  y" }', '{"a":1,"b":"x  y"}'],
    ['See { "a": [ 1, 2 ], "b": null }!', 'See {"a":[1,2],"b":null}!'],
    // No token is respelled, so even a number that JavaScript cannot hold keeps its digits.
    ['{ "id": 12345678901234567890, "p": 1.10 }', '{"id":12345678901234567890,"p":1.10}'],
    ['{ "a": "first", "a": "second" }', '{"a":"first","a":"second"}'],
    ['{ "a": "\\u00e9 \\/ \\ud800" }', '{"a":"\\u00e9 \\/ \\ud800"}'],
    // Not JSON, or too short to be sure.
    ['- [ ] todo, see [1, 2]', '- [ ] todo, see [1, 2]'],
    ["{ 'a': 'single quotes here' }", "{ 'a': 'single quotes here' }"],
    ['{ "a": 1, "trailing": "comma", }', '{ "a": 1, "trailing": "comma", }'],
    ['{ "a": "a raw\nline break" }', '{ "a": "a raw\nline break" }'],
    ['{ "a": 1, "b": NaN, "cc": 22 }', '{ "a": 1, "b": NaN, "cc": 22 }'],
    ['```json\n{ "a": 1, "b": "x  y" }\n```', '```json\n{ "a": 1, "b": "x  y" }\n```'],
  ])('%j becomes %j', (text, expected) => {
    expect(by(['json'], text)).toBe(expected);
  });
});

describe('toon', () => {
  const rows = (...cells: string[]) =>
    `[${cells.map((cell, index) => `{"identifier":${index},"value":${cell}}`).join(',')}]`;
  const FENCED = '```toon\n[4]{identifier,value}:\n  0,1\n  1,2\n  2,3\n  3,4\n```';

  test.each([
    [rows('1', '2', '3', '4'), FENCED],
    [`Data: ${rows('1', '2', '3', '4')} Sum it.`, `Data: \n${FENCED}\n Sum it.`],
    [`<data>\n${rows('1', '2', '3', '4')}\n</data>`, `<data>\n${FENCED}\n</data>`],
  ])('%j becomes %j', (text, expected) => {
    expect(by(['toon'], text)).toBe(expected);
  });

  test.each([
    ['minus zero', rows('1', '2', '3', '-0')],
    ['a number beyond 2^53', rows('1', '2', '3', '9007199254740993')],
    ['a number beyond 2^53 that a double holds', rows('1', '2', '3', '9007199254740994')],
    ['more digits than a double has', rows('1', '2', '3', '0.1234567890123456789')],
    ['a number that would be spelled anew', rows('1', '2', '3', '1.0')],
    ['a member named twice', rows('1', '2', '3', '4,"value":5')],
    ['a member that JavaScript would move', rows('1', '2', '3', '{"b":1,"1":2}')],
    ['half a surrogate pair', rows('1', '2', '3', '"\\ud83d"')],
    ['a fence', rows('1', '2', '3', '"```"')],
    ['an expression around it', `f(${rows('1', '2', '3', '4')})`],
    ['an assignment', `x = ${rows('1', '2', '3', '4')};`],
    ['a tag in it', rows('1', '2', '3', '"<nocompress>"')],
    ['what would not be shorter', '{"a":{"b":{"c":1}}}'],
  ])('%s is left alone', (_what, text) => {
    expect(by(['toon'], text)).toBe(text);
  });

  test('only the values that get shorter are converted', () => {
    const text = `${rows('1', '2', '3', '4')}\n\n{"a":{"b":{"c":1}}}`;
    expect(by(['toon'], text)).toBe(`${FENCED}\n\n{"a":{"b":{"c":1}}}`);
  });

  test('a protected phrase within JSON prevents a conversion that would remove an occurrence', () => {
    const profile = { techniques: TECHNIQUES, aggressiveness: 1, minInputTokens: 0 };
    const text = rows('"Acme Corp"', '2', '3', '4');
    expect(compressText(text, { ...profile, protectedPhrases: ['Acme Corp'] }).text).toContain('  0,Acme Corp\n');
    expect(compressText(text, { ...profile, protectedPhrases: ['identifier'] }).text).toBe(text);
  });
});

test('only the requested techniques are applied and reported', () => {
  const text = 'Please   act in order to win!!!';
  const result = (techniques: TechniqueName[]) =>
    compressText(text, { techniques, aggressiveness: 1, protectedPhrases: [], minInputTokens: 0 });
  expect(result([])).toMatchObject({ text, techniques: [] });
  expect(result(['filler'])).toMatchObject({
    text: 'Please   act to win!!!',
    techniques: [{ name: 'filler', originalTokens: 8, compressedTokens: 6, savedTokens: 2 }],
  });
  expect(result([...TECHNIQUES]).text).toBe('Act to win!');
  expect(result([...TECHNIQUES]).techniques.map(({ name }) => name)).toEqual([
    'whitespace',
    'decoration',
    'politeness',
    'filler',
  ]);
});

test('a text below the minimum of tokens is unchanged', () => {
  const text = 'Please   summarize the report.';
  const at = (minInputTokens: number) =>
    compressText(text, { techniques: TECHNIQUES, aggressiveness: 1, protectedPhrases: [], minInputTokens });
  const { originalTokens } = at(0);
  expect(at(originalTokens).text).toBe('Summarize the report.');
  expect(at(originalTokens + 1)).toEqual({ text, originalTokens, compressedTokens: originalTokens, techniques: [] });
});

test('a text of more than four million characters is unchanged', () => {
  const text = 'Say it.  '.repeat(444_444);
  expect(by(['whitespace'], text).length).toBeLessThan(text.length);
  expect(by(['whitespace'], `${text}12345`)).toBe(`${text}12345`);
});
