/**
 * Makes a deployment usable, through its own API: it answers, it has an organization with a plan and a key, and it
 * serves a call.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { OperationId } from '../../contract/operations.ts';
import { callOperation, type Data, type OperationInput, Refused, type Success } from '../operator-client.ts';
import type { Target } from '../operator-target.ts';

/** The longest time until a new address answers, with all its names and certificates. */
const READY_MS_MAX = 300_000;
const POLL_MS = 1_000;
const TIMEOUT_MS = 10_000;
/** Answers of POSTs are replayed for 48 hours; an older key is not asked for again. */
const REPLAYED_MS = 47 * 3_600_000;

const PLAN_ID = 'free';
const FIRST_KEY = 'first key';
/** The customer of the served request. */
export const CHECKED_CUSTOMER = 'deployment-check';

/** An unlisted limit is unlimited, so all are listed. */
const FREE_PLAN = {
  name: 'Free',
  limitType: 'BLOCK',
  reasoningLevel: 'LOW',
  limits: {
    standardCalls: 50,
    premiumCalls: 0,
    standardTokens: 50_000,
    premiumTokens: 0,
    searches: 0,
    audioSeconds: 0,
  },
  features: { audio: false, image: false, search: false },
};

/** Waits until the service serves: it answers, and its database has tables. Throws its last answer. */
export async function waitUntilServed(url: string, signal: AbortSignal, tell: (line: string) => void): Promise<void> {
  let last = '';
  for (const giveUpAtMs = Date.now() + READY_MS_MAX; ; ) {
    const answer = await readHealth(url, signal);
    if (answer === null) return;
    signal.throwIfAborted();
    if (Date.now() > giveUpAtMs)
      throw new Error(`${url} does not serve after ${READY_MS_MAX / 1000} s: ${answer}. It may need more time`);
    if (answer !== last) tell(`waiting for ${url}: ${answer}`);
    last = answer;
    await setTimeout(POLL_MS, undefined, { signal });
  }
}

/** `null` if it serves, otherwise the problem. */
async function readHealth(url: string, signal: AbortSignal): Promise<string | null> {
  try {
    const response = await fetch(`${url}/health`, {
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const text = await response.text();
    if (response.status === 200 && /^\{"status":"ok"/.test(text)) return null;
    return response.status === 503 ? 'its database does not answer' : `it answers ${response.status}`;
  } catch (error) {
    const { cause, message } = error as Error;
    return cause instanceof Error ? cause.message || cause.name : message;
  }
}

export interface SetUp {
  organizationId: string | null;
  /** The first key, if this run made it. */
  key: string | null;
}

/**
 * Without an organization, makes one with a plan and a key. If an organization's setup is unfinished, finishes it.
 * Changes nothing else.
 */
export async function setUp(
  operator: Target,
  name: string,
  hasKey: boolean,
  tell: (line: string) => void,
): Promise<SetUp> {
  const { items } = (await ask(operator, 'listOrganizations')).data;
  const [only, second] = items;
  if (second) {
    tell('there are organizations: left as they are');
    return { organizationId: null, key: null };
  }
  const create = { body: { name }, idempotencyKey: 'deploy-first-organization' };
  const organization = only ?? (await ask(operator, 'createOrganization', create)).data;
  if (!only) tell(`made the organization ${name}`);
  const { organizationId } = organization;
  const params = { org: organizationId };
  const { items: keys } = (await ask(operator, 'listKeys', { params })).data;
  if (keys.length > 0 && (hasKey || !isFirstAlone(keys))) {
    tell(`there is the organization ${organization.name}, with keys: left as it is`);
    return { organizationId, key: null };
  }
  const { items: plans } = (await ask(operator, 'listPlans', { params })).data;
  if (plans.length === 0) {
    await ask(operator, 'putPlan', { params: { ...params, planId: PLAN_ID }, body: FREE_PLAN });
    tell(`made the plan ${PLAN_ID}`);
  }
  if (organization.defaultPlanId === null && (plans.length === 0 || plans.some(({ planId }) => planId === PLAN_ID)))
    await ask(operator, 'updateOrganization', { params, body: { defaultPlanId: PLAN_ID } });
  const first = { params, body: { name: FIRST_KEY }, idempotencyKey: `deploy-first-key-${organizationId}` };
  const { key } = (await ask(operator, 'createKey', first)).data;
  tell(`made the key "${FIRST_KEY}"`);
  return { organizationId, key };
}

/** The key that an earlier run made and could not store: a repeated request returns the same one. */
function isFirstAlone(keys: Data<'listKeys'>['items']): boolean {
  const [key, second] = keys;
  if (!key || second || key.name !== FIRST_KEY) return false;
  return Date.now() - Date.parse(key.createdAt) < REPLAYED_MS;
}

export interface ServedCall {
  callId: string;
  allowed: boolean;
  cost: string;
}

/** A call from begin to end, as an application makes it. */
export async function serveCall(application: Target): Promise<ServedCall> {
  const begin = { customerId: CHECKED_CUSTOMER, feature: CHECKED_CUSTOMER };
  const begun = (await ask(application, 'beginCall', { body: begin, idempotencyKey: `deploy-${randomUUID()}` })).data;
  const { callId, allowed } = begun;
  const end = { callId, providerUsed: 'openai', modelUsed: 'gpt-6-luna', inputTokens: 100, responseTokens: 10 };
  const ended = (await ask(application, 'endCall', { body: end })).data;
  return { callId, allowed: Object.values(allowed).some(Boolean), cost: String(ended.costUSD) };
}

/** A refused credential is named by its purpose: its value is a secret. */
async function ask<Id extends OperationId>(target: Target, id: Id, input: OperationInput = {}): Promise<Success<Id>> {
  return callOperation(target, id, input).catch((error: unknown) => {
    if (!(error instanceof Refused) || error.reply.status !== 401) throw error;
    throw new Error(`${error.message}\nThe credential for ${id} is not one of this deployment`, { cause: error });
  });
}
