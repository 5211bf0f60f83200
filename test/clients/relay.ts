/**
 * A relay on loopback between a client and the gateway: it passes bytes, and notes which routes were asked, how they
 * were answered, and as which call.
 */
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { GATEWAY_HEADERS } from '../../src/contract/gateway/labels.ts';
import { type Loopback, serveOnLoopback } from '../vendors/loopback.ts';

export interface Asked {
  method: string;
  /** With the query. */
  path: string;
  status: number;
  /** `null` if the answer names no call. */
  callId: string | null;
}

export interface Relay extends Loopback {
  /** In the order of the answers. */
  asked: Asked[];
}

export async function startRelay(target: string): Promise<Relay> {
  const asked: Asked[] = [];
  const server = await serveOnLoopback((incoming, outgoing) => pass(target, incoming, outgoing, asked));
  return { ...server, asked };
}

async function pass(
  target: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  asked: Asked[],
): Promise<void> {
  const { method = 'GET', url: path = '/', headers } = incoming;
  const onward = request(target + path, { method, headers: { ...headers, host: new URL(target).host } });
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    onward.once('response', resolve);
    onward.once('error', reject);
  });
  await Promise.all([pipeline(incoming, onward), answer]);
  const response = await answer;
  const status = response.statusCode ?? 0;
  const callId = response.headers[GATEWAY_HEADERS.callId];
  asked.push({ method, path, status, callId: typeof callId === 'string' ? callId : null });
  outgoing.writeHead(status, response.headers);
  await pipeline(response, outgoing);
}
