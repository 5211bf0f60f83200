/**
 * What a request on credit is made not to incur: a service tier that costs more, and uses of tools without a bound. The
 * bound of the output is `output.ts`.
 *
 * Only kinds of vendors that are known to take the field get it.
 */
import type { VendorKind } from '../domain/vendor-kind.ts';
import { toolsOf } from '../vendors/capabilities.ts';
import { COUNT_MAX, type Fields, fieldsOf, textOf } from '../vendors/usage/figures.ts';
import type { EndpointName } from './endpoints.ts';

/**
 * The words that keep a request on the standard tier although the vendor's project may serve another one unasked. Sources:
 * OpenAI's API reference, `service_tier`; platform.claude.com/docs/en/api/service-tiers.
 */
export const SAFE_SERVICE_TIERS: Partial<Record<VendorKind, string>> = {
  openai: 'default',
  anthropic: 'standard_only',
};
const WITH_SERVICE_TIER: ReadonlySet<EndpointName> = new Set(['chat', 'responses', 'messages']);

/** Whether a request leaves the tier to the vendor: what is no word does, too. */
export function leavesTier(word: unknown): boolean {
  return typeof word !== 'string' || word === '' || word === 'auto';
}

/** The uses that are allowed if a request names no bound, by the endpoint whose field that is. */
export const USES_SET: Partial<Record<EndpointName, { kinds: readonly VendorKind[]; uses: number }>> = {
  responses: { kinds: ['openai', 'azure'], uses: 10 },
  messages: { kinds: ['anthropic'], uses: 10 },
};
const HOSTED_ON_RESPONSES = /^(?:web_search|file_search|mcp)/;
const WITH_MAX_USES = /^web_(?:search|fetch)_\d/;

/** A bound of uses, as vendors take it; `undefined` for anything else. */
export function countOf(value: unknown): number | undefined {
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
    const isHosted = toolsOf(body).some(({ type }) => HOSTED_ON_RESPONSES.test(textOf(type)));
    if (!isHosted || countOf(body.max_tool_calls) !== undefined) return { body: safe as Body, changed };
    changed.push(`max_tool_calls=${set.uses}`);
    return { body: { ...safe, max_tool_calls: set.uses } as unknown as Body, changed };
  }
  if (!Array.isArray(body.tools)) return { body: safe as Body, changed };
  const lacksBound = (tool: unknown) => {
    const { type, max_uses: uses } = fieldsOf(tool);
    return WITH_MAX_USES.test(textOf(type)) && countOf(uses) === undefined;
  };
  if (!body.tools.some(lacksBound)) return { body: safe as Body, changed };
  const tools = body.tools.map((tool) => (lacksBound(tool) ? { ...fieldsOf(tool), max_uses: set.uses } : tool));
  changed.push(`max_uses=${set.uses}`);
  return { body: { ...safe, tools } as unknown as Body, changed };
}
