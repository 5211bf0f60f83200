/**
 * The one form that every vendor's usage is read into, and the reading of single figures from untrusted answers.
 *
 * A figure that makes no sense (negative, broken, a text, impossibly large, a part larger than its whole) is unclear:
 * the usage names it, has the value that the other figures prove, and keeps those unchanged. The record of the call
 * counts it at the call's bound.
 */
import type { Unclear, UnclearFigure } from '../../domain/unclear-usage.ts';
import {
  excessiveParts,
  PARTS,
  type ServiceTier,
  type TokenDetail,
  type ToolUses,
  type UsageDetails,
} from '../../domain/usage.ts';
import { type FigureName, type Form, usagePlaces } from './names.ts';

/** The levels of reasoning effort, lowest first, in OpenAI's words (contract 4.2). */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

/** More USD than any call costs. */
const REPORTED_USD_MAX = 1_000_000;
/** Amounts of money are exact to a nano-USD. */
const USD_DECIMALS = 9;

export type VendorName = 'openai' | 'anthropic' | 'google';

export interface VendorUsage extends UsageDetails, Unclear {
  modelUsed?: string;
  /** The requested model declined, and this one answered instead. */
  isFallback?: true;
  /** Only if the answer itself states it; the sender of the request knows better. */
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
  /** The cost of the call that the vendor itself reports. */
  vendorReportedCostUSD?: number;
  /**
   * The models that ran besides the one that answered, each with its own usage, which the figures above do not include.
   */
  parts?: VendorUsage[];
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
  /** `null` if none was reported. */
  usage(): VendorUsage | null;
  /** Web searches so far, known even without usage. */
  searches(): number;
  /** The id of OpenAI's response. */
  readonly responseId?: string | undefined;
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

/** The value if it is an object, otherwise an empty object. */
export function fieldsOrEmpty(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** The value if it is a text, otherwise an empty one. Converting an object may throw: it may have any `toString`. */
export function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function listOrEmpty(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A count, a fraction of it rounded up; `null` if it makes no sense. */
export function count(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && value <= COUNT_MAX ? Math.ceil(value) : null;
}

/** A quantity to a thousandth; `null` if it makes no sense. */
export function quantity(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && value <= COUNT_MAX ? Math.round(value * 1_000) / 1_000 : null;
}

/**
 * The figures of one usage, or of the usages that a stream reports one after the other. These are totals so far, so the
 * highest of each figure counts, in any order; `null` and absent members are ignored.
 */
export class Figures {
  readonly #places: ReturnType<typeof usagePlaces>;
  readonly #highest = new Map<FigureName, number>();
  readonly #unclear = new Set<FigureName>();

  constructor(form: Form) {
    this.#places = usagePlaces(form);
  }

  read(usage: Fields): void {
    for (const { figure, path, isQuantity } of this.#places) {
      const value = path.reduce<unknown>((at, name) => fieldsOrEmpty(at)[name], usage);
      if (value !== undefined && value !== null) this.add(figure, (isQuantity ? quantity : count)(value));
    }
  }

  /** Takes a figure without a path of its own; `null` if it makes no sense. */
  add(figure: FigureName, value: number | null): void {
    if (value === null) this.#unclear.add(figure);
    else this.#highest.set(figure, Math.max(value, this.#highest.get(figure) ?? 0));
  }

  /** Whether one of them was reported, even in a form that makes no sense. */
  has(...figures: FigureName[]): boolean {
    return figures.some((figure) => this.#highest.has(figure) || this.#unclear.has(figure));
  }

  isUnclear(...figures: FigureName[]): boolean {
    return figures.some((figure) => this.#unclear.has(figure));
  }

  /** The sum of figures, each at its highest report. */
  sum(...figures: FigureName[]): number {
    return figures.reduce((sum, figure) => sum + (this.#highest.get(figure) ?? 0), 0);
  }

  /** The sums among these that have an unclear figure. */
  unclearOf(sums: Partial<Record<UnclearFigure, readonly FigureName[]>>): UnclearFigure[] {
    return (Object.keys(sums) as UnclearFigure[]).filter((name) => this.isUnclear(...(sums[name] ?? [])));
  }
}

/** The most answers of one request that are kept apart; no vendor makes more. */
const ANSWERS_MAX = 128;

/** The position of an answer among the parallel ones; the first if it has none. */
export function answerPlace(index: unknown): number {
  return typeof index === 'number' && index >= 0 && index < ANSWERS_MAX ? Math.floor(index) : 0;
}

/** The parallel answers in one stream that have given their stop reason. */
export class Stops {
  readonly #stopped = new Map<number, boolean>();

  read(answer: unknown, reasonName: 'finish_reason' | 'finishReason'): void {
    const { index, [reasonName]: reason } = fieldsOrEmpty(answer);
    const place = answerPlace(index);
    const stopped = typeof reason === 'string' && reason !== '';
    this.#stopped.set(place, stopped || this.#stopped.get(place) === true);
  }

  /** All answers that have begun have stopped. */
  get all(): boolean {
    return this.#stopped.size > 0 && [...this.#stopped.values()].every((stopped) => stopped);
  }
}

/**
 * The usage with consistent figures: one above the bound is cut to it, an unclear whole is at least its parts, and a
 * part that exceeds its whole is left out. These are unclear, besides those that the reader found.
 */
export function fitting(usage: VendorUsage, found: readonly UnclearFigure[]): VendorUsage {
  const fitted: VendorUsage = { ...usage };
  const unclear = new Set(found);
  for (const name of Object.keys(usage) as (keyof VendorUsage)[]) {
    const figure = usage[name];
    if (name === 'vendorReportedCostUSD' || typeof figure !== 'number' || figure <= COUNT_MAX) continue;
    Object.assign(fitted, { [name]: COUNT_MAX });
    unclear.add(name as UnclearFigure);
  }
  // From the smallest part to the largest whole, so that a part's figure raises every whole that contains it.
  for (const { whole, parts } of PARTS.toReversed()) {
    if (!unclear.has(whole)) continue;
    const proved = parts.reduce((sum, part) => sum + (fitted[part] ?? 0), 0);
    if (proved > (fitted[whole] ?? 0)) Object.assign(fitted, { [whole]: Math.min(proved, COUNT_MAX) });
  }
  for (let excess = excessiveParts(fitted); excess; excess = excessiveParts(fitted)) {
    Object.assign(fitted, { [excess.field]: 0 });
    unclear.add(excess.field);
  }
  return unclear.size === 0 ? fitted : { ...fitted, unclear: [...unclear].sort() };
}

/** Details of usage, without those that are zero. */
export function withoutZeros(details: Partial<Record<TokenDetail, number>>): Partial<Record<TokenDetail, number>> {
  return Object.fromEntries(Object.entries(details).filter(([, tokens]) => tokens !== 0));
}

/** The audio tokens; no member if there are none. */
export function audioDetail(tokens: number): { audio?: number } {
  return tokens === 0 ? {} : { audio: tokens };
}

/** Uses of tools, without those that are zero. */
export function toolUses(fileSearch: number): { toolUses?: ToolUses } {
  return fileSearch === 0 ? {} : { toolUses: { fileSearch } };
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

/** The service tier that an answer names; `other` for a word without a published rate. */
export function readServiceTier(value: unknown): { serviceTier?: ServiceTier } {
  if (typeof value !== 'string' || value === '' || value === 'auto') return {};
  const tier = Object.hasOwn(TIERS, value.toLowerCase()) ? TIERS[value.toLowerCase()] : 'other';
  return tier === undefined ? {} : { serviceTier: tier };
}

/** USD that a vendor reports as its own charge; `null` if that makes no sense. */
export function reportedUsd(value: unknown): number | null {
  if (typeof value !== 'number' || !(value >= 0 && value <= REPORTED_USD_MAX)) return null;
  return Number(value.toFixed(USD_DECIMALS));
}

export function modelName(value: unknown): { modelUsed?: string } {
  if (typeof value !== 'string' || value.trim() === '' || value.length > MODEL_LENGTH_MAX) return {};
  // Some of Google's answers have the name of the resource instead of the model's.
  return { modelUsed: value.replace(/^models\//, '') };
}

export function readEffort(value: unknown): { reasoningEffort?: Effort } {
  const effort = EFFORTS.find((level) => level === value);
  return effort === undefined ? {} : { reasoningEffort: effort };
}

/** The vendor of a model whose name only that vendor uses. Names with a slash belong to resellers. */
export function soleProvider(model: unknown): { providerUsed?: VendorName } {
  const { modelUsed } = modelName(model);
  if (modelUsed === undefined) return {};
  if (/^claude-/i.test(modelUsed)) return { providerUsed: 'anthropic' };
  if (/^(?:gemini|gemma|learnlm)-/i.test(modelUsed)) return { providerUsed: 'google' };
  const openai =
    /^(?:ft:)?(?:gpt-(?!oss|neo|j)|chatgpt-|o\d|codex-|text-embedding-(?:3|ada)|davinci-|babbage-|computer-use-)/i;
  return openai.test(modelUsed) && !modelUsed.includes('/') ? { providerUsed: 'openai' } : {};
}
