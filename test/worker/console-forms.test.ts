/**
 * Every form of the console: its effect if it is filled in correctly, the message at the right field if not, and that
 * it counts once however often it is sent. The operator API confirms the effects.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { operator } from '../support/worker.ts';
import { type Shown, type Values, Visitor } from './console-visitor.ts';

const visitor = new Visitor();
let tenant: Tenant;
let org: string;
let base: string;

beforeAll(async () => {
  await visitor.signIn();
  tenant = await createTenant(operator, { name: 'Test', limitType: 'BLOCK', limits: { premiumCalls: 10 } });
  org = tenant.organizationId;
  base = `/console/organizations/${org}`;
});

/** Sends the form of a page that leads on when it is filled in well. */
async function done(page: string, action: string, values: Values): Promise<Shown> {
  const shown = await visitor.submit(page, action, values);
  expect([shown.status, shown.text], action).toEqual([303, '']);
  return shown;
}

/** Sends a form that is refused, and expects the rule at the field, with the typed values still there. */
async function refused(page: string, action: string, values: Values, field: string, rule: string): Promise<Shown> {
  const shown = await visitor.submit(page, action, values);
  expect(shown.status).toBe(400);
  expect(shown.text).toContain(rule);
  const id = `f-${field.replaceAll('.', '-')}`;
  expect([id, shown.html.includes(`href="#${id}"`), shown.html.includes(`id="${id}"`)]).toEqual([id, true, true]);
  return shown;
}

/** The newest event of the organization. */
async function lastEvent(organizationId = org) {
  const { items } = (await operator.send('listEvents', { query: { organizationId, limit: '1' } })).data;
  return items[0];
}

describe('organizations', () => {
  const page = '/console/organizations/new';
  const action = '/console/organizations';

  test('are created once, however often the form is sent', async () => {
    const values = await visitor.form(page, action, { name: 'Twice' });
    const answers = await Promise.all([visitor.post(action, values), visitor.post(action, values)]);
    answers.push(await visitor.post(action, values));
    expect(new Set(answers.map(({ headers }) => headers.get('Location'))).size).toBe(1);
    const { items } = (await operator.send('listOrganizations', { query: { limit: '200' } })).data;
    expect(items.filter(({ name }) => name === 'Twice')).toHaveLength(1);
    // The same page filled in otherwise is another submission.
    const other = await visitor.post(action, { ...values, name: 'Thrice' });
    expect(other.headers.get('Location')).not.toBe(answers[0]?.headers.get('Location'));
    const made = items.find(({ name }) => name === 'Twice');
    expect(await lastEvent(made?.organizationId)).toMatchObject({ actor: 'console', action: 'organization.create' });
  });

  test('say which field is wrong', async () => {
    await refused(page, action, { name: ' ' }, 'name', 'Name: is required');
    const { html } = await refused(
      page,
      action,
      { name: 'A "quoted" name', organizationId: 'mine' },
      'organizationId',
      'must be a UUID',
    );
    expect(html).toContain('value="A &quot;quoted&quot; name"');
    const organizationId = crypto.randomUUID();
    await done(page, action, { name: 'First', organizationId });
    await refused(page, action, { name: 'Second', organizationId }, 'organizationId', 'another name exists');
  });

  test('have settings', async () => {
    const settings = `${base}/settings`;
    const save = (values: Values) => done(settings, settings, values);
    const wrong = (field: string, text: string, rule: string) =>
      refused(settings, settings, { [field]: text }, field, rule);
    const saved = async () => (await operator.send('readOrganization', { params: { org } })).data;
    const shown = () => visitor.form(settings, settings);
    const named = { name: 'Renamed', defaultPlanId: 'test' };
    const { headers } = await save(named);
    expect((await visitor.read(headers.get('Location') ?? '')).text).toContain('The settings are saved');
    expect(await saved()).toMatchObject(named);
    await save({ ...named, allowUnpricedModels: 'on' });
    expect((await saved()).allowUnpricedModels).toBe(true);
    expect(await lastEvent()).toMatchObject({
      before: { allowUnpricedModels: false },
      after: { allowUnpricedModels: true },
    });
    expect((await shown()).allowUnpricedModels).toBe('on');
    await save({ ...named, allowUnpricedModels: [] });
    expect((await saved()).allowUnpricedModels).toBe(false);
    await wrong('name', '', 'must not be empty');
    await save({ sampleBytesMax: '2,097,152' });
    expect(await saved()).toMatchObject({ name: 'Renamed', sampleBytesMax: 2_097_152 });
    await save({ upgradeUrl: 'https://shop.example/plans' });
    expect((await shown()).upgradeUrl).toBe('https://shop.example/plans');
    await wrong('upgradeUrl', 'javascript:alert(1)', 'must be an https address');
    await save({ upgradeUrl: '' });
    expect((await saved()).upgradeUrl).toBeNull();
    await wrong('sampleBytesMax', '1 MB', 'Sample storage: must be a number, such as 100');
    await save({ creditOpen: 'field:chat/min_p\n\ncomponent:codeMinutes\n' });
    const creditOpen = ['field:chat/min_p', 'component:codeMinutes'];
    expect((await saved()).creditOpen).toEqual(creditOpen);
    expect((await shown()).creditOpen).toBe(creditOpen.join('\n'));
    await wrong('creditOpen', '*\nmin_p', 'must be `field:');
    expect((await shown()).alertThresholdsPercent).toBe('50, 80, 100');
    await save({ alertThresholdsPercent: 'none', alertBalanceBelowUsd: '12.50', callRetentionDays: '30' });
    const kept = { alertThresholdsPercent: [], alertBalanceBelowUsd: '12.50', callRetentionDays: 30 };
    expect(await saved()).toMatchObject(kept);
    await save({ name: 'Renamed' });
    expect(await saved()).toMatchObject({ ...kept, alertBalanceBelowDays: null, usageRetentionDays: 2_557 });
    await wrong('callRetentionDays', '0', 'Calls kept for: ');
    await wrong('alertBalanceBelowUsd', 'much', 'Alert below a balance of: must be');
    const values = await visitor.form(settings, settings, { defaultPlanId: 'nothing' });
    expect((await visitor.post(settings, values)).text).toContain('no such plan');
  });
});

describe('plans', () => {
  const read = async (planId: string) => (await operator.send('readPlan', { params: { org, planId } })).data;

  test('are created by a form that has every field', async () => {
    const slot = 'customMeters.CUSTOM1';
    await done(`${base}/new-plan`, `${base}/plans`, {
      planId: 'all',
      name: 'All of it',
      limitType: 'DOWNGRADE',
      reasoningLevel: 'LOW',
      'replenish.every': '2',
      'replenish.unit': 'WEEK',
      'limits.premiumCalls': '1,500',
      'limits.searches': '0',
      'features.audio': '',
      'rollingCalls.limit': '60',
      'rollingCalls.windowSeconds': '60',
      reserveOutputTokens: '500',
      maxOutputTokens: '4000',
      maxAnswers: '2',
      'payg.enabled': 'on',
      'payg.markupPercent': '12.5',
      [`${slot}.listed`]: 'on',
      [`${slot}.label`]: 'Pages',
      [`${slot}.included`]: '1_000',
      [`${slot}.funding.payg`]: 'on',
      [`${slot}.overage.model`]: 'GRADUATED',
      [`${slot}.overage.tiers.0.upTo`]: '1,000',
      [`${slot}.overage.tiers.0.priceUsd`]: '$0.01',
      [`${slot}.overage.tiers.1.priceUsd`]: '0.005',
    });
    const { plan } = await read('all');
    expect(plan).toMatchObject({
      name: 'All of it',
      limitType: 'DOWNGRADE',
      reasoningLevel: 'LOW',
      replenish: { every: 2, unit: 'WEEK' },
      limits: { premiumCalls: 1_500, searches: 0, standardCalls: null },
      features: { audio: false, image: true },
      rollingCalls: { limit: 60, windowSeconds: 60 },
      reserveOutputTokens: 500,
      maxOutputTokens: 4_000,
      maxAnswers: 2,
      payg: { enabled: true, markupPercent: 12.5 },
      customMeters: {
        CUSTOM1: { label: 'Pages', included: 1_000, enabled: true, funding: { credits: false, payg: true } },
      },
    });
    expect(plan.customMeters.CUSTOM1?.overage).toEqual({
      model: 'GRADUATED',
      tiers: [
        { upTo: '1000', priceUsd: '0.01', per: '1' },
        { upTo: null, priceUsd: '0.005', per: '1' },
      ],
    });
    expect(await lastEvent()).toMatchObject({ actor: 'console', action: 'plan.put', subject: 'all' });
  });

  test('keep their version when the form is sent as it was, and get the next one when it was changed', async () => {
    const edit = `${base}/plans/all/edit`;
    const same = await done(edit, `${base}/plans/all`, {});
    expect(same.headers.get('Location')).toContain('done=plan-same');
    expect((await read('all')).version).toBe(1);
    const changed = await done(edit, `${base}/plans/all`, { name: 'Nearly all' });
    expect(changed.headers.get('Location')).toContain('done=plan');
    expect((await read('all')).version).toBe(2);
    expect((await visitor.read(`${base}/plans/all/compare`)).text).toMatch(
      /1 field changed.*Name All of it Nearly all/,
    );
  });

  test('show every broken rule next to its field', async () => {
    const wrong = (values: Values, field: string, rule: string) =>
      refused(`${base}/new-plan`, `${base}/plans`, { planId: 'bad', name: 'A', ...values }, field, rule);
    await wrong({ planId: 'a b' }, 'planId', 'letters, digits, dots');
    await wrong({ planId: 'test' }, 'planId', 'is the id of another plan');
    await wrong({ name: '' }, 'name', 'Name: is required');
    const { html } = await wrong({ 'limits.premiumCalls': 'many' }, 'limits.premiumCalls', 'must be a number');
    expect(html).toContain('value="many"');
    await wrong({ 'rollingCalls.limit': '5' }, 'rollingCalls.windowSeconds', 'is required');
    const meter = { 'customMeters.CUSTOM2.listed': 'on', 'customMeters.CUSTOM2.overage.model': 'GRADUATED' };
    await wrong(meter, 'customMeters.CUSTOM2.label', 'must not be empty');
    await wrong(meter, 'customMeters.CUSTOM2.overage.tiers', 'at least 1');
    expect((await operator.send('readPlan', { params: { org, planId: 'bad' } })).status).toBe(404);
  });

  test('can also be edited as a document', async () => {
    const page = `${base}/new-plan?as=json`;
    const action = `${base}/plans`;
    await done(page, action, { planId: 'json', document: '{"name":"By hand","limitType":"NONE"}' });
    expect((await read('json')).plan).toMatchObject({ name: 'By hand', limitType: 'NONE' });
    await refused(page, action, { planId: 'json2', document: '{' }, 'document', 'must be valid JSON');
    await refused(
      page,
      action,
      { planId: 'json2', document: '{"name":"A","limitType":"SOME"}' },
      'document',
      'limitType must be one of',
    );
  });

  test('go from the form to the document and back with what was typed', async () => {
    const page = `${base}/new-plan`;
    const action = `${base}/plans`;
    const typed = { planId: 'switched', name: 'Half', 'limits.premiumCalls': 'many', 'features.vision': 'on' };
    const asDocument = await visitor.submit(page, action, { ...typed, switchTo: 'json' });
    expect(asDocument.status).toBe(200);
    expect(asDocument.html).toContain('value="switched"');
    expect(asDocument.text).toContain('"premiumCalls": "many"');
    // A document that is no plan stays, with the reason.
    const document = '{"name":"Whole","limitType":"BLOCK","limits":{"premiumCalls":7}';
    const as = { planId: 'switched', as: 'json', switchTo: 'form' };
    const secrets = await visitor.form(`${page}?as=json`, action);
    const broken = await visitor.post(action, { ...secrets, ...as, document });
    expect(broken.status).toBe(400);
    expect(broken.text).toContain('must be valid JSON');
    expect(broken.text).toContain(document);
    const asForm = await visitor.post(action, { ...secrets, ...as, document: `${document}}` });
    expect(asForm.status).toBe(200);
    for (const value of ['switched', 'Whole', '7']) expect(asForm.html).toContain(`value="${value}"`);
    expect((await operator.send('readPlan', { params: { org, planId: 'switched' } })).status).toBe(404);
  });

  test('move their customers to the newest version, and show the progress', async () => {
    await tenant.api.send('provisionCustomer', { body: { customerId: 'mover' } });
    await tenant.api.send('changePlan', { params: { customerId: 'mover' }, body: { planId: 'json' } });
    await done(`${base}/plans/json/edit?as=json`, `${base}/plans/json`, {
      document: '{"name":"By hand","limitType":"BLOCK"}',
    });
    const values = await visitor.form(`${base}/plans/json/migrate?when=NOW`, `${base}/plans/json/migrate`);
    const [first, second] = await Promise.all([1, 2].map(() => visitor.post(`${base}/plans/json/migrate`, values)));
    const job = first?.headers.get('Location') ?? '';
    expect(second?.headers.get('Location')).toBe(job);
    await expect
      .poll(async () => (await visitor.read(job)).text, { timeout: 60_000 })
      .toMatch(/Completed.*Moved 1 of 1/);
    expect((await tenant.api.send('readUsage', { params: { customerId: 'mover' } })).data.policy).toBe('BLOCK');
    expect((await visitor.post(`${base}/plans/json/migrate`, { ...values, when: 'SOON' })).status).toBe(400);
  });

  test('that are archived have a badge, are not offered, and come back', async () => {
    const params = { org, planId: 'autumn' };
    await operator.send('putPlan', { params, body: { name: 'Autumn', limitType: 'BLOCK' } });
    await tenant.api.send('provisionCustomer', { body: { customerId: 'gardener' } });
    const archivedAt = async () => (await operator.send('readPlan', { params })).data.archivedAt;
    const offers = async () => (await visitor.read(`${base}/customers/gardener/plan`)).html.includes('value="autumn"');
    const plan = `${base}/plans/autumn`;
    expect(await offers()).toBe(true);

    await done(plan, `${plan}/archive`, {});
    expect(await archivedAt()).toEqual(expect.any(String));
    expect((await visitor.read(`${base}/plans`)).text).toContain('archived');
    expect(await offers()).toBe(false);

    await done(plan, `${plan}/restore`, {});
    expect(await archivedAt()).toBeNull();
    expect(await offers()).toBe(true);
  });
});

describe('keys', () => {
  test('are created once and shown once', async () => {
    const values = await visitor.form(`${base}/keys/new`, `${base}/keys`, {
      name: 'Shop',
      scopes: ['usage:read', 'usage:write'],
    });
    const made = await visitor.post(`${base}/keys`, values);
    const [key = ''] = /utk-[\w-]{43}/.exec(made.html) ?? [];
    expect((await visitor.post(`${base}/keys`, values)).html).toContain(key);
    const { items } = (await operator.send('listKeys', { params: { org } })).data;
    const shop = items.filter(({ name }) => name === 'Shop');
    expect(shop.map(({ scopes }) => scopes)).toEqual([['usage:read', 'usage:write']]);
    expect((await operator.with(key).send('beginCall', { body: { customerId: 'of shop' } })).status).toBe(200);
    for (const page of ['keys', `keys/${shop[0]?.keyId}`, 'events'])
      expect((await visitor.read(`${base}/${page}`)).html).not.toContain(key);
  });

  test('are edited and revoked', async () => {
    const { keyId, key } = (await operator.send('createKey', { params: { org }, body: { name: 'Old' } })).data;
    const own = `${base}/keys/${keyId}`;
    await done(own, own, { name: 'New', scopes: ['usage:read'] });
    expect((await operator.with(key).send('beginCall', { body: { customerId: 'x' } })).status).toBe(403);
    await refused(own, own, { name: '', scopes: ['usage:read'] }, 'name', 'must not be empty');
    await refused(own, own, { scopes: ['embeds:read'] }, 'scopes', 'dedicated ek- key');
    const values = await visitor.form(own, own);
    const { scopes: _scopes, ...none } = values;
    expect((await visitor.post(own, none)).text).toContain('at least 1');

    await done(`${own}/revoke`, `${own}/revoke`, {});
    expect((await operator.with(key).send('readUsage', { params: { customerId: 'x' } })).status).toBe(401);
    expect((await visitor.read(own)).text).toContain('was revoked');
  });

  test('are limited to models and features, one per line, and an empty field takes a limit away', async () => {
    await visitor.submit(`${base}/keys/new`, `${base}/keys`, { name: 'Chat', models: 'gpt-4o\r\n\r\n service/cheap ' });
    const find = async () => {
      const { items } = (await operator.send('listKeys', { params: { org } })).data;
      const found = items.find(({ name }) => name === 'Chat');
      if (!found) throw new Error('the key is not there');
      return found;
    };
    const { keyId, ...created } = await find();
    expect(created).toMatchObject({ models: ['gpt-4o', 'service/cheap'], features: null });
    const own = `${base}/keys/${keyId}`;
    await done(own, own, { features: 'chat' });
    expect(await find()).toMatchObject({ models: ['gpt-4o', 'service/cheap'], features: ['chat'] });
    expect((await visitor.read(`${base}/keys`)).text).toContain('models: gpt-4o, service/cheap; features: chat');
    await done(own, own, { models: '' });
    expect(await find()).toMatchObject({ models: null, features: ['chat'] });
    await refused(own, own, { features: 'x'.repeat(201) }, 'features', 'must have at most 200');
  });

  test('of another kind have the scopes of their kind; a wrong scope is named', async () => {
    const { html } = await visitor.submit(`${base}/keys/new`, `${base}/keys`, { name: 'Widget', prefix: 'ek-' });
    expect(html).toMatch(/ek-[\w-]{43}/);
    await refused(`${base}/keys/new`, `${base}/keys`, { name: '' }, 'name', 'is required');
    expect((await visitor.send(`${base}/keys/key_unknown`)).status).toBe(404);
  });
});

describe('models, prices and vendors', () => {
  test('map models, one in a row, with the autopilot of each', async () => {
    const page = `${base}/models`;
    const first = { 'standard.0.model': 'openai/gpt-6-luna', 'standard.0.switchTo': 'official' };
    await done(page, page, { ...first, 'standard.0.maxPriceIncreasePercent': '12.5' });
    const standard = async () => (await operator.send('readOrganization', { params: { org } })).data.models?.standard;
    const luna = { model: 'openai/gpt-6-luna', switchTo: 'official', switchDaysBefore: 14 };
    expect(await standard()).toEqual([{ ...luna, maxPriceIncreasePercent: 12.5, requiredCapabilities: [] }]);
    // The row comes back as it is, and takes another one behind it.
    await done(page, page, {
      'standard.0.requiredCapabilities': ['tools', 'vision'],
      'standard.1.model': '  a/b  ',
      confirmed: 'a/b',
    });
    expect(await standard()).toEqual([
      { ...luna, maxPriceIncreasePercent: 12.5, requiredCapabilities: ['tools', 'vision'] },
      'a/b',
    ]);
    const at = (field: string, value: string, rule: string) => refused(page, page, { [field]: value }, field, rule);
    await at('standard.1.model', 'x'.repeat(301), 'at most 300');
    await at('standard.0.switchDaysBefore', 'soon', 'Standard 1: days before its end: must be a number, such as 100');
    await refused(
      page,
      page,
      { 'aliases.0.alias': 'A B', 'aliases.0.model': 'gpt-6-sol' },
      'aliases.0.alias',
      'lower-case',
    );
  });

  test('get a further row, and change their order, without saving and without losing what was typed', async () => {
    const page = `${base}/models`;
    const added = await visitor.submit(page, page, { 'premium.0.model': 'gpt-6-sol', change: 'add premium' });
    expect([added.status, added.html.includes('name="premium.1.model"')]).toEqual([200, true]);
    expect(added.html).toMatch(/autofocus[^>]*name="premium\.1\.model"/);
    expect(added.html).toMatch(/name="premium\.0\.model"[^>]*value="gpt-6-sol"/);
    const moved = await visitor.submit(page, page, { change: 'up standard 1' });
    expect(moved.html).toMatch(/name="standard\.0\.model"[^>]*value="a\/b"/);
    expect(moved.html).toMatch(/name="standard\.1\.model"[^>]*value="openai\/gpt-6-luna"/);
    const { data } = await operator.send('readOrganization', { params: { org } });
    expect([data.models?.standard.at(-1), data.models?.premium]).toEqual(['a/b', []]);
  });

  test('map a model that nobody knows only when it is confirmed, and suggest the one that was meant', async () => {
    const page = `${base}/models`;
    const typed = {
      'premium.0.model': 'gpt-6-sool',
      'aliases.0.alias': 'cheap',
      'aliases.0.model': 'openai/gpt-6-lun',
    };
    const asked = await visitor.submit(page, page, typed);
    expect(asked.status).toBe(400);
    expect(asked.text).toContain('Premium 1: model: gpt-6-sool is not in the catalog. Did you mean gpt-6-sol?');
    expect(asked.text).toContain('openai/gpt-6-lun is not in the catalog. Did you mean openai/gpt-6-luna?');
    // An existing mapping needs no second confirmation, and the typed values are still there.
    expect(asked.text).not.toContain('Map a/b');
    expect(asked.html).toContain('value="gpt-6-sool"');
    const models = async () => (await operator.send('readOrganization', { params: { org } })).data.models;
    expect((await models())?.premium).toEqual([]);
    const half = await visitor.submit(page, page, { ...typed, confirmed: 'gpt-6-sool' });
    expect(half.status).toBe(400);
    expect(half.html).toMatch(/name="confirmed" value="openai\/gpt-6-lun"/);
    await done(page, page, { ...typed, confirmed: ['gpt-6-sool', 'openai/gpt-6-lun'] });
    expect(await models()).toMatchObject({ premium: ['gpt-6-sool'], aliases: { cheap: ['openai/gpt-6-lun'] } });
    // It knows its prices, too.
    await done(page, `${base}/prices`, { modelKey: 'house/own', inputUsdPerMillion: '1', outputUsdPerMillion: '2' });
    await done(page, page, { 'premium.0.model': 'house/own', 'aliases.0.alias': '', 'aliases.0.model': '' });
    expect((await models())?.premium).toEqual(['house/own']);
  });

  test('set a price', async () => {
    const price = { modelKey: 'my-model', inputUsdPerMillion: '2.50', outputUsdPerMillion: '10' };
    await done(`${base}/models`, `${base}/prices`, price);
    expect((await visitor.read(`${base}/models`)).text).toMatch(
      /my-model \$2\.50 \$10\.00.*by the catalog's relations/,
    );
    await done(`${base}/models`, `${base}/prices`, { ...price, strict: 'on' });
    const params = { org, modelKey: 'my-model' };
    expect((await operator.send('readPrices', { params })).data.items).toMatchObject([{ strict: true }]);
    await refused(
      `${base}/models`,
      `${base}/prices`,
      { ...price, inputUsdPerMillion: '-1' },
      'inputUsdPerMillion',
      'at least 0',
    );
    await refused(
      `${base}/models`,
      `${base}/prices`,
      { ...price, outputUsdPerMillion: '' },
      'outputUsdPerMillion',
      'is required',
    );
    await refused(`${base}/models`, `${base}/prices`, { ...price, modelKey: '' }, 'modelKey', 'must not be empty');
  });

  test('register a vendor without ever showing its key', async () => {
    const vendor = { provider: 'openai', apiKey: 'sk-secret-of-the-vendor-0123' };
    await done(`${base}/vendors`, `${base}/vendors`, vendor);
    const { html, text } = await visitor.read(`${base}/vendors`);
    expect([text.includes('…0123'), html.includes(vendor.apiKey)]).toEqual([true, false]);
    const bad = await refused(
      `${base}/vendors`,
      `${base}/vendors`,
      { ...vendor, provider: 'Open AI' },
      'provider',
      'lower-case',
    );
    expect(bad.html).not.toContain(vendor.apiKey);
    await refused(`${base}/vendors`, `${base}/vendors`, { ...vendor, provider: 'other' }, 'baseUrl', 'is required');
    await refused(`${base}/vendors`, `${base}/vendors`, { ...vendor, baseUrl: 'ftp://x' }, 'baseUrl', 'http or https');
    await refused(`${base}/vendors`, `${base}/vendors`, { ...vendor, kind: 'other' }, 'kind', 'one of openai');
    await done(`${base}/vendors`, `${base}/vendors`, { ...vendor, kind: 'openrouter' });
    expect((await visitor.read(`${base}/vendors`)).text).toMatch(/openai\s*openrouter\s*https:/);
  });

  test('replace the key of a vendor, which keeps all else', async () => {
    const params = { org: tenant.organizationId, provider: 'acme' };
    const settings = {
      baseUrl: 'https://acme.test/v1',
      kind: 'azure',
      useReportedCost: true,
      headers: { 'x-team': 'blue' },
      passthrough: ['/v1/rerank'],
    };
    expect(
      (await operator.send('setVendor', { params, body: { ...settings, apiKey: 'sk-first-key-0123456' } })).status,
    ).toBe(200);
    await done(`${base}/vendors`, `${base}/vendors`, { provider: 'acme', apiKey: 'sk-second-key-9876543' });
    expect((await operator.send('readVendor', { params })).data).toEqual({
      provider: 'acme',
      keyHint: '6543',
      ...settings,
    });
  });
});

describe('samples and compression', () => {
  test('set the sampling policy in percent', async () => {
    const values = {
      percent: '2.5',
      minInputTokens: '1,000',
      retentionDays: '7',
      'features.include': 'chat\nsearch',
      'customers.exclude': 'me',
    };
    await done(`${base}/sampling`, `${base}/sampling`, values);
    const settings = (await tenant.api.send('readSamplingSettings')).data;
    expect(settings).toMatchObject({
      rate: 0.025,
      minInputTokens: 1_000,
      retentionDays: 7,
      features: { include: ['chat', 'search'], exclude: [] },
      customers: { exclude: ['me'] },
    });
    await refused(`${base}/sampling`, `${base}/sampling`, { percent: '101' }, 'percent', 'from 0 to 100');
    await refused(`${base}/sampling`, `${base}/sampling`, { percent: '' }, 'percent', 'from 0 to 100');
    await refused(`${base}/sampling`, `${base}/sampling`, { retentionDays: '0' }, 'retentionDays', 'at least 1');
  });

  test('delete a sample', async () => {
    await tenant.api.send('storeSample', { body: { sampleId: 'gone', provider: 'openai', input: 'Hi' } });
    await done(`${base}/samples/gone`, `${base}/samples/gone/delete`, {});
    expect((await visitor.send(`${base}/samples/gone`)).status).toBe(404);
    expect(await lastEvent()).toMatchObject({ actor: 'console', action: 'sample.delete' });
  });

  test('save the compression profile, with its event', async () => {
    const values = {
      techniques: ['json', 'whitespace'],
      aggressiveness: '0',
      protectedPhrases: 'Keep me',
      minInputTokens: '50',
    };
    await done(`${base}/compression`, `${base}/compression`, values);
    expect((await tenant.api.send('readCompressionProfile')).data).toEqual({
      techniques: ['json', 'whitespace'],
      aggressiveness: 0,
      protectedPhrases: ['Keep me'],
      minInputTokens: 50,
      meaningMayChange: false,
    });
    expect(await lastEvent()).toMatchObject({
      actor: 'console',
      action: 'compression_profile.put',
      before: { aggressiveness: 0.3 },
    });
    await refused(`${base}/compression`, `${base}/compression`, { aggressiveness: '2' }, 'aggressiveness', 'at most 1');
  });

  test("start an estimate with the organization's profile and prices, once, and follow it", async () => {
    const own = await createTenant(operator);
    const page = `/console/organizations/${own.organizationId}/compression`;
    const profile = { techniques: ['politeness'], aggressiveness: 1, protectedPhrases: [], minInputTokens: 0 };
    await own.api.send('saveCompressionProfile', { body: profile });
    const params = { org: own.organizationId, modelKey: 'openai/gpt-4o' };
    await operator.send('setPrice', { params, body: { inputUsdPerMillion: 100, outputUsdPerMillion: 100 } });
    const input = 'Please note that you should be very brief. Thank you very much in advance!';
    for (const feature of ['chat', 'other'])
      await own.api.send('storeSample', { body: { provider: 'openai', model: 'gpt-4o', feature, input } });

    const values = await visitor.form(page, `${page}/jobs`, { feature: 'chat', from: '2026-01-01T00:00' });
    const started = await Promise.all([visitor.post(`${page}/jobs`, values), visitor.post(`${page}/jobs`, values)]);
    const [location = ''] = started.map(({ headers }) => headers.get('Location') ?? '');
    expect(started.map(({ status, headers }) => [status, headers.get('Location')])).toEqual([
      [303, location],
      [303, location],
    ]);
    const jobId = location.slice(`${page}/jobs/`.length);
    expect(await lastEvent(own.organizationId)).toMatchObject({
      ...{ actor: 'console', action: 'compression_job.start' },
      after: { jobId, feature: 'chat', from: '2026-01-01T00:00:00Z' },
    });
    const read = async () => (await own.api.send('readCompressionJob', { params: { jobId } })).data;
    await expect.poll(async () => (await read()).status, { timeout: 60_000 }).toBe('COMPLETED');
    const job = await read();
    expect([job.profile, job.progress]).toEqual([profile, { total: 1, done: 1 }]);
    expect(job.savedTokens).toBeGreaterThan(0);
    expect(job.costAvoidedUsdNano).toBe(String(job.savedTokens * 100_000));
    const { text, html } = await visitor.read(location);
    expect(text).toContain('Samples 1 of 1');
    expect(text).toContain('Politeness 1');
    expect(text).toContain('Meaning may change at this aggressiveness');
    // The result of a sample, for people.
    expect(html).toContain('<del>Thank you very much in advance!</del>');
    expect(html).not.toContain('http-equiv="refresh"');

    // Another organization does not have the job.
    expect((await visitor.send(`${base}/compression/jobs/${jobId}`)).status).toBe(404);
    await refused(page, `${page}/jobs`, { from: 'yesterday' }, 'from', 'must be a date and time');
    await refused(page, `${page}/jobs`, { from: '2026-02-01T00:00', to: '2026-01-01T00:00' }, 'to', 'must be after');
  });
});

describe('the catalog', () => {
  const action = '/console/catalog/publish';
  const document = (change: (model: (typeof BUILT_IN_CATALOG.models)[number]) => object | null) =>
    JSON.stringify({
      models: BUILT_IN_CATALOG.models.flatMap((model) => change(model) ?? []),
      transitions: BUILT_IN_CATALOG.transitions,
    });

  test('is not published if the document is invalid', async () => {
    await refused(action, action, { document: 'not json' }, 'document', 'must be valid JSON');
    await refused(action, action, { document: '{"models":[]}' }, 'document', 'at least 1');
    const broken = document((model) => ({
      ...model,
      ...(model.model === 'gpt-6-luna' && { pricing: { inputUsdPerMillion: -1 } }),
    }));
    await refused(action, action, { document: broken }, 'document', 'openai/gpt-6-luna pricing.inputUsdPerMillion');
    expect((await operator.send('readCatalog')).data.source).toBe('built-in');
  });

  test('is published once, after its differences were shown', async () => {
    const repriced = document((model) => {
      if (model.model !== 'gpt-6-luna' || !model.pricing) return model;
      return { ...model, pricing: { ...model.pricing, inputUsdPerMillion: 123.5 } };
    });
    const shown = await visitor.submit(action, action, { document: repriced });
    expect(shown.text).toMatch(/Repriced 1 model .*openai\/gpt-6-luna .* → \$123\.50/);
    expect((await operator.send('readCatalog')).data.source).toBe('built-in');

    const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(shown.html) ?? [];
    const values = { csrf, nonce: 'one-publication', document: repriced };
    const published = await Promise.all([
      visitor.post('/console/catalog', values),
      visitor.post('/console/catalog', values),
    ]);
    expect(published.map(({ status }) => status)).toEqual([303, 303]);
    const { items } = (await operator.send('listEvents', { query: { limit: '200' } })).data;
    expect(items.filter(({ action: what }) => what === 'catalog.publish').map(({ actor }) => actor)).toEqual([
      'console',
    ]);
    expect((await visitor.read('/console/catalog/models/openai/gpt-6-luna')).text).toContain('$123.50');
  });
});
