/**
 * The metering of a batch: from the vendor's word that it is finished to one recorded call for each answered line.
 *
 * A line's call has an id of its own that follows from batch and line, so a line that is met again is metered once. The
 * files are read line by line, and the place is kept, so that a restart goes on where it was.
 */

import { idempotencyKey } from '../../contract/fields.ts';
import type { CallError } from '../../domain/call.ts';
import type { Tier } from '../../domain/tiers.ts';
import type { Env } from '../../env.ts';
import { beginCommand } from '../../metering/begin-call.ts';
import type { Caller } from '../../metering/caller.ts';
import { finishCommand, NO_USAGE, type Outcome, reportedUsage } from '../../metering/finish-call.ts';
import { ask, customerByName } from '../../objects/addresses.ts';
import type { Lines } from '../../objects/batch-commands.ts';
import { underClaim } from '../../objects/claims.ts';
import type { FinishedCall } from '../../objects/customer-commands.ts';
import { type Line, linesOf } from '../../platform/bytes.ts';
import { sha256Hex } from '../../platform/hash.ts';
import { parseAnswer } from '../../platform/json.ts';
import { log } from '../../platform/log.ts';
import { MINUTE_MS } from '../../platform/time.ts';
import { unreadable } from '../../platform/unavailable.ts';
import { currentCatalog } from '../../storage/catalog.ts';
import { loadOrganization } from '../../storage/credentials.ts';
import { plausible, readFailure, readReportedUsage, readSearches } from '../../vendors/usage.ts';
import type { BeginFields } from '../input.ts';
import { accessVendor, BATCH_VENDOR, VENDOR_ID, type VendorAccess } from '../pass-through.ts';
import { BATCH_LINE_BYTES_MAX, tierOfModel } from './admission.ts';

/** A batch at the vendor, and whom it is metered for. */
export interface WatchedBatch {
  organizationId: string;
  batchId: string;
  begin: BeginFields;
  /** What its lines ran on, where that is one model: lines that failed do not say it. */
  model: string | undefined;
}

/** How far the metering is: lines that are done, by the file that they stand in. */
export interface BatchProgress {
  output: number;
  error: number;
  /** Lines that could not be recorded, because their id was somebody else's. */
  refused: number;
  /** Lines that were recorded, by the tier that paid. */
  recorded: Lines;
}

const TERMINAL = new Set(['completed', 'failed', 'expired', 'cancelled']);
/** Lines that are recorded at the same time, all by one customer's object. */
const CONCURRENCY = 20;
/** Lines of one run; it goes on in the next. */
const RUN_LINES_MAX = 1_000;
/** One run ends after this long and goes on in the next: alarms may take 15 minutes. */
const RUN_MS_MAX = 5 * MINUTE_MS;
/** A file that is still being read then has fallen silent. */
const FILE_MS_MAX = 8 * MINUTE_MS;

export function isTerminal(status: string | undefined): boolean {
  return status !== undefined && TERMINAL.has(status);
}

/** On whose behalf a batch is begun and metered, with nobody's request at hand. */
export async function callerOf(env: Env, organizationId: string, defer: Caller['defer']): Promise<Caller> {
  const organization = await loadOrganization(env, organizationId).catch((error: unknown) => {
    throw unreadable(error);
  });
  if (!organization) throw new Error('the organization is not there');
  return { env, organization: { ...organization, models: null }, defer };
}

/**
 * Asks the vendor, and meters what is answered. `pending` where the batch is not finished, `more` where this run's time
 * or lines were used up. `save` keeps the place, and says whether there still is a batch to be metered. Throws where
 * vendor or objects cannot be reached; what was done stays done.
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
  const found = await vendor.request({ method: 'GET', path: `batches/${batch.batchId}` }, 'text');
  if (found.kind !== 'answer' || !found.ok) throw new Error(`the vendor did not show the batch: ${outcomeOf(found)}`);
  const { status, output_file_id, error_file_id } = JSON.parse(String(found.body)) as Record<
    string,
    string | null | undefined
  >;
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

/** What files are metered with, one after the other. */
interface MeteringRun {
  readonly caller: Caller;
  readonly vendor: VendorAccess;
  readonly batch: WatchedBatch;
  /** As it was saved last. */
  progress: BatchProgress;
  readonly save: (progress: BatchProgress) => Promise<boolean>;
  readonly untilMs: number;
  linesLeft: number;
}

/** Whether the file was read to its end. */
async function meterFile(run: MeteringRun, name: 'output' | 'error', fileId: string): Promise<boolean> {
  const file = await run.vendor.request({ method: 'GET', path: `files/${fileId}/content` }, 'stream');
  if (file.kind === 'answer' && file.ok) return true; // an empty file has no body
  if (file.kind !== 'stream') throw new Error(`the vendor did not show the ${name} file: ${outcomeOf(file)}`);
  let number = 0;
  let waiting: Line[] = [];
  // A file that falls silent must not hold the alarm; what was done stays done.
  for await (const line of linesOf(file.body, BATCH_LINE_BYTES_MAX, FILE_MS_MAX)) {
    number += 1;
    // Of an earlier run.
    if (number <= run.progress[name]) continue;
    if (waiting.length === 0 && (run.linesLeft <= 0 || Date.now() > run.untilMs)) return false;
    waiting.push(line);
    if (waiting.length < CONCURRENCY) continue;
    if (!(await meterLines(run, name, waiting))) return false;
    waiting = [];
  }
  return waiting.length === 0 || meterLines(run, name, waiting);
}

/** Records the next lines of a file, and saves that. Whether there still is a batch to be metered. */
async function meterLines(run: MeteringRun, name: 'output' | 'error', lines: readonly Line[]): Promise<boolean> {
  const { caller, batch, progress } = run;
  const before = progress[name];
  const tiers = await Promise.all(lines.map((line, index) => meterLine(caller, batch, line, before + index)));
  const recorded = { ...progress.recorded };
  for (const tier of tiers) if (tier !== null) recorded[tier] = (recorded[tier] ?? 0) + 1;
  const refused = progress.refused + tiers.filter((tier) => tier === null).length;
  run.linesLeft -= lines.length;
  // Never in place: where saving fails, what was saved before still says how far the metering is.
  run.progress = { ...progress, [name]: before + lines.length, refused, recorded };
  return run.save(run.progress);
}

interface AnsweredLine {
  customId: string;
  outcome: Pick<Outcome, 'usage' | 'searches' | 'modelUsed' | 'reasoningEffort'> & { error?: CallError };
}

/** Records the line's call, once: the tier that it is counted in, `null` where the id is taken by something else. */
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
  // What the line is told apart by is its id: its content is the vendor's and does not change.
  const command = await beginCommand(caller, { ...begin, requested: { [tier]: true } }, `batch ${batchId}`, 'API');
  const end = await finishCommand(caller, {
    ...outcome,
    customerId,
    modelUsed,
    providerUsed: BATCH_VENDOR,
    answered: false,
  });
  const record = (claimedAtMs: number) =>
    ask(customerByName(env, organizationId, customerId), (customer) =>
      // Without a default plan: a customer who was erased since the batch began does not come back.
      customer.record({ ...command, defaultPlan: null, key: { source: 'explicit', callId, claimedAtMs } }, end),
    ) as Promise<FinishedCall>;
  const recorded = await underClaim(
    env,
    { organizationId, key: callId, customerId },
    // What the line used was used: its call stays with its customer.
    { command: record, outcomeOf: (finished) => finished, takeBack: async () => undefined },
  );
  if (!recorded) return refuseLine(callId, 'the id is claimed for another customer');
  // A line of an old run whose answers the object has dropped was metered then.
  return recorded.ok ? tier : refuseLine(callId, recorded.refusal.message);
}

function refuseLine(callId: string, reason: string): null {
  log('error', 'batch_line_refused', { callId, reason });
  return null;
}

/** What a line says. One that cannot be read, or is too long, ran all the same: what it used is not known. */
export function readLine({ text, cut }: Line, index: number): AnsweredLine {
  const line = cut ? null : parsed(text);
  const named = line?.custom_id ?? /"custom_id"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
  const customId = typeof named === 'string' && named !== '' ? named : `line ${index}`;
  if (!line) return { customId, outcome: { usage: null } };
  const { response, error } = line;
  const reported = readReportedUsage(response?.body);
  const said = plausible(reported);
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
      ...(said?.modelUsed !== undefined && { modelUsed: said.modelUsed }),
      ...(said?.reasoningEffort !== undefined && {
        reasoningEffort: said.reasoningEffort,
        reasoningEffortSource: 'provider_response' as const,
      }),
      ...(failure && { error: failure }),
    },
  };
}

/** The id of a line's call: readable where it can travel as a key, else by hash. */
export async function callIdOf(batchId: string, customId: string): Promise<string> {
  const readable = `batch:${batchId}:${customId}`;
  return idempotencyKey.safeParse(readable).success ? readable : `batch:${batchId}:${await sha256Hex(customId)}`;
}

interface VendorLine {
  custom_id?: unknown;
  response?: { status_code?: number; body?: unknown } | null;
  error?: unknown;
}

function parsed(text: string): VendorLine | null {
  const line = parseAnswer(text) as VendorLine | null | undefined;
  return typeof line === 'object' ? line : null;
}

function outcomeOf(result: { kind: string; status?: number }): string {
  return result.status === undefined ? result.kind : `${result.kind} ${result.status}`;
}
