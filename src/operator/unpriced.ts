/**
 * The console's view of an organization's calls without a price: by model, with the reason of the last call.
 */
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { findOldCalls } from '../history/calls.ts';
import { sumUnpricedByModel, type UnpricedModel } from '../history/unpriced-calls.ts';

/** The most models that are listed: those with the most calls. */
const LISTED_MAX = 100;

export interface ListedModel extends UnpricedModel {
  /** The reason of its last call; `null` if none was recorded. */
  reason: string | null;
}

export interface UnpricedModels {
  models: ListedModel[];
  /** The number of all models, with all of their calls. */
  total: number;
  calls: number;
  /** Whether every call was looked at, not only the newest. */
  isAll: boolean;
}

/** Counts the calls that began at `fromMs` or later. */
export async function listUnpricedModels(
  env: Env,
  organizationId: OrganizationId,
  fromMs: number,
): Promise<UnpricedModels> {
  const { models, isAll } = await sumUnpricedByModel(env, organizationId, fromMs);
  const listed = models.slice(0, LISTED_MAX);
  const last = await findOldCalls(
    env,
    organizationId,
    listed.map(({ lastCallId }) => lastCallId),
  );
  const reasons = new Map(
    last.map(({ callId, outcome }) => [callId, outcome?.price.status === 'UNAVAILABLE' ? outcome.price.reason : null]),
  );
  return {
    models: listed.map((model) => ({ ...model, reason: reasons.get(model.lastCallId) ?? null })),
    total: models.length,
    calls: models.reduce((sum, { calls }) => sum + calls, 0),
    isAll,
  };
}
