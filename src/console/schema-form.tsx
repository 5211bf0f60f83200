/**
 * Forms made from an operation's schema: each field of its body is drawn by its type, named as the contract names it, with
 * the contract's description as its hint; and what was submitted is read back into a body.
 */
import type { FC } from 'hono/jsx';
import { type InputField, inputFields } from '../contract/input-fields.ts';
import type { Operation } from '../contract/operations.ts';
import { Checkbox, CheckGroup, type FormState, Select, TextArea, TextField } from '../ui/form.tsx';
import { words } from '../ui/format.ts';
import type { Fields } from './context.ts';
import { fieldLabel } from './field-words.ts';
import { isChecked, lines, text, texts, typedNumber } from './submitted.ts';

interface OfBody {
  operation: Operation;
}

/** Characters of `2026-11-25T09:30`, as a field for a time has it. */
const MINUTE_LENGTH = 'yyyy-mm-ddThh:mm'.length;

/**
 * The body that a form submits, not yet validated. `paths` are the fields that the form has, if these are not all of the
 * body's. An empty field is left out, or is `null` if the contract lets it be.
 */
export function bodyIn({ operation }: OfBody, fields: Fields, paths?: readonly string[]): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const field of bodyFields(operation, paths)) {
    const value = valueIn(field, fields);
    if (value !== undefined) setAt(body, field.path.split('.'), value);
  }
  return body;
}

function bodyFields({ body }: Operation, paths: readonly string[] | undefined): InputField[] {
  const fields = body ? inputFields(body, { inner: true }) : [];
  return paths ? fields.filter(({ path }) => paths.includes(path)) : fields;
}

function valueIn({ path, kind, choices, nullable, format }: InputField, fields: Fields): unknown {
  if (kind === 'boolean') return isChecked(fields, path);
  const empty = nullable ? null : undefined;
  if (kind === 'number') return typedNumber(fields, path) ?? empty;
  if (kind === 'text') return (format === 'date-time' ? instantIn(fields, path) : text(fields, path)) || empty;
  const items = choices ? texts(fields, path) : lines(fields, path);
  if (items.length === 0 && nullable) return null;
  return kind === 'numbers' ? items.map(Number) : items;
}

/** A time of the form, which is in UTC, as an instant. Browsers leave seconds out if there are none. */
function instantIn(fields: Fields, path: string): string {
  const time = text(fields, path);
  return time === '' ? '' : `${time}${time.length === MINUTE_LENGTH ? ':00' : ''}Z`;
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

interface BodyFieldsProps {
  of: OfBody;
  state: FormState;
  /** What values are called, if not by their own names. */
  names?: Readonly<Record<string, string>>;
}

/** The fields of an operation's body, in the order of the contract. */
export const BodyFields: FC<BodyFieldsProps> = ({ of, state, names = {} }) => (
  <>
    {bodyFields(of.operation, undefined).map((field) => (
      <BodyField field={field} state={state} names={names} />
    ))}
  </>
);

const BodyField: FC<Omit<Required<BodyFieldsProps>, 'of'> & { field: InputField }> = ({ field, state, names }) => {
  const { path, kind, choices, required, nullable, format, description } = field;
  const named = { name: path, label: fieldLabel(path), state, hint: `${description}.` };
  const options = choices?.map((choice) => [choice, names[choice] ?? words(choice)] as const);
  if (kind === 'boolean') return <Checkbox {...named} />;
  if (options && kind === 'list') return <CheckGroup {...named} options={options} />;
  if (options) return <Select {...named} options={required && !nullable ? options : [['', ''], ...options]} />;
  if (kind === 'list' || kind === 'numbers') return <TextArea {...named} hint={`${description}. One per line.`} />;
  const type = format === 'date-time' ? 'datetime-local' : format === 'uri' ? 'url' : 'text';
  return <TextField {...named} type={type} numeric={kind === 'number'} required={required} />;
};
