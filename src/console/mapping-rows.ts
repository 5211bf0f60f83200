/**
 * Model mappings as the rows of a form: one row for each model, in the order of preference. A row's fields have the
 * names of their paths in the body (`standard.0.switchTo`), so that errors appear at them. The aliases are one list of
 * rows, each with the name of its alias.
 *
 * The contract's schema validates the entries.
 */
import type { Detail } from '../contract/errors.ts';
import { AutopilotPolicy } from '../contract/model-mappings.ts';
import { type AutopilotEntry, entryModel, type MappingEntry, type ModelMappings } from '../domain/model-mappings.ts';
import { TIERS } from '../domain/tiers.ts';
import type { FormState } from '../ui/form.tsx';
import type { Fields } from './context.ts';
import { isRecord } from './field-words.ts';
import { fieldsOf, objectIn, storedValues } from './schema-form.tsx';
import { text } from './submitted.ts';

export const MAPPING_LISTS = [...TIERS, 'aliases'] as const;
export type MappingList = (typeof MAPPING_LISTS)[number];

interface Row {
  /** Empty for a tier. */
  alias: string;
  /** As in a body of the API, not yet validated. */
  entry: unknown;
}

export type MappingRows = Record<MappingList, Row[]>;

/** The most rows of a list that are read. A form has room for fewer. */
const ROWS_MAX = 2_000;

const POLICY_FIELDS = fieldsOf(AutopilotPolicy);

export const rowPrefix = (list: MappingList, index: number) => `${list}.${index}.`;

const eachList = <T>(make: (list: MappingList) => T): Record<MappingList, T> => ({
  standard: make('standard'),
  premium: make('premium'),
  aliases: make('aliases'),
});

export function storedRows(stored: ModelMappings | null): MappingRows {
  const { standard = [], premium = [], aliases = {} } = stored ?? {};
  const ofTier = (entries: readonly MappingEntry[]) => entries.map((entry) => ({ alias: '', entry }));
  return {
    standard: ofTier(standard),
    premium: ofTier(premium),
    aliases: Object.entries(aliases).flatMap(([alias, entries]) => entries.map((entry) => ({ alias, entry }))),
  };
}

/** The submitted rows without the empty ones. What the autopilot remembers is not in the form, and stays as stored. */
export function submittedRows(fields: Fields, stored: ModelMappings | null): MappingRows {
  const before = storedRows(stored);
  return eachList((list) => {
    const remembered = before[list].filter(({ entry }) => isRecord(entry) && entry.switchedFrom !== undefined);
    return readRows(fields, list).map((row) => ({ ...row, entry: withMemory(row, remembered) }));
  });
}

function readRows(fields: Fields, list: MappingList): Row[] {
  const rows: Row[] = [];
  for (let index = 0; index < ROWS_MAX; index += 1) {
    const prefix = rowPrefix(list, index);
    if (fields[`${prefix}model`] === undefined) break;
    const row = { alias: text(fields, `${prefix}alias`), entry: readEntry(fields, prefix) };
    if (row.alias !== '' || row.entry !== '') rows.push(row);
  }
  return rows;
}

/** A model without a policy is its name alone. */
function readEntry(fields: Fields, prefix: string): unknown {
  const { model = '', ...policy } = objectIn(POLICY_FIELDS, fields, prefix);
  const isPlain = Object.values(policy).every((value) => Array.isArray(value) && value.length === 0);
  return isPlain ? model : { model, ...policy };
}

/** The row's entry with the memory of the first stored one that has the same model, which `remembered` then loses. */
function withMemory({ alias, entry }: Row, remembered: Row[]): unknown {
  if (!isRecord(entry)) return entry;
  const at = remembered.findIndex((row) => row.alias === alias && (row.entry as AutopilotEntry).model === entry.model);
  const [found] = at < 0 ? [] : remembered.splice(at, 1);
  if (!found) return entry;
  const { switchedFrom, switchedAt } = found.entry as AutopilotEntry;
  return { ...entry, switchedFrom, switchedAt };
}

/** The body of the rows, not yet validated. A row without a name gets the empty alias, which the API refuses. */
export function mappingsBody({ standard, premium, aliases }: MappingRows) {
  const named: Record<string, unknown[]> = Object.create(null);
  for (const { alias, entry } of aliases) named[alias] = [...(named[alias] ?? []), entry];
  return { standard: standard.map(({ entry }) => entry), premium: premium.map(({ entry }) => entry), aliases: named };
}

/** The models of rows that the contract's schema accepts, with the names of their fields. */
export function modelsOfRows(rows: MappingRows): { model: string; field: string }[] {
  return MAPPING_LISTS.flatMap((list) =>
    rows[list].map(({ entry }, index) => ({
      model: entryModel(entry as MappingEntry),
      field: `${rowPrefix(list, index)}model`,
    })),
  );
}

/** The values of the form's fields. */
export function rowValues(rows: MappingRows): FormState['values'] {
  const values = MAPPING_LISTS.flatMap((list) =>
    rows[list].map(({ alias, entry }, index) => {
      const prefix = rowPrefix(list, index);
      const stored = isRecord(entry) ? entry : { model: entry };
      return { ...storedValues(POLICY_FIELDS, stored, prefix), [`${prefix}alias`]: alias };
    }),
  );
  return Object.assign({}, ...values);
}

/** An error of the body, moved to the field of its row: `aliases.cheap.1` to `aliases.4.model`. */
export function atRow(rows: MappingRows, { path, message }: Detail): Detail {
  const [list = '', key] = path.split('.', 2);
  if (list !== 'aliases') return { path: /^\w+\.\d+$/.test(path) ? `${path}.model` : path, message };
  if (key === undefined) return { path, message };
  const seen = new Map<string, number>();
  for (const [index, { alias }] of rows.aliases.entries()) {
    const place = seen.get(alias) ?? 0;
    seen.set(alias, place + 1);
    const prefix = rowPrefix('aliases', index);
    const ofAlias = `aliases.${alias}`;
    if (path === ofAlias) return { path: `${prefix}alias`, message };
    if (path === `${ofAlias}.${place}`) return { path: `${prefix}model`, message };
    if (path.startsWith(`${ofAlias}.${place}.`))
      return { path: prefix + path.slice(`${ofAlias}.${place}.`.length), message };
  }
  return { path, message };
}

/** The submitted fields with a row before the one above it. */
export function movedUp(fields: Fields, list: MappingList, index: number): Fields {
  if (index < 1) return fields;
  const [own, above] = [rowPrefix(list, index), rowPrefix(list, index - 1)];
  const renamed = (name: string) => {
    if (name.startsWith(own)) return above + name.slice(own.length);
    return name.startsWith(above) ? own + name.slice(above.length) : name;
  };
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [renamed(name), value]));
}
