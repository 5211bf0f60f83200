/**
 * Organizations: the list, a new organization, and the settings of one.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { type Organization, RETENTION_DEFAULTS } from '../../contract/operator.ts';
import { createOrganization, listOrganizationPage, updateOrganization } from '../../operator/organizations.ts';
import { listPlans } from '../../operator/plans.ts';
import { pageRequest } from '../../platform/page.ts';
import { BLANK, Form, type FormState, Submit, TextField } from '../../ui/form.tsx';
import { Badge, Card, Code, Empty, Facts, Id, Time } from '../../ui/parts.tsx';
import { type Orders, sorted } from '../../ui/sorting.ts';
import { Pager, Table, totalText } from '../../ui/table.tsx';
import { readTrail } from '../../ui/trail.ts';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { parseThresholds, shownThresholds } from '../plan-form.ts';
import { refused } from '../refused.tsx';
import { BodyFields, bodyIn, storedIn } from '../schema-form.tsx';
import { load, send, wrong } from '../send.ts';
import { setupPath } from '../setup-view.tsx';
import { formSecrets, page } from '../shell.tsx';
import { text } from '../submitted.ts';

const PATH = `${CONSOLE_PATH}/organizations`;
const PAGE_SIZE = 50;
/** The settings in three groups, which one form saves together. */
const GENERAL = ['name', 'defaultPlanId', 'upgradeUrl', 'sampleBytesMax', 'allowUnpricedModels', 'creditOpen'];
/** Its field says `none` for an empty list, because an empty field stands for the default. */
const THRESHOLDS = 'alertThresholdsPercent';
const BALANCES = ['alertBalanceBelowUsd', 'alertBalanceBelowDays'];
const RETENTION = Object.keys(RETENTION_DEFAULTS);
const SETTINGS = [...GENERAL, ...BALANCES, ...RETENTION];

export function mountOrganizations(app: Hono<ConsoleEnv>): void {
  app.get('/organizations', async (c) => {
    const asked = pageRequest({ limit: PAGE_SIZE, cursor: c.req.query('cursor') });
    const { items, nextCursor } = await listOrganizationPage(c.env, asked ?? { limit: PAGE_SIZE, after: null });
    const actions = (
      <a class="button primary" href={`${PATH}/new`}>
        New organization
      </a>
    );
    return page(
      c,
      { title: 'Organizations', actions },
      <Card>
        {items.length === 0 ? (
          <Empty title="No organization yet">
            <a href={`${PATH}/new`}>Create the first one</a>: it gets plans, keys and customers of its own.
          </Empty>
        ) : (
          <Organizations
            items={items}
            isWhole={!asked?.after && nextCursor === null}
            sort={c.req.query('sort')}
            nowMs={Date.now()}
          />
        )}
        <Pager
          path={PATH}
          query={{}}
          next={nextCursor}
          first={!asked?.after}
          previous={readTrail(c.req.query(), items.length)}
        />
      </Card>,
    );
  });

  app.get('/organizations/new', (c) => newPage(c, BLANK, 200));

  app.post('/organizations', async (c) => {
    const answer = await send(c, createOrganization, { body: bodyIn(createOrganization, c.get('submitted').fields) });
    if (!answer.ok) return newPage(c, wrong(c, answer.refusal), 400);
    return c.redirect(`${setupPath(answer.data.organizationId)}?done=organization`, 303);
  });

  app.get('/organizations/:org/settings', (c) => settingsPage(c, null));

  app.post('/organizations/:org/settings', async (c) => {
    // An empty name is refused; it does not keep the old one.
    const { fields } = c.get('submitted');
    const percents = text(fields, THRESHOLDS);
    const body = {
      name: '',
      ...bodyIn(updateOrganization, fields, SETTINGS),
      [THRESHOLDS]: percents === '' ? null : parseThresholds(percents),
    };
    const answer = await send(c, updateOrganization, { body });
    if (!answer.ok) return settingsPage(c, wrong(c, answer.refusal));
    return c.redirect(`${c.req.path}?done=settings`, 303);
  });
}

interface OrganizationsProps {
  items: Organization[];
  isWhole: boolean;
  sort: string | undefined;
  nowMs: number;
}

const ORDERS: Orders<Organization, 'name' | 'created'> = {
  name: ({ name }) => name,
  created: ({ createdAt }) => Date.parse(createdAt),
};

const Organizations: FC<OrganizationsProps> = ({ items, isWhole, sort, nowMs }) => {
  const { rows, by } = sorted(items, ORDERS, { path: PATH, sort }, isWhole);
  return (
    <Table
      caption="Organizations"
      rows={rows}
      total={totalText(items.length, 'organization', isWhole)}
      columns={[
        {
          title: 'Name',
          heading: true,
          sort: by('name'),
          cell: ({ organizationId, name }) => <a href={organizationPath(organizationId)}>{name}</a>,
        },
        { title: 'Id', cell: ({ organizationId }) => <Id id={organizationId} /> },
        { title: 'Default plan', cell: ({ defaultPlanId }) => defaultPlanId ?? <Badge tone="warn">none</Badge> },
        { title: 'Created', sort: by('created'), cell: ({ createdAt }) => <Time at={createdAt} nowMs={nowMs} /> },
      ]}
    />
  );
};

function newPage(c: ConsoleContext, state: FormState, status: 200 | 400) {
  return page(
    c,
    { title: 'New organization', status, crumbs: [{ text: 'Organizations', href: PATH }] },
    <Card>
      <Form of={createOrganization} action={PATH} secrets={formSecrets(c)} state={state}>
        <BodyFields of={createOrganization} />
        <Submit back={PATH}>Create organization</Submit>
      </Form>
    </Card>,
  );
}

async function settingsPage(c: ConsoleContext, state: FormState | null) {
  const organization = c.get('organization');
  const plans = await load(c, listPlans);
  if (!plans.ok) return refused(c, plans.refusal);
  const defaultPlans = plans.data.items.map(({ planId, plan }) => [planId, `${plan.name} (${planId})`] as const);
  const path = organizationPath(organization.organizationId, 'settings');
  const stored = storedIn(updateOrganization, organization);
  const percents = shownThresholds(organization.alertThresholdsPercent);
  const shown = state ?? { ...stored, values: { ...stored.values, [THRESHOLDS]: percents } };
  return page(
    c,
    { title: 'Settings', status: state ? 400 : 200 },
    <div class="grid">
      <Card title="Organization">
        <Form of={updateOrganization} action={path} secrets={formSecrets(c)} state={shown}>
          <BodyFields
            of={updateOrganization}
            paths={GENERAL}
            overrides={{
              name: { required: true },
              defaultPlanId: { options: [['', 'None'], ...defaultPlans] },
              allowUnpricedModels: { label: 'Allow models without a price' },
            }}
          />
          <fieldset class="box">
            <legend>Alerts</legend>
            <TextField
              name={THRESHOLDS}
              label="Alerts at percent of a limit"
              placeholder="50, 80, 100"
              hint="For plans without their own. Leave empty for 50, 80 and 100; type none for no event."
            />
            <BodyFields of={updateOrganization} paths={BALANCES} />
          </fieldset>
          <fieldset class="box">
            <legend>Retention</legend>
            <BodyFields of={updateOrganization} paths={RETENTION} />
          </fieldset>
          <Submit>Save</Submit>
        </Form>
      </Card>
      <Card title="Facts">
        <Facts
          items={[
            ['Id', <Code>{organization.organizationId}</Code>],
            ['Created', <Time at={organization.createdAt} nowMs={Date.now()} />],
          ]}
        />
      </Card>
    </div>,
  );
}
