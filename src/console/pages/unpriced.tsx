/**
 * Calls without a price: by model, with the reason and the remedy. The page of prices sets a price; a repricing applies
 * it to past calls.
 */

import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { UNPRICED_DAYS } from '../../contract/attention.ts';
import { CALLS_SEARCHED_MAX } from '../../contract/call-list.ts';
import type { OrganizationId } from '../../domain/ids.ts';
import { startRepricing } from '../../operator/repricing.ts';
import { type ListedModel, listUnpricedModels, type UnpricedModels } from '../../operator/unpriced.ts';
import { DAY_MS } from '../../platform/time.ts';
import { ButtonForm, type FormSecrets } from '../../ui/form.tsx';
import { count, words } from '../../ui/format.ts';
import { Card, Code, Count, Empty, Time } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { type ConsoleContext, type ConsoleEnv, callPath, organizationPath } from '../context.ts';
import { withoutPrice } from '../cost.tsx';
import { firstStepsPage } from '../first-steps.tsx';
import { ModelName } from '../model-name.tsx';
import { formSecrets, page } from '../shell.tsx';

const RANGES = [7, UNPRICED_DAYS, 90, 400] as const;

/** Each reason with its remedy, in words. */
const REASONS: Readonly<Record<string, string>> = {
  MODEL_NOT_REPORTED: 'The end of the call named no model: amend the call.',
  MODEL_NOT_IN_CATALOG: 'The catalog does not have the model: set a price.',
  PRICE_NOT_IN_CATALOG: 'The catalog has the model without a price: set one.',
  RATE_NOT_IN_CATALOG: 'The price lacks a rate for what the call used: set a price that has it.',
  USAGE_NOT_REPORTED: 'The end of the call reported no usage: amend the call.',
  USAGE_IMPLAUSIBLE: 'The vendor reported a figure that no call has, and nothing bounds it: amend the call.',
};

export function mountUnpriced(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/unpriced', async (c) => {
    const { organizationId } = c.get('organization');
    const nowMs = Date.now();
    const days = RANGES.find((range) => String(range) === c.req.query('days')) ?? UNPRICED_DAYS;
    // Whole days from midnight, as in the count of things that need attention.
    const fromMs = nowMs - (nowMs % DAY_MS) - (days - 1) * DAY_MS;
    const unpriced = await listUnpricedModels(c.env, organizationId, fromMs);
    const first = unpriced.calls === 0 ? await firstStepsPage(c, 'Calls without a price') : null;
    return first ?? unpricedPage(c, { days, fromMs, nowMs, unpriced });
  });
}

interface Shown {
  days: number;
  fromMs: number;
  nowMs: number;
  unpriced: UnpricedModels;
}

function unpricedPage(c: ConsoleContext, { days, fromMs, nowMs, unpriced }: Shown) {
  const { organizationId } = c.get('organization');
  const path = organizationPath(organizationId, 'unpriced');
  const { models, total, calls, isAll } = unpriced;
  const from = new Date(fromMs).toISOString();
  return page(
    c,
    {
      title: 'Calls without a price',
      sub:
        calls === 0
          ? `The last ${days} days, UTC`
          : `${isAll ? '' : `The newest ${count(CALLS_SEARCHED_MAX)}: `}${withoutPrice(calls)} in the last ${days} days, UTC. No sum includes their cost.`,
      actions: (
        <nav class="tabs" aria-label="Period">
          {RANGES.map((range) => (
            <a href={`${path}?days=${range}`} aria-current={range === days ? 'true' : undefined}>
              {range} days
            </a>
          ))}
        </nav>
      ),
    },
    <Card
      note={
        calls === 0
          ? undefined
          : 'Set a price, then reprice: the calls that were made get the price in force when they ended. A preview comes first.'
      }
    >
      {models.length === 0 ? (
        <Empty title="Every call has a price">
          A call whose model has no price in the catalog, nor one of your own, appears here.
        </Empty>
      ) : (
        <Models organizationId={organizationId} rows={models} from={from} nowMs={nowMs} secrets={formSecrets(c)} />
      )}
      {total > models.length && <p class="quiet hint">and {count(total - models.length)} more models</p>}
    </Card>,
  );
}

interface ModelsProps {
  organizationId: OrganizationId;
  rows: ListedModel[];
  from: string;
  nowMs: number;
  secrets: FormSecrets;
}

const Models: FC<ModelsProps> = ({ organizationId, rows, from, nowMs, secrets }) => {
  const own = (page: string, query: Record<string, string>) =>
    `${organizationPath(organizationId, page)}?${new URLSearchParams(query)}`;
  return (
    <Table
      caption="Models with calls without a price"
      rows={rows}
      columns={[
        {
          title: 'Model',
          heading: true,
          cell: ({ name }) => (name === '' ? <span class="quiet">not reported</span> : <ModelName name={name} />),
        },
        {
          title: 'Calls',
          figure: true,
          cell: ({ name, calls }) => (
            <a
              href={own('calls', { priced: 'false', from, ...(name !== '' && { model: name }) })}
              aria-label={`${withoutPrice(calls)} of ${name || 'no model'}`}
            >
              <Count value={calls} />
            </a>
          ),
        },
        { title: 'Tokens in', figure: true, cell: ({ inputTokens }) => <Count value={inputTokens} /> },
        { title: 'Tokens out', figure: true, cell: ({ outputTokens }) => <Count value={outputTokens} /> },
        { title: 'Customers', figure: true, cell: ({ customers }) => <Count value={customers} /> },
        { title: 'First', cell: ({ firstMs }) => <Time at={firstMs} nowMs={nowMs} brief /> },
        {
          title: 'Last',
          cell: ({ lastMs, lastCallId }) => (
            <a href={callPath(organizationId, lastCallId)}>
              <Time at={lastMs} nowMs={nowMs} brief />
            </a>
          ),
        },
        { title: 'Why', cell: ({ reason }) => <Why reason={reason} /> },
        {
          title: 'What to do',
          cell: ({ name, reason }) =>
            isOfPrice(name, reason) && (
              <span class="actions">
                <a class="button" href={`${own('models', { modelKey: name })}#set-price`}>
                  Set price
                </a>
                <ButtonForm
                  of={startRepricing}
                  action={own('reprice', { modelKey: name, from, dryRun: 'true' })}
                  secrets={secrets}
                >
                  Reprice
                </ButtonForm>
              </span>
            ),
        },
      ]}
    />
  );
};

const Why: FC<{ reason: string | null }> = ({ reason }) => {
  if (reason === null) return <span class="quiet">not recorded</span>;
  const [code = '', rate] = reason.split(': ', 2);
  return (
    <span>
      <Code>{code}</Code>
      <span class="sub">
        {REASONS[code] ?? words(code)} {rate !== undefined && `No rate for ${rate}.`}
      </span>
    </span>
  );
};

/** Whether a price would help; it does not if the call lacks its model or its usage. */
function isOfPrice(name: string, reason: string | null): boolean {
  return name !== '' && !reason?.startsWith('USAGE_');
}
