/**
 * Anomalies as a table: a sentence for each, the customer concerned, and its explanation.
 */

import type { FC } from 'hono/jsx';
import type { AnomaliesData } from '../contract/readings.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { nanoFromUsd, usd } from '../domain/money.ts';
import { plural, timeSpan, words } from '../ui/format.ts';
import { Badge, Time } from '../ui/parts.tsx';
import { Table } from '../ui/table.tsx';
import { customerPath } from './context.ts';
import { STATUS_TONES } from './statuses.ts';

type Item = AnomaliesData['items'][number];

/** The most contributions that an episode lists. */
const EXPLAINED_MAX = 3;

/** The change with its unit: `+$6.10`, `-120 calls`, `+12 points`. */
function changed(unit: Item['unit'], change: number): string {
  const sign = change < 0 ? '-' : '+';
  const size = Math.abs(change);
  if (unit === 'USD') return `${sign}${usd(nanoFromUsd(size))}`;
  if (unit === 'calls') return `${sign}${plural(Math.round(size), 'call')}`;
  return `${sign}${plural(Math.round(100 * size), 'point')}`;
}

export const AnomaliesTable: FC<{ organizationId: OrganizationId; items: readonly Item[]; nowMs: number }> = ({
  organizationId,
  items,
  nowMs,
}) => (
  <Table
    caption="Anomalies"
    rows={items}
    columns={[
      {
        title: 'What',
        heading: true,
        cell: ({ kind, summary }) => (
          <span>
            {words(kind)}
            <span class="sub">{summary}</span>
          </span>
        ),
      },
      {
        title: 'Severity',
        cell: ({ severity }) => <Badge tone={STATUS_TONES[severity] ?? 'plain'}>{words(severity)}</Badge>,
      },
      {
        title: 'Of',
        cell: ({ customerId }) =>
          customerId === null ? (
            'the organization'
          ) : (
            <a href={customerPath({ organizationId, customerId })}>{customerId}</a>
          ),
      },
      {
        title: 'When',
        cell: ({ startedAt, endedAt }) => (
          <span>
            {timeSpan(Date.parse(startedAt), Date.parse(endedAt))}
            <span class="sub">
              <Time at={startedAt} nowMs={nowMs} brief />
            </span>
          </span>
        ),
      },
      {
        title: 'Explained by',
        cell: ({ unit, explainedBy }) =>
          explainedBy.length === 0 ? (
            <span class="quiet">nothing known</span>
          ) : (
            explainedBy.slice(0, EXPLAINED_MAX).map(({ dimension, key, change }) => (
              <span class="sub">
                {dimension} {key} {changed(unit, change)}
              </span>
            ))
          ),
      },
    ]}
  />
);
