/**
 * The event log: changes with actor and time, of one organization or of all, with filters. The address holds the
 * filters.
 */

import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { EventLogFilter, Organization } from '../../contract/operator.ts';
import { ACTION_KINDS, OPERATOR_ACTIONS, SUBJECT_KINDS, type SubjectKind } from '../../contract/operator-actions.ts';
import type { OrganizationId } from '../../domain/ids.ts';
import { listEvents } from '../../operator/events.ts';
import { listOrganizationPage } from '../../operator/organizations.ts';
import { pageRequest } from '../../platform/page.ts';
import { type FormState, GetForm, Select, TextField } from '../../ui/form.tsx';
import { moment, words } from '../../ui/format.ts';
import { Card, Empty } from '../../ui/parts.tsx';
import { Pager } from '../../ui/table.tsx';
import { readTrail } from '../../ui/trail.ts';
import { actorName, Changes, eventsPath, readEventNames } from '../changes-view.tsx';
import { ChosenFilters } from '../chosen-filters.tsx';
import type { ConsoleContext, ConsoleEnv } from '../context.ts';
import { instantFields, readInstants } from '../form-instants.ts';
import { namesByKey } from '../mentions.tsx';
import { refused } from '../refused.tsx';
import { load, refusalDetails } from '../send.ts';
import { page } from '../shell.tsx';

const PAGE_SIZE = 40;
/** The most organizations whose names are shown, and that the filter offers. */
const ORGANIZATIONS_MAX = 200;

/** The filters, with their names for people. */
const FILTERS = {
  organizationId: 'Organization',
  actor: 'By',
  kind: 'Subject',
  action: 'Change',
  subject: 'Id',
  from: 'From',
  to: 'Before',
} as const satisfies Record<keyof EventLogFilter, string>;

type Asked = Partial<Record<keyof EventLogFilter, string>>;

export function mountEvents(app: Hono<ConsoleEnv>): void {
  app.get('/events', (c) => eventsPage(c, null));
  app.get('/organizations/:org/events', (c) => eventsPage(c, c.get('organization').organizationId));
}

/** The page of one organization, or of all. */
async function eventsPage(c: ConsoleContext, here: OrganizationId | null) {
  const asked = askedIn(c, here);
  const whole = here === null ? {} : { organizationId: here };
  const cursor = c.req.query('cursor');
  const pageAsked = pageRequest({ limit: PAGE_SIZE, cursor }) ?? { limit: PAGE_SIZE, after: null };
  const [narrowed, listed] = await Promise.all([
    load(c, listEvents, { query: { ...asked, ...readInstants(asked), ...whole }, page: pageAsked }),
    here === null ? listOrganizationPage(c.env, { limit: ORGANIZATIONS_MAX, after: null }) : null,
  ]);
  const answer = narrowed.ok ? narrowed : await load(c, listEvents, { query: whole, page: pageAsked });
  if (!answer.ok) return refused(c, answer.refusal);
  const { items, nextCursor } = answer.data;
  const organizations = listed?.items ?? [];
  const names =
    here === null
      ? namesByKey(
          'organization',
          organizations.map(({ organizationId, name }) => [organizationId, name]),
        )
      : await readEventNames(c, here, items);
  const path = eventsPath(here);
  const state = {
    values: { ...asked, ...instantFields(asked) },
    details: narrowed.ok ? [] : refusalDetails(narrowed.refusal),
  };
  return page(
    c,
    {
      title: here === null ? 'Full event log' : 'Event log',
      sub: 'Every change by API, command line and console, newest first.',
      status: narrowed.ok ? 200 : 400,
    },
    <>
      <Card>
        <Filters path={path} state={state} organizations={here === null ? organizations : null} />
        <ChosenFilters
          path={path}
          asked={asked}
          names={FILTERS}
          show={(name, value) => shownFilter(name as keyof Asked, value, organizations)}
        />
      </Card>
      <Card>
        {items.length > 0 ? (
          <Changes events={items} names={names} nowMs={Date.now()} here={here} />
        ) : (
          <NoChanges path={path} isNarrowed={Object.keys(asked).length > 0} />
        )}
        <Pager
          path={path}
          query={asked as Record<string, string>}
          next={nextCursor}
          first={pageAsked.after === null}
          previous={readTrail(c.req.query(), items.length)}
        />
      </Card>
    </>,
  );
}

/** The filters in the address. The page of an organization has no filter by organization. */
function askedIn(c: ConsoleContext, here: OrganizationId | null): Asked {
  const names = Object.keys(FILTERS) as (keyof Asked)[];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = (c.req.query(name) ?? '').trim();
      return value === '' || (name === 'organizationId' && here !== null) ? [] : [[name, value]];
    }),
  );
}

const NoChanges: FC<{ path: string; isNarrowed: boolean }> = ({ path, isNarrowed }) =>
  isNarrowed ? (
    <Empty title="No changes match">
      <a href={path}>Show all changes</a>
    </Empty>
  ) : (
    <Empty title="No changes yet">Every change by an operator appears here, with the state before and after it.</Empty>
  );

const KIND_WORDS: Partial<Record<SubjectKind, string>> = {
  key: 'API keys',
  mapping: 'Model mappings',
  price: 'Own prices',
  sampling: 'Sampling policies',
  compression: 'Compression',
  catalog: 'Model catalog',
};

const kindWords = (kind: SubjectKind) => KIND_WORDS[kind] ?? `${words(kind)}s`;

/** Operators' words for actions whose names say little, such as `put`. */
const VERBS: Readonly<Record<string, string>> = { put: 'save', set_aside: 'set aside', send_again: 'send again' };

function actionWords(action: string): string {
  const [noun = '', verb = ''] = action.split('.');
  return `${words(noun)}: ${VERBS[verb] ?? words(verb).toLowerCase()}`;
}

const Filters: FC<{ path: string; state: FormState; organizations: Organization[] | null }> = ({
  path,
  state,
  organizations,
}) => (
  <GetForm label="Changes" action={path} state={state}>
    <div class="filters">
      {organizations && (
        <Select
          name="organizationId"
          label="Organization"
          options={[['', 'All'], ...organizations.map(({ organizationId, name }) => [organizationId, name] as const)]}
        />
      )}
      <TextField name="actor" label="By" placeholder="E-mail address or key id" />
      <Select
        name="kind"
        label="Subject"
        options={[['', 'Everything'], ...SUBJECT_KINDS.map((kind) => [kind, kindWords(kind)] as const)]}
      />
      <Select
        name="action"
        label="Change"
        options={[['', 'Any'], ...ACTIONS_BY_KIND.map((action) => [action, actionWords(action)] as const)]}
      />
      <TextField name="subject" label="Id" placeholder="Plan, customer, key, model" />
      <TextField name="from" label="From (UTC)" type="datetime-local" />
      <TextField name="to" label="End (UTC, exclusive)" type="datetime-local" />
    </div>
    <div class="submit">
      <button type="submit">Search</button>
    </div>
  </GetForm>
);

const ACTIONS_BY_KIND = OPERATOR_ACTIONS.toSorted(
  (one, other) => SUBJECT_KINDS.indexOf(ACTION_KINDS[one]) - SUBJECT_KINDS.indexOf(ACTION_KINDS[other]),
);

function shownFilter(name: keyof Asked, value: string, organizations: Organization[]): string {
  switch (name) {
    case 'from':
    case 'to': {
      const atMs = Date.parse(readInstants({ [name]: value })[name] ?? value);
      return Number.isNaN(atMs) ? value : `${moment(atMs)} UTC`;
    }
    case 'organizationId':
      return organizations.find(({ organizationId }) => organizationId === value)?.name ?? value;
    case 'actor':
      return actorName(value);
    case 'kind':
      return Object.hasOwn(KIND_WORDS, value) || (SUBJECT_KINDS as readonly string[]).includes(value)
        ? kindWords(value as SubjectKind)
        : value;
    case 'action':
      return actionWords(value);
    case 'subject':
      return value;
  }
}
