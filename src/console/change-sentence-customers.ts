/**
 * Changes by operators to one customer as sentences: the part of `change-sentence.ts` whose subject is a customer.
 */
import type { ACTION_KINDS, OperatorAction } from '../contract/operator-actions.ts';
import { type Mention, type Part, sentence } from '../events/sentence.ts';
import { count, plural } from '../ui/format.ts';
import { fieldValue, lowerFirst, slotName, usdText } from './field-words.ts';
import { asState, instantText, numberAt, type State, textAt } from './stored-state.ts';

/** The actions whose subject is a customer. */
export type Customers = {
  [Action in OperatorAction]: (typeof ACTION_KINDS)[Action] extends 'customer' ? Action : never;
}[OperatorAction];

export interface CustomerChange {
  subject: string;
  before: State;
  after: State;
}

export function customerSentence(action: Customers, { subject, before, after }: CustomerChange): Part[] {
  const customer: Mention = { kind: 'customer', id: subject };
  switch (action) {
    case 'customer.create':
      return sentence`Created the customer ${customer} on ${version(after)}`;
    case 'customer.change_plan':
      return planChanged(customer, before, after);
    case 'customer.replenish':
      return sentence`Began a new usage period of ${customer}${until(after)}`;
    case 'customer.cancel':
      return sentence`Canceled the subscription of ${customer}`;
    case 'customer.reactivate':
      return sentence`Reactivated the subscription of ${customer}`;
    case 'customer.erase':
      return sentence`Erased the customer ${subject}${erased(after)}`;
    case 'credit.grant':
      return sentence`Granted ${granted(after)} to ${customer}${terms(after)}`;
    case 'credit.revoke':
      return sentence`Revoked a credit of ${customer}: took back ${amountText(after, 'unit', 'revoked')}`;
    case 'call.reverse':
      return sentence`Reversed ${call(after)} of ${customer}${refund(after)}`;
    case 'call.amend':
      return sentence`Amended ${call(after)} of ${customer}: cost ${cost(after, 'previousCostUsdNano')} → ${cost(after, 'costUsdNano')}`;
    case 'meter_event.reverse':
      return sentence`Reversed an increment of ${plural(numberAt(after, 'amount') ?? 0, 'unit')} of ${lowerFirst(slotName(textAt(after, 'meterSlot') ?? ''))} of ${customer}${refund(after)}`;
    case 'outbox.set_aside':
      return sentence`Set aside a change of ${customer} that the database refused`;
  }
}

function version(state: State): Mention {
  return { kind: 'version', id: textAt(state, 'usagePlanVersionId') ?? '' };
}

function planChanged(customer: Mention, before: State, after: State): Part[] {
  const [old, now] = [version(before), version(after)];
  const pending = asState(after.pending);
  if (textAt(pending, 'usagePlanVersionId') !== undefined)
    return sentence`Scheduled ${customer} to move from ${now} to ${version(pending)} on ${instantText(pending, 'effectiveAt')}`;
  if (old.id !== now.id) return sentence`Moved ${customer} from ${old} to ${now}`;
  const was = asState(before.pending);
  return textAt(was, 'usagePlanVersionId') === undefined
    ? sentence`Left ${customer} on ${now}`
    : sentence`Left ${customer} on ${now}, and took back the scheduled move to ${version(was)}`;
}

function until(after: State): string {
  return textAt(after, 'nextReplenishAt') === undefined ? '' : `, until ${instantText(after, 'nextReplenishAt')}`;
}

const ERASED = [
  ['calls', 'call'],
  ['creditEntries', 'ledger entry', 'ledger entries'],
  ['meterEvents', 'increment'],
  ['samples', 'sample'],
] as const;

function erased(after: State): string {
  const counted = ERASED.flatMap(([member, one, many = `${one}s`]) => {
    const number = numberAt(after, member) ?? 0;
    return number === 0 ? [] : [`${count(number)} ${number === 1 ? one : many}`];
  });
  return counted.length === 0 ? '' : `: ${counted.join(', ')}`;
}

function granted(after: State): string {
  if (after.kind === 'METER')
    return `${plural(numberAt(after, 'units') ?? 0, 'unit')} of ${lowerFirst(slotName(textAt(after, 'meterSlot') ?? ''))}`;
  return usdText(textAt(after, 'amountUsd') ?? '0');
}

function amountText(state: State, unit: string, amount: string): string {
  const value = textAt(state, amount) ?? '0';
  return state[unit] === 'USD'
    ? usdText(value)
    : `${plural(Number(value), 'unit')} of ${lowerFirst(slotName(textAt(state, unit) ?? ''))}`;
}

function terms(after: State): string {
  const expires = textAt(after, 'expiresAt') === undefined ? '' : `, to spend until ${instantText(after, 'expiresAt')}`;
  const reference = textAt(after, 'reference');
  return `${expires}${reference === undefined ? '' : `, reference ${reference}`}`;
}

function call(after: State): Mention {
  return { kind: 'call', id: textAt(after, 'callId') ?? '', name: 'a call' };
}

function cost(after: State, member: string): string {
  const nano = textAt(after, member);
  return nano === undefined ? 'not known' : fieldValue('costNanoUsd', nano);
}

function refund(after: State): string {
  const nano = textAt(after, 'refundNanoUsd') ?? '0';
  return nano === '0' ? '' : `, which gives back ${fieldValue('refundNanoUsd', nano)}`;
}
