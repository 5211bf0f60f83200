/**
 * Creating and editing a plan, with a form or as a JSON document.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { badRequest, brokenRules, type Result } from '../../contract/errors.ts';
import { LIMIT_NAMES, METER_SLOTS, METERS, type MeterSlot } from '../../domain/meters.ts';
import { ANSWERS_MAX_DEFAULT, CAPABILITIES } from '../../domain/plan.ts';
import { putPlan, readPlan } from '../../operator/plans.ts';
import { parseJson } from '../../platform/json.ts';
import {
  Checkbox,
  Choice,
  type Detail,
  Form,
  type FormSecrets,
  type FormState,
  GroupError,
  Select,
  Submit,
  TextArea,
  TextField,
} from '../../ui/form.tsx';
import { words } from '../../ui/format.ts';
import { Card } from '../../ui/parts.tsx';
import type { Fields } from '../context.ts';
import { type ConsoleContext, type ConsoleEnv, organizationPath, planPath } from '../context.ts';
import { fieldsOfPlan, NEW_PLAN, planOfFields, tierRows } from '../plan-form.ts';
import { refused } from '../refused.tsx';
import { lackedRole, load, send, wrong } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { optionalText, text } from '../submitted.ts';

type Mode = 'form' | 'json';

const readMode = (value: string | undefined): Mode => (value === 'json' ? 'json' : 'form');

export function mountPlanEditor(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/new-plan', (c) => {
    const values = { ...fieldsOfPlan(NEW_PLAN), name: '', document: JSON.stringify(NEW_PLAN, null, 2) };
    return editorPage(c, null, readMode(c.req.query('as')), { values, details: [] });
  });

  app.post('/organizations/:org/plans', (c) => save(c, null));

  app.get('/organizations/:org/plans/:planId/edit', async (c) => {
    const answer = await load(c, readPlan);
    if (!answer.ok) return refused(c, answer.refusal);
    const { planId, plan } = answer.data;
    const values = { ...fieldsOfPlan(plan), document: JSON.stringify(plan, null, 2) };
    return editorPage(c, planId, readMode(c.req.query('as')), { values, details: [] });
  });

  app.post('/organizations/:org/plans/:planId', (c) => save(c, c.req.param('planId')));
}

/** Saves the plan. `edited` is the id of an existing plan; `null` for a new one, whose id is in the form. */
async function save(c: ConsoleContext, edited: string | null) {
  const { organizationId } = c.get('organization');
  const { fields } = c.get('submitted');
  const mode = readMode(text(fields, 'as'));
  const other = optionalText(fields, 'switchTo');
  if (other !== undefined) return switched(c, edited, mode, readMode(other));
  const planId = edited ?? text(fields, 'planId');
  const document = documentIn(fields, mode);
  if (!document.ok) return editorPage(c, edited, mode, wrong(c, document.refusal));
  const before = await load(c, readPlan, { params: { planId } });
  if (edited === null && before.ok) {
    const taken = badRequest({ path: 'planId', message: 'is the id of another plan' });
    return editorPage(c, null, mode, wrong(c, taken.refusal));
  }
  const answer = await send(c, putPlan, { params: { planId }, body: document.value });
  if (!answer.ok) {
    const { values, details } = wrong(c, answer.refusal);
    return editorPage(c, edited, mode, { values, details: mode === 'json' ? details.map(ofDocument) : details });
  }
  const same = before.ok && before.data.version === answer.data.version;
  return c.redirect(`${planPath(organizationId, planId)}?done=${same ? 'plan-same' : 'plan'}`, 303);
}

/**
 * The editor in the other mode, with the submitted values. Any form values become a document. A document that is no
 * valid plan stays a document, with its errors.
 */
function switched(c: ConsoleContext, edited: string | null, mode: Mode, other: Mode) {
  const { fields } = c.get('submitted');
  if (mode === other) return editorPage(c, edited, mode, { values: fields, details: [] });
  if (other === 'json') {
    const document = JSON.stringify(planOfFields(fields), null, 2);
    return editorPage(c, edited, 'json', { values: { ...fields, document }, details: [] });
  }
  const document = documentIn(fields, 'json');
  if (!document.ok) return editorPage(c, edited, 'json', wrong(c, document.refusal));
  const plan = putPlan.operation.body.safeParse(document.value);
  return plan.success
    ? editorPage(c, edited, 'form', { values: { ...fields, ...fieldsOfPlan(plan.data) }, details: [] })
    : editorPage(c, edited, 'json', { values: fields, details: brokenRules(plan.error).map(ofDocument) });
}

/** The submitted plan as a document, not yet validated. */
function documentIn(fields: Fields, mode: Mode): Result<{ value: unknown }> {
  if (mode === 'form') return { ok: true, value: planOfFields(fields) };
  const document = parseJson(text(fields, 'document'));
  return document.ok ? document : badRequest({ path: 'document', message: 'must be valid JSON' });
}

/** Moves an error to the document's field, and names its path in the message. The id of a plan has its own field. */
function ofDocument({ path, message }: Detail): Detail {
  return path === 'planId' || path === '' ? { path, message } : { path: 'document', message: `${path} ${message}` };
}

function editorPage(c: ConsoleContext, edited: string | null, mode: Mode, state: FormState) {
  const { organizationId } = c.get('organization');
  const plans = organizationPath(organizationId, 'plans');
  const own = edited === null ? organizationPath(organizationId, 'new-plan') : planPath(organizationId, edited, 'edit');
  const action = edited === null ? plans : planPath(organizationId, edited);
  return page(
    c,
    {
      title: edited === null ? 'New plan' : 'Edit plan',
      status: state.details.length > 0 ? 400 : 200,
      sub:
        edited === null
          ? undefined
          : 'A change creates the next version. Customers keep their version until you move them.',
      crumbs: [
        { text: 'Plans', href: plans },
        ...(edited === null ? [] : [{ text: edited, href: planPath(organizationId, edited) }]),
      ],
      actions:
        lackedRole(c, putPlan.operation) === null ? (
          <Switches mode={mode} />
        ) : (
          <nav class="tabs" aria-label="How to read">
            <a href={own} aria-current={mode === 'form' ? 'true' : undefined}>
              Form
            </a>
            <a href={`${own}?as=json`} aria-current={mode === 'json' ? 'true' : undefined}>
              JSON
            </a>
          </nav>
        ),
    },
    <Editor
      action={action}
      back={edited === null ? plans : planPath(organizationId, edited)}
      mode={mode}
      isNew={edited === null}
      state={state}
      secrets={formSecrets(c)}
    />,
  );
}

const EDITOR_ID = 'plan';

/**
 * The switches submit the form, so that the other mode shows the submitted values. The enter key presses the first
 * button of a form, so the first one saves.
 */
const Switches: FC<{ mode: Mode }> = ({ mode }) => (
  <>
    <button type="submit" form={EDITOR_ID} class="unseen" tabindex={-1}>
      Save
    </button>
    <fieldset class="tabs" aria-label="How to edit">
      {(['form', 'json'] as const).map((other) => (
        <button
          type="submit"
          form={EDITOR_ID}
          name="switchTo"
          value={other}
          formnovalidate
          aria-current={mode === other ? 'true' : undefined}
        >
          {other === 'form' ? 'Form' : 'JSON'}
        </button>
      ))}
    </fieldset>
  </>
);

interface EditorProps {
  action: string;
  back: string;
  mode: Mode;
  isNew: boolean;
  state: FormState;
  secrets: FormSecrets;
}

const Editor: FC<EditorProps> = ({ action, back, mode, isNew, state, secrets }) => (
  <Form of={putPlan} id={EDITOR_ID} action={action} secrets={secrets} state={state}>
    <input type="hidden" name="as" value={mode} />
    <Card title="Plan">
      <div class="columns">
        {isNew && (
          <TextField
            name="planId"
            label="Plan id"
            required
            hint="For example pro. Letters, digits, dots and dashes. It cannot be changed."
          />
        )}
        {mode === 'form' && <TextField name="name" label="Name" required hint="Customers see it." />}
      </div>
      {mode === 'json' ? (
        <TextArea name="document" label="Document" rows={30} mono hint="Only name and limitType are required." />
      ) : (
        <Behaviour />
      )}
    </Card>
    {mode === 'form' && <Allowances />}
    {mode === 'form' && METER_SLOTS.map((slot) => <CustomMeterFields slot={slot} state={state} />)}
    <Submit back={back}>{isNew ? 'Create plan' : 'Save plan'}</Submit>
  </Form>
);

const Behaviour: FC = () => (
  <>
    <Choice
      name="limitType"
      label="When a limit is reached"
      options={[
        ['BLOCK', 'Block', 'calls of that tier are denied'],
        ['DOWNGRADE', 'Downgrade', 'premium calls are offered the standard tier'],
        ['NONE', 'Only inform', 'calls go on, and overage is recorded'],
      ]}
    />
    <div class="columns">
      <TextField name="replenish.every" label="Renews every" numeric />
      <Select
        name="replenish.unit"
        label="Unit"
        options={[
          ['HOUR', 'hours'],
          ['DAY', 'days'],
          ['WEEK', 'weeks'],
          ['MONTH', 'months'],
          ['YEAR', 'years'],
          ['NEVER', 'never renews'],
        ]}
      />
      <TextField
        name="priceUsd"
        label="Price of a period in USD"
        placeholder="not set"
        hint="What a customer pays for a period. Margins use it; Callmeter charges nothing for it."
      />
      <Select
        name="reasoningLevel"
        label="Reasoning ceiling"
        options={(['NONE', 'LOW', 'MEDIUM', 'HIGH'] as const).map((level) => [level, words(level)] as const)}
      />
    </div>
  </>
);

const Allowances: FC = () => (
  <>
    <Card title="Allowances per period" note="Leave empty for unlimited; 0 is none.">
      <div class="columns">
        {LIMIT_NAMES.map((name) => (
          <TextField
            name={`limits.${name}`}
            label={words(name)}
            numeric
            placeholder="unlimited"
            hint={METERS[name].unit === 'tokens' ? 'Output tokens' : undefined}
          />
        ))}
      </div>
    </Card>
    <Card title="Features and rates">
      <div class="actions">
        {CAPABILITIES.map((name) => (
          <Checkbox name={`features.${name}`} label={words(name)} />
        ))}
      </div>
      <div class="columns">
        <TextField name="rollingCalls.limit" label="Calls in a sliding window" numeric placeholder="no limit" />
        <TextField name="rollingCalls.windowSeconds" label="Window in seconds" numeric placeholder="60" />
        <TextField
          name="reserveOutputTokens"
          label="Reserved output tokens"
          numeric
          placeholder="none"
          hint="Reserved by each begin, so that a token limit is exact."
        />
        <TextField
          name="maxOutputTokens"
          label="Output tokens of an answer"
          numeric
          placeholder="no bound"
          hint="The maximum if an allowance pays. Leave empty for the limits of the request and the model."
        />
        <TextField
          name="maxAnswers"
          label="Answers of a call"
          numeric
          placeholder={String(ANSWERS_MAX_DEFAULT)}
          hint="Answers of text that one call may ask for."
        />
      </div>
    </Card>
    <Card title="Pay-as-you-go">
      <Checkbox name="payg.enabled" label="The USD balance may pay when the allowance is used up" />
      <div class="columns">
        <TextField
          name="payg.markupPercent"
          label="Markup in percent"
          numeric
          placeholder="0"
          hint="Added to the cost of a call."
        />
        <TextField
          name="payg.maxOutputTokens"
          label="Output tokens of an answer"
          numeric
          placeholder="no bound"
          hint="The maximum if credit pays: a call holds what they may cost. Leave empty for the limits of the request and the model."
        />
        <Select
          name="payg.holds"
          label="Calls on credit hold"
          options={[
            ['EXACT', 'what they can cost at most'],
            ['EXPECTED', 'what is expected; together they may overdraw'],
          ]}
        />
      </div>
    </Card>
    <Card title="Alerts">
      <div class="columns">
        <TextField
          name="alerts.thresholdsPercent"
          label="Percent of a limit"
          placeholder="50, 80, 100"
          hint="An event is recorded when usage reaches one of them. Type none for no event."
        />
        <TextField
          name="alerts.balanceBelowUsd"
          label="USD balance below"
          numeric
          placeholder="none"
          hint="An event is recorded when the balance falls below it."
        />
        <TextField
          name="alerts.balanceBelowDays"
          label="Balance below days"
          numeric
          placeholder="none"
          hint="An event is recorded when the balance is forecast to last for fewer days."
        />
      </div>
    </Card>
  </>
);

const CustomMeterFields: FC<{ slot: MeterSlot; state: FormState }> = ({ slot, state }) => {
  const path = `customMeters.${slot}`;
  const listed = state.values[`${path}.listed`] === 'on';
  const broken = state.details.some((detail) => detail.path.startsWith(path));
  return (
    <Card title={slot === 'AGENTIC_API' ? 'Agentic API meter' : `Custom meter ${slot.slice(-1)}`}>
      <details class="fold" open={listed || broken}>
        <summary>{listed ? 'Part of the plan' : 'Not part of the plan'}</summary>
        <div class="form">
          <Checkbox name={`${path}.listed`} label="The plan has this meter" />
          <div class="columns">
            <TextField name={`${path}.label`} label="Name of the unit" placeholder="Pages" />
            <TextField name={`${path}.included`} label="Included per period" numeric placeholder="0" />
          </div>
          <div class="actions">
            <Checkbox name={`${path}.enabled`} label="May be used" />
            <Checkbox name={`${path}.unlimited`} label="Unlimited" />
            <Checkbox name={`${path}.funding.credits`} label="Purchased units may pay" />
            <Checkbox
              name={`${path}.funding.payg`}
              label="The USD balance may pay"
              hint="Needs pay-as-you-go and an overage price."
            />
          </div>
          <Overage path={`${path}.overage`} slot={slot} state={state} />
        </div>
      </details>
    </Card>
  );
};

const Overage: FC<{ path: string; slot: string; state: FormState }> = ({ path, slot, state }) => (
  <fieldset class="box">
    <legend>Overage price</legend>
    <GroupError name={path} label="Overage price" />
    <GroupError name={`${path}.tiers`} label="Graduated price" />
    <div class="columns">
      <Select
        name={`${path}.model`}
        label="Price"
        options={[
          ['', 'None'],
          ['SINGLE', 'One price'],
          ['GRADUATED', 'Graduated'],
        ]}
      />
      <TextField name={`${path}.priceUsd`} label="One price: USD" numeric />
      <TextField name={`${path}.per`} label="One price: for units" numeric placeholder="1" />
    </div>
    <p class="quiet hint">Graduated: each row ends at its last unit; the last row has none. Empty rows are ignored.</p>
    {Array.from({ length: tierRows(state.values as Fields, slot) }, (_, index) => {
      const row = `${path}.tiers.${index}`;
      return (
        <div class="columns">
          <TextField name={`${row}.upTo`} label={`Row ${index + 1}: up to unit`} numeric placeholder="and all beyond" />
          <TextField name={`${row}.priceUsd`} label={`Row ${index + 1}: USD`} numeric />
          <TextField name={`${row}.per`} label={`Row ${index + 1}: for units`} numeric placeholder="1" />
        </div>
      );
    })}
  </fieldset>
);
