/**
 * Decides whether a batch may begin. The vendor runs its lines without asking Callmeter, so the decision is made
 * before the vendor has them.
 *
 * The whole input is read to find the tiers and capabilities that the lines use, and the most that they may cost. The
 * customer's object then decides, and holds that amount (`domain/batch-hold.ts`). The usage of the lines is recorded
 * when they are answered, whatever allowance or credit is left then.
 */

import { findModelLimits } from '../../catalog/limits.ts';
import type { Catalog } from '../../catalog/model.ts';
import { resolvePrice } from '../../catalog/prices.ts';
import { currentCatalog } from '../../config/catalog.ts';
import { presentFigures } from '../../contract/denial.ts';
import { HELD_RETRY_SECONDS } from '../../contract/errors.ts';
import { type KeyLimits, modelNotAllowed } from '../../contract/key-limits.ts';
import type { BatchDenial, LinesByTier } from '../../domain/batch-hold.ts';
import { capabilityDenied } from '../../domain/entitlements.ts';
import type { Capability } from '../../domain/plan.ts';
import type { Tier } from '../../domain/tiers.ts';
import type { Env } from '../../env.ts';
import { beginCommand } from '../../metering/begin-call.ts';
import type { Caller } from '../../metering/caller.ts';
import { modelsOfTools } from '../../metering/key-limits.ts';
import { OpenModels } from '../../metering/model-names.ts';
import { withClaimedStripe } from '../../metering/stripe-customers.ts';
import { ask, customerByName } from '../../objects/addresses.ts';
import type {
  AnswersOfLine,
  BatchAdmission,
  BatchCommand,
  BatchInput,
  ClosedLine,
  ClosedLines,
  EndBatchCommand,
} from '../../objects/batch-commands.ts';
import { streamLines } from '../../platform/bytes.ts';
import { requestedCapabilities } from '../../vendors/capabilities.ts';
import { textOrEmpty } from '../../vendors/usage/figures.ts';
import type { WholeAnswer } from '../answer.ts';
import { type Refused, refusalAnswer, refuseCall, refuseDenied } from '../error-envelope.ts';
import { findForeign, isOwn, isShared, referencesIn } from '../kept-objects.ts';
import { BATCH_VENDOR, batchKind, passBack, type VendorAccess } from '../pass-through.ts';
import { BATCH_LINE_BYTES_MAX, BATCH_LINES_MAX, parseInputLine } from './input-line.ts';
import { type LineAsks, LineAsksWriter } from './line-asks.ts';
import { type BatchModel, batchModel, withLine } from './line-bounds.ts';
import { unmeterable } from './line-check.ts';

/** The most files and responses that the lines of a batch may name if another organization has the same vendor key. */
const NAMED_MAX = 10_000;

type ReadInput = { ok: true; input: BatchInput; asks: LineAsks } | { ok: false; answer: WholeAnswer };

/** The work that the lines of the batch's input file ask for. */
export async function readInput(
  caller: Caller,
  vendor: VendorAccess,
  { inputFileId, requestId, limit }: Pick<BatchCommand, 'inputFileId' | 'requestId' | 'limit'>,
): Promise<ReadInput> {
  // Another organization's file is answered like a missing one.
  if (!(await isOwn(caller, inputFileId))) return noInputFile();
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const file = await vendor.stream({ method: 'GET', path: `files/${inputFileId}/content` });
  if (file.kind === 'stream') return readLines(caller, catalog, file.body, limit, Date.now());
  const answer = passBack(file, vendor.key, requestId);
  // If the vendor does not have the file, the request named a wrong one.
  if (answer.status === 404) return noInputFile();
  return file.kind === 'answer' && file.ok ? badInput('the input file has no lines') : { ok: false, answer };
}

/** Sums up the lines of a file by the tier that they bill, and collects their needs. */
async function readLines(
  caller: Caller,
  catalog: Catalog,
  file: ReadableStream<Uint8Array>,
  limit: BatchCommand['limit'],
  nowMs: number,
): Promise<ReadInput> {
  const { env, organization } = caller;
  /** The vendor's objects that the lines name, if not all of them belong to the organization. */
  const named = (await isShared(caller)) ? new Set<string>() : null;
  let lines: LinesByTier = {};
  let searches = 0;
  let unboundedSearch: ClosedLine | undefined;
  let most: AnswersOfLine | undefined;
  const needs = new Set<Capability>();
  const closedLines: ClosedLines = {};
  const models = new Map<string, BatchModel>();
  const open = limit && new OpenModels(organization, catalog, limit.models, nowMs);
  const asks = new LineAsksWriter();
  let count = 0;
  for await (const { number, text, cut } of streamLines(file, BATCH_LINE_BYTES_MAX, Number(env.GATEWAY_TIMEOUT_MS))) {
    count += 1;
    if (cut) return badInput(`line ${number} of the input file has more than ${BATCH_LINE_BYTES_MAX} bytes`);
    if (count > BATCH_LINES_MAX) return badInput(`the input file has more than ${BATCH_LINES_MAX} lines`);
    const line = parseInputLine(text);
    const rule = 'rule' in line ? line.rule : unmeterable(line);
    if ('rule' in line || rule !== null) return badInput(`line ${number} of the input file ${rule}`);
    if (named) for (const { id } of referencesIn(line.body)) named.add(id);
    if (named && named.size > NAMED_MAX)
      return badInput(`the lines of the input file name more than ${NAMED_MAX} files and responses`);
    const { model } = line;
    const closed = open && [model, ...modelsOfTools(line.body.tools)].find((name) => !isOpenInBatch(open, name));
    if (limit && closed !== undefined) return notAllowed(limit.limits, closed, number);
    const known = models.get(model) ?? (await resolveBatchModel(organization, catalog, model, nowMs));
    models.set(model, known);
    const used = requestedCapabilities(line);
    const more = withLine(lines, known, line, organization);
    lines = more.lines;
    const { gap, searchGap, choices, notIncluded } = more.line;
    if (gap) closedLines[known.tier] ??= { line: number, gap };
    if (choices && choices.count > (most?.count ?? 0)) most = { line: number, ...choices };
    await asks.add(textOrEmpty(line.customId), { model, notIncluded });
    for (const capability of used) needs.add(capability);
    if (!used.includes('search')) continue;
    searches += Math.max(1, more.line.searches);
    if (searchGap) unboundedSearch ??= { line: number, gap: searchGap };
  }
  if (count === 0) return badInput('the input file has no lines');
  const foreign = named && (await findForeign(caller, [...named]));
  if (foreign) return badInput(`a line of the input file names ${foreign}, which this organization does not have`);
  const model = models.size === 1 ? [...models.keys()][0] : undefined;
  const bounds = { closed: closedLines, unboundedSearch, mostAnswers: most };
  return { ok: true, input: { lines, searches, needs: [...needs], ...bounds, model }, asks: asks.written() };
}

async function resolveBatchModel(
  organization: Caller['organization'],
  catalog: Catalog,
  model: string,
  nowMs: number,
): Promise<BatchModel> {
  const price = await resolvePrice(
    catalog,
    organization.prices,
    { modelUsed: model, providerUsed: BATCH_VENDOR },
    nowMs,
  );
  const vendor = { kind: batchKind(organization), address: organization.vendors.get(BATCH_VENDOR)?.baseUrl };
  return batchModel(vendor, price, findModelLimits(catalog, model, nowMs));
}

export async function tierOfModel(
  organization: Caller['organization'],
  catalog: Catalog,
  model: string,
  nowMs: number,
): Promise<Tier> {
  return (await resolveBatchModel(organization, catalog, model, nowMs)).tier;
}

/** Holds the most that the batch may cost, of the customer's allowance and credit; `null` if the hold succeeds. */
export async function holdBatch(
  caller: Caller,
  { organizationId, requestName, begin }: BatchCommand,
  { lines, searches, needs, closed = {}, unboundedSearch, mostAnswers }: BatchInput,
): Promise<Refused | null> {
  const { customerId, defaultPlan, alerts, contact, namedStripeCustomerId } = await beginCommand(
    caller,
    begin,
    '',
    'API',
  );
  const command = {
    ...{ organizationId, customerId, defaultPlan, alerts, contact, namedStripeCustomerId, requestName },
    batch: { lines, searches, needs },
    closed,
    unboundedSearch,
    mostAnswers,
  };
  const admission = await ask(customerByName(caller.env, { organizationId, customerId }), (customer) =>
    withClaimedStripe(caller, command, (sent) => customer.holdBatch(sent) as Promise<BatchAdmission>),
  );
  if (admission.ok) return null;
  if ('denial' in admission) return batchRefusal(admission.denial, needs);
  const { refusal } = admission;
  // A batch takes longer than a caller waits.
  return { ok: false, refusal: refusal.code === 'RATE_LIMITED' ? { ...refusal, retry: false } : refusal };
}

/** Releases the rest of the batch's hold, and counts lines that ran but whose answers cannot be read. */
export async function endBatch(
  env: Env,
  { organizationId, requestName, begin }: BatchCommand,
  unread: EndBatchCommand['unread'],
): Promise<void> {
  await ask(customerByName(env, { organizationId, customerId: begin.customerId }), (customer) =>
    customer.endBatch({ organizationId, requestName, unread }),
  );
}

/** At most `linesMax` lines of the batch, in the form in which they are counted. */
export async function listUnreadLines(
  caller: Caller,
  { requestName, begin }: BatchCommand,
  linesMax: number,
  modelUsed: string | undefined,
): Promise<EndBatchCommand['unread']> {
  const command = await beginCommand(caller, begin, `batch ${requestName}`, 'API');
  // Sent without a default plan, so that a customer who was erased since the batch began is not created again.
  return { linesMax, begin: { ...command, defaultPlan: null }, providerUsed: BATCH_VENDOR, modelUsed };
}

function batchRefusal(denial: BatchDenial, needs: readonly Capability[]): Refused {
  const { code, allowed, exceeds } = denial;
  const figures = presentFigures(denial);
  const deny = (reason: string) => refuseDenied('ENTITLEMENT_DENIED', reason, figures);
  if (code === 'SUBSCRIPTION_CANCELED') return deny("the customer's subscription is canceled");
  const capability = capabilityDenied(needs, allowed);
  if (capability !== null) return deny(capability);
  if (!exceeds) throw new Error('a batch is denied for something that it exceeds');
  const message = exceeded(exceeds);
  switch (code) {
    case 'CREDIT_REQUIRED':
      return refuseDenied(code, `${message}, and the balance does not cover what the other lines may cost`, figures);
    case 'BALANCE_HELD': {
      const held = 'open calls and batches hold the balance that the other lines need; it is free again when they end';
      return refuseDenied(code, `${message}, and ${held}`, figures, { retryAfterSeconds: HELD_RETRY_SECONDS });
    }
    default:
      return deny(message);
  }
}

function exceeded({ kind, lines, left }: NonNullable<BatchDenial['exceeds']>): string {
  if (kind === 'search')
    return `the lines of the batch can make ${lines} searches, and the customer's plan allows ${left} further searches`;
  if (left === 0) return `the customer's plan allows no further call of a ${kind} model`;
  return `the batch has ${lines} lines for ${kind} models, and the customer's plan allows ${left} further calls`;
}

/** A bare name is the vendor's own, whether the catalog knows it or not. */
function isOpenInBatch(open: OpenModels, name: unknown): boolean {
  return typeof name === 'string' && open.allows(name, { provider: BATCH_VENDOR, model: name });
}

function notAllowed(limits: KeyLimits, name: unknown, number: number): { ok: false; answer: WholeAnswer } {
  const { refusal } = modelNotAllowed(limits, String(name), 'input_file_id');
  return {
    ok: false,
    answer: refusalAnswer({ ...refusal, message: `line ${number} of the input file: ${refusal.message}` }),
  };
}

const noInputFile = () => badInput('no such input file');

function badInput(message: string): { ok: false; answer: WholeAnswer } {
  const { refusal } = refuseCall('BAD_REQUEST', message, { param: 'input_file_id' });
  return { ok: false, answer: refusalAnswer(refusal) };
}
