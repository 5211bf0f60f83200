/**
 * Promise: on credit, a prompt whose beginning the vendor has counted holds that count and the bytes that follow, never
 * less than the vendor counts. Only a digest of it is remembered, in the customer's own object, for two hours.
 */

import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { CustomerStore } from '../../durable-objects/customer/store.ts';
import { COUNTED_CALLS_MAX, COUNTED_MS } from '../../durable-objects/customer/tables/counted-prompts.ts';
import { SEAM_TOKENS } from '../../src/gateway/demand/conversation.ts';
import { planOnCredit, TWO_RATES } from '../support/credit-plans.ts';
import { type FundedCustomer, fundedCustomer } from '../support/customer.ts';
import { ask, BASE_URL, mockVendor, newTenant, readStoredCall, vendor } from '../support/gateway.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';

mockVendor();

const PLAN = planOnCredit();
/** USD of a token: 2 USD a million in, 10 USD a million out. */
const [INPUT, OUTPUT] = [2 / 1_000_000, 10 / 1_000_000];
const OUTPUT_TOKENS = 100;
/** The rounding of a cost's lines. */
const ROUNDING = 1 / 1_000_000;
const HOUR = 3_600_000;

async function onCredit(usd = '10') {
  const tenant = await newTenant(PLAN);
  const params = { org: tenant.organizationId };
  const body = { apiKey: 'sk-test', baseUrl: BASE_URL };
  expect((await operator.send('setVendor', { params: { ...params, provider: 'anthropic' }, body })).status).toBe(200);
  for (const modelKey of ['anthropic/house', 'openai/house'])
    expect(
      (await operator.send('setPrice', { params: { ...params, modelKey }, body: { components: TWO_RATES } })).status,
    ).toBe(200);
  return { tenant, customer: await fundedCustomer(tenant, 'default', { usd }) };
}
type OnCredit = Awaited<ReturnType<typeof onCredit>>;

/** The tokens of a text at a vendor whose words have four letters. */
const tokensIn = (value: unknown): number =>
  typeof value === 'string'
    ? (value.match(/[A-Za-z]{1,4}|[^A-Za-z]/gu)?.length ?? 0)
    : Array.isArray(value)
      ? value.reduce<number>((sum, item) => sum + tokensIn(item), 0)
      : value !== null && typeof value === 'object'
        ? Object.entries(value).reduce((sum, [name, item]) => sum + (name === 'cache_control' ? 0 : tokensIn(item)), 4)
        : 0;

/** The vendor's count of a request to Anthropic's endpoint. */
const counted = ({ system, tools, messages }: Record<string, unknown>) =>
  400 + tokensIn(system) + tokensIn(tools) + tokensIn(messages);

const answered = (model: unknown, input: number, text = 'done') => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model, stop_reason: 'end_turn' },
  content: [{ type: 'text', text }],
  // Most of it from the cache.
  usage: { input_tokens: 10, cache_read_input_tokens: input - 10, cache_creation_input_tokens: 0, output_tokens: 4 },
});

interface Seen {
  /** The tokens of the prompt that are held. */
  held: number;
  counted: number;
  status: number;
  callId: string;
}

/** Asks Anthropic's endpoint; returns the hold while the vendor worked, and its count. */
async function turn(
  { tenant, customer }: OnCredit,
  body: object,
  { headers = {}, answer }: { headers?: Record<string, string>; answer?: (tokens: number) => Response } = {},
): Promise<Seen> {
  const seen: Seen = { held: 0, counted: 0, status: 0, callId: '' };
  vendor.answers = async (_url, sent) => {
    seen.held = await heldTokens(customer);
    seen.counted = counted(sent);
    return answer?.(seen.counted) ?? Response.json(answered(sent.model, seen.counted));
  };
  const request = { model: 'anthropic/house', max_tokens: OUTPUT_TOKENS, ...body };
  const { response, callId, rest } = await ask(tenant.key, request, bindings, '/v1/messages', headers);
  await response.text();
  await rest();
  return { ...seen, status: response.status, callId };
}

async function heldTokens(customer: FundedCustomer): Promise<number> {
  const { heldUsd } = await customer.wallet();
  return (Number(heldUsd) - OUTPUT_TOKENS * OUTPUT) / INPUT;
}

const words = (count: number, seed = 'word') =>
  Array.from({ length: count }, (_, n) => `${seed} ${n} "said" it`).join('\n');
const said = (role: string, text: string, isMarked = false) => ({
  role,
  content: [{ type: 'text', text, ...(isMarked && { cache_control: { type: 'ephemeral' } }) }],
});
const TOOLS = [
  { name: 'read', description: words(100), input_schema: { type: 'object', properties: { path: { type: 'string' } } } },
];
const called = (n: number) => ({
  role: 'assistant',
  content: [
    { type: 'text', text: `I read file ${n}.` },
    { type: 'tool_use', id: `t${n}`, name: 'read', input: { path: `src/${n}.ts`, lines: [n, null] } },
  ],
});
const result = (n: number, isMarked = false) => ({
  role: 'user',
  content: [
    {
      ...{ type: 'tool_result', tool_use_id: `t${n}`, content: [{ type: 'text', text: words(20, `line${n}`) }] },
      ...(isMarked && { cache_control: { type: 'ephemeral' } }),
    },
  ],
});

test('each turn of an agent holds what the vendor counted before and the bytes that follow, also after an eviction', async () => {
  const world = await onCredit();
  const system = [{ type: 'text', text: words(2_000), cache_control: { type: 'ephemeral' } }];
  const first = said('user', words(8_000));
  const turns: Seen[] = [];
  const messages: object[] = [first];
  for (let n = 0; n < 30; n += 1) {
    // The mark moves to the newest message, and a text without it may be a text alone.
    const plain = n === 0 ? messages : [{ role: 'user', content: first.content[0]?.text }, ...messages.slice(1)];
    const marked = n === 0 ? plain : [...plain.slice(0, -1), result(n, true)];
    turns.push(await turn(world, { system, tools: TOOLS, messages: marked }));
    messages.push(called(n + 1), result(n + 1));
    if (n % 10 === 5) await evictDurableObject(customerStub(world.tenant.organizationId, 'default'));
  }
  const [opening, ...later] = turns;
  if (!opening) throw new Error('there is a first turn');
  expect(JSON.stringify({ system, messages }).length).toBeGreaterThan(200_000);
  expect(opening.held).toBeGreaterThan(1.5 * opening.counted);
  for (const { status, held, counted: tokens } of later) {
    expect(status).toBe(200);
    expect(held).toBeGreaterThanOrEqual(tokens);
    expect(held).toBeLessThan(tokens * 1.05);
  }
});

test('a vendor that counts the worst of what is known stays within the hold', async () => {
  const world = await onCredit();
  const messages = [said('user', words(2_000)), said('assistant', 'yes'), said('user', words(50))];
  const before = await turn(world, { messages: messages.slice(0, 1) });
  const worst: Seen = await turn(
    world,
    { messages },
    { answer: () => Response.json(answered('house', Math.round(worstOf(before)))) },
  );
  function worstOf({ counted: tokens }: Seen) {
    const bytes = messages.slice(1).reduce((sum, { content }) => sum + (content[0]?.text.length ?? 0), 0);
    return tokens + bytes + SEAM_TOKENS;
  }
  const call = await readStoredCall(world.tenant, worst.callId);
  expect(call?.outcome?.usage.inputTokens).toBe(Math.round(worstOf(before)));
  expect(worst.held).toBeGreaterThanOrEqual(worstOf(before));
  expect(call?.credit).not.toHaveProperty('exceededNanoUsd');
});

test('an answer that was lost is charged no more than the lower hold', async () => {
  const world = await onCredit();
  const messages = [said('user', words(3_000)), said('assistant', 'yes'), said('user', 'go on')];
  await turn(world, { messages: messages.slice(0, 1) });
  const lost = await turn(world, { messages }, { answer: () => new Response('no JSON', { status: 200 }) });
  expect(lost.status).toBe(502);
  const charged = Number((await readStoredCall(world.tenant, lost.callId))?.outcome?.charge?.amountNanoUsd) / 1e9;
  expect(charged).toBeGreaterThan(lost.counted * INPUT);
  expect(charged).toBeLessThanOrEqual(lost.held * INPUT + OUTPUT_TOKENS * OUTPUT + ROUNDING);
});

describe('nothing is known', () => {
  const start = { system: words(200), tools: TOOLS, messages: [said('user', words(2_000))] };
  const more = { ...start, messages: [...start.messages, said('assistant', 'yes'), said('user', 'go on')] };
  const bytes = ({ held, counted: tokens }: Seen) => held > 1.5 * tokens;

  test.each([
    ['another system prompt', { ...more, system: words(201) }, {}],
    ['another tool', { ...more, tools: [{ ...TOOLS[0], name: 'write' }] }, {}],
    ['a beta header', more, { 'anthropic-beta': 'context-1m-2025-08-07' }],
    ['an edit of what was said', { ...more, messages: [said('user', words(2_001)), ...more.messages.slice(1)] }, {}],
    ['thinking', { ...more, thinking: { type: 'adaptive' } }, {}],
    [
      'a context that the vendor edits',
      { ...more, context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
      { 'anthropic-beta': 'context-management-2025-06-27' },
    ],
    [
      'a property that is named like a mark',
      {
        ...more,
        tools: [{ ...TOOLS[0], input_schema: { type: 'object', properties: { cache_control: { type: 'string' } } } }],
      },
      {},
    ],
  ])('with %s', async (_what, body, headers) => {
    const world = await onCredit();
    await turn(world, start);
    expect(bytes(await turn(world, body, { headers }))).toBe(true);
    // The same prompt is known.
    expect(bytes(await turn(world, more))).toBe(false);
  });

  test('of a prompt that the vendor edited, refused, or that another model answered', async () => {
    const world = await onCredit();
    const edited = { ...start, context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } };
    await turn(world, edited);
    expect(bytes(await turn(world, edited))).toBe(true);
    await turn(world, start, { answer: (tokens) => Response.json(answered('another', tokens)) });
    await turn(world, start, {
      answer: (tokens) =>
        Response.json({ ...answered('house', tokens), usage: { input_tokens: tokens, output_tokens: 0 } }),
    });
    expect(bytes(await turn(world, start))).toBe(true);
  });

  test('by another customer', async () => {
    const world = await onCredit();
    await turn(world, start);
    await fundedCustomer(world.tenant, 'other', { usd: '10' });
    const params = { org: world.tenant.organizationId, customerId: 'other' };
    const wallet = async () => (await operator.send('readCustomer', { params })).data.wallet;
    const other = { ...world, customer: { ...world.customer, wallet } };
    expect(bytes(await turn(other, more, { headers: { 'x-usage-customer-id': 'other' } }))).toBe(true);
  });
});

const countedRows = ({ tenant: { organizationId } }: OnCredit) =>
  runInDurableObject(customerStub(organizationId, 'default'), (_, { storage }) =>
    storage.sql.exec<{ prompts: string }>('SELECT prompts FROM counted_prompts').toArray(),
  );

test('a caller that alternates requests lowers no bound: the higher of two counts of a prompt stands', async () => {
  const world = await onCredit();
  const start = { messages: [said('user', words(2_000))] };
  const more = { messages: [...start.messages, said('assistant', 'yes'), said('user', 'go on')] };
  const { counted: tokens } = await turn(world, start);
  await turn(world, start, { answer: () => Response.json(answered('house', 1_000)) });
  expect((await turn(world, more)).held).toBeGreaterThan(tokens);
});

test('a response that is stored is known by its id, with what it answered', async () => {
  const { tenant, customer } = await onCredit();
  let held = 0;
  const respond = async (body: object, id: string) => {
    vendor.answers = async (_url, { model }) => {
      held = await heldTokens(customer);
      const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'done' }] }];
      const usage = { input_tokens: 3_000, output_tokens: 50, total_tokens: 3_050 };
      return Response.json({ id, object: 'response', status: 'completed', model, output, usage });
    };
    const request = { model: 'openai/house', max_output_tokens: OUTPUT_TOKENS, instructions: words(10), ...body };
    const { response, rest } = await ask(tenant.key, { ...request, messages: undefined }, bindings, '/v1/responses');
    expect(response.status).toBe(200);
    await response.text();
    await rest();
    return held;
  };
  await respond({ input: words(500) }, 'resp_1');
  const second = await respond({ input: 'go on', previous_response_id: 'resp_1' }, 'resp_2');
  expect(second).toBeGreaterThan(3_050);
  expect(second).toBeLessThan(3_050 + 400);
  expect(await respond({ input: 'go on', previous_response_id: 'resp_2' }, 'resp_3')).toBeLessThan(3_500);
  // Nothing is known of another response, nor of this one under other instructions.
  for (const other of [
    { previous_response_id: 'resp_9' },
    { previous_response_id: 'resp_1', instructions: 'Be brief.' },
  ])
    expect(await respond({ input: 'go on', ...other }, 'resp_4')).toBeGreaterThan(1_000_000);
});

test('POST /call to a vendor that the organization has knows its prompts', async () => {
  const { tenant, customer } = await onCredit();
  const messages = [said('user', words(2_000))];
  const call = async (body: object) => {
    let held = 0;
    vendor.answers = async (_url, sent) => {
      held = await heldTokens(customer);
      return Response.json(answered(sent.model, counted(sent)));
    };
    const request = {
      customerId: 'default',
      vendor: {
        ...{ provider: 'anthropic', url: `${BASE_URL}/messages`, method: 'POST', headers: { 'x-api-key': 'sk' } },
        body: { model: 'house', max_tokens: OUTPUT_TOKENS, ...body },
      },
    };
    expect((await tenant.api.send('makeCall', { body: request })).data.vendor?.ok).toBe(true);
    return held;
  };
  const first = await call({ messages });
  const tokens = counted({ messages });
  expect(first).toBeGreaterThan(1.5 * tokens);
  const second = await call({ messages: [...messages, said('assistant', 'yes'), said('user', 'go on')] });
  expect(second).toBeGreaterThan(tokens);
  expect(second).toBeLessThan(1.1 * tokens);
});

test('256 calls are known for two hours, the newest ones, and an old one is dropped', async () => {
  const { organizationId } = (await onCredit()).tenant;
  await runInDurableObject(customerStub(organizationId, 'default'), (_, { storage }) => {
    let store = new CustomerStore(storage);
    const knows = (n: number, nowMs: number, plan = 'p:v1') => store.promptTokens([[[`d${n}`, 7]]], plan, nowMs)[0];
    const remember = (n: number, atMs: number) =>
      store.transaction(atMs, () => store.rememberCounted([[`d${n}`, n]], 'p:v1', atMs));
    for (let n = 0; n < COUNTED_CALLS_MAX + 1; n += 1) remember(n, 1_000);
    for (const reopened of [false, true]) {
      if (reopened) store = new CustomerStore(storage);
      expect([knows(0, 1_000), knows(1, 1_000), knows(256, 1_000)]).toEqual([null, 8, 263]);
    }
    remember(300, 2_000);
    expect([knows(1, 2_000), knows(2, 2_000), knows(300, 2_000)]).toEqual([null, 9, 307]);
    expect([knows(300, 2_000 + COUNTED_MS - 1), knows(300, 2_000 + COUNTED_MS)]).toEqual([307, null]);
    // At another effort the vendor may add something else.
    expect(knows(300, 2_000, 'p:v2')).toBe(null);
    expect(storage.sql.exec('SELECT 1 FROM counted_prompts').toArray()).toHaveLength(COUNTED_CALLS_MAX);
    expect(COUNTED_MS).toBe(2 * HOUR);
  });
});

test('a command that fails leaves nothing remembered', async () => {
  const { organizationId } = (await onCredit()).tenant;
  await runInDurableObject(customerStub(organizationId, 'default'), (_, { storage }) => {
    const store = new CustomerStore(storage);
    const broken = () =>
      store.transaction(1_000, () => {
        store.rememberCounted([['d', 1]], 'p:v1', 1_000);
        throw new Error('broken');
      });
    expect(broken).toThrow('broken');
    expect(store.promptTokens([[['d', 7]]], 'p:v1', 1_000)).toEqual([null]);
  });
});

test('D1 gets no digest, and an erasure leaves none', async () => {
  const world = await onCredit();
  await turn(world, { messages: [said('user', words(2_000)), said('assistant', 'yes'), said('user', 'go on')] });
  await turn(world, { messages: [said('user', words(2_000)), said('assistant', 'yes'), said('user', 'go on')] });
  const rows = await countedRows(world);
  const digests = rows.flatMap(({ prompts }) => (JSON.parse(prompts) as [string, number][]).map(([digest]) => digest));
  expect(digests).toHaveLength(2);
  await world.customer.settle();
  const tables = await bindings.DB.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all<{
    name: string;
  }>();
  for (const { name } of tables.results.filter((table) => !/^(?:sqlite|_cf|d1)_/.test(table.name))) {
    const text = JSON.stringify((await bindings.DB.prepare(`SELECT * FROM "${name}"`).all()).results);
    for (const digest of digests) expect(text.includes(digest)).toBe(false);
  }
  const { params } = world.customer;
  expect((await operator.send('eraseCustomer', { params })).status).toBe(200);
  await runInDurableObject(customerStub(world.tenant.organizationId, 'default'), (_, { storage }) => {
    expect(storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'counted_prompts'").toArray()).toEqual([]);
  });
});
