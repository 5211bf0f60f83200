/**
 * The paths of a vendor that are open to callers: a security boundary, because a caller who reaches a path uses the
 * vendor's key.
 *
 * The requested path is first normalized, as the URL parser does it, and the path that matched is the one that is sent.
 * A path that another reader might understand differently (encoded slashes, dots and percent signs, backslashes,
 * parameters of a segment, empty segments) is never open.
 */

/** Characters of a path in an operator's list: those in vendors' documents. */
const LISTED = /^(?:\/[\w.~:@+-]+)+(?:\/\*?)?$/;
/**
 * A segment of a path that may be sent, in the form of the URL parser. A character may be encoded if it is neither a
 * separator (`/ \ ; ? #`) nor a dot, a percent sign or a control character.
 */
const SEGMENT = /^(?:[\w.~:@+!$&'()*,=-]|%(?!2[35ef]|3[bf]|5c|[01]|7f)[\da-f]{2})+$/i;
const BELOW = '/*';

export const OPEN_PATH_RULE =
  'must be a path such as /v1/rerank, or /v1/jobs/* for all that is below: without . and .., //, %, query or fragment';

/** Whether an operator may open the path. */
export function isOpenPath(path: string): boolean {
  return LISTED.test(path) && !path.split('/').some(isDots);
}

/** The vendor's registered address, and its open paths. */
interface OpenVendor {
  baseUrl: string;
  passthrough: readonly string[];
}

/**
 * The destination of a request for this path of the vendor; `null` if the path is not open. `path` is in the caller's
 * spelling, from the root of the vendor's host; generated clients encode its slashes. `query` is empty or begins with
 * `?`.
 */
export function openTarget({ baseUrl, passthrough }: OpenVendor, path: string, query: string): URL | null {
  const { origin } = new URL(baseUrl);
  const written = `${origin}/${path.replaceAll(/%2f/gi, '/').replace(/^\//, '')}`;
  if (/[?#]/.test(path) || !URL.canParse(written)) return null;
  const target = new URL(written);
  if (target.origin !== origin || !isPlainPath(target.pathname)) return null;
  if (!passthrough.some((open) => opens(open, target.pathname))) return null;
  target.search = query;
  return target;
}

function opens(open: string, path: string): boolean {
  if (!open.endsWith(BELOW)) return path === open;
  const root = open.slice(0, -1);
  return path.startsWith(root) && path.length > root.length;
}

/**
 * Whether all readers understand a path, in the form of the URL parser, in the same way. The vendor decides about a
 * slash at the end.
 */
export function isPlainPath(path: string): boolean {
  const segments = path.replace(/\/$/, '').split('/').slice(1);
  return (
    segments.length > 0 && segments.every((segment) => SEGMENT.test(segment) && isText(segment) && !isDots(segment))
  );
}

/** Whether it decodes as UTF-8: readers disagree about anything else. */
function isText(segment: string): boolean {
  try {
    decodeURIComponent(segment);
    return true;
  } catch {
    return false;
  }
}

function isDots(segment: string): boolean {
  return /^\.+$/.test(segment);
}
