/**
 * The form of the model mappings: a row of fields for each model, which its autopilot may replace. The buttons that add
 * a row and move one submit the form, so that they work without script; only the button that saves changes anything.
 */
import type { FC } from 'hono/jsx';
import type { InputField } from '../contract/input-fields.ts';
import { AutopilotPolicy } from '../contract/model-mappings.ts';
import { setModels } from '../operator/model-mappings.ts';
import { CheckGroup, Form, type FormSecrets, type FormState, GroupError, Submit, TextField } from '../ui/form.tsx';
import type { Fields } from './context.ts';
import { isRecord } from './field-words.ts';
import { MAPPING_LISTS, type MappingList, type MappingRows, rowPrefix, rowValues } from './mapping-rows.ts';
import { fieldsOf, type Override, SchemaField } from './schema-form.tsx';
import { text } from './submitted.ts';

const CHANGE = 'change';

/** A change of the rows that a button asks for; `null` if the form is to be saved. */
export type RowChange = { kind: 'add'; list: MappingList } | { kind: 'up'; list: MappingList; index: number };

export function askedChange(fields: Fields): RowChange | null {
  const [kind, name, index] = text(fields, CHANGE).split(' ');
  const list = MAPPING_LISTS.find((one) => one === name);
  if (!list) return null;
  return kind === 'add' ? { kind, list } : { kind: 'up', list, index: Number(index) };
}

const LISTS: Readonly<Record<MappingList, { title: string; row: string; hint: string }>> = {
  standard: { title: 'Standard tier', row: 'Standard', hint: 'The models of service/standard.' },
  premium: { title: 'Premium tier', row: 'Premium', hint: 'The models of service/premium.' },
  aliases: {
    title: 'Aliases',
    row: 'Alias',
    hint: 'Names of your own: callers ask for service/name. Rows with the same name are its models, the preferred one first.',
  },
};

/** The names of a row's fields, after the name of the row. */
const POLICY_WORDS: Readonly<Record<string, Override & { label: string }>> = {
  model: { label: 'model', placeholder: 'provider/model', hint: '', required: false },
  switchTo: {
    label: 'before its end, replaced by',
    hint: '',
    options: [
      ['', 'Nothing: it stays'],
      ['official', "The provider's replacement"],
      ['reviewed', 'The replacement that operators reviewed'],
    ],
  },
  switchDaysBefore: { label: 'days before its end', placeholder: '14' },
  maxPriceIncreasePercent: { label: 'price increase, percent', placeholder: '0' },
  requiredCapabilities: { label: 'required capabilities' },
};

const MAIN = fieldsOf(AutopilotPolicy, ['model', 'switchTo']);
const CONDITIONS = fieldsOf(AutopilotPolicy, ['switchDaysBefore', 'maxPriceIncreasePercent', 'requiredCapabilities']);

interface MappingFormProps {
  path: string;
  rows: MappingRows;
  details: FormState['details'];
  /** The list that gets a further empty row. */
  added: MappingList | null;
  /** Models that the operator has to confirm. */
  unknown: readonly string[];
  secrets: FormSecrets;
}

export const MappingForm: FC<MappingFormProps> = ({ path, rows, details, added, unknown, secrets }) => (
  <Form of={setModels} action={path} secrets={secrets} state={{ values: rowValues(rows), details }}>
    {/* The enter key presses the first button of a form. */}
    <button type="submit" class="unseen" tabindex={-1}>
      Save mappings
    </button>
    {MAPPING_LISTS.map((list) => (
      <fieldset class="box mapping">
        <legend>{LISTS[list].title}</legend>
        <p class="quiet hint">{LISTS[list].hint}</p>
        <GroupError name={list} label={LISTS[list].title} />
        {Array.from({ length: rows[list].length + 1 }, (_, index) => (
          <MappingRow
            list={list}
            index={index}
            isOpen={
              isRecord(rows[list][index]?.entry) || details.some((one) => one.path.startsWith(rowPrefix(list, index)))
            }
            canMove={index > 0 && index < rows[list].length}
            focus={added === list && index === rows[list].length}
          />
        ))}
        <div class="submit">
          <button type="submit" name={CHANGE} value={`add ${list}`} formnovalidate>
            Add a row
            <span class="unseen"> to {LISTS[list].title}</span>
          </button>
        </div>
      </fieldset>
    ))}
    {unknown.length > 0 && (
      <CheckGroup
        name="confirmed"
        label="Models that neither the catalog nor an own price knows"
        hint="Their calls have no price until you set one. A vendor that does not know the name answers with an error."
        options={[...new Set(unknown)].map((name) => [name, `Map ${name} anyway`])}
      />
    )}
    <Submit>Save mappings</Submit>
  </Form>
);

interface MappingRowProps {
  list: MappingList;
  index: number;
  /** Whether the conditions of the replacement are shown at once. */
  isOpen: boolean;
  canMove: boolean;
  focus: boolean;
}

const MappingRow: FC<MappingRowProps> = ({ list, index, isOpen, canMove, focus }) => {
  const prefix = rowPrefix(list, index);
  const name = `${LISTS[list].row} ${index + 1}`;
  return (
    <div class="mapping-row">
      <div class="columns">
        {list === 'aliases' && (
          <TextField name={`${prefix}alias`} label={`${name}: name`} placeholder="cheap" focus={focus} />
        )}
        {MAIN.map((field) => renderField(field, prefix, name, focus && list !== 'aliases' && field.path === 'model'))}
      </div>
      <details class="fold" open={isOpen}>
        <summary>
          Conditions<span class="unseen"> of the replacement, {name}</span>
        </summary>
        <div class="columns">{CONDITIONS.map((field) => renderField(field, prefix, name))}</div>
      </details>
      {canMove && (
        <button type="submit" name={CHANGE} value={`up ${list} ${index}`} formnovalidate>
          Move up<span class="unseen"> {name}</span>
        </button>
      )}
    </div>
  );
};

function renderField(field: InputField, prefix: string, row: string, focus = false) {
  const { label, ...others } = POLICY_WORDS[field.path] ?? { label: field.path };
  return <SchemaField field={field} prefix={prefix} override={{ ...others, label: `${row}: ${label}`, focus }} />;
}
