/**
 * Compresses the texts of a conversation in the form of OpenAI's and Anthropic's APIs. Everything else in a message
 * stays unchanged: roles, names, ids, tool calls, images, documents, `cache_control`, and unknown fields.
 *
 * | text                                                              | techniques                                     |
 * |-------------------------------------------------------------------|------------------------------------------------|
 * | `system`, `developer`, `user`: string contents and text parts     | all of the profile                             |
 * | `tool`, `function`, and `tool_result` parts: strings, text parts  | the lossless ones: a result is data            |
 * | `assistant` and any other role                                    | none: the model's own words stay unchanged     |
 */
import { type CompressedText, compressText, type TechniqueSaving } from './compress.ts';
import { type CompressionProfile, LOSSLESS_TECHNIQUES, TECHNIQUES, type TechniqueName } from './techniques.ts';
import { estimateTokens } from './tokens.ts';

export interface CompressedMessages<M> {
  /** In the same order. An unchanged message is the same object. */
  messages: M[];
  /** Estimated for all texts, also those that are never compressed; images and tool calls do not count. */
  originalTokens: number;
  compressedTokens: number;
  /** The techniques that changed a text, in the order of `TECHNIQUES`. */
  techniques: TechniqueSaving[];
}

type Treatment = 'all' | 'lossless' | 'none';
/** Rewrites a text, or only measures it. */
type Visit = (text: string, treatment: Treatment) => string;

/**
 * The profile's `minInputTokens` applies to all texts together, so that short messages of a long conversation are
 * compressed as well.
 */
export function compressMessages<M extends object>(
  messages: readonly M[],
  profile: CompressionProfile,
): CompressedMessages<M> {
  let originalTokens = 0;
  for (const message of messages) {
    visitMessage(message, (text) => {
      originalTokens += estimateTokens(text);
      return text;
    });
  }
  const unchanged = { messages: [...messages], originalTokens, compressedTokens: originalTokens, techniques: [] };
  if (originalTokens < profile.minInputTokens) return unchanged;

  const saved = new Map<TechniqueName, number>();
  let compressedTokens = originalTokens;
  const visit: Visit = (text, treatment) => {
    if (treatment === 'none') return text;
    const result = compressText(text, profileFor(profile, treatment));
    compressedTokens -= result.originalTokens - result.compressedTokens;
    addSavings(saved, result);
    return result.text;
  };
  const compressed = messages.map((message) => visitMessage(message, visit));
  const techniques = TECHNIQUES.flatMap((name) =>
    saved.has(name) ? [{ name, savedTokens: saved.get(name) ?? 0 }] : [],
  );
  return { messages: compressed, originalTokens, compressedTokens, techniques };
}

function profileFor(profile: CompressionProfile, treatment: Treatment): CompressionProfile {
  const lossless: readonly TechniqueName[] = LOSSLESS_TECHNIQUES;
  const techniques =
    treatment === 'all' ? profile.techniques : profile.techniques.filter((name) => lossless.includes(name));
  return { ...profile, techniques, minInputTokens: 0 };
}

function addSavings(saved: Map<TechniqueName, number>, { techniques }: CompressedText): void {
  for (const { name, savedTokens } of techniques) saved.set(name, (saved.get(name) ?? 0) + savedTokens);
}

function visitMessage<M extends object>(message: M, visit: Visit): M {
  if (!isRecord(message)) return message;
  return withContent(message, 'content', treatmentOf(message.role), visit);
}

function treatmentOf(role: unknown): Treatment {
  switch (role) {
    case 'system':
    case 'developer':
    case 'user':
      return 'all';
    case 'tool':
    case 'function':
      return 'lossless';
    default:
      return 'none';
  }
}

/** The same object, or a copy of it with the texts in its content (or in its text) rewritten. */
function withContent<R extends object>(holder: R, field: 'content' | 'text', treatment: Treatment, visit: Visit): R {
  const content = (holder as Record<string, unknown>)[field];
  if (typeof content === 'string') {
    const text = visit(content, treatment);
    return text === content ? holder : { ...holder, [field]: text };
  }
  if (!Array.isArray(content)) return holder;
  const parts = content.map((part: unknown) => visitPart(part, treatment, visit));
  return parts.every((part, index) => part === content[index]) ? holder : { ...holder, [field]: parts };
}

function visitPart(part: unknown, treatment: Treatment, visit: Visit): unknown {
  if (!isRecord(part)) return part;
  switch (part.type) {
    case 'text':
    case 'input_text':
      return typeof part.text === 'string' ? withContent(part, 'text', treatment, visit) : part;
    case 'tool_result':
      // Anthropic's API has tool results in the user's message.
      return withContent(part, 'content', treatment === 'none' ? 'none' : 'lossless', visit);
    default:
      return part;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
