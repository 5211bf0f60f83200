/**
 * The whole service at a glance: what needs a person, what changed against the 30 days before, a line for each
 * organization, and the state of the service. Usage by customer, model and feature is on the page Usage of an organization.
 */

import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { z } from 'zod';
import { ATTENTION_ORGANIZATIONS_MAX, type Attention } from '../../contract/attention.ts';
import type { CatalogInfo } from '../../contract/catalog.ts';
import type { Health, Organization, OrganizationSetup } from '../../contract/operator.ts';
import { usd } from '../../domain/money.ts';
import { gatherAttention } from '../../operator/attention.ts';
import { readCatalog } from '../../operator/catalog.ts';
import { checkHealth } from '../../operator/health.ts';
import { findSetup } from '../../operator/organization-setup.ts';
import { listOrganizationPage } from '../../operator/organizations.ts';
import { addTotals, type OrganizationUsage, OVERVIEW_DAYS, readServiceUsage } from '../../operator/service-usage.ts';
import { byteSize, count, plural } from '../../ui/format.ts';
import { Badge, Card, Compact, Empty, Facts, Nothing, Stat, Time } from '../../ui/parts.tsx';
import { Sparkline } from '../../ui/small-charts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { NeedsAttention } from '../attention-view.tsx';
import { deferrer } from '../caller.ts';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { Cost, CostStat, changeWords } from '../cost.tsx';
import { hiddenSetups } from '../hidden-setups.ts';
import { load } from '../send.ts';
import { SetupLine } from '../setup-view.tsx';
import { page } from '../shell.tsx';

/** The most new organizations whose setup is read. */
const SETUPS_MAX = 3;

export function mountOverview(app: Hono<ConsoleEnv>): void {
  app.get('/', async (c) => {
    const nowMs = Date.now();
    const defer = deferrer(c);
    const health = checkHealth(c.env, defer);
    const all = { limit: ATTENTION_ORGANIZATIONS_MAX, after: null };
    const { items: organizations, nextCursor } = await listOrganizationPage(c.env, all);
    const isMore = nextCursor !== null;
    const [usage, attention, catalog, service] = await Promise.all([
      readServiceUsage(c.env, organizations, nowMs),
      gatherAttention(c.env, defer, { organizations, isMore, health, nowMs }),
      load(c, readCatalog),
      health,
    ]);
    const setups = await readSetups(c, usage, nowMs);
    return page(
      c,
      {
        title: 'Overview',
        sub: `The last ${OVERVIEW_DAYS} days, UTC${isMore ? `, of the first ${ATTENTION_ORGANIZATIONS_MAX} organizations` : ''}`,
        actions: (
          <a class="button primary" href={`${CONSOLE_PATH}/organizations/new`}>
            New organization
          </a>
        ),
      },
      <Overview
        usage={usage}
        attention={attention}
        setups={setups}
        nowMs={nowMs}
        health={service}
        catalog={catalog.ok ? catalog.data : null}
      />,
    );
  });
}

interface Setup {
  organization: Organization;
  setup: OrganizationSetup;
}

/** The incomplete setups of organizations without a cost; hidden ones are left out. */
async function readSetups(c: ConsoleContext, usage: readonly OrganizationUsage[], nowMs: number): Promise<Setup[]> {
  const hidden = hiddenSetups(c);
  const looksNew = (one: OrganizationUsage) =>
    one.figures?.now.costNanoUsd === 0n && !hidden.includes(one.organization.organizationId);
  const organizations = usage.filter(looksNew).slice(0, SETUPS_MAX);
  const setups = await Promise.all(
    organizations.map(async ({ organization }) => ({
      organization,
      setup: await findSetup(c.env, organization, nowMs),
    })),
  );
  return setups.filter(({ setup }) => !setup.complete);
}

interface OverviewProps {
  usage: OrganizationUsage[];
  attention: Attention;
  setups: Setup[];
  nowMs: number;
  health: Health;
  catalog: z.infer<typeof CatalogInfo> | null;
}

/** In an operator's order of reading: tasks, changes, organizations, and the state of the service. */
const Overview: FC<OverviewProps> = ({ usage: organizations, attention, setups, nowMs, health, catalog }) => {
  const running = <Running nowMs={nowMs} health={health} catalog={catalog} />;
  if (organizations.length === 0) {
    return (
      <>
        <Card>
          <Empty title="No organization yet">
            An organization has plans, keys and customers of its own.{' '}
            <a href={`${CONSOLE_PATH}/organizations/new`}>Create the first one</a>.
          </Empty>
        </Card>
        {running}
      </>
    );
  }
  // Without a call in any organization, the steps to the first one are all that there is to show.
  if (setups.length > 0 && organizations.every(({ figures }) => figures?.now.calls === 0)) {
    return (
      <>
        <NeedsAttention attention={attention} />
        <Setups setups={setups} />
        {running}
      </>
    );
  }
  const [only, ...others] = organizations;
  const single = others.length === 0 ? only?.organization : undefined;
  return (
    <>
      <NeedsAttention attention={attention} />
      <Setups setups={setups} />
      <Changes
        usage={organizations}
        unpricedHref={single ? organizationPath(single.organizationId, 'unpriced') : '#attention'}
      />
      <Card title="Organizations">
        <Table caption="Organizations" rows={organizations} columns={ORGANIZATION_COLUMNS} />
      </Card>
      {running}
    </>
  );
};

const Setups: FC<{ setups: Setup[] }> = ({ setups }) =>
  setups.length === 0 ? null : (
    <Card title="Setup to complete">
      <ul>
        {setups.map(({ organization: { organizationId, name }, setup }) => (
          <SetupLine organizationId={organizationId} name={name} setup={setup} />
        ))}
      </ul>
    </Card>
  );

/** The figures of the organizations together. The change is known if the earlier days of all of them are kept. */
const Changes: FC<{ usage: readonly OrganizationUsage[]; unpricedHref: string }> = ({ usage, unpricedHref }) => {
  const known = usage.flatMap(({ figures }) => figures ?? []);
  const now = addTotals(known.map((figures) => figures.now));
  const kept = known.flatMap((figures) => figures.before ?? []);
  const before = kept.length === known.length ? addTotals(kept) : null;
  const isPriced = now.unpricedCalls === 0 && before?.unpricedCalls === 0;
  return (
    <dl class="stats">
      <CostStat
        {...now}
        unpricedHref={unpricedHref}
        note={isPriced && sinceBefore(now.costNanoUsd, before.costNanoUsd, usd)}
      />
      {COUNTED.map(([label, name]) => (
        <Stat label={label} sub={before && sinceBefore(now[name], before[name], count)}>
          <Compact value={now[name]} />
        </Stat>
      ))}
    </dl>
  );
};

const COUNTED = [
  ['Calls', 'calls'],
  ['Failed calls', 'failedCalls'],
  ['Denied calls', 'deniedCalls'],
] as const;

/** For example `up 12.5%, $4.00 in the 30 days before`. */
function sinceBefore<Value extends bigint | number>(now: Value, before: Value, show: (value: Value) => string): string {
  const change = changeWords({ now, before });
  return `${change === null ? '' : `${change}, `}${show(before)} in the ${OVERVIEW_DAYS} days before`;
}

const ORGANIZATION_COLUMNS: Column<OrganizationUsage>[] = [
  {
    title: 'Organization',
    heading: true,
    cell: ({ organization }) => <a href={organizationPath(organization.organizationId)}>{organization.name}</a>,
  },
  {
    title: 'Default plan',
    cell: ({ organization }) => organization.defaultPlanId ?? <Badge tone="warn">none</Badge>,
  },
  {
    title: 'Calls a day',
    cell: ({ organization, figures }) =>
      figures ? (
        <Sparkline
          values={figures.callsByDay}
          label={`Calls a day of ${organization.name}`}
          format={(calls) => plural(calls, 'call')}
        />
      ) : (
        <Badge tone="bad">its figures cannot be read</Badge>
      ),
  },
  { title: 'Calls', figure: true, cell: ({ figures }) => figures && <Compact value={figures.now.calls} /> },
  { title: 'Failed', figure: true, cell: ({ figures }) => figures && <Compact value={figures.now.failedCalls} /> },
  { title: 'Denied', figure: true, cell: ({ figures }) => figures && <Compact value={figures.now.deniedCalls} /> },
  { title: 'Cost', figure: true, phone: 'figure', cell: ({ figures }) => figures && <Cost {...figures.now} /> },
  {
    title: 'Cost before',
    figure: true,
    cell: ({ figures }) => (figures?.before?.calls ? <Cost {...figures.before} /> : <Nothing />),
  },
];

/** The state of the service. */
const Running: FC<Pick<OverviewProps, 'nowMs' | 'health' | 'catalog'>> = ({ nowMs, health, catalog }) => (
  <div class="grid">
    <Card title="Service" actions={<a href={`${CONSOLE_PATH}/health`}>Health</a>}>
      <Facts
        items={[
          ['Status', <Badge tone={health.status === 'ok' ? 'good' : 'bad'}>{health.status}</Badge>],
          [
            'Waiting for reports',
            health.backlog.oldestAt === null ? (
              'nobody'
            ) : (
              <>
                {plural(health.backlog.customers, 'customer')}, since{' '}
                <Time at={health.backlog.oldestAt} nowMs={nowMs} />
              </>
            ),
          ],
          [
            'Refused by reports',
            health.setAside.oldestAt === null ? (
              'nothing'
            ) : (
              <>
                {plural(health.setAside.rows, 'change')}, since <Time at={health.setAside.oldestAt} nowMs={nowMs} />
              </>
            ),
          ],
          ['Database', health.d1 ? byteSize(health.d1.bytes) : 'cannot be read'],
          ['Version', `${health.versions.service}, contract ${health.versions.contract}`],
        ]}
      />
    </Card>
    <Card title="Model catalog" actions={<a href={`${CONSOLE_PATH}/catalog`}>Catalog</a>}>
      {catalog && (
        <Facts
          items={[
            ['State', <Badge tone={catalog.problem ? 'bad' : 'good'}>{catalog.problem ?? 'in order'}</Badge>],
            ['Release', `${catalog.version}, ${catalog.source}`],
            [
              'Models',
              `${count(catalog.models)}: ${count(catalog.active)} active, ${count(catalog.deprecated)} deprecated, ${count(catalog.retired)} retired`,
            ],
          ]}
        />
      )}
    </Card>
  </div>
);
