/**
 * The report as text.
 */
import { table } from '../../src/cli/table.ts';
import { LEVELS } from './figures.ts';
import type { Report } from './run.ts';

export function render(report: Report): string {
  return [
    ...(report.interrupted ? ['Interrupted: these are the figures so far.'] : []),
    `Prompts of ${report.prompts} that are made to be misread, whose sense changes:\n${sense(report)}`,
    `Estimated tokens beside those of o200k_base, on texts that the estimate was not fitted to:\n${estimates(report)}`,
    `Tokens of realistic prompts by o200k_base, and what the estimate says of the savings:\n${saved(report)}`,
    report.broken.length === 0 ? 'All bounds are kept.' : `Not kept:\n${report.broken.join('\n')}`,
  ].join('\n\n');
}

const share = (value: number) => `${(value * 100).toFixed(1)} %`;
const atLevels = <Row>(cell: (row: Row, level: number) => unknown) =>
  Object.fromEntries(
    LEVELS.map(({ name, aggressiveness }, level) => [`${name} (${aggressiveness})`, (row: Row) => cell(row, level)]),
  );

function sense({ sense: rows }: Report): string {
  return table(rows, {
    technique: ({ technique }) => technique,
    ...atLevels<(typeof rows)[number]>(({ changed }, level) => changed[level]),
  });
}

function estimates({ estimates: rows }: Report): string {
  return table(rows, {
    text: ({ name }) => name,
    tokens: ({ tokens }) => tokens,
    estimated: ({ estimated }) => estimated,
    error: ({ error }) => share(error),
    bound: ({ errorMax }) => share(errorMax),
  });
}

function saved({ saved: rows }: Report): string {
  return table(rows, {
    prompt: ({ name }) => name,
    tokens: ({ tokens }) => tokens,
    ...atLevels<(typeof rows)[number]>(({ tokens, after }, level) => {
      const left = after[level] ?? tokens;
      return `${left} (-${share(1 - left / tokens)})`;
    }),
    'estimated at the default': ({ estimatedTokens, estimatedAfter }) =>
      `-${share(1 - (estimatedAfter[1] ?? estimatedTokens) / estimatedTokens)}`,
    'by, at the default': ({ techniques }) => techniques[1]?.join(', ') || '-',
  });
}
