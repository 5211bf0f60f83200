/**
 * The channel that served a model, and the region, according to the model's name and the executing vendor.
 *
 * Matching strips these decorations to find the model; its price can depend on them.
 */

export type Channel = 'bedrock' | 'vertex' | 'azure';

export interface Served {
  /** `null`: the vendor's own API, or an unknown channel. */
  channel: Channel | null;
  /** The region in the name, `in-region` for the endpoint's own; `null` if the name has none, or `global`. */
  region: string | null;
}

const BEDROCK_REGION = /^(?:us-gov|us|eu|apac|jp|au|in|global)(?=\.(?:anthropic|openai|google)\.)/;
/** A model of OpenAI on Bedrock without a prefix runs in the region of the endpoint, and has the regional price. */
const IN_REGION = /(?:^|[/:])openai\./;
const CHANNEL_NAMES: readonly [Channel, RegExp][] = [
  [
    'bedrock',
    /^(?:bedrock|bedrock_converse|bedrock_mantle|aws-bedrock|amazon-bedrock)[/:]|^arn:aws(?:-[a-z-]+)?:bedrock:/,
  ],
  ['bedrock', /^(?:(?:us-gov|us|eu|apac|jp|au|in|global)\.)?(?:anthropic|openai|google)\./],
  ['vertex', /^(?:vertex|vertex_ai|vertex_ai_beta|vertexai|google-vertex|google_vertexai)[/:]|^projects\//],
  ['vertex', /^claude-.*@(?:\d{8}|latest|default)$/],
  ['azure', /^(?:azure|azure_ai|azure-openai|azure_openai|azure_text)[/:]/],
];
const PROVIDER_NAMES: readonly [Channel, RegExp][] = [
  ['bedrock', /bedrock|^aws\b/],
  ['vertex', /vertex/],
  ['azure', /azure|foundry/],
];
const REGIONS = [
  BEDROCK_REGION,
  /(?<=[/:])(?:us-gov|us|eu|apac|jp|au|in|global)(?=\.(?:anthropic|openai|google)\.)/,
  /(?<=^bedrock\/)[a-z]{2}(?:-gov)?-[a-z]+-\d(?=\/)/,
  /(?<=^arn:aws(?:-[a-z-]+)?:bedrock:)[a-z0-9-]+(?=:\d*:foundation-model\/)/,
  /(?<=^projects\/[^/]+\/locations\/)[^/]+/,
  /(?<=^azure(?:_ai)?\/)(?:us|eu|data-zone)(?=(?:-standard)?\/)/,
];

/** The channel and region of the model that ran, from its name and its vendor. */
export function servedBy(modelUsed: string, providerUsed?: string): Served {
  const name = modelUsed.trim().toLowerCase();
  const provider = providerUsed?.trim().toLowerCase() ?? '';
  const found =
    CHANNEL_NAMES.find(([, pattern]) => pattern.test(name)) ??
    PROVIDER_NAMES.find(([, pattern]) => pattern.test(provider));
  const stated = found && REGIONS.map((pattern) => pattern.exec(name)?.[0]).find((match) => match !== undefined);
  const region = stated ?? (found?.[0] === 'bedrock' && IN_REGION.test(name) ? 'in-region' : undefined);
  return { channel: found?.[0] ?? null, region: region === undefined || region === 'global' ? null : region };
}
