/**
 * Attacks by a tenant with a valid key, and by clients that retry at the wrong time.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OPERATOR_TOKEN } from '../support/api.ts';
import { type Attack, brokenOf } from './model.ts';
import { type Attacker, harmFigures, type World } from './world.ts';

const TOKENS_MAX = 1_000_000_000;
const MIB = 1024 * 1024;

const hugeCalls: Attack = {
  name: 'huge-calls',
  by: 'tenant',
  promise: 'the largest calls that a tenant can end leave its sums exact and every page of the operator readable',
  async run(world, size) {
    const attacker = await world.attacker();
    const params = { org: attacker.organizationId, modelKey: 'acme/dear' };
    const price = { inputUsdPerMillion: 2_000, outputUsdPerMillion: 2_000 };
    await attacker.operator.send('setPrice', { params, body: price });
    const calls = size(3_000, 60);
    const usage = { modelUsed: 'acme/dear', inputTokens: TOKENS_MAX, responseTokens: TOKENS_MAX };
    const beyond = await world.send({
      path: '/call',
      token: attacker.key,
      body: { customerId: 'large', usage: { ...usage, inputTokens: 10 ** 12 } },
    });
    const statuses = await world.flood(16, calls, (index) => ({
      path: '/call',
      token: attacker.key,
      headers: { 'Idempotency-Key': `huge-${index}` },
      body: { customerId: 'large', usage },
    }));
    const perCallNano = 2n * BigInt(TOKENS_MAX) * 2_000n * 1_000n;
    const expected = (BigInt(statuses[200] ?? 0) * perCallNano).toString();
    const { status, cost } = await summaryCost(attacker, expected);
    const overview = await operatorPage(world, '/console');
    return {
      figures: {
        answers: JSON.stringify(statuses),
        'cost in the summary, nano-USD': cost,
        'overview of the operator': overview,
      },
      broken: brokenOf(
        [beyond?.status === 400, `10^12 tokens are answered ${beyond?.status}`],
        [statuses[200] === calls, 'a call of the largest size was refused'],
        [status === 200, `the usage summary is answered ${status}`],
        [cost === expected, `the summary says ${cost} nano-USD, not ${expected}`],
        [overview === 200, `the operator's overview is answered ${overview}`],
      ),
    };
  },
};

const SUMMARY_MS_MAX = 60_000;

/** The cost that the summary shows, once it is the expected one or no more comes. */
async function summaryCost({ api }: Attacker, expected: string): Promise<{ status: number; cost: string }> {
  const giveUpAtMs = Date.now() + SUMMARY_MS_MAX;
  for (;;) {
    const reply = await api.send('readUsageSummary');
    const cost = reply.status === 200 ? reply.data.totals.costUsdNano : '';
    if (cost === expected || Date.now() > giveUpAtMs) return { status: reply.status, cost };
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** The status of a page of the console for a signed-in operator. */
async function operatorPage({ send, server }: World, path: string): Promise<number> {
  const form = { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'text/html', Origin: server.url };
  const signedIn = await send({
    path: '/console/sign-in',
    headers: form,
    body: `token=${encodeURIComponent(OPERATOR_TOKEN)}`,
  });
  const cookie = [signedIn?.headers['set-cookie'] ?? []].flat()[0]?.split(';')[0] ?? '';
  return (await send({ method: 'GET', path, headers: { Cookie: cookie, Accept: 'text/html' } }))?.status ?? 0;
}

const implausibleUsage: Attack = {
  name: 'implausible-usage',
  by: 'tenant',
  promise: "usage that no call can have counts at the call's bound, and the answer of the model is still given",
  async run(world) {
    const attacker = await world.attacker();
    const messages = [{ role: 'user', content: 'hello [reasoning:5000000000]' }];
    const answer = await world.send({
      path: '/v1/chat/completions',
      token: attacker.key,
      body: { model: 'openai/gpt-4o-mini', messages },
    });
    const callId = String(answer?.headers['x-service-call-id'] ?? '');
    const call =
      callId === '' ? null : await world.send({ method: 'GET', path: `/calls/${callId}`, token: attacker.key });
    const { pricingStatus, usageSource, unclear = [] } = call?.json?.data ?? {};
    const seen = `${pricingStatus} ${usageSource} ${unclear.join(', ')}`;
    return {
      figures: { 'the call': seen },
      broken: brokenOf(
        [answer?.status === 200, `the answer of the model is replaced by ${answer?.status}`],
        [usageSource === 'partial' && unclear.length > 0, `the call is ${seen}`],
      ),
    };
  },
};

const endlessSamples: Attack = {
  name: 'endless-samples',
  by: 'tenant',
  promise: 'samples of one organization end at its quota, whatever others store',
  async run(world) {
    const attacker = await world.attacker();
    const other = await world.attacker();
    const params = { org: attacker.organizationId };
    const limited = await attacker.operator.send('updateOrganization', { params, body: { sampleBytesMax: MIB } });
    const input = 'x'.repeat(200 * 1024);
    const sample = (token: string, index: number) => ({
      path: '/samples',
      token,
      body: { sampleId: `s-${index}`, provider: 'openai', input },
    });
    const statuses = await world.flood(8, 16, (index) => sample(attacker.key, index));
    const beside = await world.send(sample(other.key, 0));
    return {
      figures: { answers: JSON.stringify(statuses) },
      broken: brokenOf(
        [limited.status === 200, `sampleBytesMax cannot be set: ${limited.status}`],
        [(statuses[200] ?? 0) <= 5, `${statuses[200]} samples of 200 KiB fit into 1 MiB`],
        [(statuses[429] ?? 0) >= 11, 'samples beyond the quota were not refused with 429'],
        [beside?.status === 200, `another organization's sample is answered ${beside?.status}`],
      ),
    };
  },
};

const toolsBeyondPlan: Attack = {
  name: 'tools-beyond-plan',
  by: 'tenant',
  promise: 'searches, images and audio that the plan does not have are refused before the vendor is asked',
  async run(world) {
    const features = { audio: false, image: false, search: false };
    const attacker = await world.attacker({ name: 'Text only', limitType: 'BLOCK', features });
    const model = 'openai/gpt-4o-mini';
    const messages = [{ role: 'user', content: 'hello' }];
    const audio = [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }] }];
    const requests = [
      { path: '/v1/chat/completions', body: { model, messages, web_search_options: {} } },
      {
        path: '/v1/chat/completions',
        body: { model, messages, modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } },
      },
      { path: '/v1/chat/completions', body: { model, messages: audio } },
      { path: '/v1/responses', body: { model, input: 'hello', tools: [{ type: 'web_search' }] } },
      { path: '/v1/responses', body: { model, input: 'hello', tools: [{ type: 'web_search_preview_2025_03_11' }] } },
      { path: '/v1/responses', body: { model, input: 'hello', tools: [{ type: 'image_generation' }] } },
    ];
    const broken: string[] = [];
    for (const { path, body } of requests) {
      const asked = world.vendor.requests.length;
      const answer = await world.send({ path, token: attacker.key, body });
      const reached = world.vendor.requests.length > asked;
      if (answer?.json?.error?.code === 'ENTITLEMENT_DENIED' && !reached) continue;
      const said = `${path} ${JSON.stringify(body).slice(0, 160)}`;
      broken.push(`${said} was answered ${answer?.status}${reached ? ', and reached the vendor' : ''}`);
    }
    const plain = await world.send({ path: '/v1/chat/completions', token: attacker.key, body: { model, messages } });
    return {
      figures: { 'requests refused': `${requests.length - broken.length} of ${requests.length}` },
      broken: [...broken, ...brokenOf([plain?.status === 200, `a plain call is answered ${plain?.status}`])],
    };
  },
};

const racedKeys: Attack = {
  name: 'raced-keys',
  by: 'tenant',
  promise: 'of begins that race for one key with other payloads, one stands and can be ended, and its key stays taken',
  async run(world, size) {
    const attacker = await world.attacker();
    const rounds = size(300, 40);
    const broken: string[] = [];
    let lost = 0;
    for (let round = 0; round < rounds; round += 1) {
      const headers = { 'Idempotency-Key': `race-${round}` };
      const begin = (feature: string, customerId = 'racer') =>
        world.send({ path: '/call_begin', token: attacker.key, headers, body: { customerId, feature } });
      const answers = await Promise.all([begin('a'), begin('b'), begin('c')]);
      const accepted = answers.filter((answer) => answer?.status === 200).length;
      const body = { callId: `race-${round}`, responseTokens: 1 };
      const ended = await world.send({ path: '/call_end', token: attacker.key, body });
      const taken = await begin('a', 'thief');
      if (accepted !== 1) broken.push(`round ${round}: ${accepted} begins stand under one key`);
      if (ended?.status !== 200) lost += 1;
      if (taken?.status !== 409) broken.push(`round ${round}: another customer took the key, ${taken?.status}`);
    }
    return {
      figures: { rounds, 'ends that found no call': lost },
      broken: [...broken.slice(0, 5), ...brokenOf([lost === 0, `${lost} calls that were begun cannot be ended`])],
    };
  },
};

/** An answer of a model with very many small values beside its usage. */
const bombAnswer = (bytes: number) =>
  `{"model":"gpt-4o-mini","usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2},"choices":[${'{},'.repeat(bytes / 3)}{}]}`;

/** A vendor of the attacker's own: `/plain` answers one document, `/stream` one event. */
async function startBombVendor(): Promise<{ url: string; close(): void }> {
  const [plain, event] = [
    Buffer.from(bombAnswer(9.9 * MIB)),
    Buffer.from(`data: ${bombAnswer(7.9 * MIB)}\n\ndata: [DONE]\n\n`),
  ];
  const server = createServer((request, response) => {
    request.resume();
    const stream = request.url?.includes('stream') ?? false;
    response
      .writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
      .end(stream ? event : plain);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

const hostileVendor: Attack = {
  name: 'hostile-vendor',
  by: 'tenant',
  promise:
    "answers that a tenant's own vendor fills with very many values are not parsed, and cost nobody else anything",
  async run(world, size) {
    const attacker = await world.attacker();
    const vendor = await startBombVendor();
    try {
      const params = { org: attacker.organizationId, provider: 'acme' };
      await attacker.operator.send('setVendor', {
        params,
        body: { apiKey: `sk-acme-${'k'.repeat(20)}`, baseUrl: vendor.url },
      });
      const codes: Record<string, number> = {};
      const call = async (path: 'plain' | 'stream') => {
        const responseType = path === 'plain' ? 'json' : 'stream';
        const asked = { url: `${vendor.url}/${path}`, provider: 'acme', body: { model: 'gpt-4o-mini' }, responseType };
        const answer = await world.send({
          path: '/call',
          token: attacker.key,
          body: { customerId: 'bomber', vendor: asked },
        });
        const outcome = `${path} ${answer?.json?.result?.code}`;
        codes[outcome] = (codes[outcome] ?? 0) + 1;
      };
      const pairs = size(4, 2);
      const harm = await world.observed(async () => {
        for (let pair = 0; pair < pairs; pair += 1) await Promise.all([call('plain'), call('stream')]);
      });
      const { figures, goals } = harmFigures(harm);
      return {
        figures: { answers: JSON.stringify(codes), ...figures },
        goals,
        broken: brokenOf(
          [harm.failed === 0, `${harm.failed} begins of another tenant failed`],
          [
            codes['plain CALL_VENDOR_WARNING'] === pairs,
            `answers of too many values were taken: ${JSON.stringify(codes)}`,
          ],
        ),
      };
    } finally {
      vendor.close();
    }
  },
};

export const tenantAttacks: readonly Attack[] = [
  hugeCalls,
  implausibleUsage,
  hostileVendor,
  endlessSamples,
  toolsBeyondPlan,
  racedKeys,
];
