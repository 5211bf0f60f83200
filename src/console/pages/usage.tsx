/**
 * The usage of one organization over a period of days, by every dimension, optionally for one customer or one
 * feature.
 */

import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { Attention } from '../../contract/attention.ts';
import type { OrganizationSetup } from '../../contract/operator.ts';
import type { UsageSummaryData } from '../../contract/usage-summary.ts';
import type { OrganizationId } from '../../domain/ids.ts';
import { asCustomerId } from '../../domain/ids.ts';
import { gatherAttention } from '../../operator/attention.ts';
import { checkHealth } from '../../operator/health.ts';
import { findSetup } from '../../operator/organization-setup.ts';
import { readOrganizationUsage } from '../../operator/readings.ts';
import { readUsageCourse, type UsageCourse } from '../../readings/usage/course.ts';
import { type FormState, GetForm, TextField } from '../../ui/form.tsx';
import { plural, timeSpan } from '../../ui/format.ts';
import { Card, Empty, Notice, Time } from '../../ui/parts.tsx';
import { FoldedAttention } from '../attention-view.tsx';
import { deferrer } from '../caller.ts';
import { type ConsoleContext, type ConsoleEnv, customerPath, organizationPath } from '../context.ts';
import { type AskedDays, completeSinceText, parseAskedDays, RangeTabs } from '../day-range.tsx';
import { firstStepsPage } from '../first-steps.tsx';
import { hiddenSetups } from '../hidden-setups.ts';
import { EarnedStats, readEarned } from '../margin-view.tsx';
import { load, refusalDetails } from '../send.ts';
import { Checklist } from '../setup-view.tsx';
import { page } from '../shell.tsx';
import { statusWords } from '../statuses.ts';
import { ModelAndFeatureRankings, SummaryRanking, UsageCharts, UsageTotals } from '../usage-view.tsx';

/** The most models that the charts name, by cost. */
const CHARTED_MODELS_MAX = 3;

export function mountUsage(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org', async (c) => {
    const nowMs = Date.now();
    const asked = filled(c.req.query());
    const days = parseAskedDays(asked, nowMs);
    const { feature } = asked;
    const customerId = asked.customerId === undefined ? undefined : asCustomerId(asked.customerId);
    // The charts have whole UTC days.
    const query = { customerId, feature, ...days.dates, timezone: 'UTC' };
    const narrowed = customerId !== undefined || feature !== undefined;
    const organization = c.get('organization');
    const answer = await load(c, readOrganizationUsage, { query });
    if (!answer.ok) return usagePage(c, asked, days, null, refusalDetails(answer.refusal));
    const { period, byModel, totals } = answer.data;
    const filter = {
      fromMs: Date.parse(period.startedAt),
      toMs: Date.parse(period.endedAt),
      customerId,
      feature,
    };
    const isHidden = hiddenSetups(c).includes(organization.organizationId);
    const first = !narrowed && totals.calls === 0 && !isHidden ? await firstStepsPage(c, 'Usage') : null;
    if (first) return first;
    const models = byModel.slice(0, CHARTED_MODELS_MAX).map(({ model }) => model ?? '');
    // If there is any cost, the setup was complete.
    const looksNew = !narrowed && totals.costUsdNano === '0';
    const [earned, course, setup, attention] = await Promise.all([
      readEarned(c, query),
      readUsageCourse(c.env, organization.organizationId, filter, models, nowMs),
      looksNew && !isHidden ? findSetup(c.env, organization, nowMs) : null,
      narrowed ? null : readOwnAttention(c, nowMs),
    ]);
    const read = { summary: answer.data, earned, course, attention, setup: setup?.complete === false ? setup : null };
    return usagePage(c, asked, days, read, []);
  });
}

function readOwnAttention(c: ConsoleContext, nowMs: number): Promise<Attention> {
  const defer = deferrer(c);
  return gatherAttention(c.env, defer, {
    organizations: [c.get('organization')],
    health: checkHealth(c.env, defer),
    nowMs,
  });
}

type Asked = Record<string, string>;

/** The query without empty parameters, which a form sends too. */
function filled(query: Asked): Asked {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));
}

interface Read {
  summary: UsageSummaryData;
  /** `null` if the page shows one feature. */
  earned: Awaited<ReturnType<typeof readEarned>>;
  course: UsageCourse;
  /** `null` if the page shows one customer or one feature. */
  attention: Attention | null;
  /** `null` if it is complete or hidden. */
  setup: OrganizationSetup | null;
}

function usagePage(c: ConsoleContext, asked: Asked, days: AskedDays, read: Read | null, details: FormState['details']) {
  const data = read?.summary;
  const { organizationId, name } = c.get('organization');
  const path = organizationPath(organizationId);
  return page(
    c,
    {
      title: 'Usage',
      sub: data && (
        <>
          {name} · {timeSpan(Date.parse(data.period.startedAt), Date.parse(data.period.endedAt))}
          {completeSinceText(data)} · complete up to <Time at={data.asOf} nowMs={Date.now()} brief />
        </>
      ),
      status: details.length > 0 ? 400 : 200,
      actions: <RangeTabs path={path} query={kept(asked)} range={days.range} />,
    },
    <>
      {read?.attention && <FoldedAttention attention={read.attention} />}
      {read?.setup && (
        <Checklist organizationId={organizationId} setup={read.setup} origin={new URL(c.req.url).origin} />
      )}
      <Filters path={path} state={{ values: asked, details }} />
      {read && (
        <Summary
          data={read.summary}
          earned={read.earned}
          course={read.course}
          path={path}
          organizationId={organizationId}
          asked={asked}
          days={days}
        />
      )}
    </>,
  );
}

function kept({ customerId, feature }: Asked): Asked {
  return { ...(customerId && { customerId }), ...(feature && { feature }) };
}

const Filters: FC<{ path: string; state: FormState }> = ({ path, state }) => (
  <details class="fold" open={['from', 'to', 'customerId', 'feature'].some((name) => state.values[name] !== undefined)}>
    <summary>Filter</summary>
    <GetForm action={path} state={state}>
      <div class="filters">
        <TextField name="from" label="Start date (UTC)" type="date" />
        <TextField name="to" label="End date (exclusive)" type="date" />
        <TextField name="customerId" label="Customer id" />
        <TextField name="feature" label="Feature" />
        <button type="submit">Apply</button>
        <a class="button" href={path}>
          Clear
        </a>
      </div>
    </GetForm>
  </details>
);

interface SummaryProps {
  data: UsageSummaryData;
  earned: Read['earned'];
  course: UsageCourse;
  path: string;
  organizationId: OrganizationId;
  asked: Asked;
  days: AskedDays;
}

const Summary: FC<SummaryProps> = ({ data, earned, course, path, organizationId, asked, days }) => {
  const { startedAt, endedAt } = data.period;
  const callsOfModel = (model: string) =>
    `${path}/calls?${new URLSearchParams({ ...kept(asked), model, from: startedAt, to: endedAt })}`;
  return (
    <>
      {data.backlog.customers > 0 && (
        <Notice tone="warn" title="Reports are behind.">
          The changes of {plural(data.backlog.customers, 'customer')} could not be sent yet. Metering goes on; the
          figures follow.
        </Notice>
      )}
      <UsageTotals summary={data} unpricedHref={`${path}/unpriced`}>
        {earned && (
          <EarnedStats
            earned={earned}
            {...(asked.customerId === undefined && { href: `${path}/margin?${new URLSearchParams(days.query)}` })}
          />
        )}
      </UsageTotals>
      {data.totals.calls === 0 && (
        <Card>
          <Empty title="No calls in this period">
            Calls appear here within seconds of their end. The <a href={`${path}/setup#step-call`}>setup</a> has what
            the first call needs, and commands that make it.
          </Empty>
        </Card>
      )}
      <UsageCharts course={course} linkOf={periodCallsLink(path, asked)} />
      <div class="grid thirds">
        <ModelAndFeatureRankings
          summary={data}
          model={callsOfModel}
          feature={(feature) => `${path}?${new URLSearchParams({ ...asked, feature })}`}
        />
        <SummaryRanking
          title="By customer"
          groups={data.byCustomer}
          totals={data.totals}
          nameOf={({ customerId }) => <a href={customerPath({ organizationId, customerId })}>{customerId}</a>}
        />
        <SummaryRanking
          title="By vendor"
          groups={data.byProvider}
          totals={data.totals}
          nameOf={({ provider }) => provider ?? 'not reported'}
        />
        <SummaryRanking
          title="By outcome"
          groups={data.byOutcome}
          totals={data.totals}
          nameOf={({ outcome }) => statusWords(outcome)}
        />
      </div>
    </>
  );
};

/** The address of the calls that began in an hour or on a day of the chart, with the page's filters. */
function periodCallsLink(path: string, asked: Asked) {
  return ({ fromMs, toMs }: { fromMs: number; toMs: number }) => {
    const [from, to] = [fromMs, toMs].map((atMs) => new Date(atMs).toISOString()) as [string, string];
    return `${path}/calls?${new URLSearchParams({ ...kept(asked), from, to })}`;
  };
}
