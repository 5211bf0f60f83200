/**
 * May this batch begin? Its lines run at the vendor without us, so they are judged before.
 *
 * Every tier that the lines bill and every capability that they use must be allowed. The remaining calls of a tier,
 * less what other batches hold, must cover its lines, unless credit pays for more; the same goes for searches, for
 * which credit never pays. Credit pays for no model without a price, unless the organization allows it. What the lines
 * used is recorded when they are answered, whatever remains of the allowance then.
 */

import type { Catalog } from '../../catalog/model.ts';
import { resolvePrice } from '../../catalog/prices.ts';
import type { CustomerUsageData } from '../../contract/customers.ts';
import { unpricedOnCredit } from '../../contract/errors.ts';
import { capabilityDenied } from '../../domain/entitlements.ts';
import type { Capability } from '../../domain/plan.ts';
import { tierOfPrice } from '../../domain/price.ts';
import { DEFAULT_TIER, TIERS, type Tier } from '../../domain/tiers.ts';
import type { Caller } from '../../metering/caller.ts';
import { provisionCustomer } from '../../metering/customers.ts';
import { ask, customerByName } from '../../objects/addresses.ts';
import type { BatchCommand, BatchInput, BatchToAdmit, Lines } from '../../objects/batch-commands.ts';
import type { UnpricedTiers } from '../../objects/customer-commands.ts';
import { linesOf } from '../../platform/bytes.ts';
import { JSON_BOUND_RULES, parseJsonText } from '../../platform/json.ts';
import { currentCatalog } from '../../storage/catalog.ts';
import { findPlanVersion } from '../../storage/plans.ts';
import { requestedCapabilities } from '../../vendors/capabilities.ts';
import type { WholeAnswer } from '../answer.ts';
import { denied, type Refused, refusalAnswer, refuseCall } from '../error-envelope.ts';
import { BATCH_VENDOR, passBack, type VendorAccess } from '../pass-through.ts';
import { type Holds, heldByOthers } from './holds.ts';

/** The longest line of a batch's files: an answer with a picture fits. */
export const BATCH_LINE_BYTES_MAX = 8 * 1024 * 1024;
/** The vendor takes up to 50,000 lines; more are refused here without reading on. */
const LINES_MAX = 50_000;

type ReadInput = { ok: true; input: BatchInput } | { ok: false; answer: WholeAnswer };

/** What the lines of the batch's input file are going to run. */
export async function readInput(
  caller: Caller,
  vendor: VendorAccess,
  { inputFileId, requestId }: Pick<BatchCommand, 'inputFileId' | 'requestId'>,
): Promise<ReadInput> {
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const file = await vendor.stream({ method: 'GET', path: `files/${inputFileId}/content` });
  if (file.kind === 'stream') return readLines(caller, catalog, file.body, Date.now());
  const answer = passBack(file, vendor.key, requestId);
  // If the vendor does not have the file, the request named a wrong one.
  if (answer.status === 404) return badInput('there is no such input file');
  return file.kind === 'answer' && file.ok ? badInput('the input file has no lines') : { ok: false, answer };
}

/** Counts the lines of a file by the tier that they bill, and collects what they ask for. */
async function readLines(
  { env, organization }: Caller,
  catalog: Catalog,
  file: ReadableStream<Uint8Array>,
  nowMs: number,
): Promise<ReadInput> {
  const lines: Lines = {};
  const needs = new Set<Capability>();
  const unpriced: UnpricedTiers = {};
  const models = new Map<string, PricedModel>();
  let number = 0;
  for await (const { text, cut } of linesOf(file, BATCH_LINE_BYTES_MAX, Number(env.GATEWAY_TIMEOUT_MS))) {
    number += 1;
    if (cut) return badInput(`line ${number} of the input file has more than ${BATCH_LINE_BYTES_MAX} bytes`);
    if (number > LINES_MAX) return badInput(`the input file has more than ${LINES_MAX} lines`);
    const line = lineOf(text);
    if ('rule' in line) return badInput(`line ${number} of the input file ${line.rule}`);
    const { model } = line;
    const known = models.get(model) ?? (await pricedModel(organization, catalog, model, nowMs));
    models.set(model, known);
    lines[known.tier] = (lines[known.tier] ?? 0) + 1;
    if (!known.priced && !organization.allowUnpricedModels) unpriced[known.tier] ??= model;
    const used = requestedCapabilities(line);
    for (const capability of used) needs.add(capability);
    if (used.includes('search')) lines.search = (lines.search ?? 0) + 1;
  }
  if (number === 0) return badInput('the input file has no lines');
  const model = models.size === 1 ? [...models.keys()][0] : undefined;
  return { ok: true, input: { lines, needs: [...needs], unpriced, model } };
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
  const price = await resolvePrice(catalog, prices, { modelUsed: model, providerUsed: BATCH_VENDOR }, nowMs);
  return { tier: price.available ? tierOfPrice(price.card) : DEFAULT_TIER, priced: price.available };
}

export async function tierOfModel(
  organization: Caller['organization'],
  catalog: Catalog,
  model: string,
  nowMs: number,
): Promise<Tier> {
  return (await pricedModel(organization, catalog, model, nowMs)).tier;
}

/** Whether the customer's plan and credit cover the lines of the batch. */
export async function admitBatch(
  caller: Caller,
  { requestName, begin, lines: wanted, needs, unpriced }: BatchToAdmit,
  holds: Holds,
): Promise<{ ok: true } | Refused> {
  const { customerId, customerName, customerFriendlyName, customerEmail, stripeCustomerId } = begin;
  const contact = { customerName, customerFriendlyName, customerEmail, stripeCustomerId };
  const provisioned = await provisionCustomer(caller, { customerId, ...contact }, null);
  if (!provisioned.ok) return provisioned;
  const { data: customer } = provisioned;
  if (customer.canceled) return denied("the customer's subscription is canceled");
  const capability = capabilityDenied(needs, customer.allowed);
  if (capability !== null) return denied(capability);
  const remaining = (kind: keyof Lines) =>
    Math.max(0, remainingUnits(customer, METER_OF[kind]) - heldByOthers(holds, requestName, kind));
  for (const tier of TIERS) {
    const lines = wanted[tier] ?? 0;
    if (lines === 0) continue;
    if (!customer.allowed[tier]) return denied(`the customer's plan allows no further call of a ${tier} model`);
    const exceeds = lines > remaining(tier);
    const exhausted = remainingUnits(customer, `${tier}Tokens`) === 0;
    const onCredit = (exceeds || exhausted) && (await isOnCredit(caller, begin.customerId, customer));
    if (exceeds && !onCredit && customer.policy !== 'NONE') {
      return denied(
        `the batch has ${lines} lines for ${tier} models, and the customer's plan allows ${remaining(tier)} further calls`,
      );
    }
    if (onCredit && unpriced[tier] !== undefined) return { ok: false, refusal: unpricedOnCredit(unpriced[tier]) };
  }
  const searching = wanted.search ?? 0;
  if (searching > remaining('search') && customer.policy !== 'NONE') {
    return denied(
      `${searching} lines of the batch can search, and the customer's plan allows ${remaining('search')} further searches`,
    );
  }
  return { ok: true };
}

/** The meter that lines of each kind use. */
const METER_OF = { standard: 'standardCalls', premium: 'premiumCalls', search: 'searches' } as const satisfies Record<
  keyof Lines,
  string
>;

function remainingUnits({ meters }: CustomerUsageData, name: string): number {
  const meter = meters[name];
  return !meter || meter.unlimited ? Number.POSITIVE_INFINITY : meter.remaining;
}

/** Whether credit pays beyond the allowance: the plan must be pay-as-you-go, and the balance must not be used up. */
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

/** The request of a line, or the rule that the line breaks. */
function lineOf(text: string): BatchLine | { rule: string } {
  const json = parseJsonText(text);
  if (!json.ok) return { rule: json.broken === 'syntax' ? 'is no JSON' : JSON_BOUND_RULES[json.broken] };
  const { url, body } = (json.value ?? {}) as { url?: unknown; body?: Record<string, unknown> };
  const model = body?.model;
  return body && typeof model === 'string' && model !== ''
    ? { path: String(url), model, body }
    : { rule: 'names no model' };
}

function badInput(message: string): { ok: false; answer: WholeAnswer } {
  const { refusal } = refuseCall('BAD_REQUEST', message, { param: 'input_file_id' });
  return { ok: false, answer: refusalAnswer(refusal) };
}
