/**
 * A dispute from the command line: the ledger leads to the call, the call's lines sum to its charge, and then follows
 * goodwill (a credit, once; the cost stays) or a reversal (the cost goes). On a terminal, the command asks; in a
 * script, it reverses.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LocalServer, preparedState, startPrepared, until } from './local-server.ts';
import { operatorCli, type Run } from './operator-cli.ts';

const PLAN = {
  name: 'As you go',
  limitType: 'BLOCK',
  limits: { standardCalls: 0, premiumCalls: 0 },
  payg: { enabled: true, markupPercent: 20 },
  customMeters: {
    CUSTOM1: {
      enabled: true,
      label: 'Pages',
      included: 1,
      unlimited: false,
      funding: { credits: true, payg: true },
      overage: { model: 'GRADUATED', tiers: [{ upTo: null, priceUsd: '0.01', per: '1' }] },
    },
  },
};

let server: LocalServer;
let environment: Record<string, string>;
let org: string;
let key: string;
beforeAll(async () => {
  const state = await preparedState();
  server = await startPrepared(state);
  environment = { CALLMETER_URL: server.url, DEV_VARS_FILE: state.devVars };
  org = (await json('organizations', 'create', '--name', 'Disputes')).organizationId;
  await run(['plans', 'put', org, 'payg', '-'], { input: JSON.stringify(PLAN) });
  await run(['organizations', 'update', org, '--default-plan-id', 'payg']);
  key = (await json('keys', 'create', org, '--name', 'backend')).key;
});
afterAll(() => server.stop());

const run = (args: string[], given: { input?: string; isTerminal?: boolean } = {}): Promise<Run> =>
  operatorCli(args, { env: { ...process.env, ...environment }, ...given });
const json = async (...args: string[]) => {
  const { code, out, err } = await run([...args, '--json']);
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out);
};

async function send(path: string, body: object) {
  const answer = await fetch(server.url + path, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      Accept: 'application/vnd.service.v1+json',
      'Content-Type': 'application/json',
    },
    body: JSON.stringify(body),
  });
  return ((await answer.json()) as { data: { callId: string; eventId: string } }).data;
}

async function funded(customerId: string): Promise<void> {
  await run(['customers', 'create', org, customerId]);
  await run(['credits', 'grant', org, customerId, '--kind', 'USD', '--amount-usd', '10', '--reference', 'invoice 7']);
}

/** Cost 0.0075 USD; with the markup 0.009. */
async function charged(customerId: string): Promise<string> {
  const { callId } = await send('/call_begin', { customerId, requested: { premium: true }, feature: 'chat' });
  await send('/call_end', { callId, modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 500 });
  await until(async () => (await ledger(customerId))[0].callId === callId);
  return callId;
}

const ledger = async (customerId: string) => (await json('customers', 'ledger', org, customerId)).items;
const readBalance = async (customerId: string) => (await json('customers', 'show', org, customerId)).wallet.balanceUsd;

describe('a disputed call', () => {
  test('is found in the ledger, and its lines sum to what was charged', async () => {
    await funded('ann');
    const callId = await charged('ann');
    const { out } = await run(['customers', 'ledger', org, 'ann']);
    expect(out).toMatch(new RegExp(`SPEND +-\\$0\\.009 +\\$9\\.991 +${callId} +chat +gpt-4o`));
    expect((await run(['customers', 'ledger', org, 'ann', '--cause', 'GRANT'])).out).toMatch(/GRANT .* invoice 7/);
    const shown = (await run(['calls', 'show', org, callId])).out;
    expect(shown).toMatch(/Cost, sum of its lines +\$0\.0075\n.*Markup, 20% +\$0\.0015\n.*Charge +\$0\.009/);
  });

  test('is given back once by goodwill, which a terminal is asked for, and its cost stays', async () => {
    await funded('ben');
    const callId = await charged('ben');
    const reverse = ['calls', 'reverse', org, callId, '--reason', 'the answer was poor'];
    const asked = await run(reverse, { isTerminal: true, input: 'goodwill\n' });
    expect([asked.code, asked.out]).toEqual([0, expect.stringMatching(/Balance +\$10/)]);
    expect(asked.err).toContain('Was the record wrong');
    for (const again of [
      await run(reverse, { isTerminal: true, input: 'goodwill\n' }),
      await run(['calls', 'reverse', org, callId, '--act', 'goodwill']),
    ])
      expect([again.code, again.err]).toEqual([0, expect.stringContaining('was granted for it already')]);
    const [given] = await ledger('ben');
    expect(given).toMatchObject({ cause: 'GRANT', amount: '0.009', reference: `goodwill for call ${callId}` });
    expect(await readBalance('ben')).toBe('10');
    const call = await json('calls', 'show', org, callId);
    expect([call.costUsdNano, call.reversedAt]).toEqual(['7500000', undefined]);
  });

  test.each([
    ['a script', ['--reason', 'sent twice'], {}],
    ['--yes on a terminal', ['--reason', 'sent twice', '--yes'], { isTerminal: true }],
    ['an answer on a terminal', ['--reason', 'sent twice'], { isTerminal: true, input: 'reverse\n' }],
    ['--act reverse on a terminal', ['--reason', 'sent twice', '--act', 'reverse'], { isTerminal: true }],
  ])('is reversed by %s, and then has nothing to give back', async (name, flags, given) => {
    const customerId = `cy ${name}`;
    await funded(customerId);
    const callId = await charged(customerId);
    expect((await run(['calls', 'reverse', org, callId, ...flags], given)).code).toBe(0);
    await until(async () => (await readBalance(customerId)) === '10');
    expect((await json('calls', 'show', org, callId)).reversedAt).toEqual(expect.any(String));
    const none = await run(['calls', 'reverse', org, callId, '--act', 'goodwill']);
    expect([none.code, none.err]).toEqual([1, expect.stringContaining('there is nothing to give back')]);
  });

  test('stays as it is if neither is typed, or the option names something else', async () => {
    await funded('dee');
    const callId = await charged('dee');
    const reverse = ['calls', 'reverse', org, callId, '--reason', 'r'];
    expect(await run(reverse, { isTerminal: true, input: 'yes\n' })).toMatchObject({ code: 1, out: '' });
    const wrong = await run([...reverse, '--act', 'refund']);
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('--act must be reverse or goodwill')]);
    expect((await json('calls', 'show', org, callId)).reversedAt).toBeUndefined();
  });
});

test('an increment is given back by goodwill as far as the balance paid it', async () => {
  await funded('eve');
  const [free, paid] = [
    await send('/custom_meter', { customerId: 'eve', meterSlot: 'CUSTOM1', amount: 1 }),
    await send('/custom_meter', { customerId: 'eve', meterSlot: 'CUSTOM1', amount: 3 }),
  ];
  await until(async () => (await readBalance('eve')) === '9.97');
  const goodwill = (eventId: string, ...more: string[]) =>
    run(['meter-events', 'reverse', org, eventId, '--act', 'goodwill', ...more]);
  expect(await goodwill(paid.eventId)).toMatchObject({ code: 2 });
  const none = await goodwill(free.eventId, '--customer-id', 'eve');
  expect([none.code, none.err]).toEqual([1, expect.stringContaining('charged nothing')]);
  expect((await goodwill(paid.eventId, '--customer-id', 'eve')).code).toBe(0);
  expect((await goodwill(paid.eventId, '--customer-id', 'eve')).err).toContain('already');
  expect(await readBalance('eve')).toBe('10');
});
