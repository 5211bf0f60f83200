/**
 * The Accept headers that admit the vendor media type, and its name in the answer (RFC 9110, 12.5.1).
 */
import { expect, test } from 'vitest';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { acceptedType } from '../../src/http/middleware/accept.ts';

const ACME = 'application/vnd.acme.v1+json';

test.each([
  MEDIA_TYPE,
  '*/*',
  'application/*',
  'application/json, text/plain, */*',
  'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2',
  'APPLICATION/VND.SERVICE.V1+JSON; charset=utf-8',
  `text/html;title="a, b";q=1, ${MEDIA_TYPE};q=0.001`,
  `*/*;q=0, ${MEDIA_TYPE}`,
  `application/*;q=0, ${MEDIA_TYPE};q=0.1`,
  `${ACME};q=0, */*`,
  `${ACME};q=0.2, */*;q=0.9`,
])("%s means the contract's type", (header) => {
  expect(acceptedType(header)).toBe(MEDIA_TYPE);
});

test.each([
  ACME,
  `${ACME}, application/json`,
  `${ACME}, */*`,
  `*/*;q=0.5, ${ACME};q=0.5`,
  `${ACME};q=0.5, ${MEDIA_TYPE};q=0.4`,
  `${MEDIA_TYPE};q=0, */*, ${ACME};q=0.1`,
])('%s means the brand that it names', (header) => {
  expect(acceptedType(header)).toBe(ACME);
});

test.each([
  undefined,
  '',
  'application/json',
  'text/html',
  'text/*, image/*;q=0.5',
  'application/problem+json',
  'application/vnd.service.v2+json',
  'application/vnd.v1+json',
  `${MEDIA_TYPE};q=0`,
  `${MEDIA_TYPE};q=0.000`,
  `*/*, ${MEDIA_TYPE};q=0`,
  `${MEDIA_TYPE}; Q=0, application/*`,
  `${MEDIA_TYPE};profile="a,b";q=0`,
  'application/*;q=0, */*',
  '*/*;q=0',
  `text/html;title=", ${MEDIA_TYPE}"`,
])('%s admits it under no name', (header) => {
  expect(acceptedType(header)).toBeNull();
});
