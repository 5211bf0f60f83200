/**
 * Calls: the history of an organization, and one call with how its cost came about.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { z } from 'zod';
import type { CostBreakdown, ReadCallData } from '../../contract/calls.ts';
import { customerId as customerIdField, idempotencyKey } from '../../contract/fields.ts';
import type { Call } from '../../domain/call.ts';
import { planIdOf } from '../../domain/plan.ts';
import { isProvisional, USAGE_SOURCES } from '../../domain/usage.ts';
import { readCall } from '../../metering/read-call.ts';
import { pageRequest } from '../../platform/page.ts';
import { type CallRow, findOldCall, listCalls } from '../../storage/calls.ts';
import { findPlanVersion } from '../../storage/plans.ts';
import { ErrorSummary, type FormState, Select, TextField } from '../../ui/form.tsx';
import { count, duration, nanoOf, percent, rate, words } from '../../ui/format.ts';
import { Badge, Card, Code, Count, Empty, Facts, Nothing, Stat, Time, Usd } from '../../ui/parts.tsx';
import { Pager, Table } from '../../ui/table.tsx';
import { callerOf } from '../caller.ts';
import { CallState, Correct, Corrections } from '../calls-view.tsx';
import { type ConsoleContext, type ConsoleEnv, callPath, customerPath, organizationPath } from '../context.ts';
import { denialSentence, REASON_NOT_RECORDED } from '../denial-sentence.ts';
import { ModelName } from '../model-name.tsx';
import { refused } from '../refused.tsx';
import { setupPath } from '../setup-view.tsx';
import { page } from '../shell.tsx';
import { STATUS_TONES } from '../statuses.ts';
import { check } from '../submitted.ts';
import { shortened } from './customer.tsx';

const PAGE_SIZE = 50;

const CallsQuery = z.object({
  customerId: customerIdField.optional(),
  status: z.enum(['IN_PROGRESS', 'COMPLETED', 'FAILED', 'TIMEOUT', 'NOT_ALLOWED']).optional(),
  usageSource: z.enum(USAGE_SOURCES).exclude(['reported']).optional(),
  callId: idempotencyKey.optional(),
  cursor: z.string().max(600).optional(),
});

export function mountCalls(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/calls', async (c) => {
    const { organizationId } = c.get('organization');
    const asked = Object.fromEntries(Object.entries(c.req.query()).filter(([, value]) => value !== ''));
    const checked = check(CallsQuery, asked);
    const { customerId, status, usageSource, callId, cursor } = checked.ok ? checked.value : {};
    if (callId !== undefined) return c.redirect(callPath(organizationId, callId), 303);
    const pageAsked = pageRequest({ limit: PAGE_SIZE, cursor }) ?? { limit: PAGE_SIZE, after: null };
    const filter = { customerId, status, usageSource };
    const { items, nextCursor } = await listCalls(c.env, organizationId, filter, pageAsked);
    const path = organizationPath(organizationId, 'calls');
    const state = { values: asked, details: checked.ok ? [] : checked.details };
    return page(
      c,
      {
        title: 'Calls',
        sub: 'Newest first. Changes appear here after about a second.',
        status: checked.ok ? 200 : 400,
      },
      <Card>
        <Filters path={path} state={state} />
        {items.length > 0 ? (
          <Calls organizationId={organizationId} items={items} nowMs={Date.now()} />
        ) : (
          <NoCalls path={path} narrowed={!!(customerId ?? status ?? usageSource)} setup={setupPath(organizationId)} />
        )}
        <Pager
          path={path}
          query={{ ...(customerId && { customerId }), ...(status && { status }), ...(usageSource && { usageSource }) }}
          next={nextCursor}
          first={pageAsked.after === null}
        />
      </Card>,
    );
  });

  app.get('/organizations/:org/calls/:callId', async (c) => {
    const { organizationId } = c.get('organization');
    const callId = c.req.param('callId');
    const [answer, recorded] = await Promise.all([
      readCall(await callerOf(c), callId),
      findOldCall(c.env, organizationId, callId),
    ]);
    if (!answer.ok) return refused(c, answer.refusal);
    const { denial } = answer.data;
    const plan = denial && (await findPlanVersion(c.env, organizationId, denial.usagePlanVersionId));
    const planName = plan?.plan.name ?? planIdOf(denial?.usagePlanVersionId ?? '');
    return callPage(c, answer.data, recorded, planName);
  });
}

const Filters: FC<{ path: string; state: FormState }> = ({ path, state }) => (
  <search aria-label="Calls">
    <form method="get" action={path}>
      <ErrorSummary details={state.details} />
      <div class="filters">
        <TextField name="customerId" label="Customer id" state={state} />
        <Select
          name="status"
          label="State"
          state={state}
          options={[
            ['', 'All'],
            ...(['COMPLETED', 'FAILED', 'TIMEOUT', 'NOT_ALLOWED', 'IN_PROGRESS'] as const).map(
              (name) => [name, words(name)] as const,
            ),
          ]}
        />
        <Select
          name="usageSource"
          label="Usage"
          state={state}
          options={[
            ['', 'All'],
            ['partial', 'Partial'],
            ['estimated', 'Estimated'],
          ]}
        />
        <TextField name="callId" label="Call id" state={state} placeholder="Go to one call" />
        <button type="submit">Search</button>
      </div>
    </form>
  </search>
);

const NoCalls: FC<{ path: string; narrowed: boolean; setup: string }> = ({ path, narrowed, setup }) =>
  narrowed ? (
    <Empty title="No calls match">
      A search by state or usage covers the newest 10,000 calls. <a href={path}>Show all calls</a>.
    </Empty>
  ) : (
    <Empty title="No calls yet">
      An application begins a call with <Code>POST /call_begin</Code> and its key, and reports the usage with{' '}
      <Code>POST /call_end</Code>. The <a href={setup}>setup</a> has the commands.
    </Empty>
  );

const Calls: FC<{ organizationId: string; items: CallRow[]; nowMs: number }> = ({ organizationId, items, nowMs }) => (
  <Table
    caption="Calls"
    rows={items}
    columns={[
      {
        title: 'Call',
        heading: true,
        cell: ({ callId }) => <a href={callPath(organizationId, callId)}>{shortened(callId)}</a>,
      },
      {
        title: 'Customer',
        cell: ({ customerId }) => <a href={customerPath(organizationId, customerId)}>{customerId}</a>,
      },
      {
        title: 'State',
        cell: ({ status, reversedAtMs, usageSource }) => (
          <CallState status={status} isReversed={reversedAtMs !== null} usageSource={usageSource} />
        ),
      },
      { title: 'Feature', cell: ({ feature }) => feature || <Nothing /> },
      { title: 'Model', cell: ({ modelUsed }) => (modelUsed === null ? <Nothing /> : <ModelName name={modelUsed} />) },
      { title: 'Began', cell: ({ startedAtMs }) => <Time at={startedAtMs} nowMs={nowMs} /> },
      {
        title: 'Tokens',
        figure: true,
        cell: ({ inputTokens, responseTokens }) =>
          inputTokens === null ? (
            <Nothing />
          ) : (
            <span class="num">{`${count(inputTokens)} → ${count(responseTokens ?? 0)}`}</span>
          ),
      },
      {
        title: 'Cost',
        figure: true,
        cell: ({ costNanoUsd }) => (costNanoUsd === null ? <Nothing /> : <Usd nano={costNanoUsd} />),
      },
    ]}
  />
);

function callPage(c: ConsoleContext, call: ReadCallData, recorded: Call | null, planName: string) {
  const { organizationId } = c.get('organization');
  const nowMs = Date.now();
  const { costBreakdown, denial } = call;
  const isDenied = call.status === 'NOT_ALLOWED';
  return page(
    c,
    {
      title: shortened(call.callId),
      sub: (
        <>
          <CallState status={call.status} isReversed={call.reversedAt !== undefined} usageSource={call.usageSource} />{' '}
          {call.customerId && (
            <>
              of <a href={customerPath(organizationId, call.customerId)}>{call.customerId}</a>
            </>
          )}
        </>
      ),
      crumbs: [{ text: 'Calls', href: organizationPath(organizationId, 'calls') }],
      actions: <Correct organizationId={organizationId} call={call} />,
    },
    <>
      <dl class="stats">
        <Stat label="Cost" sub={costNote(call)}>
          {call.costUsdNano === null ? '–' : <Usd nano={BigInt(call.costUsdNano)} />}
        </Stat>
        <Stat label="Took" sub={tookNote(call)}>
          {!isDenied && call.startTime && call.endTime
            ? duration(Date.parse(call.endTime) - Date.parse(call.startTime))
            : '–'}
        </Stat>
        <Stat
          label="Tokens in"
          sub={recorded?.outcome ? `${count(recorded.outcome.usage.cachedInputTokens)} from the cache` : ''}
        >
          {recorded?.outcome ? <Count value={recorded.outcome.usage.inputTokens} /> : '–'}
        </Stat>
        <Stat
          label="Tokens out"
          sub={recorded?.outcome ? `${count(recorded.outcome.usage.reasoningTokens)} of reasoning` : ''}
        >
          {recorded?.outcome ? <Count value={recorded.outcome.usage.responseTokens} /> : '–'}
        </Stat>
      </dl>
      {isDenied ? (
        <Card title="Why it was denied">
          <p>{denial ? denialSentence(denial, planName) : REASON_NOT_RECORDED}</p>
        </Card>
      ) : (
        <Card title="Cost breakdown">
          {costBreakdown ? <Breakdown breakdown={costBreakdown} call={call} /> : <NoPrice call={call} />}
        </Card>
      )}
      <div class="grid">
        <Card title="Call">
          <CallFacts call={call} recorded={recorded} nowMs={nowMs} />
        </Card>
        <div class="stack">
          <Card title="Who pays">
            {isDenied ? (
              <p class="quiet">Nobody: the call was denied, so it used nothing.</p>
            ) : (
              <Payment payg={call.payg} />
            )}
          </Card>
          {call.corrections && (
            <Card title="Corrections">
              <Corrections corrections={call.corrections} nowMs={nowMs} />
            </Card>
          )}
          {recorded?.compression && (
            <Card title="Prompt compression">
              <Facts
                items={[
                  [
                    'Tokens',
                    `${count(recorded.compression.originalTokens)} → ${count(recorded.compression.compressedTokens)}`,
                  ],
                  ['Saved', `${count(recorded.compression.savedTokens)} tokens`],
                  [
                    'Input cost avoided',
                    recorded.compression.inputCostAvoidedNanoUsd === null ? (
                      'price not known'
                    ) : (
                      <Usd nano={BigInt(recorded.compression.inputCostAvoidedNanoUsd)} />
                    ),
                  ],
                ]}
              />
            </Card>
          )}
        </div>
      </div>
    </>,
  );
}

const tookNote = ({ status, endTime }: ReadCallData) =>
  status === 'NOT_ALLOWED' ? 'denied at once' : endTime ? 'from begin to end' : 'has not ended';

function costNote({
  status,
  pricingStatus,
  pricingUnavailableReason,
  pricingMultiplier,
  usageSource,
}: ReadCallData): string {
  if (status === 'NOT_ALLOWED') return 'denied, so nothing was used';
  if (pricingStatus === 'PENDING') return 'when the call has ended';
  if (pricingStatus === 'UNAVAILABLE') return words(pricingUnavailableReason ?? 'UNAVAILABLE').toLowerCase();
  if (isProvisional(usageSource)) return `provisional, by ${usageSource} usage`;
  return pricingMultiplier === 1 ? 'standard price' : `batch, ${percent(pricingMultiplier)} of the standard price`;
}

const NoPrice: FC<{ call: ReadCallData }> = ({ call: { pricingStatus, pricingUnavailableReason, modelUsed } }) =>
  pricingStatus === 'PENDING' ? (
    <Empty title="The call is in progress">The cost is known once the call has ended.</Empty>
  ) : (
    <Empty title="This call has no known price">
      {words(pricingUnavailableReason ?? 'UNAVAILABLE')}. An unknown price is never counted as zero
      {modelUsed ? `; give ${modelUsed} a price under Models and prices for the calls to come.` : '.'}
    </Empty>
  );

const Breakdown: FC<{ breakdown: CostBreakdown; call: ReadCallData }> = ({ breakdown, call }) => (
  <>
    <Table
      caption="Cost lines"
      rows={breakdown.lines}
      columns={[
        { title: 'Line', heading: true, cell: ({ component }) => words(component) },
        { title: 'Quantity', figure: true, cell: ({ quantity }) => <Count value={quantity} /> },
        { title: 'USD per million', figure: true, cell: ({ usdPerMillion }) => rate(usdPerMillion) },
        { title: 'Cost', figure: true, cell: ({ costUsdNano }) => <Usd nano={BigInt(costUsdNano)} /> },
        {
          title: 'Share',
          figure: true,
          cell: ({ costUsdNano }) =>
            breakdown.standardCostUsdNano === '0' ? (
              <Nothing />
            ) : (
              percent(Number(costUsdNano) / Number(breakdown.standardCostUsdNano))
            ),
        },
      ]}
    />
    <Facts
      items={[
        ['Sum of the lines', <Usd nano={BigInt(breakdown.standardCostUsdNano)} />],
        ...(call.pricingMultiplier === 1 ? [] : [['Batch price', `× ${call.pricingMultiplier}`] as const]),
        ['Cost', <strong>{<Usd nano={nanoOf((call.costUSD ?? 0).toFixed(9))} />}</strong>],
        ['Exactly', <span class="num">{`${count(BigInt(call.costUsdNano ?? 0))} nano-USD`}</span>],
        ['Price tier', `${words(breakdown.pricingTier)}, ${words(breakdown.pricingTierReason).toLowerCase()}`],
        ['Recorded price', <Code>{breakdown.snapshotId}</Code>],
        ...(breakdown.assumptions.length > 0 ? [['Assumed', breakdown.assumptions.join('; ')] as const] : []),
      ]}
    />
  </>
);

const CallFacts: FC<{ call: ReadCallData; recorded: Call | null; nowMs: number }> = ({ call, recorded, nowMs }) => (
  <Facts
    items={[
      ['Call id', <Code>{call.callId}</Code>],
      ['Customer', call.customerId],
      ['User', call.customerUserId ?? undefined],
      ['Feature', recorded?.feature],
      [
        'Tags',
        recorded?.tags?.length ? (
          <span class="tags">
            {recorded.tags.map((tag) => (
              <Badge>{tag}</Badge>
            ))}
          </span>
        ) : undefined,
      ],
      ['Vendor', call.providerUsed],
      ['Model', call.modelUsed && <ModelName name={call.modelUsed} />],
      ['Tier', recorded?.outcome ? words(recorded.outcome.tier) : undefined],
      ['Plan version', recorded ? <Code>{recorded.usagePlanVersionId}</Code> : undefined],
      ['Reasoning effort', recorded?.outcome?.reasoningEffort],
      ['Searches', recorded?.outcome?.usage.searches ? count(recorded.outcome.usage.searches) : undefined],
      [
        'Error',
        recorded?.outcome?.error ? `${recorded.outcome.error.code}: ${recorded.outcome.error.message}` : undefined,
      ],
      ['Began', call.startTime && <Time at={call.startTime} nowMs={nowMs} />],
      ['Ended', call.endTime && <Time at={call.endTime} nowMs={nowMs} />],
    ]}
  />
);

const Payment: FC<{ payg: ReadCallData['payg'] }> = ({ payg }) =>
  payg.usingCredit ? (
    <Facts
      items={[
        ['Paid by', "the customer's credit"],
        ['Charge', payg.chargeNanoUsd === null ? 'known at the end' : <Usd nano={BigInt(payg.chargeNanoUsd)} />],
        ['Markup', payg.markupPercent === null ? undefined : `${payg.markupPercent}%`],
        [
          'Settlement',
          payg.settlementStatus && (
            <Badge tone={STATUS_TONES[payg.settlementStatus] ?? 'plain'}>{words(payg.settlementStatus)}</Badge>
          ),
        ],
        ['Why it failed', payg.settlementFailureReason ?? undefined],
      ]}
    />
  ) : (
    <p class="quiet">The plan's allowance, without a charge.</p>
  );
