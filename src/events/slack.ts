/**
 * An event as a message for Slack's incoming webhooks: whom it is about, its sentence, and a link to the customer's page of
 * the console if there is one.
 */

import { TEST_EVENT_TYPE } from '../contract/webhooks.ts';
import { eventText } from './event-text.ts';

/** The longest text: a message, not a record. */
const TEXT_LENGTH_MAX = 2_000;

type Data = Readonly<Record<string, unknown>>;

/** The message as JSON. `consoleUrl` is the console's page of the organization. */
export function slackMessage(type: string, data: Data, consoleUrl: string | null): string {
  const { customerId } = data;
  if (typeof customerId !== 'string') return JSON.stringify({ text: shortened(textFor(type, data)) });
  const text = shortened(`${customerId}: ${textFor(type, data)}`);
  const link =
    consoleUrl === null ? '' : ` <${consoleUrl}/customers/${encodeURIComponent(customerId)}|Open in the console>`;
  return JSON.stringify({ text: text + link });
}

function textFor(type: string, data: Data): string {
  return type === TEST_EVENT_TYPE ? `The webhook ${data.webhookId} works.` : eventText(type, data);
}

/** Escaped: Slack reads these three characters as its own. */
function shortened(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').slice(0, TEXT_LENGTH_MAX);
}
