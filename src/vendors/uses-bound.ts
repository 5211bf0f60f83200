/**
 * How many paid uses of a vendor's own tools a request may make: web searches and file searches.
 *
 * Some vendors take a bound with the request: Anthropic's `max_uses` of a tool, OpenAI's `max_tool_calls` of all tools.
 * Where there is none, the vendor decides, and a named number stands for what it will hardly exceed.
 */
import { namesOf, requestedCapabilities, toolsOf } from './capabilities.ts';
import { COUNT_MAX, type Fields } from './usage/figures.ts';

export interface UsesBound {
  searches: number;
  fileSearches: number;
}

/** Of a tool that the model may use again and again, and of a model or a field that searches before it answers. */
const USES_OF_TOOL = 30;
export const USES_OF_SEARCH_MODEL = 5;

const SEARCH = /(?:^|[:_$])(?:web|google|live|browser|x)_search/;
const FILE_SEARCH = /(?:^|_)file_search/;

export function usesBound({ model = '', body }: { model?: string; body: Fields }): UsesBound {
  const searches = usesOf(SEARCH, body);
  const searchesOtherwise = () => requestedCapabilities({ model, body }).includes('search');
  return {
    searches: searches ?? (searchesOtherwise() ? USES_OF_SEARCH_MODEL : 0),
    fileSearches: usesOf(FILE_SEARCH, body) ?? 0,
  };
}

/** Uses of the tools of that name; `undefined` where the request has none. */
function usesOf(pattern: RegExp, body: Fields): number | undefined {
  const tools = toolsOf(body).filter((tool) => namesOf(tool).some((name) => pattern.test(name)));
  if (tools.length === 0) return undefined;
  const uses = tools.reduce((sum, tool) => sum + (boundOf(tool.max_uses) ?? USES_OF_TOOL), 0);
  return Math.min(uses, boundOf(body.max_tool_calls) ?? COUNT_MAX, COUNT_MAX);
}

/** A bound of the request; `undefined` where it names none that the vendor would keep. */
function boundOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}
