/**
 * The stored part of a vendor's error message is its reason, and never a key, an address, a prompt or a body.
 */
import { describe, expect, test } from 'vitest';
import { sanitizeErrorMessage } from '../../src/domain/sanitize.ts';

const PROMPT = 'Summarize the medical record of Jane Doe, born in 1970, in two lines';
const OPAQUE = 'Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFi';

test.each([
  '429 Too Many Requests',
  'model gpt-4o-2024-08-06 is overloaded',
  'Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000',
  'connect ECONNREFUSED 10.0.0.1:443',
  'upstream timed out after 30000 ms',
  "This model's maximum context length is 8192 tokens",
  'The model `gpt-9` does not exist',
  'Invalid value for "temperature": must be at most 2',
  'TIMEOUT',
  'context_length_exceeded',
  'skipped: the risk was too high',
])('a plain reason is kept as it is: %s', (message) => {
  expect(sanitizeErrorMessage(message)).toBe(message);
});

test.each([
  // Keys.
  ['Incorrect API key provided: sk-proj-abcdEFGH1234_5678', 'Incorrect API key provided: [credential]'],
  ['bad key sk-ant-api03-AAAAbbbbCCCC, see docs', 'bad key [credential], see docs'],
  ['bad key AIzaSyA1234567890abcdefghijklmnopqrstu', 'bad key [credential]'],
  ['bad key utk-ABCDEFGHijklmnop0123456789', 'bad key [credential]'],
  ['keys sk-aaaaaaaaaaaa and sk-bbbbbbbbbbbb', 'keys [credential] and [credential]'],
  ['sent AKIAIOSFODNN7EXAMPLE', 'sent [credential]'],
  ['sent ghp_0123456789abcdefghijABCDEFGHIJ012345', 'sent [credential]'],
  ['sent Bearer abc.def-123', 'sent Bearer [credential]'],
  ['sent bearer AAAA1111', 'sent bearer [credential]'],
  ['sent Basic dXNlcjpwYXNz', 'sent Basic [credential]'],
  ['api_key=hunter2hunter2 rejected', 'api_key=[credential] rejected'],
  ['x-api-key: hunter2', 'x-api-key: [credential]'],
  ['password: "hunter2"', 'password: [credential]"'],
  ['jwt eyJhbGciOi.eyJzdWIi.c2ln expired', 'jwt [credential] expired'],
  // Addresses and opaque strings.
  ['no access for jane.doe+test@mail.example.co.uk today', 'no access for [email] today'],
  ['a@example.com, b@example.com', '[email], [email]'],
  [`request ${OPAQUE} failed`, 'request [opaque] failed'],
  [`hash ${'0123456789abcdef'.repeat(4)}`, 'hash [opaque]'],
  [`blob ${'QUJD'.repeat(20)}==`, 'blob [opaque]'],
  // Quoted prompts.
  [`Invalid prompt "${PROMPT}"`, 'Invalid prompt [text]'],
  [`Invalid prompt '${PROMPT}'`, 'Invalid prompt [text]'],
  [`Invalid prompt \`${PROMPT}\` at 3`, 'Invalid prompt [text] at 3'],
  // Bodies.
  ['400 {"error":{"message":"no","key":"x"}}', '400 [body]'],
  ['400 {"error":{"message":"no"}} after 3 attempts', '400 [body] after 3 attempts'],
  [`400 {"messages":[{"content":"${PROMPT}`, '400 [body]'],
  ['<html><body><h1>502</h1></body></html>', '[body]'],
  ['502 <!DOCTYPE html>\n<p>Jane</p>\n', '502 [body]'],
  [`502 <html lang="${PROMPT}`, '502 [body]'],
  // White space.
  ['  two\n\tlines  ', 'two lines'],
])('%j becomes %j', (message, clean) => {
  expect(sanitizeErrorMessage(message)).toBe(clean);
});

describe('length', () => {
  test('a message is cut to 500 characters', () => {
    const words = 'too many words '.repeat(100);
    expect(sanitizeErrorMessage(words)).toBe(words.slice(0, 500));
    expect(sanitizeErrorMessage(words.slice(0, 494))).toBe(words.slice(0, 494));
  });

  test('a key at the cut is removed before the cut', () => {
    const message = `${'x '.repeat(246)}sk-abcdefghijklmnopqrstuvwxyz`;
    expect(sanitizeErrorMessage(message)).toBe(`${'x '.repeat(246)}[credent`);
  });

  test.each(['', ' ', '\n\t '])('a message of nothing, %j, says so', (message) => {
    expect(sanitizeErrorMessage(message)).toBe('[empty]');
  });
});

describe('a hostile message of 100 KB', () => {
  test.each([
    '{"',
    '}{',
    '<',
    '<>',
    '"',
    "'",
    '`',
    'a+a+',
    'a@',
    'a@a.',
    '@a.a',
    'a-',
    '1',
    'a',
    '=',
    ' ',
    '\n',
    'sk-',
    'eyJ',
    'eyJa.',
    'token',
    'token:',
    'api_key = ',
    'bearer ',
    'Basic a',
    '"a',
    "token: '",
    '\u{1F600}',
    '\0',
  ])('of %j is answered, with at most 500 characters', (unit) => {
    const message = unit.repeat(Math.ceil(100_000 / unit.length));
    for (const text of [message, `${message}!`, `x ${message}`]) {
      expect(sanitizeErrorMessage(text).length).toBeGreaterThan(0);
      expect(sanitizeErrorMessage(text).length).toBeLessThanOrEqual(500);
    }
  });
});

test('cleaning twice is cleaning once', () => {
  for (const message of [
    `x sk-abcdefghijkl {"a":1}`,
    `a@example.com "${PROMPT}" ${OPAQUE}`,
    'password=abc Bearer abcdef <p>',
  ]) {
    const once = sanitizeErrorMessage(message);
    expect(sanitizeErrorMessage(once)).toBe(once);
  }
});

describe('truncated text, and text that only looks like a leak', () => {
  test('a body that is too long to parse is removed', () => {
    expect(sanitizeErrorMessage(`400 {"error":{"code":400},"input":"${PROMPT.repeat(100)}"}`)).not.toContain(
      'Jane Doe',
    );
  });
  test('a JSON body that the vendor truncated after an inner object is removed', () => {
    expect(sanitizeErrorMessage(`400 {"error":{"code":400},"input":"${PROMPT}`)).not.toContain('Jane Doe');
  });
  test('an HTML body that the vendor truncated is removed', () => {
    expect(sanitizeErrorMessage(`502 <html><p>${PROMPT}`)).not.toContain('Jane Doe');
  });
  test('two comparisons are not a body', () => {
    expect(sanitizeErrorMessage('top_p must be > 0 and < 1, and n < 5 or > 7')).toBe(
      'top_p must be > 0 and < 1, and n < 5 or > 7',
    );
  });
  test('a quoted prompt that is too long to find its closing quote is removed', () => {
    expect(sanitizeErrorMessage(`Invalid prompt "${PROMPT.repeat(100)}"`)).not.toContain('Jane Doe');
  });
  test('a quoted prompt that the vendor truncated is removed', () => {
    expect(sanitizeErrorMessage(`Invalid prompt "${PROMPT}...`)).not.toContain('Jane Doe');
  });
  test('a prompt with an escaped quote is removed', () => {
    expect(
      sanitizeErrorMessage('Invalid prompt "Say \\"hello\\" to Jane Doe for me, a patient, \\"now\\""'),
    ).not.toContain('Jane Doe');
  });
  test('two apostrophes are not a quotation', () => {
    const message = "The model's context length is 8192 tokens and the request doesn't fit";
    expect(sanitizeErrorMessage(message)).toBe(message);
  });
  test('the name of a model with a date pin is not opaque', () => {
    const message = 'model claude-sonnet-4-5-20250929 is overloaded';
    expect(sanitizeErrorMessage(message)).toBe(message);
  });
  test('a word that begins like a key is a word', () => {
    expect(sanitizeErrorMessage('skip-validation is not supported')).toBe('skip-validation is not supported');
  });
});

test('a message that begins with a body keeps what follows it', () => {
  expect(sanitizeErrorMessage('{"secret":"s3cret"} rejected')).toBe('[body] rejected');
});
