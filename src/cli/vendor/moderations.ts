/**
 * OpenAI's moderations: every text is harmless, unless it contains the word `flagged`.
 */
import { type Fields, listOrEmpty } from '../../vendors/usage/figures.ts';
import { newId } from './dialect.ts';
import { collectText } from './prompt.ts';

const CATEGORIES = [
  ...['harassment', 'harassment/threatening', 'hate', 'hate/threatening', 'illicit', 'illicit/violent', 'self-harm'],
  ...['self-harm/instructions', 'self-harm/intent', 'sexual', 'sexual/minors', 'violence', 'violence/graphic'],
];

export function moderate({ model = 'omni-moderation-latest', input }: Fields): Fields {
  // The parts of one input are judged together.
  const isList = Array.isArray(input) && typeof input[0] === 'string';
  const inputs = isList ? listOrEmpty(input) : [input];
  const named = model === 'omni-moderation-latest' ? 'omni-moderation-2024-09-26' : model;
  return { id: newId('modr-'), model: named, results: inputs.map((one) => moderateText(collectText(one))) };
}

function moderateText(text: string): Fields {
  const flagged = /\bflagged\b/i.test(text);
  const each = <Value>(value: (category: string) => Value) =>
    Object.fromEntries(CATEGORIES.map((category) => [category, value(category)]));
  const isIt = (category: string) => flagged && category === 'violence';
  return {
    flagged,
    categories: each(isIt),
    category_scores: each((category) => (isIt(category) ? 0.9 : 0.0001)),
    category_applied_input_types: each(() => ['text']),
  };
}
