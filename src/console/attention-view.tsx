/**
 * Things that need attention, at the top of a page: one line for each kind, with its count and a link to the counted
 * things. If there are several organizations, each has its own count and link.
 */

import type { FC } from 'hono/jsx';
import type { Attention, AttentionItem, AttentionKind } from '../contract/attention.ts';
import { asOrganizationId } from '../domain/ids.ts';
import { count, plural } from '../ui/format.ts';
import { Card, Notice } from '../ui/parts.tsx';
import { CONSOLE_PATH, organizationPath } from './context.ts';
import { PageLink } from './page-roles.tsx';

interface Words {
  /** The headline for this many things. */
  title: (value: number) => string;
  why: string;
  /** The kind of things that were counted. */
  name: string;
}

const one = (noun: string, rest: string) => (value: number) => `${plural(value, noun)} ${rest}`;

const WORDS: Record<AttentionKind, Words> = {
  UNPRICED_CALLS: {
    title: one('call', 'without a price'),
    why: 'In the last 30 days. No sum includes their cost.',
    name: 'calls without a price',
  },
  ENDING_MODELS: {
    title: (value) => (value === 1 ? '1 model in use ends' : `${count(value)} models in use end`),
    why: 'Calls to a model fail from its shutdown on.',
    name: 'models that end',
  },
  CUSTOMERS_NEAR_LIMIT: {
    title: one('customer', 'near a limit'),
    why: '80% or more of an allowance of their usage period is used.',
    name: 'customers near a limit',
  },
  DENIED_CALLS: {
    title: (value) => plural(value, 'denied call'),
    why: 'In the last 24 hours.',
    name: 'denied calls',
  },
  FAILED_CHARGES: {
    title: (value) => plural(value, 'failed charge'),
    why: 'In the last 7 days the billing provider refused them for good.',
    name: 'failed charges',
  },
  ANOMALIES: {
    title: (value) => (value === 1 ? '1 anomaly' : `${count(value)} anomalies`),
    why: 'Unusual usage, found in the last 2 days.',
    name: 'anomalies',
  },
  FAILING_WEBHOOKS: {
    title: (value) => plural(value, 'failing webhook'),
    why: 'Events wait, or Callmeter disabled the webhook.',
    name: 'failing webhooks',
  },
  LATE_REPORTS: {
    title: one('customer', 'behind in the reports'),
    why: 'Metering goes on; the figures follow.',
    name: 'late reports',
  },
  REFUSED_CHANGES: {
    title: one('change', 'refused by the reports'),
    why: 'The figures do not include them.',
    name: 'refused changes',
  },
  LATE_ARCHIVE: {
    title: one('closed day', 'not in the archive'),
    why: 'The oldest for more than two days. The database keeps them meanwhile.',
    name: 'a late archive',
  },
  FULL_DATABASES: {
    title: (value) => (value === 1 ? '1 database is nearly full' : `${count(value)} databases are nearly full`),
    why: 'New organizations need another one.',
    name: 'full databases',
  },
  CATALOG: {
    title: one('problem', 'of the model catalog'),
    why: 'Prices and dates may be wrong.',
    name: 'the model catalog',
  },
  CATALOG_NEWS: {
    title: one('report', 'of what the catalog lacks'),
    why: 'In the last 7 days. Public lists have models, ends or prices that the catalog lacks.',
    name: 'news of the catalog',
  },
  BINDINGS: {
    title: (value) => (value === 1 ? '1 part of the service' : `${count(value)} parts of the service`),
    why: 'It does not answer.',
    name: 'the parts of the service',
  },
};

export const NeedsAttention: FC<{ attention: Attention }> = ({ attention: { items, notRead, lookedAt } }) => (
  <Card title="Needs attention" id="attention">
    {items.length === 0 ? (
      <p>
        {notRead.length === 0 ? 'Nothing needs attention.' : 'Nothing else needs attention.'}{' '}
        <span class="quiet">Looked for {lookedAtSentence(lookedAt)}.</span>
      </p>
    ) : (
      <ul class="attention">
        {[...Map.groupBy(items, ({ kind }) => kind)].map(([kind, same]) => (
          <Line kind={kind} items={same} several={lookedAt.organizations > 1} />
        ))}
      </ul>
    )}
    {notRead.length > 0 && (
      <Notice tone="warn" title="Not read now:">{`${kindNames(notRead)}. They may need attention too.`}</Notice>
    )}
  </Card>
);

/** The same behind one line, for a page with another subject. */
export const FoldedAttention: FC<{ attention: Attention }> = ({ attention }) => {
  const kinds = [...Map.groupBy(attention.items, ({ kind }) => kind)];
  const found = kinds.map(([kind, items]) => headline(kind, items));
  const unread = attention.notRead.length > 0 ? ['some things could not be read'] : [];
  return (
    <details class="fold">
      <summary>
        {found.length + unread.length === 0
          ? 'Nothing needs attention'
          : `Needs attention: ${[...found, ...unread].join(', ')}`}
      </summary>
      <NeedsAttention attention={attention} />
    </details>
  );
};

/** For example `2 customers near a limit`. */
function headline(kind: AttentionKind, items: readonly AttentionItem[]): string {
  const { title } = WORDS[kind];
  const total = items.reduce((sum, item) => sum + item.count, 0);
  return items.some(({ isMore }) => isMore) ? `More than ${title(total)}` : title(total);
}

const Line: FC<{ kind: AttentionKind; items: readonly AttentionItem[]; several: boolean }> = ({
  kind,
  items,
  several,
}) => {
  const { why } = WORDS[kind];
  const [first, ...others] = items;
  const text = headline(kind, items);
  return (
    <li>
      <strong>{first && others.length === 0 ? <PageLink href={itemHref(first)}>{text}</PageLink> : text}</strong>
      <span class="quiet">{why}</span>
      {several && first?.organizationName && (
        <span class="attention-of">
          {items.map((item) =>
            others.length === 0 ? (
              <span class="quiet">{item.organizationName}</span>
            ) : (
              <PageLink href={itemHref(item)}>
                {item.organizationName} <span class="num">{`${count(item.count)}${item.isMore ? '+' : ''}`}</span>
              </PageLink>
            ),
          )}
        </span>
      )}
    </li>
  );
};

/** The page that shows the counted things, narrowed like the list of the API. */
function itemHref({ kind, organizationId, list }: AttentionItem): string {
  const query = list.includes('?') ? list.slice(list.indexOf('?')) : '';
  const own = (page: string) => organizationPath(organizationId ?? asOrganizationId(''), page);
  switch (kind) {
    case 'UNPRICED_CALLS':
      return own('unpriced');
    case 'ENDING_MODELS':
      return own('ending-models');
    case 'CUSTOMERS_NEAR_LIMIT':
      return own('customers') + query;
    case 'DENIED_CALLS':
      return own('calls') + query;
    case 'FAILED_CHARGES':
    case 'ANOMALIES':
      return own('alerts') + query;
    case 'FAILING_WEBHOOKS':
      return `${own('webhooks')}?failing=true`;
    case 'CATALOG':
      return `${CONSOLE_PATH}/catalog`;
    case 'CATALOG_NEWS':
      return `${CONSOLE_PATH}/events${query}`;
    default:
      return `${CONSOLE_PATH}/health`;
  }
}

function lookedAtSentence({ kinds, organizations, isMore }: Attention['lookedAt']): string {
  const names = kinds.map((kind) => WORDS[kind].name);
  const of = organizations === 1 ? '' : ` in ${isMore ? 'the first ' : ''}${plural(organizations, 'organization')}`;
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}${of}`;
}

function kindNames(notRead: Attention['notRead']): string {
  return [...new Set(notRead.map(({ kind }) => WORDS[kind].name))].join(', ');
}
