/**
 * The figures that the iterations in Anthropic's usage add to its totals: those of the model that answered, and parts
 * at other models.
 *
 * Anthropic's documents say: the totals belong to the model that answered. If it ran several iterations, the totals have
 * only the input of the first, and each one is billed. An advisor is billed at its own model. An attempt that a model
 * declined (`fallbacks`) is billed at that model, unless it was declined before any output for a reason that is not
 * billed. A compaction is billed at the model of the message. An iteration of an unknown kind is billed as a part.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/advisor-tool#usage-and-billing
 * https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback#how-refusals-are-billed
 */
import { type Fields, fieldsOrEmpty, listOrEmpty, modelName, textOrEmpty } from './figures.ts';

export interface Iterations {
  /** The model that answered, if the iterations name it. */
  model: string | undefined;
  /** It answered instead of the requested one. */
  isFallback: boolean;
  /** The compactions of the model that answered: besides the totals, and within them. */
  compactions: Fields[];
  messages: Fields[];
  /** Iterations of other models, or with a model that is not known to be in the totals. */
  others: Fields[];
}

/** A model declined here, and another one went on. */
export interface Hop {
  from: unknown;
  to: unknown;
  /** It declined before any output, for a reason that is not billed in that case. */
  isFree: boolean;
}

export function readIterations(usage: Fields, model: unknown, hops: readonly Hop[]): Iterations {
  const all = listOrEmpty(usage.iterations).map(fieldsOrEmpty);
  const served = all.findLast(({ type }) => type === 'fallback_message');
  const answered = modelName(served?.model).modelUsed ?? modelName(model).modelUsed;
  const ofModel = all.filter(({ type }) => type === 'message' || type === 'fallback_message');
  const isOwn = ({ type, model: its }: Fields) =>
    type === 'fallback_message' || textOrEmpty(its) === '' || isSameModel(textOrEmpty(its), answered);
  // If none of the names is the answer's, they are another spelling of it, unless another model is known to have run.
  const messages = served || hops.length > 0 || ofModel.some(isOwn) ? ofModel.filter(isOwn) : ofModel;
  const isFree = ({ type, output_tokens: output }: Fields) =>
    type === 'message' && output === 0 && hops.every((hop) => hop.isFree);
  return {
    model: answered,
    isFallback: served !== undefined || hops.length > 0,
    compactions: all.filter(({ type }) => type === 'compaction'),
    messages,
    others:
      all.length === 0
        ? declinedAt(hops, usage)
        : all.filter((one) => one.type !== 'compaction' && !messages.includes(one) && !isFree(one)),
  };
}

/** Reasons for declining that are not billed before any output. */
const UNBILLED: ReadonlySet<unknown> = new Set(['cyber', 'general_harms']);

/** Attempts in a stream that broke off before its iterations arrived: their output counts with the answer. */
function declinedAt(hops: readonly Hop[], usage: Fields): Fields[] {
  const declined = hops.filter(({ isFree }) => !isFree);
  return declined.map(({ from }) => ({ ...usage, type: 'message', model: from, output_tokens: 0 }));
}

/** Finds the hops among the blocks of an answer while they arrive. */
export class Hops {
  readonly found: Hop[] = [];
  #hasOutput = false;

  read({ type, from, to, trigger }: Fields): void {
    if (type !== 'fallback') {
      this.#hasOutput = true;
      return;
    }
    const { category } = fieldsOrEmpty(trigger);
    const isFree = !this.#hasOutput && (category == null || UNBILLED.has(category));
    this.found.push({ from: fieldsOrEmpty(from).model, to: fieldsOrEmpty(to).model, isFree });
  }
}

/** Whether two names differ at most in the date of a snapshot. */
function isSameModel(one: string, other: string | undefined): boolean {
  const bare = (name: string) => name.replace(/[-@]\d{8}$/, '');
  return other !== undefined && bare(one) === bare(other);
}
