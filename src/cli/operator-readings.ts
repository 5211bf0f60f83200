/**
 * Readings of usage and of one call on the command line.
 */
import { chargeLineText } from '../contract/calls.ts';
import { pastSumsSentence } from '../contract/denial.ts';
import type { Data } from './operator-client.ts';
import { type Columns, counts, dollars, firstRows, pairs, section, show, showField, table, usd } from './table.ts';

type Usage = Data<'readOrganizationUsage'>;
type Figures = Usage['totals'];

export function showUsage(data: Usage): string {
  const { period, completeSince, totals, backlog } = data;
  return [
    pairs({
      Period: `${period.startedAt} to ${period.endedAt} (${data.timezone})`,
      'Complete since': completeSince > period.startedAt ? completeSince : undefined,
      'As of': data.asOf,
      'Not yet in it': backlog.customers > 0 ? `changes of ${show(backlog.customers)} customers` : undefined,
      Calls: totals.calls,
      'Calls without a price': totals.unpricedCalls,
      'Input tokens': totals.inputTokens,
      'Output tokens': totals.outputTokens,
      Searches: totals.searches,
      Cost: usd(totals.costUsdNano),
      'Provisional cost': totals.provisionalCalls > 0 ? showField('costUSD', totals.provisionalCostUSD) : undefined,
    }),
    groups(data, 'Customer', data.byCustomer, ({ customerId }) => customerId),
    groups(data, 'Feature', data.byFeature, ({ feature }) => feature),
    groups(data, 'Model', data.byModel, ({ model }) => model),
    groups(data, 'Outcome', data.byOutcome, ({ outcome }) => outcome),
  ].join('\n');
}

function groups<Group extends Figures>(
  { truncated }: Usage,
  title: string,
  read: Group[],
  name: (group: Group) => unknown,
): string {
  const columns: Columns<Group> = {
    [title]: name,
    Calls: counts(({ calls }) => calls),
    'Input tokens': counts(({ inputTokens }) => inputTokens),
    'Output tokens': counts(({ outputTokens }) => outputTokens),
    Cost: dollars(({ costUsdNano }) => costUsdNano),
  };
  return section(`${title}s`, firstRows(read, columns, truncated.includes(title.toLowerCase())));
}

export function showAnomalies({ period, items, customersLookedAt }: Data<'readOrganizationAnomalies'>): string {
  const shown = table(items, {
    Began: ({ startedAt }) => startedAt,
    Severity: ({ severity }) => severity,
    Customer: ({ customerId }) => customerId ?? 'all',
    'What happened': ({ summary }) => summary,
  });
  return `${shown}\n\n${period.startedAt} to ${period.endedAt}, ${show(customersLookedAt)} customers looked at.`;
}

export function showForecast(data: Data<'readOrganizationForecast'>): string {
  const { remaining, total, runsOut, unit } = data;
  return [
    pairs({
      Customer: data.customerId,
      Metric: `${data.metric}, in ${unit}`,
      Status: data.status,
      Reason: data.reason ?? undefined,
      'Usage period': `${data.period.startedAt} to ${data.period.endedAt}`,
      'Recorded so far': data.recorded,
      'Still to come': remaining?.expected,
      'Whole period': total?.expected,
      '8 of 10 outcomes': total ? `${show(total.p10)} to ${show(total.p90)}` : undefined,
      Quality: data.quality ?? undefined,
      'Used up': runsOut ? (runsOut.expectedAt ?? 'not in this period') : undefined,
    }),
    section(
      'Limited meters',
      table(data.meters, {
        Meter: ({ meter }) => meter,
        Used: ({ used }) => used,
        Limit: ({ limit }) => limit,
        'Used up': (one) => (one.runsOut ? (one.runsOut.expectedAt ?? 'not in this period') : null),
      }),
    ),
  ].join('\n');
}

type Call = Data<'readOrganizationCall'>;
type ChargeLine = NonNullable<Call['chargeLines']>[number];

/** What a status means, if its name does not say it. */
const MEANINGS: Readonly<Partial<Record<Call['status'], string>>> = {
  IN_PROGRESS: 'the call has begun and not ended',
  FAILED: 'the call consumed what it reported',
  TIMEOUT: 'the end of the call was not reported in time',
  NOT_ALLOWED: 'the plan, a limit or the balance did not admit the call, and nothing was consumed',
};

export function showCall(call: Call): string {
  const { costBreakdown, payg, chargeLines, corrections = [] } = call;
  return [
    pairs({
      Call: call.callId,
      Customer: call.customerId,
      User: call.customerUserId ?? undefined,
      State: [call.status, MEANINGS[call.status]].filter(Boolean).join(': '),
      Denied: call.denial && denied(call.denial),
      Began: call.startTime,
      Ended: call.endTime,
      Model: call.modelUsed,
      Provider: call.providerUsed,
      Usage: call.usageSource,
      Cost: call.costUsdNano === null ? (call.pricingUnavailableReason ?? 'not known yet') : usd(call.costUsdNano),
      'Pricing mode': call.pricingMode,
      'Charged to credit': payg.chargeNanoUsd === null ? undefined : usd(payg.chargeNanoUsd),
      'Charged by': payg.basis && 'its hold, until what it used has a price',
      Settlement: call.reversedAt ? undefined : (payg.settlementFailureReason ?? payg.settlementStatus ?? undefined),
      Reversed: call.reversedAt && reversal(call.reversedAt, corrections),
    }),
    ...(costBreakdown
      ? [
          section(
            `Cost lines, at standard prices of ${costBreakdown.modelKey}`,
            table(costBreakdown.lines, {
              Component: ({ component }) => component,
              Model: ({ model }) => model ?? costBreakdown.modelKey,
              Quantity: ({ quantity }) => quantity,
              'USD per million': ({ usdPerMillion }) => usdPerMillion,
              Cost: dollars(({ costUsdNano }) => costUsdNano),
            }),
          ),
          ...costBreakdown.assumptions.map((assumption) => `  ${show(assumption)}`),
        ]
      : []),
    ...(chargeLines ? [section('Charge', chargeTable(chargeLines, payg))] : []),
    ...(corrections.length > 0
      ? [
          section(
            'Corrections',
            table(corrections, {
              At: ({ at }) => at,
              Kind: ({ kind }) => kind,
              By: ({ by }) => by,
              'Paid more': dollars(({ differenceNanoUsd }) => differenceNanoUsd),
              Reason: ({ reason }) => reason,
            }),
          ),
        ]
      : []),
  ].join('\n');
}

function reversal(reversedAt: string, corrections: NonNullable<Call['corrections']>): string {
  const returned = -BigInt(corrections.find(({ kind }) => kind === 'REVERSED')?.differenceNanoUsd ?? 0);
  return returned === 0n ? reversedAt : `${reversedAt}: ${usd(returned.toString())} was given back`;
}

/**
 * `CREDIT_REQUIRED: 0 of 0 premiumCalls were used; asked for premium. The call needed $1.06, and $0.62 was available.`
 */
function denied({ code, meter, limit, used, also = [], requested, ...sums }: NonNullable<Call['denial']>): string {
  const limits = meter === null ? also : [{ meter, limit, used }, ...also];
  const figures = limits.map(usedText).join(', ');
  const money = pastSumsSentence(sums);
  return `${code}${figures && `: ${figures}`}; asked for ${requested.join(', ')}${money && `. ${money}`}`;
}

function usedText({ meter, limit, used }: { meter: string; limit: number | null; used: number | null }): string {
  return used === null || limit === null ? meter : `${show(used)} of ${show(limit)} ${meter} were used`;
}

/** The lines of the charge, and their sum. */
function chargeTable(lines: readonly ChargeLine[], { chargeNanoUsd, markupPercent }: Call['payg']): string {
  const rows = lines.map(({ kind, amountNanoUsd }) => ({ text: chargeLineText(kind, markupPercent), amountNanoUsd }));
  return table([...rows, { text: 'Charge', amountNanoUsd: chargeNanoUsd ?? '0' }], {
    Line: ({ text }) => text,
    Amount: ({ amountNanoUsd }) => usd(amountNanoUsd),
  });
}
