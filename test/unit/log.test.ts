/**
 * A line of the log contains the failure and its reason, and nothing that a customer sent. One function writes them
 * all.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { DrizzleQueryError } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { errorText, log } from '../../src/platform/log.ts';

const SECRET = 'alice@example.com';
const ROOT = join(import.meta.dirname, '../..');

describe('an error', () => {
  const reason = new Error('D1_ERROR: Network connection lost.');
  const query = new DrizzleQueryError('select * from "calls" where "customer_id" = ?', [SECRET], reason);

  test.each<[string, unknown, string]>([
    ['says what it is', new TypeError('no such thing'), 'TypeError: no such thing'],
    ['says what caused it', new Error('outer', { cause: new RangeError('inner') }), 'Error: outer (RangeError: inner)'],
    ['of a query says why it failed', query, 'Error: D1_ERROR: Network connection lost.'],
    [
      'caused by a query says why that failed',
      new Error('outer', { cause: query }),
      'Error: outer (Error: D1_ERROR: Network connection lost.)',
    ],
    [
      'of a query without a cause says that alone',
      new DrizzleQueryError('select ?', [SECRET]),
      'Error: a query failed',
    ],
    // As an object's error arrives, or one that somebody put into a text.
    [
      'that holds the text of a query does not show it',
      new Error(`Error: ${query.message}`),
      'Error: Error: a query failed',
    ],
    ['that is no error is shown as text', `Failed query: select\nparams: ${SECRET}`, 'a query failed'],
    [
      'of D1 does not show the value it refused',
      new Error(`D1_TYPE_ERROR: Type 'object' not supported for value '${SECRET}'`),
      "Error: D1_TYPE_ERROR: Type 'object' not supported for value",
    ],
    [
      'of a parser does not show the text',
      caught(() => JSON.parse(`{"a": ${SECRET}`)),
      'SyntaxError: a text could not be read',
    ],
  ])('%s', (_, error, text) => {
    expect(errorText(error)).toBe(text);
  });

  test('is bounded even if it is its own cause', () => {
    const long = new Error('x'.repeat(5_000));
    expect(errorText(long)).toHaveLength(300);
    const [one, other] = [new Error('one'), new Error('other')];
    one.cause = other;
    other.cause = one;
    expect(errorText(one)).toBe('Error: one (Error: other (Error: one (Error: other (Error: one))))');
  });
});

function caught(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

describe('a line', () => {
  let lines: string[];
  beforeEach(() => {
    lines = [];
    for (const level of ['warn', 'error'] as const)
      vi.spyOn(console, level).mockImplementation((line) => void lines.push(`${level} ${line}`));
  });
  afterEach(() => vi.restoreAllMocks());

  test('is one JSON object with event, fields and error', () => {
    log('warn', 'happened', { callId: 'c', usage: { tokens: 3, nano: 5n } }, new Error('m'));
    log('error', 'happened', { line: 'a\nb' });
    expect(lines).toEqual([
      'warn {"event":"happened","callId":"c","usage":{"tokens":3,"nano":"5"},"error":"Error: m"}',
      'error {"event":"happened","line":"a\\nb"}',
    ]);
  });

  test('has no long text at any depth', () => {
    log('error', 'happened', { text: 'x'.repeat(10_000), inside: [{ text: 'y'.repeat(10_000) }] });
    expect(lines[0]?.length).toBeLessThan(700);
  });
});

test('nothing else in the service writes to the log', () => {
  const files = ['src', 'durable-objects'].flatMap((top) =>
    readdirSync(join(ROOT, top), { recursive: true, encoding: 'utf8' }).map((name) =>
      posix.join(top, name.replaceAll('\\', '/')),
    ),
  );
  // The command line and the examples print for people.
  const ours = files.filter((file) => /\.tsx?$/.test(file) && !/^src\/(?:cli|client\/examples)\//.test(file));
  const isCode = (line: string) => !/^\s*(?:\*|\/\*|\/\/)/.test(line);
  const writers = ours.filter((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .some((line) => isCode(line) && /\bconsole\s*(?:\.|\[|\?\.)/.test(line)),
  );
  expect(ours.length).toBeGreaterThan(200);
  // A customer's page is told in its browser what fails; a sample for readers prints what it got.
  const elsewhere = ['src/site/embed/browser/embed.ts', 'src/site/docs/samples/typescript.ts'];
  expect(writers.filter((file) => !elsewhere.includes(file))).toEqual(['src/platform/log.ts']);
});
