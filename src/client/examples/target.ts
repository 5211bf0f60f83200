/**
 * The service of an example: CALLMETER_URL and CALLMETER_KEY, or else the values that `npm start` uses on this machine.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';

const DEV_VARS_FILE = process.env.DEV_VARS_FILE ?? join(import.meta.dirname, '..', '..', '..', '.dev.vars');

export function targetUrl(): string {
  return process.env.CALLMETER_URL ?? `http://127.0.0.1:${process.env.PORT ?? '8787'}`;
}

export async function target(): Promise<{ baseUrl: string; apiKey: string }> {
  const baseUrl = targetUrl();
  const apiKey =
    process.env.CALLMETER_KEY ?? parseEnv(await readFile(DEV_VARS_FILE, 'utf8').catch(() => '')).DEMO_API_KEY;
  if (!apiKey) throw new Error('there is no API key: set CALLMETER_KEY, or let `npm start` make one in .dev.vars');
  return { baseUrl, apiKey };
}
