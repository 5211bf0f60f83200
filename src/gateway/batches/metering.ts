/**
 * Meters a finished batch: one recorded call for each answered line.
 *
 * The id of a line's call follows from batch and line, so a line that is read again is metered once. The files are read
 * line by line and the progress is saved, so a restart continues where the last run stopped.
 */

import { idempotencyKey } from '../../contract/fields.ts';
import { isRecord } from '../../contract/identity.ts';
import type { CallError } from '../../domain/call-report.ts';
import type { Tier } from '../../domain/tiers.ts';
import { NO_USAGE } from '../../domain/usage.ts';
import type { Env } from '../../env.ts';
import { beginCommand } from '../../metering/begin-call.ts';
import type { Caller } from '../../metering/caller.ts';
import { endServiceCallCommand, type Outcome, reportedUsage } from '../../metering/end-service-call.ts';
import { ask, customerByName } from '../../objects/addresses.ts';
import type { Lines } from '../../objects/batch-commands.ts';
import { underClaim } from '../../objects/claims.ts';
import type { ServiceCallEnd } from '../../objects/customer-commands.ts';
import { type Line, linesOf } from '../../platform/bytes.ts';
import { sha256Hex } from '../../platform/hash.ts';
import { parseAnswer } from '../../platform/json.ts';
import { log } from '../../platform/log.ts';
import { MINUTE_MS } from '../../platform/time.ts';
import { unreadable } from '../../platform/unavailable.ts';
import { currentCatalog } from '../../storage/catalog.ts';
import { loadOrganization } from '../../storage/credentials.ts';
import { plausible, readFailure, readReportedUsage, readSearches } from '../../vendors/usage.ts';
import type { BeginFields } from '../identify.ts';
import { accessVendor, BATCH_VENDOR, VENDOR_ID, type VendorAccess } from '../pass-through.ts';
import { BATCH_LINE_BYTES_MAX, tierOfModel } from './admission.ts';

/** A batch at the vendor, and whom it is metered for. */
export interface WatchedBatch {
  organizationId: string;
  batchId: string;
  begin: BeginFields;
  /** The model of all its lines, if that is one: lines that failed do not name it. */
  model: string | undefined;
}

/** How far the metering is: the number of lines that are done in each file. */
export interface BatchProgress {
  output: number;
  error: number;
  /** Lines that could not be recorded because their call id belongs to another customer. */
  refused: number;
  /** Recorded lines by the tier that paid. */
  recorded: Lines;
}

const TERMINAL = new Set(['completed', 'failed', 'expired', 'cancelled']);
/** Lines that one customer's object records at the same time. */
const CONCURRENCY = 20;
/** Lines of one run; the next run continues. */
const RUN_LINES_MAX = 1_000;
/** A run ends after this time and the next one continues: an alarm may take 15 minutes. */
const RUN_MS_MAX = 5 * MINUTE_MS;
/** A file that has not ended by then is taken for silent. */
const FILE_MS_MAX = 8 * MINUTE_MS;

export function isTerminal(status: string | undefined): boolean {
  return status !== undefined && TERMINAL.has(status);
}

/** The caller on whose behalf an object begins or meters a batch, outside of any request. */
export async function callerOf(env: Env, organizationId: string, defer: Caller['defer']): Promise<Caller> {
  const organization = await loadOrganization(env, organizationId).catch((error: unknown) => {
    throw unreadable(error);
  });
  if (!organization) throw new Error('the organization is not there');
  return { env, organization: { ...organization, models: null }, defer };
}

/**
 * Asks the vendor for the batch and meters its answered lines. `pending`: the batch is not finished. `more`: this run
 * has used up its time or its lines. `save` stores the progress and returns whether the batch still exists. Throws if
 * the vendor or an object cannot be reached; saved progress stays.
 */
export async function meterBatch(
  env: Env,
  batch: WatchedBatch,
  progress: BatchProgress,
  save: (progress: BatchProgress) => Promise<boolean>,
  defer: (work: Promise<unknown>) => void,
): Promise<'pending' | 'more' | 'done'> {
  const caller = await callerOf(env, batch.organizationId, defer);
  const vendor = await accessVendor(caller);
  if (!vendor) throw new Error(`there are no credentials for the vendor ${BATCH_VENDOR}`);
  const found = await vendor.ask({ method: 'GET', path: `batches/${batch.batchId}` });
  if (found.kind !== 'answer' || !found.ok) throw new Error(`the vendor did not show the batch: ${outcomeOf(found)}`);
  const document = parseAnswer(String(found.body));
  if (!isRecord(document)) throw new Error('the vendor did not show the batch: no JSON object');
  const { status, output_file_id, error_file_id } = document as Record<string, string | null | undefined>;
  if (!isTerminal(status ?? undefined)) return 'pending';
  const run: MeteringRun = {
    caller,
    vendor,
    batch,
    progress,
    save,
    untilMs: Date.now() + RUN_MS_MAX,
    linesLeft: RUN_LINES_MAX,
  };
  for (const [name, fileId] of [
    ['output', output_file_id],
    ['error', error_file_id],
  ] as const) {
    if (typeof fileId !== 'string' || !VENDOR_ID.test(fileId)) continue;
    if (!(await meterFile(run, name, fileId))) return 'more';
  }
  return 'done';
}

/** The state of one run through the files. */
interface MeteringRun {
  readonly caller: Caller;
  readonly vendor: VendorAccess;
  readonly batch: WatchedBatch;
  /** The progress that was saved last. */
  progress: BatchProgress;
  readonly save: (progress: BatchProgress) => Promise<boolean>;
  readonly untilMs: number;
  linesLeft: number;
}

/** Whether the file was read to its end. */
async function meterFile(run: MeteringRun, name: 'output' | 'error', fileId: string): Promise<boolean> {
  const file = await run.vendor.stream({ method: 'GET', path: `files/${fileId}/content` });
  if (file.kind === 'answer' && file.ok) return true; // an empty file has no body
  if (file.kind !== 'stream') throw new Error(`the vendor did not show the ${name} file: ${outcomeOf(file)}`);
  let number = 0;
  let pending: Line[] = [];
  // A file that falls silent must not block the alarm; saved progress stays.
  for await (const line of linesOf(file.body, BATCH_LINE_BYTES_MAX, FILE_MS_MAX)) {
    number += 1;
    // An earlier run has metered these lines.
    if (number <= run.progress[name]) continue;
    if (pending.length === 0 && (run.linesLeft <= 0 || Date.now() > run.untilMs)) return false;
    pending.push(line);
    if (pending.length < CONCURRENCY) continue;
    if (!(await meterLines(run, name, pending))) return false;
    pending = [];
  }
  return pending.length === 0 || meterLines(run, name, pending);
}

/** Records the next lines of a file and saves the progress. Returns whether the batch still exists. */
async function meterLines(run: MeteringRun, name: 'output' | 'error', lines: readonly Line[]): Promise<boolean> {
  const { caller, batch, progress } = run;
  const before = progress[name];
  const tiers = await Promise.all(lines.map((line, index) => meterLine(caller, batch, line, before + index)));
  const recorded = { ...progress.recorded };
  for (const tier of tiers) if (tier !== null) recorded[tier] = (recorded[tier] ?? 0) + 1;
  const refused = progress.refused + tiers.filter((tier) => tier === null).length;
  run.linesLeft -= lines.length;
  // A new object: if saving fails, the old one still has the saved progress.
  run.progress = { ...progress, [name]: before + lines.length, refused, recorded };
  return run.save(run.progress);
}

interface AnsweredLine {
  customId: string;
  outcome: Pick<Outcome, 'usage' | 'searches' | 'modelUsed' | 'reasoningEffort'> & { error?: CallError };
}

/** Records the line's call once. Returns the tier that pays, or `null` if the call id belongs to another call. */
async function meterLine(
  caller: Caller,
  { organizationId, batchId, begin, model }: WatchedBatch,
  line: Line,
  index: number,
): Promise<Tier | null> {
  const { env, organization, defer } = caller;
  const { customerId } = begin;
  const { customId, outcome } = readLine(line, index);
  const callId = await callIdOf(batchId, customId);
  const { catalog } = await currentCatalog(env, defer);
  const { modelUsed = model } = outcome;
  const tier = modelUsed === undefined ? 'standard' : await tierOfModel(organization, catalog, modelUsed, Date.now());
  // The batch is fingerprint enough: the call id names the line, and the vendor never changes a line.
  const command = await beginCommand(caller, { ...begin, requested: { [tier]: true } }, `batch ${batchId}`, 'API');
  const end = await endServiceCallCommand(caller, {
    ...outcome,
    customerId,
    modelUsed,
    providerUsed: BATCH_VENDOR,
    wantsAnswer: false,
  });
  const record = (claimedAtMs: number) =>
    ask(customerByName(env, organizationId, customerId), (customer) =>
      // Without a default plan: a customer who was erased since the batch began does not come back.
      customer.recordServiceCall(
        { ...command, defaultPlan: null, key: { source: 'explicit', callId, claimedAtMs } },
        end,
      ),
    ) as Promise<ServiceCallEnd>;
  const recorded = await underClaim(
    env,
    { organizationId, key: callId, customerId },
    // What the line used was used: its call stays with its customer.
    { command: record, outcomeOf: (finished) => finished, undo: async () => undefined },
  );
  if (!recorded) return refuseLine(callId, 'the id is claimed for another customer');
  // If the object has dropped the answers of an old run, that run has metered the line.
  return recorded.ok ? tier : refuseLine(callId, recorded.refusal.message);
}

function refuseLine(callId: string, reason: string): null {
  log('error', 'batch_line_refused', { callId, reason });
  return null;
}

/** Reads a line. One that is too long or unreadable ran all the same: its usage is not known. */
export function readLine({ text, cut }: Line, index: number): AnsweredLine {
  const line = cut ? null : parseLine(text);
  const named = line?.custom_id ?? /"custom_id"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
  const customId = typeof named === 'string' && named !== '' ? named : `line ${index}`;
  if (!line) return { customId, outcome: { usage: null } };
  const { response, error } = line;
  const reported = readReportedUsage(response?.body);
  const usage = plausible(reported);
  const status = response?.status_code ?? 0;
  const answered = status >= 200 && status < 300;
  const failure =
    readFailure(response?.body) ??
    (answered ? null : (readFailure({ error }) ?? { code: `VENDOR_HTTP_${status}`, message: 'the line failed' }));
  return {
    customId,
    outcome: {
      usage: reported === null && !answered ? NO_USAGE : reportedUsage(reported),
      searches: readSearches(response?.body) || undefined,
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
export async function callIdOf(batchId: string, customId: string): Promise<string> {
  const readable = `batch:${batchId}:${customId}`;
  return idempotencyKey.safeParse(readable).success ? readable : `batch:${batchId}:${await sha256Hex(customId)}`;
}

interface VendorLine {
  custom_id?: unknown;
  response?: { status_code?: number; body?: unknown } | null;
  error?: unknown;
}

function parseLine(text: string): VendorLine | null {
  const line = parseAnswer(text) as VendorLine | null | undefined;
  return typeof line === 'object' ? line : null;
}

function outcomeOf(result: { kind: string; status?: number }): string {
  return result.status === undefined ? result.kind : `${result.kind} ${result.status}`;
}
