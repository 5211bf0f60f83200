/**
 * An operator's work from an organization that does not exist to a customer who is erased, by the command line alone.
 * The application sends calls with the key that the command line printed.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalServer, preparedState, startPrepared, until } from './local-server.ts';
import { operatorCli, type Run } from './operator-cli.ts';

let server: LocalServer;
let environment: Record<string, string>;
beforeAll(async () => {
  const state = await preparedState();
  server = await startPrepared(state);
  environment = { CALLMETER_URL: server.url, DEV_VARS_FILE: state.devVars };
});
afterAll(() => server.stop());

const run = (args: string[], input = ''): Promise<Run> =>
  operatorCli(args, { env: { ...process.env, ...environment }, input });

/** The output of a successful command. */
async function shown(args: string[], input?: string): Promise<string> {
  const { code, out, err } = await run(args, input);
  expect([args.join(' '), code, code === 0 ? '' : err]).toEqual([args.join(' '), 0, '']);
  return out;
}

const json = async (...args: string[]) => JSON.parse(await shown([...args, '--json']));

function plan(name: string, premiumCalls: number, standardCalls: number): string {
  return JSON.stringify({ name, limitType: 'BLOCK', limits: { premiumCalls, standardCalls } });
}

test('from nothing to an erased customer', async () => {
  const org: string = (await json('organizations', 'create', '--name', 'By hand')).organizationId;
  await shown(['plans', 'put', org, 'free', '-'], plan('Free', 0, 10));
  await shown(['plans', 'put', org, 'pro', '-'], plan('Pro', 5, 100));
  await shown(['organizations', 'update', org, '--default-plan-id', 'free']);
  const { key } = await json('keys', 'create', org, '--name', 'backend');
  expect(await shown(['customers', 'create', org, 'alice', '--customer-friendly-name', 'Alice'])).toContain('Free');

  const begin = (requested: object) =>
    fetch(`${server.url}/call_begin`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${key}`,
        Accept: 'application/vnd.service.v1+json',
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({ customerId: 'alice', requested }),
    }).then((answer) => answer.json() as Promise<{ data: { callId: string } }>);
  await begin({ standard: true });
  const denied = (await begin({ premium: true })).data.callId;

  await until(async () => (await shown(['calls', 'list', org])).includes(denied));
  expect(await shown(['organizations', 'setup', org])).toContain(
    `The newest call, ${denied} (customer alice), is NOT_ALLOWED.`,
  );
  const call = await shown(['calls', 'show', org, denied]);
  expect(call).toMatch(/^State +NOT_ALLOWED: the plan, a limit or the balance did not admit the call/m);
  expect(call).toMatch(/^Denied +ALLOWANCE_EXHAUSTED: 0 of 0 premiumCalls were used; asked for premium$/m);
  expect(call).toMatch(/^Cost +NOT_ALLOWED$/m);

  const preview = ['customers', 'preview-plan', org, 'alice', '--plan-id', 'pro'];
  expect(await shown(preview)).toMatch(/^Plan +free:v1 \(Free\) to pro:v1 \(Pro\)$/m);
  const change = ['customers', 'change-plan', org, 'alice', 'pro', '--idempotency-key', 'alice-to-pro'];
  expect(await shown(change)).toMatch(/^Plan +Pro, version 1, BLOCK$/m);
  expect(await shown(change)).toMatch(/^Plan +Pro, version 1, BLOCK$/m);
  expect(await shown(['customers', 'replenish', org, 'alice'])).toMatch(/^Plan +Pro/m);
  const grant = ['credits', 'grant', org, 'alice', '--kind', 'USD', '--amount-usd', '5', '--reference', 'welcome'];
  expect(await shown(grant)).toMatch(/^Credit +[\da-f-]{36} \(\$5, welcome\)$/m);

  await shown(['plans', 'put', org, 'pro', '-'], plan('Pro', 7, 100));
  const migrated = await shown(['plans', 'migrate', org, 'pro', '--when', 'NOW', '--wait']);
  expect(migrated).toMatch(/^Status +COMPLETED$/m);
  expect(migrated).toMatch(/^Moved to +pro:v2 \(Pro\)$/m);
  expect(await shown(['customers', 'show', org, 'alice'])).toMatch(/premiumCalls +\d+ +7 /);

  const [summary, forecast, anomalies, context, radar] = await Promise.all([
    shown(['usage', 'summary', org]),
    shown(['usage', 'forecast', org, 'alice', '--metric', 'calls']),
    shown(['usage', 'anomalies', org]),
    json('usage', 'context', org, 'alice'),
    shown(['radar', org]),
  ]);
  expect(summary).toMatch(/^ *NOT_ALLOWED +1 /m);
  expect(summary).toMatch(/^ *alice +1 /m);
  expect(forecast).toMatch(/^Status +insufficient_history$/m);
  expect(anomalies).toContain('customers looked at');
  expect(context).toMatchObject({ customerId: 'alice' });
  expect(radar).toContain('Catalog');

  const events = () => shown(['organizations', 'events', org]);
  await until(async () => (await events()).includes('customer.replenished'));
  expect(await events()).toMatch(/^\S+ +customer\.replenished +alice +\S.*\.$/m);
  expect((await shown(['compression', 'summary', org])).match(/^Cost avoided.*$/gm)).toEqual([
    expect.stringMatching(/^Cost avoided USD +\$0$/),
  ]);

  expect(await run(['customers', 'erase', org, 'alice'])).toMatchObject({ code: 2 });
  expect(await shown(['customers', 'erase', org, 'alice', '--yes'])).toMatch(/^Erased +alice$/m);

  const { items } = await json('events', 'list', '--organization-id', org);
  expect(items.map(({ actor, action }: { actor: string; action: string }) => `${actor} ${action}`)).toEqual(
    [
      'organization.create',
      'plan.put',
      'plan.put',
      'organization.update',
      'key.create',
      'customer.create',
      'customer.change_plan',
      'customer.replenish',
      'credit.grant',
      'plan.put',
      'plan.migrate',
      'customer.erase',
    ]
      .map((action) => `operator ${action}`)
      .reverse(),
  );
});

test('mappings, a sampling policy and a plan are put, read and taken away', async () => {
  const org: string = (await json('organizations', 'create', '--name', 'Put and read')).organizationId;
  await shown(['models', 'put', org, '--standard', 'openai/gpt-6-luna']);
  expect(await json('models', 'show', org)).toMatchObject({ standard: ['openai/gpt-6-luna'], premium: [] });
  expect(await run(['models', 'delete', org])).toMatchObject({ code: 2 });
  await shown(['models', 'delete', org, '--yes']);
  expect(await json('models', 'show', org)).toEqual({ standard: [], premium: [] });

  const off = await json('sampling', 'show', org);
  expect(off.rate).toBe(0);
  await shown(['sampling', 'put', org, '-'], '{"rate":0.5}');
  expect((await json('sampling', 'show', org)).rate).toBe(0.5);
  await shown(['sampling', 'delete', org, '--yes']);
  expect(await json('sampling', 'show', org)).toEqual(off);
  expect(await run(['sampling', 'show', 'nowhere'])).toMatchObject({ code: 1 });

  await shown(['plans', 'put', org, 'old', '-'], plan('Old', 1, 1));
  expect(await shown(['plans', 'archive', org, 'old'])).toMatch(/^Archived +\d{4}-/m);
  expect(await run(['organizations', 'update', org, '--default-plan-id', 'old'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('defaultPlanId: the plan is archived'),
  });
  expect(await shown(['plans', 'restore', org, 'old'])).not.toContain('Archived');
});
