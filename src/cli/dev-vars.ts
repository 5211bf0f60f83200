/**
 * `.dev.vars`: the local secrets, in dotenv format. Existing values are kept, missing ones are generated and added.
 * DEV_VARS_FILE names another file, for a second server with other secrets.
 */
import { randomBytes } from 'node:crypto';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { API_KEY_PATTERN } from '../contract/scopes.ts';
import { createApiKey } from '../platform/api-key.ts';

export interface LocalSecrets {
  OPERATOR_TOKEN: string;
  DEMO_API_KEY: string;
  VENDOR_KEY_SECRET: string;
  SESSION_SECRET: string;
}

// Not imported from server.ts: commands that only talk to a server need neither wrangler nor Miniflare.
const DEV_VARS_FILE = process.env.DEV_VARS_FILE ?? join(import.meta.dirname, '..', '..', '.dev.vars');

const OPERATOR_TOKEN_LENGTH_MIN = 32;

/** All values of the file; empty if it does not exist. */
export async function readDevVars(file = DEV_VARS_FILE): Promise<Record<string, string>> {
  return parseEnv(await readText(file)) as Record<string, string>;
}

/**
 * The local secrets, with other values of the file. Missing ones are generated and written; `made` has their names. Throws
 * if an existing one is invalid.
 */
export async function ensureDevVars(): Promise<{ secrets: Record<string, string> & LocalSecrets; made: string[] }> {
  const text = await readText(DEV_VARS_FILE);
  const vars = parseEnv(text) as Record<string, string>;
  if (vars.OPERATOR_TOKEN && vars.OPERATOR_TOKEN.length < OPERATOR_TOKEN_LENGTH_MIN) {
    throw new Error(`OPERATOR_TOKEN in .dev.vars must have at least ${OPERATOR_TOKEN_LENGTH_MIN} characters`);
  }
  if (vars.DEMO_API_KEY && !API_KEY_PATTERN.test(vars.DEMO_API_KEY)) {
    throw new Error('DEMO_API_KEY in .dev.vars must be utk- and 43 characters of base64url');
  }
  const made = Object.fromEntries(Object.entries(newSecrets()).filter(([name]) => !vars[name]));
  const lines = Object.entries(made).map(([name, value]) => `${name}=${value}\n`);
  if (text !== '' && !text.endsWith('\n')) lines.unshift('\n');
  if (Object.keys(made).length > 0) await appendFile(DEV_VARS_FILE, lines.join(''), { mode: 0o600 });
  return { secrets: { ...vars, ...made } as Record<string, string> & LocalSecrets, made: Object.keys(made) };
}

export function newSecrets(): LocalSecrets {
  const secret = () => randomBytes(32).toString('base64url');
  return {
    OPERATOR_TOKEN: secret(),
    VENDOR_KEY_SECRET: secret(),
    SESSION_SECRET: secret(),
    DEMO_API_KEY: createApiKey('utk-'),
  };
}

function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
}
