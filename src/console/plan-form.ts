/**
 * Converts a plan to the fields of a form and back. A field has the name of its path in the plan, so that errors appear
 * at it. An empty limit is unlimited; an empty row of prices is omitted. The contract's schema validates the result.
 */
import { Plan } from '../contract/plans.ts';
import { OUTPUT_TOKENS_MAX_DEFAULT } from '../domain/hold.ts';
import { LIMIT_NAMES, METER_SLOTS } from '../domain/meters.ts';
import { ANSWERS_MAX_DEFAULT, CAPABILITIES, type CustomMeter, hasCapability } from '../domain/plan.ts';
import { putPlan } from '../operator/plans.ts';
import { count } from '../ui/format.ts';
import type { Fields } from './context.ts';
import { bodyIn, storedIn } from './schema-form.tsx';
import { isChecked, text, typedNumber } from './submitted.ts';

/** Empty rows of prices that the form offers, and the most rows of a plan. */
const SPARE_TIERS = 2;
const TIERS_MAX = 20;
const NONE = 'none';

/** The initial values of a new plan: the contract's defaults. */
export const NEW_PLAN = Plan.parse({ name: 'New', limitType: 'BLOCK' });

/** Fields with the values of the contract: all except those of a meter, and those whose absence has a meaning. */
const PLAIN = [
  'name',
  'limitType',
  'reasoningLevel',
  ...LIMIT_NAMES.map((name) => `limits.${name}`),
  ...CAPABILITIES.map((name) => `features.${name}`),
  'reserveOutputTokens',
  'maxOutputTokens',
  'maxAnswers',
  'payg.enabled',
  'payg.markupPercent',
  'payg.maxOutputTokens',
  'payg.holds',
];
const PLAIN_OF_METER = ['enabled', 'label', 'included', 'unlimited', 'funding.credits', 'funding.payg'];

/** The form fields of a plan. A field that an older version lacks has its default. */
export function fieldsOfPlan(plan: Plan): Fields {
  const { payg, replenish, alerts } = plan;
  const bounded = {
    ...plan,
    features: Object.fromEntries(CAPABILITIES.map((name) => [name, hasCapability(plan, name)])),
    maxAnswers: plan.maxAnswers ?? ANSWERS_MAX_DEFAULT,
    payg: {
      ...payg,
      maxOutputTokens: payg.maxOutputTokens === undefined ? OUTPUT_TOKENS_MAX_DEFAULT : payg.maxOutputTokens,
      holds: payg.holds ?? 'EXACT',
    },
  };
  return {
    ...storedIn(putPlan, bounded).values,
    'replenish.every': replenish ? String(replenish.every) : '1',
    'replenish.unit': replenish?.unit ?? 'NEVER',
    'rollingCalls.limit': shown(plan.rollingCalls?.limit),
    'rollingCalls.windowSeconds': shown(plan.rollingCalls?.windowSeconds),
    'alerts.thresholdsPercent': shownThresholds(alerts?.thresholdsPercent),
    'alerts.balanceBelowUsd': alerts?.balanceBelowUsd === null ? NONE : (alerts?.balanceBelowUsd ?? ''),
    'alerts.balanceBelowDays': alerts?.balanceBelowDays === null ? NONE : shown(alerts?.balanceBelowDays),
    ...Object.assign({}, ...METER_SLOTS.map((slot) => fieldsOfMeter(`customMeters.${slot}`, plan.customMeters[slot]))),
  };
}

function fieldsOfMeter(path: string, meter: CustomMeter | undefined): Fields {
  const overage = meter?.overage;
  const fields: Fields = {
    [`${path}.listed`]: on(meter !== undefined),
    [`${path}.enabled`]: on(meter?.enabled ?? true),
    [`${path}.overage.model`]: overage?.model ?? '',
    [`${path}.overage.priceUsd`]: overage?.model === 'SINGLE' ? overage.priceUsd : '',
    [`${path}.overage.per`]: overage?.model === 'SINGLE' ? overage.per : '',
  };
  const tiers = overage?.model === 'GRADUATED' ? overage.tiers : [];
  tiers.forEach(({ upTo, priceUsd, per }, index) => {
    const row = `${path}.overage.tiers.${index}`;
    Object.assign(fields, { [`${row}.upTo`]: upTo ?? '', [`${row}.priceUsd`]: priceUsd, [`${row}.per`]: per });
  });
  return fields;
}

/** The plan document that the fields describe, not yet validated. */
export function planOfFields(fields: Fields) {
  const unit = text(fields, 'replenish.unit');
  const rolling = [typedNumber(fields, 'rollingCalls.limit'), typedNumber(fields, 'rollingCalls.windowSeconds')];
  const [limit, windowSeconds] = rolling;
  return {
    ...bodyIn(putPlan, fields, PLAIN),
    replenish: unit === 'NEVER' ? null : { every: typedNumber(fields, 'replenish.every'), unit },
    rollingCalls: rolling.every((value) => value === undefined) ? null : { limit, windowSeconds },
    customMeters: metersOfFields(fields),
    ...alertsOfFields(fields),
    ...(text(fields, 'priceUsd') !== '' && { priceUsd: decimalText(fields, 'priceUsd') }),
  };
}

/** Empty fields keep the defaults; `none` means no thresholds, or no amount. */
function alertsOfFields(fields: Fields): { alerts?: unknown } {
  const percents = text(fields, 'alerts.thresholdsPercent');
  const balanceBelowUsd = decimalText(fields, 'alerts.balanceBelowUsd');
  const balanceBelowDays = text(fields, 'alerts.balanceBelowDays');
  const alerts = {
    ...(percents !== '' && { thresholdsPercent: parseThresholds(percents) }),
    ...(balanceBelowUsd !== '' && { balanceBelowUsd: balanceBelowUsd.toLowerCase() === NONE ? null : balanceBelowUsd }),
    ...(balanceBelowDays !== '' && {
      balanceBelowDays: balanceBelowDays.toLowerCase() === NONE ? null : typedNumber(fields, 'alerts.balanceBelowDays'),
    }),
  };
  return Object.keys(alerts).length > 0 ? { alerts } : {};
}

/** The percents of a field such as `50, 80`; `none` is no percent. */
export function parseThresholds(typed: string): unknown[] {
  if (typed.toLowerCase() === NONE) return [];
  return typed.split(/[\s,;%]+/).flatMap((part) => (part === '' ? [] : /^\d+$/.test(part) ? Number(part) : part));
}

export function shownThresholds(percents: readonly number[] | undefined): string {
  if (percents === undefined) return '';
  return percents.length === 0 ? NONE : percents.join(', ');
}

/** The custom meters. A meter without a label is refused, and not named after its slot. */
function metersOfFields(fields: Fields): Record<string, unknown> {
  const listed = METER_SLOTS.filter((slot) => isChecked(fields, `customMeters.${slot}.listed`));
  const meters = listed.map((slot) => {
    const path = `customMeters.${slot}`;
    const overage = overageOfFields(fields, `${path}.overage`);
    const plain = bodyIn(
      putPlan,
      fields,
      PLAIN_OF_METER.map((name) => `${path}.${name}`),
    ) as PlainMeters;
    return [slot, { label: '', ...plain.customMeters[slot], ...(overage !== undefined && { overage }) }] as const;
  });
  return Object.fromEntries(meters);
}

type PlainMeters = { customMeters: Record<string, object> };

function overageOfFields(fields: Fields, path: string): unknown {
  const model = text(fields, `${path}.model`);
  if (model === '') return undefined;
  if (model !== 'GRADUATED')
    return { model, priceUsd: decimalText(fields, `${path}.priceUsd`), per: wholeText(fields, `${path}.per`) || '1' };
  const rows = Array.from({ length: TIERS_MAX }, (_, index) => `${path}.tiers.${index}`);
  const tiers = rows
    .filter((row) => ['upTo', 'priceUsd'].some((name) => text(fields, `${row}.${name}`) !== ''))
    .map((row) => ({
      upTo: wholeText(fields, `${row}.upTo`) || null,
      priceUsd: decimalText(fields, `${row}.priceUsd`),
      per: wholeText(fields, `${row}.per`) || '1',
    }));
  return { model, tiers };
}

/** The number of rows of prices to show: those in use and some empty ones. */
export function tierRows(fields: Fields, slot: string): number {
  const filled = Array.from({ length: TIERS_MAX }, (_, index) => index).filter(
    (index) => text(fields, `customMeters.${slot}.overage.tiers.${index}.priceUsd`) !== '',
  );
  return Math.min(TIERS_MAX, (filled.at(-1) ?? -1) + 1 + SPARE_TIERS);
}

const decimalText = (fields: Fields, name: string) => text(fields, name).replace(/^\$/, '');
const wholeText = (fields: Fields, name: string) => text(fields, name).replaceAll(/[,_ ]/g, '');

/** A whole number; empty if it is absent. */
function shown(value: number | null | undefined): string {
  return value == null ? '' : count(value);
}

function on(value: boolean): string | undefined {
  return value ? 'on' : undefined;
}
