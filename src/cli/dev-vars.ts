/**
 * `.dev.vars`: the local secrets, in dotenv form. What is there is kept; what is missing is made and added.
 */
import { randomBytes } from 'node:crypto';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';

export interface LocalSecrets {
  OPERATOR_TOKEN: string;
  DEMO_API_KEY: string;
}

// Not by way of server.ts: commands that only talk to a server need no wrangler and no Miniflare.
export const DEV_VARS_FILE = join(import.meta.dirname, '..', '..', '.dev.vars');

/** Everything in `.dev.vars`; empty where there is none. */
export async function readDevVars(): Promise<Record<string, string>> {
  const text = await readFile(DEV_VARS_FILE, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return parseEnv(text) as Record<string, string>;
}

/** The local secrets; made and written where they are missing. */
export async function ensureDevVars(): Promise<Record<string, string> & LocalSecrets> {
  const vars = await readDevVars();
  const made: Partial<LocalSecrets> = {};
  if (!vars.OPERATOR_TOKEN) made.OPERATOR_TOKEN = randomBytes(32).toString('base64url');
  if (!vars.DEMO_API_KEY) made.DEMO_API_KEY = `utk-${randomBytes(32).toString('base64url')}`;
  const lines = Object.entries(made).map(([name, value]) => `${name}="${value}"\n`);
  if (lines.length > 0) await appendFile(DEV_VARS_FILE, lines.join(''), { mode: 0o600 });
  return { ...vars, ...made } as Record<string, string> & LocalSecrets;
}
