/**
 * The outcomes of credit, as tables of docs/credit.md: the rules' decision about each request of credit-requests.ts at
 * the catalog's price. No outcome is written here.
 */
import { BUILT_IN_CATALOG as catalog } from '../../src/catalog/built-in.ts';
import { findModelLimits } from '../../src/catalog/limits.ts';
import { resolvePrice } from '../../src/catalog/prices.ts';
import { costAtMost } from '../../src/domain/bound.ts';
import { computeCost } from '../../src/domain/pricing.ts';
import { takeUsage } from '../../src/domain/usage.ts';
import { callBound, type RequestToModel } from '../../src/gateway/demand/call-bound.ts';
import type { EndpointName } from '../../src/gateway/demand/endpoints.ts';
import { madeSafe } from '../../src/gateway/demand/safe.ts';
import { ASKED, CONVERSATIONS, OTHERS, type Probe, probeBody, probesAt, ROWS } from './credit-requests.ts';

/** After the catalog's date, and before the models below end. */
const NOW = Date.UTC(2026, 10, 27);

/** The tables of docs/credit.md. */
export async function creditTables(): Promise<string> {
  const assumptions = new Set<string>();
  const tables = await Promise.all([CONVERSATIONS, OTHERS].map((endpoints) => renderTable(endpoints, assumptions)));
  const rules = [...assumptions].toSorted().map((rule) => `- ${rule}`);
  return [...tables, 'Rules that stand in for a rate here:', rules.join('\n')].join('\n\n');
}

async function renderTable(endpoints: readonly EndpointName[], assumptions: Set<string>): Promise<string> {
  const models = endpoints.map((name) => `\`${ASKED[name].model}\``);
  const lines = [
    ['Part of the request', ...endpoints.map((name) => `\`${name}\``), 'opened by'],
    ['---', ...endpoints.map(() => '---'), '---'],
    ['Model', ...models, ''],
  ];
  for (const row of ROWS) {
    if (endpoints.every((name) => probesAt(row, name).length === 0)) continue;
    const opening = new Set<string>();
    const cells: string[] = [];
    for (const name of endpoints) {
      const outcomes = [];
      for (const probe of probesAt(row, name)) outcomes.push(await probeOutcome(name, probe, opening, assumptions));
      cells.push(outcomes.join('; ') || '-');
    }
    lines.push([row.what, ...cells, [...opening].map((name) => `\`${name}\``).join(', ')]);
  }
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The most things that a request of these tables has to have opened. */
const OPENED_MAX = 5;

/**
 * The rules' decision, in words; adds the names that open a refused request, and the rules that stand in for a rate.
 */
async function probeOutcome(
  name: EndpointName,
  probe: Probe,
  opening: Set<string>,
  assumptions: Set<string>,
): Promise<string> {
  const { path, kind, model: usual, usage: plain } = ASKED[name];
  const { model = usual, inBatch = false, usage } = probe;
  const body = { model, ...probeBody(name, probe) };
  const price = await resolvePrice(catalog, new Map(), { modelUsed: model, providerUsed: kind }, NOW);
  if (!price.available) throw new Error(`${model} has no price`);
  const request: RequestToModel = {
    ...{ provider: kind, kind, model, path, body, price, limits: findModelLimits(catalog, model, NOW), tier: null },
    ...{ onDowngrade: false, inSteps: false, asIs: inBatch },
  };
  const mode = inBatch ? 'batch' : 'standard';
  const at = model === usual ? '' : ` at \`${model}\``;
  const { gap, cost } = callBound(request, mode, { allowUnpricedModels: false, creditOpen: [] });
  if (gap) {
    for (const opened of namesThatOpen(request, mode)) opening.add(opened.replace(`field:${name}/`, 'field:{form}/'));
    return `\`${gap.code}\`${at}`;
  }
  const used = takeUsage({ ...plain, ...usage }).usage;
  const priced = computeCost(price.card, used, mode);
  // A request that credit pays for has an exact cost, within its hold.
  if (!priced.known) throw new Error(`${name}, ${JSON.stringify(body)}: ${priced.reason}`);
  const { assumptions: rules, totalNanoUsd } = priced.cost;
  const unlisted = rules.find((rule) => rule.endsWith('not included in the cost'));
  if (unlisted !== undefined) throw new Error(`${name}, ${JSON.stringify(body)}: ${unlisted}`);
  if (cost === null || totalNanoUsd > costAtMost(cost, used.responseTokens))
    throw new Error(`${name}, ${JSON.stringify(body)}: costs ${totalNanoUsd}, and held is ${JSON.stringify(cost)}`);
  for (const rule of rules) assumptions.add(rule);
  const set = inBatch ? [] : madeSafe(body, name, kind).changed;
  const told = set.filter((field) => !field.startsWith('service_tier=') || 'service_tier' in body);
  const word = rules.length === 0 ? 'exact' : 'assumed';
  return `${[word, ...told.map((field) => `\`${field}\``)].join(', ')}${at}`;
}

/** The entries of `creditOpen` with which credit pays for the request. */
function namesThatOpen(request: RequestToModel, mode: 'batch' | 'standard'): string[] {
  const names: string[] = [];
  while (names.length <= OPENED_MAX) {
    const { gap } = callBound(request, mode, { allowUnpricedModels: false, creditOpen: names });
    if (!gap) return names;
    names.push(gap.component.startsWith('field:') ? gap.component : `component:${gap.component}`);
  }
  throw new Error(`${names.join(', ')} do not open ${JSON.stringify(request.body)}`);
}
