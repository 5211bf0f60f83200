/**
 * The figures of a call whose answer was lost and whose vendor keeps the response: the question to the vendor, and its
 * reply. The customer's object asks (durable-objects/customer/commands/awaited-figures.ts).
 *
 * A response that has ended without figures leaves the call as it was ended. One that failed before any output, and
 * reports none, was not billed.
 */

import { modelToRecord } from '../catalog/prices.ts';
import { currentCatalog } from '../config/catalog.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { NO_USAGE } from '../domain/usage.ts';
import type { Env } from '../env.ts';
import { listParts } from '../metering/call-parts.ts';
import type { Caller } from '../metering/caller.ts';
import type { LateFigures } from '../objects/customer-commands.ts';
import type { WholeResult } from '../vendors/request.ts';
import { type Fields, isFields } from '../vendors/usage/figures.ts';
import { hasEnded } from '../vendors/usage/openai.ts';
import { loadCaller } from './batches/metering.ts';
import { accessVendor, VENDOR_ID } from './pass-through.ts';
import { endServiceCallCommand, type Outcome, reportedUsage } from './service-calls/end.ts';
import { type AnswerFacts, readVendorAnswer } from './vendor-answer.ts';

/** A response that its vendor keeps. Plain JSON. */
export interface AwaitedResponse {
  responseId: string;
  providerUsed: string;
  /** The name under which the vendor was asked for the model. */
  model: string;
  /** Whether any text of it arrived. */
  hasWritten: boolean;
  /** The known facts of the call without the response. */
  known: Omit<Outcome, 'usage' | 'estimate' | 'worked' | 'response' | 'awaited'>;
}

/** Characters that are stored for one response. */
const AWAITED_LENGTH_MAX = 64 * 1024;
/** How long the vendor may take to show a response. */
const SHOWN_MS_MAX = 10_000;

/** The text that is stored to ask for the figures later; `undefined` if the vendor cannot be asked. */
export function awaitedText(awaited: AwaitedResponse): string | undefined {
  const text = JSON.stringify(awaited);
  return VENDOR_ID.test(awaited.responseId) && text.length <= AWAITED_LENGTH_MAX ? text : undefined;
}

/** Asks the vendor. `pending`: ask it again later. `none`: it has no figures, and will have none. */
export async function fetchFigures(
  env: Env,
  organizationId: OrganizationId,
  text: string,
  defer: Caller['defer'],
): Promise<LateFigures | 'pending' | 'none'> {
  const awaited = JSON.parse(text) as AwaitedResponse;
  const caller = await loadCaller(env, organizationId, defer);
  const vendor = await accessVendor(caller, awaited.providerUsed);
  if (!vendor) return 'pending';
  const path = `responses/${awaited.responseId}`;
  const shown = await vendor.ask({ method: 'GET', path, timeoutMsMax: SHOWN_MS_MAX });
  if (shown.kind === 'answer' && shown.status === 404) return 'none';
  const response = responseIn(shown, awaited);
  if (!response || !hasEnded(response.document)) return 'pending';
  return (await readLateFigures(caller, awaited, response)) ?? 'none';
}

/** The response that was asked for; `null` if the vendor did not show it. */
function responseIn(shown: WholeResult, { responseId }: AwaitedResponse): (AnswerFacts & { document: Fields }) | null {
  const answer = readVendorAnswer(shown);
  if (answer.kind === 'none' || !answer.ok) return null;
  const { document } = answer;
  return isFields(document) && document.id === responseId ? { ...answer, document } : null;
}

/** The end of the call with the vendor's figures; `null` if it reports none. */
async function readLateFigures(
  caller: Caller,
  { providerUsed, model, known, hasWritten: hasShown }: AwaitedResponse,
  { reported, searches, refused }: AnswerFacts,
): Promise<LateFigures | null> {
  const usage = reportedUsage(reported) ?? (refused && !hasShown ? NO_USAGE : null);
  if (!usage) return null;
  const { env, organization, defer } = caller;
  const { catalog } = await currentCatalog(env, defer);
  const { modelUsed: served, isFallback, reasoningEffort, vendorReportedCostUSD } = reported ?? {};
  const names = { asked: isFallback ? undefined : model || undefined, served, providerUsed };
  return endServiceCallCommand(caller, {
    ...known,
    usage,
    parts: [...listParts(reported), ...(known.parts ?? [])],
    searches,
    vendorReportedCostUSD,
    modelUsed: await modelToRecord(catalog, organization.prices, names, Date.now()),
    ...(reasoningEffort !== undefined && { reasoningEffort, reasoningEffortSource: 'provider_response' as const }),
  });
}
