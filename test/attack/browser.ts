/**
 * Attacks by a tenant's end user, with the session token that the tenant's backend gave to the browser.
 */
import { type Attack, brokenOf } from './model.ts';
import { type Answer, type Attacker, harmFigures, only, type Statuses, type World } from './world.ts';

const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const MODEL = 'openai/gpt-4o-mini';
const MIB = 1024 * 1024;
const chat = (more: object = {}) => ({ model: MODEL, messages: [{ role: 'user', content: 'hello' }], ...more });
const response = (more: object = {}) => ({ model: MODEL, input: 'hello', ...more });

/** Requests that must be refused with a status and a code; returns a sentence for each that was not. */
async function refusals(
  world: World,
  token: string,
  requests: readonly { path: string; body: unknown; headers?: Record<string, string> }[],
  status: number,
  code: string,
): Promise<string[]> {
  const broken: string[] = [];
  for (const { path, body, headers } of requests) {
    const asked = world.vendor.requests.length;
    const answer = await world.send({ path, token, body, ...(headers && { headers }) });
    const reached = world.vendor.requests.length > asked;
    if (answer?.status === status && errorCode(answer) === code && !reached) continue;
    const said = `${path} ${JSON.stringify(body).slice(0, 160)}`;
    broken.push(
      `${said} was answered ${answer?.status} ${errorCode(answer)}, not ${status} ${code}${reached ? ', and reached the vendor' : ''}`,
    );
  }
  return broken;
}

function errorCode(answer: Answer | null): string | undefined {
  return answer?.json?.error?.code;
}

const plantedIdentity: Attack = {
  name: 'planted-identity',
  by: 'browser',
  promise: 'a browser cannot say whom a call concerns: no customer field, no tags, no feature',
  async run(world) {
    const attacker = await world.attacker();
    const token = await attacker.session();
    const planted = [
      { customer: { customerId: 'browser', stripeCustomerId: 'cus_someone_else' } },
      { customer: { id: 'browser' } },
      { customer: { customer_id: 'browser', email: 'a@example.com' } },
      { customer: { customerId: 'browser', customerName: 'x' } },
      { tags: ['x'] },
      { feature: 'x' },
    ];
    const requests = planted.flatMap((fields) => [
      { path: CHAT, body: chat(fields) },
      { path: RESPONSES, body: response(fields) },
    ]);
    const broken = await refusals(world, token, requests, 400, 'FIELD_NOT_ALLOWED');
    broken.push(
      ...(await refusals(
        world,
        token,
        [{ path: CHAT, body: chat({ customer: 'another' }) }],
        403,
        'CUSTOMER_FORBIDDEN',
      )),
    );
    const honest = await world.send({ path: CHAT, token, body: chat({ customer: 'browser', user: 'user-1' }) });
    const { operator, organizationId } = attacker;
    const reply = await operator.send('readCustomer', { params: { org: organizationId, customerId: 'browser' } });
    const contact = reply.status === 200 ? JSON.stringify(reply.body.data) : '';
    return {
      figures: { 'requests refused': `${requests.length + 1 - broken.length} of ${requests.length + 1}` },
      broken: [
        ...broken,
        ...brokenOf(
          [honest?.status === 200, `its own id and a user are refused: ${honest?.status}`],
          [!contact.includes('cus_someone_else'), 'a Stripe customer of somebody else stands in the account'],
        ),
      ],
    };
  },
};

/** References to things in the tenant's account at the vendor, by endpoint. */
const REFERENCES: readonly { path: string; fields: object }[] = [
  ...[
    { previous_response_id: 'resp_1' },
    { conversation: 'conv_1' },
    { conversation: { id: 'conv_1' } },
    { prompt: { id: 'pmpt_1' } },
    { store: true },
    { background: true },
    { service_tier: 'priority' },
    { metadata: { a: 'b' } },
    { input: [{ type: 'item_reference', id: 'msg_1' }] },
    { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }] },
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] }] },
    { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
    { tools: [{ type: 'code_interpreter', container: 'cntr_1' }] },
    { tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['file_1'] } }] },
    { tools: [{ type: 'mcp', server_label: 'x', connector_id: 'connector_gmail' }] },
    { a_field_of_tomorrow: 'x' },
  ].map((fields) => ({ path: RESPONSES, fields })),
  ...[
    { store: true },
    { service_tier: 'flex' },
    { metadata: { a: 'b' } },
    { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file_1' } }] }] },
    { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] },
    { a_field_of_tomorrow: 'x' },
  ].map((fields) => ({ path: CHAT, fields })),
];

const vendorReferences: Attack = {
  name: 'vendor-references',
  by: 'browser',
  promise: "a browser reaches nothing that stands in the tenant's account at the vendor",
  async run(world) {
    const token = await (await world.attacker()).session();
    const requests = REFERENCES.map(({ path, fields }) => ({
      path,
      body: path === CHAT ? chat(fields) : response(fields),
    }));
    const broken = await refusals(world, token, requests, 400, 'FIELD_NOT_ALLOWED');
    const harmless = await world.send({ path: CHAT, token, body: chat({ store: false, service_tier: 'auto' }) });
    return {
      figures: { 'requests refused': `${requests.length - broken.length} of ${requests.length}` },
      broken: [
        ...broken,
        ...brokenOf([harmless?.status === 200, `store: false and service_tier: auto are refused: ${harmless?.status}`]),
      ],
    };
  },
};

const models: Attack = {
  name: 'foreign-models',
  by: 'browser',
  promise: "a browser runs only models of its session's list, at most three a request, and none without a price",
  async run(world) {
    const attacker = await world.attacker();
    const [listed, open] = [await attacker.session({ models: [MODEL] }), await attacker.session()];
    const broken = [
      ...(await refusals(
        world,
        listed,
        [{ path: CHAT, body: chat({ model: 'openai/gpt-4o' }) }],
        403,
        'MODEL_NOT_ALLOWED',
      )),
      ...(await refusals(
        world,
        listed,
        [{ path: CHAT, body: chat({ models: ['openai/gpt-4o'] }) }],
        403,
        'MODEL_NOT_ALLOWED',
      )),
      ...(await refusals(
        world,
        open,
        [{ path: CHAT, body: chat({ model: 'openai/no-such-model-1' }) }],
        403,
        'MODEL_NOT_PRICED',
      )),
      ...(await refusals(
        world,
        open,
        [{ path: CHAT, body: chat({ models: ['openai/gpt-4o', 'openai/gpt-4.1', 'openai/gpt-4.1-mini'] }) }],
        400,
        'BAD_REQUEST',
      )),
    ];
    const allowed = await world.send({ path: CHAT, token: listed, body: chat() });
    return {
      figures: { 'requests refused': `${4 - broken.length} of 4` },
      broken: [...broken, ...brokenOf([allowed?.status === 200, `a model of the list is refused: ${allowed?.status}`])],
    };
  },
};

const takenKeys: Attack = {
  name: 'taken-keys',
  by: 'browser',
  promise: 'an idempotency key that a browser used is still free for the backend',
  async run(world) {
    const attacker = await world.attacker();
    const token = await attacker.session();
    const key = 'order-4711';
    const first = await world.send({ path: CHAT, token, headers: { 'Idempotency-Key': key }, body: chat() });
    const again = await world.send({ path: CHAT, token, headers: { 'Idempotency-Key': key }, body: chat() });
    const backend = await world.send({
      path: '/call_begin',
      token: attacker.key,
      headers: { 'Idempotency-Key': key },
      body: { customerId: 'honest' },
    });
    return {
      figures: { "the backend's begin": `${backend?.status} ${backend?.json?.result?.code}` },
      broken: brokenOf(
        [first?.status === 200, `the browser's own call is refused: ${first?.status}`],
        [again?.text === first?.text, "the browser's retry is not the stored answer"],
        [backend?.status === 200, `the backend's begin is answered ${backend?.status}`],
      ),
    };
  },
};

/** JSON text of very many small values. */
const manyValues = (bytes: number) => `{"model":"${MODEL}","messages":[${'{},'.repeat((bytes - 60) / 3)}{}]}`;

const jsonBombs: Attack = {
  name: 'json-bombs',
  by: 'browser',
  promise: 'a body of very many values is refused before it is parsed, and costs nobody else anything',
  async run(world, size) {
    const attacker = await world.attacker();
    const token = await attacker.session();
    const bomb = Buffer.from(manyValues(9.9 * MIB));
    const statuses: Statuses = {};
    const harm = await world.observed(async () => {
      for (const credential of [token, attacker.key]) {
        const counted = await world.flood(2, size(8, 2), () => ({ path: CHAT, token: credential, body: bomb }));
        for (const [status, count] of Object.entries(counted))
          statuses[Number(status)] = (statuses[Number(status)] ?? 0) + count;
      }
    });
    const deep = await world.send({
      path: CHAT,
      token: attacker.key,
      body: `{"model":"${MODEL}","messages":${'['.repeat(101)}${']'.repeat(101)}}`,
    });
    const large = await world.send({
      path: CHAT,
      token,
      body: chat({ messages: [{ role: 'user', content: 'x'.repeat(1.1 * MIB) }] }),
    });
    const messages = Array.from({ length: 5_000 }, (_, index) => ({
      role: 'user',
      content: `${index} ${'long '.repeat(80)}`,
    }));
    const honest = await world.send({ path: CHAT, token: attacker.key, body: chat({ messages }) });
    const { figures, goals } = harmFigures(harm);
    return {
      figures: { answers: JSON.stringify(statuses), ...figures },
      goals,
      broken: brokenOf(
        [harm.failed === 0, `${harm.failed} begins of another tenant failed`],
        [only(statuses, 413, 0), `a bomb was answered ${JSON.stringify(statuses)}`],
        [deep?.status === 413, `101 levels are answered ${deep?.status}`],
        [large?.status === 413, `1.1 MiB of a session are answered ${large?.status}`],
        [honest?.status === 200, `5,000 long messages are refused: ${honest?.status}`],
      ),
    };
  },
};

const deniedBegins: Attack = {
  name: 'denied-begins',
  by: 'browser',
  promise: 'refusals of one customer neither fill the database that all share nor vanish from reports',
  async run(world, size) {
    const attacker = await world.attacker({
      name: 'Nothing left',
      limitType: 'BLOCK',
      limits: { standardCalls: 0, premiumCalls: 0 },
    });
    const requests = size(1_500, 300);
    const tags = Array.from({ length: 50 }, (_, index) => `${index}`.padEnd(200, 'x'));
    const before = await world.databaseBytes();
    let statuses: Statuses = {};
    const harm = await world.observed(async () => {
      statuses = await world.flood(16, requests, (index) => ({
        path: '/call_begin',
        token: attacker.key,
        headers: { 'Idempotency-Key': `denied-${index}` },
        body: { customerId: 'browser', feature: 'chat', tags },
      }));
    });
    const denied = statuses[200] ?? 0;
    const counted = await countedDenials(attacker, denied);
    const grown = (await world.databaseBytes()) - before;
    const { figures } = harmFigures(harm);
    return {
      figures: {
        answers: JSON.stringify(statuses),
        'growth of D1, KB': Math.round(grown / 1_000),
        'growth of D1 per request, bytes': Math.round(grown / requests),
        'denials in the usage summary': counted,
        ...figures,
      },
      broken: brokenOf(
        [denied + (statuses[429] ?? 0) === requests, 'an answer was neither a denial nor 429'],
        // A second minute may have begun.
        [denied <= 120, `${denied} begins were denied one by one`],
        [counted === denied, `the summary counts ${counted} of ${denied} denials`],
      ),
    };
  },
};

const SUMMARY_MS_MAX = 30_000;

/** Denied calls in the organization's summary, once it has that many or no more come. */
async function countedDenials({ api }: Attacker, expected: number): Promise<number> {
  const giveUpAtMs = Date.now() + SUMMARY_MS_MAX;
  for (;;) {
    const { byOutcome } = (await api.send('readUsageSummary')).data;
    const calls = byOutcome.find(({ outcome }) => outcome === 'NOT_ALLOWED')?.calls ?? 0;
    if (calls >= expected || Date.now() > giveUpAtMs) return calls;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const inventedSavings: Attack = {
  name: 'invented-savings',
  by: 'browser',
  promise: 'a browser cannot record more saved tokens than its call had',
  async run(world) {
    const attacker = await world.attacker();
    const token = await attacker.session();
    const body = (callId: string, originalTokens: number) => ({
      callId,
      promptCompression: { provider: 'toon', originalTokens, compressedTokens: 1, techniques: [] },
    });
    const begin = async (callId: string) =>
      world.send({
        path: '/call_begin',
        token: attacker.key,
        headers: { 'Idempotency-Key': callId },
        body: { customerId: 'browser' },
      });
    await begin('open');
    await begin('ended');
    await world.send({
      path: '/call_end',
      token: attacker.key,
      body: { callId: 'ended', modelUsed: 'gpt-4o', inputTokens: 500, responseTokens: 5 },
    });
    const broken = await refusals(
      world,
      token,
      [
        { path: '/compress_prompt', body: body('open', 1_000_001) },
        { path: '/compress_prompt', body: body('ended', 900_000_000) },
      ],
      400,
      'BAD_REQUEST',
    );
    return { figures: { 'requests refused': `${2 - broken.length} of 2` }, broken };
  },
};

export const browserAttacks: readonly Attack[] = [
  plantedIdentity,
  vendorReferences,
  models,
  takenKeys,
  jsonBombs,
  deniedBegins,
  inventedSavings,
];
