/**
 * The messages of validation errors: `must be at most 5`, `is required`. A schema has its own message only if these are
 * not specific enough.
 */
import { z } from 'zod';

/** Call once, before the first validation. */
export function useContractMessages(): void {
  z.config({ customError: describeRule });
}

function describeRule(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return issue.expected === 'int'
        ? 'must be a whole number'
        : `must be ${article(issue.expected)} ${issue.expected}`;
    case 'invalid_value':
      if (issue.input === undefined) return 'is required';
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of ${issue.values.join(', ')}`;
    case 'too_big':
      return `must ${has(issue.origin)} ${issue.inclusive === false ? 'below' : 'at most'} ${issue.maximum}${unit(issue.origin)}`;
    case 'too_small':
      if (issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
      return `must ${has(issue.origin)} ${issue.inclusive === false ? 'above' : 'at least'} ${issue.minimum}${unit(issue.origin)}`;
    case 'unrecognized_keys':
      return 'is unknown';
    case 'invalid_union':
      return issue.input === undefined ? 'is required' : 'has none of the allowed shapes';
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'has the wrong form';
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_key':
      return 'has a name that is not allowed';
    case 'invalid_element':
      return 'has an item that is not allowed';
    default:
      return 'is not valid';
  }
}

/** Texts of a form that has a name. */
const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'must be a date and time in UTC, such as 2026-11-25T09:30:00Z',
  date: 'must be a date, such as 2026-11-25',
  url: 'must be an address, such as https://example.com',
  uuid: 'must be a UUID, such as 3f2a8c1e-5b7d-4e9a-8c6f-1d2e3f4a5b6c',
  email: 'must be an e-mail address, such as ada@example.com',
};

function article(noun: string): 'a' | 'an' {
  return /^[aeiou]/.test(noun) ? 'an' : 'a';
}

function has(origin: string): 'have' | 'be' {
  return origin === 'string' || origin === 'array' ? 'have' : 'be';
}

function unit(origin: string): string {
  return origin === 'string' ? ' characters' : origin === 'array' ? ' items' : '';
}
