/**
 * What each type of event says, in one sentence: on the console, on the command line, in a message for Slack. Pure, and
 * exhaustive over the types. A sentence does not name the customer: each reader shows beside it whom it is about.
 */

import type { EventData, EventType } from '../contract/event-data.ts';
import type { OrganizationEvent } from '../contract/events.ts';
import { meterInText, meterTitle } from '../domain/meter-names.ts';
import { enumerated, type Figure, type Mention, type Part, sentence } from './sentence.ts';

const SENTENCES: { readonly [Type in EventType]: (data: EventData[Type]) => Part[] } = {
  'customer.created': ({ planId }) => sentence`New customer, on the plan ${plan(planId)}`,
  'customer.plan_changed': ({ previousUsagePlanVersionId, usagePlanVersionId }) =>
    sentence`Moved from ${version(previousUsagePlanVersionId)} to ${version(usagePlanVersionId)}`,
  'customer.replenished': ({ planId, periodEndsAt }) =>
    sentence`A new usage period began${until(periodEndsAt)}, on the plan ${plan(planId)}`,
  'meter.threshold_reached': ({ meter, meterLabel, threshold, used, limit, periodEndsAt }) =>
    sentence`${meterTitle(meter, meterLabel)} reached ${threshold}% of the limit: ${used} of ${limit} used${periodEnd(periodEndsAt)}`,
  'meter.recovered': ({ meter, meterLabel, threshold, used, limit, periodEndsAt }) => {
    const now = limit === null ? sentence`${used} used, and no limit any more` : sentence`${used} of ${limit} used`;
    return sentence`${meterTitle(meter, meterLabel)} fell below ${threshold}% of the limit: ${now}${periodEnd(periodEndsAt)}`;
  },
  'balance.low': ({ balanceUsd, belowUsd = '0', belowDays, daysLeft = 0 }) =>
    belowDays === undefined
      ? sentence`The balance is low: ${usd(balanceUsd)} left, below ${usd(belowUsd)}`
      : sentence`The balance is low: ${usd(balanceUsd)} left, enough for ${plural(daysLeft, 'day')}, below ${plural(belowDays, 'day')}`,
  'balance.exhausted': ({ balanceUsd }) => sentence`The balance is used up: ${usd(balanceUsd)}`,
  'balance.overdrawn': ({ balanceUsd }) => sentence`The balance is overdrawn: ${usd(balanceUsd)}`,
  'call.denied': ({ callId, code: reason, meter, also = [] }) => {
    const meters = [...(meter === null ? [] : [meter]), ...also.map((limit) => limit.meter)];
    const reasons = [[code(reason)], ...meters.map((name) => [meterInText(name)])];
    return sentence`${call(callId, 'A call')} was denied: ${enumerated(reasons, ', ')}`;
  },
  'call.unpriced': ({ callId, modelUsed, reason, atStakeUsd = '0' }) => {
    const held = atStakeUsd === '0' ? [] : sentence`; ${usd(atStakeUsd)} was held for it`;
    return sentence`${call(callId, 'A call')} of ${model(modelUsed)} has no price: ${code(reason)}${held}`;
  },
  'customer.storage_high': ({ percent }) =>
    sentence`The customer's storage is ${percent}% full; from 95% on no new call begins`,
  'charge.failed': ({ amountUsd, reason, subject, subjectId }) => {
    const what = subject === 'call' ? call(subjectId, 'a call') : 'an increment';
    return sentence`The charge of ${usd(amountUsd)} for ${what} failed: ${reason}`;
  },

  'forecast.will_run_out': ({ meter, meterLabel, expectedAt, used, limit, periodEndsAt }) =>
    sentence`${meterTitle(meter, meterLabel)} will run out about ${instant(expectedAt)}: ${used} of ${limit} used${periodEnd(periodEndsAt)}`,
  'anomaly.detected': ({ summary }) => sentence`Unusual usage: ${summary}`,
  'model.deprecated': ({ modelKey, status, shutdownAt, replacement }) => {
    const end = shutdownAt === null ? [] : sentence`, and ends on ${day(shutdownAt)}`;
    return sentence`${model(modelKey)} is ${code(status)}${end}${replacedBy(replacement.modelKey)}`;
  },
  'model.ending': ({ modelKey, shutdownAt, daysLeft, replacement }) =>
    sentence`${model(modelKey)} ends on ${day(shutdownAt)}, in ${plural(daysLeft, 'day')}${replacedBy(replacement.modelKey)}`,
  'model.switched': ({ mapping, from, to, reason }) =>
    sentence`Replaced ${model(from)} by ${model(to)} in the mapping ${mapping}: ${reason}`,
  'model.switch_refused': ({ mapping, model: name, shutdownAt, reasons }) => {
    const why = reasons.map(({ message }) => message).join('; ');
    return sentence`Did not replace ${model(name)}, which ends on ${day(shutdownAt)}, in the mapping ${mapping}: ${why}`;
  },
  'price.changed': ({ modelKey, source, before, after }) => {
    const whose = source === 'catalog' ? 'The price in the catalog' : 'The own price';
    const what = after === null ? 'was removed' : before === null ? 'was set' : 'changed';
    return sentence`${whose} of ${model(modelKey)} ${what}`;
  },
  'catalog.published': ({ version: release, previousVersion, repriced, lifecycle }) => {
    const changes =
      repriced === null ? [] : sentence`: ${repriced} with another price, ${lifecycle ?? 0} with other dates`;
    return sentence`The catalog ${release} is in use, after ${previousVersion}${changes}`;
  },
  'key.created': ({ keyId, name }) => sentence`The API key ${key(keyId, name)} was created`,
  'key.revoked': ({ keyId, name }) => sentence`The API key ${key(keyId, name)} was revoked`,
  'projection.lagging': ({ changes, waitingSince }) =>
    sentence`${plural(changes, 'change')} not in lists and reports yet, the oldest since ${instant(waitingSince)}`,
  'webhook.disabled': ({ webhookId, reason }) => {
    const why = reason === 'GONE' ? 'its endpoint answered 410' : 'its endpoint failed for five days';
    return sentence`The webhook ${webhook(webhookId)} was disabled: ${why}`;
  },
};

export function eventSentence({ type, data }: Pick<OrganizationEvent, 'type' | 'data'>): Part[] {
  return sentenceFor(type, data);
}

function sentenceFor<Type extends EventType>(type: Type, data: EventData[Type]): Part[] {
  return SENTENCES[type](data);
}

const plan = (id: string): Mention => ({ kind: 'plan', id });
const version = (id: string): Mention => ({ kind: 'version', id });
const model = (id: string): Mention => ({ kind: 'model', id, name: id });
const webhook = (id: string): Mention => ({ kind: 'webhook', id, name: id });
const call = (id: string, name: string): Mention => ({ kind: 'call', id, name });
const key = (id: string, name: string): Mention => ({ kind: 'key', id, name });

const usd = (value: string): Figure => ({ kind: 'usd', value });
const instant = (value: string): Figure => ({ kind: 'instant', value });
const day = (value: string): Figure => ({ kind: 'day', value });
const code = (value: string): Figure => ({ kind: 'code', value });

const plural = (count: number, noun: string) => sentence`${count} ${count === 1 ? noun : `${noun}s`}`;
const until = (at: string | null) => (at === null ? [] : sentence`, until ${instant(at)}`);
const periodEnd = (at: string | null) => (at === null ? [] : sentence`; the usage period ends on ${instant(at)}`);
const replacedBy = (modelKey: string | null) =>
  modelKey === null ? [] : sentence`; ${model(modelKey)} may replace it`;
