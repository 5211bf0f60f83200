/**
 * A model name for each tier: the customer's entitlement decides which one runs.
 *
 * It passes through the vendor's SDK as a string, in characters that are valid in a URL and in a body. Without a
 * wrapper the vendor rejects it as an unknown model.
 */
import { badInput } from '../errors.ts';

export interface ModelTiers {
  premium: string;
  /** The fallback that the application accepts, under every policy. */
  standard: string;
}

const PREFIX = 'model-by-tier,';

/** `model: modelByTier({ premium: 'gpt-6-sol', standard: 'gpt-6-luna' })` */
export function modelByTier({ premium, standard }: ModelTiers): string {
  for (const [tier, model] of Object.entries({ premium, standard })) {
    if (typeof model !== 'string' || model === '') throw badInput(tier, 'must be the name of a model');
  }
  return `${PREFIX}${encodeURIComponent(premium)},${encodeURIComponent(standard)}`;
}

/** The models of a name made by `modelByTier`; `null` for any other name. */
export function readTiers(model: string): ModelTiers | null {
  if (!model.startsWith(PREFIX)) return null;
  const [premium = '', standard = ''] = model.slice(PREFIX.length).split(',').map(decodeURIComponent);
  return { premium, standard };
}
