/**
 * The warnings for operators about credit that pays for nothing, and about plan funding without an effect. Each is a
 * sentence with the remedy.
 */
import type { Account } from '../domain/account.ts';
import {
  findContradictions,
  findIdleFunding,
  NOTHING_TO_PAY,
  type PlanGap,
  type UnusableCredit,
  unusableCredit,
} from '../domain/funding.ts';
import { usd } from '../domain/money.ts';
import type { Plan } from '../domain/plan.ts';
import type { CreditUnit } from '../domain/wallet.ts';

/**
 * A sentence for each unit in which the customer has credit that pays for nothing, as a member of an answer; absent if
 * there is no warning. `of` limits it to one unit.
 */
export function warnedOfCredit(account: Account, of?: CreditUnit): Warnings {
  return member(
    unusableCredit(account)
      .filter(({ unit }) => of === undefined || unit === of)
      .map(creditWarning),
  );
}

/** For a stored version, also the contradictions that a newly saved plan may not have. */
export function planWarnings(plan: Plan): string[] {
  return [...findContradictions(plan), ...findIdleFunding(plan)].map(
    ({ path, message }) => `${path.join('.')} ${message}.`,
  );
}

export function warnedOfPlan(plan: Plan): Warnings {
  return member(planWarnings(plan));
}

function creditWarning({ unit, amount, gap, version, fromMs }: UnusableCredit): string {
  const what =
    unit === 'USD'
      ? `${usd(amount, 'down')} of credit pays for nothing`
      : `${amount.toLocaleString('en')} purchased units of ${unit} pay for nothing`;
  if (gap === 'CANCELED')
    return `${what} while the subscription is canceled: reactivate it if the customer is to use it.`;
  const since = fromMs === null ? '' : `From ${new Date(fromMs).toISOString()} on, `;
  const plan = `the plan ${version.plan.name} (${version.usagePlanVersionId})`;
  const other = unit === 'USD' ? 'a plan that the balance pays for' : `a plan whose ${unit} takes purchased units`;
  return `${since}${what}: ${gapReason(gap, plan, `customMeters.${unit}`)}. Change the customer to ${other}, or change this plan and migrate its customers.`;
}

function gapReason(gap: PlanGap, plan: string, meter: string): string {
  switch (gap) {
    case 'PAYG_OFF':
      return `${plan} has no pay-as-you-go (payg.enabled)`;
    case 'NOTHING_TO_PAY':
      return `in ${plan} ${NOTHING_TO_PAY}`;
    case 'METER_NOT_IN_PLAN':
      return `${plan} has no ${meter}`;
    case 'METER_OFF':
      return `${meter}.enabled is off in ${plan}`;
    case 'METER_UNLIMITED':
      return `${meter} is unlimited in ${plan}`;
    case 'CREDITS_OFF':
      return `${meter}.funding.credits is off in ${plan}`;
  }
}

interface Warnings {
  warnings: string[] | undefined;
}

function member(warnings: string[]): Warnings {
  return { warnings: warnings.length > 0 ? warnings : undefined };
}
