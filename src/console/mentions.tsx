/**
 * The mentions of a sentence as HTML: each thing by its name, with a link to its page.
 */

import type { Child, FC } from 'hono/jsx';
import { asCallId, asCustomerId, asKeyId, asOrganizationId, type OrganizationId } from '../domain/ids.ts';
import { planIdOf } from '../domain/plan.ts';
import type { Env } from '../env.ts';
import { type Figure, isFigure, type Mention, type MentionKind, type Part } from '../events/sentence.ts';
import { findNames, NAMED } from '../operator/names.ts';
import { calendarDay, count, moment, words } from '../ui/format.ts';
import {
  CONSOLE_PATH,
  callPath,
  customerPath,
  eventPath,
  organizationPath,
  planPath,
  versionPath,
  webhookPath,
} from './context.ts';
import { lowerFirst, usdText } from './field-words.ts';
import { ModelLink } from './model-name.tsx';
import { PageLink } from './page-roles.tsx';

/** Names by the kind of a thing and its id. */
export type Names = ReadonlyMap<string, string>;

const mentionKey = (kind: MentionKind, id: string) => `${kind} ${id}`;

export function namesByKey(
  kind: MentionKind,
  names: Iterable<readonly [id: string, name: string]>,
): Map<string, string> {
  return new Map([...names].map(([id, name]) => [mentionKey(kind, id), name]));
}

/**
 * Reads the names of one organization's things that sentences mention without a name. The list has at most a page's
 * mentions.
 */
export async function readNames(
  env: Env,
  organizationId: OrganizationId,
  mentions: readonly Mention[],
): Promise<Names> {
  const nameless = mentions.filter(({ name }) => name === undefined);
  const listIds = (kind: MentionKind) => [...new Set(nameless.flatMap((one) => (one.kind === kind ? [one.id] : [])))];
  const names = await findNames(env, organizationId, {
    customer: listIds('customer').map(asCustomerId),
    key: listIds('key').map(asKeyId),
    plan: [...new Set([...listIds('plan'), ...listIds('version').map(planIdOf)])],
    webhook: listIds('webhook'),
  });
  return new Map(NAMED.flatMap((kind) => [...namesByKey(kind, names[kind])]));
}

/** A sentence. `organizationId` is the organization of the mentioned things; `null` for things of the service. */
export const Sentence: FC<{ parts: readonly Part[]; organizationId: OrganizationId | null; names: Names }> = ({
  parts,
  organizationId,
  names,
}) => (
  <>
    {parts.map((part, index) => {
      if (typeof part === 'string') return part;
      if (typeof part === 'number') return count(part);
      if (isFigure(part)) return figureText(part, index === 0);
      return <Mentioned mention={part} organizationId={organizationId} names={names} />;
    })}
  </>
);

function figureText({ kind, value }: Figure, isFirst: boolean): string {
  switch (kind) {
    case 'usd':
      return usdText(value);
    case 'instant':
      return `${moment(Date.parse(value))} UTC`;
    case 'day':
      return calendarDay(value);
    case 'code':
      return isFirst ? words(value) : lowerFirst(words(value));
  }
}

export const Mentioned: FC<{ mention: Mention; organizationId: OrganizationId | null; names: Names }> = ({
  mention,
  organizationId,
  names,
}) => {
  const { kind, id } = mention;
  if (kind === 'model') return <ModelLink name={id} organizationId={organizationId} />;
  const text = mention.name ?? names.get(mentionKey(kind, id)) ?? unnamed(mention, names);
  const href = mentionHref(mention, organizationId);
  if (href === null || id === '') return <>{text}</>;
  return (
    <PageLink href={href} {...(text !== id && { title: id })}>
      {text}
    </PageLink>
  );
};

function unnamed({ kind, id }: Mention, names: Names): Child {
  if (kind === 'key') return 'an API key';
  if (kind !== 'version') return id;
  const planId = planIdOf(id);
  return `${names.get(mentionKey('plan', planId)) ?? planId} version ${versionNumber(id)}`;
}

/** The number of a version, from its id. */
function versionNumber(usagePlanVersionId: string): string {
  return usagePlanVersionId.slice(usagePlanVersionId.lastIndexOf(':v') + ':v'.length);
}

function mentionHref({ kind, id, of = '' }: Mention, organizationId: OrganizationId | null): string | null {
  if (kind === 'operator') return `${CONSOLE_PATH}/operators`;
  if (kind === 'organization') return organizationPath(asOrganizationId(id));
  if (organizationId === null) return null;
  switch (kind) {
    case 'customer':
      return customerPath({ organizationId, customerId: asCustomerId(id) });
    case 'plan':
      return planPath(organizationId, id);
    case 'version':
      return versionPath(organizationId, id);
    case 'migration':
      return planPath(organizationId, of, 'migrations', id);
    case 'key':
      return organizationPath(organizationId, 'keys', id);
    case 'webhook':
      return webhookPath(organizationId, id);
    case 'vendor':
      return organizationPath(organizationId, 'vendors');
    case 'call':
      return callPath(organizationId, asCallId(id));
    case 'alert':
      return eventPath(organizationId, id);
    case 'estimate':
      return organizationPath(organizationId, 'compression', 'jobs', id);
    case 'model':
      return null;
  }
}
