/**
 * The boundary of open paths: whatever a caller writes, a request goes to the vendor's own host, to a path that is in
 * the operator's list as the URL parser and any decoder read it, or nowhere.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isOpenPath, openTarget } from '../../src/domain/open-paths.ts';
import { CHARACTER } from '../support/characters.ts';

const BASE_URL = 'https://api.vendor.example/v1';
const OPEN = ['/v1/rerank', '/v1/jobs/*', '/v2/a:run'];

const piece = fc.constantFrom(
  ...['v1', 'v2', 'rerank', 'jobs', 'files', 'a:run', 'x', '.', '..', '...', '', ' ', 'é', '*', '@evil.example'],
  ...['%2e', '%2E%2e', '.%2e', '%2f', '%2F..%2f', '%5c', '%25', '%252e%252e', '%252f', '%00', '%0a', '%20', '%c3%a9'],
  ...['%c0%ae', '%ff', '%', '%zz', ';', ';x=1', '%3b', '?', '%3f', '#', '%23', '\\', '\\..\\', '\t', '\n', '\u0000'],
  ...[
    'evil.example',
    'https:',
    '//evil.example',
    '\\\\evil.example',
    ':80',
    'user:pass@evil.example',
    '．．',
    '\uff0f',
  ],
);
const separator = fc.constantFrom('/', '/', '/', '', '//', '\\', '%2f', '%5C');
const written = fc
  .array(fc.tuple(separator, piece), { minLength: 1, maxLength: 8 })
  .map((parts) => parts.flat().join(''));
/** Paths that begin as open ones do are the ones that may slip through. */
const path = fc.oneof(
  written,
  fc
    .tuple(fc.constantFrom('/v1/rerank', '/v1/jobs/', '/v1/jobs/x', '/v2/a:run'), written)
    .map((parts) => parts.join('')),
  fc.string({ unit: CHARACTER }),
);
const query = fc.constantFrom('', '?a=1', '?x=/../files', '?u=https://evil.example', '?#', '?%2e%2e');

/** Whether a path is in the list, by its segments. */
function isListed(pathname: string, open: readonly string[]): boolean {
  return open.some((listed) =>
    listed.endsWith('/*')
      ? pathname.startsWith(listed.slice(0, -1)) && pathname.length > listed.length - 1
      : pathname === listed,
  );
}

/** As readers do that decode more than once, take backslashes for slashes, or drop parameters of a segment. */
function reread(pathname: string): string[] {
  const readings = [pathname];
  for (let round = 0; round < 3; round += 1) {
    const last = readings.at(-1) ?? '';
    readings.push(safelyDecoded(last));
  }
  return readings.map((reading) => {
    const plain = reading
      .replaceAll('\\', '/')
      .replaceAll(/;[^/]*/g, '')
      .replaceAll(/\/{2,}/g, '/');
    const kept: string[] = [];
    for (const segment of plain.split('/').slice(1)) {
      if (segment === '..') kept.pop();
      else if (segment !== '.') kept.push(segment);
    }
    return `/${kept.join('/')}`;
  });
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

describe('a target', () => {
  test('is at the vendor, in the list, and stays so however it is read again', () => {
    fc.assert(
      fc.property(path, query, (asked, search) => {
        const target = openTarget({ baseUrl: BASE_URL, passthrough: OPEN }, asked, search);
        if (!target) return;
        expect(target.origin).toBe('https://api.vendor.example');
        expect([target.username, target.password, target.hash]).toEqual(['', '', '']);
        expect(isListed(target.pathname, OPEN)).toBe(true);
        // The matched path is the one that is sent.
        expect(new URL(target.href).pathname).toBe(target.pathname);
        for (const reading of reread(target.pathname)) expect(isListed(reading, OPEN), reading).toBe(true);
      }),
      { numRuns: 20_000 },
    );
  });

  test('of a list without paths there is none', () => {
    fc.assert(fc.property(path, (asked) => openTarget({ baseUrl: BASE_URL, passthrough: [] }, asked, '') === null));
  });

  test('is what was asked for, if that is in the list, with its query', () => {
    const segment = fc.stringMatching(/^[\w~:@+-][\w.~:@+-]{0,20}$/);
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 5 }), query, (segments, search) => {
        const listed = `/${segments.join('/')}`;
        for (const open of [listed, ...(segments.length > 1 ? [`/${segments[0]}/*`] : [])]) {
          expect(isOpenPath(open)).toBe(true);
          const vendor = { baseUrl: BASE_URL, passthrough: [open] };
          expect(openTarget(vendor, listed, '')?.pathname).toBe(listed);
          expect(openTarget(vendor, listed.slice(1).replaceAll('/', '%2F'), search)?.pathname).toBe(listed);
        }
      }),
    );
  });

  test('of whatever can be opened is never the root of the host, nor all of it', () => {
    fc.assert(
      fc.property(fc.oneof(written, fc.string()), (open) => {
        if (!isOpenPath(open)) return;
        expect(open).toMatch(/^\/[^/*?#%\\]/);
        expect(new URL(`https://vendor.example${open}`).pathname).toBe(open);
        expect(openTarget({ baseUrl: BASE_URL, passthrough: [open] }, '/', '')).toBeNull();
      }),
      { numRuns: 5_000 },
    );
  });
});
