/**
 * The models in use that end: the day, what the same calls would have cost on the replacement, and the users of each.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { RADAR_DAYS, RADAR_HORIZON_DAYS, type RadarItem } from '../../contract/model-radar.ts';
import { readOrganizationModelRadar } from '../../operator/readings.ts';
import { count, plural, usdColumn } from '../../ui/format.ts';
import { Card, Compact, Day, Empty, Nothing, Usd } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { type ConsoleEnv, customerPath, organizationPath } from '../context.ts';
import { firstStepsPage } from '../first-steps.tsx';
import { ModelName } from '../model-name.tsx';
import { refused } from '../refused.tsx';
import { load } from '../send.ts';
import { page } from '../shell.tsx';

/** The most models on the page; those that end first are shown. */
const SHOWN_MAX = 50;

export function mountEndingModels(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/ending-models', async (c) => {
    const { organizationId } = c.get('organization');
    const answer = await load(c, readOrganizationModelRadar, {
      query: { ending: 'true' },
      page: { limit: SHOWN_MAX, after: null },
    });
    if (!answer.ok) return refused(c, answer.refusal);
    const { items, nextCursor, period } = answer.data;
    const first = items.length === 0 ? await firstStepsPage(c, 'Models that end') : null;
    if (first) return first;
    const own = (path: string, query: Record<string, string>) =>
      `${organizationPath(organizationId, path)}?${new URLSearchParams(query)}`;
    const costs = usdColumn(
      items.flatMap(({ usage, replacementCostUsdNano }) =>
        [usage.costUsdNano, replacementCostUsdNano].flatMap((nano) => (nano === null ? [] : [BigInt(nano)])),
      ),
    );
    return page(
      c,
      {
        title: 'Models that end',
        sub: `Models of the calls of the last ${RADAR_DAYS} days with a shutdown within ${RADAR_HORIZON_DAYS} days, and retired ones. The first to end comes first.`,
        actions: (
          <>
            <a class="button" href={own('customers', { endingModel: 'true' })}>
              Customers that use them
            </a>
            <a class="button" href={organizationPath(organizationId, 'models')}>
              Models and prices
            </a>
          </>
        ),
      },
      <Card
        note={
          items.length === 0
            ? undefined
            : `Costs are those of the last ${RADAR_DAYS} days: as recorded, and as the same calls would have cost on the replacement at today's price.`
        }
      >
        {items.length === 0 ? (
          <Empty title="No model in use ends">A model whose vendor announces its shutdown appears here.</Empty>
        ) : (
          <Table
            caption="Models in use that end"
            rows={items}
            columns={[
              { title: 'Model', heading: true, cell: ({ modelKey }) => <ModelName name={modelKey} /> },
              { title: 'Days left', figure: true, cell: ({ daysLeft }) => daysLeft ?? <Nothing /> },
              { title: 'Shutdown', cell: ({ shutdownAt }) => <Day day={shutdownAt} /> },
              {
                title: 'Calls',
                figure: true,
                cell: ({ modelKey, usage }) => (
                  <a href={own('calls', { model: modelKey, from: period.startedAt })}>
                    <Compact value={usage.calls} />
                  </a>
                ),
              },
              {
                title: 'Used by',
                cell: ({ customerCount, customers }) => (
                  <span>
                    {plural(customerCount, 'customer')}
                    <span class="sub">
                      {customers.map(({ customerId }) => (
                        <>
                          <a href={customerPath({ organizationId, customerId })}>{customerId}</a>{' '}
                        </>
                      ))}
                      {customerCount > customers.length && `and ${count(customerCount - customers.length)} more`}
                    </span>
                  </span>
                ),
              },
              { title: 'Cost', figure: true, cell: ({ usage }) => <KnownUsd nano={usage.costUsdNano} show={costs} /> },
              { title: 'Replacement', cell: ({ replacement }) => replacement.modelKey ?? <Nothing /> },
              { title: 'Cost there', figure: true, cell: (item) => <CostThere item={item} show={costs} /> },
              { title: 'Difference', figure: true, cell: (item) => <Difference item={item} /> },
            ]}
          />
        )}
        {nextCursor !== null && (
          <p class="quiet hint">The API and the command line list the models that end after these.</p>
        )}
      </Card>,
    );
  });
}

const NotKnown: FC = () => <span class="quiet">not known</span>;

const KnownUsd: FC<{ nano: string | null; show: (nano: bigint) => string }> = ({ nano, show }) =>
  nano === null ? <NotKnown /> : <Usd nano={BigInt(nano)} show={show} />;

/** The cost on the replacement, with what it leaves out. */
const CostThere: FC<{ item: RadarItem; show: (nano: bigint) => string }> = ({ item, show }) => {
  const { replacement, replacementCostUsdNano, notPriced } = item;
  if (replacement.modelKey === null) return <Nothing />;
  return (
    <>
      <KnownUsd nano={replacementCostUsdNano} show={show} />
      {notPriced.length > 0 && <span class="sub">without {notPriced.join('; ')}</span>}
    </>
  );
};

/** The difference of the two costs, in dollars and percent. */
const Difference: FC<{ item: RadarItem }> = ({ item }) => {
  const { replacement, replacementDifferenceUsdNano: nano, replacementDifferencePercent: percent } = item;
  if (replacement.modelKey === null) return <Nothing />;
  if (nano === null) return <NotKnown />;
  return (
    <>
      <Usd nano={BigInt(nano)} />
      {percent !== null && <span class="sub">{`${percent > 0 ? '+' : ''}${count(percent)}%`}</span>}
    </>
  );
};
