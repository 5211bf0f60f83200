/**
 * Forms that work without scripts: fields with their errors, and the hidden fields of every form.
 *
 * A field has the name of the path that it fills in (`limits.premiumCalls`), as error details have it, so that each
 * error appears at its field. Errors without a field are listed above the form.
 */
import type { Child, FC, PropsWithChildren } from 'hono/jsx';
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

export function typed({ values }: FormState, name: string): string {
  const value = values[name];
  return typeof value === 'string' ? value : (value?.[0] ?? '');
}

/** The hidden fields of every form: the CSRF token and the id of the submission; and who may send it. */
export interface FormSecrets {
  csrf: string;
  nonce: string;
  /** The role that the form's operation needs and the operator lacks; `null` if none is lacking. */
  needs: (of: Sends | undefined) => string | null;
}

/** What a form is sent to. */
export interface Sends {
  operation: Operation;
}

const Hidden: FC<{ secrets: FormSecrets }> = ({ secrets }) => (
  <>
    <input type="hidden" name="csrf" value={secrets.csrf} />
    <input type="hidden" name="nonce" value={secrets.nonce} />
  </>
);

interface FormProps {
  id?: string;
  /** The use case that the form is sent to; without it the form changes nothing but the operator's own browser. */
  of?: Sends;
  action: string;
  secrets: FormSecrets;
  state?: FormState;
  /** Paths that have a field; other errors are listed above the form. */
  upload?: boolean;
  class?: string;
  label?: string;
}

export const Form: FC<PropsWithChildren<FormProps>> = ({
  id,
  of,
  action,
  secrets,
  state,
  upload,
  class: style = 'form',
  label,
  children,
}) => {
  const needed = secrets.needs(of);
  return (
    <form
      method="post"
      action={action}
      id={id}
      class={style}
      enctype={upload ? 'multipart/form-data' : undefined}
      aria-label={label}
    >
      {needed === null ? (
        <>
          <Hidden secrets={secrets} />
          {state && <ErrorSummary details={state.details} />}
          {children}
        </>
      ) : (
        <>
          <p class="quiet hint">Only an operator with the role {needed} may send this.</p>
          <fieldset disabled class="plain">
            {children}
          </fieldset>
        </>
      )}
    </form>
  );
};

/** The list of errors, each with a link to its field. */
export const ErrorSummary: FC<{ details: readonly Detail[] }> = ({ details }) =>
  details.length === 0 ? null : (
    <div class="notice bad" role="alert">
      <strong>{details.length === 1 ? 'This needs a change:' : `These ${details.length} need a change:`}</strong>
      <ul>
        {details.map(({ path, message }) => (
          <li>{path === '' ? message : <a href={`#${idOf(fieldOf(path))}`}>{`${path}: ${message}`}</a>}</li>
        ))}
      </ul>
    </div>
  );

/** The error of a list's item belongs to the field of the list. */
function fieldOf(path: string): string {
  return path.replace(/\.\d+$/, '');
}

export function idOf(name: string): string {
  return `f-${name.replaceAll(/[^A-Za-z0-9_-]/g, '-')}`;
}

interface FieldProps {
  name: string;
  label: string;
  state: FormState;
  hint?: Child;
  required?: boolean;
}

/** A label, the control, its hint and its errors. */
const Field: FC<PropsWithChildren<Omit<FieldProps, 'required'>>> = ({ name, label, state, hint, children }) => {
  return (
    <div class={errorsOf(state, name).length > 0 ? 'field wrong' : 'field'}>
      <label for={idOf(name)}>{label}</label>
      {children}
      {hint && (
        <p class="quiet hint" id={`${idOf(name)}-hint`}>
          {hint}
        </p>
      )}
      <Errors name={name} state={state} />
    </div>
  );
};

const Errors: FC<Pick<FieldProps, 'name' | 'state'>> = ({ name, state }) => {
  const messages = errorsOf(state, name);
  return messages.length === 0 ? null : (
    <p class="error" id={`${idOf(name)}-error`}>
      {messages.join('; ')}
    </p>
  );
};

/** The errors of a field and of the paths inside it (`scopes.0` at `scopes`). */
function errorsOf({ details }: FormState, name: string): string[] {
  return details.filter(({ path }) => path === name || path.startsWith(`${name}.`)).map(({ message }) => message);
}

function described({ name, state, hint }: FieldProps) {
  const wrong = errorsOf(state, name).length > 0;
  const ids = [hint ? `${idOf(name)}-hint` : '', wrong ? `${idOf(name)}-error` : ''].filter(Boolean).join(' ');
  return { ...(wrong && { 'aria-invalid': 'true' }), ...(ids && { 'aria-describedby': ids }) };
}

interface TextProps extends FieldProps {
  type?: 'text' | 'password' | 'search' | 'url' | 'date' | 'datetime-local';
  numeric?: boolean;
  autocomplete?: string;
  placeholder?: string;
}

export const TextField: FC<TextProps> = (props) => {
  const { name, label, state, hint, required, type = 'text', numeric, autocomplete = 'off', placeholder } = props;
  return (
    <Field name={name} label={label} state={state} hint={hint}>
      <input
        id={idOf(name)}
        name={name}
        type={type}
        value={type === 'password' ? '' : typed(state, name)}
        inputmode={numeric ? 'decimal' : undefined}
        autocomplete={autocomplete}
        placeholder={placeholder}
        required={required}
        spellcheck={false}
        {...described(props)}
      />
    </Field>
  );
};

export const TextArea: FC<FieldProps & { rows?: number; mono?: boolean }> = (props) => {
  const { name, label, state, hint, required, rows = 4, mono } = props;
  return (
    <Field name={name} label={label} state={state} hint={hint}>
      <textarea
        id={idOf(name)}
        name={name}
        rows={rows}
        class={mono ? 'mono' : undefined}
        required={required}
        spellcheck={false}
        {...described(props)}
      >
        {typed(state, name)}
      </textarea>
    </Field>
  );
};

export const Select: FC<FieldProps & { options: readonly (readonly [string, string])[] }> = (props) => {
  const { name, label, state, hint, options } = props;
  const chosen = typed(state, name);
  return (
    <Field name={name} label={label} state={state} hint={hint}>
      <select id={idOf(name)} name={name} {...described(props)}>
        {options.map(([value, text]) => (
          <option value={value} selected={value === chosen}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  );
};

export const Checkbox: FC<FieldProps> = (props) => {
  const { name, label, state, hint } = props;
  return (
    <div class="check">
      <input
        id={idOf(name)}
        type="checkbox"
        name={name}
        value="on"
        checked={typed(state, name) === 'on'}
        {...described(props)}
      />
      <label for={idOf(name)}>{label}</label>
      {hint && (
        <p class="quiet hint" id={`${idOf(name)}-hint`}>
          {hint}
        </p>
      )}
      <Errors name={name} state={state} />
    </div>
  );
};

/** Several choices: checkboxes with the same name. */
export const CheckGroup: FC<FieldProps & { options: readonly (readonly [string, string])[] }> = ({
  name,
  label,
  state,
  hint,
  options,
}) => {
  const value = state.values[name];
  const chosen = typeof value === 'string' ? [value] : (value ?? []);
  const messages = errorsOf(state, name);
  return (
    <fieldset class={messages.length > 0 ? 'checks wrong' : 'checks'} id={idOf(name)}>
      <legend>{label}</legend>
      {hint && <p class="quiet hint">{hint}</p>}
      {options.map(([option, text]) => (
        <label class="check">
          <input type="checkbox" name={name} value={option} checked={chosen.includes(option)} />
          <span>{text}</span>
        </label>
      ))}
      {messages.length > 0 && <p class="error">{messages.join('; ')}</p>}
    </fieldset>
  );
};

/** One choice of several: radio buttons, each with an explanation. */
export const Choice: FC<FieldProps & { options: readonly (readonly [string, string, Child?])[] }> = ({
  name,
  label,
  state,
  options,
}) => {
  const chosen = typed(state, name);
  const messages = errorsOf(state, name);
  return (
    <fieldset class={messages.length > 0 ? 'checks wrong' : 'checks'} id={idOf(name)}>
      <legend>{label}</legend>
      {options.map(([option, text, hint]) => (
        <label class="check">
          <input type="radio" name={name} value={option} checked={option === chosen} />
          <span>
            {text}
            {hint && <span class="quiet hint"> {hint}</span>}
          </span>
        </label>
      ))}
      {messages.length > 0 && <p class="error">{messages.join('; ')}</p>}
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
