/**
 * The kind of a vendor: the provider whose API it has. The service treats a vendor by its kind, never by a part of its
 * name, because the operator chooses the name.
 *
 * `vendors/kind.ts` knows the requests that each kind accepts.
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

/**
 * Names that stand for a kind if nothing else decides it: names of vendors at the organization's own address, such as a
 * proxy.
 */
const NAMED = new Set<string>(['openai', 'anthropic', 'google', 'azure'] satisfies VendorKind[]);

/** The kind of a vendor for which no kind was set. */
export function kindOfVendor(provider: string, baseUrl: string): VendorKind {
  return kindAt(baseUrl) ?? kindNamed(provider);
}

/** The kind of an address by its host; `null` for an unknown host. */
export function kindAt(address: string): VendorKind | null {
  // A name may end with a dot for the root.
  const host = URL.parse(address)?.hostname.replace(/\.$/, '') ?? '';
  return HOSTS.find(([, pattern]) => pattern.test(host))?.[0] ?? null;
}

/** The kind that a whole name stands for. */
export function kindNamed(provider: string): VendorKind {
  return NAMED.has(provider) ? (provider as VendorKind) : 'compatible';
}
