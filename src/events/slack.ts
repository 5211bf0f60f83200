/**
 * An event as a message for Slack's incoming webhooks: whom it is about, its sentence, and a link to the customer's page of
 * the console if there is one.
 */

import { EVENT_TYPES, type OrganizationEvent } from '../contract/events.ts';
import { TEST_EVENT_TYPE } from '../contract/webhooks.ts';
import { isFigure, type Part } from './sentence.ts';
import { eventSentence } from './sentences.ts';

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

/** An event of another version, without a sentence, is told with its data. */
function textFor(type: string, data: Data): string {
  if (type === TEST_EVENT_TYPE) return `The webhook ${data.webhookId} works.`;
  if (!EVENT_TYPES.some((known) => known === type)) return `${type}: ${JSON.stringify(data)}`;
  const parts = eventSentence({ type, data } as Pick<OrganizationEvent, 'type' | 'data'>);
  return `${parts.map(plain).join('').replace(/\.$/, '')}.`;
}

/** Figures are exact, and things have their ids. */
function plain(part: Part): string {
  if (typeof part === 'string') return part;
  if (typeof part === 'number') return part.toLocaleString('en-US');
  if (!isFigure(part)) return part.name === undefined || part.name === part.id ? part.id : `${part.name} (${part.id})`;
  switch (part.kind) {
    case 'usd':
      return part.value.replace(/^-?/, '$&$');
    case 'instant':
      return `${part.value.slice(0, 'yyyy-mm-ddThh:mm'.length).replace('T', ' ')} UTC`;
    case 'day':
      return part.value;
    case 'code':
      return `\`${part.value}\``;
  }
}

/** Escaped: Slack reads these three characters as its own. */
function shortened(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').slice(0, TEXT_LENGTH_MAX);
}
