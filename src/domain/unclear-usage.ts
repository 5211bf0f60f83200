/**
 * Usage whose vendor reported some figures that make no sense: the figures that are recorded instead.
 *
 * Each unclear figure counts at its bound: the prompt, the output and the uses at the most that the call could have,
 * and a part at its whole if its tokens cost more than the others of the whole. Nothing else changes.
 */
import type { BilledUses } from './bound.ts';
import type { Component, RateCard } from './price.ts';
import { type Count, PARTS, type Usage } from './usage.ts';

/** Figures that can be unclear. `fileSearch` stands in `toolUses`. */
export type UnclearFigure = Count | 'fileSearch';

/** The unknown part of usage. */
export interface Unclear {
  /**
   * Figures that were reported in a form that makes no sense: the figures in their place follow from the others, or are
   * zero.
   */
  unclear?: readonly UnclearFigure[] | undefined;
  /** The tokens of the whole call, if the vendor reports nothing else about them. */
  totalTokens?: number | undefined;
}

/** The uses that request and answer show, and those that the answer shows in a form that makes no sense. */
export type CountedUses = BilledUses & Pick<Unclear, 'unclear'>;

/** The most that a call can use, and our own counts of it. */
export interface UsageBound {
  inputTokens: number;
  outputTokens: number;
  uses: Partial<Record<Component, number>>;
  /** Callmeter's count of the prompt. */
  promptTokens: number;
  /** Callmeter's count of the text that arrived; absent if it was not counted. */
  writtenTokens?: number | undefined;
}

/** The component as which each figure is charged. A figure without a component is not charged. */
const COMPONENT_OF: Partial<Record<UnclearFigure, Component>> = {
  inputTokens: 'input',
  responseTokens: 'output',
  cachedInputTokens: 'cachedInput',
  cacheWriteInputTokens: 'cacheWrite',
  cacheWrite1hInputTokens: 'cacheWrite1h',
  cacheWrite12hInputTokens: 'cacheWrite12h',
  audioInputTokens: 'audioInput',
  cachedAudioInputTokens: 'cachedAudioInput',
  audioOutputTokens: 'audioOutput',
  imageInputTokens: 'imageInput',
  cachedImageInputTokens: 'cachedImageInput',
  imageOutputTokens: 'imageOutput',
  searches: 'webSearch',
  fileSearch: 'fileSearch',
  images: 'images',
  characters: 'characters',
  audioSeconds: 'audioSeconds',
};

/**
 * The usage with its unclear figures at their bound; `null` if a charged one has none. `card` is the whole price;
 * `null` if there is none.
 */
export function atBound(
  usage: Usage,
  { unclear = [], totalTokens }: Unclear,
  bound: UsageBound | undefined,
  card: RateCard | null,
): Usage | null {
  const maxRate = (component: Component | undefined) =>
    (card?.rates ?? []).reduce(
      (highest, rate) => (rate.component === component ? max(highest, BigInt(rate.nanoUsdPerMillion)) : highest),
      0n,
    );
  const isCharged = (figure: UnclearFigure) => maxRate(COMPONENT_OF[figure]) > 0n;
  const filled: Usage = { ...usage, ...wholeFigures(usage, unclear, totalTokens, bound) };
  for (const figure of unclear) {
    const component = COMPONENT_OF[figure];
    if (component === undefined || PART_NAMES.has(figure) || WHOLES.has(figure)) continue;
    const most = bound?.uses[component];
    if (most === undefined && isCharged(figure)) return null;
    if (figure === 'fileSearch') {
      const fileSearch = Math.max(most ?? 0, usage.toolUses?.fileSearch ?? 0);
      if (fileSearch > 0) filled.toolUses = { ...usage.toolUses, fileSearch };
    } else filled[figure] = Math.max(most ?? 0, usage[figure] ?? 0);
  }
  if (bound === undefined && unclear.some((figure) => WHOLES.has(figure) && isCharged(figure))) return null;
  for (const figure of unclear) {
    if (!PART_NAMES.has(figure) || figure === 'fileSearch') continue;
    const within = PARTS.filter(({ parts }) => parts.includes(figure));
    const rate = maxRate(COMPONENT_OF[figure]);
    const isDearer = within.every(({ whole }) => rate > maxRate(COMPONENT_OF[whole]));
    // A part that costs no more than its whole stays in it, and reasoning has no cost of its own.
    if (isDearer || figure === 'reasoningTokens')
      filled[figure] = Math.min(...within.map((group) => left(filled, figure, group)));
  }
  return filled;
}

const WHOLES: ReadonlySet<UnclearFigure> = new Set(['inputTokens', 'responseTokens']);
const PART_NAMES: ReadonlySet<UnclearFigure> = new Set(PARTS.flatMap(({ parts }) => parts));

function wholeFigures(
  { inputTokens, responseTokens }: Usage,
  unclear: readonly UnclearFigure[],
  totalTokens: number | undefined,
  bound: UsageBound | undefined,
): Pick<Usage, 'inputTokens' | 'responseTokens'> {
  const { promptTokens = 0, writtenTokens = 0, inputTokens: input = 0, outputTokens: output = 0 } = bound ?? {};
  if (totalTokens !== undefined) {
    // Output costs more than a prompt: it is at least the text that arrived, and all of the total beyond our count of
    // the prompt.
    const answered = Math.min(totalTokens, output, Math.max(totalTokens - promptTokens, writtenTokens));
    return { inputTokens: totalTokens - answered, responseTokens: answered };
  }
  return {
    inputTokens: unclear.includes('inputTokens') ? Math.max(input, inputTokens) : inputTokens,
    responseTokens: unclear.includes('responseTokens') ? Math.max(output, responseTokens) : responseTokens,
  };
}

/** The rest of the whole without its other parts. */
function left(usage: Usage, figure: Count, { whole, parts }: (typeof PARTS)[number]): number {
  const others = parts.filter((part) => part !== figure).reduce((sum, part) => sum + (usage[part] ?? 0), 0);
  return Math.max(0, (usage[whole] ?? 0) - others);
}

function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
