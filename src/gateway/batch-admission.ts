/**
 * May this batch begin? Its lines run at the vendor without us, so they are judged before: every tier that they bill
 * must be allowed, and the calls that are left of a tier must cover its lines, unless credit pays for more.
 *
 * Nothing is held while the batch runs: what its lines used is recorded when they are answered, whatever is left then.
 */
import type { Catalog } from '../catalog/model.ts';
import { resolvePrice } from '../catalog/prices.ts';
import type { CustomerUsageData } from '../contract/customers.ts';
import type { Tier } from '../domain/entitlements.ts';
import { isPremiumPrice } from '../domain/pricing.ts';
import type { Caller } from '../metering/caller.ts';
import { provisionCustomer } from '../metering/customers.ts';
import { linesOf } from '../platform/bytes.ts';
import { findPlanVersion } from '../storage/plans.ts';
import { deniedAnswer, failureAnswer, type GatewayAnswer, refusalAnswer } from './answer.ts';
import type { BeginFields } from './input.ts';

/** Of a line in a batch's files: an answer with a picture fits. */
export const BATCH_LINE_BYTES_MAX = 8 * 1024 * 1024;
/** The vendor takes up to 50,000 lines; more are refused here without reading on. */
const LINES_MAX = 50_000;

/** What a batch is going to run. */
export interface BatchInput {
  lines: ReadonlyMap<Tier, number>;
  /** Where all lines name the same. */
  model: string | undefined;
}

/** How many lines of a file bill each tier; or why that cannot be said. */
export async function readInputFile(
  { env, organization }: Caller,
  catalog: Catalog,
  file: ReadableStream<Uint8Array>,
  nowMs: number,
): Promise<BatchInput | GatewayAnswer> {
  const counts = new Map<Tier, number>();
  const tiers = new Map<string, Tier>();
  let number = 0;
  for await (const { text, cut } of linesOf(file, BATCH_LINE_BYTES_MAX, Number(env.GATEWAY_TIMEOUT_MS))) {
    number += 1;
    if (cut) return refused(`line ${number} of the input file has more than ${BATCH_LINE_BYTES_MAX} bytes`);
    if (number > LINES_MAX) return refused(`the input file has more than ${LINES_MAX} lines`);
    const model = modelOf(text);
    if (model === null) return refused(`line ${number} of the input file names no model`);
    let tier = tiers.get(model);
    if (tier === undefined) {
      tier = await tierOfModel(organization, catalog, model, nowMs);
      tiers.set(model, tier);
    }
    counts.set(tier, (counts.get(tier) ?? 0) + 1);
  }
  if (number === 0) return refused('the input file has no lines');
  return { lines: counts, model: tiers.size === 1 ? [...tiers.keys()][0] : undefined };
}

export async function tierOfModel({ prices }: Caller['organization'], catalog: Catalog, model: string, nowMs: number): Promise<Tier> {
  const price = await resolvePrice(catalog, prices, { modelUsed: model, providerUsed: 'openai' }, nowMs);
  return price.available && isPremiumPrice(price.card) ? 'premium' : 'standard';
}

/** The refusal of a batch whose lines the customer's plan does not allow; `null` where it may begin. */
export async function refuseBatch(caller: Caller, begin: BeginFields, input: BatchInput): Promise<GatewayAnswer | null> {
  const { customerId, customerName, customerFriendlyName, customerEmail, stripeCustomerId } = begin;
  const contact = { customerName, customerFriendlyName, customerEmail, stripeCustomerId };
  const ready = await provisionCustomer(caller, { customerId, ...contact }, null);
  if (!ready.ok) return refusalAnswer(ready.refusal);
  if (ready.data.canceled) return deniedAnswer("the customer's subscription is canceled");
  for (const [tier, lines] of input.lines) {
    if (!ready.data.allowed[tier]) return deniedAnswer(`the customer's plan allows no further call of a ${tier} model`);
    const left = callsLeft(ready.data, tier);
    if (lines > left && !(await isOnCredit(caller, ready.data))) {
      return deniedAnswer(`the batch has ${lines} lines for ${tier} models, and the customer's plan allows ${left} further calls`);
    }
  }
  return null;
}

function callsLeft({ policy, meters }: CustomerUsageData, tier: Tier): number {
  const meter = meters[`${tier}Calls`];
  return policy === 'NONE' || !meter || meter.unlimited ? Number.POSITIVE_INFINITY : meter.remaining;
}

/** Whether credit pays for what goes beyond the allowance. */
async function isOnCredit({ env, organization }: Caller, { subscription }: CustomerUsageData): Promise<boolean> {
  const version = await findPlanVersion(env, organization.organizationId, subscription.usagePlanVersionId);
  return version?.plan.payg.enabled === true;
}

function modelOf(line: string): string | null {
  try {
    const { body } = JSON.parse(line) as { body?: { model?: unknown } };
    return typeof body?.model === 'string' && body.model !== '' ? body.model : null;
  } catch {
    return null;
  }
}

function refused(message: string): GatewayAnswer {
  return failureAnswer({ status: 400, code: 'BAD_REQUEST', message, param: 'input_file_id' });
}
