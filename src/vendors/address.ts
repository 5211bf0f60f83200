/**
 * The addresses that a caller may make the service send requests to: https and a public host, never a private network.
 *
 * The runtime's URL parser turns every notation of an address into one form (decimal, octal, hex and short IPv4,
 * compressed IPv6, full-width digits, percent signs), and the rules judge that form. A Worker has no resolver, so it
 * cannot see that a public name resolves to a private address; in production Cloudflare's network refuses such
 * connections. An origin that the operator registered is always allowed.
 */

export type CheckedUrl = { ok: true; url: URL } | { ok: false; reason: string };

const URL_LENGTH_MAX = 4_096;
const HTTPS_PORT = 443;
/**
 * Lower ports, except 443, belong to mail, remote shells, directories and other services that must not be reached.
 * People run their own gateways on this port and above.
 */
const PORT_UNPRIVILEGED_MIN = 1_024;

/** IANA's special-purpose blocks outside of the public internet, and Azure's metadata address. */
const IPV4_REFUSED: readonly (readonly [string, number, string])[] = [
  ['0.0.0.0', 8, 'unspecified'],
  ['10.0.0.0', 8, 'private'],
  ['100.64.0.0', 10, 'shared (CGNAT)'],
  ['127.0.0.0', 8, 'loopback'],
  ['168.63.129.16', 32, 'metadata'],
  ['169.254.0.0', 16, 'link-local'],
  ['172.16.0.0', 12, 'private'],
  ['192.0.0.0', 24, 'reserved'],
  ['192.0.2.0', 24, 'documentation'],
  ['192.88.99.0', 24, 'reserved'],
  ['192.168.0.0', 16, 'private'],
  ['198.18.0.0', 15, 'benchmark'],
  ['198.51.100.0', 24, 'documentation'],
  ['203.0.113.0', 24, 'documentation'],
  ['224.0.0.0', 4, 'multicast'],
  ['240.0.0.0', 4, 'reserved'],
];

/** Domains that are used in private networks or are reserved from public use. */
const SUFFIXES_REFUSED = [
  'localhost',
  'localdomain',
  'local',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'home.arpa',
  'in-addr.arpa',
  'ip6.arpa',
  'svc',
  'test',
  'example',
  'invalid',
  'onion',
  'metadata.goog',
];

/**
 * The parsed address, if a request may be sent there. `registeredOrigins` has the vendors' base addresses that the
 * operator registered for the organization, as `scheme://host:port`; a path is ignored.
 */
export function checkVendorUrl(url: string, registeredOrigins: readonly string[]): CheckedUrl {
  if (url.length > URL_LENGTH_MAX) return refuse(`longer than ${URL_LENGTH_MAX} characters`);
  const parsed = parse(url);
  if (parsed === null) return refuse('not a URL');
  if (parsed.protocol !== 'https:' && parsed.protocol !== 'http:') return refuse('not an https address');
  if (parsed.username !== '' || parsed.password !== '') return refuse('must not contain a user name or password');
  if (registeredOrigins.some((origin) => parse(origin)?.origin === parsed.origin)) return { ok: true, url: parsed };
  if (parsed.protocol !== 'https:') return refuse('not an https address');
  const reason = portReason(parsed) ?? hostReason(parsed.hostname);
  return reason === null ? { ok: true, url: parsed } : refuse(reason);
}

function refuse(reason: string): { ok: false; reason: string } {
  return { ok: false, reason };
}

function parse(url: string): URL | null {
  return URL.canParse(url) ? new URL(url) : null;
}

function portReason({ port }: URL): string | null {
  // The parser omits the scheme's default port.
  const number = port === '' ? HTTPS_PORT : Number(port);
  return number === HTTPS_PORT || number >= PORT_UNPRIVILEGED_MIN ? null : `port ${number} is not allowed`;
}

function hostReason(hostname: string): string | null {
  if (hostname.startsWith('[')) return ipv6Reason(hostname.slice(1, -1));
  // A name may end with a dot for the root; resolvers ignore it.
  const name = hostname.replace(/\.+$/, '').toLowerCase();
  const address = parseIpv4(name);
  if (address !== null) return ipv4Reason(address);
  const labels = name.split('.');
  if (labels.some((label) => label === '')) return 'not a host name';
  if (labels.length < 2) return 'a host name without a domain is not public';
  // No public top-level domain is a number: this only looks like an address.
  if (/^(?:\d+|0x[\da-f]*)$/.test(labels.at(-1) ?? '')) return 'not a host name';
  const suffix = SUFFIXES_REFUSED.find((refused) => name === refused || name.endsWith(`.${refused}`));
  return suffix === undefined ? null : `names under ${suffix} are not public`;
}

function parseIpv4(name: string): number | null {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(name)?.slice(1).map(Number);
  if (!parts?.every((part) => part <= 255)) return null;
  return parts.reduce((address, part) => address * 256 + part, 0);
}

function ipv4Reason(address: number): string | null {
  const found = IPV4_REFUSED.find(([network, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(address / size) === Math.floor((parseIpv4(network) ?? 0) / size);
  });
  return found ? `the address is ${found[2]}` : null;
}

/**
 * Allows addresses of the public internet (2000::/3) that neither contain an IPv4 address nor have a special purpose.
 * Mapped, compatible and translated IPv4, loopback, local, link-local and multicast are all outside of 2000::/3.
 */
function ipv6Reason(address: string): string | null {
  const [first = 0, second = 0] = splitGroups(address);
  if (first >> 13 !== 0b001) return 'the address is not a public IPv6 address';
  // 2001::/23 is reserved for protocols: Teredo, benchmarks, ORCHID.
  if (first === 0x2001 && second < 0x0200) return 'the address is reserved';
  if (first === 0x2001 && second === 0x0db8) return 'the address is documentation';
  if (first === 0x2002) return 'the address carries an IPv4 address';
  return first === 0x3fff && second < 0x1000 ? 'the address is documentation' : null;
}

/** The groups before the first `::`. The parser's form of an address has no dotted part. */
function splitGroups(address: string): number[] {
  const [head = ''] = address.split('::');
  return head === '' ? [] : head.split(':').map((group) => Number.parseInt(group, 16));
}
