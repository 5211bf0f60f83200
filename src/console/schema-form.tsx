/**
 * Forms from an operation's schema. The type of a body's field determines its control, its name in words is the label,
 * and the contract's description is the hint. The fields show stored values, and submitted values are read back into a
 * body. A part of a body that repeats, such as the entry of a list, has a schema of its own, and the names of its fields
 * begin with its path in the body.
 */
import type { Child, FC } from 'hono/jsx';
import type { z } from 'zod';
import { type InputField, inputFields } from '../contract/input-fields.ts';
import type { Operation } from '../contract/operations.ts';
import {
  Checkbox,
  CheckGroup,
  Choice,
  type FormState,
  type Options,
  Select,
  TextArea,
  TextField,
} from '../ui/form.tsx';
import { count, words } from '../ui/format.ts';
import type { Fields } from './context.ts';
import { fieldLabel, isRecord } from './field-words.ts';
import { instantIn, shownInstant } from './form-instants.ts';
import type { NameIn } from './page-input.ts';
import { isChecked, lines, numberIn, text, texts, typedNumber } from './submitted.ts';

interface OfBody<O extends Operation = Operation> {
  operation: O;
}

/**
 * The body of a submitted form, not yet validated. `paths` names the fields of the form, if these are not all fields of
 * the body. An empty field is left out, or is `null` if the contract allows it.
 */
export function bodyIn<O extends Operation>(
  { operation }: OfBody<O>,
  fields: Fields,
  paths?: readonly string[],
): { [Name in NameIn<O, 'body'>]?: unknown } {
  return objectIn<NameIn<O, 'body'>>(fieldsOf(operation.body, paths), fields);
}

/** The object of submitted fields. The names of its fields in the form begin with `prefix`. */
export function objectIn<Name extends string>(
  known: readonly InputField[],
  fields: Fields,
  prefix = '',
): { [Each in Name]?: unknown } {
  const object: { [Each in Name]?: unknown } = {};
  for (const field of known) {
    const value = valueIn({ ...field, path: prefix + field.path }, fields);
    if (value !== undefined) setAt(object, field.path.split('.'), value);
  }
  return object;
}

/** The fields of a schema in the order of `paths`, or of the contract. */
export function fieldsOf(schema: z.ZodType | undefined, paths?: readonly string[]): InputField[] {
  const fields = schema ? inputFields(schema, { inner: true }) : [];
  return paths ? paths.map((path) => fieldAt(fields, path)) : fields;
}

function fieldAt(fields: readonly InputField[], path: string): InputField {
  const found = fields.find((field) => field.path === path);
  if (!found) throw new Error(`the body has no field "${path}"`);
  return found;
}

function valueIn({ path, kind, choices, nullable, required, format, mayBeEmpty }: InputField, fields: Fields): unknown {
  if (kind === 'boolean') return isChecked(fields, path);
  const empty = nullable ? null : undefined;
  if (kind === 'number') return typedNumber(fields, path) ?? empty;
  if (kind === 'text') return textIn(path, format, fields) || empty;
  const items = choices ? texts(fields, path) : lines(fields, path);
  if (items.length === 0 && (nullable || !(mayBeEmpty || required))) return empty;
  return kind === 'numbers' ? items.map(numberIn) : items;
}

function textIn(path: string, format: string | null, fields: Fields): string {
  if (format === 'date-time') return instantIn(text(fields, path));
  return path.endsWith('Usd') ? text(fields, path).replace(/^\$/, '') : text(fields, path);
}

function setAt(into: Record<string, unknown>, [name = '', ...rest]: string[], value: unknown): void {
  if (rest.length === 0) {
    into[name] = value;
    return;
  }
  const inner = (into[name] ?? {}) as Record<string, unknown>;
  into[name] = inner;
  setAt(inner, rest, value);
}

/** The form fields with the stored values of a body. */
export function storedIn({ operation }: OfBody, stored: object): FormState {
  return { values: storedValues(fieldsOf(operation.body), stored), details: [] };
}

/** The values of an object's fields by their names in the form. */
export function storedValues(known: readonly InputField[], stored: object, prefix = ''): FormState['values'] {
  return Object.fromEntries(known.map((field) => [prefix + field.path, shown(field, stored)]));
}

function shown({ path, choices, format }: InputField, stored: object): string | string[] {
  const value = path.split('.').reduce<unknown>((outer, name) => (isRecord(outer) ? outer[name] : undefined), stored);
  if (value === undefined || value === null || value === false) return '';
  if (value === true) return 'on';
  if (typeof value === 'number') return Number.isInteger(value) ? count(value) : String(value);
  if (Array.isArray(value)) return choices ? value.map(String) : value.join('\n');
  return format === 'date-time' ? shownInstant(String(value)) : String(value);
}

/** Texts and options of a page that replace those of the contract. */
export interface Override {
  label?: string;
  hint?: Child;
  options?: Options;
  required?: boolean;
  placeholder?: string;
  focus?: boolean;
}

interface BodyFieldsProps {
  of: OfBody;
  /** The fields to show, in this order; by default all fields of the body. */
  paths?: readonly string[];
  overrides?: Readonly<Record<string, Override>>;
}

export const BodyFields: FC<BodyFieldsProps> = ({ of, paths, overrides = {} }) => (
  <>
    {fieldsOf(of.operation.body, paths).map((field) => (
      <SchemaField field={field} override={overrides[field.path] ?? {}} />
    ))}
  </>
);

interface SchemaFieldProps {
  field: InputField;
  override: Override;
  /** The beginning of its name in the form. */
  prefix?: string;
}

export const SchemaField: FC<SchemaFieldProps> = ({ field, override, prefix = '' }) => {
  const { path, kind, choices, required, nullable, format, isShare } = field;
  const own = choices?.map((choice) => [choice, words(choice)] as const);
  const { options = own && (required && !nullable ? own : [['', ''] as const, ...own]), ...others } = override;
  const label = format === 'date-time' ? `${fieldLabel(path)} (UTC)` : fieldLabel(path);
  const named = {
    name: prefix + path,
    label,
    hint: fieldHint(field),
    required: required && kind !== 'list',
    ...others,
  };
  if (kind === 'boolean') return <Checkbox {...named} />;
  if (kind === 'list' && choices) return <CheckGroup {...named} options={override.options ?? own ?? []} />;
  if (options)
    return options.some(([, , hint]) => hint) ? (
      <Choice {...named} options={options} />
    ) : (
      <Select {...named} options={options} />
    );
  if (kind === 'list' || kind === 'numbers') return <TextArea {...named} />;
  return (
    <TextField
      {...named}
      type={typeOf(format)}
      numeric={kind === 'number' || path.endsWith('Usd')}
      {...(isShare && { example: '0.5' })}
    />
  );
};

/** The contract's description as a hint. In a form, an absent or `null` value is an empty field. */
function fieldHint({ kind, choices, description }: InputField): string {
  const text = description
    .replaceAll('`', '')
    .replace(/; (?:absent|null): /, '. If empty, ')
    .replace(/; null for /, '. Leave empty for ')
    .replaceAll(/\b(?:absent|null)\b/g, 'empty');
  return (kind === 'list' || kind === 'numbers') && !choices ? `${text}. One per line.` : `${text}.`;
}

function typeOf(format: string | null): 'text' | 'url' | 'password' | 'datetime-local' {
  switch (format) {
    case 'date-time':
      return 'datetime-local';
    case 'uri':
      return 'url';
    case 'password':
      return 'password';
    default:
      return 'text';
  }
}
