/**
 * The meaning of the words in a model's name: its size among its provider's models, the special work it is made for,
 * and whether the name moves from one model to the next.
 *
 * Providers name their lines with few words and keep them over generations, so these are rules about words, not about
 * models. An unknown word has no meaning: the model is a general one of the usual size.
 */
import type { CatalogModel, Provider } from './model.ts';

/** The size of a model whose name contains no word below: `gpt-5.1`, `gpt-6.1-sol`, `claude-sonnet-5`. */
const USUAL_SIZE = 3;
/** The largest difference between sizes. */
export const SIZES_APART_MAX = 4;

/** Sizes by word, from 1 to 5. The prices of the models bring the words of different providers onto one scale. */
const SIZES: Record<Provider, Record<string, number>> = {
  openai: { ada: 1, babbage: 1, nano: 1, luna: 1, curie: 2, mini: 2, small: 2, spark: 2, terra: 2, astra: 5, pro: 5 },
  anthropic: { instant: 2, haiku: 2, opus: 4, fable: 5, mythos: 5 },
  google: { lite: 1, '8b': 1, flash: 2, fast: 2, ultra: 4 },
};

/** The special work of models, by word. The first such word in a name counts. */
const SPECIALTIES: Record<string, string> = {
  cyber: 'security',
  daybreak: 'security',
  rosalind: 'life sciences',
  codex: 'coding',
  code: 'coding',
  audio: 'speech',
  computer: 'computer use',
  customtools: 'custom tools',
  gemma: 'open weights',
  research: 'research',
  robotics: 'robotics',
  search: 'web search',
  translate: 'translation',
};

/** From 1, the smallest, to 5. If a name has several of the words, the smallest counts: `flash-lite`. */
export function modelSize(model: CatalogModel): number {
  const sizes = splitModelName(model).flatMap((word) => SIZES[model.provider][word] ?? []);
  return sizes.length === 0 ? USUAL_SIZE : Math.min(...sizes);
}

/** The special work of the model; `null` for a general model. */
export function modelSpecialty(model: CatalogModel): string | null {
  const words = splitModelName(model);
  const word = Object.keys(SPECIALTIES).find((known) => words.includes(known));
  return word === undefined ? null : (SPECIALTIES[word] ?? null);
}

/** Whether the provider lets the name stand for one model today and for another tomorrow: `gemini-flash-latest`. */
export function isMovingName(model: CatalogModel): boolean {
  return splitModelName(model).includes('latest');
}

function splitModelName({ model }: CatalogModel): string[] {
  return model.split(/[-_.@/]/);
}
