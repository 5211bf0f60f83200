/**
 * Webhooks: an organization's endpoints for its events, the deliveries, and the endpoints' answers.
 */

import { z } from 'zod';
import type { CustomerId } from '../domain/ids.ts';
import { DISABLED_REASONS } from './event-data.ts';
import { EVENT_TYPES } from './events.ts';
import { branded, instant, text } from './fields.ts';
import { ENDS_AFTER_START, endsAfterStart } from './samples.ts';

/** The most endpoints of one organization. */
export const WEBHOOKS_MAX = 20;
/** The number of hours for which the secret before a rotation also signs. */
export const PREVIOUS_SECRET_HOURS = 24;

const URL_LENGTH_MAX = 1_000;

/** The type of event that `POST .../test` sends; it is in no list of events. */
export const TEST_EVENT_TYPE = 'webhook.test';

const webhookId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be 1 to 64 letters, digits, dots, dashes or underscores')
  .describe('Webhook id, chosen at its registration');

const deliveryEventId = text(64).describe('The event: `webhook-id` of its requests');

const FORMATS = ['standard', 'slack'] as const;

export type WebhookFormat = (typeof FORMATS)[number];

const format = z
  .enum(FORMATS)
  .describe(
    '`standard`: the event as Standard Webhooks have it; `slack`: a sentence, as an incoming webhook of Slack takes it',
  );

export const SetWebhookRequest = z.object({
  url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https address' })
    .max(URL_LENGTH_MAX)
    .refine((value) => {
      const url = URL.parse(value);
      // Invalid addresses break the rule above. An empty fragment is visible only in the text.
      return url === null || (url.username === '' && url.password === '' && !value.includes('#'));
    }, 'must have no user and no fragment')
    .describe('Address of the endpoint; https to a public host, unless the operator registers it'),
  types: z
    .array(z.enum(EVENT_TYPES))
    .min(1)
    .max(EVENT_TYPES.length)
    .nullable()
    .optional()
    .describe('The event types that it gets; absent or null for all, also of later versions'),
  description: text(200).nullable().optional().describe('Purpose'),
  enabled: z.boolean().optional().describe('Whether events are sent; default true'),
  format: format.optional(),
});

export type SetWebhookRequest = z.infer<typeof SetWebhookRequest>;

export const Webhook = z.object({
  webhookId: z.string().describe('Webhook id'),
  url: z
    .string()
    .describe(
      'Address of the endpoint; if the operator registered it, a key of the organization reads only scheme and host',
    ),
  types: z.array(z.string()).nullable().describe('The event types that it gets; null for all'),
  description: z.string().nullable().describe('Purpose'),
  enabled: z.boolean().describe('Whether events are sent'),
  format,
  registeredBy: z
    .enum(['operator', 'tenant'])
    .describe('The party that last set the address; only the operator may set http or local ones'),
  disabled: z
    .object({
      at: instant.describe('When'),
      reason: z
        .enum(DISABLED_REASONS)
        .describe('GONE: its endpoint answered 410; FAILING: every request to it failed for five days'),
    })
    .nullable()
    .describe('Why Callmeter disabled the webhook; `null` if it did not'),
  previousSecretUntil: instant
    .nullable()
    .describe('The old secret signs as well until then; null if it no longer does'),
  createdAt: instant.describe('When it was registered'),
  updatedAt: instant.describe('When it was last changed'),
});

export type Webhook = z.infer<typeof Webhook>;

export const SavedWebhook = Webhook.extend({
  secret: z
    .string()
    .optional()
    .describe('Secret that signs its requests: `whsec_` and 32 bytes as base64; only the answer that makes it has it'),
});

export type SavedWebhook = z.infer<typeof SavedWebhook>;

export const WebhookDetail = Webhook.extend({
  pending: z.number().int().describe('Events that were read for the endpoint and wait to be sent'),
  failingSince: instant.nullable().describe('When requests began to fail; null if the last one did not fail'),
});

export type WebhookDetail = z.infer<typeof WebhookDetail>;

export const DeletedWebhook = z.object({ webhookId: z.string().describe('Webhook id') });

export type DeletedWebhook = z.infer<typeof DeletedWebhook>;

export const RotatedWebhook = z.object({
  webhookId: z.string().describe('Webhook id'),
  secret: z.string().describe('The new secret; only this answer shows it'),
  previousSecretUntil: instant.describe('The old secret signs as well until then'),
});

export type RotatedWebhook = z.infer<typeof RotatedWebhook>;

const answerStatus = z.number().int().nullable().describe('The HTTP status of the last answer; null if none came');
const answer = z
  .string()
  .nullable()
  .describe(
    'The first characters of the last answer, or why none came; null before the first attempt, and for the organization if the operator registered the address',
  );

export const TestedWebhook = z.object({
  webhookId: z.string().describe('Webhook id'),
  eventId: z.string().describe('`webhook-id` of the request'),
  delivered: z.boolean().describe('The endpoint answered with 2xx'),
  answerStatus,
  answer,
});

export type TestedWebhook = z.infer<typeof TestedWebhook>;

export const ReplayRequest = z
  .object({
    from: instant.describe('Events at this instant or later'),
    to: instant.describe('Events before this instant'),
  })
  .refine(endsAfterStart, ENDS_AFTER_START);

export type ReplayRequest = z.infer<typeof ReplayRequest>;

export const StartedReplay = z.object({
  webhookId: z.string().describe('Webhook id'),
  from: instant.describe('Events at this instant or later'),
  to: instant.describe('Events before this instant'),
});

export type StartedReplay = z.infer<typeof StartedReplay>;

export const DELIVERY_STATUSES = ['PENDING', 'DELIVERED', 'GIVEN_UP'] as const;

export const Delivery = z.object({
  eventId: z.string().describe('The event: `webhook-id` of its requests'),
  type: z.string().describe('Type of the event'),
  customerId: branded<CustomerId>(z.string()).nullable().describe('The customer of the event; null if it has none'),
  timestamp: instant.describe('When the event happened'),
  status: z
    .enum(DELIVERY_STATUSES)
    .describe('PENDING: waits for its next attempt; DELIVERED: answered with 2xx; GIVEN_UP: no attempt follows'),
  attempts: z.number().int().describe('Requests that were sent'),
  lastAttemptAt: instant.nullable().describe('When the last one was sent'),
  nextAttemptAt: instant
    .nullable()
    .describe('When the next attempt is due; null if none is, or if an earlier event of the customer comes first'),
  answerStatus,
  answer,
});

export type Delivery = z.infer<typeof Delivery>;

export const SentAgain = z.object({
  webhookId: z.string().describe('Webhook id'),
  eventId: z.string().describe('The event, which is sent again now'),
});

export type SentAgain = z.infer<typeof SentAgain>;

export const webhookParam = z.object({ webhookId });
export const deliveryParam = webhookParam.extend({ eventId: deliveryEventId });
