/**
 * The form of a webhook. Pages show only the host of its address, because the path is often a secret, as with Slack. So
 * the form of an existing webhook starts without the address, and an empty field keeps the current one.
 */
import type { FC } from 'hono/jsx';
import { EVENTS } from '../contract/event-data.ts';
import { EVENT_TYPES } from '../contract/events.ts';
import type { Webhook, WebhookFormat } from '../contract/webhooks.ts';
import { putWebhook, webhookOrigin } from '../operator/webhooks.ts';
import { TextField } from '../ui/form.tsx';
import { words } from '../ui/format.ts';
import { BodyFields } from './schema-form.tsx';

const TYPES = EVENT_TYPES.map((type) => [type, words(type), EVENTS[type].meaning] as const);

export const FORMAT_WORDS: Readonly<Record<WebhookFormat, string>> = {
  standard: 'Standard Webhooks',
  slack: 'Slack',
};

export const WebhookFields: FC<{ edited: Webhook | null }> = ({ edited }) => (
  <>
    {edited === null && (
      <TextField
        name="webhookId"
        label="Webhook id"
        required
        placeholder="billing"
        hint="Letters, digits, dots, dashes and underscores. It cannot be changed."
      />
    )}
    <BodyFields
      of={putWebhook}
      paths={['url', 'description', 'types', 'format', 'enabled']}
      overrides={{
        url: {
          placeholder: 'https://example.com/hooks/callmeter',
          required: edited === null,
          hint: edited
            ? `Leave empty to keep the current address at ${webhookOrigin(edited)}. Its path may be a secret, so it is not shown.`
            : 'The endpoint that events are sent to, by POST.',
        },
        types: { options: TYPES, hint: 'Choose none to get all events, also those of later versions.' },
        format: {
          options: [
            ['standard', FORMAT_WORDS.standard, 'the event as JSON'],
            ['slack', FORMAT_WORDS.slack, 'a sentence for an incoming webhook of Slack'],
          ],
          hint: 'What the endpoint takes.',
        },
        enabled: { hint: 'While the webhook is disabled, events wait. They are sent when it is enabled again.' },
      }}
    />
  </>
);
