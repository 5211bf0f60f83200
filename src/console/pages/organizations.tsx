/**
 * Organizations: the list, a new one, and the settings of one.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { Organization } from '../../contract/operator.ts';
import { createOrganization, organizationsOf, updateOrganization } from '../../operator/organizations.ts';
import { listPlans } from '../../operator/plans.ts';
import { pageRequest } from '../../platform/page.ts';
import { Checkbox, Form, type FormSecrets, type FormState, Select, TextArea, TextField } from '../../ui/form.tsx';
import { count } from '../../ui/format.ts';
import { Badge, Card, Code, Empty, Facts, Id, Time } from '../../ui/parts.tsx';
import { type Orders, sorted } from '../../ui/sorting.ts';
import { Pager, Table, totalOf } from '../../ui/table.tsx';
import { trailOf } from '../../ui/trail.ts';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { refused } from '../refused.tsx';
import { load, send, wrong } from '../send.ts';
import { setupPath } from '../setup-view.tsx';
import { page, secretsOf } from '../shell.tsx';
import { isChecked, lines, optionalText, text, typedNumber } from '../submitted.ts';

const PATH = `${CONSOLE_PATH}/organizations`;
const PAGE_SIZE = 50;
const BLANK: FormState = { values: {}, details: [] };

export function mountOrganizations(app: Hono<ConsoleEnv>): void {
  app.get('/organizations', async (c) => {
    const asked = pageRequest({ limit: PAGE_SIZE, cursor: c.req.query('cursor') });
    const { items, nextCursor } = await organizationsOf(c.env, asked ?? { limit: PAGE_SIZE, after: null });
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
          previous={trailOf(c.req.query(), items.length)}
        />
      </Card>,
    );
  });

  app.get('/organizations/new', (c) => newPage(c, BLANK, 200));

  app.post('/organizations', async (c) => {
    const { fields } = c.get('submitted');
    const body = { name: text(fields, 'name'), organizationId: optionalText(fields, 'organizationId') };
    const answer = await send(c, createOrganization, { body });
    if (!answer.ok) return newPage(c, wrong(c, answer.refusal), 400);
    return c.redirect(`${setupPath(answer.data.organizationId)}?done=organization`, 303);
  });

  app.get('/organizations/:org/settings', (c) => settingsPage(c, null));

  app.post('/organizations/:org/settings', async (c) => {
    const { fields } = c.get('submitted');
    const sampleBytesMax = typedNumber(fields, 'sampleBytesMax');
    const body = {
      name: text(fields, 'name'),
      defaultPlanId: optionalText(fields, 'defaultPlanId') ?? null,
      allowUnpricedModels: isChecked(fields, 'allowUnpricedModels'),
      creditOpen: lines(fields, 'creditOpen'),
      upgradeUrl: optionalText(fields, 'upgradeUrl') ?? null,
      ...(sampleBytesMax !== undefined && { sampleBytesMax }),
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
      total={totalOf(items.length, 'organization', isWhole)}
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
      <Form of={createOrganization} action={PATH} secrets={secretsOf(c)} state={state}>
        <TextField name="name" label="Name" state={state} required hint="The name that operators see." />
        <TextField name="organizationId" label="Id" state={state} hint="A UUID. Empty: one is generated." />
        <div class="submit">
          <button type="submit" class="primary">
            Create organization
          </button>
          <a href={PATH}>Cancel</a>
        </div>
      </Form>
    </Card>,
  );
}

async function settingsPage(c: ConsoleContext, state: FormState | null) {
  const organization = c.get('organization');
  const plans = await load(c, listPlans);
  if (!plans.ok) return refused(c, plans.refusal);
  const planOptions = plans.data.items.map(({ planId, plan }) => [planId, `${plan.name} (${planId})`] as const);
  return page(
    c,
    { title: 'Settings', status: state ? 400 : 200 },
    <div class="grid">
      <Card title="Organization">
        <Settings
          organization={organization}
          planOptions={planOptions}
          secrets={secretsOf(c)}
          state={state ?? settingsOf(organization)}
        />
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

function settingsOf(organization: Organization): FormState {
  const { name, defaultPlanId, allowUnpricedModels, creditOpen, upgradeUrl, sampleBytesMax } = organization;
  const values = {
    name,
    defaultPlanId: defaultPlanId ?? '',
    allowUnpricedModels: allowUnpricedModels ? 'on' : undefined,
    creditOpen: creditOpen.join('\n'),
    upgradeUrl: upgradeUrl ?? '',
    sampleBytesMax: count(sampleBytesMax),
  };
  return { values, details: [] };
}

interface SettingsProps {
  organization: Organization;
  planOptions: readonly (readonly [string, string])[];
  secrets: FormSecrets;
  state: FormState;
}

const Settings: FC<SettingsProps> = ({ organization, planOptions, secrets, state }) => (
  <Form
    of={updateOrganization}
    action={organizationPath(organization.organizationId, 'settings')}
    secrets={secrets}
    state={state}
  >
    <TextField name="name" label="Name" state={state} required />
    <Select
      name="defaultPlanId"
      label="Default plan"
      state={state}
      options={[['', 'None'], ...planOptions]}
      hint="The plan of new customers. Without one, calls of unknown customers are refused."
    />
    <TextField
      name="upgradeUrl"
      label="Upgrade address"
      state={state}
      hint="Where a customer buys more. The usage widget links to it; empty: no link."
    />
    <TextField
      name="sampleBytesMax"
      label="Sample storage, in bytes"
      state={state}
      numeric
      hint="The most bytes that stored samples may take; 256 MiB are 268,435,456. Beyond it, new samples are refused until old ones expire."
    />
    <Checkbox
      name="allowUnpricedModels"
      label="Allow models without a price"
      state={state}
      hint="Browser sessions, and calls that credit pays, may then use them. Their cost is unknown, so credit is not charged."
    />
    <TextArea
      name="creditOpen"
      label="Open for credit"
      state={state}
      hint="What credit may pay for although its cost has no bound or no rate. One per line: field:chat/min_p, component:codeMinutes, or * for everything. What the vendor then reports without a rate is charged by the hold until it can be priced."
    />
    <div class="submit">
      <button type="submit" class="primary">
        Save
      </button>
    </div>
  </Form>
);
