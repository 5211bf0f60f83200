/**
 * Forms that work without script: fields with their errors, and the hidden fields of every form.
 *
 * A form passes the submitted values and their errors to its fields. A field is named after the path that it fills in
 * (`limits.premiumCalls`). Error details use the same paths, so each error appears at its field. The summary above the
 * form names each field by its label, and the first field with an error has the focus.
 */
import { type Child, createContext, type FC, type PropsWithChildren, useContext } from 'hono/jsx';
import type { Operation } from '../contract/operations.ts';

export interface Detail {
  path: string;
  message: string;
}

/** The submitted values and their errors. */
export interface FormState {
  values: Readonly<Record<string, string | readonly string[] | undefined>>;
  details: readonly Detail[];
}

export const BLANK: FormState = { values: {}, details: [] };

export function typed({ values }: FormState, name: string): string {
  const value = values[name];
  return typeof value === 'string' ? value : (value?.[0] ?? '');
}

/**
 * The values of every form: the CSRF token and the submission's id as hidden fields, and a check of the operator's
 * role.
 */
export interface FormSecrets {
  csrf: string;
  nonce: string;
  /** The role that the form's operation requires and the operator lacks; `null` if none is lacking. */
  needs: (of: Sends | undefined) => string | null;
}

/** The use case that receives a form. */
export interface Sends {
  operation: Operation;
}

const Hidden: FC<{ secrets: FormSecrets }> = ({ secrets }) => (
  <>
    <input type="hidden" name="csrf" value={secrets.csrf} />
    <input type="hidden" name="nonce" value={secrets.nonce} />
  </>
);

/** The form that is being rendered: its state, and the fields that were rendered so far. */
interface Rendered {
  state: FormState;
  fields: Map<string, { label: string; example: string | undefined }>;
  /** Whether a field has the focus; the first field with an error gets it. */
  hasFocus: boolean;
}

const CurrentForm = createContext<Rendered>({ state: BLANK, fields: new Map(), hasFocus: false });

/**
 * The fields of a form below the summary of its errors. The fields are rendered first, because the summary uses their
 * labels.
 */
const Filled: FC<PropsWithChildren<{ state: FormState }>> = ({ state, children }) => {
  const form: Rendered = { state, fields: new Map(), hasFocus: false };
  const fields = CurrentForm.Provider({ value: form, children });
  return (
    <>
      <ErrorSummary form={form} />
      {fields}
    </>
  );
};

interface FormProps {
  id?: string;
  /** The use case that receives the form; without it the form changes nothing but the operator's own browser. */
  of?: Sends;
  action: string;
  secrets: FormSecrets;
  state?: FormState;
  upload?: boolean;
  label?: string;
}

export const Form: FC<PropsWithChildren<FormProps>> = (props) => {
  const { id, of, action, secrets, state = BLANK, upload, label, children } = props;
  const needed = secrets.needs(of);
  return (
    <form
      method="post"
      action={action}
      id={id}
      class="form"
      enctype={upload ? 'multipart/form-data' : undefined}
      aria-label={label}
    >
      {needed === null ? (
        <>
          <Hidden secrets={secrets} />
          <Filled state={state}>{children}</Filled>
        </>
      ) : (
        <>
          <p class="quiet hint">Only an operator with the role {needed} may send this.</p>
          <fieldset disabled class="plain">
            <Filled state={state}>{children}</Filled>
          </fieldset>
        </>
      )}
    </form>
  );
};

/**
 * A form that requests a page and changes nothing. With a label it is a search, and the label is its accessible name.
 */
export const GetForm: FC<PropsWithChildren<{ action: string; state: FormState; label?: string }>> = (props) => {
  const { action, state, label, children } = props;
  const form = (
    <form method="get" action={action} class="form">
      <Filled state={state}>{children}</Filled>
    </form>
  );
  return label === undefined ? form : <search aria-label={label}>{form}</search>;
};

/** The button that submits a form, and the link back. */
export const Submit: FC<PropsWithChildren<{ back?: string; danger?: boolean }>> = ({ back, danger, children }) => (
  <div class="submit">
    <button type="submit" class={danger ? 'danger' : 'primary'}>
      {children}
    </button>
    {back !== undefined && <a href={back}>Go back</a>}
  </div>
);

/** The errors of a form, each with a link to its field. */
const ErrorSummary: FC<{ form: Rendered }> = ({ form: { state, fields } }) =>
  state.details.length === 0 ? null : (
    <div class="notice bad" role="alert">
      <strong>{state.details.length === 1 ? 'Correct this:' : 'Correct these:'}</strong>
      <ul>
        {state.details.map(({ path, message }) => {
          const name = errorField(path, fields);
          const field = fields.get(name);
          if (!field) return <li>{path === '' ? message : `${path}: ${message}`}</li>;
          return (
            <li>
              <a href={`#${fieldId(name)}`}>{`${field.label}: ${withExample(message, name, field.example)}`}</a>
            </li>
          );
        })}
      </ul>
    </div>
  );

/** The field of a path, or of the nearest path around it: an error of `scopes.0` belongs to `scopes`. */
function errorField(path: string, fields: Rendered['fields']): string {
  const outer = path.replace(/\.[^.]+$/, '');
  return fields.has(path) || outer === path ? path : errorField(outer, fields);
}

/** The rule with an example: `must be a number of dollars, such as 12.50`. */
function withExample(message: string, name: string, example: string | undefined): string {
  if (example === undefined || !/^must be an? /.test(message) || message.includes('such as')) return message;
  const rule = /Usd/.test(name) ? message.replace(/number$/, 'number of dollars') : message;
  return `${rule}, such as ${example}`;
}

function fieldId(name: string): string {
  return `f-${name.replaceAll(/[^A-Za-z0-9_-]/g, '-')}`;
}

interface FieldProps {
  name: string;
  label: string;
  hint?: Child;
  required?: boolean;
}

/** Registers a field with its form, and returns the field's value, error, focus and descriptions. */
function useField({ name, label, hint }: FieldProps, example?: string) {
  const form = useContext(CurrentForm);
  form.fields.set(name, { label, example });
  const value = form.state.values[name];
  const messages = form.state.details
    .filter(({ path }) => path === name || path.startsWith(`${name}.`))
    .map(({ message }) => withExample(message, name, example));
  const isWrong = messages.length > 0;
  const hasFocus = isWrong && !form.hasFocus;
  if (hasFocus) form.hasFocus = true;
  const id = fieldId(name);
  const describedBy = [hint ? `${id}-hint` : '', isWrong ? `${id}-error` : ''].filter(Boolean).join(' ');
  return {
    text: typed(form.state, name),
    chosen: typeof value === 'string' ? [value] : (value ?? []),
    error: messages.join('; '),
    focus: { ...(hasFocus && { autofocus: true }) },
    described: { ...(isWrong && { 'aria-invalid': 'true' }), ...(describedBy && { 'aria-describedby': describedBy }) },
  } as const;
}

const Notes: FC<{ name: string; hint: Child; error: string }> = ({ name, hint, error }) => (
  <>
    {hint && (
      <p class="quiet hint" id={`${fieldId(name)}-hint`}>
        {hint}
      </p>
    )}
    {error && (
      <p class="error" id={`${fieldId(name)}-error`}>
        {error}
      </p>
    )}
  </>
);

const Field: FC<PropsWithChildren<FieldProps & { error: string }>> = ({ name, label, hint, error, children }) => (
  <div class={error ? 'field wrong' : 'field'}>
    <label for={fieldId(name)}>{label}</label>
    {children}
    <Notes name={name} hint={hint} error={error} />
  </div>
);

/** The error of several fields together, which belongs to none of them alone. */
export const GroupError: FC<{ name: string; label: string }> = ({ name, label }) => {
  const { state, fields } = useContext(CurrentForm);
  fields.set(name, { label, example: undefined });
  const messages = state.details.filter(({ path }) => path === name).map(({ message }) => message);
  return messages.length === 0 ? null : (
    <p class="error" id={fieldId(name)}>
      {messages.join('; ')}
    </p>
  );
};

interface TextProps extends FieldProps {
  type?: 'text' | 'password' | 'search' | 'url' | 'date' | 'datetime-local';
  numeric?: boolean;
  placeholder?: string;
  /** A valid value, for the field's error message. */
  example?: string;
  /** Whether the field has the focus when the page opens, if no field has an error. */
  focus?: boolean;
}

/** The length of `2026-11-25T09:30`. If the step is a minute, browsers omit zero seconds and refuse other seconds. */
export const MINUTE_LENGTH = 'yyyy-mm-ddThh:mm'.length;

export const TextField: FC<TextProps> = (props) => {
  const { name, required, type = 'text', numeric, placeholder } = props;
  const { example = numeric ? (/Usd/.test(name) ? '12.50' : '100') : undefined } = props;
  const { text, error, focus, described } = useField(props, example);
  return (
    <Field {...props} error={error}>
      <input
        autofocus={props.focus}
        id={fieldId(name)}
        name={name}
        type={type}
        value={type === 'password' ? '' : text}
        inputmode={numeric ? 'decimal' : undefined}
        step={type === 'datetime-local' && text.length > MINUTE_LENGTH ? 'any' : undefined}
        autocomplete={type === 'password' ? 'new-password' : 'off'}
        placeholder={placeholder}
        required={required}
        spellcheck={false}
        {...focus}
        {...described}
      />
    </Field>
  );
};

export const TextArea: FC<FieldProps & { rows?: number; mono?: boolean }> = (props) => {
  const { name, required, rows = 4, mono } = props;
  const { text, error, focus, described } = useField(props);
  return (
    <Field {...props} error={error}>
      <textarea
        id={fieldId(name)}
        name={name}
        rows={rows}
        class={mono ? 'mono' : undefined}
        required={required}
        spellcheck={false}
        {...focus}
        {...described}
      >
        {text}
      </textarea>
    </Field>
  );
};

/** The possible values of a field, each with its name and an optional explanation. */
export type Options = readonly (readonly [value: string, name: string, hint?: Child])[];

export const Select: FC<FieldProps & { options: Options }> = (props) => {
  const { name, options } = props;
  const { text, error, focus, described } = useField(props);
  return (
    <Field {...props} error={error}>
      <select id={fieldId(name)} name={name} {...focus} {...described}>
        {options.map(([value, option]) => (
          <option value={value} selected={value === text}>
            {option}
          </option>
        ))}
      </select>
    </Field>
  );
};

export const Checkbox: FC<FieldProps> = (props) => {
  const { name, label, hint } = props;
  const { text, error, focus, described } = useField(props);
  return (
    <div class="check">
      <input
        id={fieldId(name)}
        type="checkbox"
        name={name}
        value="on"
        checked={text === 'on'}
        {...focus}
        {...described}
      />
      <label for={fieldId(name)}>{label}</label>
      <Notes name={name} hint={hint} error={error} />
    </div>
  );
};

/** Several choices, as checkboxes with the same name. */
export const CheckGroup: FC<FieldProps & { options: Options }> = (props) => <Group {...props} type="checkbox" />;

/** One choice of several, as radio buttons, each with an explanation. */
export const Choice: FC<FieldProps & { options: Options }> = (props) => <Group {...props} type="radio" />;

const Group: FC<FieldProps & { options: Options; type: 'checkbox' | 'radio' }> = (props) => {
  const { name, label, hint, options, type } = props;
  const { chosen, error, focus, described } = useField(props);
  return (
    <fieldset
      class={error ? 'checks wrong' : 'checks'}
      id={fieldId(name)}
      role={type === 'radio' ? 'radiogroup' : undefined}
      {...(type === 'radio' ? described : { 'aria-describedby': described['aria-describedby'] })}
    >
      <legend>{label}</legend>
      {options.map(([value, option, explanation], index) => (
        <label class="check">
          <input type={type} name={name} value={value} checked={chosen.includes(value)} {...(index === 0 && focus)} />
          <span>
            {option}
            {explanation && <span class="quiet hint"> {explanation}</span>}
          </span>
        </label>
      ))}
      <Notes name={name} hint={hint} error={error} />
    </fieldset>
  );
};

/** A form that consists of one button. */
export const ButtonForm: FC<
  PropsWithChildren<{ of?: Sends; action: string; secrets: FormSecrets; danger?: boolean }>
> = ({ of, action, secrets, danger, children }) => {
  const needed = secrets.needs(of);
  return (
    <form method="post" action={action} class="inline">
      {needed === null && <Hidden secrets={secrets} />}
      <button
        type="submit"
        class={danger ? 'danger' : undefined}
        disabled={needed !== null}
        title={needed === null ? undefined : `Needs the role ${needed}`}
      >
        {children}
      </button>
    </form>
  );
};
