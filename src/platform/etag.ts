/**
 * Entity tags: whether the caller already has the current representation.
 */

/**
 * `header` is an `If-None-Match`: a list of tags, weak or strong, or `*`. The comparison is weak (RFC 9110, 8.8.3.2).
 */
export function isMatching(header: string | null | undefined, etag: string): boolean {
  if (header === null || header === undefined) return false;
  return header.split(',').some((entry) => entry.trim() === '*' || entry.trim().replace(/^W\//, '') === etag);
}
