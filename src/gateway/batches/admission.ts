/**
 * May this batch begin? Its lines run at the vendor without us, so they are judged before: every tier that they bill
 * must be allowed, and the calls that are left of a tier, less what other batches hold of them, must cover its lines,
 * unless credit pays for more. What the lines ask for beside text must be allowed too, and each line that can search
 * must find a search left. Credit pays for no model without a price, unless the organization allows it. What the lines
 * used is recorded when they are answered, whatever is left then.
 */

import type { Catalog } from '../../catalog/model.ts';
import { resolvePrice } from '../../catalog/prices.ts';
import type { CustomerUsageData } from '../../contract/customers.ts';
import { unpricedOnCredit } from '../../contract/errors.ts';
import { capabilityDenied } from '../../domain/entitlements.ts';
import type { Capability } from '../../domain/plan.ts';
import { isPremiumPrice } from '../../domain/pricing.ts';
import type { Tier } from '../../domain/tiers.ts';
import type { Caller } from '../../metering/caller.ts';
import { provisionCustomer } from '../../metering/customers.ts';
import { ask, customerByName } from '../../objects/addresses.ts';
import type { BatchCommand, BatchInput, BatchToAdmit, Lines } from '../../objects/batch-commands.ts';
import type { UnpricedTiers } from '../../objects/customer-commands.ts';
import { linesOf } from '../../platform/bytes.ts';
import { JSON_BOUND_RULES, parseJsonText } from '../../platform/json.ts';
import { currentCatalog } from '../../storage/catalog.ts';
import { findPlanVersion } from '../../storage/plans.ts';
import { capabilitiesAsked } from '../../vendors/capabilities.ts';
import { deniedAnswer, failureAnswer, type GatewayAnswer, refusalAnswer } from '../answer.ts';
import { passBack, type VendorAccess } from '../pass-through.ts';

import { type Holds, heldByOthers } from './holds.ts';

/** Of a line in a batch's files: an answer with a picture fits. */
export const BATCH_LINE_BYTES_MAX = 8 * 1024 * 1024;
/** The vendor takes up to 50,000 lines; more are refused here without reading on. */
const LINES_MAX = 50_000;
const TIERS: readonly Tier[] = ['standard', 'premium'];

/** What the batch's input file is going to run; or why that cannot be said. */
export async function readInput(
  caller: Caller,
  vendor: VendorAccess,
  { inputFileId, requestId }: Pick<BatchCommand, 'inputFileId' | 'requestId'>,
): Promise<BatchInput | GatewayAnswer> {
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const file = await vendor.request({ method: 'GET', path: `files/${inputFileId}/content` }, 'stream');
  if (file.kind === 'stream') return readLines(caller, catalog, file.body, Date.now());
  const answer = passBack(file, vendor.key, requestId);
  // The input file is the request's own mistake where the vendor does not have it.
  if (answer.status === 404) return refused('there is no such input file');
  return file.kind === 'answer' && file.ok ? refused('the input file has no lines') : answer;
}

/** How many lines of a file bill each tier, and what they ask for. */
async function readLines(
  { env, organization }: Caller,
  catalog: Catalog,
  file: ReadableStream<Uint8Array>,
  nowMs: number,
): Promise<BatchInput | GatewayAnswer> {
  const lines: Lines = {};
  const needs = new Set<Capability>();
  const unpriced: UnpricedTiers = {};
  const models = new Map<string, PricedModel>();
  let number = 0;
  for await (const { text, cut } of linesOf(file, BATCH_LINE_BYTES_MAX, Number(env.GATEWAY_TIMEOUT_MS))) {
    number += 1;
    if (cut) return refused(`line ${number} of the input file has more than ${BATCH_LINE_BYTES_MAX} bytes`);
    if (number > LINES_MAX) return refused(`the input file has more than ${LINES_MAX} lines`);
    const line = lineOf(text);
    if ('rule' in line) return refused(`line ${number} of the input file ${line.rule}`);
    const { model } = line;
    const known = models.get(model) ?? (await pricedModel(organization, catalog, model, nowMs));
    models.set(model, known);
    lines[known.tier] = (lines[known.tier] ?? 0) + 1;
    if (!known.priced && !organization.allowUnpricedModels) unpriced[known.tier] ??= model;
    const asked = capabilitiesAsked(line);
    for (const capability of asked) needs.add(capability);
    if (asked.includes('search')) lines.search = (lines.search ?? 0) + 1;
  }
  if (number === 0) return refused('the input file has no lines');
  return { lines, needs: [...needs], unpriced, model: models.size === 1 ? [...models.keys()][0] : undefined };
}

interface PricedModel {
  tier: Tier;
  priced: boolean;
}

async function pricedModel(
  { prices }: Caller['organization'],
  catalog: Catalog,
  model: string,
  nowMs: number,
): Promise<PricedModel> {
  const price = await resolvePrice(catalog, prices, { modelUsed: model, providerUsed: 'openai' }, nowMs);
  return { tier: price.available && isPremiumPrice(price.card) ? 'premium' : 'standard', priced: price.available };
}

export async function tierOfModel(
  organization: Caller['organization'],
  catalog: Catalog,
  model: string,
  nowMs: number,
): Promise<Tier> {
  return (await pricedModel(organization, catalog, model, nowMs)).tier;
}

/** The refusal of a batch whose lines the customer's plan does not allow; `null` where it may begin. */
export async function refuseBatch(
  caller: Caller,
  { requestName, begin, lines: wanted, needs, unpriced }: BatchToAdmit,
  holds: Holds,
): Promise<GatewayAnswer | null> {
  const { customerId, customerName, customerFriendlyName, customerEmail, stripeCustomerId } = begin;
  const contact = { customerName, customerFriendlyName, customerEmail, stripeCustomerId };
  const ready = await provisionCustomer(caller, { customerId, ...contact }, null);
  if (!ready.ok) return refusalAnswer(ready.refusal);
  if (ready.data.canceled) return deniedAnswer("the customer's subscription is canceled");
  const capability = capabilityDenied(needs, ready.data.allowed);
  if (capability !== null) return deniedAnswer(capability);
  const leftOf = (kind: keyof Lines) =>
    Math.max(0, unitsLeft(ready.data, METERS[kind]) - heldByOthers(holds, requestName, kind));
  for (const tier of TIERS) {
    const lines = wanted[tier] ?? 0;
    if (lines === 0) continue;
    if (!ready.data.allowed[tier]) return deniedAnswer(`the customer's plan allows no further call of a ${tier} model`);
    const exceeds = lines > leftOf(tier);
    const exhausted = unitsLeft(ready.data, `${tier}Tokens`) === 0;
    const onCredit = (exceeds || exhausted) && (await isOnCredit(caller, begin.customerId, ready.data));
    if (exceeds && !onCredit && ready.data.policy !== 'NONE') {
      return deniedAnswer(
        `the batch has ${lines} lines for ${tier} models, and the customer's plan allows ${leftOf(tier)} further calls`,
      );
    }
    if (onCredit && unpriced[tier] !== undefined) return refusalAnswer(unpricedOnCredit(unpriced[tier]));
  }
  const searching = wanted.search ?? 0;
  if (searching > leftOf('search') && ready.data.policy !== 'NONE') {
    return deniedAnswer(
      `${searching} lines of the batch can search, and the customer's plan allows ${leftOf('search')} further searches`,
    );
  }
  return null;
}

const METERS = { standard: 'standardCalls', premium: 'premiumCalls', search: 'searches' } as const;

function unitsLeft({ meters }: CustomerUsageData, name: string): number {
  const meter = meters[name];
  return !meter || meter.unlimited ? Number.POSITIVE_INFINITY : meter.remaining;
}

/** Whether credit pays for what goes beyond the allowance: the plan must be pay-as-you-go, and a balance be there. */
async function isOnCredit(
  { env, organization }: Caller,
  customerId: string,
  { subscription }: CustomerUsageData,
): Promise<boolean> {
  const { organizationId } = organization;
  const version = await findPlanVersion(env, organizationId, subscription.usagePlanVersionId);
  if (version?.plan.payg.enabled !== true) return false;
  return !(await ask(customerByName(env, organizationId, customerId), (customer) =>
    customer.isOutOfCredit(organizationId),
  ));
}

interface BatchLine {
  path: string;
  model: string;
  body: Record<string, unknown>;
}

/** Where a line goes, and what it asks; or the rule that the line breaks. */
function lineOf(text: string): BatchLine | { rule: string } {
  const json = parseJsonText(text);
  if (!json.ok) return { rule: json.broken === 'syntax' ? 'is no JSON' : JSON_BOUND_RULES[json.broken] };
  const { url, body } = (json.value ?? {}) as { url?: unknown; body?: Record<string, unknown> };
  const model = body?.model;
  return body && typeof model === 'string' && model !== ''
    ? { path: String(url), model, body }
    : { rule: 'names no model' };
}

function refused(message: string): GatewayAnswer {
  return failureAnswer({ status: 400, code: 'BAD_REQUEST', message, param: 'input_file_id' });
}
