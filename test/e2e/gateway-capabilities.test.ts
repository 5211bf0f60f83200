/**
 * Promise: a plan's searches, images and audio apply to every request through the gateway, plain, streamed or in a
 * batch: denied before the vendor is called, and counted from the vendor's response.
 */
import { PermissionDeniedError, toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayTenant, type Setting, startGateway } from './gateway-tenant.ts';
import { until } from './local-server.ts';

let setting: Setting;
beforeAll(async () => {
  setting = await startGateway();
});
afterAll(() => setting.stop());

const tenantWith = (plan: object) => setting.tenant({ name: 'P', limitType: 'BLOCK', ...plan });
const used = async (tenant: GatewayTenant, meter: string) => (await tenant.settled('default')).meters[meter]?.used;
const user = (content: string) => [{ role: 'user' as const, content }];
const tools = [{ type: 'web_search' as const }];

async function catchRefusal(request: Promise<unknown>): Promise<PermissionDeniedError> {
  const error: unknown = await request.catch((thrown) => thrown);
  expect(error).toBeInstanceOf(PermissionDeniedError);
  return error as PermissionDeniedError;
}

describe('the official SDK', () => {
  test('searches with a response, whole and streamed, until the allowance is used up', async () => {
    const tenant = await tenantWith({ limits: { searches: 4 } });
    const request = { model: 'gpt-5.2', input: 'news [searches:2]', tools };
    await tenant.openai.responses.create(request);
    expect(await used(tenant, 'searches')).toBe(2);
    for await (const _ of await tenant.openai.responses.create({
      ...request,
      input: 'more [searches:3]',
      stream: true,
    }));
    expect(await used(tenant, 'searches')).toBe(5);
    const asked = setting.vendor.requests.length;
    const { code, message } = await catchRefusal(tenant.openai.responses.create(request));
    expect([code, message]).toEqual(['ENTITLEMENT_DENIED', expect.stringContaining('search')]);
    expect(setting.vendor.requests.length).toBe(asked);
    await tenant.openai.responses.create({ model: 'gpt-5.2', input: 'no search' });
  });

  test('searches with a chat, whole and streamed', async () => {
    const tenant = await tenantWith({});
    const request = { model: 'gpt-5.2', messages: user('news [searches:2]'), web_search_options: {} };
    const answer = await tenant.openai.chat.completions.create(request);
    expect(answer.choices[0]?.message.annotations).toHaveLength(1);
    for await (const _ of await tenant.openai.chat.completions.create({ ...request, stream: true }));
    expect(await used(tenant, 'searches')).toBe(2);
  });
});

describe('a batch', () => {
  const begun = () =>
    setting.vendor.requests.filter(({ method, path }) => method === 'POST' && path === '/v1/batches').length;
  const line = (custom_id: string, body: object) =>
    JSON.stringify({ custom_id, method: 'POST', url: '/v1/responses', body: { model: 'gpt-5.2', ...body } });

  async function create(tenant: GatewayTenant, lines: readonly string[]) {
    const file = await toFile(Buffer.from(lines.join('\n')), 'input.jsonl');
    const input_file_id = (await tenant.openai.files.create({ file, purpose: 'batch' })).id;
    return tenant.openai.batches.create({ input_file_id, endpoint: '/v1/responses', completion_window: '24h' });
  }

  const silent = line('silent', { input: 'hello' });
  const searching = (custom_id: string, searches = 1) =>
    line(custom_id, { input: `news [searches:${searches}]`, tools, max_tool_calls: searches });

  test.each([
    ['search', { features: { search: false } }, () => searching('a')],
    ['search', { limits: { searches: 0 } }, () => searching('a')],
    ['tools', { features: { tools: false } }, () => line('a', { input: 'x', tools: [{ type: 'code_interpreter' }] })],
    ['image', { features: { image: false } }, () => line('a', { input: 'x', tools: [{ type: 'image_generation' }] })],
    [
      'audio',
      { features: { audio: false } },
      () => line('a', { input: [{ role: 'user', content: [{ type: 'input_audio' }] }] }),
    ],
  ])('is denied %s if one line uses it under a plan with %j', async (capability, plan, asking) => {
    const tenant = await tenantWith(plan);
    const before = begun();
    const { code, message } = await catchRefusal(create(tenant, [silent, asking()]));
    expect([code, message]).toEqual(['ENTITLEMENT_DENIED', expect.stringContaining(capability)]);
    expect(begun()).toBe(before);
    expect(await create(tenant, [silent])).toMatchObject({ status: 'validating' });
  });

  test('needs the searches that its lines can make, besides the holds of other batches, and counts those that ran', async () => {
    const tenant = await tenantWith({ limits: { searches: 6 } });
    expect(
      (
        await catchRefusal(
          create(
            tenant,
            ['a', 'b'].map((id) => searching(id, 4)),
          ),
        )
      ).message,
    ).toContain('can make 8 searches');
    const batch = await create(tenant, [searching('a', 1), searching('b', 4), silent]);
    expect(
      (
        await catchRefusal(
          create(
            tenant,
            ['x', 'y'].map((id) => searching(id)),
          ),
        )
      ).message,
    ).toContain('1 further searches');
    await until(async () => (await tenant.openai.batches.retrieve(batch.id)).status === 'completed');
    expect((await tenant.settled('default', 3)).meters.searches?.used).toBe(5);
  });

  test('of models without a price runs on the allowance, but on credit only if the organization allows it', async () => {
    const tenant = await tenantWith({ limits: { standardCalls: 2 }, payg: { enabled: true, markupPercent: 0 } });
    const params = { org: tenant.organizationId };
    const customer = { ...params, customerId: 'default' };
    await tenant.api.send('provisionCustomer', { body: { customerId: 'default' } });
    const grant = await setting.server.operator.send('grantCredit', {
      params: customer,
      body: { kind: 'USD', amountUsd: '1' },
    });
    expect(grant.status).toBe(200);
    const lines = ['a', 'b', 'c'].map((id) => line(id, { model: 'no-such-model', input: 'x' }));
    const before = begun();
    const { code, message } = await catchRefusal(create(tenant, lines));
    expect([code, message]).toEqual(['MODEL_NOT_PRICED', expect.stringContaining('no-such-model')]);
    expect(begun()).toBe(before);
    const priced = ['a', 'b', 'c'].map((id) => line(id, { model: 'gpt-4o-mini', input: 'x' }));
    for (const more of [lines.slice(0, 2), priced])
      expect(await create(tenant, more)).toMatchObject({ status: 'validating' });
    const allowed = await setting.server.operator.send('updateOrganization', {
      params,
      body: { allowUnpricedModels: true },
    });
    expect(allowed.data.allowUnpricedModels).toBe(true);
    expect(await create(tenant, lines)).toMatchObject({ status: 'validating' });
  });
});
