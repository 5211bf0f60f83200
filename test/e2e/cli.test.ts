/**
 * The operator's command line and the demo, run as a user runs them, against a server of their own.
 */
import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/operator-commands.ts';
import { PROJECT_DIR } from '../../src/cli/server.ts';
import { operations } from '../../src/contract/operations.ts';
import { type LocalServer, newState, startLocal } from './local-server.ts';

interface Run {
  code: number;
  out: string;
  err: string;
}

let server: LocalServer;
beforeAll(async () => {
  server = await startLocal(await newState());
});
afterAll(() => server.stop());

function run(script: string, args: string[], input = '', env: Record<string, string> = {}): Promise<Run> {
  return new Promise((resolve) => {
    const options = { cwd: PROJECT_DIR, env: { ...process.env, CALLMETER_URL: server.url, ...env } };
    const child = execFile(process.execPath, [`src/cli/${script}.ts`, ...args], options, (error, out, err) => {
      resolve({ code: error ? Number(error.code) : 0, out, err });
    });
    child.stdin?.end(input);
  });
}

const operator = (...args: string[]) => run('operator', args);

/** Of a command that succeeds: its table, and its JSON. */
async function both(...args: string[]) {
  const [text, json] = await Promise.all([operator(...args), operator(...args, '--json')]);
  expect([text.err, text.code, json.code]).toEqual(['', 0, 0]);
  return { text: text.out, json: JSON.parse(json.out) };
}

async function changed(...args: string[]) {
  const { code, out, err } = await operator(...args, '--json');
  expect([err, code]).toEqual(['', 0]);
  return JSON.parse(out);
}

describe('npm run operator', () => {
  let org: string;
  beforeAll(async () => {
    org = (await changed('organizations', 'create', '--name', 'Acme Ltd')).organizationId;
  });

  test('has a command for every operation of the operator API', () => {
    const ids = Object.values(operations).flatMap(({ operationId, security }) => (security.kind === 'operator' ? [operationId] : []));
    expect(COMMANDS.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  });

  test('organizations: create, list, show, update', async () => {
    const { text, json } = await both('organizations', 'list');
    expect(text).toMatch(/^Organization id +Name/);
    expect(json.items).toContainEqual(expect.objectContaining({ organizationId: org, name: 'Acme Ltd' }));
    expect(await changed('organizations', 'update', org, '--name', 'Acme')).toMatchObject({ name: 'Acme' });
    expect((await both('organizations', 'show', org)).text).toMatch(/^Name +Acme$/m);
  });

  test('plans: a document from standard input or a file, then its versions', async () => {
    const plan = JSON.stringify({ name: 'Team', limitType: 'BLOCK', limits: { premiumCalls: 1500 } });
    const put = await run('operator', ['plans', 'put', org, 'team', '-', '--json'], plan);
    expect(JSON.parse(put.out)).toMatchObject({ planId: 'team', version: 1 });
    expect((await both('plans', 'list', org)).text).toMatch(/team +Team +1 +BLOCK +every month +unlimited +1,500/);
    const { text, json } = await both('plans', 'show', org, 'team');
    expect(text).toMatch(/premiumCalls +1,500/);
    expect(json.plan.limits.premiumCalls).toBe(1500);
  });

  test('models: put', async () => {
    const data = await changed('models', 'put', org, '--standard', 'openai/gpt-6-luna', '--premium', 'a/b,c/d', '--premium', 'e/f');
    expect(data).toEqual({ standard: ['openai/gpt-6-luna'], premium: ['a/b', 'c/d', 'e/f'] });
  });

  test('keys: create, list, update, revoke; a repeated key creates nothing', async () => {
    const create = ['keys', 'create', org, '--name', 'ci', '--scopes', 'usage:read', '--idempotency-key', 'cli-1'];
    const { keyId, key } = await changed(...create);
    expect(await changed(...create)).toMatchObject({ keyId, key });
    expect((await operator('keys', 'create', org, '--name', 'other')).out).toContain('shown this once');
    expect(await changed('keys', 'update', org, keyId, '--scopes', 'usage:read,usage:write')).toMatchObject({
      name: 'ci',
      scopes: ['usage:read', 'usage:write'],
    });
    const { text, json } = await both('keys', 'list', org);
    expect(json.items).toHaveLength(2);
    expect(text).not.toContain(key);
    expect((await changed('keys', 'revoke', org, keyId)).revokedAt).not.toBeNull();
  });

  test('customers: show, cancel, reactivate', async () => {
    const { customerId } = (await server.demo.send('provisionCustomer', { body: { customerId: 'cli customer/1' } })).data;
    const demo = '00000000-0000-4000-8000-00000000de00';
    const { text, json } = await both('customers', 'show', demo, customerId);
    expect(text).toMatch(/premiumCalls +0 +500 +500 +100 %/);
    expect(json).toMatchObject({ customerId, openCalls: 0 });
    expect((await operator('customers', 'cancel', demo, customerId)).out).toContain(', canceled');
    expect(await changed('customers', 'reactivate', demo, customerId)).toMatchObject({ canceled: false });
  });

  test('events: pages are followed up to the limit', async () => {
    const { json } = await both('events', 'list', '--organization-id', org);
    expect(json.items.at(-1)).toMatchObject({ action: 'organization.create', organizationId: org });
    const { out, err } = await operator('events', 'list', '--limit', '1');
    expect(out).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect(err).toContain('There are more');
  });

  test('health', async () => {
    const { text, json } = await both('health');
    expect(text).toMatch(/^Status +ok/);
    expect(json.checks).toHaveLength(4);
  });

  test('a refusal names field and rule, with exit code 1', async () => {
    const { code, out, err } = await run(
      'operator',
      ['plans', 'put', org, 'bad', '-'],
      '{"name":"Bad","limitType":"BLOCK","limits":{"searches":-1}}',
    );
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('limits.searches: must be at least 0');
    expect(await operator('organizations', 'show', 'nope')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no such organization'),
    });
  });

  test.each([
    [[], 'a noun is missing'],
    [['nouns'], 'there is no noun nouns'],
    [['keys'], 'create, list, update, revoke'],
    [['keys', 'revoke', 'x'], 'keys revoke <org> <keyId>'],
    [['organizations', 'create'], '--name is required'],
    [['organizations', 'update', 'x'], '--default-plan-id'],
    [['organizations', 'list', '--nonsense'], '--nonsense'],
    [['organizations', 'list', '--limit', '0'], '--limit'],
    [['plans', 'put', 'x', 'y', 'no-such-file'], 'cannot be read'],
    [['health', '--url', 'localhost'], '--url'],
  ])('wrong usage, with exit code 2: %j', async (args, reason) => {
    expect(await operator(...args)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(reason) });
  });

  test('--help at the top, of a noun, of a command', async () => {
    expect((await operator('--help')).out).toContain('customers reactivate');
    expect((await operator('keys', '--help')).out).toContain('keys revoke <org> <keyId>');
    const one = (await operator('keys', 'create', '--help')).out;
    expect(one).toContain('--scopes');
    expect(one).not.toContain('keys revoke');
  });

  test('a server that is not there is said, with the key to repeat a POST safely', async () => {
    const { code, err } = await run('operator', ['organizations', 'create', '--name', 'x'], '', { CALLMETER_URL: 'http://127.0.0.1:9' });
    expect(code).toBe(1);
    expect(err).toMatch(/nothing answers at http:\/\/127\.0\.0\.1:9 .*npm start[\s\S]*--idempotency-key [0-9a-f-]{36}/);
  });
});

describe('npm run demo', () => {
  test('accounts for three providers, a downgrade, a repetition and a failed call, again and again', async () => {
    for (const _ of [1, 2]) {
      const { code, out, err } = await run('demo', []);
      expect([err, code]).toEqual(['', 0]);
      for (const model of ['openai/gpt-6-sol', 'anthropic/claude-opus-5-5', 'google/gemini-4-argon']) expect(out).toContain(model);
      expect(out).toContain('PREMIUM_QUOTA_EXHAUSTED, fallback tier standard');
      expect(out).toContain('gets the stored answer');
      expect(out).toMatch(/kept +overloaded_error: .*\[credential\] for \[email\]: \[body\]/);
      expect(out).toMatch(/premiumCalls +3 +3 +0 +3/);
      const costs = [...out.matchAll(/(?:COMPLETED|FAILED) +[\d,]+ +[\d,]+ +0\.(\d{9})/g)].map(([, nano]) => Number(nano));
      expect(costs).toHaveLength(5);
      expect(out).toMatch(new RegExp(`Total .* 0\\.${String(costs.reduce((sum, nano) => sum + nano)).padStart(9, '0')}`));
    }
  });

  test('without a server it says how to start one', async () => {
    const { code, err } = await run('demo', ['--url', 'http://127.0.0.1:9']);
    expect(code).toBe(1);
    expect(err).toContain('npm start');
  });

  test('--help', async () => {
    expect((await run('demo', ['--help'])).out).toContain('npm run demo');
  });
});
