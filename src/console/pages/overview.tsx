/**
 * The whole service at a glance: usage of all organizations, a line for each of them, and the state of the service.
 */

import type { Hono } from 'hono';
import type { Child, FC } from 'hono/jsx';
import type { z } from 'zod';
import { ATTENTION_ORGANIZATIONS_MAX, type Attention } from '../../contract/attention.ts';
import type { CatalogInfo } from '../../contract/catalog.ts';
import type { Health, Organization, OrganizationSetup } from '../../contract/operator.ts';
import { asCustomerId, type OrganizationId } from '../../domain/ids.ts';
import { gatherAttention } from '../../operator/attention.ts';
import { readCatalog } from '../../operator/catalog.ts';
import { checkHealth } from '../../operator/health.ts';
import { findSetup } from '../../operator/organization-setup.ts';
import { listOrganizationPage } from '../../operator/organizations.ts';
import {
  type OrganizationUsage,
  OVERVIEW_DAYS,
  readServiceUsage,
  type ServiceUsage,
  sumOfDays,
} from '../../operator/service-usage.ts';
import { byteSize, count, plural } from '../../ui/format.ts';
import { Badge, Card, Compact, Empty, Facts, Time } from '../../ui/parts.tsx';
import { Sparkline } from '../../ui/small-charts.tsx';
import { Table } from '../../ui/table.tsx';
import { NeedsAttention } from '../attention-view.tsx';
import { deferrer } from '../caller.ts';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleEnv, customerPath, organizationPath } from '../context.ts';
import { Cost } from '../cost.tsx';
import { hiddenSetups } from '../hidden-setups.ts';
import { ModelName } from '../model-name.tsx';
import { load } from '../send.ts';
import { SetupLine } from '../setup-view.tsx';
import { page } from '../shell.tsx';
import { type GroupUsage, UsageCharts, UsageRanking, UsageTotals } from '../usage-view.tsx';

/** The most new organizations whose setup is read. */
const SETUPS_MAX = 3;
/** The most organizations that are listed beside a name they share. */
const NAMED_MAX = 3;

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
    const setups = await readSetups(c, usage.organizations, nowMs);
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
    !one.unread && totalCost(one) === 0n && !hidden.includes(one.organization.organizationId);
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
  usage: ServiceUsage;
  attention: Attention;
  setups: Setup[];
  nowMs: number;
  health: Health;
  catalog: z.infer<typeof CatalogInfo> | null;
}

/** In an operator's order of reading: tasks, totals, their parts, and the state of the service. */
const Overview: FC<OverviewProps> = ({
  usage: { organizations, course },
  attention,
  setups,
  nowMs,
  health,
  catalog,
}) => {
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
  const days = sumOfDays(organizations);
  const fromMs = days[0]?.startMs ?? nowMs;
  const total = days.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n);
  // Without a call in any organization, the steps to the first one are all that there is to show.
  if (setups.length > 0 && organizations.every((one) => !one.unread && totalCalls(one) === 0)) {
    return (
      <>
        <NeedsAttention attention={attention} />
        <Setups setups={setups} />
        {running}
      </>
    );
  }
  const [only, ...others] = organizations;
  const single = others.length === 0 ? only : undefined;
  return (
    <>
      <NeedsAttention attention={attention} />
      <Setups setups={setups} />
      <UsageTotals
        days={days}
        unpricedHref={single ? organizationPath(single.organization.organizationId, 'unpriced') : '#attention'}
      />
      {course && <UsageCharts course={course} linkOf={single && callsOn(single.organization.organizationId)} />}
      <div class="grid thirds">
        <UsageRanking
          title="By model"
          total={total}
          groups={merged(organizations, ({ models }) => models, {
            absent: 'not reported',
            name: (key) => <ModelName name={key} />,
            href: (organizationId, key) =>
              `${organizationPath(organizationId, 'calls')}?${new URLSearchParams({ model: key, from: iso(fromMs) })}`,
          })}
        />
        <UsageRanking
          title="By feature"
          total={total}
          groups={merged(organizations, ({ features }) => features, {
            absent: 'none',
            name: (key) => key,
            href: (organizationId, feature) =>
              `${organizationPath(organizationId)}?${new URLSearchParams({ feature })}`,
          })}
        />
        <UsageRanking title="By customer" total={total} groups={mergeCustomers(organizations)} />
      </div>
      {single && !single.unread ? null : (
        <Card title="Organizations">
          <Table caption="Organizations" rows={organizations} columns={ORGANIZATION_COLUMNS} />
        </Card>
      )}
      {running}
    </>
  );
};

const iso = (atMs: number) => new Date(atMs).toISOString();

function callsOn(organizationId: OrganizationId) {
  return ({ fromMs, toMs }: { fromMs: number; toMs: number }) =>
    `${organizationPath(organizationId, 'calls')}?${new URLSearchParams({ from: iso(fromMs), to: iso(toMs) })}`;
}

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

const totalCost = ({ days }: OrganizationUsage) => days.reduce((sum, day) => sum + day.costNanoUsd, 0n);
const totalUnpriced = ({ days }: OrganizationUsage) => days.reduce((sum, day) => sum + day.unpricedCalls, 0);
const totalCalls = ({ days }: OrganizationUsage) => days.reduce((sum, day) => sum + day.calls, 0);

const ORGANIZATION_COLUMNS = [
  {
    title: 'Organization',
    heading: true,
    cell: ({ organization }: OrganizationUsage) => (
      <a href={organizationPath(organization.organizationId)}>{organization.name}</a>
    ),
  },
  {
    title: 'Default plan',
    cell: ({ organization }: OrganizationUsage) => organization.defaultPlanId ?? <Badge tone="warn">none</Badge>,
  },
  {
    title: 'Calls a day',
    cell: ({ organization, days, unread }: OrganizationUsage) =>
      unread ? (
        <Badge tone="bad">its figures cannot be read</Badge>
      ) : (
        <Sparkline values={days.map(({ calls }) => calls)} label={`Calls a day of ${organization.name}`} />
      ),
  },
  {
    title: 'Calls',
    figure: true,
    cell: (usage: OrganizationUsage) => !usage.unread && <Compact value={totalCalls(usage)} />,
  },
  {
    title: 'Cost',
    figure: true,
    cell: (usage: OrganizationUsage) =>
      !usage.unread && <Cost costNanoUsd={totalCost(usage)} unpricedCalls={totalUnpriced(usage)} />,
  },
];

interface Naming {
  /** The name for calls without a name. */
  absent: string;
  name: (key: string) => Child;
  href: (organizationId: OrganizationId, key: string) => string;
}

type Group = Pick<GroupUsage, 'calls' | 'unpricedCalls' | 'costNanoUsd'> & { key: string };

/**
 * Merges groups with the same name, the highest cost first. If a group is in one organization, its name is a link; else
 * each organization is.
 */
function merged(
  usage: readonly OrganizationUsage[],
  getGroups: (one: OrganizationUsage) => readonly Group[],
  { absent, name, href }: Naming,
): GroupUsage[] {
  const groups = usage.flatMap((one) => getGroups(one).map((group) => ({ ...group, organization: one.organization })));
  return [...Map.groupBy(groups, ({ key }) => key)]
    .map(([key, same]) => ({
      name:
        key === '' ? (
          <span class="quiet">{absent}</span>
        ) : same.length === 1 && same[0] ? (
          <a href={href(same[0].organization.organizationId, key)}>{name(key)}</a>
        ) : (
          <>
            {name(key)}
            <span class="quiet named">
              {same.slice(0, NAMED_MAX).map(({ organization }) => (
                <a href={href(organization.organizationId, key)}>{organization.name}</a>
              ))}
              {same.length > NAMED_MAX && `and ${count(same.length - NAMED_MAX)} more`}
            </span>
          </>
        ),
      calls: same.reduce((sum, { calls }) => sum + calls, 0),
      unpricedCalls: same.reduce((sum, { unpricedCalls }) => sum + unpricedCalls, 0),
      costNanoUsd: same.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n),
    }))
    .sort(byCost);
}

function mergeCustomers(usage: readonly OrganizationUsage[]): GroupUsage[] {
  return usage
    .flatMap(({ organization, customers }) =>
      customers.map(({ key, calls, unpricedCalls, costNanoUsd }) => ({
        name: (
          <>
            <a href={customerPath({ organizationId: organization.organizationId, customerId: asCustomerId(key) })}>
              {key}
            </a>
            {usage.length > 1 && <span class="quiet"> {organization.name}</span>}
          </>
        ),
        calls,
        unpricedCalls,
        costNanoUsd,
      })),
    )
    .sort(byCost);
}

function byCost(a: GroupUsage, b: GroupUsage): number {
  return a.costNanoUsd === b.costNanoUsd ? b.calls - a.calls : a.costNanoUsd < b.costNanoUsd ? 1 : -1;
}

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
