/**
 * A caller cannot name an address in a private network, whatever its notation.
 */
import { describe, expect, test } from 'vitest';
import { checkVendorUrl } from '../../src/vendors/address.ts';

const check = (url: string, origins: string[] = []) => checkVendorUrl(url, origins);

test.each([
  'https://api.openai.com/v1/chat/completions',
  'https://generativelanguage.googleapis.com/v1beta/models/gemini-3.5-flash:generateContent?alt=sse',
  'https://API.Anthropic.com./v1/messages',
  'https://gateway.acme.com:8443/v1',
  'https://8.8.8.8/v1',
  'https://[2606:4700:4700::1111]/v1',
  'https://localhost.company.com/',
  'https://my-local.dev/',
  'https://172.15.0.1/',
  'https://172.32.0.1/',
  'https://100.63.255.255/',
  'https://100.128.0.0/',
  'https://198.20.0.1/',
  'https://11.0.0.1/',
])('%s is public', (url) => {
  expect(check(url)).toMatchObject({ ok: true });
});

describe('refused', () => {
  test.each([
    ['http', 'http://api.openai.com/v1'],
    ['another scheme', 'ftp://api.openai.com/'],
    ['a file', 'file:///etc/passwd'],
    ['data', 'data:application/json,{}'],
    ['a script', 'javascript:alert(1)'],
    ['no URL', 'api.openai.com/v1'],
    ['nothing', ''],
    ['too long', `https://api.openai.com/${'x'.repeat(5_000)}`],
    ['a user name', 'https://user@api.openai.com/'],
    ['a password', 'https://:secret@api.openai.com/'],
    ['a host hidden in the user name', 'https://api.openai.com@127.0.0.1/'],
    ['a backslash', 'https://127.0.0.1\\@api.openai.com/'],
    ['ssh', 'https://api.openai.com:22/'],
    ['port 80', 'https://api.openai.com:80/'],
    ['port 0', 'https://api.openai.com:0/'],
    ['one label', 'https://vault/v1'],
    ['one label with a dot', 'https://vault./v1'],
    ['empty labels', 'https://api..openai.com/'],
  ])('%s', (_, url) => {
    expect(check(url).ok).toBe(false);
  });

  test.each([
    'localhost',
    'LOCALHOST',
    'localhost.',
    'localhost..',
    'a.localhost',
    'a.b.localhost.',
    'ｌocalhost',
    'local%68ost',
    'printer.local',
    'x.localdomain',
    'metadata.google.internal',
    'metadata.google.internal.',
    'instance-data.ec2.internal',
    'metadata',
    'metadata.goog',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
    'router.lan',
    'nas.home.arpa',
    'intranet.corp',
    '1.0.0.127.in-addr.arpa',
    'a.test',
  ])('the name %s', (host) => {
    expect(check(`https://${host}/`).ok).toBe(false);
    expect(check(`https://${host}:8443/`).ok).toBe(false);
  });

  test.each([
    ['loopback', '127.0.0.1'],
    ['loopback, in one number', '2130706433'],
    ['loopback, in hex', '0x7f000001'],
    ['loopback, in octal', '017700000001'],
    ['loopback, mixed', '0x7f.0.0.01'],
    ['loopback, short', '127.1'],
    ['loopback, another', '127.255.255.254'],
    ['loopback, with a dot', '127.0.0.1.'],
    ['loopback, full-width digits', '１２７.０.０.１'],
    ['loopback, circled digits', '①②⑦.⓪.⓪.①'],
    ['loopback, ideographic dots', '127。0。0。1'],
    ['loopback, percent signs', '%31%32%37.0.0.1'],
    ['unspecified', '0.0.0.0'],
    ['unspecified, short', '0'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['CGNAT', '100.64.0.1'],
    ['Alibaba metadata', '100.100.100.200'],
    ['link-local metadata', '169.254.169.254'],
    ['ECS metadata', '169.254.170.2'],
    ['Azure metadata', '168.63.129.16'],
    ['Oracle metadata', '192.0.0.192'],
    ['benchmark', '198.18.0.1'],
    ['benchmark', '198.19.255.255'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.7'],
    ['documentation', '203.0.113.9'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['IPv6 loopback', '[::1]'],
    ['IPv6 loopback, in full', '[0:0:0:0:0:0:0:1]'],
    ['IPv6 unspecified', '[::]'],
    ['IPv6 mapped', '[::ffff:127.0.0.1]'],
    ['IPv6 mapped, hex', '[::ffff:7f00:1]'],
    ['IPv6 mapped, in full', '[0000:0000:0000:0000:0000:ffff:a9fe:a9fe]'],
    ['IPv6 compatible', '[::127.0.0.1]'],
    ['IPv6 translated', '[::ffff:0:127.0.0.1]'],
    ['NAT64', '[64:ff9b::7f00:1]'],
    ['NAT64, local', '[64:ff9b:1::a9fe:a9fe]'],
    ['6to4', '[2002:7f00:1::]'],
    ['Teredo', '[2001:0:4136:e378:8000:63bf:3fff:fdd2]'],
    ['IPv6 benchmark', '[2001:2::1]'],
    ['IPv6 documentation', '[2001:db8::1]'],
    ['IPv6 documentation', '[3fff:abc::1]'],
    ['unique local', '[fc00::1]'],
    ['AWS metadata', '[fd00:ec2::254]'],
    ['IPv6 link-local', '[fe80::1]'],
    ['site-local', '[fec0::1]'],
    ['IPv6 multicast', '[ff02::1]'],
    ['discard', '[100::1]'],
    ['segment routing', '[5f00::1]'],
  ])('%s: %s', (_, host) => {
    expect(check(`https://${host}/`).ok).toBe(false);
    expect(check(`https://${host}:8443/x`).ok).toBe(false);
  });
});

describe('an origin that the operator registered', () => {
  const origins = ['http://127.0.0.1:9000', 'https://llm.corp:8443', 'not a url'];

  test('is allowed with any path', () => {
    expect(check('http://127.0.0.1:9000/v1/chat/completions?x=1', origins)).toMatchObject({ ok: true });
    expect(check('https://llm.corp:8443/v1', origins)).toMatchObject({ ok: true });
  });

  test.each([
    'http://127.0.0.1:9001/v1',
    'https://127.0.0.1:9000/v1',
    'http://127.0.0.2:9000/v1',
    'http://127.0.0.1/v1',
    'https://llm.corp/v1',
    'http://user:pass@127.0.0.1:9000/v1',
    'http://127.0.0.1:9000@evil.com/',
    'http://evil.com/http://127.0.0.1:9000',
    'not a url',
  ])('does not allow %s', (url) => {
    expect(check(url, origins).ok).toBe(false);
  });

  test('allows nothing if it is not a web address', () => {
    expect(check('data:x', ['data:x']).ok).toBe(false);
    expect(check('blob:https://a.com/1', ['https://a.com']).ok).toBe(false);
  });
});

test('a refusal gives the reason and never repeats the address', () => {
  const refused = check('https://user:secret@10.0.0.1/');
  expect(refused).toEqual({ ok: false, reason: 'must not contain a user name or password' });
  expect(check('https://10.0.0.1/')).toEqual({ ok: false, reason: 'the address is private' });
});
