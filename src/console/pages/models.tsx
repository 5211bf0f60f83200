/**
 * The models of an organization: which of them the tiers are mapped to, and what it pays for them where that is its
 * own.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { Catalog } from '../../catalog/model.ts';
import { modelWarnings } from '../../catalog/named-models.ts';
import { operations } from '../../contract/operations.ts';
import { SetModelsRequest } from '../../contract/operator.ts';
import { pricedModelKey, SetPriceRequest } from '../../contract/prices.ts';
import { setModels } from '../../operator/organizations.ts';
import { setPrice } from '../../operator/prices.ts';
import { listOwnPrices, type OwnPriceRow } from '../../storage/prices.ts';
import { Form, type FormSecrets, type FormState, TextArea, TextField } from '../../ui/form.tsx';
import { rate } from '../../ui/format.ts';
import { Card, Empty, Nothing, Notice, Time } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { deferrer } from '../caller.ts';
import type { Fields } from '../context.ts';
import { type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { ModelName } from '../model-name.tsx';
import { page, secretsOf } from '../shell.tsx';
import { check, detailsOf, lines, operatorRequest, text, typedNumber, wrong } from '../submitted.ts';

const RATES = [
  'inputUsdPerMillion',
  'outputUsdPerMillion',
  'cachedInputUsdPerMillion',
  'cacheWriteUsdPerMillion',
] as const;
const BLANK: FormState = { values: {}, details: [] };

export function mountModels(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/models', (c) => modelsPage(c, null, BLANK));

  app.post('/organizations/:org/models', async (c) => {
    const { organizationId } = c.get('organization');
    const { fields } = c.get('submitted');
    const checked = check(SetModelsRequest, { standard: lines(fields, 'standard'), premium: lines(fields, 'premium') });
    if (!checked.ok) return modelsPage(c, wrong(c, checked.details), BLANK);
    const request = await operatorRequest(c, operations.setModels, {
      params: { org: organizationId },
      body: checked.value,
    });
    const answer = await setModels(request, organizationId, checked.value, deferrer(c));
    if (!answer.ok) return modelsPage(c, wrong(c, detailsOf(answer.refusal)), BLANK);
    return c.redirect(`${organizationPath(organizationId, 'models')}?done=models`, 303);
  });

  app.post('/organizations/:org/prices', async (c) => {
    const { organizationId } = c.get('organization');
    const { fields } = c.get('submitted');
    const key = check(pricedModelKey, text(fields, 'modelKey'));
    const checked = check(SetPriceRequest, ratesOf(fields));
    const broken = [
      ...(key.ok ? [] : key.details.map(({ message }) => ({ path: 'modelKey', message }))),
      ...(checked.ok ? [] : checked.details),
    ];
    if (!key.ok || !checked.ok) return modelsPage(c, null, wrong(c, broken));
    const request = await operatorRequest(c, operations.setPrice, {
      params: { org: organizationId, modelKey: key.value },
      body: checked.value,
    });
    const answer = await setPrice(request, organizationId, key.value, checked.value, deferrer(c));
    if (!answer.ok) return modelsPage(c, null, wrong(c, detailsOf(answer.refusal)));
    return c.redirect(`${organizationPath(organizationId, 'models')}?done=price`, 303);
  });
}

function ratesOf(fields: Fields): unknown {
  return Object.fromEntries(
    RATES.map((name) => [name, typedNumber(fields, name)]).filter(([, value]) => value !== undefined),
  );
}

async function modelsPage(c: ConsoleContext, mapping: FormState | null, price: FormState) {
  const { organizationId, models } = c.get('organization');
  const prices = await listOwnPrices(c.env, organizationId);
  const catalog = c.get('catalog');
  const nowMs = Date.now();
  const state = mapping ?? {
    values: { standard: models?.standard.join('\n') ?? '', premium: models?.premium.join('\n') ?? '' },
    details: [],
  };
  return page(
    c,
    { title: 'Models and prices', status: state.details.length + price.details.length > 0 ? 400 : 200 },
    <>
      <Card
        title="Models of the tiers"
        note="One model per line, the preferred one first. Callers get the first model of the suggested tier as a hint."
      >
        <Warnings names={[...(models?.standard ?? []), ...(models?.premium ?? [])]} catalog={catalog} nowMs={nowMs} />
        <Mapping path={organizationPath(organizationId, 'models')} state={state} secrets={secretsOf(c)} />
      </Card>
      <Card
        title="Own prices"
        note="They override the catalog: a negotiated rate, or a model that the catalog does not have."
      >
        <Warnings names={prices.map(({ modelKey }) => modelKey)} catalog={catalog} nowMs={nowMs} />
        <Prices prices={prices} nowMs={nowMs} />
      </Card>
      <Card title="Set a price">
        <PriceForm path={organizationPath(organizationId, 'prices')} state={price} secrets={secretsOf(c)} />
      </Card>
    </>,
  );
}

const Warnings: FC<{ names: string[]; catalog: Catalog; nowMs: number }> = ({ names, catalog, nowMs }) => {
  const warnings = modelWarnings(catalog, names, nowMs);
  if (warnings.length === 0) return null;
  return (
    <Notice tone="warn">
      <ul>
        {warnings.map((text) => (
          <li>{text}</li>
        ))}
      </ul>
    </Notice>
  );
};

const Mapping: FC<{ path: string; state: FormState; secrets: FormSecrets }> = ({ path, state, secrets }) => (
  <Form action={path} secrets={secrets} state={state}>
    <div class="columns">
      <TextArea name="standard" label="Standard" state={state} rows={5} mono />
      <TextArea name="premium" label="Premium" state={state} rows={5} mono />
    </div>
    <div class="submit">
      <button type="submit" class="primary">
        Save mappings
      </button>
    </div>
  </Form>
);

const perMillion = (value: number | undefined) =>
  value === undefined ? <Nothing /> : <span class="num">{rate(value)}</span>;

const Prices: FC<{ prices: OwnPriceRow[]; nowMs: number }> = ({ prices, nowMs }) =>
  prices.length === 0 ? (
    <Empty title="No own prices">Calls are priced by the catalog. Set a price below to override it.</Empty>
  ) : (
    <Table
      caption="Own prices in USD per million tokens"
      rows={prices}
      columns={[
        { title: 'Model', heading: true, cell: ({ modelKey }) => <ModelName name={modelKey} /> },
        { title: 'Input', figure: true, cell: ({ rates }) => perMillion(rates.inputUsdPerMillion) },
        { title: 'Output', figure: true, cell: ({ rates }) => perMillion(rates.outputUsdPerMillion) },
        { title: 'Cache read', figure: true, cell: ({ rates }) => perMillion(rates.cachedInputUsdPerMillion) },
        { title: 'Cache write', figure: true, cell: ({ rates }) => perMillion(rates.cacheWriteUsdPerMillion) },
        {
          title: 'Components',
          figure: true,
          cell: ({ rates }) => (rates.components ? <span class="num">{rates.components.length}</span> : <Nothing />),
        },
        {
          title: 'In force from',
          cell: ({ effectiveFromMs }) =>
            effectiveFromMs === 0 ? 'always' : <Time at={effectiveFromMs} nowMs={nowMs} />,
        },
        { title: 'Set', cell: ({ updatedAtMs }) => <Time at={updatedAtMs} nowMs={nowMs} /> },
      ]}
    />
  );

const PriceForm: FC<{ path: string; state: FormState; secrets: FormSecrets }> = ({ path, state, secrets }) => (
  <Form action={path} secrets={secrets} state={state}>
    <TextField
      name="modelKey"
      label="Model"
      state={state}
      required
      hint="As reported by calls: provider/model, a bare name, or a fine-tuned ft: id."
    />
    <div class="columns">
      <TextField name="inputUsdPerMillion" label="Input" state={state} numeric required hint="USD per million tokens" />
      <TextField
        name="outputUsdPerMillion"
        label="Output"
        state={state}
        numeric
        required
        hint="USD per million tokens"
      />
      <TextField
        name="cachedInputUsdPerMillion"
        label="Cache read"
        state={state}
        numeric
        hint="Empty: the input rate"
      />
      <TextField
        name="cacheWriteUsdPerMillion"
        label="Cache write"
        state={state}
        numeric
        hint="Empty: the input rate"
      />
    </div>
    <div class="submit">
      <button type="submit" class="primary">
        Save price
      </button>
    </div>
  </Form>
);
