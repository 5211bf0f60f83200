/**
 * Anomalies as a table: what happened, to whom, and the figures behind it.
 */
import type { FC } from 'hono/jsx';
import type { AnomaliesData } from '../contract/readings.ts';
import { nanoFromUsd } from '../domain/money.ts';
import { count, moment, usd, words } from '../ui/format.ts';
import { Badge, Time } from '../ui/parts.tsx';
import { Table } from '../ui/table.tsx';
import { customerPath } from './context.ts';
import { STATUS_TONES } from './statuses.ts';

type Item = AnomaliesData['items'][number];

const shown = (unit: Item['unit'], value: number) =>
  unit === 'USD' ? usd(nanoFromUsd(Math.max(0, value))) : count(Math.round(value * 10) / 10);

export const AnomaliesTable: FC<{ organizationId: string; items: readonly Item[]; nowMs: number }> = ({
  organizationId,
  items,
  nowMs,
}) => (
  <Table
    caption="Anomalies"
    rows={items}
    columns={[
      { title: 'What', heading: true, cell: ({ kind }) => words(kind) },
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
            <a href={customerPath(organizationId, customerId)}>{customerId}</a>
          ),
      },
      {
        title: 'When',
        cell: ({ startedAt, endedAt }) => (
          <span>
            <Time at={startedAt} nowMs={nowMs} />
            <span class="sub">to {moment(Date.parse(endedAt))} UTC</span>
          </span>
        ),
      },
      { title: 'Expected', figure: true, cell: ({ unit, expected }) => shown(unit, expected) },
      { title: 'Recorded', figure: true, cell: ({ unit, observed }) => <strong>{shown(unit, observed)}</strong> },
      {
        title: 'Evidence',
        cell: ({ evidence }) => (
          <span class="quiet hint">
            {Object.entries(evidence)
              .map(
                ([name, value]) =>
                  `${words(name).toLowerCase()} ${typeof value === 'number' ? count(Math.round(value * 1000) / 1000) : value}`,
              )
              .join(', ')}
          </span>
        ),
      },
    ]}
  />
);
