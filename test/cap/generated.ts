/**
 * Generated requests to vendors that bill the worst, from customers with small balances, while the server is killed:
 * the amounts that left the balances, beside the vendors' bills.
 *
 * It has an organization of its own on the server of the run. Each batch of requests has a customer of its own, who
 * sends them at the same time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type CostBound, costAtMost } from '../../src/domain/bound.ts';
import { outputTokensOnCredit } from '../../src/domain/hold.ts';
import type { Plan } from '../../src/domain/plan.ts';
import { randomFrom } from '../crash/random.ts';
import { buildForm } from '../support/forms.ts';
import {
  boundCall,
  choosePricing,
  GENERATED_VENDORS,
  type GeneratedCall,
  type GeneratedVendor,
  generateCall,
  listModels,
  OWN_COMPONENTS,
  REQUEST_FORMS,
} from '../support/generated-calls.ts';
import { MadeFile } from '../support/request-generator.ts';
import { drained, type History, readHistory, settled } from './accounts.ts';
import type { CapOptions } from './run.ts';
import { shortLived } from './scenarios.ts';
import { expectOk, type Organization, openOrganization, VENDOR_KEY, type World } from './world.ts';
import { startWorstServer, type WorstBill } from './worst-server.ts';

export interface GeneratedReport {
  requests: number;
  ran: number;
  /** How often requests were refused, by code and component. */
  refused: Record<string, number>;
  lost: number;
  kills: number;
  /** By form and kind of vendor, for requests that ran: the highest hold, and the bill. */
  sums: Record<string, { ran: number; held: bigint; billed: bigint }>;
  grantedNanoUsd: bigint;
  spentNanoUsd: bigint;
  /** The amount that vendors billed for lost or unreported requests and no customer paid. */
  billedToNobodyNanoUsd: bigint;
  /** The amount below zero of a balance, and the amount billed beyond the bound of a request. */
  overspentNanoUsd: bigint;
  wrong: string[];
}

/** The requests of one customer, and the number at the same time. */
const BATCH = 25;
const AT_ONCE = 8;
const BATCHES_AT_ONCE = 2;
/** The most models of each vendor and form. */
const MODELS_MAX = 6;
const BALANCES_USD = [1, 20, 300, 4_000];
const REQUESTS_BETWEEN_KILLS = 1_000;
/** A short run sends as many as this time allows. */
const SHORT_MS_MAX = 45_000;
const PROGRESS_REQUESTS = 500;
const RETRY_MS = 200;
const REQUEST_MS_MAX = 30_000;
const SETTLE_MS_MAX = 60_000;
interface Sent {
  marker: string;
  call: GeneratedCall;
  status: number | null;
  code: string | null;
}

export async function runGenerated(
  world: World,
  {
    seed,
    requests,
    short,
    signal,
    onProgress,
  }: Pick<CapOptions, 'seed' | 'short' | 'signal' | 'onProgress'> & { requests: number },
): Promise<GeneratedReport> {
  await using scope = new AsyncDisposableStack();
  const vendor = await startWorstServer();
  scope.defer(() => vendor.close());
  const beganAtMs = Date.now();
  const msMax = short ? SHORT_MS_MAX : Number.POSITIVE_INFINITY;
  // Calls of an isolate that is killed end within the run.
  await world.server.stop();
  await world.server.start(shortLived(short));
  const own = await openOrganization(world.server, 'Generated');
  await setUp(own, vendor.baseUrl);
  const random = randomFrom(seed);
  const sent: Sent[] = [];
  const granted = new Map<string, bigint>();
  /** The server is not killed under them: a grant that is sent again would be a second one. */
  const openings = new Set<Promise<unknown>>();
  let kills = 0;
  let restarting = Promise.resolve();
  const kill = async () => {
    await Promise.all(openings);
    await world.server.kill();
    await world.server.start(shortLived(short));
    kills += 1;
  };
  const batch = async () => {
    const customerId = `g-${granted.size + 1}`;
    const usd = random.pick(BALANCES_USD);
    granted.set(customerId, 0n);
    await restarting;
    const opening = own.customer(customerId, 'credit', usd);
    openings.add(opening);
    granted.set(customerId, (await opening).grantedNanoUsd);
    openings.delete(opening);
    const calls = Array.from({ length: BATCH }, () => generateCall(random, MODELS_MAX));
    const next = calls.entries();
    await together(AT_ONCE, async () => {
      for (const [place, call] of next) {
        if (signal.aborted) return;
        await restarting;
        const marker = `${customerId}-${place}`;
        const one: Sent = { marker, call, status: null, code: null };
        const count = sent.push(one);
        Object.assign(one, await send(world.server.url, own.apiKey, customerId, marker, call));
        if (count % PROGRESS_REQUESTS === 0) onProgress(`generated: ${count} of ${requests} requests`);
        if (count % REQUESTS_BETWEEN_KILLS === 0) restarting = kill();
      }
    });
  };
  const isOver = () => sent.length >= requests || signal.aborted || Date.now() - beganAtMs > msMax;
  await together(BATCHES_AT_ONCE, async () => {
    while (!isOver()) await batch();
  });
  await restarting;
  const customers = [...granted.keys()].map((customerId) => ({ customerId }));
  onProgress('generated: waiting for open calls ...');
  const open = await settled(own, customers, SETTLE_MS_MAX);
  const waiting = await drained(own, customers, SETTLE_MS_MAX);
  if (waiting.length > 0) throw new Error(`changes of ${waiting.join(', ')} did not reach D1`);
  const history = await readHistory(own, beganAtMs);
  return judgeGenerated({ sent, granted, open, kills, bills: vendor.log, history });
}

/** Vendors of each kind, and the own prices of the models that are asked. */
async function setUp({ operator, organizationId }: Organization, baseUrl: (provider: GeneratedVendor) => string) {
  const params = { org: organizationId };
  const providers = Object.entries(GENERATED_VENDORS) as [GeneratedVendor, string][];
  for (const [provider, kind] of providers) {
    const body = { apiKey: VENDOR_KEY, baseUrl: baseUrl(provider), kind };
    expectOk(await operator.send('setVendor', { params: { ...params, provider }, body }));
  }
  const models = providers.flatMap(([provider]) =>
    REQUEST_FORMS.flatMap((form) => listModels(provider, form, MODELS_MAX).map((model) => `${provider}/${model}`)),
  );
  const remaining = [...new Set(models)].values();
  await together(AT_ONCE, async () => {
    for (const modelKey of remaining) {
      const [provider, ...model] = modelKey.split('/') as [GeneratedVendor, ...string[]];
      const pricing = choosePricing(provider, model.join('/'));
      if (pricing === 'catalog') continue;
      const body = { components: OWN_COMPONENTS[pricing], ...(pricing === 'strict' && { strict: true }) };
      // A reseller's model is priced as its maker's.
      const key = provider === 'openrouter' ? model.join('/') : modelKey;
      expectOk(await operator.send('setPrice', { params: { ...params, modelKey: key }, body }));
    }
  });
}

/** Again until the server answers, because it may be starting; a request that was taken is not sent twice. */
async function send(
  url: string,
  apiKey: string,
  customer: string,
  marker: string,
  { dialect, operation, provider, model, body }: GeneratedCall,
): Promise<Pick<Sent, 'status' | 'code'>> {
  const key = `${provider}/${model}`;
  const isAddressed = dialect.addressed !== undefined;
  const path = isAddressed
    ? dialect.operation.path.replace('{model}', encodeURIComponent(key).replaceAll('%2F', '/'))
    : dialect.operation.path;
  const fields = { ...body, customer, tags: [marker], ...(!isAddressed && { model: key }) };
  const isForm = /edits|transcriptions|translations/.test(path);
  const stream = operation === 'streamGenerateContent' && marker.endsWith('1') ? '?alt=sse' : '';
  try {
    const response = await fetch(`${url}${path}${stream}`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${apiKey}`,
        'x-client-request-id': marker,
        ...(!isForm && { 'Content-Type': 'application/json' }),
      },
      body: isForm ? requestForm(fields) : JSON.stringify(fields),
      signal: AbortSignal.timeout(REQUEST_MS_MAX),
    });
    const text = await response.text();
    return { status: response.status, code: response.ok ? null : readCode(text) };
  } catch {
    await sleep(RETRY_MS);
    return { status: null, code: null };
  }
}

/** The fields as a form, a list as one field for each of its items. */
function requestForm(fields: Record<string, unknown>): FormData {
  return buildForm(
    Object.entries(fields).flatMap(([name, value]) => [value].flat().map((item) => [name, formValue(item)] as const)),
  );
}

function formValue(item: unknown): string | File {
  if (item instanceof MadeFile) return new File([item.content], item.name, { type: item.type });
  return typeof item === 'object' ? JSON.stringify(item) : String(item);
}

/** The code of a refusal, with the component that it names. */
function readCode(text: string): string {
  try {
    const { error = {} } = JSON.parse(text);
    const reason = (error.details ?? []).find((detail: { reason?: string }) => detail.reason !== undefined)?.reason;
    const code = error.code && typeof error.code === 'string' ? error.code : (reason ?? error.type ?? error.status);
    return [code, error.component].filter(Boolean).join(' ');
  } catch {
    return 'no JSON';
  }
}

interface Played {
  sent: readonly Sent[];
  granted: ReadonlyMap<string, bigint>;
  /** Customers with calls that stayed open. */
  open: readonly string[];
  kills: number;
  bills: readonly WorstBill[];
  history: History;
}

async function judgeGenerated({ sent, granted, open, kills, bills, history }: Played): Promise<GeneratedReport> {
  const wrong = open.map((customerId) => `calls of ${customerId} stayed open`);
  const took = new Map(history.recorded.map((record) => [record.marker, record]));
  const billed = new Map<string, bigint>();
  for (const { marker, form, owed } of bills) {
    if (owed === null) wrong.push(`${marker} (${form}) ran, and its price has no rate for what the vendor billed`);
    billed.set(marker, (billed.get(marker) ?? 0n) + (owed ?? 0n));
  }
  const sums: GeneratedReport['sums'] = {};
  const refused: Record<string, number> = {};
  let [spent, overspent, toNobody] = [0n, 0n, 0n];
  for (const { marker, call, code } of sent) {
    const owed = billed.get(marker);
    if (code !== null) {
      // Fields have long names, and many of them.
      const what = code.replace(/field:(\w+)\/.*/s, 'a field of $1');
      refused[what] = (refused[what] ?? 0) + 1;
    }
    if (owed === undefined) continue;
    const record = took.get(marker);
    if (owed > 0n && (record?.took ?? 0n) === 0n)
      wrong.push(`${marker} (${call.form}) ran for ${owed}, and nothing was charged`);
    const isReported = record !== undefined && !record.provisional && !record.empty;
    if (isReported && record.took !== owed)
      wrong.push(`${marker} (${call.form}) took ${record.took}, and the vendor billed ${owed}`);
    const name = `${call.form} at ${call.kind}`;
    const sum = sums[name] ?? { ran: 0, held: 0n, billed: 0n };
    sums[name] = sum;
    sum.ran += 1;
    sum.billed += owed;
    toNobody += owed > (record?.took ?? 0n) ? owed - (record?.took ?? 0n) : 0n;
    const held = await heldAtMost(call);
    sum.held += held;
    if (owed <= held) continue;
    overspent += owed - held;
    wrong.push(`${marker} (${name}, ${call.model}) was billed ${owed}, beyond its bound of ${held}`);
  }
  for (const [customerId, has] of granted) {
    const entries = history.ledger.filter((entry) => entry.customerId === customerId);
    const lowest = entries.reduce((least, { balance }) => (balance < least ? balance : least), has);
    spent += has - (entries.at(-1)?.balance ?? 0n);
    if (lowest >= 0n) continue;
    overspent -= lowest;
    wrong.push(`${customerId} had ${has}: ${-lowest} was spent beyond it`);
  }
  return {
    ...{ requests: sent.length, ran: billed.size, refused, kills, sums, wrong },
    lost: sent.filter(({ status }) => status === null).length,
    grantedNanoUsd: [...granted.values()].reduce((a, b) => a + b, 0n),
    spentNanoUsd: spent,
    billedToNobodyNanoUsd: toNobody,
    overspentNanoUsd: overspent,
  };
}

/** Its customers' plan sets no bound of the output. */
const PLAN = { payg: { enabled: true } } as Plan;

/** The hold for a call of a customer with enough balance. */
async function heldAtMost(call: GeneratedCall): Promise<bigint> {
  const bounded = await boundCall(call);
  if (!bounded.ok || !bounded.bound.cost) return 0n;
  const { bound } = bounded;
  return costAtMost(bound.cost as CostBound, outputTokensOnCredit(bound, PLAN) * bound.answers);
}

async function together(callers: number, call: () => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: callers }, call));
}
