/**
 * The radar as CSV (RFC 4180): one line for each model, lists in one cell. A cell that a spreadsheet would read as a
 * formula begins with an apostrophe, because names of models, customers and features are whatever callers sent.
 */
import type { ModelRadarData, RadarItem } from '../contract/model-radar.ts';

const COLUMNS: Readonly<Record<string, (item: RadarItem) => string | number | null>> = {
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
  replacementCostUSD: ({ replacementCostUSD }) => replacementCostUSD,
  notPriced: ({ notPriced }) => listed(notPriced),
  customerCount: ({ customerCount }) => customerCount,
  customers: ({ customers }) => listed(customers.map(({ customerId }) => customerId)),
  features: ({ features }) => listed(features),
  mappings: ({ mappings }) => listed(mappings),
  plans: ({ plans }) => listed(plans),
};

const listed = (values: readonly string[]) => values.join('; ');

export function radarCsv({ items }: Pick<ModelRadarData, 'items'>): string {
  const lines = items.map((item) => Object.values(COLUMNS).map((column) => cell(column(item))));
  return [Object.keys(COLUMNS), ...lines].map((cells) => `${cells.join(',')}\r\n`).join('');
}

/** A number stays one, also below zero. */
function cell(value: string | number | null): string {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  const safe = /^[\s]*[=+\-@]|^[\t\r\n]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
