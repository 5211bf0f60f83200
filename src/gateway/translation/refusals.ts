/**
 * The members of a request that cannot be translated. Translation goes on after a refusal, because only the first one
 * is reported.
 */
import { type Fields, isFields } from '../../vendors/usage/figures.ts';

export interface Untranslatable {
  ok: false;
  /** The member, such as `messages[2].content[0].image_url`. */
  param: string;
  /** The reason, as the end of a sentence that begins with the member. */
  message: string;
}

export class Refusals {
  first: Untranslatable | null = null;

  add(param: string, message: string): void {
    this.first ??= { ok: false, param, message };
  }

  /** Refuses every member except these: an unread member would be lost. `null` counts as absent. */
  unknown(fields: Fields, known: readonly string[], at = ''): void {
    for (const [name, value] of Object.entries(fields)) {
      if (value == null || known.includes(name)) continue;
      this.add(memberPath(at, name), "is not known to have an equivalent in Anthropic's messages API");
    }
  }

  /** The text. Refuses any other value, and returns an empty text for it. */
  text(value: unknown, param: string): string {
    if (typeof value === 'string') return value;
    this.add(param, 'must be a text');
    return '';
  }

  /** The object, if present; refuses any other value. */
  object(value: unknown, param: string): Fields {
    if (isFields(value)) return value;
    if (value != null) this.add(param, 'must be an object');
    return {};
  }

  /** The list, if present; refuses any other value. */
  list(value: unknown, param: string): unknown[] {
    if (Array.isArray(value)) return value;
    if (value != null) this.add(param, 'must be a list');
    return [];
  }
}

export function memberPath(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}
