/**
 * A request that the page sends before the one of its form; the page has them as JSON for its script.
 */
export interface TryStep {
  method: string;
  path: string;
  body?: unknown;
  /** A form instead of the body: its fields, and a file. */
  upload?: { fields: Record<string, string>; file: { field: string; name: string; text: string } };
  /** The variable that gets the first member of this name in the answer. */
  value?: { name: string; field: string };
}
