/**
 * Meters a finished batch: one recorded call for each answered line.
 *
 * Batch and line determine the id of a line's call, so a line that is read again is metered once. The files are read
 * line by line and the progress is saved, so a restart continues at the end of the last run. Lines that ran but whose
 * answers the vendor does not have are counted by their hold (`domain/unread-lines.ts`).
 */

import { modelToRecord } from '../../catalog/prices.ts';
import { currentCatalog } from '../../config/catalog.ts';
import { loadOrganization } from '../../config/credentials.ts';
import { callId } from '../../contract/fields.ts';
import { isRecord } from '../../contract/identity.ts';
import type { Lines, LinesByTier } from '../../domain/batch-hold.ts';
import type { CallError } from '../../domain/call-report.ts';
import { asCallId, type CallId, type OrganizationId } from '../../domain/ids.ts';
import type { Estimate } from '../../domain/lost-call.ts';
import { NO_USAGE } from '../../domain/usage.ts';
import type { VendorKind } from '../../domain/vendor-kind.ts';
import type { Env } from '../../env.ts';
import { beginCommand } from '../../metering/begin-call.ts';
import { listParts } from '../../metering/call-parts.ts';
import type { Caller } from '../../metering/caller.ts';
import { ask, customerByName } from '../../objects/addresses.ts';
import { underClaim } from '../../objects/claims.ts';
import type { ServiceCallEnd } from '../../objects/customer-commands.ts';
import { type Line, streamLines } from '../../platform/bytes.ts';
import { sha256Hex } from '../../platform/hash.ts';
import { parseAnswer } from '../../platform/json.ts';
import { log } from '../../platform/log.ts';
import { MINUTE_MS } from '../../platform/time.ts';
import { unreadable } from '../../platform/unavailable.ts';
import { JsonSkim, readJson } from '../../vendors/json-skim.ts';
import { tokensAtMost } from '../../vendors/token-count.ts';
import { readFailure } from '../../vendors/usage.ts';
import { writtenTokens } from '../../vendors/written-tokens.ts';
import type { BeginFields } from '../identify.ts';
import { recordDocument } from '../kept-objects.ts';
import { accessVendor, BATCH_VENDOR, batchKind, VENDOR_ID, type VendorAccess } from '../pass-through.ts';
import { endServiceCallCommand, type Outcome, reportedUsage } from '../service-calls/end.ts';
import { readDocument } from '../vendor-answer.ts';
import { cleanFailure } from '../vendor-result.ts';
import { tierOfModel } from './admission.ts';
import { type LineAsks, LineAsksReader } from './line-asks.ts';

/** A batch at the vendor, and the customer for whom it is metered. */
export interface WatchedBatch {
  organizationId: OrganizationId;
  requestName: string;
  batchId: string;
  begin: BeginFields;
  /** The model of all lines, if they have one in common: failed lines do not name it. */
  model: string | undefined;
  lines: LinesByTier;
  asks: LineAsks | undefined;
}

/** The progress of the metering: the number of finished lines in each file. */
export interface BatchProgress {
  output: number;
  error: number;
  /** Lines that could not be recorded because their call id belongs to another customer. */
  refused: number;
}

const TERMINAL = new Set(['completed', 'failed', 'expired', 'cancelled']);
/** Lines that one customer's object records at the same time. */
const CONCURRENCY = 20;
/** Lines of one run; the next run continues. */
const RUN_LINES_MAX = 1_000;
/** The long texts of a longer line are not read. */
const ANSWERED_LINE_BYTES_MAX = 1024 * 1024;
/** A run ends after this time and the next one continues: an alarm may take 15 minutes. */
const RUN_MS_MAX = 5 * MINUTE_MS;
/** A file that has not ended by then counts as silent. */
const FILE_MS_MAX = 8 * MINUTE_MS;

export function isTerminal(status: string | undefined): boolean {
  return status !== undefined && TERMINAL.has(status);
}

/** The caller for whom an object asks a vendor, outside of any request. */
export async function loadCaller(env: Env, organizationId: OrganizationId, defer: Caller['defer']): Promise<Caller> {
  const organization = await loadOrganization(env, organizationId).catch((error: unknown) => {
    throw unreadable(error);
  });
  if (!organization) throw new Error('the organization does not exist');
  return { env, organization: { ...organization, models: null }, defer };
}

/**
 * Asks the vendor for the batch and meters its answered lines. `pending`: the batch is not finished. `more`: this run
 * has used up its time or its lines. A finished batch returns the number of lines that ran and that the vendor cannot
 * show. `save` stores the progress and returns whether the batch still exists. Throws if the vendor or an object cannot
 * be reached; saved progress stays.
 */
export async function meterBatch(
  env: Env,
  batch: WatchedBatch,
  progress: BatchProgress,
  save: (progress: BatchProgress) => Promise<boolean>,
  defer: (work: Promise<unknown>) => void,
): Promise<'pending' | 'more' | { unread: number }> {
  const caller = await loadCaller(env, batch.organizationId, defer);
  const vendor = await accessVendor(caller);
  if (!vendor) throw new Error(`there are no credentials for the vendor ${BATCH_VENDOR}`);
  const found = await vendor.ask({ method: 'GET', path: `batches/${batch.batchId}` });
  if (found.kind !== 'answer' || !found.ok) throw new Error(`the vendor did not show the batch: ${resultText(found)}`);
  const document = parseAnswer(String(found.body));
  if (!isRecord(document)) throw new Error('the vendor did not show the batch: no JSON object');
  const { status, output_file_id, error_file_id, request_counts } = document as unknown as VendorBatch;
  if (!isTerminal(status ?? undefined)) return 'pending';
  await recordDocument(caller, document);
  const run: MeteringRun = {
    caller,
    vendor,
    batch,
    asks: batch.asks ? new LineAsksReader(batch.asks) : null,
    progress,
    save,
    untilMs: Date.now() + RUN_MS_MAX,
    linesLeft: RUN_LINES_MAX,
  };
  let isOutputRead = false;
  for (const [name, fileId] of [
    ['output', output_file_id],
    ['error', error_file_id],
  ] as const) {
    if (typeof fileId !== 'string' || !VENDOR_ID.test(fileId)) continue;
    const found = await meterFile(run, name, fileId);
    if (found === 'more') return 'more';
    if (name === 'output') isOutputRead = found === 'read';
  }
  if (isOutputRead) return { unread: 0 };
  // If the vendor does not count the lines, each of them may be in a file that is gone. Failed lines cost nothing.
  const most = typeof output_file_id === 'string' ? Number.MAX_SAFE_INTEGER : 0;
  const { completed } = request_counts ?? {};
  return { unread: Math.max(0, (Number.isSafeInteger(completed) ? Number(completed) : most) - run.progress.output) };
}

/** The fields that are read of the vendor's batch. */
interface VendorBatch {
  status?: string | null;
  output_file_id?: string | null;
  error_file_id?: string | null;
  request_counts?: { completed?: unknown } | null;
}

/** Statuses that say that a file is gone. */
const GONE = [404, 410];

/** The state of one run through the files. */
interface MeteringRun {
  readonly caller: Caller;
  readonly vendor: VendorAccess;
  readonly batch: WatchedBatch;
  readonly asks: LineAsksReader | null;
  /** The progress that was saved last. */
  progress: BatchProgress;
  readonly save: (progress: BatchProgress) => Promise<boolean>;
  readonly untilMs: number;
  linesLeft: number;
}

/** Whether the file was read to its end, or is gone. */
async function meterFile(
  run: MeteringRun,
  name: 'output' | 'error',
  fileId: string,
): Promise<'read' | 'more' | 'gone'> {
  const file = await run.vendor.stream({ method: 'GET', path: `files/${fileId}/content` });
  if (file.kind === 'answer' && file.ok) return 'read'; // An empty file has no body.
  if (file.kind === 'answer' && GONE.includes(file.status)) return 'gone';
  if (file.kind !== 'stream') throw new Error(`the vendor did not show the ${name} file: ${resultText(file)}`);
  let number = 0;
  let pending: Line[] = [];
  // A file that falls silent must not block the alarm; saved progress stays.
  for await (const line of streamLines(file.body, ANSWERED_LINE_BYTES_MAX, FILE_MS_MAX, () => new JsonSkim())) {
    number += 1;
    // An earlier run has metered these lines.
    if (number <= run.progress[name]) continue;
    if (pending.length === 0 && (run.linesLeft <= 0 || Date.now() > run.untilMs)) return 'more';
    pending.push(line);
    if (pending.length < CONCURRENCY) continue;
    if (!(await meterLines(run, name, pending))) return 'more';
    pending = [];
  }
  return pending.length === 0 || (await meterLines(run, name, pending)) ? 'read' : 'more';
}

/** Records the next lines of a file and saves the progress. Returns whether the batch still exists. */
async function meterLines(run: MeteringRun, name: 'output' | 'error', lines: readonly Line[]): Promise<boolean> {
  const { progress } = run;
  const before = progress[name];
  const recorded = await Promise.all(lines.map((line, index) => meterLine(run, line, before + index)));
  const refused = progress.refused + recorded.filter((isRecorded) => !isRecorded).length;
  run.linesLeft -= lines.length;
  // A new object: if saving fails, the old one still has the saved progress.
  run.progress = { ...progress, [name]: before + lines.length, refused };
  return run.save(run.progress);
}

interface AnsweredLine {
  customId: string;
  outcome: Pick<Outcome, 'usage' | 'parts' | 'searches' | 'modelUsed' | 'reasoningEffort'> & { error?: CallError };
  /**
   * Output tokens that Callmeter counted, if an answer exists and does not report them; `null` if none can be counted.
   */
  written?: number | null;
}

/** Records the line's call once. `false` if the call id belongs to another call. */
async function meterLine({ caller, vendor, batch, asks }: MeteringRun, line: Line, index: number): Promise<boolean> {
  const { organizationId, requestName, batchId, begin, model, lines } = batch;
  const { env, organization, defer } = caller;
  const { customerId } = begin;
  const { customId, outcome, written } = readLine(line, index, batchKind(organization));
  const callId = await lineCallId(batchId, customId);
  const { catalog } = await currentCatalog(env, defer);
  const asked = await asks?.of(customId);
  const names = { asked: asked?.model ?? model, served: outcome.modelUsed, providerUsed: BATCH_VENDOR };
  const modelUsed = await modelToRecord(catalog, organization.prices, names, Date.now());
  const tier = modelUsed === undefined ? 'standard' : await tierOfModel(organization, catalog, modelUsed, Date.now());
  // The batch is a sufficient fingerprint: the call id names the line, and the vendor never changes a line.
  const command = await beginCommand(caller, { ...begin, requested: { [tier]: true } }, `batch ${batchId}`, 'API');
  const { costliest } = lines[tier] ?? {};
  const end = await endServiceCallCommand(caller, {
    ...outcome,
    ...(outcome.error && { error: cleanFailure(outcome.error, vendor.key) }),
    ...(written !== undefined && costliest && { estimate: estimateLine(costliest, written) }),
    ...(costliest && { atMost: { ...costliest, uses: {}, promptTokens: costliest.inputTokens } }),
    customerId,
    modelUsed,
    providerUsed: BATCH_VENDOR,
    notIncluded: asked?.notIncluded,
    wantsAnswer: false,
  });
  const record = (claimedAtMs: number) =>
    ask(customerByName(env, { organizationId, customerId }), (customer) =>
      // Sent without a default plan, so that a customer who was erased since the batch began is not created again.
      customer.recordServiceCall(
        { ...command, defaultPlan: null, key: { source: 'explicit', callId, claimedAtMs } },
        end,
        { requestName, tier },
      ),
    ) as Promise<ServiceCallEnd>;
  const recorded = await underClaim(
    env,
    { organizationId, key: callId, customerId },
    // The usage of the line stays with its customer.
    { command: record, toOutcome: (finished) => finished, undo: async () => undefined },
  );
  if (!recorded) return refuseLine(callId, 'the id is claimed for another customer');
  // If the object has dropped the answers of an old run, that run has metered the line.
  return recorded.ok || refuseLine(callId, recorded.refusal.message);
}

function refuseLine(callId: CallId, reason: string): false {
  log('error', 'batch_line_refused', { callId, reason });
  return false;
}

/**
 * The recorded usage, on credit, of a line that does not report its own. Nobody knows which line it is, so its prompt
 * counts as that of the costliest line.
 */
function estimateLine(
  { inputTokens, outputTokens }: Lines['costliest'],
  written: number | null,
): Omit<Estimate, 'price'> {
  const responseTokens = written === null ? 0 : Math.min(written, outputTokens);
  return {
    usage: { ...NO_USAGE, inputTokens, responseTokens },
    source: 'estimated',
    isWhole: true,
    ...(written === null && { outputTokensMax: outputTokens }),
  };
}

/** Reads a line. A line that is too long or unreadable ran all the same: its usage is unknown. */
export function readLine(
  { text, cut, shortened }: Omit<Line, 'number'>,
  index: number,
  kind: VendorKind,
): AnsweredLine {
  const line = cut ? null : parseLine(text);
  const named = line?.custom_id ?? /"custom_id"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
  const customId = typeof named === 'string' && named !== '' ? named : `line ${index}`;
  const { response, error } = line ?? {};
  // The line shows neither an answer nor a failure.
  if (!isRecord(response) && error == null)
    return { customId, outcome: { usage: null }, written: cut || shortened ? null : tokensAtMost(text) };
  const { reported: usage, searches, failure: said, refused } = readDocument(response?.body);
  const status = response?.status_code ?? 0;
  const answered = status >= 200 && status < 300;
  const failure =
    said ??
    (answered ? null : (readFailure({ error }) ?? { code: `VENDOR_HTTP_${status}`, message: 'the line failed' }));
  // An error in place of an answer, whatever its status says: nothing was done, unless it reports usage.
  const isFree = usage === null && (!answered || refused);
  return {
    customId,
    ...((usage === null || usage.unclear) &&
      !isFree && { written: shortened ? null : writtenTokens(response?.body, kind, '') }),
    outcome: {
      usage: isFree ? NO_USAGE : reportedUsage(usage),
      ...(usage?.parts && { parts: listParts(usage) }),
      searches: searches || undefined,
      ...(usage?.modelUsed !== undefined && { modelUsed: usage.modelUsed }),
      ...(usage?.reasoningEffort !== undefined && {
        reasoningEffort: usage.reasoningEffort,
        reasoningEffortSource: 'provider_response' as const,
      }),
      ...(failure && { error: failure }),
    },
  };
}

/** The id of a line's call: readable if it is a valid key, else with a hash. */
export async function lineCallId(batchId: string, customId: string): Promise<CallId> {
  const readable = callId.safeParse(`batch:${batchId}:${customId}`);
  return readable.success ? readable.data : asCallId(`batch:${batchId}:${await sha256Hex(customId)}`);
}

interface VendorLine {
  custom_id?: unknown;
  response?: { status_code?: number; body?: unknown } | null;
  error?: unknown;
}

function parseLine(text: string): VendorLine | null {
  const line = readJson(text) as VendorLine | null | undefined;
  return typeof line === 'object' ? line : null;
}

function resultText(result: { kind: string; status?: number }): string {
  return result.status === undefined ? result.kind : `${result.kind} ${result.status}`;
}
