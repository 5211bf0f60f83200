/**
 * One call: its usage, the parts of its cost, its payer, or the reason of its denial.
 */

import type { Hono } from 'hono';
import type { Child, FC } from 'hono/jsx';
import { type CostBreakdown, chargeLineText, type ReadCallData } from '../../contract/calls.ts';
import type { Call } from '../../domain/call.ts';
import type { OrganizationId } from '../../domain/ids.ts';
import { planIdOf } from '../../domain/plan.ts';
import { isProvisional } from '../../domain/usage.ts';
import { readOrganizationCall, recordedCall } from '../../operator/calls.ts';
import { readPlan } from '../../operator/plans.ts';
import { count, duration, parseNanoUsd, percent, rate, usdColumn, words } from '../../ui/format.ts';
import { Badge, Card, Code, Count, Empty, Facts, Nothing, Stat, Time, Usd } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { shortened } from '../calls-table.tsx';
import { CallState, Correct, Corrections } from '../calls-view.tsx';
import {
  type ConsoleContext,
  type ConsoleEnv,
  callInPath,
  callsPath,
  customerPath,
  organizationPath,
  versionPath,
} from '../context.ts';
import { denialSentence, REASON_NOT_RECORDED } from '../denial-sentence.ts';
import { CopyCallId } from '../live.tsx';
import { ModelLink } from '../model-name.tsx';
import { refused } from '../refused.tsx';
import { load } from '../send.ts';
import { page } from '../shell.tsx';
import { STATUS_TONES } from '../statuses.ts';

export function mountCall(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/calls/:callId', async (c) => {
    const { organizationId } = c.get('organization');
    const [answer, recorded] = await Promise.all([
      load(c, readOrganizationCall),
      recordedCall(c.env, organizationId, callInPath(c)),
    ]);
    if (!answer.ok) return refused(c, answer.refusal);
    return callPage(c, answer.data, recorded, await findPlanName(c, answer.data));
  });
}

/** The name of the plan that denied the call. */
async function findPlanName(c: ConsoleContext, { denial }: ReadCallData): Promise<string> {
  if (!denial) return '';
  const { usagePlanVersionId } = denial;
  const planId = planIdOf(usagePlanVersionId);
  const plan = await load(c, readPlan, { params: { planId } });
  const versions = plan.ok ? plan.data.versions : [];
  return versions.find((version) => version.usagePlanVersionId === usagePlanVersionId)?.plan.name ?? planId;
}

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
              of <a href={customerPath({ organizationId, customerId: call.customerId })}>{call.customerId}</a>
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
        <Stat label="Duration" sub={tookNote(call)}>
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
          <CallFacts organizationId={organizationId} call={call} recorded={recorded} nowMs={nowMs} />
        </Card>
        <div class="stack">
          <Card title="Funding">
            {isDenied ? (
              <p class="quiet">Nobody: the call was denied, so it used nothing.</p>
            ) : (
              <Payment call={call} nowMs={nowMs} />
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

const Breakdown: FC<{ breakdown: CostBreakdown; call: ReadCallData }> = ({ breakdown, call }) => {
  const sum = BigInt(breakdown.standardCostUsdNano);
  // Amounts are exact, so that the shown lines add up to the shown sum.
  const show = usdColumn([...breakdown.lines.map(({ costUsdNano }) => BigInt(costUsdNano)), sum], true);
  return (
    <>
      <Table
        caption="Cost lines"
        rows={breakdown.lines}
        columns={[
          {
            title: 'Line',
            heading: true,
            cell: ({ component, model }) => (model === undefined ? words(component) : `${words(component)}, ${model}`),
          },
          { title: 'Quantity', figure: true, cell: ({ quantity }) => <Count value={quantity} /> },
          { title: 'USD per million', figure: true, cell: ({ usdPerMillion }) => rate(usdPerMillion) },
          { title: 'Cost', figure: true, cell: ({ costUsdNano }) => <Usd nano={BigInt(costUsdNano)} show={show} /> },
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
          ['Sum of the lines', <Usd nano={sum} show={show} />],
          ...(call.pricingMultiplier === 1 ? [] : [['Batch price', `× ${call.pricingMultiplier}`] as const]),
          ['Cost', <strong>{<Usd nano={parseNanoUsd((call.costUSD ?? 0).toFixed(9))} />}</strong>],
          ['Exactly', <span class="num">{`${count(BigInt(call.costUsdNano ?? 0))} nano-USD`}</span>],
          ['Price tier', `${words(breakdown.pricingTier)}, ${words(breakdown.pricingTierReason).toLowerCase()}`],
          ['Recorded price', <Code>{breakdown.snapshotId}</Code>],
          ...(breakdown.assumptions.length > 0 ? [['Assumed', breakdown.assumptions.join('; ')] as const] : []),
        ]}
      />
    </>
  );
};

interface CallFactsProps {
  organizationId: OrganizationId;
  call: ReadCallData;
  recorded: Call | null;
  nowMs: number;
}

/** The facts of a call. Every value links to its page, or to all calls with the same value. */
const CallFacts: FC<CallFactsProps> = ({ organizationId, call, recorded, nowMs }) => {
  const like = (name: string, value: string, text = value) => (
    <a href={callsPath(organizationId, { [name]: value })}>{text}</a>
  );
  const { customerId, customerUserId, providerUsed, modelUsed } = call;
  const error = recorded?.outcome?.error;
  return (
    <Facts
      items={[
        [
          'Call id',
          <>
            <Code>{call.callId}</Code> <CopyCallId callId={call.callId} />
          </>,
        ],
        ['Customer', customerId && <a href={customerPath({ organizationId, customerId })}>{customerId}</a>],
        ['User', customerUserId ? like('customerUserId', customerUserId) : undefined],
        ['Feature', recorded?.feature && like('feature', recorded.feature)],
        [
          'Tags',
          recorded?.tags?.length ? (
            <span class="tags">
              {recorded.tags.map((tag) => (
                <Badge>{like('tag', tag)}</Badge>
              ))}
            </span>
          ) : undefined,
        ],
        ['Vendor', providerUsed && <a href={organizationPath(organizationId, 'vendors')}>{providerUsed}</a>],
        ['Model', modelUsed && <ModelLink name={modelUsed} organizationId={organizationId} />],
        ['Tier', recorded?.outcome ? words(recorded.outcome.tier) : undefined],
        [
          'Plan version',
          recorded ? (
            <a href={versionPath(organizationId, recorded.usagePlanVersionId)}>
              <Code>{recorded.usagePlanVersionId}</Code>
            </a>
          ) : undefined,
        ],
        ['Reasoning effort', recorded?.outcome?.reasoningEffort],
        ['Searches', recorded?.outcome?.usage.searches ? count(recorded.outcome.usage.searches) : undefined],
        [
          'Error',
          error ? (
            <>
              {like('errorCode', error.code)}: {error.message}
            </>
          ) : undefined,
        ],
        ['Started', call.startTime && <Time at={call.startTime} nowMs={nowMs} />],
        ['Ended', call.endTime && <Time at={call.endTime} nowMs={nowMs} />],
      ]}
    />
  );
};

const Payment: FC<{ call: ReadCallData; nowMs: number }> = ({ call, nowMs }) => {
  const { payg, status, chargeLines: lines = [], reversedAt } = call;
  const { usingCredit, chargeNanoUsd, markupPercent } = payg;
  if (!usingCredit) return <p class="quiet">Nobody is charged: the plan includes the call, or only counts it.</p>;
  const charge = chargeNanoUsd === null ? null : BigInt(chargeNanoUsd);
  // Amounts are exact, so that the shown lines add up to the shown charge.
  const show = usdColumn([...lines.map(({ amountNanoUsd }) => BigInt(amountNanoUsd)), charge ?? 0n], true);
  return (
    <Facts
      items={[
        ['Charged to', "the customer's credit"],
        ...lines.map(
          ({ kind, amountNanoUsd }) =>
            [chargeLineText(kind, markupPercent), <Usd nano={BigInt(amountNanoUsd)} show={show} />] as const,
        ),
        [
          reversedAt === undefined ? 'Charge' : 'Charge before the reversal',
          charge === null ? (
            status === 'IN_PROGRESS' ? (
              'known at the end'
            ) : (
              'nothing: the price is not known'
            )
          ) : (
            <strong>
              <Usd nano={charge} show={show} />
            </strong>
          ),
        ],
        ['Charged by', payg.basis && 'its hold, until what it used has a price'],
        ['Markup', lines.length > 0 || markupPercent === null ? undefined : `${markupPercent}%`],
        ...(reversedAt === undefined ? settlementFacts(payg) : reversalFacts(call, reversedAt, show, nowMs)),
      ]}
    />
  );
};

type Fact = readonly [string, Child | undefined];

const settlementFacts = ({ settlementStatus, settlementFailureReason }: ReadCallData['payg']): Fact[] => [
  [
    'Settlement',
    settlementStatus && <Badge tone={STATUS_TONES[settlementStatus] ?? 'plain'}>{words(settlementStatus)}</Badge>,
  ],
  ['Why it failed', settlementFailureReason ?? undefined],
];

/** A reversal takes the whole charge back, so nothing stays charged. */
function reversalFacts(
  { corrections = [] }: ReadCallData,
  reversedAt: string,
  show: (nano: bigint) => string,
  nowMs: number,
): Fact[] {
  const returned = -BigInt(corrections.find(({ kind }) => kind === 'REVERSED')?.differenceNanoUsd ?? 0);
  return [
    [
      'Given back',
      <>
        <Usd nano={returned} show={show} /> <Time at={reversedAt} nowMs={nowMs} />
      </>,
    ],
    [
      'Stays charged',
      <>
        <strong>
          <Usd nano={0n} />
        </strong>{' '}
        <Badge tone="warn">reversed</Badge>
      </>,
    ],
  ];
}
