/**
 * Promise: documents, descriptions of the API and messages use the words of the glossary in `docs/concepts.md`: a
 * condition begins with *if*, a sentence has a subject, and one thing has one word.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ts } from '@ts-morph/common';
import { describe, expect, test } from 'vitest';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import { SERVICE_VERSION } from '../../src/platform/version.ts';
import { ORIGIN } from '../../src/site/docs/template.ts';
import { DOCUMENTS, ROOT } from '../support/documents.ts';

/** What nobody has to read twice: the rule, and what to write instead. */
const BANNED: readonly { rule: RegExp; instead: string }[] = [
  // An indirect question may have it: "says where the dates come from".
  { rule: /(?<!\b(?:says?|tells?|knows?|shows?) )\bwhere\b/i, instead: 'if, or a noun' },
  { rule: /\bwhoever\b|\bwhomever\b/i, instead: 'a noun: the user who, the operator who' },
  { rule: /(?:^|[.:!?|] |\*\* )(?:Of|Those|Who|Whom|Whose|That and) /m, instead: 'a sentence with a subject' },
  { rule: /\bfor want of\b/i, instead: 'for lack of' },
  { rule: /\bpay(?:s|ing)? as (?:it|they|you) go/i, instead: 'pay-as-you-go' },
  { rule: /\bquotas?\b/i, instead: 'allowance' },
  { rule: /\bdenied begins?\b/i, instead: 'denied call' },
  { rule: /\bkeys? of (?:a|the) vendors?\b|\bkeys? of vendors\b/i, instead: 'vendor key' },
  { rule: /\b(?:operators?’?|operators?'s?) (?:log|events)\b/i, instead: 'event log, log entry' },
  { rule: /\bswitch(?:ed|es)? (?:it )?o(?:ff|n)\b/i, instead: 'disabled, enabled' },
  { rule: /\bfilter away\b|\bthis filter\b/i, instead: 'Remove filter' },
  { rule: /\bEmpty: /, instead: 'Leave empty to, if empty' },
  { rule: /\bmodel vendors?\b/i, instead: 'vendor' },
  { rule: /\bplace in the (?:events|list)\b/i, instead: 'position' },
  { rule: /\btenants?\b/i, instead: 'organization' },
];

/** Texts that need a banned word, with the reason. */
const EXCEPTIONS: readonly { from: string; word: RegExp }[] = [
  // The threat model names its attackers, and a tenant is one of them.
  { from: 'docs/security.md', word: /tenant/i },
  { from: 'docs/contributing.md', word: /tenant/i },
];

const SQL = /\b(?:SELECT|FROM|WHERE|CREATE|INSERT|UPDATE|CASE|CAST)\b/;

interface Text {
  from: string;
  text: string;
}

/** Each banned word of a text, with the words around it and what to write instead. */
function findComplaints({ from, text }: Text): string[] {
  return BANNED.flatMap(({ rule, instead }) =>
    [...text.matchAll(new RegExp(rule, `${rule.flags}g`))]
      .filter(([found]) => !EXCEPTIONS.some((exception) => from === exception.from && exception.word.test(found)))
      .map(({ index, 0: found }) => {
        const around = text.slice(Math.max(0, index - 40), index + found.length + 40).replaceAll(/\s+/g, ' ');
        return `${from}: "${around}" (${instead})`;
      }),
  );
}

/** A document without what is no sentence of ours: blocks, code and addresses. */
function prose(text: string): string {
  return text
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/`[^`]*`/g, '``')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .replaceAll(/<[^>]*>/g, '');
}

test.each(DOCUMENTS.map(({ path, text }) => ({ from: path, text: prose(text) })))(
  '$from has no banned word',
  (document) => {
    expect(findComplaints(document)).toEqual([]);
  },
);

/** Every description and summary below a value of the OpenAPI document, with its path. */
function listDescriptions(value: unknown, path = ''): Text[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const place = `${path}/${name}`;
    const isText = typeof member === 'string' && (name === 'description' || name === 'summary');
    if (isText) return [{ from: place, text: prose(member) }];
    return name === 'example' || name === 'examples' ? [] : listDescriptions(member, place);
  });
}

test('no description of the API has a banned word', () => {
  const descriptions = listDescriptions(openApiDocument(SERVICE_VERSION, ORIGIN));
  expect(descriptions.length).toBeGreaterThan(1000);
  expect(descriptions.flatMap(findComplaints)).toEqual([]);
});

/** The texts of a source that are sentences: in quotes or in JSX, of at least two words, and no SQL. */
function listMessages(path: string): string[] {
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node) || ts.isJsxText(node)) texts.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, readFileSync(join(ROOT, path), 'utf8'), ts.ScriptTarget.Latest));
  return texts.filter((text) => /\S\s+\S/.test(text) && !SQL.test(text)).map((text) => text.trim());
}

test('no message and no page has a banned word', () => {
  const messages = globSync('{durable-objects,src}/**/*.{ts,tsx}', { cwd: ROOT }).flatMap((path) =>
    listMessages(path).map((text) => ({ from: path, text: prose(text) })),
  );
  expect(messages.length).toBeGreaterThan(5000);
  expect(messages.filter(({ from }) => from.endsWith('.tsx')).length).toBeGreaterThan(900);
  expect(messages.flatMap(findComplaints)).toEqual([]);
});

test('the glossary has at most 60 words, each of them once', () => {
  const concepts = DOCUMENTS.find(({ path }) => path === 'docs/concepts.md')?.text ?? '';
  const [, glossary = ''] = concepts.split('\n## Glossary\n');
  const words = [...glossary.matchAll(/^\| ([^|]+) \|/gm)].map(([, word = '']) => word).slice(1);
  expect(words.length).toBeGreaterThan(40);
  expect(words.length).toBeLessThanOrEqual(60);
  expect(new Set(words).size).toBe(words.length);
});

describe('the test finds', () => {
  test.each([
    'null where the plan has none',
    'Where there is no plan, nothing is denied.',
    'Whoever has the token reads everything.',
    'The first line is checked. Of several, the last one counts.',
    'Those that fail are repeated.',
    'refused for want of credit',
    "the customer's quota is used up",
    'the service switched it off',
    'Take this filter away',
    'A UUID. Empty: one is generated.',
  ])('%s', (text) => {
    expect(findComplaints({ from: 'a text', text })).not.toEqual([]);
  });

  test.each([
    'It says where the dates come from.',
    'The answer is null if the plan has none.',
    'the part of the whole',
  ])('nothing in: %s', (text) => {
    expect(findComplaints({ from: 'a text', text })).toEqual([]);
  });
});
