/**
 * Only a token that the team's Access signed for this application, and that counts now, names an operator. The keys come
 * from a real server; invented key ids do not make it work, and its outage locks nobody out at once.
 */
import { createHmac } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type AccessApplication, accessApplication, verifyAccessToken } from '../../src/platform/access-token.ts';
import { type AccessServer, AUDIENCE, startAccess } from '../support/access-server.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let access: AccessServer;
let application: AccessApplication;
const servers: AccessServer[] = [];

/** A team of its own for each test: keys stay in memory. */
beforeEach(async () => {
  access = await startAccess();
  servers.push(access);
  application = accessApplication(access.url, AUDIENCE) as AccessApplication;
});
afterAll(() => Promise.all(servers.map((server) => server.close())));

const verify = (token: string, nowMs = Date.now()) => verifyAccessToken(application, token, nowMs);

describe('names', () => {
  test('a person by e-mail address, whatever its case', async () => {
    expect(await verify(access.token('Ada@Example.com'))).toBe('ada@example.com');
  });

  test('a service token by its client id', async () => {
    const id = 'e367826f93b8d71185e03fe518aff3b4.access';
    expect(await verify(access.token('', { email: undefined, sub: '', common_name: id }))).toBe(id);
  });
});

describe('names nobody', () => {
  const now = Math.floor(Date.now() / 1_000);
  test.each([
    ['another audience', { aud: ['another'] }, {}],
    ['no audience', { aud: undefined }, {}],
    ['another issuer', { iss: 'https://other.cloudflareaccess.com' }, {}],
    ['no issuer', { iss: undefined }, {}],
    ['an end that has passed', { exp: now - 1 }, {}],
    ['no end', { exp: undefined }, {}],
    ['a beginning to come', { nbf: now + 600 }, {}],
    ['a time of issue to come', { iat: now + 600 }, {}],
    ['neither e-mail nor client id', { email: undefined }, {}],
    ['an e-mail that is no text', { email: 7 }, {}],
    ['an empty e-mail', { email: '' }, {}],
    ['a name without a bound', { email: `${'a'.repeat(300)}@example.com` }, {}],
    ['no key id', {}, { kid: undefined }],
    ['an algorithm that Access does not use', {}, { alg: 'RS512' }],
    ['no algorithm', {}, { alg: 'none' }],
    ['an extension that must be understood', {}, { crit: ['exp'] }],
  ])('with %s', async (_, claims, header) => {
    expect(await verify(access.token('ada@example.com', claims, header))).toBeNull();
  });

  test('by a signature of another key', async () => {
    expect(await verify(access.forged('ada@example.com'))).toBeNull();
  });

  test('by a symmetric signature under the public key', async () => {
    const [header = '', payload] = access.token('ada@example.com').split('.');
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString());
    for (const alg of ['HS256', 'RS256']) {
      const signed = `${Buffer.from(JSON.stringify({ alg, kid, typ: 'JWT' })).toString('base64url')}.${payload}`;
      const signature = createHmac('sha256', access.publicKeyPem()).update(signed).digest('base64url');
      expect(await verify(`${signed}.${signature}`), alg).toBeNull();
    }
  });

  test('with claims that were changed, without a signature, or as no token at all', async () => {
    const [header, , signature] = access.token('ada@example.com').split('.');
    const other = access.token('root@example.com').split('.')[1];
    for (const token of [
      `${header}.${other}.${signature}`,
      `${header}.${other}.`,
      `${header}.${other}`,
      '',
      'a.b.c',
      '..',
      '...',
    ])
      expect(await verify(token), token).toBeNull();
  });
});

describe('the keys', () => {
  test('are read once for many tokens', async () => {
    for (let n = 0; n < 5; n += 1) expect(await verify(access.token('ada@example.com'))).toBe('ada@example.com');
    expect(access.asked).toBe(1);
  });

  test('are read anew for an unknown key id at most once a minute, however many are invented', async () => {
    const start = Date.now();
    await verify(access.token('ada@example.com'), start);
    for (let n = 0; n < 50; n += 1)
      expect(
        await verify(access.token('ada@example.com', {}, { kid: `invented-${n}` }), start + 2 * MINUTE + n),
      ).toBeNull();
    expect(access.asked).toBe(2);
  });

  test('that are new count as soon as they are read, and an earlier one until Access takes it away', async () => {
    const start = Date.now();
    const before = access.token('ada@example.com');
    await verify(before, start);
    access.rotate();
    const after = access.token('ada@example.com');
    expect(await verify(after, start + MINUTE)).toBe('ada@example.com');
    expect(await verify(before, start + MINUTE)).toBe('ada@example.com');
    access.forget();
    expect(await verify(before, start + 2 * HOUR)).toBeNull();
  });

  test('go on for a day while they cannot be read, and then nobody is named, with an error that says so', async () => {
    const start = Date.now();
    const token = access.token('ada@example.com');
    await verify(token, start);
    access.failing = 503;
    expect(await verify(token, start + 2 * HOUR)).toBe('ada@example.com');
    await expect(verify(token, start + 25 * HOUR)).rejects.toThrow('keys of Cloudflare Access cannot be read');
    access.failing = null;
    expect(await verify(token, start + 25 * HOUR + MINUTE)).toBe('ada@example.com');
  });

  test('that were never read are not asked for with every request while their server fails', async () => {
    access.failing = 500;
    const start = Date.now();
    for (let n = 0; n < 20; n += 1) await expect(verify(access.token('ada@example.com'), start + n)).rejects.toThrow();
    expect(access.asked).toBe(1);
    access.failing = null;
    expect(await verify(access.token('ada@example.com'), start + 11_000)).toBe('ada@example.com');
  });
});

describe('the configuration', () => {
  test('takes a domain with or without its scheme, and is absent without both parts', () => {
    const issuer = 'https://example.cloudflareaccess.com';
    for (const domain of ['example.cloudflareaccess.com', issuer, `${issuer}/`])
      expect(accessApplication(domain, AUDIENCE)).toEqual({ issuer, audience: AUDIENCE });
    expect([
      accessApplication(issuer, undefined),
      accessApplication(undefined, AUDIENCE),
      accessApplication('', ''),
    ]).toEqual([null, null, null]);
  });

  test.each(['http://example.com', 'https://', 'ftp://example.com'])('refuses %s', (domain) => {
    expect(() => accessApplication(domain, AUDIENCE)).toThrow('ACCESS_TEAM_DOMAIN');
  });
});
