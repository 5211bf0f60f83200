/**
 * The usage summary as CSV: a line for each group of each dimension, in one table, so that a spreadsheet filters by dimension.
 */
import { Figures, type UsageSummaryData } from '../../contract/usage-summary.ts';
import { type Cell, formatCsv } from '../../platform/csv.ts';

const FIGURES = Figures.keyof().options;

interface Line extends Figures {
  dimension: string;
  key: string | null;
}

export function summaryCsv(data: UsageSummaryData): string {
  const lines: Line[] = [
    { ...data.totals, dimension: 'total', key: null },
    ...data.byDay.map((group) => ({ ...group, dimension: 'day', key: group.date })),
    ...data.byCustomer.map((group) => ({ ...group, dimension: 'customer', key: group.customerId })),
    ...data.byFeature.map((group) => ({ ...group, dimension: 'feature', key: group.feature })),
    ...data.byModel.map((group) => ({ ...group, dimension: 'model', key: group.model })),
    ...data.byProvider.map((group) => ({ ...group, dimension: 'provider', key: group.provider })),
    ...data.byOutcome.map((group) => ({ ...group, dimension: 'outcome', key: group.outcome })),
  ];
  const columns: Record<string, (line: Line) => Cell> = {
    dimension: ({ dimension }) => dimension,
    key: ({ key }) => key,
    ...Object.fromEntries(FIGURES.map((name) => [name, (line: Line) => line[name]])),
  };
  return formatCsv(columns, lines);
}
