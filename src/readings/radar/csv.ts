/**
 * The radar as CSV: one line for each model, lists in one cell.
 */
import type { ModelRadarData, RadarItem } from '../../contract/model-radar.ts';
import { type Cell, formatCsv } from '../../platform/csv.ts';

const COLUMNS: Readonly<Record<string, (item: RadarItem) => Cell>> = {
  modelKey: ({ modelKey }) => modelKey,
  status: ({ status }) => status,
  shutdownAt: ({ shutdownAt }) => shutdownAt,
  daysLeft: ({ daysLeft }) => daysLeft,
  reasons: ({ reasons }) => listed(reasons),
  replacementModelKey: ({ replacement }) => replacement.modelKey,
  replacementSource: ({ replacement }) => replacement.source,
  replacementWarnings: ({ replacement }) => listed(replacement.warnings),
  calls: ({ usage }) => usage.calls,
  inputTokens: ({ usage }) => usage.inputTokens,
  outputTokens: ({ usage }) => usage.outputTokens,
  costUSD: ({ usage }) => usage.costUSD,
  costUsdNano: ({ usage }) => usage.costUsdNano,
  replacementCostUSD: ({ replacementCostUSD }) => replacementCostUSD,
  replacementCostUsdNano: ({ replacementCostUsdNano }) => replacementCostUsdNano,
  replacementDifferenceUsdNano: ({ replacementDifferenceUsdNano }) => replacementDifferenceUsdNano,
  replacementDifferencePercent: ({ replacementDifferencePercent }) => replacementDifferencePercent,
  notPriced: ({ notPriced }) => listed(notPriced),
  customerCount: ({ customerCount }) => customerCount,
  customers: ({ customers }) => listed(customers.map(({ customerId }) => customerId)),
  features: ({ features }) => listed(features),
  mappings: ({ mappings }) => listed(mappings),
  plans: ({ plans }) => listed(plans),
};

const listed = (values: readonly string[]) => values.join('; ');

export function radarCsv({ items }: Pick<ModelRadarData, 'items'>): string {
  return formatCsv(COLUMNS, items);
}
