/**
 * The kind of a vendor: whose API it has. What the service does with a vendor depends on its kind, never on a part of
 * its name, because the operator chooses the name.
 *
 * What each kind accepts stands in `vendors/kind.ts`.
 */

export const VENDOR_KINDS = [
  'openai',
  'anthropic',
  'google',
  'azure',
  'bedrock',
  'vertex',
  'openrouter',
  'compatible',
] as const;

export type VendorKind = (typeof VENDOR_KINDS)[number];

/** The hosts of each kind, regional ones too. */
const HOSTS: readonly (readonly [VendorKind, RegExp])[] = [
  ['openai', /^(?:[a-z0-9-]+\.)?api\.openai\.com$/],
  ['anthropic', /^api\.anthropic\.com$/],
  ['google', /^generativelanguage\.googleapis\.com$/],
  ['azure', /\.(?:openai|services\.ai|cognitiveservices)\.azure\.com$/],
  ['bedrock', /^bedrock-(?:runtime|mantle)(?:-fips)?\.[a-z0-9-]+\.(?:amazonaws\.com(?:\.cn)?|api\.aws)$/],
  ['vertex', /^(?:[a-z0-9-]+-)?aiplatform\.googleapis\.com$/],
  ['openrouter', /^(?:[a-z0-9-]+\.)?openrouter\.ai$/],
];

/** Names that are a kind if nothing else tells: what a vendor at an address of one's own, such as a proxy, is called. */
const NAMED = new Set<string>(['openai', 'anthropic', 'google', 'azure'] satisfies VendorKind[]);

/** The kind of a vendor that no kind was set for. */
export function kindOfVendor(provider: string, baseUrl: string): VendorKind {
  return kindAt(baseUrl) ?? kindNamed(provider);
}

/** The kind that an address has by its host; `null` for a host that is not known. */
export function kindAt(address: string): VendorKind | null {
  // A name may end with a dot for the root.
  const host = URL.parse(address)?.hostname.replace(/\.$/, '') ?? '';
  return HOSTS.find(([, pattern]) => pattern.test(host))?.[0] ?? null;
}

/** The kind that a whole name stands for. */
export function kindNamed(provider: string): VendorKind {
  return NAMED.has(provider) ? (provider as VendorKind) : 'compatible';
}
