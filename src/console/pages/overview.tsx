/**
 * The whole service at a glance: usage of all organizations, each of them in a line, and whether everything runs.
 */

import type { Hono } from 'hono';
import type { Child, FC } from 'hono/jsx';
import type { z } from 'zod';
import type { CatalogInfo } from '../../contract/catalog.ts';
import type { Health, Organization, OrganizationSetup } from '../../contract/operator.ts';
import type { Env } from '../../env.ts';
import { readCatalog } from '../../operator/catalog.ts';
import { readHealth } from '../../operator/health.ts';
import { findSetup } from '../../operator/organization-setup.ts';
import { listOrganizations } from '../../operator/organizations.ts';
import { log } from '../../platform/log.ts';
import { DAY_MS } from '../../platform/time.ts';
import type { RadarView } from '../../radar/models.ts';
import { radarView } from '../../radar/read-radar.ts';
import { sumUsage, type UsageGroup } from '../../storage/usage.ts';
import { Sparkline } from '../../ui/charts.tsx';
import { byteSize, count, plural } from '../../ui/format.ts';
import { Badge, Card, Compact, Empty, Facts, Time, Usd } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { deferrer } from '../caller.ts';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleEnv, customerPath, organizationPath } from '../context.ts';
import { hiddenSetups } from '../hidden-setups.ts';
import { ModelName } from '../model-name.tsx';
import { type EndingModel, firstToEnd, ModelsThatEnd, readEndingModels } from '../models-that-end.tsx';
import { refused } from '../refused.tsx';
import { SetupLine } from '../setup-view.tsx';
import { page } from '../shell.tsx';
import { chartedDays, type DayUsage, type GroupUsage, UsageCharts, UsageRanking, UsageTotals } from '../usage-view.tsx';

const DAYS = 30;
/** What ends later is not shown. */
const HORIZON_DAYS = 180;
/** Organizations that the totals cover; the list of organizations has them all. */
const ORGANIZATIONS_MAX = 20;
/** New organizations whose setup is looked at. */
const SETUPS_MAX = 3;
/** Groups of one dimension and organization that count in the rankings. */
const GROUPS_MAX = 12;

interface OrganizationUsage {
  organization: Organization;
  /** Its figures could not be read: there are none here. */
  unread: boolean;
  days: DayUsage[];
  models: UsageGroup[];
  features: UsageGroup[];
  customers: UsageGroup[];
  ending: EndingModel[];
}

export function mountOverview(app: Hono<ConsoleEnv>): void {
  app.get('/', async (c) => {
    const nowMs = Date.now();
    const [organizations, health, catalog] = await Promise.all([
      listOrganizations(c.env, { limit: ORGANIZATIONS_MAX, after: null }),
      readHealth(c.env, deferrer(c)),
      readCatalog(c.env, deferrer(c)),
    ]);
    if (!organizations.ok) return refused(c, organizations.refusal);
    const { view } = await radarView(c.env, deferrer(c), HORIZON_DAYS, nowMs);
    const usage = await Promise.all(
      organizations.data.items.map((organization) => readUsage(c.env, organization, view)),
    );
    const setups = await readSetups(c, usage, nowMs);
    const ending = usage.flatMap((one) => one.ending);
    const first = await firstToEnd(view, ending);
    const more = organizations.data.nextCursor !== null;
    return page(
      c,
      {
        title: 'Overview',
        sub: `The last ${DAYS} days, UTC${more ? `, of the first ${ORGANIZATIONS_MAX} organizations` : ''}`,
        actions: (
          <a class="button primary" href={`${CONSOLE_PATH}/organizations/new`}>
            New organization
          </a>
        ),
      },
      <Overview
        usage={usage}
        setups={setups}
        ending={<ModelsThatEnd models={first} more={ending.length - first.length} />}
        nowMs={nowMs}
        health={health.ok ? health.data : null}
        catalog={catalog.ok ? catalog.data : null}
      />,
    );
  });
}

interface Setup {
  organization: Organization;
  setup: OrganizationSetup;
}

/** Those that are not complete, of organizations without a cost; a hidden one is left out. */
async function readSetups(c: ConsoleContext, usage: readonly OrganizationUsage[], nowMs: number): Promise<Setup[]> {
  const hidden = hiddenSetups(c);
  const looksNew = (one: OrganizationUsage) =>
    !one.unread && sumOf(one) === 0n && !hidden.includes(one.organization.organizationId);
  const organizations = usage.filter(looksNew).slice(0, SETUPS_MAX);
  const setups = await Promise.all(
    organizations.map(async ({ organization }) => ({
      organization,
      setup: await findSetup(c.env, organization, nowMs),
    })),
  );
  return setups.filter(({ setup }) => !setup.complete);
}

/** Where the figures of one organization cannot be read, the others are shown all the same. */
async function readUsage(env: Env, organization: Organization, view: RadarView): Promise<OrganizationUsage> {
  const days = lastDays(view.nowMs);
  try {
    const [sums, ending] = await Promise.all([
      sumDays(env, organization, days),
      readEndingModels(env, organization, view),
    ]);
    return { organization, unread: false, ...sums, ending };
  } catch (error) {
    const { organizationId } = organization;
    log('warn', 'organization_usage_not_read', { organizationId }, error);
    const nothing = { models: [], features: [], customers: [], ending: [] };
    return { organization, unread: true, days: lastDays(view.nowMs), ...nothing };
  }
}

function lastDays(nowMs: number): DayUsage[] {
  const firstMs = nowMs - (nowMs % DAY_MS) - (DAYS - 1) * DAY_MS;
  return Array.from({ length: DAYS }, (_, index) => emptyDay(firstMs + index * DAY_MS));
}

async function sumDays(
  env: Env,
  { organizationId }: Organization,
  days: DayUsage[],
): Promise<Omit<OrganizationUsage, 'organization' | 'unread' | 'ending'>> {
  const firstMs = days[0]?.startMs ?? 0;
  const filter = { fromMs: firstMs, toMs: firstMs + DAYS * DAY_MS };
  const borders = days.map(({ startMs }) => ({ startMs, endMs: startMs + DAY_MS }));
  const dimensions = ['day', 'model', 'feature', 'customer'] as const;
  const { day, model, feature, customer } = await sumUsage(
    env,
    organizationId,
    filter,
    dimensions,
    GROUPS_MAX,
    borders,
  );
  for (const group of day) addTo(days[Number(group.key)], group);
  return { days, models: model, features: feature, customers: customer };
}

function emptyDay(startMs: number): DayUsage {
  return {
    startMs,
    calls: 0,
    unpricedCalls: 0,
    inputTokens: 0,
    outputTokens: 0,
    costNanoUsd: 0n,
    provisionalCostNanoUsd: 0n,
  };
}

function addTo(day: DayUsage | undefined, usage: Omit<DayUsage, 'startMs'>): void {
  if (!day) return;
  day.calls += usage.calls;
  day.unpricedCalls += usage.unpricedCalls;
  day.inputTokens += usage.inputTokens;
  day.outputTokens += usage.outputTokens;
  day.costNanoUsd += usage.costNanoUsd;
  day.provisionalCostNanoUsd += usage.provisionalCostNanoUsd;
}

interface OverviewProps {
  usage: OrganizationUsage[];
  setups: Setup[];
  ending: Child;
  nowMs: number;
  health: Health | null;
  catalog: z.infer<typeof CatalogInfo> | null;
}

const Overview: FC<OverviewProps> = ({ usage, setups, ending, nowMs, health, catalog }) => {
  if (usage.length === 0) {
    return (
      <>
        <Card>
          <Empty title="No organization yet">
            An organization has plans, keys and customers of its own.{' '}
            <a href={`${CONSOLE_PATH}/organizations/new`}>Create the first one</a>.
          </Empty>
        </Card>
        <Running nowMs={nowMs} health={health} catalog={catalog} />
      </>
    );
  }
  const days = usage[0]?.days.map((day) => emptyDay(day.startMs)) ?? [];
  for (const one of usage) for (const [index, day] of one.days.entries()) addTo(days[index], day);
  const total = days.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n);
  return (
    <>
      <Setups setups={setups} />
      <UsageTotals days={days} />
      <UsageCharts usage={chartedDays(days)} />
      <div class="grid thirds">
        <UsageRanking
          title="By model"
          total={total}
          groups={merged(
            usage.flatMap(({ models }) => models),
            'not reported',
            (key) => <ModelName name={key} />,
          )}
        />
        <UsageRanking
          title="By feature"
          total={total}
          groups={merged(
            usage.flatMap(({ features }) => features),
            'none',
          )}
        />
        <UsageRanking title="By customer" total={total} groups={customersOf(usage)} />
      </div>
      {ending}
      <Card title="Organizations">
        <Table caption="Organizations" rows={usage} columns={ORGANIZATION_COLUMNS} />
      </Card>
      <Running nowMs={nowMs} health={health} catalog={catalog} />
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

const sumOf = ({ days }: OrganizationUsage) => days.reduce((sum, day) => sum + day.costNanoUsd, 0n);
const callsOf = ({ days }: OrganizationUsage) => days.reduce((sum, day) => sum + day.calls, 0);

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
    cell: (usage: OrganizationUsage) => !usage.unread && <Compact value={callsOf(usage)} />,
  },
  { title: 'Cost', figure: true, cell: (usage: OrganizationUsage) => !usage.unread && <Usd nano={sumOf(usage)} /> },
];

/** Groups of the same name as one, the dearest first. */
function merged(
  groups: readonly UsageGroup[],
  absent: string,
  named: (key: string) => GroupUsage['name'] = (key) => key,
): GroupUsage[] {
  const byName = Map.groupBy(groups, ({ key }) => key);
  return [...byName]
    .map(([key, same]) => ({
      name: key === '' ? <span class="quiet">{absent}</span> : named(key),
      calls: same.reduce((sum, { calls }) => sum + calls, 0),
      costNanoUsd: same.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n),
    }))
    .sort(byCost);
}

function customersOf(usage: readonly OrganizationUsage[]): GroupUsage[] {
  return usage
    .flatMap(({ organization, customers }) =>
      customers.map(({ key, calls, costNanoUsd }) => ({
        name: (
          <>
            <a href={customerPath(organization.organizationId, key)}>{key}</a>
            {usage.length > 1 && <span class="quiet"> {organization.name}</span>}
          </>
        ),
        calls,
        costNanoUsd,
      })),
    )
    .sort(byCost);
}

function byCost(a: GroupUsage, b: GroupUsage): number {
  return a.costNanoUsd === b.costNanoUsd ? b.calls - a.calls : a.costNanoUsd < b.costNanoUsd ? 1 : -1;
}

/** Whether everything runs. */
const Running: FC<Pick<OverviewProps, 'nowMs' | 'health' | 'catalog'>> = ({ nowMs, health, catalog }) => (
  <div class="grid">
    <Card title="Service" actions={<a href={`${CONSOLE_PATH}/health`}>Health</a>}>
      {health && (
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
      )}
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
