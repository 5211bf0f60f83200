/**
 * Attacks by a client without a credential.
 */
import { randomBytes } from 'node:crypto';
import { type Attack, brokenOf } from './model.ts';
import { harmFigures, only, type Statuses, type World } from './world.ts';

const MIB = 1024 * 1024;
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'text/html' };

/** A form of very many fields. */
const fieldsForm = (bytes: number) => Buffer.from('a&'.repeat(bytes / 2));

/** A form that is not read: its sender gets the refusal, or finds the connection closed. */
function consoleFlood(name: string, path: string, refusedWith: number, promise: string): Attack {
  return {
    name,
    by: 'stranger',
    promise,
    async run(world, size) {
      const body = fieldsForm(15 * MIB);
      const origin = world.server.url;
      let statuses: Statuses = {};
      const harm = await world.observed(async () => {
        statuses = await world.flood(2, size(8, 2), () => ({ path, headers: { ...FORM, Origin: origin }, body }));
      });
      const { figures, goals } = harmFigures(harm);
      return {
        figures: { answers: JSON.stringify(statuses), ...figures },
        goals,
        broken: brokenOf(
          [harm.failed === 0, `${harm.failed} begins of another tenant failed`],
          [only(statuses, refusedWith, 0), `the forms were answered ${JSON.stringify(statuses)}`],
        ),
      };
    },
  };
}

/** Requests of one address, as Cloudflare names it; an address of its own for each attack. */
const from = (address: string) => ({ 'CF-Connecting-IP': address });

async function honestKeyIsServed(world: World, address: string): Promise<boolean> {
  const { key } = await world.attacker();
  const answer = await world.send({
    path: '/call_begin',
    token: key,
    headers: from(address),
    body: { customerId: 'honest' },
  });
  return answer?.status === 200;
}

const guessedKeys: Attack = {
  name: 'guessed-keys',
  by: 'stranger',
  promise:
    'random keys are refused, at most 100 a minute of one address with 401, and a valid key is served from the same address',
  async run(world, size) {
    const address = '198.51.100.7';
    const requests = size(3_000, 300);
    let statuses: Statuses = {};
    const startedMs = performance.now();
    const harm = await world.observed(async () => {
      statuses = await world.flood(16, requests, () => ({
        method: 'GET',
        path: '/customers',
        token: `utk-${randomBytes(32).toString('base64url')}`,
        headers: from(address),
      }));
    });
    const perSecond = Math.round(requests / ((performance.now() - startedMs) / 1_000));
    const [refused, limited] = [statuses[401] ?? 0, statuses[429] ?? 0];
    const { figures } = harmFigures(harm);
    return {
      figures: { answers: JSON.stringify(statuses), 'refusals a second': perSecond, ...figures },
      broken: brokenOf(
        [refused + limited === requests, 'an answer was neither 401 nor 429'],
        // Two rate limit windows if the minute changes in between.
        [refused <= 200, `${refused} guesses of one address were answered 401`],
        [await honestKeyIsServed(world, address), 'a valid key is refused because of its address'],
      ),
    };
  },
};

const guessedTokens: Attack = {
  name: 'guessed-sign-ins',
  by: 'stranger',
  promise: 'at most 20 sign-ins a minute with a wrong token are looked at per address',
  async run(world, size) {
    const requests = size(200, 50);
    const statuses = await world.flood(8, requests, (index) => ({
      path: '/console/sign-in',
      headers: { ...FORM, Origin: world.server.url, ...from('198.51.100.8') },
      body: `token=guess-${index}`,
    }));
    const [refused, limited] = [statuses[401] ?? 0, statuses[429] ?? 0];
    return {
      figures: { answers: JSON.stringify(statuses) },
      broken: brokenOf(
        [refused + limited === requests, 'an answer was neither 401 nor 429'],
        [refused <= 40, `${refused} guesses of one address were looked at`],
      ),
    };
  },
};

const operatorGuesses: Attack = {
  name: 'guessed-operator-tokens',
  by: 'stranger',
  promise: 'wrong operator tokens are limited per address like wrong keys',
  async run(world, size) {
    const requests = size(1_000, 250);
    const statuses = await world.flood(8, requests, (index) => ({
      method: 'GET',
      path: '/operator/organizations',
      token: `guess-${index}-${'x'.repeat(40)}`,
      headers: from('198.51.100.9'),
    }));
    const [refused, limited] = [statuses[401] ?? 0, statuses[429] ?? 0];
    return {
      figures: { answers: JSON.stringify(statuses) },
      broken: brokenOf(
        [refused + limited === requests, 'an answer was neither 401 nor 429'],
        [refused <= 200, `${refused} guesses of one address were answered 401`],
      ),
    };
  },
};

/** Addresses of public pages that cost as much as a stranger can make them cost. */
const PUBLIC_PATHS: readonly ((index: number) => string)[] = [
  (index) => `/v1/model-alternatives/openai/${`gpt-${index}-`.repeat(60).slice(0, 300)}`,
  (index) =>
    `/v1/model-alternatives/anthropic/claude-3-5-sonnet-latest?allowedModelKeys=${Array.from({ length: 50 }, (_, key) => `openai/gpt-${index}${key}-turbo-preview`).join(',')}`,
  (index) => `/v1/model-alternatives/google/gemini-${index}`,
  (index) => `/models?q=${`claude ${index} `.repeat(40).slice(0, 300)}`,
  (index) => `/models/openai/gpt-4o-${index}`,
  (index) => `/docs?q=${`call ${index} `.repeat(40).slice(0, 300)}`,
  () => '/openapi.json',
];

const publicPages: Attack = {
  name: 'public-pages',
  by: 'stranger',
  promise: 'dear searches of the public pages neither fail nor stop a tenant, and one address has 120 made in a minute',
  async run(world, size) {
    const requests = size(2_000, 300);
    let statuses: Statuses = {};
    const harm = await world.observed(async () => {
      statuses = await world.flood(8, requests, (index) => ({
        method: 'GET',
        path: encodeURI(PUBLIC_PATHS[index % PUBLIC_PATHS.length]?.(index) ?? '/'),
        headers: { Accept: '*/*', ...from('198.51.100.10') },
      }));
    });
    const failed = Object.entries(statuses).filter(([status]) => Number(status) === 0 || Number(status) >= 500);
    return {
      figures: { answers: JSON.stringify(statuses), ...harmFigures(harm).figures },
      broken: brokenOf(
        [failed.length === 0, `pages failed: ${JSON.stringify(statuses)}`],
        [(statuses[429] ?? 0) > 0, `one address had everything made: ${JSON.stringify(statuses)}`],
        [harm.failed === 0, `${harm.failed} begins of another tenant failed`],
      ),
    };
  },
};

export const strangerAttacks: readonly Attack[] = [
  consoleFlood('sign-in-flood', '/console/sign-in', 413, 'a sign-in of 15 MB costs nobody else anything'),
  consoleFlood(
    'console-form-flood',
    '/console/catalog',
    303,
    'a form of 15 MB without a session costs nobody else anything',
  ),
  guessedKeys,
  guessedTokens,
  operatorGuesses,
  publicPages,
];
