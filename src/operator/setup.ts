/**
 * The missing parts of a new deployment, for the start page, and whether it serves, for monitors. It names missing
 * parts and nothing about existing ones.
 */
import type { Env } from '../env.ts';
import { hasConfiguration, hasCustomers } from '../history/setup.ts';
import { remember } from '../platform/isolate-memory.ts';
import { withTimeout } from '../platform/timeout.ts';

export interface Setup {
  /** The configuration can be read: the database answers and has its tables. */
  serves: boolean;
  steps: SetupStep[];
}

interface SetupStep {
  name: 'database' | 'operator' | 'secrets' | 'organization' | 'call';
  done: boolean;
}

/** Anybody may ask, so the database is asked at most once in this time. */
const REMEMBERED_MS = 5_000;
const TIMEOUT_MS = 3_000;
const TOKEN_LENGTH_MIN = 32;

const last = remember<{ atMs: number; setup: Promise<Setup> } | undefined>(() => undefined);

export function readSetup(env: Env, nowMs: number): Promise<Setup> {
  if (!last.value || nowMs - last.value.atMs >= REMEMBERED_MS) last.value = { atMs: nowMs, setup: findSetup(env) };
  return last.value.setup;
}

async function findSetup(env: Env): Promise<Setup> {
  const configuration = await orNull(hasConfiguration(env));
  const called = configuration && (await orNull(hasCustomers(env)));
  const step = (name: SetupStep['name'], done: boolean) => ({ name, done });
  return {
    serves: configuration !== null,
    steps: [
      step('database', configuration !== null),
      step('operator', (env.OPERATOR_TOKEN?.length ?? 0) >= TOKEN_LENGTH_MIN),
      step('secrets', env.VENDOR_KEY_SECRET !== undefined && env.SESSION_SECRET !== undefined),
      step('organization', configuration === true),
      step('call', called === true),
    ],
  };
}

/** `null` if the database fails: unavailable, slow, or without its tables. */
function orNull(asked: Promise<boolean>): Promise<boolean | null> {
  return withTimeout(asked, TIMEOUT_MS, 'D1').catch(() => null);
}
