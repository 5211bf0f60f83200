/**
 * Pagination: a cursor is the encoded id of the last item of the previous page.
 */
import { fromBase64Url, toBase64Url } from './base64.ts';

export interface PageRequest {
  limit: number;
  /** Id of the last item of the previous page; `null` on the first page. */
  after: string | null;
}

export interface Page<Item> {
  items: Item[];
  nextCursor: string | null;
}

/** The page for `limit` and `cursor`; `null` for an invalid cursor. */
export function pageRequest({ limit, cursor }: { limit: number; cursor?: string | undefined }): PageRequest | null {
  if (cursor === undefined) return { limit, after: null };
  const bytes = fromBase64Url(cursor);
  return bytes && { limit, after: new TextDecoder().decode(bytes) };
}

/** Makes a page from its rows and one more, which shows whether another page follows. */
export function makePage<Item>(items: Item[], limit: number, getId: (item: Item) => string): Page<Item> {
  const shown = items.slice(0, limit);
  const last = shown.at(-1);
  const more = items.length > limit && last !== undefined;
  return { items: shown, nextCursor: more ? encodeCursor(getId(last)) : null };
}

/** The cursor of the page after the item with this id. */
export function encodeCursor(id: string): string {
  return toBase64Url(new TextEncoder().encode(id));
}
