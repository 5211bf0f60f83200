/**
 * The state of a call, and whether it was reversed.
 */
import type { FC } from 'hono/jsx';
import { words } from '../ui/format.ts';
import { Badge } from '../ui/parts.tsx';
import { STATUS_TONES } from './statuses.ts';

export const CallState: FC<{ status: string; isReversed: boolean }> = ({ status, isReversed }) => (
  <>
    <Badge tone={STATUS_TONES[status] ?? 'plain'}>{words(status)}</Badge>
    {isReversed && (
      <>
        {' '}
        <Badge tone="warn">reversed</Badge>
      </>
    )}
  </>
);
