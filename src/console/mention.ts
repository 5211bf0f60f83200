/**
 * Sentences as parts: text, and the things that it mentions. How a thing is shown and where it leads is `mentions.tsx`.
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
  /** As the event says; absent where it is to be looked up. */
  name?: string | undefined;
  /** The plan of a migration. */
  of?: string;
}

export type Part = string | Mention;

/** A template whose values are parts, or lists of parts. */
export function sentence(texts: TemplateStringsArray, ...values: (Part | readonly Part[])[]): Part[] {
  return texts.flatMap((text, index): Part[] => {
    const value = values[index];
    return [text, ...(value === undefined ? [] : [value].flat())].filter((part) => part !== '');
  });
}

/** `a`; `a and b`; `a, b and c`. */
export function enumerated(items: readonly (readonly Part[])[]): Part[] {
  return items.flatMap((item, index) => {
    if (index === 0) return item;
    return [index === items.length - 1 ? ' and ' : ', ', ...item];
  });
}
