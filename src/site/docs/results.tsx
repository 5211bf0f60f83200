/**
 * The results of a search of the API reference.
 */
import type { FC } from 'hono/jsx';
import { Card, Empty } from '../../ui/parts.tsx';
import { Inline } from '../shell.tsx';
import type { SearchEntry } from './search.ts';

/** The most entries of one kind that a search lists; the operations are all listed. */
const LISTED_MAX = 20;

const KINDS = [
  ['operation', 'Operations', 'operations'],
  ['guide', 'Guides', 'sections of guides'],
  ['error', 'Error codes', 'error codes'],
  ['schema', 'Schemas', 'schemas'],
] as const;

export async function searchResults(found: readonly SearchEntry[], query: string): Promise<string> {
  const counts = KINDS.map(([kind, , name]) => `${found.filter((entry) => entry.kind === kind).length} ${name}`);
  return String(
    await (
      <>
        <p role="status">
          {counts.join(', ')} say “{query}”. <a href="/docs">Show everything</a>
        </p>
        {KINDS.map(([kind, title]) => {
          const own = found.filter((entry) => entry.kind === kind);
          const listed = kind === 'operation' ? own : own.slice(0, LISTED_MAX);
          return (
            own.length > 0 && (
              <Card title={title} note={listed.length < own.length ? `The first ${LISTED_MAX}` : undefined}>
                <EntryList entries={listed} />
              </Card>
            )
          );
        })}
        {found.length === 0 && (
          <Empty title="Nothing says that">
            Fewer words find more: a search means every word, somewhere in a page or its fields.
          </Empty>
        )}
      </>
    ),
  );
}

export const EntryList: FC<{ entries: readonly Omit<SearchEntry, 'text'>[] }> = ({ entries }) => (
  <ul class="list">
    {entries.map(({ href, method, name, summary }) => (
      <li>
        {method === undefined ? (
          <>
            <a href={href}>{name}</a> <span class="quiet">{<Inline text={summary} />}</span>
          </>
        ) : (
          <a class="route" href={href}>
            <span class={`method ${method}`}>{method}</span>
            <span class="path">{name}</span>
            <span class="quiet">
              <Inline text={summary} />
            </span>
          </a>
        )}
      </li>
    ))}
  </ul>
);
