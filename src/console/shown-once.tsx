/**
 * Secrets are shown once: if a form is sent again, as by a reload, the answer omits them.
 */
import type { FC } from 'hono/jsx';
import type { Accepted } from '../contract/errors.ts';
import { Card, Empty } from '../ui/parts.tsx';

/**
 * A double click sends a form twice, and the browser shows the second answer. Within this time the second answer has
 * the secret too.
 */
const DOUBLE_CLICK_MS_MAX = 5_000;

export function wasShown({ replayed, result }: Accepted<unknown>): boolean {
  return replayed && Date.now() - Date.parse(result.timestamp) > DOUBLE_CLICK_MS_MAX;
}

/** The text in place of a secret. */
export const ShownBefore: FC<{ thing: 'key' | 'secret'; own: string }> = ({ thing, own }) => (
  <Card>
    <Empty title={`The ${thing} was shown already`}>
      It is shown only once. If you did not copy it, <a href={own}>replace it</a>.
    </Empty>
  </Card>
);
