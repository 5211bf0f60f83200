/**
 * The models in use that end: the day, the replacement and the users of each.
 */
import type { Hono } from 'hono';
import { RADAR_DAYS, RADAR_HORIZON_DAYS } from '../../contract/model-radar.ts';
import { readEndingUse } from '../../readings/radar/read-radar.ts';
import { count, plural } from '../../ui/format.ts';
import { Card, Compact, Day, Empty, Nothing } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { deferrer } from '../caller.ts';
import { type ConsoleEnv, customerPath, organizationPath } from '../context.ts';
import { ModelName } from '../model-name.tsx';
import { page } from '../shell.tsx';

/** The most models on the page; those that end first are shown. */
const SHOWN_MAX = 50;

export function mountEndingModels(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/ending-models', async (c) => {
    const retention = c.get('organization');
    const { organizationId } = retention;
    const asked = { env: c.env, defer: deferrer(c), organization: { organizationId, retention } };
    const { models, total, fromMs } = await readEndingUse(asked, SHOWN_MAX);
    const own = (path: string, query: Record<string, string>) =>
      `${organizationPath(organizationId, path)}?${new URLSearchParams(query)}`;
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
      <Card>
        {models.length === 0 ? (
          <Empty title="No model in use ends">A model whose vendor announces its shutdown appears here.</Empty>
        ) : (
          <Table
            caption="Models in use that end"
            rows={models}
            columns={[
              { title: 'Model', heading: true, cell: ({ modelKey }) => <ModelName name={modelKey} /> },
              { title: 'Days left', figure: true, cell: ({ daysLeft }) => daysLeft ?? <Nothing /> },
              { title: 'Shutdown', cell: ({ shutdownAt }) => <Day day={shutdownAt} /> },
              { title: 'Replacement', cell: ({ replacement }) => replacement.modelKey ?? <Nothing /> },
              {
                title: 'Calls',
                figure: true,
                cell: ({ modelKey, calls }) => (
                  <a href={own('calls', { model: modelKey, from: new Date(fromMs).toISOString() })}>
                    <Compact value={calls} />
                  </a>
                ),
              },
              {
                title: 'Used by',
                cell: ({ usedBy: { customers, customerIds } }) => (
                  <span>
                    {plural(customers, 'customer')}
                    <span class="sub">
                      {customerIds.map((customerId) => (
                        <>
                          <a href={customerPath({ organizationId, customerId })}>{customerId}</a>{' '}
                        </>
                      ))}
                      {customers > customerIds.length && `and ${count(customers - customerIds.length)} more`}
                    </span>
                  </span>
                ),
              },
            ]}
          />
        )}
        {total > models.length && <p class="quiet hint">and {count(total - models.length)} more</p>}
      </Card>,
    );
  });
}
