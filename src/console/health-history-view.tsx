/**
 * The last 24 hours of the service: calls by outcome, requests and their latency, the delay of the reports, and the
 * cron.
 */
import type { FC } from 'hono/jsx';
import type { HealthHistory, RequestKind } from '../contract/health-history.ts';
import { TimeChart } from '../ui/charts.tsx';
import { compact, count, dayMonth, duration, hourOfDay, percent, plural } from '../ui/format.ts';
import { Badge, Card, Nothing, Stat, Time } from '../ui/parts.tsx';
import { Table } from '../ui/table.tsx';

const KINDS: Record<RequestKind, string> = {
  begin: 'POST /call_begin',
  end: 'POST /call_end',
  gateway: 'Gateway and unified call',
  other: 'All others',
};

const CRON: Record<HealthHistory['cron'][number]['name'], string> = {
  housekeeping: 'Housekeeping, hourly',
  import: 'Catalog import, daily',
};

export const HealthHistoryView: FC<{ history: HealthHistory; nowMs: number }> = ({ history, nowMs }) => {
  const { hours, totals, requests, cron, truncated } = history;
  const chart = {
    step: 'Hour',
    labels: hours.map(({ startedAt }) => hourLabel(Date.parse(startedAt))),
    isLastOpen: true,
  };
  const begin = requests.find(({ kind }) => kind === 'begin');
  const asked = requests.reduce((sum, one) => sum + one.requests, 0);
  const errors = requests.reduce((sum, { serverErrors }) => sum + serverErrors, 0);
  return (
    <>
      <h2>Last 24 hours</h2>
      <dl class="stats">
        <Stat
          label="Calls"
          sub={truncated ? 'of the 1,000 organizations with the most customers' : 'of all organizations'}
        >
          <span class="num">{count(totals.calls)}</span>
        </Stat>
        <Stat label="Failed calls" sub="of those that ran">
          <Share value={totals.failedShare} />
        </Stat>
        <Stat label="Denied calls" sub="of all">
          <Share value={totals.deniedShare} />
        </Stat>
        <Stat label="Server errors" sub={`in ${plural(asked, 'request')}`}>
          <span class="num">{count(errors)}</span>
        </Stat>
        <Stat label="call_begin, 95 %" sub="answered within">
          <Milliseconds value={begin?.p95Ms ?? null} />
        </Stat>
        <Stat label="Longest wait" sub="of a change for the reports">
          <Milliseconds value={totals.longestWaitMs} />
        </Stat>
      </dl>
      <div class="grid">
        <Card title="Calls per hour" wide>
          <TimeChart
            {...chart}
            title="Calls per hour"
            series={[
              {
                name: 'Completed',
                values: hours.map((hour) => hour.calls - hour.failedCalls - hour.timedOutCalls - hour.deniedCalls),
              },
              { name: 'Failed', values: hours.map(({ failedCalls }) => failedCalls) },
              { name: 'Denied', values: hours.map(({ deniedCalls }) => deniedCalls) },
              { name: 'Timed out', values: hours.map(({ timedOutCalls }) => timedOutCalls) },
            ]}
            format={count}
            tick={compact}
          />
        </Card>
        <Card title="Longest wait for the reports" note={deliveries(history)}>
          <TimeChart
            {...chart}
            title="Longest wait for the reports"
            series={[{ name: 'Wait', values: hours.map(({ longestWaitMs }) => longestWaitMs ?? 0) }]}
            format={duration}
            tick={duration}
          />
        </Card>
        <Card title="Server errors per hour" note="Requests that were answered with a status from 500 on.">
          <TimeChart
            {...chart}
            title="Server errors per hour"
            series={[{ name: 'Errors', values: hours.map(({ serverErrors }) => serverErrors) }]}
            format={count}
            tick={compact}
          />
        </Card>
        <Card
          title="Latency"
          wide
          note="Until an answer began; the gateway's include the vendor. Each isolate of the Worker sends its figures every ten seconds while it has requests: the last ones may be missing."
        >
          <Table
            caption="Latency"
            rows={requests}
            columns={[
              { title: 'Requests to', heading: true, cell: ({ kind }) => KINDS[kind] },
              { title: 'Requests', figure: true, cell: (one) => <span class="num">{count(one.requests)}</span> },
              {
                title: 'Server errors',
                figure: true,
                cell: ({ serverErrors }) => <span class="num">{count(serverErrors)}</span>,
              },
              {
                title: 'Half within',
                figure: true,
                cell: ({ medianMs, ...one }) => <Within value={medianMs} of={one.requests} />,
              },
              {
                title: '95 % within',
                figure: true,
                cell: ({ p95Ms, ...one }) => <Within value={p95Ms} of={one.requests} />,
              },
            ]}
          />
        </Card>
        <Card title="Scheduled work" wide note="The last run of each, and those of the last 24 hours that failed.">
          {cron.length === 0 ? (
            <p class="quiet">No run is on record. The cron runs in a deployment, not on a developer's machine.</p>
          ) : (
            <Table
              caption="Scheduled work"
              rows={cron}
              columns={[
                { title: 'Work', heading: true, cell: ({ name }) => CRON[name] },
                { title: 'Started', cell: ({ startedAt }) => <Time at={startedAt} nowMs={nowMs} /> },
                {
                  title: 'Result',
                  cell: ({ ok, message }) => (
                    <span>
                      <Badge tone={ok ? 'good' : 'bad'}>{ok ? 'done' : 'failed'}</Badge> {message}
                    </span>
                  ),
                },
                { title: 'Took', figure: true, cell: ({ tookMs }) => duration(tookMs) },
              ]}
            />
          )}
        </Card>
      </div>
    </>
  );
};

function deliveries({ hours, totals }: HealthHistory): string {
  const made = hours.reduce((sum, hour) => sum + hour.deliveries, 0);
  return `${plural(made, 'transaction')} to D1, ${plural(totals.failedDeliveries, 'failed attempt')}.`;
}

/** The label of an hour, with its day, because the hours belong to two days. */
function hourLabel(atMs: number): string {
  return `${dayMonth(atMs)}, ${hourOfDay(atMs)}`;
}

const Share: FC<{ value: number | null }> = ({ value }) =>
  value === null ? <Nothing /> : <span class="num">{percent(value)}</span>;

const Milliseconds: FC<{ value: number | null }> = ({ value }) =>
  value === null ? (
    <Nothing />
  ) : (
    <data value={String(value)} class="num">
      {duration(value)}
    </data>
  );

/** A percentile. Above the last bound, only the bound is known. */
const Within: FC<{ value: number | null; of: number }> = ({ value, of }) =>
  value !== null ? <span class="num">{duration(value)}</span> : of === 0 ? <Nothing /> : <span>over 10 s</span>;
