/**
 * Sessions on the wire: short-lived tokens for browsers, from a server's own key (contract section 5, items 5 to 7).
 */
import { z } from 'zod';
import { customerId, instant, text } from './fields.ts';
import { resolveIdentity } from './identity.ts';

/** Contract section 8. */
export const SESSION_SECONDS = 300;

/** What a client session may do: a safe part of what its key may. */
export const CLIENT_SCOPES = { 'gateway:invoke': 'gateway:chat', 'compression:invoke': 'compression:run' } as const;
export type ClientScope = (typeof CLIENT_SCOPES)[keyof typeof CLIENT_SCOPES];

/** Of a body that a session's token sends: a browser has a conversation to send, and no pictures of many megabytes. */
export const SESSION_BODY_BYTES_MAX = 1024 * 1024;

const ORIGINS_MAX = 10;

const SessionBody = z.object({
  customerId,
  customerUserId: text(255).optional().describe('Stable, non-personal identifier of the end user'),
});

export const ClientSessionRequest = z.preprocess(resolveIdentity, SessionBody);

export const EmbedSessionRequest = z.preprocess(
  resolveIdentity,
  SessionBody.extend({
    origins: z
      .array(z.string().regex(/^https?:\/\/[A-Za-z0-9.-]+(:\d{1,5})?$/, 'must be an origin such as https://app.example.com'))
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
  customerId: z.string().describe('The customer that it speaks for'),
  customerUserId: z.string().nullable().describe("The customer's user"),
});

export const ClientSessionData = SessionToken;
export type ClientSessionData = z.infer<typeof ClientSessionData>;

export const EmbedSessionData = SessionToken.extend({
  embedUrl: z.string().describe('Address of the widget, for a frame; the token is in its fragment'),
});
export type EmbedSessionData = z.infer<typeof EmbedSessionData>;
