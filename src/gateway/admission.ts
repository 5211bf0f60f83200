/**
 * What a request to a model must be allowed beside its tier: what it can do besides text, and models without a price.
 *
 * Sessions use models with a price alone. For keys, only credit does not pay for a model without one: the customer's
 * object decides that, because it alone knows what pays. An organization may allow both.
 */

import type { Capability } from '../domain/plan.ts';
import type { UnpricedTiers } from '../objects/customer-commands.ts';
import type { OrganizationConfig } from '../storage/credentials.ts';
import { capabilitiesAsked } from '../vendors/capabilities.ts';
import type { Failure } from './answer.ts';
import type { ModelRequest } from './input.ts';
import type { Attempt } from './models.ts';

/** What the request asks for with any of its models: each of them may be the one that runs. */
export function capabilitiesOf(body: ModelRequest, attempts: readonly Attempt[]): Capability[] {
  return [...new Set(attempts.flatMap(({ model }) => capabilitiesAsked({ model, body })))];
}

/** The refusal of a session's request that names a model without a price; `null` where there is none. */
export function refuseUnpriced(
  { allowUnpricedModels }: OrganizationConfig,
  attempts: readonly Attempt[],
): Failure | null {
  const unpriced = allowUnpricedModels ? undefined : attempts.find(({ priced }) => !priced);
  if (!unpriced) return null;
  const message = `the model ${JSON.stringify(unpriced.modelKey)} has no price, and a session may use only models with a price`;
  return { status: 403, code: 'MODEL_NOT_PRICED', message, param: 'model', retry: false };
}

/** The tiers for which credit must not pay. */
export function unpricedTiers(
  { allowUnpricedModels }: OrganizationConfig,
  attempts: readonly Attempt[],
): UnpricedTiers {
  const unpriced = allowUnpricedModels ? [] : attempts.filter(({ priced }) => !priced);
  return Object.fromEntries(unpriced.map(({ tier, modelKey }) => [tier, modelKey]));
}
