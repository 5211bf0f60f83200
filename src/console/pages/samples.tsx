/**
 * Review of stored samples: the list, one sample with its input and output, and its deletion.
 */

import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { Sample, SampleListItem } from '../../contract/samples.ts';
import type { OrganizationId } from '../../domain/ids.ts';
import { deleteSample, listSamples, readSample } from '../../operator/samples.ts';
import { pageRequest } from '../../platform/page.ts';
import { MINUTE_MS } from '../../platform/time.ts';
import { Form, type FormState, GetForm, Submit, TextField } from '../../ui/form.tsx';
import { count, duration } from '../../ui/format.ts';
import { Badge, Card, Code, Empty, Facts, Id, Json, Nothing, Time } from '../../ui/parts.tsx';
import { Pager, Table, totalText } from '../../ui/table.tsx';
import { readTrail } from '../../ui/trail.ts';
import { shortened } from '../calls-table.tsx';
import { type ConsoleContext, type ConsoleEnv, callsPath, customerPath, organizationPath } from '../context.ts';
import { ModelLink } from '../model-name.tsx';
import { queryIn } from '../page-input.ts';
import { PageLink } from '../page-roles.tsx';
import { refused } from '../refused.tsx';
import { load, refusalDetails, send } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';

const PAGE_SIZE = 50;

export function mountSamples(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/samples', async (c) => {
    const { organizationId } = c.get('organization');
    const path = organizationPath(organizationId, 'samples');
    const values = queryIn(c, listSamples);
    const asked = pageRequest({ limit: PAGE_SIZE, cursor: values.cursor }) ?? { limit: PAGE_SIZE, after: null };
    const answer = await load(c, listSamples, { query: values, page: asked });
    // If a filter is refused, all samples are shown.
    const shown = answer.ok ? answer : await load(c, listSamples, { page: asked });
    const details = answer.ok ? [] : refusalDetails(answer.refusal);
    const { items, nextCursor } = shown.ok ? shown.data : { items: [], nextCursor: null };
    const query = Object.fromEntries(Object.entries(values).filter(([name]) => name !== 'cursor'));
    return page(
      c,
      {
        title: 'Samples',
        status: details.length > 0 ? 400 : 200,
        sub: 'Sampled calls, newest first.',
        crumbs: sampleCrumbs(organizationId),
      },
      <Card>
        <Filters path={path} state={{ values, details }} />
        {items.length === 0 ? (
          <Empty title="No samples">
            Samples are kept by the <a href={organizationPath(organizationId, 'sampling')}>policy</a>, sent by
            applications, and gone when they expire.
          </Empty>
        ) : (
          <Samples
            path={path}
            organizationId={organizationId}
            items={items}
            isWhole={asked.after === null && nextCursor === null}
            nowMs={Date.now()}
          />
        )}
        <Pager
          path={path}
          query={query}
          next={nextCursor}
          first={asked.after === null}
          previous={readTrail(c.req.query(), items.length)}
        />
      </Card>,
    );
  });

  app.get('/organizations/:org/samples/:sampleId', async (c) => {
    const answer = await load(c, readSample);
    return answer.ok ? samplePage(c, answer.data) : refused(c, answer.refusal);
  });

  app.post('/organizations/:org/samples/:sampleId/delete', async (c) => {
    const answer = await send(c, deleteSample);
    if (!answer.ok) return refused(c, answer.refusal);
    return c.redirect(`${organizationPath(c.get('organization').organizationId, 'samples')}?done=sample`, 303);
  });
}

const sampleCrumbs = (organizationId: OrganizationId) => [
  { text: 'Sampling', href: organizationPath(organizationId, 'sampling') },
];

const Filters: FC<{ path: string; state: FormState }> = ({ path, state }) => (
  <GetForm label="Samples" action={path} state={state}>
    <div class="filters">
      <TextField name="customerId" label="Customer id" />
      <TextField name="feature" label="Feature" />
      <TextField name="model" label="Model" />
      <button type="submit">Search</button>
    </div>
  </GetForm>
);

interface SamplesProps {
  path: string;
  organizationId: OrganizationId;
  items: SampleListItem[];
  isWhole: boolean;
  nowMs: number;
}

const Samples: FC<SamplesProps> = ({ path, organizationId, items, isWhole, nowMs }) => (
  <Table
    caption="Samples"
    dense
    rows={items}
    total={totalText(items.length, 'sample', isWhole)}
    columns={[
      {
        title: 'Sample',
        heading: true,
        cell: ({ sampleId }) => (
          <PageLink href={`${path}/${encodeURIComponent(sampleId)}`}>
            <Id id={sampleId} />
          </PageLink>
        ),
      },
      {
        title: 'Customer',
        cell: ({ customerId }) =>
          customerId === null ? <Nothing /> : <a href={customerPath({ organizationId, customerId })}>{customerId}</a>,
      },
      {
        title: 'Feature',
        cell: ({ feature }) =>
          feature === null ? <Nothing /> : <a href={`${path}?${new URLSearchParams({ feature })}`}>{feature}</a>,
      },
      {
        title: 'Model',
        cell: ({ model, provider }) => (model ? <ModelLink name={model} organizationId={organizationId} /> : provider),
      },
      { title: 'Received', cell: ({ receivedAt }) => <Time at={receivedAt} nowMs={nowMs} /> },
      { title: 'Expires', cell: ({ expiresAt }) => <Time at={expiresAt} nowMs={nowMs} brief /> },
      { title: 'Bytes', figure: true, cell: ({ payloadBytes }) => count(payloadBytes) },
    ]}
  />
);

/**
 * Filters for the calls that a sample may belong to, by customer, feature and time; a sample does not name its call.
 */
function callsLike({ customerId, feature, receivedAt, latencyMs }: Sample): Record<string, string> {
  const receivedMs = Date.parse(receivedAt);
  return {
    ...(customerId !== null && { customerId }),
    ...(feature !== null && { feature }),
    from: new Date(receivedMs - (latencyMs ?? 0) - MINUTE_MS).toISOString(),
    to: new Date(receivedMs + MINUTE_MS).toISOString(),
  };
}

function samplePage(c: ConsoleContext, sample: Sample) {
  const { organizationId } = c.get('organization');
  const path = organizationPath(organizationId, 'samples');
  const nowMs = Date.now();
  const parts = [
    ['Input', sample.input],
    ['Output', sample.output],
    ['Usage', sample.usage],
    ['Error', sample.error],
  ] as const;
  return page(
    c,
    { title: shortened(sample.sampleId), crumbs: [...sampleCrumbs(organizationId), { text: 'Samples', href: path }] },
    <>
      <Card title="Sample">
        <Facts
          items={[
            ['Sample id', <Code>{sample.sampleId}</Code>],
            [
              'Customer',
              sample.customerId === null ? undefined : (
                <a href={customerPath({ organizationId, customerId: sample.customerId })}>{sample.customerId}</a>
              ),
            ],
            [
              'Feature',
              sample.feature === null ? undefined : (
                <a href={`${path}?${new URLSearchParams({ feature: sample.feature })}`}>{sample.feature}</a>
              ),
            ],
            ['Environment', sample.environment ?? undefined],
            [
              'Tags',
              sample.tags.length > 0 ? (
                <span class="tags">
                  {sample.tags.map((tag) => (
                    <Badge>{tag}</Badge>
                  ))}
                </span>
              ) : undefined,
            ],
            ['Vendor', sample.provider],
            ['Model', sample.model && <ModelLink name={sample.model} organizationId={organizationId} />],
            ['Calls', <a href={callsPath(organizationId, callsLike(sample))}>Calls at that time</a>],
            ['Latency', sample.latencyMs === null ? undefined : duration(sample.latencyMs)],
            ['Decision', sample.decisionId === null ? undefined : <Code>{sample.decisionId}</Code>],
            ['Received', <Time at={sample.receivedAt} nowMs={nowMs} />],
            ['Expires', <Time at={sample.expiresAt} nowMs={nowMs} />],
          ]}
        />
      </Card>
      {parts.map(
        ([title, value]) =>
          value !== undefined && (
            <Card title={title}>
              <Json value={value} />
            </Card>
          ),
      )}
      <section class="card danger-zone" aria-label="Deletion">
        <h2>Delete</h2>
        <p class="quiet">The sample is deleted at once.</p>
        <Form
          of={deleteSample}
          action={`${path}/${encodeURIComponent(sample.sampleId)}/delete`}
          secrets={formSecrets(c)}
          label="Delete"
        >
          <Submit danger>Delete sample</Submit>
        </Form>
      </section>
    </>,
  );
}
