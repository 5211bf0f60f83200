/**
 * `npm run demo`: shows the service at work with real prices, step by step.
 *
 * Creates its own organization through the operator API, then makes one customer's calls to three providers: a premium
 * allowance is used up, a call is downgraded, a report is repeated, a call fails. Every run uses a new customer and a
 * new key, so it can be repeated. An unexpected result ends it with exit code 1.
 */
import { parseArgs } from 'node:util';
import { formatUsd } from '../domain/money.ts';
import { callOperation, type Data, Refused } from './operator-client.ts';
import { operatorTarget, TARGET_HELP, type Target } from './operator-target.ts';
import { indent, pairs, show, table } from './table.ts';
import { isUsageError } from './usage-error.ts';

const HELP = `npm run demo [-- --url http://127.0.0.1:8787]

Plays calls of one customer against a running server, and accounts for them.

${TARGET_HELP}
  --help     this text`;

const ORGANIZATION_ID = '00000000-0000-4000-8000-00000000de01';
const ORGANIZATION = { name: 'Callmeter demo run', organizationId: ORGANIZATION_ID };

const PLAN = {
  name: 'Pro',
  limitType: 'DOWNGRADE',
  limits: {
    standardCalls: 100,
    premiumCalls: 3,
    standardTokens: 200_000,
    premiumTokens: 20_000,
    searches: 10,
    audioSeconds: 600,
  },
};

const MODELS = {
  standard: ['openai/gpt-6-luna', 'anthropic/claude-haiku-5-5'],
  premium: ['anthropic/claude-opus-5-5', 'openai/gpt-6-sol', 'google/gemini-4-argon'],
};

interface Step {
  title: string;
  /** The model that the application prefers; after a downgrade it runs the first standard model. */
  model: string;
  requested: { premium?: boolean; standard?: boolean; search?: boolean };
  usage: Record<string, number>;
  /** The premium allowance is used up before this call. */
  dry?: boolean;
  error?: { code: string; message: string };
}

const STEPS: Step[] = [
  {
    title: 'Answer a support ticket',
    model: 'openai/gpt-6-sol',
    requested: { premium: true },
    usage: { inputTokens: 18_240, cachedInputTokens: 12_000, responseTokens: 1_310, reasoningTokens: 640 },
  },
  {
    title: 'Review a contract, with the prompt cache read and written',
    model: 'anthropic/claude-opus-5-5',
    requested: { premium: true },
    usage: { inputTokens: 42_600, cachedInputTokens: 12_000, cacheWriteInputTokens: 24_000, responseTokens: 2_150 },
  },
  {
    title: 'Research a supplier, with two searches',
    model: 'google/gemini-4-argon',
    requested: { premium: true, search: true },
    usage: { inputTokens: 9_873, responseTokens: 1_241, searches: 2 },
  },
  {
    title: 'Review another contract: the premium calls are used up',
    model: 'anthropic/claude-opus-5-5',
    requested: { premium: true },
    usage: { inputTokens: 31_007, cachedInputTokens: 24_000, responseTokens: 1_873 },
    dry: true,
  },
  {
    title: 'Summarize a thread: the provider breaks off',
    model: 'anthropic/claude-haiku-5-5',
    requested: { standard: true },
    usage: { inputTokens: 2_114, responseTokens: 37 },
    error: {
      code: 'overloaded_error',
      message:
        'Overloaded while streaming; Authorization: Bearer sk-not-a-real-key-0123456789 for maya@example.com: {"prompt":"Summarize: Dear Maya, your salary ..."}',
    },
  },
];

interface Played {
  callId: string;
  model: string;
  tier: string;
  status: string;
  usage: Data<'endCall'>['usage'];
  costNano: bigint;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { url: { type: 'string' }, token: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) return console.log(HELP);
  const operator = await operatorTarget(values);
  const params = { org: ORGANIZATION_ID };
  await prepareOrganization(operator);
  const { keyId, key } = (await callOperation(operator, 'createKey', { params, body: { name: 'Demo run' } })).data;
  const metering: Target = { ...operator, credential: key };
  const revoke = () => callOperation(operator, 'revokeKey', { params: { ...params, keyId } });
  try {
    await play(metering);
  } catch (error) {
    await revoke().catch(() => undefined);
    throw error;
  }
  await revoke();
  const after = await callOperation(metering, 'readUsage', { params: { customerId: 'anyone' } }).catch(
    (error: unknown) => error,
  );
  must(after instanceof Refused && after.reply.status === 401, 'a revoked key is refused');
  console.log('\nThe key of this run is revoked: the next request with it got a 401.');
}

/** Changes only the parts that differ: a replaced plan or model list takes effect after a delay. */
async function prepareOrganization(operator: Target): Promise<void> {
  const params = { org: ORGANIZATION_ID };
  const known = await callOperation(operator, 'readOrganization', { params }).catch((error: unknown) => {
    if (error instanceof Refused && error.reply.status === 404) return null;
    throw error;
  });
  if (!known) await callOperation(operator, 'createOrganization', { body: ORGANIZATION });
  await callOperation(operator, 'putPlan', { params: { ...params, planId: 'pro' }, body: PLAN });
  const { defaultPlanId, models } = known?.data ?? {};
  await Promise.all([
    defaultPlanId !== 'pro' &&
      callOperation(operator, 'updateOrganization', { params, body: { defaultPlanId: 'pro' } }),
    JSON.stringify(models) !== JSON.stringify(MODELS) && callOperation(operator, 'setModels', { params, body: MODELS }),
  ]);
}

async function play(metering: Target): Promise<void> {
  const customerId = `maya-${Date.now().toString(36)}`;
  const body = { customerId, customerFriendlyName: 'Maya' };
  const before = (await callOperation(metering, 'provisionCustomer', { body })).data;
  const { premiumCalls, premiumTokens, searches } = PLAN.limits;
  console.log(
    pairs({
      'Callmeter demo': metering.url,
      Organization: `${ORGANIZATION.name} (${ORGANIZATION_ID})`,
      Plan: `${PLAN.name}: ${show(premiumCalls)} premium calls, ${show(premiumTokens)} premium output tokens, ${searches} searches a month, then ${PLAN.limitType}`,
      Customer: customerId,
    }),
  );

  const played: Played[] = [];
  for (const [index, step] of STEPS.entries()) played.push(await playStep(metering, customerId, index + 1, step));
  must(new Set(played.map(({ model }) => model.split('/')[0])).size === 3, 'three providers were called');

  const after = (await callOperation(metering, 'readUsage', { params: { customerId } })).data;
  summarize(played, before.meters, after.meters);
  await readBack(metering, played[1] as Played);
}

async function playStep(metering: Target, customerId: string, number: number, step: Step): Promise<Played> {
  const { title, requested, usage, error } = step;
  const callId = `${customerId}-${number}`;
  const begin = { customerId, feature: 'demo', requested };
  const begun = (await callOperation(metering, 'beginCall', { body: begin, idempotencyKey: callId })).data;
  const { suggestedModelTier: tier, downgrade } = begun.entitlementHints;
  const fallback = downgrade && begun.models?.[downgrade.fallbackTier === 'standard' ? 'standard' : 'premium'][0];
  const model = fallback ?? step.model;
  const [provider = '', name = ''] = model.split('/');

  const end = { callId, providerUsed: provider, modelUsed: name, ...usage, ...(error && { error }) };
  const ended = (await callOperation(metering, 'endCall', { body: end })).data;
  must(ended.costUsdNano !== undefined && ended.costBreakdown !== undefined, `${model} has a price`);
  const { costUsdNano, costBreakdown } = ended as {
    costUsdNano: string;
    costBreakdown: NonNullable<typeof ended.costBreakdown>;
  };
  const { meters } = (await callOperation(metering, 'readUsage', { params: { customerId } })).data;

  const asked = Object.keys(requested).join(' and ');
  const rates = costBreakdown.lines.map(
    (line) => `${show(line.quantity)} ${COMPONENTS[line.component] ?? line.component} at $${line.usdPerMillion}`,
  );
  const lines: Record<string, unknown> = {
    begin: `asks for ${asked}, is allowed ${allowedList(begun.allowed)}`,
    downgrade:
      downgrade &&
      `${downgrade.reason}, fallback tier ${downgrade.fallbackTier}: ${model} runs instead of ${step.model}`,
    model,
    status: ended.status,
    said: error && `${error.code}: ${error.message}`,
    kept: ended.error && `${ended.error.code}: ${ended.error.message}`,
    cost: `$${formatUsd(BigInt(costUsdNano))} = ${rates.join(' + ')} per million`,
    note: costBreakdown.assumptions.length > 0 ? costBreakdown.assumptions : undefined,
    left: ['premiumCalls', 'premiumTokens', 'standardCalls', 'standardTokens']
      .map((meter) => `${meter} ${show(meters[meter]?.remaining)}`)
      .join(', '),
  };
  if (downgrade) lines.repeated = await repeat(metering, customerId, end, ended, meters);
  console.log(`\n${number}. ${title}\n${indent(pairs(lines), '   ')}`);
  checkStep(step, { begun, ended });
  return { callId, model, tier, status: ended.status, usage: ended.usage, costNano: BigInt(costUsdNano) };
}

/** Components in words; others have their own name. */
const COMPONENTS: Partial<Record<string, string>> = {
  input: 'input',
  cachedInput: 'cached',
  cacheWrite: 'cache write',
  output: 'output',
  webSearch: 'searches',
  audioSeconds: 'audio seconds',
};

function allowedList({ reasoningLevel, ...allowed }: Data<'beginCall'>['allowed']): string {
  const names = Object.entries(allowed).flatMap(([name, yes]) => (yes ? [name] : []));
  return `${names.join(' and ') || 'nothing'} (reasoning up to ${reasoningLevel})`;
}

/** Sends the same report again, as a client does if the response was lost. */
async function repeat(
  metering: Target,
  customerId: string,
  end: object,
  first: Data<'endCall'>,
  meters: unknown,
): Promise<string> {
  const again = await callOperation(metering, 'endCall', { body: end });
  const usage = (await callOperation(metering, 'readUsage', { params: { customerId } })).data;
  must(again.replayed, 'a repeated report is replayed');
  must(
    JSON.stringify([again.data, usage.meters]) === JSON.stringify([first, meters]),
    'a repeated report changes nothing',
  );
  return 'the same report sent again gets the stored answer; meters are unchanged';
}

function checkStep(
  { dry = false, error }: Step,
  { begun, ended }: { begun: Data<'beginCall'>; ended: Data<'endCall'> },
): void {
  must(
    (begun.entitlementHints.downgrade !== undefined) === dry,
    'a call is downgraded when, and only when, the premium calls are used up',
  );
  must(ended.status === (error ? 'FAILED' : 'COMPLETED'), 'a call fails when, and only when, an error is reported');
  must(!/sk-|maya@|salary/.test(ended.error?.message ?? ''), 'the stored error message contains no secrets');
}

function summarize(played: Played[], before: Data<'readUsage'>['meters'], after: Data<'readUsage'>['meters']): void {
  const total = played.reduce((sum, { costNano }) => sum + costNano, 0n);
  const rows = [
    ...played.map((call, index) => ({ ...call, label: `${index + 1}` })),
    { label: 'Total', model: '', tier: '', status: '', usage: null, costNano: total },
  ];
  const calls = table(rows, {
    Call: ({ label }) => label,
    Model: ({ model }) => model,
    Tier: ({ tier }) => tier,
    Status: ({ status }) => status,
    'Tokens in': ({ usage }) => usage?.inputTokens,
    'Tokens out': ({ usage }) => usage?.responseTokens,
    'Cost in USD': ({ costNano }) => fixed(costNano),
  });
  const meters = table(
    Object.entries(after).filter(([, { limit }]) => limit),
    {
      Meter: ([name]) => name,
      Limit: ([, { limit }]) => limit,
      'Left before': ([name]) => before[name]?.remaining,
      'Left after': ([, { remaining }]) => remaining,
      Used: ([, { used }]) => used,
    },
  );
  console.log(`\nCalls\n${indent(calls)}\n\nMeters\n${indent(meters)}`);
}

/** Reads a call with `GET /calls`: its cost lines, which sum to its cost. */
async function readBack(metering: Target, { callId, costNano }: Played): Promise<void> {
  const call = (await callOperation(metering, 'readCall', { params: { callId } })).data;
  const lines = call.costBreakdown?.lines ?? [];
  const sum = lines.reduce((nano, line) => nano + BigInt(line.costUsdNano), 0n);
  must(sum === costNano && call.costUsdNano === String(costNano), 'the cost lines of a call sum to its cost');
  const facts = pairs({
    Pricing: call.pricingStatus,
    Tier: `${call.pricingTier}, ${call.pricingTierReason}`,
    Snapshot: call.modelPricingSnapshotId,
  });
  const rows = [...lines, { component: 'Sum', quantity: null, usdPerMillion: null, costUsdNano: String(sum) }];
  const costs = table(rows, {
    Component: ({ component }) => component,
    Quantity: ({ quantity }) => quantity,
    'USD per million': ({ usdPerMillion }) => usdPerMillion,
    'Cost in USD': ({ costUsdNano }) => fixed(BigInt(costUsdNano)),
  });
  console.log(`\nGET /calls/${callId}\n${indent(`${facts}\n\n${costs}`)}`);
}

/** All nine decimals, so that columns are easy to add. */
function fixed(nano: bigint): string {
  const [whole = '0', fraction = ''] = formatUsd(nano).split('.');
  return `${whole}.${fraction.padEnd(9, '0')}`;
}

function must(holds: boolean, promise: string): asserts holds {
  if (!holds) throw new Error(`expectation failed: ${promise}`);
}

main().catch((error: Error) => {
  console.error(`The demo stopped: ${error.message}`);
  process.exitCode = isUsageError(error) ? 2 : 1;
});
