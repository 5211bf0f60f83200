/**
 * Sessions on the wire: short-lived tokens for browsers, issued with a server's key (contract section 5, items 5 to 7).
 */

import { z } from 'zod';
import type { CustomerId } from '../domain/ids.ts';
import { branded, customerId, instant, TAGS_MAX, TEXT_LENGTH_MAX, text } from './fields.ts';
import { resolveIdentity } from './identity.ts';

/** Contract section 8. */
export const SESSION_SECONDS = 300;

/** The scopes that a client session can have: a safe subset of its key's. */
export const CLIENT_SCOPES = { 'gateway:invoke': 'gateway:chat', 'compression:invoke': 'compression:run' } as const;
export type ClientScope = (typeof CLIENT_SCOPES)[keyof typeof CLIENT_SCOPES];

/** The largest body of a request with a session token: enough for a conversation, not for large pictures. */
export const SESSION_BODY_BYTES_MAX = 1024 * 1024;

const ORIGINS_MAX = 10;

const SessionBody = z.object({
  customerId,
  customerUserId: text(255).optional().describe('Stable, non-personal identifier of the end user'),
});

const label = text(TEXT_LENGTH_MAX);
/** The most models that a session can name. */
const MODELS_MAX = 20;
/**
 * The longest JSON of `feature`, `tags` and `models`, which are part of the token. With the longest ids, the header
 * stays below the 8 KiB that servers commonly accept.
 */
const CARRIED_BYTES_MAX = 3_072;
const CARRIED_RULE = `feature, tags and models of a session may have ${CARRIED_BYTES_MAX} bytes together, as JSON`;

const ClientSessionBody = SessionBody.extend({
  feature: label.optional().describe('Feature of the application that every call of the session is filed under'),
  tags: z.array(label).max(TAGS_MAX).optional().describe('Labels that every call of the session is reported by'),
  models: z
    .array(text(330))
    .min(1)
    .max(MODELS_MAX)
    .optional()
    .describe('The models that the session may ask, named as in a request; default all'),
}).superRefine(({ feature, tags, models }, context) => {
  if (jsonBytes({ feature, tags, models }) <= CARRIED_BYTES_MAX) return;
  const path = jsonBytes(models ?? []) > jsonBytes(tags ?? []) ? 'models' : 'tags';
  context.addIssue({ code: 'custom', path: [path], message: CARRIED_RULE });
});

const jsonBytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).byteLength;

export const ClientSessionRequest = z.preprocess(resolveIdentity, ClientSessionBody);
export type ClientSessionRequest = z.infer<typeof ClientSessionBody>;

export const EmbedSessionRequest = z.preprocess(
  resolveIdentity,
  SessionBody.extend({
    origins: z
      .array(
        z.string().regex(/^https?:\/\/[A-Za-z0-9.-]+(:\d{1,5})?$/, 'must be an origin such as https://app.example.com'),
      )
      .max(ORIGINS_MAX)
      .default([])
      .describe('Pages that may show the widget in a frame; none means that none may'),
    theme: z.enum(['auto', 'light', 'dark']).default('auto').describe('Colours of the widget'),
    variant: z.enum(['compact', 'detailed']).default('compact').describe('How much the widget shows'),
  }),
);

export type EmbedSessionRequest = z.infer<typeof EmbedSessionRequest>;

const SessionToken = z.object({
  token: z.string().describe('Keep it in memory, and renew it through your backend before it ends'),
  tokenType: z.literal('Bearer').describe('How it is sent'),
  expiresAt: instant.describe('When it ends'),
  expiresIn: z.number().int().describe('Seconds until then'),
  scopes: z.array(z.string()).describe('What it may do'),
  customerId: branded<CustomerId>(z.string()).describe('The customer that it speaks for'),
  customerUserId: z.string().nullable().describe("The customer's user"),
});

export const ClientSessionData = SessionToken;
export type ClientSessionData = z.infer<typeof ClientSessionData>;

export const EmbedSessionData = SessionToken.extend({
  embedUrl: z.string().describe('Address of the widget, for a frame; the token is in its fragment'),
});
export type EmbedSessionData = z.infer<typeof EmbedSessionData>;
