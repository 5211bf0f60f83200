/**
 * The operator API: organizations, immutable plan versions, keys, events, a customer as the operator sees it.
 */
import { createExecutionContext } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, operator } from '../support/worker.ts';

let tenant: Tenant;
let params: { org: string };
beforeAll(async () => {
  tenant = await createTenant(operator);
  params = { org: tenant.organizationId };
});

describe('organizations', () => {
  test('are created once with a given id; repeating is the same, another name is a conflict', async () => {
    const organizationId = crypto.randomUUID();
    const first = await operator.send('createOrganization', { body: { name: 'Acme', organizationId } });
    expect(first.data).toMatchObject({ organizationId, name: 'Acme', defaultPlanId: null, allowUnpricedModels: false });
    expect((await operator.send('createOrganization', { body: { name: 'Acme', organizationId } })).data).toEqual(
      first.data,
    );
    expect((await operator.send('createOrganization', { body: { name: 'Other', organizationId } })).refusal.code).toBe(
      'CONFLICT',
    );
    expect(
      (await operator.send('createOrganization', { body: { name: 'Acme', organizationId: 'acme' } })).refusal.message,
    ).toContain('organizationId');
  });

  test('a default plan must exist', async () => {
    expect(
      (await operator.send('updateOrganization', { params, body: { defaultPlanId: 'nothing' } })).refusal.code,
    ).toBe('PLAN_NOT_FOUND');
    expect((await operator.send('updateOrganization', { params, body: {} })).refusal.code).toBe('BAD_REQUEST');
    expect((await operator.send('readOrganization', { params: { org: 'nobody' } })).refusal.code).toBe('NOT_FOUND');
  });

  test('are listed in pages without repeats or gaps', async () => {
    for (let n = 0; n < 5; n += 1) await operator.send('createOrganization', { body: { name: `Page ${n}` } });
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: Record<string, string> = { limit: '2', ...(cursor && { cursor }) };
      const page: { items: { organizationId: string }[]; nextCursor: string | null } = (
        await operator.send('listOrganizations', { query })
      ).data;
      seen.push(...page.items.map(({ organizationId }) => organizationId));
      cursor = page.nextCursor;
    } while (cursor);
    const { results } = await bindings.DB.prepare('SELECT organization_id AS id FROM organizations ORDER BY 1').all<{
      id: string;
    }>();
    expect(seen).toEqual(results.map(({ id }) => id));
    expect((await operator.send('listOrganizations', { query: { cursor: '*' } })).refusal.message).toContain('cursor');
    expect((await operator.send('listOrganizations', { query: { limit: '0' } })).refusal.message).toContain('limit');
  });
});

describe('what an organization opens for credit', () => {
  const open = (creditOpen: unknown) => operator.send('updateOrganization', { params, body: { creditOpen } });

  test('is nothing at first, and what was set last; each change is in the event log', async () => {
    expect((await operator.send('readOrganization', { params })).data.creditOpen).toEqual([]);
    const entries = ['field:chat/min_p', 'field:messages/thinking.mode', 'component:cacheWrite1h'];
    expect((await open(entries)).data.creditOpen).toEqual(entries);
    const { data } = await operator.send('updateOrganization', { params, body: { name: 'Open' } });
    expect(data.creditOpen, 'another change').toEqual(entries);
    expect((await open(['*'])).data.creditOpen).toEqual(['*']);
    const query = { organizationId: tenant.organizationId, limit: '1' };
    expect((await operator.send('listEvents', { query })).data.items[0]).toMatchObject({
      action: 'organization.update',
      before: { creditOpen: entries },
      after: { creditOpen: ['*'] },
    });
    expect((await open([])).data.creditOpen).toEqual([]);
  });

  test.each([
    'min_p',
    'field:chat',
    'field:chat/',
    'field:gateway/min_p',
    'field:chat/a b',
    `field:chat/${'a'.repeat(201)}`,
    'component:',
    'component:code-minutes',
    `component:${'a'.repeat(51)}`,
    '**',
    '',
  ])('is refused if an entry is %j', async (entry) => {
    const { status, refusal } = await open(['*', entry]);
    expect([status, refusal.details]).toEqual([
      400,
      [{ path: 'creditOpen.1', message: expect.stringContaining('must be `field:{form}/{path}`') }],
    ]);
  });

  test('has at most 100 entries', async () => {
    const many = Array.from({ length: 101 }, (_, index) => `field:chat/f${index}`);
    expect((await open(many.slice(1))).status).toBe(200);
    const { status, refusal } = await open(many);
    expect([status, refusal.details]).toEqual([400, [expect.objectContaining({ path: 'creditOpen' })]]);
    await open([]);
  });
});

describe('plans', () => {
  const put = (planId: string, body: object) => operator.send('putPlan', { params: { ...params, planId }, body });

  test('get a new version for new content, keep it for the same content, and never change a version', async () => {
    const first = (await put('p', { name: 'P', limitType: 'BLOCK' })).data;
    expect(first).toEqual({ planId: 'p', usagePlanVersionId: 'p:v1', version: 1 });
    expect((await put('p', { limitType: 'BLOCK', name: 'P', limits: { premiumCalls: null } })).data).toEqual(first);
    expect((await put('p', { name: 'P', limitType: 'BLOCK', limits: { premiumCalls: 5 } })).data.version).toBe(2);
    const detail = (await operator.send('readPlan', { params: { ...params, planId: 'p' } })).data;
    expect(detail.versions.map(({ version, plan }) => [version, plan.limits.premiumCalls])).toEqual([
      [2, 5],
      [1, null],
    ]);
    expect((await operator.send('listPlans', { params })).data.items.map(({ planId }) => planId)).toEqual([
      'p',
      'test',
    ]);
  });

  test('of before hosted tools were a feature allow them, and stay the same version when that is said', async () => {
    const plan = { name: 'Old', limitType: 'BLOCK' };
    const made = (await put('old', plan)).data;
    await bindings.DB.prepare(
      "UPDATE plan_versions SET content = json_remove(content, '$.features.tools') WHERE organization_id = ? AND plan_id = 'old'",
    )
      .bind(params.org)
      .run();
    const read = async () => (await operator.send('readPlan', { params: { ...params, planId: 'old' } })).data;
    expect((await read()).plan.features).toEqual({ audio: true, image: true, search: true, tools: true });
    expect((await put('old', { ...plan, features: { tools: true } })).data).toEqual(made);
    expect((await put('old', { ...plan, features: { tools: false } })).data.version).toBe(2);
    expect((await read()).versions.map((version) => version.plan.features.tools)).toEqual([false, true]);
  });

  test('are filled with the documented defaults', async () => {
    await put('defaults', { name: 'D', limitType: 'NONE' });
    expect((await operator.send('readPlan', { params: { ...params, planId: 'defaults' } })).data.plan).toEqual({
      name: 'D',
      limitType: 'NONE',
      reasoningLevel: 'HIGH',
      replenish: { every: 1, unit: 'MONTH' },
      limits: {
        standardCalls: null,
        premiumCalls: null,
        standardTokens: null,
        premiumTokens: null,
        searches: null,
        audioSeconds: null,
      },
      features: { audio: true, image: true, search: true, tools: true },
      rollingCalls: null,
      reserveOutputTokens: null,
      maxOutputTokens: null,
      maxAnswers: 8,
      payg: { enabled: false, markupPercent: 0, maxOutputTokens: 16_384, holds: 'EXACT' },
      customMeters: {},
    });
  });

  test.each([
    ['name', { limitType: 'BLOCK' }],
    ['limitType', { name: 'P' }],
    ['limitType', { name: 'P', limitType: 'SOFT' }],
    ['limits.premiumCalls', { name: 'P', limitType: 'BLOCK', limits: { premiumCalls: -1 } }],
    ['limits.standardCall', { name: 'P', limitType: 'BLOCK', limits: { standardCall: 5 } }],
    ['featurs', { name: 'P', limitType: 'BLOCK', featurs: {} }],
    ['limits.searches', { name: 'P', limitType: 'BLOCK', limits: { searches: 1.5 } }],
    ['replenish.unit', { name: 'P', limitType: 'BLOCK', replenish: { every: 1, unit: 'CENTURY' } }],
    ['replenish.every', { name: 'P', limitType: 'BLOCK', replenish: { every: 0, unit: 'DAY' } }],
    ['rollingCalls.windowSeconds', { name: 'P', limitType: 'BLOCK', rollingCalls: { limit: 1 } }],
    ['customMeters.CUSTOM1.label', { name: 'P', limitType: 'BLOCK', customMeters: { CUSTOM1: { label: '' } } }],
    [
      'customMeters.CUSTOM1.overage.tiers',
      {
        name: 'P',
        limitType: 'BLOCK',
        customMeters: {
          CUSTOM1: { label: 'x', overage: { model: 'GRADUATED', tiers: [{ upTo: '5', priceUsd: '1' }] } },
        },
      },
    ],
  ])('are refused by the field %s', async (field, body) => {
    const { refusal } = await put('bad', body);
    expect(refusal.code).toBe('BAD_REQUEST');
    expect((refusal.details as { path: string }[]).map(({ path }) => path)).toContain(field);
    expect((await operator.send('readPlan', { params: { ...params, planId: 'bad' } })).refusal.code).toBe(
      'PLAN_NOT_FOUND',
    );
  });
});

describe('keys', () => {
  test('are listed without their values, which are stored nowhere', async () => {
    const { key, keyId } = (await operator.send('createKey', { params, body: { name: 'secret' } })).data;
    expect(key).toMatch(/^utk-[A-Za-z0-9_-]{43}$/);
    const list = await operator.send('listKeys', { params });
    expect(list.data.items.find((item) => item.keyId === keyId)).toMatchObject({
      name: 'secret',
      hint: key.slice(-4),
      revokedAt: null,
    });
    const events = await operator.send('listEvents', { query: { organizationId: tenant.organizationId } });
    const tables = ['api_keys', 'operator_events', 'operator_idempotency'];
    const rows = await Promise.all(
      tables.map(async (table) => (await bindings.DB.prepare(`SELECT * FROM ${table}`).all()).results),
    );
    for (const place of [list.body, events.body, rows]) expect(JSON.stringify(place)).not.toContain(key.slice(4));
  });

  test('an ek- key has only the scope embeds:read, and no other key may hold it', async () => {
    const create = (body: object) => operator.send('createKey', { params, body: { name: 'k', ...body } });
    expect((await create({ scopes: ['usage:read', 'embeds:read'] })).refusal.message).toContain('scopes');
    expect((await create({ prefix: 'ek-', scopes: ['usage:read'] })).refusal.message).toContain('scopes');
    const embed = (await create({ prefix: 'ek-' })).data;
    expect(embed.key).toMatch(/^ek-/);
    const edited = await operator.send('updateKey', {
      params: { ...params, keyId: embed.keyId },
      body: { scopes: ['usage:read'] },
    });
    expect(edited.refusal.code).toBe('BAD_REQUEST');
  });

  test('editing the scopes of a legacy key turns them into stored scopes', async () => {
    const { key, keyId } = (await operator.send('createKey', { params, body: { name: 'legacy', prefix: 'ck-' } })).data;
    expect((await tenant.api.with(key).send('provisionCustomer', { body: { customerId: 'l' } })).status).toBe(200);
    const edited = await operator.send('updateKey', { params: { ...params, keyId }, body: { scopes: ['usage:read'] } });
    expect(edited.data).toMatchObject({ prefix: 'ck-', scopes: ['usage:read'] });
    expect(
      (await tenant.api.with(key).send('provisionCustomer', { body: { customerId: 'l' } })).refusal.requiredScope,
    ).toBe('customers:write');
  });

  test('are listed newest first, page by page', async () => {
    const own = { org: (await createTenant(operator)).organizationId };
    const names = ['first', 'second', 'third'];
    for (const name of names) await operator.send('createKey', { params: own, body: { name } });
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const query: Record<string, string> = { limit: '2', ...(cursor !== null && { cursor }) };
      const { data } = await operator.send('listKeys', { params: own, query });
      found.push(...data.items.map(({ name }) => name));
      cursor = data.nextCursor;
    } while (cursor !== null);
    expect(found.slice(0, names.length)).toEqual(names.toReversed());
    expect(new Set(found).size).toBe(found.length);
  });

  test('end at their instant, which may be moved and removed, and not be in the past', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { data } = await operator.send('createKey', { params, body: { name: 'for an hour', expiresAt } });
    expect(data.expiresAt).toBe(expiresAt);
    const { keyId } = data;
    const read = async () => (await operator.send('readKey', { params: { ...params, keyId } })).data.expiresAt;
    expect(await read()).toBe(expiresAt);
    const past = { expiresAt: '2026-01-01T00:00:00.000Z' };
    const refused = await operator.send('updateKey', { params: { ...params, keyId }, body: past });
    expect(refused.refusal.message).toBe('expiresAt: must be in the future; revoke the key to end it now');
    expect((await operator.send('createKey', { params, body: { name: 'x', ...past } })).refusal.code).toBe(
      'BAD_REQUEST',
    );
    await operator.send('updateKey', { params: { ...params, keyId }, body: { expiresAt: null } });
    expect(await read()).toBeNull();
  });

  test('a rotated key works beside the new one until the overlap is over', async () => {
    const scopes = ['usage:read', 'usage:write'];
    const old = (await operator.send('createKey', { params, body: { name: 'backend', scopes } })).data;
    const rotate = (body: object) => operator.send('rotateKey', { params: { ...params, keyId: old.keyId }, body });
    const { data } = await rotate({ overlapHours: 0.0006 });
    expect(data).toMatchObject({ prefix: 'utk-', scopes, previous: { keyId: old.keyId } });
    const beginStatus = async (key: string) =>
      (await tenant.api.with(key).send('beginCall', { body: { customerId: 'rotation' } })).status;
    expect(await beginStatus(data.key)).toBe(200);
    await scheduler.wait(Date.parse(data.previous.expiresAt) - Date.now() + 1);
    expect([await beginStatus(old.key), await beginStatus(data.key)]).toEqual([401, 200]);
    expect((await rotate({})).refusal.message).toBe('the key has expired');
    expect((await rotate({ overlapHours: 1_000 })).refusal.message).toContain('overlapHours');
    const { items } = (await operator.send('listKeys', { params })).data;
    expect(items.find(({ keyId }) => keyId === data.keyId)).toMatchObject({ name: 'backend', expiresAt: null });
  });

  test('say when they were used last, with no write for each call', async () => {
    const { key, keyId } = (await operator.send('createKey', { params, body: { name: 'used' } })).data;
    const lastUsed = async () => (await operator.send('readKey', { params: { ...params, keyId } })).data.lastUsedAt;
    expect(await lastUsed()).toBeNull();
    const call = () => tenant.api.with(key).send('beginCall', { body: { customerId: 'used' } });
    await call();
    await expect.poll(lastUsed).not.toBeNull();
    const first = await lastUsed();
    await scheduler.wait(bindings.CONFIG_TTL_MS + 1);
    for (let calls = 0; calls < 5; calls += 1) await call();
    expect(await lastUsed()).toBe(first);
  });

  test('of another organization cannot be changed', async () => {
    const other = await createTenant(operator);
    const { keyId } = (await operator.send('createKey', { params, body: { name: 'mine' } })).data;
    expect((await operator.send('revokeKey', { params: { org: other.organizationId, keyId } })).refusal.code).toBe(
      'NOT_FOUND',
    );
  });
});

describe('events', () => {
  test('record who changed what and when, with the values before and after', async () => {
    const { organizationId } = (await operator.send('createOrganization', { body: { name: 'Before' } })).data;
    const headers = { 'x-usage-correlation-id': 'ticket-7' };
    await operator.send('updateOrganization', { params: { org: organizationId }, body: { name: 'After' }, headers });
    const { items } = (await operator.send('listEvents', { query: { organizationId } })).data;
    expect(items.map(({ action }) => action)).toEqual(['organization.update', 'organization.create']);
    expect(items[0]).toMatchObject({
      actor: 'operator',
      subject: organizationId,
      before: { name: 'Before' },
      after: { name: 'After' },
      correlationId: 'ticket-7',
    });
    expect(items[1]).toMatchObject({ before: null });
  });

  test('are not written for refused requests or those that change nothing', async () => {
    const { organizationId } = (await operator.send('createOrganization', { body: { name: 'Quiet' } })).data;
    const plan = { params: { org: organizationId, planId: 'p' }, body: { name: 'P', limitType: 'BLOCK' } };
    await operator.send('putPlan', plan);
    await operator.send('putPlan', plan);
    await operator.send('putPlan', { ...plan, body: {} });
    const { items } = (await operator.send('listEvents', { query: { organizationId } })).data;
    expect(items.map(({ action }) => action)).toEqual(['plan.put', 'organization.create']);
  });
});

describe("the operator's view of a customer", () => {
  test('has subscription, meters, last calls and the outbox', async () => {
    await tenant.api.send('beginCall', { body: { customerId: 'seen' }, headers: { 'Idempotency-Key': 'seen-1' } });
    const customer = (await operator.send('readCustomer', { params: { ...params, customerId: 'seen' } })).data;
    expect(customer).toMatchObject({
      customerId: 'seen',
      openCalls: 1,
      recentCalls: [{ callId: 'seen-1', status: 'IN_PROGRESS' }],
    });
    expect((await operator.send('readCustomer', { params: { ...params, customerId: 'nobody' } })).refusal.code).toBe(
      'CUSTOMER_NOT_FOUND',
    );
  });

  test('canceling twice has the same result as once', async () => {
    const sent = { params: { ...params, customerId: 'seen' } };
    const first = (await operator.send('cancelCustomer', sent)).data;
    expect(first).toMatchObject({ canceled: true, allowed: { standard: false } });
    expect((await operator.send('cancelCustomer', sent)).data.subscription).toEqual(first.subscription);
    expect((await operator.send('reactivateCustomer', sent)).data.canceled).toBe(false);
  });
});

describe('housekeeping', () => {
  test('records every price of the catalog as a snapshot, once', async () => {
    const { default: worker } = await import('../../src/index.ts');
    for (let round = 0; round < 2; round += 1)
      await worker.scheduled({ cron: '17 * * * *' } as ScheduledController, bindings, createExecutionContext());
    const row = await bindings.DB.prepare(
      'SELECT COUNT(*) AS n, COUNT(DISTINCT model_key) AS models FROM pricing_snapshots',
    ).first();
    expect(row).toEqual({ n: 249, models: 239 });
  });
});
