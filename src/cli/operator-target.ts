/**
 * The server and operator token of a command: from the command line, otherwise the environment, otherwise the values
 * that `npm start` uses on this machine.
 */
import { OPERATOR_HEADER } from '../contract/envelope.ts';
import { readDevVars } from './dev-vars.ts';
import { UsageError } from './usage-error.ts';

const PORT_DEFAULT = '8787';

export interface Target {
  url: string;
  /** `null`: the service token of Cloudflare Access identifies the operator. */
  credential: string | null;
  /** The headers to pass Cloudflare Access; empty if the environment has no service token. */
  access: Readonly<Record<string, string>>;
}

export const TARGET_HELP = `  --url      address of the server (CALLMETER_URL, else port PORT or ${PORT_DEFAULT} of this machine)
  --token    operator token (OPERATOR_TOKEN, else the one in .dev.vars); without one, and with CF_ACCESS_CLIENT_ID
             and CF_ACCESS_CLIENT_SECRET, the operator whom Cloudflare Access knows by that service token`;

/** `given` has the values of the command line. */
export async function operatorTarget(
  given: { url?: string | undefined; token?: string | undefined },
  env = process.env,
): Promise<Target> {
  const access = accessHeaders(env);
  return { url: serverUrl(given.url, env), credential: await operatorToken(given.token, access, env), access };
}

export function serverUrl(given: string | undefined, env = process.env): string {
  const url = given ?? env.CALLMETER_URL ?? `http://127.0.0.1:${env.PORT ?? PORT_DEFAULT}`;
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new UsageError(`--url must be an http or https address, not ${url}`);
  return url.replace(/\/+$/, '');
}

/** Whether the address is on this machine. */
export function isLocal(url: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
}

/**
 * The service token with which a command passes Cloudflare Access, and the header that says that no other site made the
 * request; empty if the environment has no service token.
 */
export function accessHeaders(env = process.env): Record<string, string> {
  const { CF_ACCESS_CLIENT_ID: id, CF_ACCESS_CLIENT_SECRET: secret } = env;
  if (!id || !secret) return {};
  return {
    'CF-Access-Client-Id': id,
    'CF-Access-Client-Secret': secret,
    'Sec-Fetch-Site': 'same-origin',
    [OPERATOR_HEADER]: '1',
  };
}

/**
 * `null` if a service token of Cloudflare Access identifies the operator: then the token of this machine is not sent.
 */
async function operatorToken(
  given: string | undefined,
  access: Target['access'],
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  const named = Object.keys(access).length > 0;
  if (named && given === undefined && env.OPERATOR_TOKEN === undefined) return null;
  const token = given ?? env.OPERATOR_TOKEN ?? (await readDevVars(env.DEV_VARS_FILE)).OPERATOR_TOKEN;
  if (!token)
    throw new UsageError(
      'there is no operator token: pass --token, set OPERATOR_TOKEN, or let `npm start` make one in .dev.vars',
    );
  return token;
}
