/**
 * The one form that every vendor's usage is read into, and the reading of single figures from untrusted answers.
 *
 * A negative, broken, textual or impossibly large count makes the whole usage implausible, because a call with half of
 * its usage would be billed as if that were all.
 */
import { excessiveParts, type ServiceTier, type TokenDetail, type UsageDetails } from '../../domain/usage.ts';

/** The levels of reasoning effort, lowest first, in OpenAI's words (contract 4.2). */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

/** More USD than any call costs. */
const REPORTED_USD_MAX = 1_000_000;
/** Amounts of money are exact to a nano-USD. */
const USD_DECIMALS = 9;

export type VendorName = 'openai' | 'anthropic' | 'google';

export interface VendorUsage extends UsageDetails {
  modelUsed?: string;
  /** The model that was asked declined, and this one answered instead. */
  isFallback?: true;
  /** Only if the answer itself tells; the sender of the request knows better. */
  providerUsed?: VendorName;
  /** All prompt tokens, including cache reads and writes. */
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteInputTokens: number;
  /** All completion tokens, including reasoning. */
  responseTokens: number;
  reasoningTokens: number;
  /** Only if the vendor reports searches. */
  searches?: number;
  /** Audio tokens, which are part of the prompt and the completion. */
  audio?: number;
  /** Only if the vendor counts seconds; tokens are not converted into seconds. */
  audioSeconds?: number;
  /** Only if the answer repeats it. */
  reasoningEffort?: Effort;
  /** What the vendor itself says that the call cost. */
  vendorReportedCostUSD?: number;
  /** What ran beside the model that answered, each with its own model: not in the figures above. */
  parts?: VendorUsage[];
}

/** The answer reported usage with an impossible figure, or with a part larger than its whole. */
export const IMPLAUSIBLE = 'IMPLAUSIBLE';

/** The usage that an answer reports; `null` if it reports none. */
export type ReportedUsage = VendorUsage | typeof IMPLAUSIBLE | null;

/** The usage, if it can be used. */
export function plausible(reported: ReportedUsage): VendorUsage | null {
  return reported === IMPLAUSIBLE ? null : reported;
}

/** An error that a vendor reports. */
export interface VendorFailure {
  code: string;
  message: string;
}

/** The usage of one kind of stream, as far as it has been read. */
export interface StreamReading {
  /** Takes the next event, parsed. */
  read(event: Fields): void;
  usage(): ReportedUsage;
  /** Web searches so far, known even without usage. */
  searches(): number;
  /** The vendor has marked the end and reported everything. */
  readonly completed: boolean;
  /** The answer is whole; unless the stream is `completed`, its usage may still follow. */
  readonly finished: boolean;
}

export type Fields = Record<string, unknown>;

/** More tokens than any call has: the most that the end of a call may report. */
export const COUNT_MAX = 1_000_000_000;
/** The longest model name that a recorded call accepts. */
const MODEL_LENGTH_MAX = 300;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an object, else an empty object. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** The text that a value is, else an empty one. Making one of an object may throw: it may have any `toString`. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * A count: 0 if it is absent or null, NaN if it is no count. NaN survives every sum, so one check at the end
 * (`checked`) finds any broken figure.
 */
export function count(value: unknown): number {
  if (value === undefined || value === null) return 0;
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= COUNT_MAX ? value : Number.NaN;
}

/** The sum of the audio tokens; no member if there are none. */
export function audioOf(...tokens: unknown[]): { audio?: number } {
  const audio = tokens.reduce((sum: number, part) => sum + count(part), 0);
  return audio === 0 ? {} : { audio };
}

/** Longer than any recording: the most that the end of a call may report. */
const SECONDS_MAX = 1_000_000_000;

/** Seconds of audio, to a thousandth; no member if the vendor does not count them. */
export function audioSecondsOf(value: unknown): { audioSeconds?: number } {
  if (value === undefined || value === null) return {};
  const known = typeof value === 'number' && value >= 0 && value <= SECONDS_MAX;
  return { audioSeconds: known ? Math.round(value * 1_000) / 1_000 : Number.NaN };
}

/** The most answers of one request that are told apart; no vendor makes more. */
const ANSWERS_MAX = 128;

/** The place of an answer among the parallel ones; the first where it has none. */
export function answerPlace(index: unknown): number {
  return typeof index === 'number' && index >= 0 && index < ANSWERS_MAX ? Math.floor(index) : 0;
}

/** Which of the parallel answers in one stream have given their stop reason. */
export class Stops {
  readonly #stopped = new Map<number, boolean>();

  read(answer: unknown, reasonName: 'finish_reason' | 'finishReason'): void {
    const { index, [reasonName]: reason } = fieldsOf(answer);
    const place = answerPlace(index);
    const stopped = typeof reason === 'string' && reason !== '';
    this.#stopped.set(place, stopped || this.#stopped.get(place) === true);
  }

  /** All answers that have begun have stopped. */
  get all(): boolean {
    return this.#stopped.size > 0 && [...this.#stopped.values()].every((stopped) => stopped);
  }
}

/** The usage, or `IMPLAUSIBLE` if a figure is broken or a part is larger than its whole. */
export function checked(usage: VendorUsage): VendorUsage | typeof IMPLAUSIBLE {
  const { vendorReportedCostUSD: _cost, parts = [], ...figures } = usage;
  if (parts.some((part) => checked(part) === IMPLAUSIBLE)) return IMPLAUSIBLE;
  const counts = [...Object.values(figures), usage.toolUses?.fileSearch].filter((value) => typeof value === 'number');
  if (!counts.every((figure) => figure >= 0 && figure <= COUNT_MAX)) return IMPLAUSIBLE;
  return excessiveParts(usage) === null ? usage : IMPLAUSIBLE;
}

/** Details of usage, without those that are zero. A broken one stays, so that it makes the usage implausible. */
export function detailsOf(details: Partial<Record<TokenDetail, number>>): Partial<Record<TokenDetail, number>> {
  return Object.fromEntries(Object.entries(details).filter(([, tokens]) => tokens !== 0));
}

const TIERS: Readonly<Record<string, ServiceTier>> = {
  default: 'standard',
  standard: 'standard',
  on_demand: 'standard',
  flex: 'flex',
  on_demand_flex: 'flex',
  priority: 'priority',
  fast: 'priority',
  on_demand_priority: 'priority',
  ultrafast: 'ultrafast',
  batch: 'batch',
};

/** The service tier that an answer names; `other` for a word that has no published rate. */
export function tierOf(value: unknown): { serviceTier?: ServiceTier } {
  if (typeof value !== 'string' || value === '' || value === 'auto') return {};
  const tier = Object.hasOwn(TIERS, value.toLowerCase()) ? TIERS[value.toLowerCase()] : 'other';
  return tier === undefined ? {} : { serviceTier: tier };
}

/** USD that a vendor reports as its own charge. */
export function reportedCost(value: unknown): { vendorReportedCostUSD?: number } {
  if (typeof value !== 'number' || !(value >= 0 && value <= REPORTED_USD_MAX)) return {};
  return { vendorReportedCostUSD: Number(value.toFixed(USD_DECIMALS)) };
}

export function modelName(value: unknown): { modelUsed?: string } {
  if (typeof value !== 'string' || value.trim() === '' || value.length > MODEL_LENGTH_MAX) return {};
  // Some answers of Google have the name of the resource in place of the name of the model.
  return { modelUsed: value.replace(/^models\//, '') };
}

export function effortOf(value: unknown): { reasoningEffort?: Effort } {
  const effort = EFFORTS.find((level) => level === value);
  return effort === undefined ? {} : { reasoningEffort: effort };
}

/** The vendor of a model whose name only that vendor uses. Names with a slash belong to resellers. */
export function providerOf(model: unknown): { providerUsed?: VendorName } {
  const { modelUsed } = modelName(model);
  if (modelUsed === undefined) return {};
  if (/^claude-/i.test(modelUsed)) return { providerUsed: 'anthropic' };
  if (/^(?:gemini|gemma|learnlm)-/i.test(modelUsed)) return { providerUsed: 'google' };
  const openai =
    /^(?:ft:)?(?:gpt-(?!oss|neo|j)|chatgpt-|o\d|codex-|text-embedding-(?:3|ada)|davinci-|babbage-|computer-use-)/i;
  return openai.test(modelUsed) && !modelUsed.includes('/') ? { providerUsed: 'openai' } : {};
}
