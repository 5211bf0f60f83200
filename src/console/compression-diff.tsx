/**
 * The difference between a prompt and its compressed text, for people: removed text is struck through, new text is
 * underlined.
 */

import { type ChangeObject, diffWordsWithSpace } from 'diff';
import type { FC } from 'hono/jsx';
import type { OrganizationId } from '../domain/ids.ts';
import type { CompressionExample } from '../metering/compression-example.ts';
import { Card, Empty, Notice } from '../ui/parts.tsx';
import { organizationPath } from './context.ts';

/** The most differences that are searched for. Texts with more are too unlike to be read side by side. */
const EDITS_MAX = 2_000;
/** The characters that are shown at each end of an unchanged stretch. */
const SAME_LENGTH_MAX = 200;

export const CompressionDiff: FC<{ example: CompressionExample | null; organizationId: OrganizationId }> = ({
  example,
  organizationId,
}) => (
  <Card
    title="Example"
    note="The sample of moderate length that became shorter by most. Removed text is struck through, added text is underlined."
  >
    {example === null || example.texts.length === 0 ? (
      <Empty title="No example">No sample became shorter, or the one that did was deleted.</Empty>
    ) : (
      <>
        <p>
          <a href={organizationPath(organizationId, 'samples', example.sampleId)}>{`Sample ${example.sampleId}`}</a>
        </p>
        {example.texts.map(({ role, before, after }) => (
          <figure>
            <figcaption>{role}</figcaption>
            <TextDiff before={before} after={after} />
          </figure>
        ))}
      </>
    )}
  </Card>
);

const TextDiff: FC<{ before: string; after: string }> = ({ before, after }) => {
  const changes = diffWordsWithSpace(before, after, { maxEditLength: EDITS_MAX });
  if (!changes) return <Notice tone="info">The texts differ too much to be compared here.</Notice>;
  return <pre class="json diff">{changes.map((change) => part(change))}</pre>;
};

function part({ value, added, removed }: ChangeObject<string>) {
  if (added) return <ins>{value}</ins>;
  if (removed) return <del>{value}</del>;
  return value.length <= 2 * SAME_LENGTH_MAX
    ? value
    : `${value.slice(0, SAME_LENGTH_MAX)} ... ${value.slice(-SAME_LENGTH_MAX)}`;
}
