/**
 * Health: whether every binding answers, the current catalog, waiting work, and the last 24 hours.
 */
import type { Hono } from 'hono';
import type { HealthHistory } from '../../contract/health-history.ts';
import { readHealth } from '../../operator/health.ts';
import { readHealthHistory } from '../../operator/health-history.ts';
import { log } from '../../platform/log.ts';
import { byteSize, count, duration, plural } from '../../ui/format.ts';
import { Badge, Card, Day, Facts, Notice, Time } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { HealthHistoryView } from '../health-history-view.tsx';
import { Live } from '../live.tsx';
import { refused } from '../refused.tsx';
import { load } from '../send.ts';
import { page } from '../shell.tsx';

const BINDINGS: Readonly<Record<string, string>> = {
  DB: 'Configuration and reports (D1)',
  KV: 'Catalog (KV)',
  CUSTOMERS: 'Customers (Durable Objects)',
  PROJECTORS: 'Delivery to the reports (Durable Objects)',
  CALL_DIRECTORY: 'Call directory (Durable Objects)',
  ARCHIVE: 'Archive (R2)',
};

export function mountHealth(app: Hono<ConsoleEnv>): void {
  app.get('/health', async (c) => {
    const [answer, history] = await Promise.all([load(c, readHealth), loadHistory(c)]);
    if (!answer.ok) return refused(c, answer.refusal);
    const { status, problems, checks, beginQueue, catalog, backlog, setAside, archive, d1, versions } = answer.data;
    const nowMs = Date.now();
    return page(
      c,
      { title: 'Health' },
      <Live id="health" says={`Health: ${status}`}>
        <p>
          <Badge tone={status === 'ok' ? 'good' : 'bad'}>{status}</Badge>
        </p>
        {problems.length > 0 && (
          <Notice tone="bad" title="Why:">
            <ul>
              {problems.map((problem) => (
                <li>{problem}</li>
              ))}
            </ul>
          </Notice>
        )}
        {history === null ? (
          <Notice tone="warn">The figures of the last 24 hours cannot be read for the moment.</Notice>
        ) : (
          <HealthHistoryView history={history} nowMs={nowMs} />
        )}
        <h2>Now</h2>
        <div class="grid">
          <Card title="Bindings" wide>
            <Table
              caption="Bindings"
              rows={checks}
              columns={[
                { title: 'Binding', heading: true, cell: ({ name }) => BINDINGS[name] ?? name },
                {
                  title: 'State',
                  cell: ({ ok, message }) => (
                    <span>
                      <Badge tone={ok ? 'good' : 'bad'}>{ok ? 'answers' : 'does not answer'}</Badge> {message}
                    </span>
                  ),
                },
                { title: 'Answered in', figure: true, cell: ({ latencyMs }) => duration(latencyMs) },
              ]}
            />
          </Card>
          <Card
            title="Begins that wait"
            note="Begins of calls that wait for their customers' objects, in the isolate that made this page."
          >
            <Facts
              items={[
                ['Begins', beginQueue.waiting === 0 ? 'none' : count(beginQueue.waiting)],
                ['The oldest for', beginQueue.oldestMs === null ? undefined : duration(beginQueue.oldestMs)],
                [
                  'Last refused',
                  beginQueue.refusedAt === null ? undefined : <Time at={beginQueue.refusedAt} nowMs={nowMs} />,
                ],
              ]}
            />
          </Card>
          <Card title="Backlog" note="Changes that have not reached the reports yet. Metering does not depend on them.">
            <Facts
              items={[
                ['Customers waiting', backlog.customers === 0 ? 'none' : plural(backlog.customers, 'customer')],
                ['Changes', backlog.changes === 0 ? 'none' : plural(backlog.changes, 'change')],
                ['Since', backlog.oldestAt === null ? undefined : <Time at={backlog.oldestAt} nowMs={nowMs} />],
              ]}
            />
          </Card>
          <Card title="Model catalog">
            <Facts
              items={[
                [
                  'State',
                  <Badge tone={catalog.warnings.length > 0 ? 'bad' : 'good'}>
                    {catalog.warnings.join('; ') || 'in order'}
                  </Badge>,
                ],
                ['Release', `${catalog.version}, ${catalog.source}`],
                ['Age', plural(catalog.ageDays, 'day')],
                ['Models', `${count(catalog.models)}, ${count(catalog.prices)} of them with a price`],
              ]}
            />
          </Card>
          <Card
            title="Refused changes"
            note="Changes that the reports' database refused for what is in them. The others go on."
          >
            <Facts
              items={[
                ['Changes', setAside.rows === 0 ? 'none' : plural(setAside.rows, 'change')],
                ['Since', setAside.oldestAt === null ? undefined : <Time at={setAside.oldestAt} nowMs={nowMs} />],
              ]}
            />
          </Card>
          {archive && (
            <Card
              title="Archive"
              note="Gets closed days before the database deletes them. Metering does not depend on it."
            >
              <Facts
                items={[
                  [
                    'State',
                    <Badge tone={archive.isLate ? 'bad' : 'good'}>{archive.isLate ? 'late' : 'in order'}</Badge>,
                  ],
                  ['Closed days that it lacks', archive.days === 0 ? 'none' : count(archive.days)],
                  ['The oldest', archive.oldestDay === null ? undefined : <Day day={archive.oldestDay} />],
                  ['Erasures to apply', archive.erasures === 0 ? 'none' : count(archive.erasures)],
                ]}
              />
            </Card>
          )}
          <Card
            title="Databases"
            wide
            note={d1 ? 'Organizations stay in the database that they were created in.' : 'Not available.'}
          >
            {d1 && (
              <Table
                caption="Databases"
                rows={d1.databases}
                columns={[
                  { title: 'Database', heading: true, cell: ({ name }) => name },
                  {
                    title: 'Size',
                    figure: true,
                    cell: ({ bytes, bytesMax, isNearlyFull }) => (
                      <span>
                        {isNearlyFull && <Badge tone="bad">nearly full</Badge>} {byteSize(bytes)} of{' '}
                        {byteSize(bytesMax)}
                      </span>
                    ),
                  },
                  {
                    title: 'Growth a day',
                    figure: true,
                    cell: ({ growthBytesPerDay }) =>
                      growthBytesPerDay === null ? undefined : byteSize(growthBytesPerDay),
                  },
                  {
                    title: 'Full',
                    cell: ({ fullAt }) => (fullAt === null ? undefined : <Time at={fullAt} nowMs={nowMs} />),
                  },
                ]}
              />
            )}
          </Card>
          <Card title="Largest organizations" wide>
            {d1 && (
              <Table
                caption="Largest organizations"
                rows={d1.organizations}
                columns={[
                  {
                    title: 'Organization',
                    heading: true,
                    cell: ({ organizationId, name }) => <a href={organizationPath(organizationId)}>{name}</a>,
                  },
                  { title: 'Customers', figure: true, cell: ({ customers }) => count(customers) },
                  { title: 'Calls in 7 days', figure: true, cell: ({ callsLastWeek }) => count(callsLastWeek) },
                  { title: 'Samples', figure: true, cell: ({ samples }) => count(samples) },
                  {
                    title: 'Sample storage',
                    figure: true,
                    cell: ({ sampleBytes, sampleBytesMax }) =>
                      `${byteSize(sampleBytes)} of ${byteSize(sampleBytesMax)}`,
                  },
                ]}
              />
            )}
          </Card>
          <Card title="Versions">
            <Facts
              items={[
                ['Callmeter', versions.service],
                ['Contract', versions.contract],
                ['Newest migration', versions.schema],
              ]}
            />
          </Card>
        </div>
      </Live>,
    );
  });
}

/** The last 24 hours; `null` if D1 or a projector is unavailable, which the page shows above. */
async function loadHistory(c: ConsoleContext): Promise<HealthHistory | null> {
  try {
    const history = await load(c, readHealthHistory);
    return history.ok ? history.data : null;
  } catch (error) {
    log('warn', 'health_history_not_read', {}, error);
    return null;
  }
}
