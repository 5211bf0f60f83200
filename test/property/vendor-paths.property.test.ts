/**
 * A path that a model's name or a caller's address becomes has the segments that were meant, however its vendor reads it,
 * or nothing is sent; and the model that is judged is the one that the path names.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPlainPath } from '../../src/domain/open-paths.ts';
import { endpointAt } from '../../src/gateway/demand/endpoints.ts';
import { googleEndpoint } from '../../src/gateway/dialects/google.ts';
import { requestedModel } from '../../src/gateway/service-calls/requested-model.ts';
import { CHARACTER } from '../support/characters.ts';

const BASE_URL = 'https://api.vendor.example/v1beta';
const piece = fc.constantFrom(
  ...[
    'gemini-2.5-pro',
    'a',
    'models',
    'files',
    'x@001',
    '.',
    '..',
    '...',
    '',
    ' ',
    'é',
    '\ud800',
    'a:run',
    ':generateContent',
  ],
  ...[
    '%2e',
    '%2E%2e',
    '.%2e',
    '%2f',
    '%2F..%2f',
    '%5c',
    '%25',
    '%252e%252e',
    '%252f',
    '%00',
    '%20',
    '%3a',
    '%c0%ae',
    '%',
  ],
  ...[
    ';',
    ';x=1',
    '%3b',
    '?',
    '%3f',
    '?x=/models/b:generateContent',
    '#',
    '%23',
    '\\',
    '\\..\\',
    '\t',
    '\n',
    '\0',
    '．．',
    '\uff0f',
  ],
);
const separator = fc.constantFrom('/', '/', '/', '', '//', '\\', '%2f', ':');
const written = fc
  .array(fc.tuple(piece, separator), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.flat().join(''));
const name = fc.oneof(
  written,
  fc.tuple(written, piece).map((parts) => parts.join('')),
  fc.string({ unit: CHARACTER }),
);

/** As readers do that decode more than once, take backslashes for slashes, or drop parameters and empty segments. */
function readings(pathname: string): string[] {
  const decoded = [pathname];
  for (let round = 0; round < 3; round += 1) {
    try {
      decoded.push(decodeURIComponent(decoded.at(-1) ?? ''));
    } catch {
      break;
    }
  }
  return decoded.map((text) => {
    const kept: string[] = [];
    for (const segment of text
      .replaceAll('\\', '/')
      .replaceAll(/;[^/]*/g, '')
      .split('/')) {
      if (segment === '..') kept.pop();
      else if (segment !== '.' && segment !== '') kept.push(segment);
    }
    return `/${kept.join('/')}`;
  });
}

test("a name of Google's is refused, or is the whole of its part of the path", () => {
  const { vendorUrl, takesModel } = googleEndpoint('generateContent');
  fc.assert(
    fc.property(name, (model) => {
      if (!takesModel(model)) return;
      const { pathname, search, hash } = new URL(vendorUrl({ kind: 'google', baseUrl: BASE_URL, model }));
      const meant = `/v1beta/models/${model}:generateContent`;
      expect([pathname.split('/').length, search, hash]).toEqual([meant.split('/').length, '', '']);
      for (const reading of readings(pathname)) expect(decodeURIComponent(reading)).toBe(meant);
    }),
    { numRuns: 20_000 },
  );
});

test('names that Google has are taken', () => {
  const { takesModel } = googleEndpoint('generateContent');
  for (const model of [
    'gemini-2.5-pro',
    'gemini-3.1-flash-lite',
    'text-embedding-004',
    'claude-opus-4@20250514',
    'a/b',
  ])
    expect([model, takesModel(model)]).toEqual([model, true]);
});

test('the model of a plain path is the one that every reader finds in it', () => {
  fc.assert(
    fc.property(
      name,
      fc.constantFrom('', '?x=/models/b:generateContent', '#/models/b:generateContent'),
      (middle, behind) => {
        const url = URL.parse(`${BASE_URL}/models/${middle}:generateContent${behind}`);
        if (url === null || !isPlainPath(url.pathname) || !endpointAt(url.pathname)) return;
        const model = requestedModel({ url: url.href, body: { model: 'cheap' } });
        expect(model).not.toBe('cheap');
        // A call without a model has no price.
        if (model === undefined) return;
        for (const reading of readings(url.pathname)) {
          const [, found = ''] = /\/models\/([^/:]+):\w+$/.exec(decodeURIComponent(reading)) ?? [];
          expect([reading, model]).toEqual([reading, found]);
        }
      },
    ),
    { numRuns: 20_000 },
  );
});
