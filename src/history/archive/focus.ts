/**
 * History as rows of FOCUS 1.3, the FinOps Open Cost and Usage Specification: one row for each cost line of a call, and
 * one for each charge of a custom meter. `docs/operate.md`, "Export", explains the costs.
 */

import type { Call } from '../../domain/call.ts';
import { earnedNanoUsd } from '../../domain/charge.ts';
import type { MeterEvent } from '../../domain/custom-meter.ts';
import type { OrganizationId } from '../../domain/ids.ts';
import { formatUsd, type NanoUsd, share } from '../../domain/money.ts';
import type { LineComponent } from '../../domain/pricing.ts';
import { type Cell, csvLine, exact } from '../../platform/csv.ts';
import { HOUR_MS } from '../../platform/time.ts';
import type { HistoryRow } from './days.ts';

/** Half-open. */
export interface Period {
  fromMs: number;
  toMs: number;
}

export interface Payer {
  organizationId: OrganizationId;
  name: string;
}

/** The mandatory columns of the specification, then conditional ones, then our own. */
export const FOCUS_COLUMNS = [
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'ContractedCost',
  'EffectiveCost',
  'HostProviderName',
  'InvoiceIssuerName',
  'ListCost',
  'PricingQuantity',
  'PricingUnit',
  'ProviderName',
  'PublisherName',
  'ServiceCategory',
  'ServiceName',
  'ServiceProviderName',
  'ConsumedQuantity',
  'ConsumedUnit',
  'SkuId',
  'SkuMeter',
  'SkuPriceId',
  'SubAccountId',
  'Tags',
  'x_CallId',
  'x_CustomerCharge',
  'x_UsageSource',
] as const;

type FocusRow = Record<(typeof FOCUS_COLUMNS)[number], Cell>;

/** The unit of a line that does not count tokens. */
const UNITS: Partial<Record<LineComponent, string>> = {
  webSearch: 'Requests',
  fileSearch: 'Requests',
  codeMinutes: 'Minutes',
  images: 'Images',
  characters: 'Characters',
  audioSeconds: 'Seconds',
  vendorReported: 'Calls',
  held: 'Calls',
};
const TOKENS = 'Tokens';

export const FOCUS_HEADER = csvLine(FOCUS_COLUMNS);

/** The CSV of a row of history; empty if nothing of it counts in the period. */
export function focusLines({ kind, record }: HistoryRow, payer: Payer, period: Period): string {
  if (kind === 'credit_entry') return '';
  const rows =
    kind === 'call'
      ? rowsOfCall(JSON.parse(record) as Call, payer, period)
      : rowsOfEvent(JSON.parse(record) as MeterEvent, payer, period);
  return rows.map((row) => csvLine(FOCUS_COLUMNS.map((column) => row[column]))).join('');
}

/** A call counts at its end. A call without a known price has no cost to show. */
function rowsOfCall(call: Call, payer: Payer, period: Period): FocusRow[] {
  const { outcome, finishedAtMs } = call;
  if (
    call.reversedAtMs !== undefined ||
    !outcome ||
    finishedAtMs === null ||
    !isWithin(finishedAtMs, period) ||
    outcome.price.status !== 'FINAL'
  )
    return [];
  const { breakdown, costNanoUsd } = outcome.price;
  const { lines } = breakdown;
  const listed = lines.map((line) => BigInt(line.costUsdNano));
  const costs = share(BigInt(costNanoUsd), listed);
  const charges = share(earnedNanoUsd(outcome.charge), listed);
  return lines.map(({ component, quantity, model, ...part }, index) => {
    const cost = amount(costs[index] ?? 0n);
    // A line of another model names it, with its vendor and its price.
    const { provider, snapshotId, pricingTier } = { ...breakdown, ...part };
    const modelKey = model ?? breakdown.modelKey;
    const host = model === undefined ? outcome.providerUsed : part.providerUsed;
    const seller = host ?? provider;
    return {
      ...common(payer, finishedAtMs),
      BilledCost: cost,
      ChargeDescription: `${modelKey}, ${component}${outcome.pricingMode === 'batch' ? ', batch' : ''}`,
      ContractedCost: cost,
      EffectiveCost: cost,
      HostProviderName: host ?? '',
      InvoiceIssuerName: seller,
      ListCost: amount(listed[index] ?? 0n),
      PricingQuantity: quantity,
      PricingUnit: UNITS[component] ?? TOKENS,
      ProviderName: seller,
      PublisherName: provider,
      ServiceCategory: 'AI and Machine Learning',
      ServiceName: modelKey,
      ServiceProviderName: seller,
      ConsumedQuantity: quantity,
      ConsumedUnit: UNITS[component] ?? TOKENS,
      SkuId: `${modelKey}/${component}`,
      SkuMeter: component,
      SkuPriceId: `${snapshotId}/${pricingTier}/${component}`,
      SubAccountId: call.customerId,
      Tags: formatTags(call.feature, call.tags),
      x_CallId: call.callId,
      x_CustomerCharge: amount(charges[index] ?? 0n),
      x_UsageSource: outcome.usageSource ?? 'reported',
    };
  });
}

/** Units beyond a meter's allowance have no known cost for the organization; its customer pays for them. */
function rowsOfEvent(event: MeterEvent, payer: Payer, period: Period): FocusRow[] {
  const { charge, slot, funding, atMs, reversal } = event;
  // A reversal may have given back later events of the same meter.
  const charged = earnedNanoUsd(charge) + earnedNanoUsd(reversal?.charge ?? null);
  const overage = funding.overage - (reversal?.returned.overage ?? 0);
  if ((!charge && charged === 0n) || (reversal && charged === 0n) || !isWithin(atMs, period)) return [];
  return [
    {
      ...common(payer, atMs),
      BilledCost: '0',
      ChargeDescription: `${slot}, units beyond the allowance`,
      ContractedCost: '0',
      EffectiveCost: '0',
      HostProviderName: '',
      InvoiceIssuerName: payer.name,
      ListCost: '0',
      PricingQuantity: overage,
      PricingUnit: 'Units',
      ProviderName: payer.name,
      PublisherName: payer.name,
      ServiceCategory: 'Other',
      ServiceName: slot,
      ServiceProviderName: payer.name,
      ConsumedQuantity: overage,
      ConsumedUnit: 'Units',
      SkuId: slot,
      SkuMeter: slot,
      SkuPriceId: `${event.usagePlanVersionId}/${slot}`,
      SubAccountId: event.customerId,
      Tags: formatTags(event.feature, undefined),
      x_CallId: '',
      x_CustomerCharge: amount(charged),
      x_UsageSource: 'reported',
    },
  ];
}

function common({ organizationId, name }: Payer, atMs: number) {
  const hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS;
  const at = new Date(atMs);
  return {
    BillingAccountId: organizationId,
    BillingAccountName: name,
    BillingCurrency: 'USD',
    BillingPeriodStart: instant(Date.UTC(at.getUTCFullYear(), at.getUTCMonth())),
    BillingPeriodEnd: instant(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1)),
    ChargeCategory: 'Usage',
    // An export shows a record in its present state, after its corrections.
    ChargeClass: '',
    ChargePeriodStart: instant(hourMs),
    ChargePeriodEnd: instant(hourMs + HOUR_MS),
  };
}

const isWithin = (atMs: number, { fromMs, toMs }: Period) => atMs >= fromMs && atMs < toMs;

const amount = (nano: NanoUsd) => exact(formatUsd(nano));

const instant = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z');

/** Keys and values as in the specification; a tag of a call has no value. */
function formatTags(feature: string | undefined, tags: readonly string[] | undefined): string {
  const pairs = {
    ...Object.fromEntries((tags ?? []).map((tag) => [tag, true])),
    ...(feature !== undefined && { feature }),
  };
  return Object.keys(pairs).length === 0 ? '' : JSON.stringify(pairs);
}
