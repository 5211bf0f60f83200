/**
 * Anomalies in the usage of an organization and of its largest customers, with their evidence.
 */
import type { Hono } from 'hono';
import { AnomaliesQuery } from '../../contract/readings.ts';
import { pageRequest } from '../../platform/page.ts';
import { readAnomalies } from '../../readings/anomalies/read-anomalies.ts';
import { plural } from '../../ui/format.ts';
import { Card, Empty, Time } from '../../ui/parts.tsx';
import { Pager } from '../../ui/table.tsx';
import { readTrail } from '../../ui/trail.ts';
import { AnomaliesTable } from '../anomalies-view.tsx';
import { buildReader } from '../caller.ts';
import { type ConsoleEnv, organizationPath } from '../context.ts';
import { firstStepsPage } from '../first-steps.tsx';
import { refused } from '../refused.tsx';
import { page } from '../shell.tsx';
import { check } from '../submitted.ts';

const PAGE_SIZE = 50;
const RANGES = [14, 30, 60, 100] as const;

export function mountAnomalies(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/anomalies', async (c) => {
    const { organizationId } = c.get('organization');
    const path = organizationPath(organizationId, 'anomalies');
    const { trail: _trail, ...values } = c.req.query();
    const checked = check(AnomaliesQuery, values);
    const query = checked.ok ? checked.value : AnomaliesQuery.parse({});
    const asked = pageRequest({ limit: PAGE_SIZE, cursor: query.cursor }) ?? { limit: PAGE_SIZE, after: null };
    const answer = await readAnomalies(buildReader(c), query, asked);
    if (!answer.ok) return refused(c, answer.refusal);
    const { items, nextCursor, customersLookedAt, asOf } = answer.data;
    const first = items.length === 0 ? await firstStepsPage(c, 'Anomalies') : null;
    if (first) return first;
    const nowMs = Date.now();
    return page(
      c,
      {
        title: 'Anomalies',
        sub: (
          <>
            The organization and {plural(customersLookedAt, 'customer')} with the highest cost, up to{' '}
            <Time at={asOf} nowMs={nowMs} />
          </>
        ),
        actions: (
          <nav class="tabs" aria-label="Period">
            {RANGES.map((days) => (
              <a href={`${path}?days=${days}`} aria-current={days === query.days ? 'true' : undefined}>
                {days} days
              </a>
            ))}
          </nav>
        ),
      },
      <Card>
        {items.length === 0 ? (
          <Empty title="No anomalies">
            Usage is as expected from its history. Spikes, drops, silences, errors, denials, dearer calls and expensive
            newcomers appear here.
          </Empty>
        ) : (
          <AnomaliesTable organizationId={organizationId} items={items} nowMs={nowMs} />
        )}
        <Pager
          path={path}
          query={{ days: String(query.days) }}
          next={nextCursor}
          first={asked.after === null}
          previous={readTrail(c.req.query(), items.length)}
        />
      </Card>,
    );
  });
}
