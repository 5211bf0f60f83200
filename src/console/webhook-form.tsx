/**
 * The form of a webhook, and what it says as a request. The address is shown by its host alone: its path is often a secret,
 * as Slack's is, so the form of a webhook that is there has no address in it, and an empty one means that it stays.
 */
import type { FC } from 'hono/jsx';
import type { Refusal } from '../contract/errors.ts';
import { EVENTS } from '../contract/event-data.ts';
import { EVENT_TYPES } from '../contract/events.ts';
import type { Webhook, WebhookFormat } from '../contract/webhooks.ts';
import { Checkbox, CheckGroup, Choice, type FormState, TextField } from '../ui/form.tsx';
import type { ConsoleContext, Fields } from './context.ts';
import { wrong } from './send.ts';
import { isChecked, optionalText, text, texts } from './submitted.ts';

const TYPE_OPTIONS = EVENT_TYPES.map((type) => [type, `${type}: ${lowered(EVENTS[type].meaning)}`] as const);

export const FORMAT_WORDS: Readonly<Record<WebhookFormat, string>> = {
  standard: 'Standard Webhooks',
  slack: 'Slack',
};

export const NEW_WEBHOOK: FormState = { values: { gets: 'all', format: 'standard', enabled: 'on' }, details: [] };

/** `kept` is the address that an empty field stands for. */
export function webhookOfFields(fields: Fields, kept: string | null): unknown {
  return {
    url: optionalText(fields, 'url') ?? kept ?? '',
    types: text(fields, 'gets') === 'chosen' ? texts(fields, 'types') : null,
    description: optionalText(fields, 'description') ?? null,
    enabled: isChecked(fields, 'enabled'),
    format: text(fields, 'format'),
  };
}

/** The form again, with the rules that were broken as it says them. */
export function wrongWebhook(c: ConsoleContext, refusal: Refusal): FormState {
  const { values, details } = wrong(c, refusal);
  const types = { path: 'types', message: 'must have at least one, or choose all events' };
  return { values, details: details.map((detail) => (detail.path === 'types' ? types : detail)) };
}

export function fieldsOfWebhook({ types, description, enabled, format }: Webhook): FormState['values'] {
  return {
    gets: types === null ? 'all' : 'chosen',
    types: types ?? [],
    description: description ?? '',
    format,
    enabled: enabled ? 'on' : '',
  };
}

export const WebhookFields: FC<{ state: FormState; edited: Webhook | null }> = ({ state, edited }) => (
  <>
    {edited === null && (
      <TextField
        name="webhookId"
        label="Webhook id"
        state={state}
        required
        placeholder="billing"
        hint="Letters, digits, dots, dashes and underscores. It stays as it is."
      />
    )}
    <TextField
      name="url"
      label="Address"
      type="url"
      state={state}
      required={edited === null}
      placeholder="https://example.com/hooks/callmeter"
      hint={
        edited === null
          ? 'Where events are sent, by POST.'
          : `Now at ${originOf(edited)}. Empty: as it is. Its path may be a secret, so it is not shown.`
      }
    />
    <TextField name="description" label="Description" state={state} hint="What it is for." />
    <Choice
      name="gets"
      label="Events"
      state={state}
      options={[
        ['all', 'All', 'those of later versions too'],
        ['chosen', 'Only the types below'],
      ]}
    />
    <CheckGroup name="types" label="Types" state={state} options={TYPE_OPTIONS} />
    <Choice
      name="format"
      label="Format"
      state={state}
      options={[
        ['standard', FORMAT_WORDS.standard, 'the event as JSON'],
        ['slack', FORMAT_WORDS.slack, 'a sentence for an incoming webhook of Slack'],
      ]}
    />
    <Checkbox
      name="enabled"
      label="Send events"
      state={state}
      hint="While it is off, events wait. They are sent when it is on again."
    />
  </>
);

/** Scheme and host of the address. */
export function originOf({ url }: Webhook): string {
  return new URL(url).origin;
}

function lowered(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}
