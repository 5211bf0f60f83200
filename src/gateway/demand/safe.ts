/**
 * Changes a request so that credit can pay for it: a service tier that costs more is replaced, and tools without a
 * bound get one; if a plan limits searches, the request cannot make more than are left. `output.ts` bounds the output.
 *
 * A field is changed only at kinds of vendors that are known to take it.
 */
import type { VendorKind } from '../../domain/vendor-kind.ts';
import { listTools } from '../../vendors/capabilities.ts';
import { COUNT_MAX, type Fields, fieldsOrEmpty, listOrEmpty, textOrEmpty } from '../../vendors/usage/figures.ts';
import type { EndpointName } from './endpoints.ts';

/**
 * The words that keep a request on the standard tier although the vendor's project may serve another one unasked. Sources:
 * OpenAI's API reference, `service_tier`; platform.claude.com/docs/en/api/service-tiers.
 */
export const SAFE_SERVICE_TIERS: Partial<Record<VendorKind, string>> = {
  openai: 'default',
  anthropic: 'standard_only',
};
const WITH_SERVICE_TIER: ReadonlySet<EndpointName> = new Set(['chat', 'responses', 'compact', 'messages']);

/** Whether a request leaves the tier to the vendor. A value that is not a word does so too. */
export function leavesTier(word: unknown): boolean {
  return typeof word !== 'string' || word === '' || word === 'auto';
}

/** The uses that are allowed if a request names no bound, by the endpoint that has the field. */
export const USES_SET: Partial<Record<EndpointName, { kinds: readonly VendorKind[]; uses: number }>> = {
  responses: { kinds: ['openai', 'azure'], uses: 10 },
  messages: { kinds: ['anthropic'], uses: 10 },
};
const HOSTED_ON_RESPONSES = /^(?:web_search|file_search|mcp)/;
const WITH_MAX_USES = /^web_(?:search|fetch)_\d/;
const SEARCHES_ON_MESSAGES = /^web_search_\d/;

/** A bound of uses in a form that vendors take; `undefined` for any other value. */
export function readUses(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? Math.min(value, COUNT_MAX) : undefined;
}

/** The body in its safe form, with the fields that were changed: `service_tier=default`. The same object if none was. */
export function madeSafe<Body extends Fields>(
  body: Body,
  endpoint: EndpointName,
  kind: VendorKind,
): { body: Body; changed: string[] } {
  const changed: string[] = [];
  let safe: Fields = body;
  const word = SAFE_SERVICE_TIERS[kind];
  if (word !== undefined && WITH_SERVICE_TIER.has(endpoint) && leavesTier(body.service_tier)) {
    safe = { ...safe, service_tier: word };
    changed.push(`service_tier=${word}`);
  }
  const set = USES_SET[endpoint];
  if (!set?.kinds.includes(kind)) return { body: safe as Body, changed };
  if (endpoint === 'responses') {
    // Items of the input bring tools too.
    const isHosted = listTools(body).some(({ type }) => HOSTED_ON_RESPONSES.test(textOrEmpty(type)));
    if (!isHosted || readUses(body.max_tool_calls) !== undefined) return { body: safe as Body, changed };
    changed.push(`max_tool_calls=${set.uses}`);
    return { body: { ...safe, max_tool_calls: set.uses } as unknown as Body, changed };
  }
  if (!Array.isArray(body.tools)) return { body: safe as Body, changed };
  const lacksBound = (tool: unknown) => {
    const { type, max_uses: uses } = fieldsOrEmpty(tool);
    return WITH_MAX_USES.test(textOrEmpty(type)) && readUses(uses) === undefined;
  };
  if (!body.tools.some(lacksBound)) return { body: safe as Body, changed };
  const tools = body.tools.map((tool) => (lacksBound(tool) ? { ...fieldsOrEmpty(tool), max_uses: set.uses } : tool));
  changed.push(`max_uses=${set.uses}`);
  return { body: { ...safe, tools } as unknown as Body, changed };
}

/** The body that may be sent: with at most so many searches, and in its safe form if credit pays. */
export function asAllowed<Body extends Fields>(
  body: Body,
  request: { endpoint: EndpointName; kind: VendorKind; searches: number | null; onCredit: boolean },
): { body: Body; changed: string[] } {
  const { endpoint, kind, searches, onCredit } = request;
  const bounded = searches === null ? { body, changed: [] } : withSearchBound(body, endpoint, searches);
  if (!onCredit) return bounded;
  const safe = madeSafe(bounded.body, endpoint, kind);
  return { body: safe.body, changed: [...bounded.changed, ...safe.changed] };
}

/** The tools of a request that bound their searches by a field of their own. */
function searchTools(body: Fields): Fields[] {
  return listOrEmpty(body.tools)
    .map(fieldsOrEmpty)
    .filter(({ type }) => SEARCHES_ON_MESSAGES.test(textOrEmpty(type)));
}

/** The fewest web searches that a field of the endpoint can hold the request to; `undefined` if it has no such field. */
export function searchesAtLeast(body: Fields, endpoint: EndpointName, kind: VendorKind): number | undefined {
  if (endpoint === 'responses') return USES_SET.responses?.kinds.includes(kind) ? 1 : undefined;
  // Each tool has a bound of its own, and vendors do not accept a bound of 0.
  return endpoint === 'messages' ? Math.max(1, searchTools(body).length) : undefined;
}

/**
 * The body with at most `most` web searches, in the endpoint's own field, and the fields that were changed. A bound is
 * never raised. `most` is not below `searchesAtLeast`.
 */
function withSearchBound<Body extends Fields>(
  body: Body,
  endpoint: EndpointName,
  most: number,
): { body: Body; changed: string[] } {
  if (endpoint === 'responses') {
    const asked = readUses(body.max_tool_calls);
    const calls = Math.min(asked ?? USES_SET.responses?.uses ?? most, most);
    if (asked === calls) return { body, changed: [] };
    return { body: { ...body, max_tool_calls: calls }, changed: [`max_tool_calls=${calls}`] };
  }
  const tools = endpoint === 'messages' ? searchTools(body) : [];
  if (tools.length === 0) return { body, changed: [] };
  // After one search for each tool, the first tools get the remaining searches.
  let rest = Math.max(0, most - tools.length);
  const changed = new Set<string>();
  const bounded = listOrEmpty(body.tools).map((tool) => {
    const { type, max_uses: named } = fieldsOrEmpty(tool);
    if (!SEARCHES_ON_MESSAGES.test(textOrEmpty(type))) return tool;
    const asked = readUses(named);
    const uses = Math.min(asked ?? USES_SET.messages?.uses ?? most, 1 + rest);
    rest -= Math.max(0, uses - 1);
    if (asked === uses) return tool;
    changed.add(`max_uses=${uses}`);
    return { ...fieldsOrEmpty(tool), max_uses: uses };
  });
  return changed.size === 0 ? { body, changed: [] } : { body: { ...body, tools: bounded }, changed: [...changed] };
}
