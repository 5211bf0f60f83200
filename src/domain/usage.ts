/**
 * Usage: the quantities of a call in the units that vendors bill, and the conditions under which it was served.
 *
 * Tokens of a detail (audio, images, kinds of cache writes, reasoning) are part of their whole: image output is within
 * the output. An absent detail is zero.
 */

/** Service tiers that vendors bill. `other`: one without a published rate (scale, provisioned or off-peak capacity). */
export const SERVICE_TIERS = ['standard', 'flex', 'priority', 'ultrafast', 'batch', 'other'] as const;
export type ServiceTier = (typeof SERVICE_TIERS)[number];

export const SPEEDS = ['standard', 'fast'] as const;
export type Speed = (typeof SPEEDS)[number];

/** Tokens of a detail, each a part of its whole. */
export const TOKEN_DETAILS = [
  'cacheWrite1hInputTokens',
  'cacheWrite12hInputTokens',
  'audioInputTokens',
  'cachedAudioInputTokens',
  'audioOutputTokens',
  'imageInputTokens',
  'cachedImageInputTokens',
  'imageOutputTokens',
] as const;
export type TokenDetail = (typeof TOKEN_DETAILS)[number];

/** Uses of the vendor's own tools, besides web searches. */
export interface ToolUses {
  fileSearch?: number | undefined;
  /** Minutes of containers that ran code. */
  codeMinutes?: number | undefined;
}

/** The conditions under which the vendor served the call; an absent one is standard. */
export interface Conditions {
  serviceTier?: ServiceTier | undefined;
  /** The region of the endpoint; absent or `global`: none in particular. */
  region?: string | undefined;
  speed?: Speed | undefined;
}

export interface UsageDetails extends Partial<Record<TokenDetail, number | undefined>>, Conditions {
  toolUses?: ToolUses | undefined;
  /** Generated images, for a model that bills each. */
  images?: number | undefined;
  /** Spoken characters, for a model that bills them. */
  characters?: number | undefined;
}

/** Figures that every call has. */
export interface BaseUsage {
  /** All prompt tokens, cache reads and writes included. */
  inputTokens: number;
  cachedInputTokens: number;
  /** All tokens written to the cache, whatever their lifetime. */
  cacheWriteInputTokens: number;
  /** All completion tokens, reasoning included. */
  responseTokens: number;
  reasoningTokens: number;
  searches: number;
  audio: number;
  audioSeconds: number;
}

export interface Usage extends BaseUsage, UsageDetails {}

/**
 * The source of usage figures. `reported`: the vendor or the application. `partial`: the vendor, whose answer broke off
 * or had unclear figures, completed by our count and by the call's bound. `estimated`: only our count. Usage that is
 * not `reported` is provisional: it counts and is charged like any usage, until a reported figure replaces it.
 */
export const USAGE_SOURCES = ['reported', 'partial', 'estimated'] as const;
export type UsageSource = (typeof USAGE_SOURCES)[number];
export type ProvisionalSource = Exclude<UsageSource, 'reported'>;

/**
 * The basis of the output tokens of provisional usage. `text`: the part of the answer that arrived, by our count or the
 * vendor's. `time`: the time that the vendor worked, at the model's highest observed rate. `held`: the hold for the
 * output in steps. `bound`: the most that is possible.
 */
export const OUTPUT_BASES = ['text', 'time', 'held', 'bound'] as const;
export type OutputBasis = (typeof OUTPUT_BASES)[number];

export function isProvisional(source: UsageSource | null): source is ProvisionalSource {
  return source !== null && source !== 'reported';
}

export const NO_USAGE: BaseUsage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  responseTokens: 0,
  reasoningTokens: 0,
  searches: 0,
  audio: 0,
  audioSeconds: 0,
};

/** Counts of usage; counts of tools are in `toolUses`. */
export type Count = keyof BaseUsage | TokenDetail | 'images' | 'characters';

const DETAIL_COUNTS = [...TOKEN_DETAILS, 'images', 'characters'] as const;
const CONDITIONS = ['serviceTier', 'region', 'speed'] as const;

/** Every name of usage that `takeUsage` takes. */
const NAMES = [...(Object.keys(NO_USAGE) as (keyof BaseUsage)[]), ...DETAIL_COUNTS, ...CONDITIONS, 'toolUses'] as const;
export type UsageName = (typeof NAMES)[number];

/** Conditions that have no effect. */
export const STANDARD_CONDITIONS: Partial<Record<UsageName, unknown>> = {
  serviceTier: 'standard',
  region: 'global',
  speed: 'standard',
};

/**
 * Splits the usage off a request or an answer. Details that are zero and standard conditions are left out. The type of
 * the rest has no member of usage, so that a caller can check that it used everything.
 */
export function takeUsage<Fields extends Partial<{ [Name in UsageName]: unknown }>>(
  fields: Fields,
): { usage: Usage; rest: Omit<Fields, UsageName> } {
  const taken: Record<string, unknown> = { ...NO_USAGE };
  const rest: Record<string, unknown> = { ...fields };
  for (const name of NAMES) {
    const value = name === 'toolUses' ? usedTools(fields.toolUses as ToolUses | undefined) : fields[name];
    delete rest[name];
    if (value !== undefined && (value !== 0 || name in NO_USAGE) && value !== STANDARD_CONDITIONS[name])
      taken[name] = value;
  }
  return { usage: taken as unknown as Usage, rest: rest as Omit<Fields, UsageName> };
}

function usedTools({ fileSearch = 0, codeMinutes = 0 }: ToolUses = {}): ToolUses | undefined {
  if (fileSearch === 0 && codeMinutes === 0) return undefined;
  return { ...(fileSearch > 0 && { fileSearch }), ...(codeMinutes > 0 && { codeMinutes }) };
}

/** Whether anything was used. */
export function isUsed(usage: Usage): boolean {
  const { toolUses = {} } = usage;
  const counts = [...(Object.keys(NO_USAGE) as Count[]), ...DETAIL_COUNTS].map((name) => usage[name] ?? 0);
  return [...counts, toolUses.fileSearch ?? 0, toolUses.codeMinutes ?? 0].some((count) => count > 0);
}

/** Wholes with their parts. The parts in one line do not overlap, so together they are within the whole. */
export const PARTS: readonly { whole: Count; parts: readonly Count[] }[] = [
  { whole: 'inputTokens', parts: ['cachedInputTokens', 'cacheWriteInputTokens'] },
  { whole: 'inputTokens', parts: ['audioInputTokens', 'imageInputTokens'] },
  { whole: 'cachedInputTokens', parts: ['cachedAudioInputTokens', 'cachedImageInputTokens'] },
  { whole: 'audioInputTokens', parts: ['cachedAudioInputTokens'] },
  { whole: 'imageInputTokens', parts: ['cachedImageInputTokens'] },
  { whole: 'cacheWriteInputTokens', parts: ['cacheWrite1hInputTokens', 'cacheWrite12hInputTokens'] },
  { whole: 'responseTokens', parts: ['reasoningTokens'] },
  { whole: 'responseTokens', parts: ['audioOutputTokens', 'imageOutputTokens'] },
];

export type Counts = { readonly [Name in Count]?: number | undefined };

/** Parts that exceed their whole: the field to correct, and the rule in words. `null` if none does. */
export function excessiveParts(usage: Counts): { field: Count; message: string } | null {
  for (const { whole, parts } of PARTS) {
    const size = usage[whole] ?? 0;
    const used = parts.filter((part) => (usage[part] ?? 0) > 0);
    if (used.length === 0 || used.reduce((sum, part) => sum + (usage[part] ?? 0), 0) <= size) continue;
    const field = used.find((part) => (usage[part] ?? 0) > size) ?? used.at(-1) ?? whole;
    return {
      field,
      message:
        used.length === 1
          ? `${field} is a part of ${whole} and exceeds it`
          : `${used.join(' and ')} are parts of ${whole} and together exceed it`,
    };
  }
  return null;
}

/** Input tokens at the full input rate: all but cache reads and writes. */
export function billableInputTokens(usage: Usage): number {
  return usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteInputTokens;
}
