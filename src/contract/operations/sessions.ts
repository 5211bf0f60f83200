/**
 * Session tokens for a customer's browser and for the usage widget.
 */
import { ClientSessionData, ClientSessionRequest, EmbedSessionData, EmbedSessionRequest } from '../sessions.ts';
import { apiKey, type Operation, operation } from './operation.ts';

export const sessions = {
  createClientSession: operation({
    operationId: 'createClientSession',
    summary: "Issue a token of five minutes for a customer's browser",
    method: 'POST',
    path: '/v1/client/sessions',
    security: { kind: 'apiKey', scopes: ['gateway:invoke', 'compression:invoke'], anyScope: true },
    body: ClientSessionRequest,
    code: 'CLIENT_SESSION_CREATED',
    data: ClientSessionData,
    refusals: ['FEATURE_NOT_ALLOWED', 'MODEL_NOT_ALLOWED'],
  }),
  createGatewaySession: operation({
    operationId: 'createGatewaySession',
    summary: 'The same, under its earlier name',
    method: 'POST',
    path: '/v1/gateway/sessions',
    security: { kind: 'apiKey', scopes: ['gateway:invoke', 'compression:invoke'], anyScope: true },
    body: ClientSessionRequest,
    code: 'CLIENT_SESSION_CREATED',
    data: ClientSessionData,
  }),
  createEmbedSession: operation({
    operationId: 'createEmbedSession',
    summary: "Issue a token and an address for a customer's usage widget",
    method: 'POST',
    path: '/v1/embed-sessions',
    security: apiKey('embeds:read'),
    body: EmbedSessionRequest,
    code: 'EMBED_SESSION_CREATED',
    data: EmbedSessionData,
  }),
} as const satisfies Record<string, Operation>;
