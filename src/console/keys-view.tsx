/**
 * API keys: the list, and the permissions of each.
 */
import type { FC } from 'hono/jsx';
import type { Key } from '../contract/operator.ts';
import { SERVER_SCOPES } from '../contract/scopes.ts';
import { Badge, Code, Facts, Nothing, Time } from '../ui/parts.tsx';
import { type Orders, sorted } from '../ui/sorting.ts';
import { Table, totalText } from '../ui/table.tsx';

const KeyState: FC<{ item: Key; nowMs: number }> = ({ item: { revokedAt, expiresAt }, nowMs }) => {
  if (revokedAt !== null) return <Badge tone="bad">revoked</Badge>;
  if (expiresAt === null) return <Badge tone="good">works</Badge>;
  if (Date.parse(expiresAt) <= nowMs) return <Badge tone="bad">expired</Badge>;
  return (
    <span>
      <Badge tone="good">works</Badge> <span class="quiet">until</span> <Time at={expiresAt} nowMs={nowMs} brief />
    </span>
  );
};

const Scopes: FC<{ item: Key }> = ({ item: { scopes, prefix } }) =>
  scopes === null ? (
    <span class="quiet">those of {prefix}</span>
  ) : scopes.length === SERVER_SCOPES.length ? (
    <span>all of the server</span>
  ) : (
    <span>{scopes.join(', ')}</span>
  );

const Limits: FC<{ item: Key }> = ({ item: { models, features } }) => {
  const lists = [
    ['models', models],
    ['features', features],
  ] as const;
  const shown = lists.flatMap(([what, names]) => (names ? [`${what}: ${names.join(', ')}`] : []));
  return shown.length === 0 ? <Nothing /> : <span>{shown.join('; ')}</span>;
};

interface KeysProps {
  path: string;
  items: Key[];
  isWhole: boolean;
  sort: string | undefined;
  nowMs: number;
}

const ORDERS: Orders<Key, 'name' | 'lastUsed' | 'created'> = {
  name: ({ name }) => name,
  lastUsed: ({ lastUsedAt }) => (lastUsedAt === null ? null : Date.parse(lastUsedAt)),
  created: ({ createdAt }) => Date.parse(createdAt),
};

export const Keys: FC<KeysProps> = ({ path, items, isWhole, sort, nowMs }) => {
  const { rows, by } = sorted(items, ORDERS, { path, sort }, isWhole);
  return (
    <Table
      caption="API keys"
      rows={rows}
      total={totalText(items.length, 'key', isWhole)}
      columns={[
        {
          title: 'Name',
          heading: true,
          sort: by('name'),
          cell: ({ keyId, name }) => <a href={`${path}/${encodeURIComponent(keyId)}`}>{name}</a>,
        },
        { title: 'Key', cell: ({ prefix, hint }) => <Code>{`${prefix}…${hint}`}</Code> },
        {
          title: 'State',
          cell: (item) => <KeyState item={item} nowMs={nowMs} />,
        },
        { title: 'Scopes', cell: (item) => <Scopes item={item} /> },
        { title: 'Limits', cell: (item) => <Limits item={item} /> },
        {
          title: 'Last used',
          sort: by('lastUsed'),
          cell: ({ lastUsedAt }) => (lastUsedAt === null ? <Nothing /> : <Time at={lastUsedAt} nowMs={nowMs} brief />),
        },
        { title: 'Created', sort: by('created'), cell: ({ createdAt }) => <Time at={createdAt} nowMs={nowMs} /> },
      ]}
    />
  );
};

/** The permissions of a key, and its use. */
export const KeyFacts: FC<{ item: Key; nowMs: number }> = ({ item, nowMs }) => (
  <Facts
    items={[
      ['State', <KeyState item={item} nowMs={nowMs} />],
      ['Scopes', <Scopes item={item} />],
      ['Only these models', item.models ? item.models.join(', ') : 'any'],
      ['Only these features', item.features ? item.features.join(', ') : 'any'],
      ['Last used', item.lastUsedAt === null ? 'never' : <Time at={item.lastUsedAt} nowMs={nowMs} />],
      ['Created', <Time at={item.createdAt} nowMs={nowMs} />],
      ['Key id', <Code>{item.keyId}</Code>],
    ]}
  />
);
