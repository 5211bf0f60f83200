/**
 * What the iterations in Anthropic's usage add to its totals: those of the model that answered, and parts at other models.
 *
 * By Anthropic's documents: the totals are those of the model that answered. An advisor is billed at its own model; an
 * attempt that its model declined (`fallbacks`) too, unless it was declined before any output for a reason that is not
 * billed; a compaction is billed at the model of the message. The totals have the input of the first iteration alone if
 * several ran, and each is billed. An iteration of a kind that is not known is billed as a part.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/advisor-tool#usage-and-billing
 * https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback#how-refusals-are-billed
 */
import { type Fields, fieldsOf, listOf, modelName, textOf } from './figures.ts';

export interface Iterations {
  /** The model that answered, if the iterations tell it. */
  model: string | undefined;
  /** It answered instead of the one that was asked. */
  isFallback: boolean;
  /** Of the model that answered: beside the totals, and within them. */
  compactions: Fields[];
  messages: Fields[];
  /** Of other models, or not known to be in the totals. */
  others: Fields[];
}

/** A model declined here, and another one went on. */
export interface Hop {
  from: unknown;
  to: unknown;
  /** It declined before any output, for a reason that is not billed then. */
  isFree: boolean;
}

export function iterationsOf(usage: Fields, model: unknown, hops: readonly Hop[]): Iterations {
  const all = listOf(usage.iterations).map(fieldsOf);
  const served = all.findLast(({ type }) => type === 'fallback_message');
  const answered = modelName(served?.model).modelUsed ?? modelName(model).modelUsed;
  const ofModel = all.filter(({ type }) => type === 'message' || type === 'fallback_message');
  const isOwn = ({ type, model: its }: Fields) =>
    type === 'fallback_message' || textOf(its) === '' || isSameModel(textOf(its), answered);
  // Names that are none of the answer's are another spelling of it, unless another model is known to have run.
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

/** Reasons for which a model declines that are not billed before any output. */
const UNBILLED: ReadonlySet<unknown> = new Set(['cyber', 'general_harms']);

/** Attempts that a stream shows which broke off before its iterations came: what they wrote counts with the answer. */
function declinedAt(hops: readonly Hop[], usage: Fields): Fields[] {
  const declined = hops.filter(({ isFree }) => !isFree);
  return declined.map(({ from }) => ({ ...usage, type: 'message', model: from, output_tokens: 0 }));
}

/** Finds the hops among the blocks of an answer as they come. */
export class Hops {
  readonly found: Hop[] = [];
  #hasOutput = false;

  read({ type, from, to, trigger }: Fields): void {
    if (type !== 'fallback') {
      this.#hasOutput = true;
      return;
    }
    const { category } = fieldsOf(trigger);
    const isFree = !this.#hasOutput && (category == null || UNBILLED.has(category));
    this.found.push({ from: fieldsOf(from).model, to: fieldsOf(to).model, isFree });
  }
}

/** Whether two names differ in the date of a snapshot at most. */
function isSameModel(one: string, other: string | undefined): boolean {
  const bare = (name: string) => name.replace(/[-@]\d{8}$/, '');
  return other !== undefined && bare(one) === bare(other);
}
