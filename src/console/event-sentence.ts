/**
 * What an organization is told of, as a sentence. Pure, and exhaustive over the types of events.
 */

import type { OrganizationEvent } from '../contract/events.ts';
import type { KeyId } from '../domain/ids.ts';
import { calendarDay, count, moment, plural, words } from '../ui/format.ts';
import { lowerFirst, usdText } from './field-words.ts';
import { type Mention, type Part, sentence } from './mention.ts';

export function eventSentence(event: OrganizationEvent): Part[] {
  switch (event.type) {
    case 'customer.created':
      return sentence`New customer, on the plan ${plan(event.data.planId)}`;
    case 'customer.plan_changed':
      return sentence`Moved from ${version(event.data.previousUsagePlanVersionId)} to ${version(event.data.usagePlanVersionId)}`;
    case 'customer.replenished':
      return sentence`A new usage period began${until(event.data.periodEndsAt)}, on the plan ${plan(event.data.planId)}`;
    case 'meter.threshold_reached': {
      const { meter, threshold, used, limit } = event.data;
      return sentence`${words(meter)} reached ${count(threshold)}% of the limit: ${count(used)} of ${count(limit)} used`;
    }
    case 'meter.recovered': {
      const { meter, threshold, used, limit } = event.data;
      const now = limit === null ? 'no limit any more' : `${count(used)} of ${count(limit)} used`;
      return sentence`${words(meter)} are below ${count(threshold)}% of the limit again: ${now}`;
    }
    case 'balance.low': {
      const { balanceUsd, belowUsd, belowDays, daysLeft } = event.data;
      return belowDays === undefined
        ? sentence`The balance is low: ${usdText(balanceUsd)} left, below ${usdText(belowUsd ?? '0')}`
        : sentence`The balance is low: ${usdText(balanceUsd)} left, enough for ${plural(daysLeft ?? 0, 'day')}, below ${plural(belowDays, 'day')}`;
    }
    case 'balance.exhausted':
      return sentence`The balance is used up: ${usdText(event.data.balanceUsd)}`;
    case 'balance.overdrawn':
      return sentence`The balance is overdrawn: ${usdText(event.data.balanceUsd)}`;
    case 'call.denied': {
      const { callId, code, meter, also = [] } = event.data;
      const meters = [...(meter === null ? [] : [meter]), ...also.map((limit) => limit.meter)];
      const reasons = [code, ...meters].map((reason) => lowerFirst(words(reason))).join(', ');
      return sentence`${call(callId, 'A call')} was denied: ${reasons}`;
    }
    case 'call.unpriced': {
      const { callId, modelUsed, reason, atStakeUsd = '0' } = event.data;
      const held = atStakeUsd === '0' ? '' : `; ${usdText(atStakeUsd)} was held for it`;
      return sentence`${call(callId, 'A call')} of ${model(modelUsed)} has no price: ${lowerFirst(words(reason))}${held}`;
    }
    case 'charge.failed': {
      const { amountUsd, reason, subject, subjectId } = event.data;
      const of = subject === 'call' ? call(subjectId, 'a call') : 'an increment';
      return sentence`The charge of ${usdText(amountUsd)} for ${of} failed: ${reason}`;
    }
    case 'webhook.disabled': {
      const { webhookId, reason } = event.data;
      const why = reason === 'GONE' ? 'it answered 410' : 'it failed for five days';
      return sentence`The webhook ${{ kind: 'webhook', id: webhookId, name: webhookId }} was disabled: ${why}`;
    }
    default:
      return watchSentence(event);
  }
}

/** What is found for the organization as a whole, or by a forecast. */
type Watched = Extract<
  OrganizationEvent,
  {
    type:
      | 'forecast.will_run_out'
      | 'model.deprecated'
      | 'model.ending'
      | 'price.changed'
      | 'catalog.published'
      | 'key.created'
      | 'key.revoked'
      | 'projection.lagging'
      | 'anomaly.detected'
      | 'model.switched'
      | 'model.switch_refused';
  }
>;

function watchSentence(event: Watched): Part[] {
  switch (event.type) {
    case 'forecast.will_run_out': {
      const { meter, expectedAt, used, limit } = event.data;
      return sentence`${words(meter)} will run out about ${time(expectedAt)}: ${count(used)} of ${count(limit)} used`;
    }
    case 'model.deprecated': {
      const { modelKey, status, shutdownAt, replacement } = event.data;
      const end = shutdownAt === null ? '' : `, and ends on ${dayOf(shutdownAt)}`;
      return sentence`${model(modelKey)} is ${lowerFirst(words(status))}${end}${replacedBy(replacement.modelKey)}`;
    }
    case 'model.ending': {
      const { modelKey, shutdownAt, step, replacement } = event.data;
      return sentence`${model(modelKey)} ends on ${dayOf(shutdownAt)}, within ${plural(step, 'day')}${replacedBy(replacement.modelKey)}`;
    }
    case 'model.switched': {
      const { mapping, from, to, reason } = event.data;
      return sentence`Replaced ${model(from)} by ${model(to)} in the mapping ${mapping}: ${reason}`;
    }
    case 'model.switch_refused': {
      const { mapping, model: name, reasons } = event.data;
      return sentence`Did not replace ${model(name)} in the mapping ${mapping}: ${reasons.map(({ message }) => message).join('; ')}`;
    }
    case 'price.changed':
      return priceChanged(event.data);
    case 'catalog.published': {
      const { version: release, previousVersion, repriced, lifecycle } = event.data;
      const changes =
        repriced === null ? '' : `: ${count(repriced)} with another price, ${count(lifecycle ?? 0)} with other dates`;
      return sentence`The catalog ${release} is in use, after ${previousVersion}${changes}`;
    }
    case 'key.created':
      return sentence`The API key ${key(event.data)} was created`;
    case 'key.revoked':
      return sentence`The API key ${key(event.data)} was revoked`;
    case 'projection.lagging': {
      const { changes, waitingSince } = event.data;
      return sentence`${plural(changes, 'change')} not in lists and reports yet, the oldest since ${time(waitingSince)}`;
    }
    case 'anomaly.detected':
      return [event.data.summary];
  }
}

function priceChanged({
  modelKey,
  source,
  before,
  after,
}: Extract<Watched, { type: 'price.changed' }>['data']): Part[] {
  const whose = source === 'catalog' ? 'The price in the catalog' : 'The own price';
  const what = after === null ? 'was removed' : before === null ? 'was set' : 'changed';
  return sentence`${whose} of ${model(modelKey)} ${what}`;
}

const plan = (id: string): Mention => ({ kind: 'plan', id });
const version = (id: string): Mention => ({ kind: 'version', id });
const model = (id: string): Mention => ({ kind: 'model', id, name: id });
const call = (id: string, name: string): Mention => ({ kind: 'call', id, name });
const key = ({ keyId, name }: { keyId: KeyId; name: string }): Mention => ({ kind: 'key', id: keyId, name });

const time = (instant: string) => `${moment(Date.parse(instant))} UTC`;
const dayOf = (day: string) => calendarDay(Date.parse(day));

function until(periodEndsAt: string | null): string {
  return periodEndsAt === null ? '' : `, until ${time(periodEndsAt)}`;
}

function replacedBy(modelKey: string | null): Part[] {
  return modelKey === null ? [] : sentence`; ${model(modelKey)} replaces it`;
}
