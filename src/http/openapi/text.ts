/**
 * Texts of the OpenAPI document that are not in schemas: introduction, groups, credentials.
 */
import { CORRELATION_HEADER, IDEMPOTENCY_HEADER, MEDIA_TYPE, REPLAY_HEADER } from '../../contract/envelope.ts';

export const INTRODUCTION = `Callmeter meters AI calls: an application asks what a customer may use (\`call_begin\`), runs the model, and reports what it used (\`call_end\`).

Authenticated routes take \`Authorization: Bearer <key>\` (or \`x-api-key\`) and ask for \`Accept: ${MEDIA_TYPE}\`, by its name or by \`*/*\`. Bodies are JSON; a member that is \`null\` is absent, unless its field takes null. A success is \`{ result, data, correlationId }\`, a refusal \`{ result, error, correlationId }\` and has changed nothing.

A request with an \`${IDEMPOTENCY_HEADER}\` may be sent again: the stored answer comes back with \`${REPLAY_HEADER}: true\`, and nothing counts twice. \`${CORRELATION_HEADER}\` ties an answer to the caller's own records.

Periods are half-open: the start belongs to them, the end does not. Instants are in UTC. If a cost is also given in nano-USD as a string, the string is exact.`;

interface Tag {
  name: string;
  description: string;
  /** Paths of the group; the first matching group counts. */
  pattern: RegExp;
}

export const TAGS: readonly Tag[] = [
  {
    name: 'Calls',
    description: 'Begin a call, end it, read what it cost',
    pattern: /^\/(call|call_begin|call_end|calls)(\/|$)/,
  },
  {
    name: 'Customers',
    description: 'Customers, their plans and what they have left',
    pattern: /^\/(customers|usage-plans)(?!.*(usage-context|forecast))/,
  },
  { name: 'Custom meters', description: 'Usage that is no model call', pattern: /^\/(custom_meter$|meter_events\/)/ },
  {
    name: 'Readings',
    description: 'Sums, anomalies, forecasts, models that end',
    pattern: /^\/(usage\/|customers\/|v1\/model-radar)/,
  },
  { name: 'Events', description: 'What happened: limits, balances, denials, changes', pattern: /^\/events$/ },
  { name: 'Webhooks', description: 'Endpoints that events are sent to', pattern: /^\/webhooks(\/|$)/ },
  {
    name: 'Sampling',
    description: 'Which calls to keep for review, and keeping them',
    pattern: /^\/(sampling|samples)/,
  },
  {
    name: 'Compression',
    description: 'What compressing prompts saved, and would save',
    pattern: /^\/(compress_prompt$|v1\/compression)/,
  },
  {
    name: 'Sessions',
    description: 'Tokens of five minutes for browsers and for the usage widget',
    pattern: /^\/v1\/(client|gateway|embed-)/,
  },
  {
    name: 'Model lookup',
    description: 'Public: is this model still a good choice?',
    pattern: /^\/v1\/model-alternatives/,
  },
  { name: 'Gateway', description: 'Routes of OpenAI, Anthropic and Google, metered', pattern: /^\/v1(beta)?\// },
  {
    name: 'Operator: organizations',
    description: 'Organizations, their keys, models, prices, vendors, events, webhooks',
    pattern: /^\/operator\/organizations(\/\{org\}(\/(keys|models|model-radar|prices|vendors|events|webhooks).*)?)?$/,
  },
  {
    name: 'Operator: plans',
    description: 'Plans, their versions, migrations',
    pattern: /^\/operator\/organizations\/\{org\}\/(plans|migrations)/,
  },
  {
    name: 'Operator: customers',
    description: 'A customer as the operator sees it, credits, corrections, cancellation, erasure',
    pattern: /^\/operator\/organizations\/\{org\}\/(customers|calls|meter_events|stripe_customers)/,
  },
  {
    name: 'Operator: samples',
    description: 'The sampling policy, and stored samples',
    pattern: /^\/operator\/organizations\/\{org\}\/sampl/,
  },
  {
    name: 'Operator: compression',
    description: 'The compression profile of an organization, what it saved, and would save',
    pattern: /^\/operator\/organizations\/\{org\}\/compression/,
  },
  { name: 'Operator: service', description: 'Catalog, events, health', pattern: /^\/operator\// },
];

export function findTag(path: string): string {
  const tag = TAGS.find(({ pattern }) => pattern.test(path));
  if (!tag) throw new Error(`no tag is for ${path}`);
  return tag.name;
}

export const SECURITY_SCHEMES = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key of an organization, with the scopes named at the operation. It wins over `x-api-key`.',
  },
  apiKeyHeader: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The same key in its legacy header.' },
  sessionToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: "A browser's token of five minutes, from `POST /v1/client/sessions`.",
  },
  operatorToken: {
    type: 'http',
    scheme: 'bearer',
    description: "The operator's token: `OPERATOR_TOKEN`, a secret of the Worker. It has the role `admin`.",
  },
  accessToken: {
    type: 'apiKey',
    in: 'header',
    name: 'Cf-Access-Jwt-Assertion',
    description:
      'Set by Cloudflare Access for a named operator, with the role that an admin gave. `Authorization` overrides it. Such a request also needs `Sec-Fetch-Site: same-origin` (or an `Origin` of the service, if that is absent) and `x-service-operator: 1`.',
  },
} as const;

/** Descriptions of fields whose schema has none. */
export const WORDS: Record<string, string> = {
  AGENTIC_API: 'Units of HTTP API requests and tool calls',
  CUSTOM1: 'Units of the first custom slot',
  CUSTOM2: 'Units of the second custom slot',
  agenticApi: 'Units of HTTP API requests and tool calls',
  allowAutoApply: 'An evaluation was asked for; nothing is ever applied',
  allowPreview: 'Preview models may be candidates',
  allowedModelKeys: 'Model keys to choose from; empty means all',
  allowedProviders: 'Providers to choose from; empty means all',
  autoApplyRecommended: 'Whether the recommendation is safe to apply without a look',
  automation: 'Whether it may be applied without a person',
  backlog: 'Changes that wait for D1',
  balances: 'Legacy; use `meters`',
  cachedInputPercent: 'Share of the prompt served from cache',
  canResolveWithoutServiceAccount: 'No account is needed to ask',
  catalog: 'The model catalog in use',
  checks: 'Each binding',
  code: 'Code of the error',
  compatibility: 'How it compares with everything that is required',
  customMeter1: 'Units of the first custom slot',
  customMeter2: 'Units of the second custom slot',
  customer: 'The customer',
  data: 'What the operation answers',
  effort: 'Reasoning effort',
  endpoint: 'Provider endpoint or operation that a candidate must have',
  entitlementHints: 'What to do with what is allowed',
  error: 'What was refused, and why',
  excludedCandidates: 'Models that were considered and left out',
  id: 'The id, as the vendor gave it',
  idempotency: 'The key of the call',
  include_usage: 'Whether usage and cost come at the end of the stream',
  inputTokens: 'Prompt tokens of a typical request',
  inputUsdPerMillion: 'USD per million input tokens',
  keyGuidance: 'Whether another spelling of the key is the better one',
  lifecycle: 'Status and dates of the model',
  match: 'How the key was understood',
  maxPriceIncreasePercent: 'Bound on the price increase',
  message: 'Why, for people',
  meter: 'The meter after the event',
  minimumContext: 'Least context in tokens',
  minimumOutput: 'Least output limit in tokens',
  model: 'The model',
  note: 'For people',
  object: "OpenAI's name of the kind of object",
  outbox: 'Changes of this customer that wait for D1',
  outputTokens: 'Completion tokens of a typical request',
  outputUsdPerMillion: 'USD per million output tokens',
  per: 'Units that the price is for',
  plan: 'The plan',
  pricing: 'Current price',
  provider: 'Provider namespace',
  purpose: 'What the ranking is for',
  reasons: 'Why it was left out',
  requested: 'What the request named',
  requiredParameters: 'Capabilities that a candidate must have',
  response: 'Form of the answer',
  result: 'Result of the request',
  subscription: "The customer's subscription",
  tiers: 'Prices of overage units, from the first unit on',
  usage: 'Tokens of the call',
  versions: 'Every version, newest first',
  warnings: 'What to know before acting on it',
  windows: 'The current hour and day',
};
