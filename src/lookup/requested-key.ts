/**
 * The key that a lookup's path asks for: `/{provider}/{model}` or one qualified key, percent-encoded or not.
 */

import type { Provider } from '../catalog/model.ts';
import type { RequestedKey } from '../catalog/resolution.ts';
import type { Refusal, Result } from '../contract/errors.ts';
import { CONTROL_CHARACTERS } from '../contract/fields.ts';
import { PROVIDERS } from '../contract/model-lookup.ts';

const MODEL_LENGTH_MAX = 300;
/** Some clients call Google's models `gemini`. */
const NAMESPACES = new Map<string, Provider>([...PROVIDERS.map((name) => [name, name] as const), ['gemini', 'google']]);

/**
 * `rawPath` is the unchanged path after the lookup's own; `certainKey` returns the key of a name without a provider, if it
 * has one.
 */
export function parseRequestedKey(
  rawPath: string,
  keyOf: (name: string) => string | null = () => null,
): Result<{ key: RequestedKey }, Refusal<'INVALID_MODEL_KEY'>> {
  let path: string;
  try {
    path = decodeURIComponent(rawPath);
  } catch {
    return refuse('the model key is not decodable: percent signs must be encoded as %25');
  }
  if (CONTROL_CHARACTERS.test(path) || !path.isWellFormed())
    return refuse('the model key must not contain control characters or broken Unicode');
  const [, namespace = '', separator = '', model = ''] = /^([^/:]*)([/:]?)([\s\S]*)$/.exec(path) ?? [];
  const provider = NAMESPACES.get(namespace.toLowerCase());
  if (!provider) {
    const key = path.length > MODEL_LENGTH_MAX ? null : keyOf(path);
    const advice = key === null ? 'as in openai/gpt-4o' : `ask for ${key}`;
    return refuse(`the model key must begin with a provider (${PROVIDERS.join(', ')}), ${advice}`);
  }
  if (/^[\s/]*$/.test(model)) return refuse('the model key names no model');
  if (model.length > MODEL_LENGTH_MAX) return refuse(`the model must have at most ${MODEL_LENGTH_MAX} characters`);
  const decorated = separator === ':' || namespace !== provider;
  return { ok: true, key: { modelKey: `${provider}/${model}`, provider, model, decorated } };
}

function refuse(message: string): { ok: false; refusal: Refusal<'INVALID_MODEL_KEY'> } {
  return { ok: false, refusal: { code: 'INVALID_MODEL_KEY', message } };
}
