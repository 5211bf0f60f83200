/**
 * A model that is left open: one name for each tier, and what the customer is entitled to decides which of them runs.
 *
 * It travels through a vendor's SDK as the string that the SDK's types want, made of characters that stand in an
 * address as well as in a body. Without a wrapper around the SDK, the vendor refuses it as an unknown model.
 */
import { badInput } from '../errors.ts';

export interface ModelTiers {
  premium: string;
  /** The fallback that the application approves, under every policy. */
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

/** `null` for the name of one model. */
export function readTiers(model: string): ModelTiers | null {
  if (!model.startsWith(PREFIX)) return null;
  const [premium = '', standard = ''] = model.slice(PREFIX.length).split(',').map(decodeURIComponent);
  return { premium, standard };
}
