/**
 * An event as one sentence of plain text, for messages and for the command line.
 */
import { EVENT_TYPES, type OrganizationEvent } from '../contract/events.ts';
import { isFigure, type Part } from './sentence.ts';
import { eventSentence } from './sentences.ts';

/** An event of another version, without a sentence, is told with its data. */
export function eventText(type: string, data: Readonly<Record<string, unknown>>): string {
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
