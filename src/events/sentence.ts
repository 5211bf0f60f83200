/**
 * A sentence as parts: text, figures, and the things that it mentions. Each reader decides how a part is shown: the console
 * formats figures and links things to their pages, a message for Slack is text.
 */

export type MentionKind =
  | 'organization'
  | 'customer'
  | 'plan'
  | 'version'
  | 'migration'
  | 'key'
  | 'webhook'
  | 'model'
  | 'vendor'
  | 'operator'
  | 'call'
  | 'alert'
  | 'estimate';

export interface Mention {
  kind: MentionKind;
  id: string;
  /** As the event says; absent if it is to be looked up. */
  name?: string | undefined;
  /** The plan of a migration. */
  of?: string;
}

/** A decimal amount of USD, an instant, a day in UTC, or a name or code of the API such as `premiumCalls`. */
export interface Figure {
  kind: 'usd' | 'instant' | 'day' | 'code';
  value: string;
}

export type Part = string | number | Figure | Mention;

/** A template whose values are parts, or lists of parts. */
export function sentence(texts: TemplateStringsArray, ...values: (Part | readonly Part[])[]): Part[] {
  return texts.flatMap((text, index): Part[] => {
    const value = values[index];
    return [text, ...(value === undefined ? [] : [value].flat())].filter((part) => part !== '');
  });
}

export function isFigure(part: Figure | Mention): part is Figure {
  return 'value' in part;
}

/** `a`; `a and b`; `a, b and c`. */
export function enumerated(items: readonly (readonly Part[])[], last = ' and '): Part[] {
  return items.flatMap((item, index) => {
    if (index === 0) return item;
    return [index === items.length - 1 ? last : ', ', ...item];
  });
}
