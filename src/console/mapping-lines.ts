/**
 * Model mappings as the lines of a form: `openai/gpt-5.1`, with an autopilot
 * `openai/gpt-5.1 switch=official days=14 max=10 needs=tools,vision`, and for an alias `cheap: openai/gpt-6-luna`.
 * `from=` and `at=` hold the autopilot's last switch.
 *
 * The API validates the entries, and refuses any other word.
 */
import type { AutopilotEntry, MappingEntry, ModelMappings } from '../domain/model-mappings.ts';

const ALIAS = /^([^\s:/]+):\s*(.*)$/;

/** The entries of the lines, as in a body of the API. */
export function parseEntries(lines: readonly string[]): unknown[] {
  return lines.map(parseEntry);
}

/** The entries by alias. A line without a name gets the empty alias, which the API refuses. */
export function parseAliases(lines: readonly string[]): Record<string, unknown[]> {
  const aliases: Record<string, unknown[]> = Object.create(null);
  for (const line of lines) {
    const [, name = '', entry = line] = ALIAS.exec(line) ?? [];
    aliases[name] = [...(aliases[name] ?? []), parseEntry(entry)];
  }
  return aliases;
}

function parseEntry(line: string): unknown {
  const [model = '', ...words] = line.split(/\s+/);
  if (words.length === 0) return model;
  const entry: Record<string, unknown> = { model };
  for (const word of words) {
    const [, name = '', value = ''] = /^(switch|days|max|needs|from|at)=(.+)$/.exec(word) ?? ['', 'switch', word];
    if (name === 'switch') entry.switchTo = value;
    if (name === 'days') entry.switchDaysBefore = numberOrText(value);
    if (name === 'max') entry.maxPriceIncreasePercent = numberOrText(value);
    if (name === 'from') entry.switchedFrom = value;
    if (name === 'at') entry.switchedAt = value;
    if (name === 'needs') entry.requiredCapabilities = value.split(',').filter(Boolean);
  }
  return entry;
}

/** The number, or the text if it is none: the schema then refuses it. */
const numberOrText = (value: string) => (/^\d+(\.\d+)?$/.test(value) ? Number(value) : value);

export function formatLines(entries: readonly MappingEntry[]): string[] {
  return entries.map((entry) => (typeof entry === 'string' ? entry : autopilotLine(entry)));
}

export function aliasLines(aliases: ModelMappings['aliases']): string[] {
  return Object.entries(aliases ?? {}).flatMap(([name, entries]) =>
    formatLines(entries).map((line) => `${name}: ${line}`),
  );
}

function autopilotLine(entry: AutopilotEntry): string {
  const { model, switchTo, switchDaysBefore, maxPriceIncreasePercent, requiredCapabilities } = entry;
  const { switchedFrom, switchedAt } = entry;
  const memory = switchedFrom === undefined || switchedAt === undefined ? '' : ` from=${switchedFrom} at=${switchedAt}`;
  const needs = requiredCapabilities.length > 0 ? ` needs=${requiredCapabilities.join(',')}` : '';
  return `${model} switch=${switchTo} days=${switchDaysBefore} max=${maxPriceIncreasePercent}${needs}${memory}`;
}
