/**
 * The model radar on the command line, and the condition under which it fails a pipeline.
 */
import { ModelRadarQuery } from '../contract/model-radar.ts';
import type { Data } from './operator-client.ts';
import { counts, dollars, indent, showField, table, usd } from './table.ts';

type Radar = Data<'readOrganizationModelRadar'>;
type Item = Radar['items'][number];

/** Whether a model of the list ends within this many days, or has ended. */
export function endsWithin({ items }: Radar, days: number): boolean {
  return items.some(({ status, daysLeft }) => status === 'RETIRED' || (daysLeft !== null && daysLeft <= days));
}

/** A horizon that includes everything that ends within this many days. */
export function withHorizon(query: Record<string, string>, days: number): Record<string, string> {
  const { horizonDays } = ModelRadarQuery.parse({ horizonDays: query.horizonDays });
  return { ...query, horizonDays: String(Math.max(horizonDays, days)) };
}

export function showRadar({ items, catalogVersion, degraded }: Radar): string {
  const shown = table(items, {
    Model: ({ modelKey }) => modelKey,
    Ends: ({ shutdownAt }) => shutdownAt,
    'Days left': ({ daysLeft }) => daysLeft,
    Why: ({ reasons }) => reasons,
    Calls: counts(({ usage }) => usage.calls),
    Cost: dollars(({ usage }) => usage.costUsdNano),
    Replacement: ({ replacement }) => replacement.modelKey,
    'Cost there': (item) => costThere(item),
    Difference: (item) => differenceText(item),
    Customers: ({ customerCount }) => customerCount,
    Mappings: ({ mappings }) => mappings,
  });
  const words = items.flatMap(warningLines);
  const problem = degraded
    ? '\n\nThe current catalog or the reviews cannot be read: this is what is known without them.'
    : '';
  return `${shown}\n\nCatalog ${catalogVersion}.${words.length > 0 ? `\n\n${words.join('\n')}` : ''}${problem}`;
}

/** A star marks a cost with parts left out. */
function costThere({ replacementCostUSD, notPriced }: Item): string | null {
  if (replacementCostUSD === null) return null;
  return `${showField('costUSD', replacementCostUSD)}${notPriced.length > 0 ? ' *' : ''}`;
}

/** `$1.20 more (+12.5%)`; nothing if the two costs are not of the same usage. */
function differenceText(item: Item): string | null {
  const { replacementDifferenceUsdNano: nano, replacementDifferencePercent: percent } = item;
  if (nano === null) return null;
  const amount = usd(nano.replace('-', ''));
  const share = percent === null ? '' : ` (${percent > 0 ? '+' : ''}${percent}%)`;
  return `${amount} ${nano.startsWith('-') ? 'less' : 'more'}${share}`;
}

function warningLines({ modelKey, replacement, notPriced }: Item): string[] {
  const words = [...replacement.warnings, ...notPriced.map((what) => `* not in the cost there: ${what}`)];
  return words.length === 0 ? [] : [`${modelKey}:`, ...words.map((text) => indent(text, '  '))];
}
