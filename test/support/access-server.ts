/**
 * Cloudflare Access as a team sees it, on a port of its own: its public keys, tokens that it signs, and front doors
 * that let a service token or a browser in and pass requests on with the token of an application.
 */
import { createSign, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Loopback, serveOnLoopback } from '../vendors/loopback.ts';

export const AUDIENCE = '32eafc7626e737119b0d3ba0e2c9d4a6';

/** Its address is the team's domain. */
export interface AccessServer extends Loopback {
  /** How often the keys were asked for. */
  asked: number;
  /** While set, the keys are answered with this status. */
  failing: number | null;
  /** A new key signs from now on; the one before stays valid. */
  rotate(): void;
  /** Takes away all keys but the newest. */
  forget(): void;
  /** A token as Access makes it; `claims` and `header` replace members, `undefined` leaves one out. */
  token(name: string, claims?: Record<string, unknown>, header?: Record<string, unknown>): string;
  /** A token whose signature is by somebody else's key. */
  forged(name: string): string;
  publicKeyPem(): string;
}

interface Pair {
  privateKey: KeyObject;
  publicKey: KeyObject;
}

interface Key extends Pair {
  kid: string;
}

export async function startAccess(): Promise<AccessServer> {
  firstPair ??= newPair();
  let keys: Key[] = [{ kid: newKeyId(), ...firstPair }];
  const { url, close } = await serveOnLoopback((request, response) => {
    access.asked += 1;
    if (request.url !== '/cdn-cgi/access/certs') return response.writeHead(404).end();
    if (access.failing !== null) return response.writeHead(access.failing).end();
    const listed = keys.map(({ kid, publicKey }) => ({
      ...publicKey.export({ format: 'jwk' }),
      kid,
      alg: 'RS256',
      use: 'sig',
    }));
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ keys: listed }));
  });
  const newest = () => keys.at(-1) as Key;
  const access: AccessServer = {
    url,
    asked: 0,
    failing: null,
    rotate: () => void keys.push(newKey()),
    forget: () => {
      keys = keys.slice(-1);
    },
    token: (name, claims, header) => sign(newest(), claimsOf(url, name, claims), header),
    forged: (name) => sign({ ...newKey(), kid: newest().kid }, claimsOf(url, name)),
    publicKeyPem: () => newest().publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    close,
  };
  return access;
}

/** The front of a deployment: a sender of the service token passes with the application's token. */
export async function startFrontDoor(
  target: string,
  access: AccessServer,
  { id, secret }: { id: string; secret: string },
): Promise<Loopback> {
  return serveOnLoopback(async (request, response) => {
    const { 'cf-access-client-id': sentId, 'cf-access-client-secret': sentSecret } = request.headers;
    if (sentId !== id || sentSecret !== secret) return response.writeHead(403).end();
    pass(target, request, response, access.token('', { email: undefined, sub: '', common_name: id }));
  });
}

/**
 * The front of a deployment for a browser that has signed in as `name`, if the cookie of Access is `SameSite=None`:
 * every request of the browser passes with the application's token, whatever page made it.
 */
export function startOpenDoor(target: string, access: AccessServer, name: string): Promise<Loopback> {
  return serveOnLoopback((request, response) => pass(target, request, response, access.token(name)));
}

/** With all headers, the host as the browser named it too. */
function pass(target: string, request: IncomingMessage, response: ServerResponse, token: string): void {
  const headers = { ...request.headers, 'cf-access-jwt-assertion': token };
  const passed = forward(target + request.url, { method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  passed.on('error', () => response.writeHead(502).end());
  request.pipe(passed);
}

function claimsOf(issuer: string, name: string, claims: Record<string, unknown> = {}): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1_000);
  return {
    ...{ aud: [AUDIENCE], email: name, iss: issuer, type: 'app', identity_nonce: randomUUID().slice(0, 8) },
    ...{ iat: now - 5, nbf: now - 5, exp: now + 3_600, sub: randomUUID(), country: 'NL' },
    ...claims,
  };
}

function sign(
  { kid, privateKey }: Pick<Key, 'kid' | 'privateKey'>,
  claims: Record<string, unknown>,
  header: Record<string, unknown> = {},
): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg: 'RS256', kid, typ: 'JWT', ...header })}.${part(claims)}`;
  return `${signed}.${createSign('RSA-SHA256').update(signed).sign(privateKey).toString('base64url')}`;
}

/** The first key of each team: a pair takes long to make, and no team knows another's key by its id. */
let firstPair: Pair | undefined;

const newPair = (): Pair => generateKeyPairSync('rsa', { modulusLength: 2048 });
const newKeyId = () => randomUUID().replaceAll('-', '');
const newKey = (): Key => ({ kid: newKeyId(), ...newPair() });
