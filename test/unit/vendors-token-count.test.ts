/**
 * The count of tokens is not below the counts of real tokenizers: in 42 languages, code, markup, data and noise; and
 * not far above, and the same however a text is cut.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getTokenizer } from '@anthropic-ai/tokenizer';
import fc from 'fast-check';
import llama from 'llama-tokenizer-js';
import { get_encoding } from 'tiktoken';
import { describe, expect, test } from 'vitest';
import type { VendorKind } from '../../src/domain/vendor-kind.ts';
import { chooseVocabulary, TokenCount, tokensAtMost, type Vocabulary } from '../../src/vendors/token-count.ts';
import languages from '../fixtures/languages.json' with { type: 'json' };
import { CHARACTER } from '../support/characters.ts';
import { sampleOf } from '../support/sweep.ts';

const ROOT = join(import.meta.dirname, '../..');
const o200k = get_encoding('o200k_base');
const cl100k = get_encoding('cl100k_base');
const claude2 = getTokenizer();

const TOKENIZERS = {
  o200k: (text: string) => o200k.encode_ordinary(text).length,
  cl100k: (text: string) => cl100k.encode_ordinary(text).length,
  // It rewrites a text before it counts.
  claude2: (text: string) => claude2.encode_ordinary(text.normalize('NFKC')).length,
  llama2: (text: string) => llama.encode(text, false, false).length,
};
const WIDE = new Set(['o200k', 'gemma3']);

/** The largest count of the tokenizers that the vocabulary speaks for, and of `recorded` ones. */
function largestCount(text: string, vocabulary: Vocabulary, recorded: Record<string, number> = {}): number {
  const speaksFor = ([name]: [string, unknown]) => vocabulary === 'any' || WIDE.has(name);
  const counted = Object.entries(TOKENIZERS).filter(speaksFor);
  const counts = [
    ...counted.map(([, count]) => count(text)),
    ...Object.entries(recorded)
      .filter(speaksFor)
      .map(([, count]) => count),
  ];
  const largest = Math.max(...counts);
  // A tokenizer that rewrites a text may make more tokens than the text has bytes.
  return Math.min(largest, Buffer.byteLength(text));
}

/** Bytes that look random, the same in every run. */
function noise(length: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / 64) }, (_, at) =>
    createHash('sha512').update(`${at}`).digest(),
  );
  return Buffer.concat(blocks).subarray(0, length);
}

function words(length: number, first: number): string {
  return [...noise(1_500)]
    .map((byte, at) => (at % length === 0 ? ' ' : String.fromCharCode(first + (byte % 26))))
    .join('');
}

function rows(count: number) {
  return Array.from({ length: count }, (_, at) => ({
    id: at * 7_919,
    name: `User ${at}`,
    email: `user${at}@example.com`,
    active: at % 2 === 0,
    score: at / 7,
    at: new Date(1.7e12 + at * 1e8).toISOString(),
  }));
}

const PYTHON = `def merge(left: list[int], right: list[int]) -> list[int]:
    """Merges two sorted lists."""
    result, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            result.append(left[i]); i += 1
        else:
            result.append(right[j]); j += 1
    return result + left[i:] + right[j:]

`;
const GO = `func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	if err := s.store.Put(ctx, r.URL.Path, r.Body); err != nil {
		http.Error(w, fmt.Sprintf("put: %v", err), http.StatusInternalServerError)
		return
	}
}
`;
const HTML = `<section class="card" id="intro"><h2>Overview</h2><p>See the <a href="/docs/start.html">guide</a>.</p>
  <ul><li data-index="1">First</li><li data-index="2">Second</li></ul></section>
`;
const CSS = `.card > h2:first-child { margin: 0 0 1rem; color: #1a2b3c; font: 600 1.25rem/1.4 "Inter", sans-serif; }
@media (max-width: 640px) { .card { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); } }
`;
const SQL = `SELECT c.id, c.name, SUM(o.total_cents) / 100.0 AS total FROM customers c
LEFT JOIN orders o ON o.customer_id = c.id AND o.created_at >= '2026-01-01'
WHERE c.deleted_at IS NULL GROUP BY c.id, c.name HAVING COUNT(*) > 3 ORDER BY total DESC LIMIT 50;
`;
const SHELL = `for file in "$dir"/*.tar.gz; do tar -xzf "$file" -C "$out" --strip-components=1 || exit 1; done
curl -fsSL -H "Authorization: Bearer $TOKEN" "https://api.example.com/v1/items?limit=100" | jq -r '.data[].id'
`;

/** Texts of other kinds. */
const MADE: Record<string, string> = {
  base64: noise(1_500).toString('base64'),
  hex: noise(1_000).toString('hex'),
  digits: [...noise(1_500)].map((byte) => byte % 10).join(''),
  'decimal numbers': [...noise(300)].map((byte, at) => (byte * at) / 7).join(', '),
  'long random words': words(40, 0x61),
  'short random words': words(7, 0x61),
  'random capitals': words(12, 0x41),
  identifiers: Array.from({ length: 40 }, (_, at) =>
    noise(16 + at)
      .toString('hex')
      .slice(-32),
  ).join('\n'),
  json: JSON.stringify(rows(40)),
  'indented json': JSON.stringify(rows(20), null, 2),
  'a Markdown table': [
    '| Name | Count | Price |\n|------|------:|:-----:|',
    ...rows(40).map(({ id, name, score }) => `| ${name} | ${id} | $${score.toFixed(2)} |`),
  ].join('\n'),
  csv: rows(60)
    .map((row) => Object.values(row).join(','))
    .join('\n'),
  python: PYTHON.repeat(8),
  go: GO.repeat(8),
  html: HTML.repeat(8),
  css: CSS.repeat(8),
  sql: SQL.repeat(8),
  shell: SHELL.repeat(8),
  formulas:
    '\\frac{\\partial u}{\\partial t} = \\alpha \\nabla^2 u + \\sum_{i=1}^{n} \\int_0^\\infty e^{-x^2} dx\n'.repeat(10),
  emoji: '😀😃😄🤣😂🙂🙃😉🥰😍🤩😘🤪🤑🤗🤔🙄🤥😪🤤😷🤒🥵🤯🤠🥳😎🤓🧐😕'.repeat(6),
  'joined emoji': '👨‍👩‍👧‍👦 🏳️‍🌈 👩🏽‍💻 🇩🇪🇫🇷🇯🇵 ✅ ❌ ⚠️ 🚀 🔥 '.repeat(8),
  signs: '— “quoted” ‘x’ … • → ← ≤ ≥ × ÷ ° © ® ™ € £ ¥ § ¶ † ‡ ∑ ∫ √ ∞ ≈ ≠ '.repeat(8),
  boxes: '┌──────┬──────┐\n│ abc  │ def  │\n├──────┼──────┤\n└──────┴──────┘\n'.repeat(10),
  blanks: ' '.repeat(800),
  newlines: '\n'.repeat(800),
  tabs: '\t'.repeat(800),
  whitespace: '   \n\t  \n'.repeat(120),
  indentation: Array.from({ length: 60 }, (_, at) => `${' '.repeat(at % 20)}x`).join('\n'),
};

const VOCABULARIES = ['any', 'wide'] as const;

describe.each(VOCABULARIES)('the count for %s vocabulary', (vocabulary) => {
  const ratio = (text: string, recorded?: Record<string, number>) =>
    tokensAtMost(text, vocabulary) / largestCount(text, vocabulary, recorded);
  // The finer tokenizer of the wide vocabulary is too large to install.
  const most = vocabulary === 'any' ? 2 : Number.POSITIVE_INFINITY;

  test.each(languages.texts)('is at least what tokenizers count and at most twice that, in $language', (sample) => {
    const found = ratio(sample.text, sample.counts);
    expect(found).toBeGreaterThanOrEqual(1);
    expect(found).toBeLessThanOrEqual(2);
  });

  test('is at most 1.4 times what tokenizers count in English prose', () => {
    const english = languages.texts.find(({ language }) => language === 'English');
    expect(ratio(english?.text ?? '', english?.counts)).toBeLessThanOrEqual(1.4);
    expect(ratio(readFileSync(join(ROOT, 'docs/concepts.md'), 'utf8'))).toBeLessThanOrEqual(1.4);
  });

  test.each(ownFiles())('is at least what tokenizers count in every part of %s', (path) => {
    for (const part of sampleOf(cutText(readFileSync(join(ROOT, path), 'utf8')), 4)) {
      expect([part, ratio(part)]).toEqual([part, expect.toSatisfy((found: number) => found >= 1 && found <= most)]);
    }
  });

  test.each(Object.entries(MADE))('is at least what tokenizers count in %s', (_name, text) => {
    expect(ratio(text)).toBeGreaterThanOrEqual(1);
    expect(ratio(text)).toBeLessThanOrEqual(most);
  });

  test('is never above the bytes, and the same however the text is cut', () => {
    const text = fc.oneof(fc.string({ unit: CHARACTER, maxLength: 60 }), fc.constantFrom(...Object.values(MADE)));
    fc.assert(
      fc.property(text, fc.array(fc.nat(400), { maxLength: 8 }), (whole, cuts) => {
        const count = new TokenCount(vocabulary);
        let from = 0;
        for (const to of [...cuts.toSorted((a, b) => a - b), whole.length]) {
          const before = count.tokens;
          count.add(whole.slice(from, to));
          from = Math.max(from, to);
          expect(count.tokens).toBeGreaterThanOrEqual(before);
        }
        expect(count.tokens).toBe(tokensAtMost(whole, vocabulary));
        expect(count.bytes).toBe(Buffer.byteLength(whole));
        expect(count.tokens).toBeLessThanOrEqual(count.bytes);
      }),
    );
  });
});

test('a stream of single tokens counts as its text', () => {
  const text = languages.texts.map((sample) => sample.text).join('\n');
  const count = new TokenCount();
  // tiktoken's tokens may cut a character; a stream of a vendor never does.
  for (const delta of text.match(/\s?\S{1,4}/gsu) ?? []) count.add(delta);
  expect(count.tokens).toBe(tokensAtMost(text.match(/\s?\S{1,4}/gsu)?.join('') ?? ''));
});

test('Claude is counted with more, because its tokenizer is not published', () => {
  const { text = '' } = languages.texts[0] ?? {};
  expect(tokensAtMost(text, 'claude') / tokensAtMost(text)).toBeCloseTo(1.25, 1);
});

test.each([' ', '\n', 'a', 'A', 'aA', '1', '-', '"', '{', 'é', '中', '\ud800', '🙂', '\u0301'])(
  'a megabyte of %j is counted in proportion to its length',
  (unit) => {
    const times = Math.ceil(1_000_000 / unit.length);
    const whole = tokensAtMost(unit.repeat(times));
    expect(Math.abs(whole - 2 * tokensAtMost(unit.repeat(times / 2)))).toBeLessThanOrEqual(3);
  },
);

test.each<[VendorKind, string, Vocabulary]>([
  ['openai', 'gpt-6-sol', 'wide'],
  ['openai', 'gpt-4o-mini', 'wide'],
  ['openai', 'gpt-4.1', 'wide'],
  ['openai', 'o4-mini', 'wide'],
  ['openai', 'gpt-4-turbo', 'any'],
  ['openai', 'gpt-4', 'any'],
  ['openai', 'gpt-3.5-turbo', 'any'],
  ['openai', 'text-embedding-3-small', 'any'],
  ['google', 'gemini-3.8-flash', 'wide'],
  ['anthropic', 'claude-opus-4-8', 'claude'],
  ['openrouter', 'anthropic/claude-opus-4-8', 'claude'],
  ['azure', 'gpt-6-sol', 'any'],
  ['compatible', 'mistral-large-latest', 'any'],
])('the vocabulary of %s %s is %s', (kind, model, vocabulary) => {
  expect(chooseVocabulary(kind, model)).toBe(vocabulary);
});

/** The project's own files, of every kind. */
function ownFiles(): string[] {
  const listFiles = (folder: string, count: number) =>
    readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.(?:png|svg)$/.test(entry.name))
      .slice(0, count)
      .map(({ name }) => `${folder}/${name}`);
  return [
    'package.json',
    'wrangler.toml',
    '.ci/run',
    'README.md',
    'docs/architecture.svg',
    ...listFiles('docs', 20),
    ...listFiles('src/domain', 8),
    ...listFiles('src/ui', 8),
    ...listFiles('d1-migrations', 4),
    ...listFiles('test/unit', 8),
  ];
}

const PART_LENGTH = 2_000;
/** Parts of a file, so that none of its kinds of text hides behind another. */
const PARTS_MAX = 12;

function cutText(text: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length && parts.length < PARTS_MAX; at += PART_LENGTH) {
    const part = text.slice(at, at + PART_LENGTH);
    if (part.length > PART_LENGTH / 4 || at === 0) parts.push(part.toWellFormed());
  }
  return parts;
}
