/**
 * Compresses the texts of a conversation in the form of OpenAI's and Anthropic's APIs. Everything else in a message
 * stays unchanged: roles, names, ids, tool calls, images, documents, `cache_control`, and unknown fields.
 *
 * | text                                                              | techniques                                     |
 * |-------------------------------------------------------------------|------------------------------------------------|
 * | the first one, if it is of `system`, `developer` or `user`        | all of the profile                             |
 * | others of these roles                                             | of JSON alone; from `FREE` on all              |
 * | `tool`, `function`, and `tool_result` parts: strings, text parts  | of JSON alone                                  |
 * | `assistant` and any other role                                    | none: the model's own words stay unchanged     |
 *
 * Later texts may be the subject of the first one. The words of all texts except those of tools and models decide the
 * allowed changes.
 */
import { type CompressedText, compressPart, type TechniqueSaving } from './compress.ts';
import { FREE } from './levels.ts';
import { allowedBy } from './request.ts';
import { type CompressionProfile, TECHNIQUE, TECHNIQUES, type TechniqueName } from './techniques.ts';
import { type CountTokens, estimateTokens } from './tokens.ts';

export interface CompressedMessages<M> {
  /** In the same order. An unchanged message is the same object. */
  messages: M[];
  /** For all texts, also those that are never compressed; images and tool calls do not count. */
  originalTokens: number;
  compressedTokens: number;
  /** The techniques that changed a text, in the order of `TECHNIQUES`. */
  techniques: TechniqueSaving[];
}

type Treatment = 'words' | 'data' | 'none';
/** Rewrites a text, or only reads it. */
type Visit = (text: string, treatment: Treatment) => string;

/**
 * The profile's `minInputTokens` applies to all texts together, so that short messages of a long conversation are
 * compressed as well.
 */
export function compressMessages<M extends object>(
  messages: readonly M[],
  profile: CompressionProfile,
  countTokens: CountTokens = estimateTokens,
): CompressedMessages<M> {
  let originalTokens = 0;
  const words: string[] = [];
  for (const message of messages) {
    visitMessage(message, (text, treatment) => {
      originalTokens += countTokens(text);
      if (treatment === 'words') words.push(text);
      return text;
    });
  }
  const unchanged = { messages: [...messages], originalTokens, compressedTokens: originalTokens, techniques: [] };
  if (originalTokens < profile.minInputTokens) return unchanged;

  const allowed = allowedBy(words);
  const savings = new Map<TechniqueName, TechniqueSaving>();
  let compressedTokens = originalTokens;
  let isFirst = true;
  const visit: Visit = (text, treatment) => {
    const mayInstruct = treatment === 'words' && (isFirst || profile.aggressiveness >= FREE);
    isFirst = false;
    if (treatment === 'none') return text;
    const result = compressPart(
      text,
      mayInstruct ? { ...profile, minInputTokens: 0 } : forData(profile),
      { allowed, mayInstruct },
      countTokens,
    );
    compressedTokens -= result.originalTokens - result.compressedTokens;
    addSavings(savings, result);
    return result.text;
  };
  const compressed = messages.map((message) => visitMessage(message, visit));
  const techniques = TECHNIQUES.flatMap((name) => savings.get(name) ?? []);
  return { messages: compressed, originalTokens, compressedTokens, techniques };
}

/** The texts of a conversation, in order, with the roles of their messages. */
export function listTexts(messages: readonly object[]): { role: string; text: string }[] {
  const texts: { role: string; text: string }[] = [];
  for (const message of messages) {
    const role = isRecord(message) && typeof message.role === 'string' ? message.role : '';
    visitMessage(message, (text) => {
      texts.push({ role, text });
      return text;
    });
  }
  return texts;
}

function forData(profile: CompressionProfile): CompressionProfile {
  const techniques = profile.techniques.filter((name) => TECHNIQUE[name].on === 'json');
  return { ...profile, techniques, minInputTokens: 0 };
}

function addSavings(savings: Map<TechniqueName, TechniqueSaving>, { techniques }: CompressedText): void {
  for (const saving of techniques) {
    const { name } = saving;
    const known = savings.get(name) ?? { originalTokens: 0, compressedTokens: 0, savedTokens: 0 };
    savings.set(name, {
      name,
      originalTokens: known.originalTokens + saving.originalTokens,
      compressedTokens: known.compressedTokens + saving.compressedTokens,
      savedTokens: known.savedTokens + saving.savedTokens,
    });
  }
}

function visitMessage<M extends object>(message: M, visit: Visit): M {
  if (!isRecord(message)) return message;
  return withContent(message, 'content', treatmentForRole(message.role), visit);
}

function treatmentForRole(role: unknown): Treatment {
  switch (role) {
    case 'system':
    case 'developer':
    case 'user':
      return 'words';
    case 'tool':
    case 'function':
      return 'data';
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
      return withContent(part, 'content', treatment === 'none' ? 'none' : 'data', visit);
    default:
      return part;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
