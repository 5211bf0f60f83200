/**
 * Converts a plan to the fields of a form and back. A field has the name of the plan's path, so that errors appear at
 * it. An empty limit is unlimited; an empty row of prices is omitted. The contract's schema validates the result.
 */
import { Plan } from '../contract/plans.ts';
import { OUTPUT_TOKENS_MAX_DEFAULT } from '../domain/hold.ts';
import { LIMIT_NAMES, METER_SLOTS } from '../domain/meters.ts';
import { ANSWERS_MAX_DEFAULT, CAPABILITIES, type CustomMeter, hasCapability } from '../domain/plan.ts';
import { count } from '../ui/format.ts';
import type { Fields } from './context.ts';
import { isChecked, text, typedNumber } from './submitted.ts';

/** Empty rows of prices that the form offers, up to the most that a plan may have. */
const SPARE_TIERS = 2;
const TIERS_MAX = 20;
const NONE = 'none';

/** The initial values of a new plan: the contract's defaults. */
export const NEW_PLAN = Plan.parse({ name: 'New', limitType: 'BLOCK' });

/** The fields that show a plan. */
export function fieldsOfPlan(plan: Plan): Fields {
  const fields: Fields = {
    name: plan.name,
    limitType: plan.limitType,
    reasoningLevel: plan.reasoningLevel,
    priceUsd: plan.priceUsd ?? '',
    'replenish.every': plan.replenish ? String(plan.replenish.every) : '1',
    'replenish.unit': plan.replenish?.unit ?? 'NEVER',
    'rollingCalls.limit': shown(plan.rollingCalls?.limit),
    'rollingCalls.windowSeconds': shown(plan.rollingCalls?.windowSeconds),
    reserveOutputTokens: shown(plan.reserveOutputTokens),
    maxOutputTokens: shown(plan.maxOutputTokens),
    maxAnswers: String(plan.maxAnswers ?? ANSWERS_MAX_DEFAULT),
    'payg.enabled': on(plan.payg.enabled),
    'payg.markupPercent': String(plan.payg.markupPercent),
    // Versions from before the bound have its default.
    'payg.maxOutputTokens': shown(
      plan.payg.maxOutputTokens === undefined ? OUTPUT_TOKENS_MAX_DEFAULT : plan.payg.maxOutputTokens,
    ),
    'payg.holds': plan.payg.holds ?? 'EXACT',
    'alerts.thresholdsPercent': shownThresholds(plan.alerts?.thresholdsPercent),
    'alerts.balanceBelowUsd': plan.alerts?.balanceBelowUsd === null ? NONE : (plan.alerts?.balanceBelowUsd ?? ''),
    'alerts.balanceBelowDays': plan.alerts?.balanceBelowDays === null ? NONE : shown(plan.alerts?.balanceBelowDays),
  };
  for (const name of LIMIT_NAMES) fields[`limits.${name}`] = shown(plan.limits[name]);
  for (const name of CAPABILITIES) fields[`features.${name}`] = on(hasCapability(plan, name));
  for (const slot of METER_SLOTS) Object.assign(fields, fieldsOfMeter(`customMeters.${slot}`, plan.customMeters[slot]));
  return fields;
}

function fieldsOfMeter(path: string, meter: CustomMeter | undefined): Fields {
  const overage = meter?.overage;
  const fields: Fields = {
    [`${path}.listed`]: on(meter !== undefined),
    [`${path}.enabled`]: on(meter?.enabled ?? true),
    [`${path}.label`]: meter?.label ?? '',
    [`${path}.included`]: shown(meter?.included),
    [`${path}.unlimited`]: on(meter?.unlimited ?? false),
    [`${path}.funding.credits`]: on(meter?.funding.credits ?? false),
    [`${path}.funding.payg`]: on(meter?.funding.payg ?? false),
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
export function planOfFields(fields: Fields): unknown {
  const replenishUnit = text(fields, 'replenish.unit');
  const rolling = [typedNumber(fields, 'rollingCalls.limit'), typedNumber(fields, 'rollingCalls.windowSeconds')];
  return {
    name: text(fields, 'name'),
    limitType: text(fields, 'limitType'),
    reasoningLevel: text(fields, 'reasoningLevel'),
    replenish:
      replenishUnit === 'NEVER' ? null : { every: typedNumber(fields, 'replenish.every'), unit: replenishUnit },
    limits: Object.fromEntries(LIMIT_NAMES.map((name) => [name, typedNumber(fields, `limits.${name}`) ?? null])),
    features: Object.fromEntries(CAPABILITIES.map((name) => [name, isChecked(fields, `features.${name}`)])),
    rollingCalls: rolling.every((value) => value === undefined)
      ? null
      : { limit: rolling[0], windowSeconds: rolling[1] },
    reserveOutputTokens: typedNumber(fields, 'reserveOutputTokens') ?? null,
    maxOutputTokens: typedNumber(fields, 'maxOutputTokens') ?? null,
    maxAnswers: typedNumber(fields, 'maxAnswers') ?? ANSWERS_MAX_DEFAULT,
    payg: {
      enabled: isChecked(fields, 'payg.enabled'),
      markupPercent: typedNumber(fields, 'payg.markupPercent') ?? 0,
      maxOutputTokens: typedNumber(fields, 'payg.maxOutputTokens') ?? null,
      holds: text(fields, 'payg.holds'),
    },
    customMeters: Object.fromEntries(
      METER_SLOTS.flatMap((slot) =>
        isChecked(fields, `customMeters.${slot}.listed`) ? [[slot, meterOfFields(fields, `customMeters.${slot}`)]] : [],
      ),
    ),
    ...alertsOfFields(fields),
    ...(text(fields, 'priceUsd') !== '' && { priceUsd: decimalOf(fields, 'priceUsd') }),
  };
}

/** Empty fields leave the defaults; `none` is no threshold, and no amount. */
function alertsOfFields(fields: Fields): { alerts?: unknown } {
  const percents = text(fields, 'alerts.thresholdsPercent');
  const balanceBelowUsd = decimalOf(fields, 'alerts.balanceBelowUsd');
  const balanceBelowDays = text(fields, 'alerts.balanceBelowDays');
  const alerts = {
    ...(percents !== '' && { thresholdsPercent: thresholdsOf(percents) }),
    ...(balanceBelowUsd !== '' && { balanceBelowUsd: balanceBelowUsd.toLowerCase() === NONE ? null : balanceBelowUsd }),
    ...(balanceBelowDays !== '' && {
      balanceBelowDays: balanceBelowDays.toLowerCase() === NONE ? null : typedNumber(fields, 'alerts.balanceBelowDays'),
    }),
  };
  return Object.keys(alerts).length > 0 ? { alerts } : {};
}

function thresholdsOf(typed: string): unknown[] {
  if (typed.toLowerCase() === NONE) return [];
  return typed.split(/[\s,;%]+/).flatMap((part) => (part === '' ? [] : /^\d+$/.test(part) ? Number(part) : part));
}

function shownThresholds(percents: readonly number[] | undefined): string {
  if (percents === undefined) return '';
  return percents.length === 0 ? NONE : percents.join(', ');
}

function meterOfFields(fields: Fields, path: string): unknown {
  const overage = overageOfFields(fields, `${path}.overage`);
  return {
    enabled: isChecked(fields, `${path}.enabled`),
    label: text(fields, `${path}.label`),
    included: typedNumber(fields, `${path}.included`) ?? 0,
    unlimited: isChecked(fields, `${path}.unlimited`),
    funding: { credits: isChecked(fields, `${path}.funding.credits`), payg: isChecked(fields, `${path}.funding.payg`) },
    ...(overage !== undefined && { overage }),
  };
}

function overageOfFields(fields: Fields, path: string): unknown {
  const model = text(fields, `${path}.model`);
  if (model === '') return undefined;
  if (model !== 'GRADUATED')
    return { model, priceUsd: decimalOf(fields, `${path}.priceUsd`), per: wholeOf(fields, `${path}.per`) || '1' };
  const rows = Array.from({ length: TIERS_MAX }, (_, index) => `${path}.tiers.${index}`);
  const tiers = rows
    .filter((row) => ['upTo', 'priceUsd'].some((name) => text(fields, `${row}.${name}`) !== ''))
    .map((row) => ({
      upTo: wholeOf(fields, `${row}.upTo`) || null,
      priceUsd: decimalOf(fields, `${row}.priceUsd`),
      per: wholeOf(fields, `${row}.per`) || '1',
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

const decimalOf = (fields: Fields, name: string) => text(fields, name).replace(/^\$/, '');
const wholeOf = (fields: Fields, name: string) => text(fields, name).replaceAll(/[,_ ]/g, '');

/** A whole number. */
function shown(value: number | null | undefined): string {
  return value == null ? '' : count(value);
}

function on(value: boolean): string | undefined {
  return value ? 'on' : undefined;
}
