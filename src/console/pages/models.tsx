/**
 * The models of an organization: the mappings of its tiers to models, and its own prices.
 */

import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { modelWarnings, type UnknownModel, unknownModels } from '../../catalog/named-models.ts';
import { SetModelsRequest } from '../../contract/model-mappings.ts';
import type { OrganizationId } from '../../domain/ids.ts';
import { entriesByMapping, type ModelMappings, mappedModels } from '../../domain/model-mappings.ts';
import { switchModelBack } from '../../operator/autopilot.ts';
import { setModels } from '../../operator/model-mappings.ts';
import { type DatedPrice, listDatedPrices, setPrice } from '../../operator/prices.ts';
import { BLANK, Form, type FormSecrets, type FormState, Submit, TextField } from '../../ui/form.tsx';
import { plural, rateColumn } from '../../ui/format.ts';
import { Card, Empty, Nothing, Time, Warnings } from '../../ui/parts.tsx';
import { type Orders, sorted } from '../../ui/sorting.ts';
import { Table } from '../../ui/table.tsx';
import { eventsPath, renderChanges } from '../changes-view.tsx';
import { type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { askedChange, MappingForm } from '../mapping-form.tsx';
import {
  atRow,
  type MappingList,
  type MappingRows,
  mappingsBody,
  modelsOfRows,
  movedUp,
  storedRows,
  submittedRows,
} from '../mapping-rows.ts';
import { ModelLink } from '../model-name.tsx';
import { refused } from '../refused.tsx';
import { BodyFields, bodyIn } from '../schema-form.tsx';
import { refusalDetails, send, wrong } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { text, texts } from '../submitted.ts';

const RATES = [
  'inputUsdPerMillion',
  'outputUsdPerMillion',
  'cachedInputUsdPerMillion',
  'cacheWriteUsdPerMillion',
] as const;

export function mountModels(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/models', (c) => {
    // A link from calls without a price names their model.
    const { modelKey = '' } = c.req.query();
    return modelsPage(c, null, { values: { modelKey }, details: [] });
  });

  app.post('/organizations/:org/models', async (c) => {
    const { fields } = c.get('submitted');
    const { models } = c.get('organization');
    const change = askedChange(fields);
    if (change) {
      const rows = submittedRows(change.kind === 'up' ? movedUp(fields, change.list, change.index) : fields, models);
      return modelsPage(c, { rows, details: [], added: change.kind === 'add' ? change.list : null }, BLANK);
    }
    const rows = submittedRows(fields, models);
    const body = mappingsBody(rows);
    const unknown = SetModelsRequest.safeParse(body).success
      ? await findUnconfirmed(c, rows, texts(fields, 'confirmed'))
      : [];
    if (unknown.length > 0) return modelsPage(c, { rows, details: unknown.map(toDetail), unknown }, BLANK);
    const answer = await send(c, setModels, { body });
    if (!answer.ok) {
      const details = refusalDetails(answer.refusal).map((detail) => atRow(rows, detail));
      return modelsPage(c, { rows, details }, BLANK);
    }
    return c.redirect(`${c.req.path}?done=models`, 303);
  });

  app.post('/organizations/:org/models/switch-back', async (c) => {
    const answer = await send(c, switchModelBack, { body: bodyIn(switchModelBack, c.get('submitted').fields) });
    if (!answer.ok) return refused(c, answer.refusal);
    return c.redirect(`${organizationPath(c.get('organization').organizationId, 'models')}?done=models`, 303);
  });

  app.post('/organizations/:org/prices', async (c) => {
    const { fields } = c.get('submitted');
    const params = { modelKey: text(fields, 'modelKey') };
    const body = bodyIn(setPrice, fields, [...RATES, 'strict', 'effectiveFrom']);
    const answer = await send(c, setPrice, { params, body });
    if (!answer.ok) return modelsPage(c, null, wrong(c, answer.refusal));
    return c.redirect(`${organizationPath(c.get('organization').organizationId, 'models')}?done=price`, 303);
  });
}

/** A model that the catalog does not know, with the name of its field. */
type Unknown = UnknownModel & { field: string };

/** Models that are new in the mappings, unknown to the catalog, and not confirmed by the operator. */
async function findUnconfirmed(c: ConsoleContext, rows: MappingRows, confirmed: readonly string[]): Promise<Unknown[]> {
  const { organizationId, models } = c.get('organization');
  const priced = new Set((await listDatedPrices(c.env, organizationId)).map(({ modelKey }) => modelKey));
  const accepted = new Set([...confirmed, ...(models ? mappedModels(models) : [])]);
  const named = modelsOfRows(rows).filter(({ model }) => !accepted.has(model));
  const unknown = unknownModels(
    c.get('catalog'),
    named.map(({ model }) => model),
    Date.now(),
    priced,
  );
  return unknown.map((one) => ({ ...one, field: named.find(({ model }) => model === one.name)?.field ?? '' }));
}

/** The error for an unknown model. The suggestion names a vendor only if the typed name does. */
function toDetail({ name, nearest, field }: Unknown) {
  const suggestion = nearest && (name.includes('/') ? nearest : nearest.slice(nearest.indexOf('/') + 1));
  return { path: field, message: `${name} is not in the catalog.${suggestion ? ` Did you mean ${suggestion}?` : ''}` };
}

/** The submitted mappings that the page shows again. */
interface Submission {
  rows: MappingRows;
  details: FormState['details'];
  /** The list that gets a further empty row. */
  added?: MappingList | null;
  unknown?: readonly Unknown[];
}

async function modelsPage(c: ConsoleContext, submission: Submission | null, price: FormState) {
  const { organizationId, models } = c.get('organization');
  const prices = await listDatedPrices(c.env, organizationId);
  const catalog = c.get('catalog');
  const nowMs = Date.now();
  const changes = await renderChanges(c, {
    organizationId,
    subject: { kind: 'mapping', id: organizationId },
    cursor: c.req.query('cursor'),
  });
  const { rows, details, added = null, unknown = [] } = submission ?? { rows: storedRows(models), details: [] };
  return page(
    c,
    { title: 'Models and prices', status: details.length + price.details.length > 0 ? 400 : 200 },
    <>
      <Card
        title="Models of the tiers, and aliases"
        note="The preferred model comes first. Callers get the first model of the suggested tier as a hint. A row without a model is removed."
      >
        <Warnings
          texts={modelWarnings(
            catalog,
            models ? mappedModels(models) : [],
            nowMs,
            new Set(prices.map(({ modelKey }) => modelKey)),
          )}
        />
        <MappingForm
          path={organizationPath(organizationId, 'models')}
          rows={rows}
          details={details}
          added={added}
          unknown={unknown.map(({ name }) => name)}
          secrets={formSecrets(c)}
        />
      </Card>
      <Switched
        organizationId={organizationId}
        models={models}
        path={`${organizationPath(organizationId, 'models')}/switch-back`}
        secrets={formSecrets(c)}
        nowMs={nowMs}
      />
      <Card
        title="Own prices"
        note="They override the catalog: a negotiated rate, or a model that the catalog does not have."
        actions={<a href={eventsPath(organizationId, { kind: 'price' })}>Changes of prices</a>}
      >
        <Warnings
          texts={modelWarnings(
            catalog,
            prices.map(({ modelKey }) => modelKey),
            nowMs,
          )}
        />
        <Prices
          organizationId={organizationId}
          prices={prices}
          path={organizationPath(organizationId, 'models')}
          sort={c.req.query('sort')}
          nowMs={nowMs}
        />
      </Card>
      <Card title="Set a price" id="set-price">
        <PriceForm path={organizationPath(organizationId, 'prices')} state={price} secrets={formSecrets(c)} />
      </Card>
      {changes}
    </>,
  );
}

/** The autopilot's last switch, with a form to undo it. */
const Switched: FC<{
  organizationId: OrganizationId;
  models: ModelMappings | null;
  path: string;
  secrets: FormSecrets;
  nowMs: number;
}> = ({ organizationId, models, path, secrets, nowMs }) => {
  const switched = models
    ? entriesByMapping(models).flatMap(([mapping, entries]) =>
        entries.flatMap((entry) =>
          typeof entry === 'string' || entry.switchedFrom === undefined ? [] : [{ ...entry, mapping }],
        ),
      )
    : [];
  if (switched.length === 0) return null;
  return (
    <Card title="Switched by the autopilot" note="Switching back restores the previous model, without its autopilot.">
      <Table
        caption="Models that the autopilot replaced"
        rows={switched}
        columns={[
          { title: 'Mapping', heading: true, cell: ({ mapping }) => mapping },
          {
            title: 'From',
            cell: ({ switchedFrom = '' }) => <ModelLink name={switchedFrom} organizationId={organizationId} />,
          },
          { title: 'To', cell: ({ model }) => <ModelLink name={model} organizationId={organizationId} /> },
          {
            title: 'When',
            cell: ({ switchedAt }) => (switchedAt ? <Time at={switchedAt} nowMs={nowMs} /> : <Nothing />),
          },
          {
            title: 'Action',
            cell: ({ mapping, model }) => (
              <Form of={switchModelBack} action={path} secrets={secrets}>
                <input type="hidden" name="mapping" value={mapping} />
                <input type="hidden" name="model" value={model} />
                <button type="submit">Switch back</button>
              </Form>
            ),
          },
        ]}
      />
    </Card>
  );
};

const ORDERS: Orders<DatedPrice, 'model' | 'input' | 'output' | 'set'> = {
  model: ({ modelKey }) => modelKey,
  input: ({ inputUsdPerMillion }) => inputUsdPerMillion ?? null,
  output: ({ outputUsdPerMillion }) => outputUsdPerMillion ?? null,
  set: ({ updatedAtMs }) => updatedAtMs,
};

interface PricesProps {
  organizationId: OrganizationId;
  prices: DatedPrice[];
  path: string;
  sort: string | undefined;
  nowMs: number;
}

const Prices: FC<PricesProps> = ({ organizationId, prices, path, sort, nowMs }) => {
  if (prices.length === 0)
    return <Empty title="No own prices">Calls are priced by the catalog. Set a price below to override it.</Empty>;
  const { rows, by } = sorted(prices, ORDERS, { path, sort });
  const format = rateColumn(prices.flatMap((price) => RATES.map((name) => price[name])));
  const show = (value: number | undefined) =>
    value === undefined ? <Nothing /> : <span class="num">{format(value)}</span>;
  return (
    <Table
      caption="Own prices in USD per million tokens"
      rows={rows}
      total={plural(prices.length, 'price')}
      columns={[
        {
          title: 'Model',
          heading: true,
          sort: by('model'),
          cell: ({ modelKey }) => <ModelLink name={modelKey} organizationId={organizationId} />,
        },
        { title: 'Input', figure: true, sort: by('input'), cell: ({ inputUsdPerMillion }) => show(inputUsdPerMillion) },
        {
          title: 'Output',
          figure: true,
          sort: by('output'),
          cell: ({ outputUsdPerMillion }) => show(outputUsdPerMillion),
        },
        { title: 'Cache read', figure: true, cell: ({ cachedInputUsdPerMillion }) => show(cachedInputUsdPerMillion) },
        { title: 'Cache write', figure: true, cell: ({ cacheWriteUsdPerMillion }) => show(cacheWriteUsdPerMillion) },
        {
          title: 'Components',
          figure: true,
          cell: ({ components }) => (components ? <span class="num">{components.length}</span> : <Nothing />),
        },
        { title: 'Other rates', cell: ({ strict }) => (strict ? 'none' : "by the catalog's relations") },
        {
          title: 'In force from',
          cell: ({ effectiveFrom }) => (effectiveFrom === null ? 'always' : <Time at={effectiveFrom} nowMs={nowMs} />),
        },
        { title: 'Set', sort: by('set'), cell: ({ updatedAtMs }) => <Time at={updatedAtMs} nowMs={nowMs} /> },
        {
          title: 'Changes',
          cell: ({ modelKey }) => (
            <a href={eventsPath(organizationId, { kind: 'price', subject: modelKey })}>Changes of {modelKey}</a>
          ),
        },
      ]}
    />
  );
};

const PriceForm: FC<{ path: string; state: FormState; secrets: FormSecrets }> = ({ path, state, secrets }) => (
  <Form of={setPrice} action={path} secrets={secrets} state={state}>
    <TextField
      name="modelKey"
      label="Model"
      required
      hint="As reported by calls: provider/model, a bare name, or a fine-tuned ft: id."
    />
    <div class="columns">
      <BodyFields
        of={setPrice}
        paths={RATES}
        overrides={{ inputUsdPerMillion: { required: true }, outputUsdPerMillion: { required: true } }}
      />
    </div>
    <BodyFields of={setPrice} paths={['effectiveFrom', 'strict']} />
    <Submit>Save price</Submit>
  </Form>
);
