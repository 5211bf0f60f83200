/**
 * What every vendor's usage becomes, and the reading of single figures out of answers that nobody vouches for.
 *
 * A figure is what the vendor wrote or it is nothing: a negative, broken, textual or impossibly large count makes the
 * whole usage implausible, because a call with half of its usage would be billed as if it were all.
 */

/** The ladder of reasoning efforts, lowest first: the words of OpenAI, which contract 4.2 takes over. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

export type VendorName = 'openai' | 'anthropic' | 'google';

export interface VendorUsage {
  modelUsed?: string;
  /** Only where the answer itself tells; who sent the request knows better. */
  providerUsed?: VendorName;
  /** All prompt tokens, cache reads and writes included. */
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteInputTokens: number;
  /** All completion tokens, reasoning included. */
  responseTokens: number;
  reasoningTokens: number;
  /** Only where the vendor speaks of searches. */
  searches?: number;
  /** Audio as the vendor counts it: in tokens, which are parts of the prompt and the completion. */
  audio?: number;
  /** Only where the vendor counts seconds; tokens are not turned into seconds. */
  audioSeconds?: number;
  /** Only where the answer echoes it. */
  reasoningEffort?: Effort;
}

/** In place of usage: some was reported, but with a figure that no call has, or a part larger than its whole. */
export const IMPLAUSIBLE = 'IMPLAUSIBLE';

/** What an answer says of its usage; `null` where it says nothing. */
export type ReportedUsage = VendorUsage | typeof IMPLAUSIBLE | null;

/** The usage, where it is one. */
export function plausible(reported: ReportedUsage): VendorUsage | null {
  return reported === IMPLAUSIBLE ? null : reported;
}

/** An error that arrived inside a stream that had begun well. */
export interface VendorFailure {
  code: string;
  message: string;
}

/** What one kind of stream tells so far. */
export interface StreamReading {
  /** Takes the next event, parsed. */
  read(event: Fields): void;
  usage(): ReportedUsage;
  /** Web searches that went by so far, also where the usage is missing. */
  searches(): number;
  /** The vendor's own mark of the end went by: all was said. */
  readonly completed: boolean;
  /** The answer is whole; where the stream is not `completed`, its usage may still follow. */
  readonly finished: boolean;
}

export type Fields = Record<string, unknown>;

/** More tokens than any call has; what an end of a call may report at most. */
export const COUNT_MAX = 1_000_000_000;
/** What a recorded call takes as a model's name. */
const MODEL_LENGTH_MAX = 300;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The member as an object; empty where it is absent or something else. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * A count: what is absent or null is 0, what is no count is NaN. NaN survives every sum, so that one check at the end
 * (`checked`) finds a broken figure wherever it went in.
 */
export function count(value: unknown): number {
  if (value === undefined || value === null) return 0;
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= COUNT_MAX ? value : Number.NaN;
}

/** Audio tokens of the parts that count them; no member where there are none. */
export function audioOf(...tokens: unknown[]): { audio?: number } {
  const audio = tokens.reduce((sum: number, part) => sum + count(part), 0);
  return audio === 0 ? {} : { audio };
}

/** Longer than any recording; what an end of a call may report at most. */
const SECONDS_MAX = 1_000_000_000;

/** Seconds of audio, to a thousandth; no member where the vendor does not count them. */
export function audioSecondsOf(value: unknown): { audioSeconds?: number } {
  if (value === undefined || value === null) return {};
  const known = typeof value === 'number' && value >= 0 && value <= SECONDS_MAX;
  return { audioSeconds: known ? Math.round(value * 1_000) / 1_000 : Number.NaN };
}

/** Answers to one request, as many as any vendor makes: those of higher indexes are not told apart. */
const ANSWERS_MAX = 128;

/** Which of the answers that run side by side in one stream have given the reason of their stop. */
export class Stops {
  readonly #stopped = new Map<number, boolean>();

  read(answer: unknown, reasonName: 'finish_reason' | 'finishReason'): void {
    const { index, [reasonName]: reason } = fieldsOf(answer);
    const place = typeof index === 'number' && index < ANSWERS_MAX ? index : 0;
    const stopped = typeof reason === 'string' && reason !== '';
    this.#stopped.set(place, stopped || this.#stopped.get(place) === true);
  }

  /** All that have begun have stopped. */
  get all(): boolean {
    return this.#stopped.size > 0 && [...this.#stopped.values()].every((stopped) => stopped);
  }
}

/** The usage, unless one of its figures is broken or a part is larger than its whole. */
export function checked(usage: VendorUsage): VendorUsage | typeof IMPLAUSIBLE {
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens, responseTokens, reasoningTokens } = usage;
  const { searches = 0, audio = 0, audioSeconds = 0 } = usage;
  const tokens = [inputTokens, cachedInputTokens, cacheWriteInputTokens, responseTokens, reasoningTokens];
  const counts = [...tokens, searches, audio, audioSeconds];
  if (!counts.every((figure) => figure >= 0 && figure <= COUNT_MAX)) return IMPLAUSIBLE;
  return cachedInputTokens + cacheWriteInputTokens <= inputTokens && reasoningTokens <= responseTokens
    ? usage
    : IMPLAUSIBLE;
}

export function modelName(value: unknown): { modelUsed?: string } {
  if (typeof value !== 'string' || value.trim() === '' || value.length > MODEL_LENGTH_MAX) return {};
  // Google writes the name of the resource in some answers, and the name of the model in others.
  return { modelUsed: value.replace(/^models\//, '') };
}

export function effortOf(value: unknown): { reasoningEffort?: Effort } {
  const effort = EFFORTS.find((level) => level === value);
  return effort === undefined ? {} : { reasoningEffort: effort };
}

/** Whose model it is, by a name that no other vendor gives; a name with a slash is a reseller's. */
export function providerOf(model: unknown): { providerUsed?: VendorName } {
  const { modelUsed } = modelName(model);
  if (modelUsed === undefined) return {};
  if (/^claude-/i.test(modelUsed)) return { providerUsed: 'anthropic' };
  if (/^(?:gemini|gemma|learnlm)-/i.test(modelUsed)) return { providerUsed: 'google' };
  const openai =
    /^(?:ft:)?(?:gpt-(?!oss|neo|j)|chatgpt-|o\d|codex-|text-embedding-(?:3|ada)|davinci-|babbage-|computer-use-)/i;
  return openai.test(modelUsed) && !modelUsed.includes('/') ? { providerUsed: 'openai' } : {};
}
