/**
 * An event as a message for Slack's incoming webhooks: a sentence, and a link to the console if there is one.
 */

import type { EventType } from '../contract/events.ts';
import type { TEST_EVENT_TYPE } from '../contract/webhooks.ts';

/** The longest text: a message, not a record. */
const TEXT_LENGTH_MAX = 2_000;

type Data = Readonly<Record<string, unknown>>;

/** The sentence of each type. An event of another version, without a sentence, is shown with its data. */
const SENTENCES: Readonly<Record<EventType | typeof TEST_EVENT_TYPE, (data: Data) => string>> = {
  'customer.created': (d) => `${d.customerId} is a new customer on the plan ${d.planId}.`,
  'customer.plan_changed': (d) => `${d.customerId} moved from the plan ${d.previousPlanId} to ${d.planId}.`,
  'customer.replenished': (d) => `A new usage period began for ${d.customerId}${until(d)}.`,
  'meter.threshold_reached': (d) =>
    `${d.customerId} has used ${d.threshold} % of ${d.meter}: ${d.used} of ${d.limit}${until(d)}.`,
  'meter.recovered': (d) => `${d.customerId} is below ${d.threshold} % of ${d.meter} again: ${d.used} used.`,
  'balance.low': (d) =>
    `The balance of ${d.customerId} is low: $${d.balanceUsd}, ${d.belowDays === undefined ? `below $${d.belowUsd}` : `enough for ${d.daysLeft} days, below ${d.belowDays}`}.`,
  'balance.exhausted': (d) => `The balance of ${d.customerId} is used up: $${d.balanceUsd}.`,
  'balance.overdrawn': (d) => `The balance of ${d.customerId} is overdrawn: $${d.balanceUsd}.`,
  'call.denied': (d) => `A call of ${d.customerId} was denied: ${d.code}${d.meter ? `, ${d.meter}` : ''}.`,
  'call.unpriced': (d) =>
    `A call of ${d.modelUsed} has no known cost: ${d.reason}${Number(d.atStakeUsd) > 0 ? `; $${d.atStakeUsd} was held for it` : ''}.`,
  'forecast.will_run_out': (d) =>
    `${d.customerId} is forecast to use up ${d.meter} about ${d.expectedAt}: ${d.used} of ${d.limit} used${until(d)}.`,
  'anomaly.detected': (d) => `${d.customerId === null ? 'Usage' : `Usage of ${d.customerId}`} is unusual: ${d.summary}`,
  'model.deprecated': (d) => `The model ${d.modelKey} is ${lower(d.status)}${replacedBy(d)}.`,
  'model.ending': (d) => `The model ${d.modelKey} ends on ${d.shutdownAt}, in ${days(d.daysLeft)}${replacedBy(d)}.`,
  'model.switched': (d) => `${d.mapping} is answered by ${d.to} in place of ${d.from}: ${d.reason}.`,
  'model.switch_refused': (d) => `${d.mapping} stays with ${d.model}, which ends on ${d.shutdownAt}: ${reasons(d)}.`,
  'price.changed': (d) => `The price of ${d.modelKey} ${d.after === null ? 'was removed' : 'changed'}.`,
  'catalog.published': (d) => `The model catalog ${d.version} is in use, after ${d.previousVersion}.`,
  'key.created': (d) => `The API key ${d.name} (${d.keyId}) was created.`,
  'key.revoked': (d) => `The API key ${d.name} (${d.keyId}) was revoked.`,
  'projection.lagging': (d) => `${d.changes} changes wait for lists and readings, the oldest since ${d.waitingSince}.`,
  'charge.failed': (d) => `A charge of ${d.customerId} failed: $${d.amountUsd}, ${d.reason}.`,
  'webhook.disabled': (d) =>
    `The webhook ${d.webhookId} is disabled: ${d.reason === 'GONE' ? 'its endpoint answered 410' : 'its endpoint failed for five days'}.`,
  'webhook.test': (d) => `The webhook ${d.webhookId} works.`,
};

const lower = (word: unknown) => String(word).toLowerCase();
const days = (count: unknown) => (count === 1 ? 'a day' : `${count} days`);
const replacedBy = ({ replacement }: Data) => {
  const { modelKey } = replacement as { modelKey: string | null };
  return modelKey === null ? '' : `; ${modelKey} may replace it`;
};
const reasons = ({ reasons: all }: Data) => (all as { message: string }[]).map(({ message }) => message).join('; ');
const until = ({ periodEndsAt }: Data) => (periodEndsAt ? `, until ${periodEndsAt}` : '');

/** The message as JSON. `consoleUrl` is the console's page of the organization. */
export function slackMessage(type: string, data: Data, consoleUrl: string | null): string {
  const sentence = SENTENCES[type as EventType]?.(data) ?? `${type}: ${JSON.stringify(data)}`;
  const text = escaped(sentence).slice(0, TEXT_LENGTH_MAX);
  const { customerId } = data;
  const link =
    consoleUrl !== null && typeof customerId === 'string'
      ? ` <${consoleUrl}/customers/${encodeURIComponent(customerId)}|Open in the console>`
      : '';
  return JSON.stringify({ text: text + link });
}

/** Escapes the three characters that Slack reads as its own. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
