/**
 * Models that their provider has shut down: refused before anything begins, with the successor.
 *
 * A model is refused only if the catalog is certain. Another channel may still have the model, so the address must be
 * the provider's own. A date may have moved if others report it, or if it was read from Google before it came: then the
 * vendor is asked. The vendor is also asked while the published catalog cannot be read.
 */
import { findReplacement, isCertainlyRetired } from '../catalog/lifecycle.ts';
import { matchModel } from '../catalog/matching.ts';
import type { Catalog } from '../catalog/model.ts';
import type { OrganizationConfig } from '../config/credentials.ts';
import { VENDOR_BASE_URLS } from '../contract/vendors.ts';
import type { NamedModel } from '../metering/model-names.ts';
import { utcDay } from '../platform/time.ts';
import { type Refused, refuseCall } from './error-envelope.ts';
import { lifecycleHeaders } from './lifecycle-headers.ts';

/** The refusal of a model that is certainly retired at its address; `null` for any other. */
export function retiredAt(
  { vendors }: Pick<OrganizationConfig, 'vendors'>,
  catalog: Catalog,
  named: NamedModel,
  nowMs: number,
): Refused | null {
  const { provider, model: name } = named;
  const match = matchModel(catalog, name, nowMs);
  if (match === null || match.unlistedPin || match.model.provider !== provider) return null;
  const { model } = match;
  const day = utcDay(nowMs);
  const address = vendors.get(provider)?.baseUrl;
  if (catalog.standsIn || !isCertainlyRetired(model, day) || !isOwnAddress(provider, address)) return null;
  const live = findReplacement(catalog, model, day)?.live;
  const advice = live ? `; use ${live.modelKey}` : '';
  const message = `the model ${provider}/${name} was retired by its provider on ${model.lifecycle.shutdownAt}${advice}`;
  return refuseCall('MODEL_RETIRED', message, {
    param: 'model',
    headers: lifecycleHeaders(catalog, { provider, model: model.model }, nowMs),
  });
}

function isOwnAddress(provider: string, address: string | undefined): boolean {
  const own = VENDOR_BASE_URLS[provider];
  return own !== undefined && address !== undefined && new URL(own).origin === new URL(address).origin;
}
