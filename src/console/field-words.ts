/**
 * Names and values of fields in the words of the pages, for plans, keys, settings and other things. A field that is not
 * listed here is named by its path, and its value is shown by the end of that path.
 */
import { meterTitle } from '../domain/meter-names.ts';
import { type MeterSlot, SLOT_METERS } from '../domain/meters.ts';
import { usd } from '../domain/money.ts';
import { byteSize, calendarDay, count, moment, parseNanoUsd, percent, plural, rate, words } from '../ui/format.ts';

/** The names of fields by path. */
const LABELS: Readonly<Record<string, string>> = {
  limitType: 'At the limit',
  reasoningLevel: 'Reasoning ceiling',
  replenish: 'Renews',
  rollingCalls: 'Rolling limit',
  reserveOutputTokens: 'Reserved per call',
  maxOutputTokens: 'Output tokens of an answer',
  maxAnswers: 'Answers per call',
  priceUsd: 'Price',
  'payg.enabled': 'Pay-as-you-go',
  'payg.markupPercent': 'Markup',
  'payg.maxOutputTokens': 'Output tokens of an answer on credit',
  'payg.holds': 'Calls on credit hold',
  'alerts.thresholdsPercent': 'Alerts at percent of a limit',
  'alerts.balanceBelowUsd': 'Alert below a balance of',
  'alerts.balanceBelowDays': 'Alert below a balance for',
  alertThresholdsPercent: 'Alerts at percent of a limit',
  alertBalanceBelowUsd: 'Alert below a balance of',
  alertBalanceBelowDays: 'Alert below a balance for',
  defaultPlanId: 'Default plan',
  allowUnpricedModels: 'Models without a price',
  creditOpen: 'Open for credit',
  sampleBytesMax: 'Sample storage',
  callRetentionDays: 'Calls kept for',
  meterEventRetentionDays: 'Increments kept for',
  ledgerRetentionDays: 'Ledger kept for',
  usageRetentionDays: 'Usage kept for',
  retentionDays: 'Kept for',
  models: 'Only these models',
  features: 'Only these features',
  'features.include': 'Only these features',
  'features.exclude': 'Never these features',
  'customers.exclude': 'Never these customers',
  rate: 'Share of calls',
  minInputTokens: 'Minimum input tokens',
  expiresAt: 'Expires',
  types: 'Event types',
  enabled: 'Send events',
  host: 'Address',
  url: 'Address',
  upgradeUrl: 'Upgrade address',
  baseUrl: 'Address',
  apiKey: 'Key',
  from: 'From',
  to: 'Before',
  organizationId: 'Organization id',
  customerId: 'Customer id',
  amountUsd: 'Amount, USD',
  meterSlot: 'Custom meter',
  modelUsed: 'Model',
  providerUsed: 'Vendor',
  pricingMode: 'Price',
  responseTokens: 'Output tokens',
  cachedInputTokens: 'Read from the cache',
  cacheWriteInputTokens: 'Written to the cache',
  audio: 'Audio units',
  kind: 'Kind',
  keyHint: 'Key',
  passthrough: 'Open paths',
  useReportedCost: 'Use the reported cost',
  cachedInputUsdPerMillion: 'Cache read',
  cacheWriteUsdPerMillion: 'Cache write',
  inputUsdPerMillion: 'Input',
  outputUsdPerMillion: 'Output',
  effectiveFrom: 'In force from',
  strict: 'Only the stated rates',
};

/** The names of the fields of a custom meter. */
const METER_LABELS: Readonly<Record<string, string>> = {
  label: 'name of the unit',
  included: 'included per period',
  enabled: 'may be used',
  unlimited: 'unlimited',
  'funding.credits': 'purchased units may pay',
  'funding.payg': 'the USD balance may pay',
  overage: 'price',
};

/** The meaning of an absent value, by path. */
const ABSENT: Readonly<Record<string, string>> = {
  replenish: 'never',
  rollingCalls: 'none',
  reserveOutputTokens: 'nothing',
  maxOutputTokens: 'no limit',
  'payg.maxOutputTokens': 'no limit',
  models: 'any',
  features: 'any',
  'features.include': 'all',
  expiresAt: 'never',
  types: 'all',
  scopes: 'those of the prefix',
  effectiveFrom: 'always',
};

const NONE = 'none';
/** The most items of a list that are named. */
const ITEMS_SHOWN_MAX = 30;

/** The name of a custom meter that no plan is at hand for, from its slot. */
export function slotName(slot: string): string {
  return isSlot(slot) ? meterTitle(SLOT_METERS[slot]) : words(slot);
}

function isSlot(name: string): name is MeterSlot {
  return Object.hasOwn(SLOT_METERS, name);
}

/** For example `Premium calls`, or `Custom meter 1: included per period`. */
export function fieldLabel(path: string): string {
  const known = LABELS[path];
  if (known !== undefined) return known;
  const [, slot = '', field = ''] = /^customMeters\.([^.]+)\.?(.*)$/.exec(path) ?? [];
  if (slot !== '') return field === '' ? slotName(slot) : `${slotName(slot)}: ${METER_LABELS[field] ?? inWords(field)}`;
  return inWords(path.replace(/^(limits|features)\./, ''));
}

function inWords(path: string): string {
  const [first = '', ...rest] = path.split('.').map((name) => words(name.replace(/(NanoUsd|UsdNano|Usd|USD)$/, '')));
  return [first, ...rest.map(lowerFirst)].join(', ');
}

/** Adapts a name for the inside of a sentence: `Premium calls` becomes `premium calls`, `USD` stays. */
export function lowerFirst(text: string): string {
  return /^[A-Z]([a-z ]|$)/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/** A value in one line, without JSON. */
export function fieldValue(path: string, value: unknown): string {
  if (value === undefined || value === null || value === '') return absent(path);
  if (typeof value === 'boolean')
    return path === 'allowUnpricedModels' ? (value ? 'allowed' : 'denied') : value ? 'yes' : 'no';
  if (typeof value === 'number') return numberText(path, value);
  if (typeof value === 'string') return stringText(path, value);
  if (Array.isArray(value)) return listText(path, value);
  return recordText(path, value as Record<string, unknown>);
}

function absent(path: string): string {
  if (path.startsWith('limits.')) return 'unlimited';
  return ABSENT[path] ?? NONE;
}

function numberText(path: string, value: number): string {
  if (path === 'rate') return percent(value);
  if (/UsdPerMillion$/.test(path)) return `${rate(value)} per million`;
  if (/(Usd|USD)$/.test(path))
    return `$${value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 9 })}`;
  if (/Percent$/.test(path)) return `${count(value)}%`;
  if (/Days$/.test(path)) return plural(value, 'day');
  if (/Hours$/.test(path)) return plural(value, 'hour');
  if (/BytesMax$|Bytes$/.test(path)) return byteSize(value);
  return count(value);
}

function stringText(path: string, value: string): string {
  if (/(NanoUsd|UsdNano)$/.test(path) && /^-?\d+$/.test(value)) return usd(BigInt(value));
  if (/Usd$/.test(path) && /^-?\d+(\.\d+)?$/.test(value)) return usdText(value);
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return `${moment(Date.parse(value))} UTC`;
  if (/^\d{4}-\d\d-\d\d$/.test(value)) return calendarDay(value);
  if (path === 'keyHint') return `…${value}`;
  if (path === 'types') return words(value);
  return /^[A-Z][A-Z\d_]*[A-Z\d]$/.test(value) ? lowerFirst(words(value)) : value;
}

export function usdText(amount: string): string {
  return usd(parseNanoUsd(amount));
}

function listText(path: string, values: readonly unknown[]): string {
  if (values.length === 0) return ABSENT[path] ?? NONE;
  const more = values.length - ITEMS_SHOWN_MAX;
  const shown = values.slice(0, ITEMS_SHOWN_MAX).map((value) => itemText(path, value));
  return `${shown.join(', ')}${more > 0 ? ` and ${count(more)} more` : ''}`;
}

/** The name of a list's item, or its value if it is no object. */
export function itemText(path: string, value: unknown): string {
  if (!isRecord(value)) return fieldValue(path, value);
  const name = ['model', 'modelKey', 'name', 'component'].map((member) => value[member]).find(isText);
  return name ?? 'one more';
}

function recordText(path: string, value: Record<string, unknown>): string {
  if (path === 'replenish') return every(Number(value.every), String(value.unit).toLowerCase());
  if (path === 'rollingCalls')
    return `${plural(Number(value.limit), 'call')} in ${count(Number(value.windowSeconds))} s`;
  if (path.endsWith('.overage')) return overageText(value);
  return Object.entries(value)
    .map(([name, member]) => `${lowerFirst(inWords(name))} ${fieldValue(`${path}.${name}`, member)}`)
    .join(', ');
}

function every(number: number, unit: string): string {
  return number === 1 ? `every ${unit}` : `every ${number} ${unit}s`;
}

function overageText(value: Record<string, unknown>): string {
  const tiers = Array.isArray(value.tiers) ? value.tiers.filter(isRecord) : [];
  if (tiers.length === 0) return priceText(value);
  const last = tiers.length - 1;
  return tiers
    .map((tier, index) =>
      index === last ? `then ${priceText(tier)}` : `${priceText(tier)} up to ${count(Number(tier.upTo))}`,
    )
    .join(', ')
    .replace(/^then /, '');
}

function priceText({ priceUsd, per }: Record<string, unknown>): string {
  const units = per === undefined || per === '1' ? 'unit' : `${count(Number(per))} units`;
  return `${usdText(String(priceUsd))} per ${units}`;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isText = (value: unknown): value is string => typeof value === 'string';
