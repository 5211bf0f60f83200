/**
 * Below 0.7 compression changes no sense: hundreds of prompts that are made to be misread, judged by a checker that
 * does not know how they were compressed; and the text that each technique must leave alone.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compressText } from '../../src/compression/compress.ts';
import { compressMessages } from '../../src/compression/messages.ts';
import { REWRITES } from '../../src/compression/rewrites.ts';
import { TECHNIQUES, type TechniqueName } from '../../src/compression/techniques.ts';
import { ADVERSARIAL } from '../compression/adversarial.ts';
import { publishedRewrites, senseChange } from '../compression/changes.ts';
import { changeOf, LEVELS, profileOf } from '../compression/figures.ts';

const rewrites = publishedRewrites();
const [lossless, safe, free] = LEVELS.map(({ aggressiveness }) => aggressiveness) as [number, number, number];
const changed = (aggressiveness: number, techniques: readonly TechniqueName[] = TECHNIQUES) =>
  ADVERSARIAL.flatMap((prompt) => {
    const change = changeOf(prompt, profileOf(aggressiveness, techniques), rewrites);
    return change === null ? [] : [`${prompt.kind}: ${change}`];
  });

describe('of prompts that are made to be misread', () => {
  test('there are more than 500, and no two are the same', () => {
    expect(new Set(ADVERSARIAL.map(({ of }) => JSON.stringify(of))).size).toBe(ADVERSARIAL.length);
    expect(ADVERSARIAL.length).toBeGreaterThan(500);
  });

  test.each([lossless, safe, 0.69])('none has another sense at %d', (aggressiveness) => {
    expect(changed(aggressiveness)).toEqual([]);
  });

  test.each(TECHNIQUES)('none has another sense by %s alone at the default', (technique) => {
    expect(changed(safe, [technique])).toEqual([]);
  });

  test('most have another sense from 0.7 on, which the answer says: they are no easy ones', () => {
    expect(changed(free).length).toBeGreaterThan(ADVERSARIAL.length / 2);
  });
});

test('the guide prints the list of rewrites that the code has', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/client.md'), 'utf8');
  const rows = REWRITES.map(({ phrase, replacement, place }) => `| \`${phrase}\` | \`${replacement}\` | ${place} |`);
  expect(guide).toContain(`|---|---|---|\n${rows.join('\n')}\n\n`);
  expect(rewrites).toEqual(REWRITES.map(({ phrase, replacement }) => ({ phrase, replacement })));
});

test.each(REWRITES)('$phrase becomes $replacement if the list says so', ({ phrase, replacement, place }) => {
  const after = place.includes('statement')
    ? ' it is a holiday'
    : place.includes('-ing')
      ? ' going on'
      : place.includes('word')
        ? ' go on'
        : ' go on';
  const before = place.startsWith('within') ? 'Go on ' : '';
  const sentence = (words: string) => `You are an agent. ${before}${words}${after}.`;
  expect(compressText(sentence(phrase), profileOf(safe)).text).toBe(sentence(replacement));
});

describe('the checker', () => {
  const parts = [
    { say: 'In order to win,  act.\n\n\n' },
    { keep: 'a  b' },
    { json: '{ "a": "x  y" }' },
    { say: ' Go.' },
  ];
  test.each([
    ['nothing', 'In order to win,  act.\n\n\na  b{ "a": "x  y" } Go.'],
    ['white space of instructions, JSON and the list', 'To win, act.\n\na  b{"a":"x  y"} Go.'],
  ])('accepts %s', (_what, text) => {
    expect(senseChange(parts, text, rewrites)).toBeNull();
  });

  test.each([
    ['a payload', 'In order to win, act.\n\na b{"a":"x  y"} Go.'],
    ['a string of JSON', 'In order to win, act.\n\na  b{"a":"x y"} Go.'],
    ['a phrase that is not on the list', 'For winning, act.\n\na  b{"a":"x  y"} Go.'],
    ['a word that is gone', 'In order to win, act.\n\na  b{"a":"x  y"}'],
    ['a word that is new', 'In order to win, act.\n\na  b{"a":"x  y"} Go. Now.'],
    ['two words that are one', 'In order to win,act.\n\na  b{"a":"x  y"} Go.'],
    ['a paragraph that is a line', 'In order to win, act. In\n\na  b{"a":"x  y"} Go.'],
    ['a line that is a space', 'In order to win,\nact.\n\na  b{"a":"x  y"} Go.'],
  ])('finds %s', (_what, text) => {
    expect(senseChange(parts, text, rewrites)).not.toBeNull();
  });
});

const ROWS = '[\n  { "id": 1, "name": "Ann" },\n  { "id": 2, "name": "Bob" },\n  { "id": 3, "name": "Eve" }\n]';
const AGENT = 'You are an agent of Acme.';

describe.each<[technique: TechniqueName, aggressiveness: number, untouched: readonly string[]]>([
  [
    'json',
    safe,
    [
      `Return exactly this JSON:\n${ROWS}`,
      `Answer with the object.\n\n${ROWS}`,
      `How many lines does it have?\n\n${ROWS}`,
      `Is the indentation of the value right?\n\n${ROWS}`,
      `Fix it for me, and tell me what it was.\n\n${ROWS}`,
      `What does the code do?\n\nconst a = ${ROWS};`,
      `What is the third of the names?\n\nrows =\n${ROWS}`,
      `Which is the third of the names?\n| 1 | ${ROWS} |`,
      `Which is the third of the names?\n\n"${ROWS.replace(/\s+/g, ' ')}"`,
      `Which is the third of the names?\n\n\`\`\`json\n${ROWS}\n\`\`\``,
      `Which is the third of the names?\n\n<nocompress>${ROWS}</nocompress>`,
      `Melyik a harmadik név?\n\n${ROWS}`,
      `哪个名字最长？\n\n${ROWS}`,
      `Gib das genau so zurück.\n\n${ROWS}`,
      `Sag mir bitte den Namen der dritten Person und das Alter.\n\n${ROWS}`,
      ROWS,
    ],
  ],
  ['toon', 0.69, [`Which is the third of the names?\n\n${ROWS}`, `Sum up the ids of all of the rows.\n\n${ROWS}`]],
  [
    'toon',
    free,
    [
      `Return exactly this JSON:\n${ROWS}`,
      `Answer in the same format.\n\n${ROWS}`,
      `Gib das JSON unverändert zurück.\n\n${ROWS}`,
      `Is the JSON valid?\n\n${ROWS}`,
    ],
  ],
  [
    'whitespace',
    safe,
    [
      `${AGENT}  The columns are\nname  age\nAnn   31`,
      `${AGENT}  Rules:\n\n\n\n- one`,
      `${AGENT}  What is the sum?`,
      `${AGENT}  Count the blanks.`,
      `${AGENT}  Say a  b.`,
      `${AGENT}  See "x".`,
      `${AGENT}  Run f(x)  twice.`,
      `${AGENT}  Be brief.  Be brief.`,
      'Be brief.  Be kind to all.',
      'The tide is low.  The moon is high.\n\n\n\nThe night is long.',
      'Du bist ein Agent.  Sei kurz.',
      '.... .  .-..  .-..  ---',
      'def f():\n    return  1\n\n\n\nprint(f())',
    ],
  ],
  [
    'filler',
    safe,
    [
      `${AGENT} Put the cards in order to the left.`,
      `${AGENT} Due to the fact that you mention, stop.`,
      `${AGENT} Despite the fact that they were hiding, go on.`,
      `${AGENT} Wait until such time as the court sets.`,
      `${AGENT} Run whether or not the tests pass.`,
      `${AGENT} A guest must not have the ability to pay.`,
      `${AGENT} Make a decision tree.`,
      `${AGENT} Add a prior to the weights.`,
      `${AGENT} Prior to posterior is a step.`,
      `${AGENT} Explain each and every method.`,
      `${AGENT} Translate to German. In order to win, act.`,
      `${AGENT} Never begin a sentence so. In order to win, act.`,
      `${AGENT} Reply to the mail. In order to win, act.`,
      `${AGENT} Say: In order to win, act.`,
      'In order to win, act.',
      'Is he right? In order to win, act.',
      'Auf Deutsch, bitte. In order to win, act.',
    ],
  ],
  [
    'decoration',
    0.69,
    ['Wait....', '.... . .-..', '=====', 'Stop!!!', 'This is **bold**', '+------+\n| o  o |\n+------+'],
  ],
  [
    'politeness',
    0.69,
    [
      'Please answer.',
      'Translate: please wait, thank you.',
      'Could you please answer?',
      'Hello,\nanswer.',
      'Answer. Thanks!',
    ],
  ],
  [
    'duplicates',
    0.69,
    [
      'The connection was closed by the peer.\n'.repeat(3),
      `${AGENT}\n\n${AGENT}`,
      'How often was it sung?\n\nThe wheels of the bus go round and round.\n\nThe wheels of the bus go round and round.',
    ],
  ],
])('%s at %d does not touch', (technique, aggressiveness, untouched) => {
  test.each(untouched)('%j', (text) => {
    expect(compressText(text, profileOf(aggressiveness, [technique])).text).toBe(text);
  });
});

describe('in a conversation below 0.7', () => {
  const said = 'You are early.  In order to win, act.';
  const compressed = (messages: { role: string; content: string }[]) =>
    compressMessages(messages, profileOf(safe)).messages.map(({ content }) => content);

  test('only the first text gives instructions', () => {
    const short = 'You are early. To win, act.';
    expect(
      compressed([
        { role: 'system', content: said },
        { role: 'user', content: said },
      ]),
    ).toEqual([short, said]);
    expect(
      compressed([
        { role: 'user', content: said },
        { role: 'user', content: said },
      ]),
    ).toEqual([short, said]);
    expect(
      compressed([
        { role: 'assistant', content: said },
        { role: 'user', content: said },
      ]),
    ).toEqual([said, said]);
    expect(compressed([{ role: 'tool', content: said }])).toEqual([said]);
  });

  test('what one message asks for holds for the JSON of all', () => {
    const ask = (content: string) =>
      compressed([
        { role: 'system', content: 'You are the clerk of the shop, and you have the orders.' },
        { role: 'tool', content: ROWS },
        { role: 'user', content },
      ])[1];
    expect(ask('Who is the third of the list?')).toBe(JSON.stringify(JSON.parse(ROWS)));
    expect(ask('Repeat the list to me.')).toBe(ROWS);
    expect(ask('Show it to me as it is.')).toBe(ROWS);
  });
});
