/**
 * Formats responses of the operator API as text.
 *
 * `describe` formats any response: plain fields as pairs, members as sections, lists as tables, warnings last. A noun
 * has its own view only if that is easier to read.
 */
import { alertThresholds } from '../domain/alerts.ts';
import { formatUsd, nanoFromUsd, parseUsd } from '../domain/money.ts';
import { isProvisional } from '../domain/usage.ts';
import { eventText } from '../events/event-text.ts';
import type { Data } from './operator-client.ts';
import {
  type Addends,
  type Columns,
  columnLabel,
  counts,
  dollars,
  indent,
  pairs,
  percent,
  section,
  show,
  showField,
  table,
} from './table.ts';

type JsonObject = Record<string, unknown>;

export function describe(data: unknown): string {
  if (!isObject(data)) return show(data);
  const { warnings, ...members } = data;
  const shown = Object.entries(members).filter(([field]) => !isToldBefore(field, Object.keys(members)));
  const plain = shown.filter(([, value]) => !isDeep(value));
  const deep = shown.filter(([, value]) => isDeep(value));
  const head = pairs(Object.fromEntries(plain.map(([field, value]) => [columnLabel(field), showField(field, value)])));
  return [
    head,
    ...deep.map(([field, value]) => section(columnLabel(field), describeMember(value))),
    ...showWarnings(warnings as string[] | undefined),
  ]
    .filter(Boolean)
    .join('\n');
}

function describeMember(value: unknown): string {
  if (!Array.isArray(value)) return describe(value);
  const fields = [...new Set<string>(value.flatMap((item) => Object.keys(item)))];
  return table<JsonObject>(value, fieldColumns(fields.filter((field) => !isToldBefore(field, fields))));
}

/** Whether the field has an amount in nano-USD that another field has in USD. */
function isToldBefore(field: string, fields: readonly string[]): boolean {
  return field.endsWith('UsdNano') && fields.includes(field.replace(/UsdNano$/, 'USD'));
}

/** Columns named after their fields. */
export function fieldColumns<Row>(fields: readonly (keyof Row & string)[]): Columns<Row> {
  return Object.fromEntries(fields.map((field) => [columnLabel(field), (row: Row) => showField(field, row[field])]));
}

export function showPlan(data: Data<'readPlan'>): string {
  const { plan, versions } = data;
  const { replenish, features, rollingCalls, payg, limits, customMeters } = plan;
  const meters = Object.entries(customMeters).flatMap(([slot, meter]) => (meter ? [{ slot, ...meter }] : []));
  return [
    pairs({
      Plan: data.planId,
      Name: plan.name,
      Version: `${data.version} (${data.usagePlanVersionId})`,
      Archived: data.archivedAt ?? undefined,
      'Limit type': plan.limitType,
      'Reasoning level': plan.reasoningLevel,
      Replenished: period(replenish),
      'Price of a period': plan.priceUsd == null ? null : `$${plan.priceUsd}`,
      Features: Object.entries(features).flatMap(([name, on]) => (on ? [name] : [])),
      'Rolling calls': rollingCalls && `${show(rollingCalls.limit)} in ${show(rollingCalls.windowSeconds)} s`,
      'Reserved output tokens': plan.reserveOutputTokens,
      'Output tokens of an answer': plan.maxOutputTokens,
      'Answers of a call': plan.maxAnswers,
      'Pay-as-you-go': payg.enabled
        ? `cost + ${show(payg.markupPercent)} %, ${payg.maxOutputTokens === null ? 'any number of' : show(payg.maxOutputTokens)} output tokens an answer, ${payg.holds === 'EXPECTED' ? 'expected' : 'exact'} holds`
        : 'off',
      'Alerts at percent of a limit': alertThresholds(plan),
      'Alert below a balance of': plan.alerts?.balanceBelowUsd ? `$${plan.alerts.balanceBelowUsd}` : null,
      'Alert below a balance for': plan.alerts?.balanceBelowDays ? `${plan.alerts.balanceBelowDays} days` : null,
    }),
    section(
      'Limits of a period',
      pairs(Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, limit ?? 'unlimited']))),
    ),
    ...(meters.length > 0 ? [section('Custom meters', describeMember(meters))] : []),
    section(
      'Versions',
      table(versions, { Version: (v) => v.version, Id: (v) => v.usagePlanVersionId, Created: (v) => v.createdAt }),
    ),
  ].join('\n');
}

type PlanRow = Data<'listPlans'>['items'][number];

export const PLAN_COLUMNS: Columns<PlanRow> = {
  'Plan id': ({ planId }) => planId,
  Name: ({ plan }) => plan.name,
  Version: ({ version }) => version,
  Archived: ({ archivedAt }) => archivedAt,
  'Limit type': ({ plan }) => plan.limitType,
  Replenished: ({ plan }) => period(plan.replenish),
  Price: ({ plan }) => (plan.priceUsd == null ? null : `$${plan.priceUsd}`),
  'Standard calls': ({ plan }) => plan.limits.standardCalls ?? 'unlimited',
  'Premium calls': ({ plan }) => plan.limits.premiumCalls ?? 'unlimited',
  'Standard tokens': ({ plan }) => plan.limits.standardTokens ?? 'unlimited',
  'Premium tokens': ({ plan }) => plan.limits.premiumTokens ?? 'unlimited',
};

function period(replenish: PlanRow['plan']['replenish']): string {
  if (!replenish) return 'never';
  const unit = replenish.unit.toLowerCase();
  return replenish.every === 1 ? `every ${unit}` : `every ${replenish.every} ${unit}s`;
}

export function showCreatedKey(data: Data<'createKey'> | Data<'rotateKey'>): string {
  return `${describe(data)}\n\nThe key is shown this once: keep it now.`;
}

export const PRICE_COLUMNS: Columns<Data<'listPrices'>['items'][number]> = {
  Model: ({ modelKey }) => modelKey,
  'In force from': ({ effectiveFrom }) => effectiveFrom ?? 'always',
  'Input, USD per million': ({ inputUsdPerMillion }) => inputUsdPerMillion,
  'Output, USD per million': ({ outputUsdPerMillion }) => outputUsdPerMillion,
  Components: ({ components }) => components?.length,
  Strict: ({ strict }) => strict,
};

export const CALL_COLUMNS: Columns<Data<'listOrganizationCalls'>['items'][number]> = {
  Call: ({ callId }) => callId,
  Began: ({ startedAt }) => startedAt,
  Customer: ({ customerId }) => customerId,
  Feature: ({ feature }) => feature,
  State: ({ status }) => status,
  Reason: ({ denial, errorCode }) => denial?.code ?? errorCode,
  Model: ({ modelUsed }) => modelUsed,
  'Tokens in': counts(({ inputTokens }) => inputTokens),
  'Tokens out': counts(({ responseTokens }) => responseTokens),
  Cost: dollars(({ costUsdNano }) => costUsdNano),
  Charged: dollars(({ chargedUsdNano }) => chargedUsdNano),
};

export const CUSTOMER_COLUMNS: Columns<Data<'listOrganizationCustomers'>['items'][number]> = {
  Customer: ({ customerId }) => customerId,
  Name: ({ customerFriendlyName }) => customerFriendlyName,
  Plan: ({ usagePlanVersionId }) => usagePlanVersionId,
  Canceled: ({ canceled }) => canceled,
  'Worst meter': ({ worstMeter }) => worstMeter?.name,
  Used: ({ worstMeter }) => worstMeter && `${Math.floor(worstMeter.share * 1_000) / 10} %`,
  Cost: dollars(({ costUsdNano }) => costUsdNano),
  Balance: dollars(({ balanceUsd }) => balanceUsd && nanoOfExact(balanceUsd)),
  'Last call': ({ lastCallAt }) => lastCallAt,
};

export const ENTRY_COLUMNS: Columns<Data<'listCustomerLedger'>['items'][number]> = {
  Entry: ({ entryId }) => entryId,
  At: ({ at }) => at,
  Cause: ({ cause, correction }) => (correction === null ? cause : `${cause}, ${correction}`),
  Amount: amounts(({ amount: exact }) => exact),
  Balance: ({ unit, balance }) => amount(unit, balance),
  For: ({ callId, eventId, reference }) => callId ?? eventId ?? reference,
  Feature: ({ feature }) => feature,
  Model: ({ modelUsed }) => modelUsed,
};

export const KEY_COLUMNS: Columns<Data<'listKeys'>['items'][number]> = {
  'Key id': ({ keyId }) => keyId,
  Name: ({ name }) => name,
  Key: ({ prefix, hint }) => `${prefix}...${hint}`,
  Created: ({ createdAt }) => createdAt,
  'Last used': ({ lastUsedAt }) => lastUsedAt,
  Expires: ({ expiresAt }) => expiresAt,
  Revoked: ({ revokedAt }) => revokedAt,
  Scopes: ({ scopes, prefix }) => scopes ?? `those of ${prefix}`,
  Models: ({ models }) => models,
  Features: ({ features }) => features,
};

export const EVENT_COLUMNS: Columns<Data<'readOrganizationEvents'>['items'][number]> = {
  When: ({ timestamp }) => timestamp,
  Type: ({ type }) => type,
  Customer: ({ data }) => ('customerId' in data ? data.customerId : null),
  What: ({ type, data }) => eventText(type, data),
};

export const WEBHOOK_COLUMNS: Columns<Data<'listWebhooks'>['items'][number]> = {
  'Webhook id': ({ webhookId }) => webhookId,
  Url: ({ url }) => url,
  Types: ({ types }) => types ?? 'all',
  Format: ({ format }) => format,
  Enabled: ({ enabled, disabled }) => (disabled ? `no: ${disabled.reason} since ${disabled.at}` : enabled),
  'Registered by': ({ registeredBy }) => registeredBy,
};

export const DELIVERY_COLUMNS: Columns<Data<'listDeliveries'>['items'][number]> = {
  Event: ({ eventId }) => eventId,
  Type: ({ type }) => type,
  Customer: ({ customerId }) => customerId,
  Status: ({ status }) => status,
  Attempts: ({ attempts }) => attempts,
  'Last attempt': ({ lastAttemptAt }) => lastAttemptAt,
  'Next attempt': ({ nextAttemptAt }) => nextAttemptAt,
  Answer: ({ answerStatus, answer }) => [answerStatus, answer].filter((part) => part !== null && part !== '').join(' '),
};

/** A webhook with its new secret, if it has one. */
export function showSecret(data: { secret?: string | undefined }): string {
  const shown = describe(data);
  return data.secret === undefined ? shown : `${shown}\n\nThe secret is shown this once: keep it now.`;
}

type CustomerState = Data<'cancelCustomer'>;

/** The fields that every response about a customer has. */
export function showCustomer(data: CustomerState): string {
  const { subscription } = data;
  return [
    pairs({
      Customer: data.customerId,
      Name: subscription.customerFriendlyName,
      'E-mail': subscription.customerEmail,
      Subscription: `${subscription.id}${data.canceled ? ', canceled' : ''}`,
      ...subscriptionPairs(subscription),
    }),
    section('Meters', metersTable(data.meters)),
    ...showWarnings(data.warnings),
  ].join('\n');
}

function subscriptionPairs(subscription: CustomerState['subscription']): Record<string, unknown> {
  return {
    Plan: `${subscription.planName}, version ${subscription.planVersion}, ${subscription.limitType}`,
    Period: `${subscription.lastReplenishedAt} to ${subscription.nextReplenishAt}`,
    'Scheduled plan':
      subscription.pending && `${subscription.pending.usagePlanVersionId} at ${subscription.pending.effectiveAt}`,
  };
}

/** A subscription after a change. */
export function showSubscription({ subscription, warnings }: Data<'operatorChangePlan'>): string {
  return [pairs(subscriptionPairs(subscription)), ...showWarnings(warnings)].join('\n');
}

/** The effect that a plan change would have. */
export function showPlanPreview(data: Data<'previewPlanChange'>): string {
  const { isChange, usagePlanVersionId, appliesAt, dropsScheduled, canceled, before, after, warnings } = data;
  if (!isChange) return `Nothing changes: the subscription is on ${usagePlanVersionId}, or this change is scheduled.`;
  return [
    pairs({
      Plan: `${before.usagePlanVersionId} to ${after.usagePlanVersionId}`,
      Applies: appliesAt ?? 'at once',
      'Next replenishment': after.nextReplenishAt,
      'Scheduled plan': dropsScheduled ? 'is dropped' : undefined,
      Subscription: canceled ? 'stays canceled' : undefined,
    }),
    section('Meters now', metersTable(before.meters)),
    section('Meters after it', metersTable(after.meters)),
    ...showWarnings(warnings),
  ].join('\n');
}

/** A section of sentences; empty if there is no warning. */
function showWarnings(warnings: readonly string[] = []): string[] {
  return warnings.length === 0 ? [] : [section('Warnings', warnings.map(show).join('\n'))];
}

type Inspected = Data<'readCustomer'>;
/** Says what an id of a call or an increment stands for. */
type Naming = (kind: Inspected['failedCharges'][number]['subject'], id: string) => string;

export function inspectCustomer(data: Inspected): string {
  const { outbox, recentCalls } = data;
  const models = new Map<string, string | null>(recentCalls.map(({ callId, modelUsed }) => [callId, modelUsed]));
  const what: Naming = (kind, id) =>
    kind === 'meter_event' ? 'increment' : ['call', models.get(id)].filter(Boolean).join(' of ');
  const calls = table(recentCalls, {
    Call: ({ callId }) => callId,
    Status: ({ status }) => status,
    Model: ({ modelUsed }) => modelUsed,
    Cost: dollars(({ costUSD }) => (costUSD === null ? null : nanoFromUsd(costUSD))),
    Usage: ({ usageSource }) => (isProvisional(usageSource) ? `${usageSource}, provisional` : usageSource),
    Began: ({ startTime }) => startTime,
    Ended: ({ endTime }) => endTime,
  });
  const backlog =
    outbox.pending === 0
      ? 'none'
      : `${outbox.pending} changes since ${outbox.oldestAt}, ${outbox.failures} failed attempts`;
  return [
    showCustomer(data),
    '',
    pairs({
      Provisioned: data.createdAt,
      'Open calls': data.openCalls,
      'Waiting for D1': backlog,
      'Last error': outbox.lastError ?? undefined,
      'Refused by D1': outbox.setAside === 0 ? undefined : `${outbox.setAside} changes, see outbox list`,
    }),
    section('Wallet', showWallet(data.wallet)),
    ...(data.failedCharges.length > 0
      ? [section('Charges that Stripe does not take', table(data.failedCharges, failedChargeColumns(what)))]
      : []),
    section('Credits', table(data.credits, CREDIT_COLUMNS)),
    section('Last ledger entries', table(data.ledger, ledgerColumns(what))),
    section('Last calls', calls),
  ].join('\n');
}

/** An exact amount with its unit. */
function amount(unit: string, exact: string): string {
  if (unit !== 'USD') return `${exact} ${unit}`;
  return exact.startsWith('-') ? `-$${exact.slice(1)}` : `$${exact}`;
}

/** The same as nano-USD, or in billionths of another unit. */
function nanoOfExact(exact: string): bigint {
  const size = parseUsd(exact.replace(/^-/, ''));
  if (size === null) throw new Error(`the server answered an amount that is none: ${exact}`);
  return exact.startsWith('-') ? -size : size;
}

/** A column of exact amounts, added up for each unit. */
function amounts<Row extends { unit: string }>(exact: (row: Row) => string): Addends<Row> {
  return {
    cell: (row) => amount(row.unit, exact(row)),
    total: (rows) => {
      const sums = new Map<string, bigint>();
      for (const row of rows) sums.set(row.unit, (sums.get(row.unit) ?? 0n) + nanoOfExact(exact(row)));
      return [...sums].map(([unit, sum]) => amount(unit, formatUsd(sum)));
    },
  };
}

function showWallet({
  balanceUsd,
  heldUsd,
  unsettledUsd,
  availableUsd,
  units,
  openCharges,
}: Inspected['wallet']): string {
  const owned = Object.entries(units).filter(([, count]) => count > 0);
  return pairs({
    Balance: amount('USD', balanceUsd),
    Held: amount('USD', heldUsd),
    Unsettled: `${amount('USD', unsettledUsd)} of ${show(openCharges)} charges`,
    Available: amount('USD', availableUsd),
    Units: owned.map(([slot, count]) => `${show(count)} ${slot}`),
  });
}

const failedChargeColumns = (what: Naming): Columns<Inspected['failedCharges'][number]> => ({
  For: ({ subjectId }) => subjectId,
  'Which is': ({ subject, subjectId }) => what(subject, subjectId),
  Amount: dollars(({ amountUsd }) => nanoOfExact(amountUsd)),
  'At Stripe': ({ stripeCustomerId }) => stripeCustomerId,
  Reason: ({ reason }) => reason,
  'Tried again': ({ nextAttemptAt }) => nextAttemptAt ?? 'never',
});

const CREDIT_COLUMNS: Columns<Inspected['credits'][number]> = {
  Credit: ({ creditId }) => creditId,
  Granted: amounts(({ granted }) => granted),
  Left: amounts(({ remaining }) => remaining),
  Expires: ({ expiresAt }) => expiresAt ?? 'never',
  Reference: ({ reference }) => reference,
};

const ledgerColumns = (what: Naming): Columns<Inspected['ledger'][number]> => ({
  Entry: ({ entryId }) => entryId,
  At: ({ at }) => at,
  Cause: ({ cause }) => cause,
  Amount: amounts(({ amount: exact }) => exact),
  Balance: ({ unit, balance }) => amount(unit, balance),
  For: ({ subject, reference }) => subject?.id ?? reference,
  'Which is': ({ subject }) => subject && what(subject.kind, subject.id),
});

/** What a credit is: its amount, and its reference if it has one. */
export function creditName({ unit, granted, reference }: Inspected['credits'][number]): string {
  return [amount(unit, granted), reference].filter(Boolean).join(', ');
}

export function showGrant({ creditId, balanceUsd, unitsRemaining, warnings }: Data<'grantCredit'>): string {
  const granted = pairs({
    Credit: creditId,
    Balance: balanceUsd === undefined ? undefined : amount('USD', balanceUsd),
    'Units left': unitsRemaining,
  });
  return [granted, ...showWarnings(warnings)].join('\n');
}

export function showRevocation({ creditId, unit, revoked, balance, reason }: Data<'revokeCredit'>): string {
  return pairs({
    Credit: creditId,
    'Taken back': amount(unit, revoked),
    Balance: amount(unit, balance),
    Reason: reason,
  });
}

export function showErased({ customerId, erased }: Data<'eraseCustomer'>): string {
  const { object, ...rows } = erased;
  const counts = Object.fromEntries(Object.entries(rows).map(([name, count]) => [columnLabel(name), count]));
  return pairs({ Erased: customerId, Object: object ? 'erased' : 'was gone already', ...counts });
}

export function showStartedMigration({ jobId }: Data<'migratePlan'>): string {
  return `${pairs({ Job: jobId })}\n\nIt runs in the background: migrations show <org> ${jobId}`;
}

export function showMigration(data: Data<'readMigration'>): string {
  return pairs({
    Job: data.jobId,
    'Moved to': data.usagePlanVersionId,
    When: data.when,
    Status: data.status,
    Moved: `${show(data.migrated)} of ${show(data.total)}`,
    'Needed no change': data.unchanged,
    'Failed attempts': data.failures,
    'Last error': data.lastError ?? undefined,
    Started: data.startedAt,
    Finished: data.finishedAt,
  });
}

function metersTable(meters: CustomerState['meters']): string {
  return table(Object.entries(meters), {
    Meter: ([name]) => name,
    Used: ([, { used }]) => used,
    Limit: ([, { limit, unlimited }]) => (unlimited ? 'unlimited' : limit),
    Remaining: ([, { remaining, unlimited }]) => (unlimited ? 'unlimited' : remaining),
    Left: ([, { ratio }]) => (ratio === null ? null : percent(ratio)),
  });
}

type EventRow = Data<'listEvents'>['items'][number];

export function showEvents(items: EventRow[]): string {
  if (items.length === 0) return '(none)';
  return items
    .map((event) => `${event.at}  ${event.actor}  ${event.action}  ${namedSubject(event)}${changes(event)}`)
    .join('\n');
}

/** The id of an organization has its name already. */
function namedSubject({ subject, organizationId, before, after }: EventRow): string {
  const state = after ?? before;
  const named = subject !== organizationId && isObject(state) && typeof state.name === 'string';
  return named ? `${subject} (${show(state.name)})` : subject;
}

/** The members that the event changed. */
function changes({ before, after, organizationId, subject }: EventRow): string {
  const [old, now] = [before, after].map((state) => (isObject(state) ? state : {})) as [JsonObject, JsonObject];
  const fields = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  const changed = fields.filter((field) => JSON.stringify(old[field] ?? null) !== JSON.stringify(now[field] ?? null));
  const lines = changed.map(
    (field) => `${field}: ${before === null ? '' : `${show(old[field])} -> `}${show(now[field])}`,
  );
  const where = organizationId === null || organizationId === subject ? [] : [`organization ${organizationId}`];
  return [...where, ...lines].map((text) => `\n${indent(text, '    ')}`).join('');
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value needs more than one line. */
function isDeep(value: unknown): boolean {
  return isObject(value) || (Array.isArray(value) && value.some(isObject));
}
