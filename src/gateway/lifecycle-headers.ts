/**
 * The headers of a model's answers about its end: `Deprecation` (RFC 9745), `Sunset` (RFC 8594), and a link to the
 * public lookup, which knows the successor. A date without a source is left out.
 */
import { asServed, statusOn } from '../catalog/lifecycle.ts';
import { matchModel } from '../catalog/matching.ts';
import { type Catalog, modelKeyOf } from '../catalog/model.ts';
import { LOOKUP_PATH } from '../contract/model-lookup.ts';
import type { NamedModel } from '../metering/model-names.ts';
import { utcDay } from '../platform/time.ts';

/** Their names; browsers may read these headers too. */
export const LIFECYCLE_HEADERS = ['Deprecation', 'Sunset', 'Link'];

export function lifecycleHeaders(
  catalog: Catalog,
  { provider, model }: NamedModel,
  nowMs: number,
): Record<string, string> {
  const match = matchModel(catalog, model, nowMs);
  const known = match && asServed(match.model, model);
  const day = utcDay(nowMs);
  if (known?.provider !== provider || statusOn(known, day) === 'ACTIVE') return {};
  const { announcedAt, shutdownAt } = known.lifecycle;
  return {
    ...(announcedAt !== undefined && { Deprecation: `@${Date.parse(announcedAt) / 1000}` }),
    ...(shutdownAt !== undefined && { Sunset: new Date(shutdownAt).toUTCString() }),
    Link: `<${LOOKUP_PATH}/${encodeURI(modelKeyOf(known))}>; rel="successor-version"`,
  };
}
