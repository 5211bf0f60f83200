/**
 * The state of a call: its outcome, whether its usage is provisional, whether it was reversed, its corrections, and
 * links to correct it.
 */

import type { FC } from 'hono/jsx';
import type { ReadCallData } from '../contract/calls.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { isProvisional, type UsageSource } from '../domain/usage.ts';
import { words } from '../ui/format.ts';
import { Badge, Nothing, Time, Usd } from '../ui/parts.tsx';
import { Table } from '../ui/table.tsx';
import { callPath } from './context.ts';
import { STATUS_TONES, statusWords } from './statuses.ts';

interface CallStateProps {
  status: string;
  isReversed: boolean;
  usageSource: UsageSource | null;
}

export const CallState: FC<CallStateProps> = ({ status, isReversed, usageSource }) => (
  <>
    <Badge tone={STATUS_TONES[status] ?? 'plain'}>{statusWords(status)}</Badge>
    {isProvisional(usageSource) && (
      <>
        {' '}
        <Badge tone="warn">{usageSource} usage</Badge>
      </>
    )}
    {isReversed && (
      <>
        {' '}
        <Badge tone="warn">reversed</Badge>
      </>
    )}
  </>
);

/** Links to the corrections that the call allows. */
export const Correct: FC<{ organizationId: OrganizationId; call: ReadCallData }> = ({ organizationId, call }) => {
  const { callId, status, reversedAt } = call;
  const hasEnded = status === 'COMPLETED' || status === 'FAILED';
  if (reversedAt !== undefined || !(hasEnded || status === 'TIMEOUT')) return null;
  const path = callPath(organizationId, callId);
  return (
    <>
      {hasEnded && (
        <a class="button" href={`${path}/amend`}>
          Amend
        </a>
      )}
      <a class="button" href={`${path}/reverse`}>
        Reverse
      </a>
    </>
  );
};

export const Corrections: FC<{ corrections: NonNullable<ReadCallData['corrections']>; nowMs: number }> = ({
  corrections,
  nowMs,
}) => (
  <Table
    caption="Corrections"
    rows={corrections}
    columns={[
      { title: 'When', heading: true, cell: ({ at }) => <Time at={at} nowMs={nowMs} /> },
      { title: 'What', cell: ({ kind, by }) => `${words(kind)} by ${by}` },
      { title: 'Reason', cell: ({ reason }) => reason },
      {
        title: 'Cost before',
        figure: true,
        cell: ({ costUsdNano }) => (costUsdNano === null ? <Nothing /> : <Usd nano={BigInt(costUsdNano)} />),
      },
      {
        title: 'Balance',
        figure: true,
        cell: ({ differenceNanoUsd }) => <Usd nano={-BigInt(differenceNanoUsd)} />,
      },
    ]}
  />
);
