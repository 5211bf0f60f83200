/**
 * Promise: a comment is read once: it does not begin as a fragment, and a condition begins with *if*.
 *
 * The comments are those that the parser finds, so that a quotation or a regular expression is never taken for one.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ts } from '@ts-morph/common';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/documents.ts';

const BANNED: readonly { rule: RegExp; instead: string }[] = [
  {
    rule: /(?:^|[.:;!?]\s+)(?:Of|Those|Where|Who|Whoever|Whom|Whose|Which|That and)\b/,
    instead: 'a noun phrase, or a sentence with a subject',
  },
  { rule: /\bwhoever\b|\bwhomever\b/i, instead: 'a noun: the caller who, the reader who' },
  { rule: /\bwhere (?:there|it|they|that|no|nothing|none|nobody|nowhere|not)\b/i, instead: 'if' },
];

/** Files whose comments are older than this rule, each with the reason. */
const LEFT_OUT: readonly { path: RegExp; because: string }[] = [
  { path: /^durable-objects\/(?:customer|projector)[/.]/, because: 'the rows are being written anew' },
  { path: /^durable-objects\/call-directory\.ts$/, because: 'the rows are being written anew' },
  { path: /^src\/history\/(?:projection|roll-ups)/, because: 'the rows are being written anew' },
];

/** Every banned word, wherever it is: only files that have one are parsed. */
const SUSPECT = /\b(?:Of|Those|Who|Whom|Whose|Which|That|[Ww]here|[Ww]hoever|[Ww]homever)\b/;

const FILES = globSync('{src,durable-objects,test}/**/*.{ts,tsx,mjs}', { cwd: ROOT }).filter(
  (path) => !LEFT_OUT.some((left) => left.path.test(path)),
);

/** The comments of a source, each without its marks; lines of `//` that follow one another are one comment. */
function readComments(path: string, source: string): string[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, false);
  const comments = new Map<number, ts.CommentRange>();
  const visit = (node: ts.Node): void => {
    const children = node.getChildren(file);
    const isToken = children.length === 0 && node.kind !== ts.SyntaxKind.JsxText;
    for (const range of isToken ? commentsBefore(source, node.getFullStart()) : []) comments.set(range.pos, range);
    children.forEach(visit);
  };
  visit(file);
  let end = 0;
  const texts: string[] = [];
  for (const range of [...comments.values()].sort((a, b) => a.pos - b.pos)) {
    const text = wordsOf(source.slice(range.pos, range.end));
    const goesOn = source.startsWith('//', range.pos) && /^\n[ \t]*$/.test(source.slice(end, range.pos));
    if (goesOn) texts.push(`${texts.pop()} ${text}`);
    else texts.push(text);
    end = range.end;
  }
  return texts;
}

function commentsBefore(source: string, at: number): ts.CommentRange[] {
  return [...(ts.getTrailingCommentRanges(source, at) ?? []), ...(ts.getLeadingCommentRanges(source, at) ?? [])];
}

/** The words of a comment, with code and quotations left empty. */
function wordsOf(comment: string): string {
  return comment
    .replaceAll(/^\/\/ ?|^\/\*+|\*+\/$|^\s*\* ?/gm, '')
    .replaceAll(/```[\s\S]*?```/g, '')
    .replaceAll(/`[^`]*`|"[^"]*"/g, '``')
    .replaceAll(/\n\s*\n/g, '. ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** Each banned word of a comment, with the words after it and the replacement. */
function complaintsAbout(comment: string): string[] {
  return BANNED.flatMap(({ rule, instead }) => {
    const found = rule.exec(comment);
    return found ? [`${comment.slice(found.index, found.index + 80)} (${instead})`] : [];
  });
}

test('every comment is read once', () => {
  expect(FILES.length).toBeGreaterThan(1_200);
  const complaints = FILES.flatMap((path) => {
    const source = readFileSync(join(ROOT, path), 'utf8');
    const comments = SUSPECT.test(source) ? readComments(path, source) : [];
    return comments.flatMap(complaintsAbout).map((complaint) => `${path}: ${complaint}`);
  });
  expect(complaints).toEqual([]);
});

test.each(LEFT_OUT)('$path is left out because $because, and still has files', ({ path }) => {
  expect(globSync('{src,durable-objects}/**/*.{ts,tsx}', { cwd: ROOT }).some((file) => path.test(file))).toBe(true);
});

describe('a comment is found', () => {
  test.each([
    ['before a statement', '/** Of a call. */\nconst a = 1;'],
    ['behind a statement', 'const a = 1; // Of a call.'],
    ['in a type', 'interface A {\n  /** Of a call. */\n  a: 1;\n}'],
    ['over two lines', '// The first line is long,\n// and it is `null` where\n// there is none.\nconst a = 1;'],
    ['at the end of a file', 'const a = 1;\n// Whoever reads this.'],
    ['between elements', 'const a = <p>{/* Of a call. */}</p>;'],
    ['behind a quotation', "const a = '/*'; // Those that are left."],
  ])('%s', (_where, source) => {
    expect(readComments('a.tsx', source).flatMap(complaintsAbout)).not.toEqual([]);
  });

  test.each([
    ['in a quotation', "const a = '// Of a call.';"],
    ['in a template', 'const a = `/* Of a call. */ $' + '{1} // Of a call.`;'],
    ['in a regular expression', 'const a = /\\/\\* Of a call/;'],
    ['in the text of an element', 'const a = <p>// Of a call.</p>;'],
  ])('not %s', (_where, source) => {
    expect(readComments('a.tsx', source).flatMap(complaintsAbout)).toEqual([]);
  });
});

test.each([
  'It says from where the figure comes.',
  'The address at which the vendor is asked; `null` if there is none.',
  '`Of` is a name, and "Where it is" a quotation.',
])('has no complaint about: %s', (comment) => {
  expect(complaintsAbout(wordsOf(`/** ${comment} */`))).toEqual([]);
});
