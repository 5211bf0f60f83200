/**
 * The limits of an API key: the lists on the wire, and the refusal of names outside of them.
 *
 * A limit applies to the calls that a key may pay for. Its scopes decide what it may read.
 */
import { z } from 'zod';
import { type Refused, refuse } from './errors.ts';
import { TEXT_LENGTH_MAX, text } from './fields.ts';
import { MODEL_NAME_LENGTH_MAX } from './gateway/requests.ts';

/** The most models, and the most features, that a key can be limited to. */
const KEY_NAMES_MAX = 50;

const names = (lengthMax: number) => z.array(text(lengthMax)).min(1).max(KEY_NAMES_MAX);

export const keyModels = names(MODEL_NAME_LENGTH_MAX);
export const keyFeatures = names(TEXT_LENGTH_MAX);

/** The limits of a key that has any. A list that is `null` limits nothing. */
export interface KeyLimits {
  /** Names of models as in a request: `provider/model`, a bare name, or a mapping. */
  models: readonly string[] | null;
  features: readonly string[] | null;
  /** The request comes from a browser with a session of the key; its refusal does not show the lists. */
  ofSession?: true;
}

/** The refusal of a feature that the key is not for; `null` if it may be used. */
export function closedFeature(
  limits: KeyLimits | null | undefined,
  feature: string | undefined,
): Refused<'FEATURE_NOT_ALLOWED'> | null {
  if (!limits?.features || (feature !== undefined && limits.features.includes(feature))) return null;
  const named =
    feature === undefined ? 'the request names no feature' : `the feature ${quoted(feature)} is not allowed`;
  const message = `${named}: ${describeLimit(limits, 'features')}`;
  return refuse('FEATURE_NOT_ALLOWED', message, { members: { details: [{ path: 'feature', message }] } });
}

/** The refusal of a model that the key is not for; without a name, of a request whose model cannot be told. */
export function modelNotAllowed(
  limits: KeyLimits,
  name: string | undefined,
  path: string,
): Refused<'MODEL_NOT_ALLOWED'> {
  const named = name === undefined ? 'the request names no model' : `the model ${quoted(name)} is not allowed`;
  const message = `${named}: ${describeLimit(limits, 'models')}`;
  return refuse('MODEL_NOT_ALLOWED', message, { members: { details: [{ path, message }] } });
}

/** The most names that a message repeats, and the length of each. */
const NAMES_TOLD_MAX = 10;
const NAME_TOLD_LENGTH_MAX = 100;

function describeLimit(limits: KeyLimits, what: 'models' | 'features'): string {
  if (limits.ofSession) return `the API key of the session is limited to other ${what}`;
  const all = limits[what] ?? [];
  const told = all.slice(0, NAMES_TOLD_MAX).map(clipped).join(', ');
  const more = all.length > NAMES_TOLD_MAX ? ` and ${all.length - NAMES_TOLD_MAX} more` : '';
  return `the API key is limited to the ${what} ${told}${more}`;
}

function quoted(name: string): string {
  return clipped(JSON.stringify(name));
}

function clipped(name: string): string {
  return name.length <= NAME_TOLD_LENGTH_MAX ? name : `${name.slice(0, NAME_TOLD_LENGTH_MAX)}...`;
}
