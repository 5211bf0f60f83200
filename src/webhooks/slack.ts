/**
 * An event as a message for Slack's incoming webhooks: a sentence, and a link to the console where there is one.
 */

/** The longest text: a message, not a record. */
const TEXT_LENGTH_MAX = 2_000;

type Data = Readonly<Record<string, unknown>>;

/** What each type says; a type without a sentence is told with its data. */
const SENTENCES: Readonly<Record<string, (data: Data) => string>> = {
  'customer.created': (d) => `${d.customerId} is a new customer on the plan ${d.planId}.`,
  'customer.plan_changed': (d) => `${d.customerId} moved from the plan ${d.previousPlanId} to ${d.planId}.`,
  'customer.replenished': (d) => `A new usage period began for ${d.customerId}${until(d)}.`,
  'meter.threshold_reached': (d) =>
    `${d.customerId} has used ${d.threshold} % of ${d.meter}: ${d.used} of ${d.limit}${until(d)}.`,
  'meter.recovered': (d) => `${d.customerId} is below ${d.threshold} % of ${d.meter} again: ${d.used} used.`,
  'balance.low': (d) => `The balance of ${d.customerId} is low: $${d.balanceUsd}, below $${d.belowUsd}.`,
  'balance.exhausted': (d) => `The balance of ${d.customerId} is used up: $${d.balanceUsd}.`,
  'call.denied': (d) => `A call of ${d.customerId} was denied: ${d.code}${d.meter ? `, ${d.meter}` : ''}.`,
  'charge.failed': (d) => `A charge of ${d.customerId} failed: $${d.amountUsd}, ${d.reason}.`,
  'webhook.disabled': (d) =>
    `The webhook ${d.webhookId} is switched off: ${d.reason === 'GONE' ? 'its endpoint answered 410' : 'its endpoint failed for five days'}.`,
  'webhook.test': (d) => `The webhook ${d.webhookId} works.`,
};

const until = ({ periodEndsAt }: Data) => (periodEndsAt ? `, until ${periodEndsAt}` : '');

/** The message as JSON. `consoleUrl` is the console's page of the organization. */
export function slackMessage(type: string, data: Data, consoleUrl: string | null): string {
  const sentence = SENTENCES[type]?.(data) ?? `${type}: ${JSON.stringify(data)}`;
  const text = escaped(sentence).slice(0, TEXT_LENGTH_MAX);
  const { customerId } = data;
  const link =
    consoleUrl !== null && typeof customerId === 'string'
      ? ` <${consoleUrl}/customers/${encodeURIComponent(customerId)}|Open in the console>`
      : '';
  return JSON.stringify({ text: text + link });
}

/** Slack reads these three characters as its own. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
