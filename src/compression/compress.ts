/**
 * Compresses a prompt with the techniques of a profile. Pure: the same text and profile always give the same result.
 *
 * Three invariants hold for every text: the result is never longer, in characters or in tokens; protected spans stay byte
 * for byte and in order; and compressing the result again changes nothing. A step that would break one of them is skipped.
 * A text that still changes after the last round is returned unchanged.
 */
import { findOccurrences } from './extents.ts';
import { endOfInstructions, standsAlone } from './instructions.ts';
import { FREE } from './levels.ts';
import { type Allowed, allowedBy } from './request.ts';
import { joinSegments, MASK, readsAsIntended, type Segment, splitSegments } from './segments.ts';
import { type CompressionProfile, TECHNIQUE, TECHNIQUES, type Technique, type TechniqueName } from './techniques.ts';
import { type CountTokens, estimateTokens } from './tokens.ts';

/** Longer texts are returned unchanged: at four characters per token, this is a context of a million tokens. */
const TEXT_LENGTH_MAX = 4_000_000;
/** A round may allow further shortening; the last round finds nothing more. */
const ROUNDS_MAX = 8;

export interface TechniqueSaving {
  name: TechniqueName;
  /** Tokens of the texts that it changed, before and after it. */
  originalTokens: number;
  compressedTokens: number;
  /** Never negative. They sum to the difference between the two totals. */
  savedTokens: number;
}

export interface CompressedText {
  text: string;
  originalTokens: number;
  compressedTokens: number;
  /** The techniques that changed the text, in the order of `TECHNIQUES`. */
  techniques: TechniqueSaving[];
}

/** The role of a text in its prompt. */
export interface TextContext {
  /** The changes that the words of the whole prompt allow. */
  allowed: Allowed;
  /** Whether it may begin with instructions, so that it is not data as a whole. */
  mayInstruct: boolean;
}

interface Draft {
  text: string;
  tokens: number;
  segments: Segment[];
}

type Split = (text: string) => Segment[];

/** A text that is a whole prompt. `countTokens` counts its tokens, before and after. */
export function compressText(
  text: string,
  profile: CompressionProfile,
  countTokens: CountTokens = estimateTokens,
): CompressedText {
  return compressPart(text, profile, { allowed: allowedBy([text]), mayInstruct: true }, countTokens);
}

/** A text that is part of a prompt. */
export function compressPart(
  text: string,
  profile: CompressionProfile,
  context: TextContext,
  countTokens: CountTokens,
): CompressedText {
  const originalTokens = countTokens(text);
  const unchanged: CompressedText = { text, originalTokens, compressedTokens: originalTokens, techniques: [] };
  const names = TECHNIQUES.filter(
    (name) => profile.techniques.includes(name) && TECHNIQUE[name].from <= profile.aggressiveness,
  );
  if (names.length === 0 || text.length > TEXT_LENGTH_MAX || originalTokens < profile.minInputTokens || isBlank(text))
    return unchanged;

  const split: Split = (part) => splitAt(part, profile, context);
  let draft: Draft = { text, tokens: originalTokens, segments: split(text) };
  const savings = new Map<TechniqueName, TechniqueSaving>();
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const before = draft;
    for (const name of names) {
      const next = improved(draft, TECHNIQUE[name], profile, split, countTokens);
      if (!next) continue;
      const { originalTokens: from, savedTokens } = savings.get(name) ?? {
        originalTokens: draft.tokens,
        savedTokens: 0,
      };
      const saved = savedTokens + draft.tokens - next.tokens;
      savings.set(name, { name, originalTokens: from, compressedTokens: from - saved, savedTokens: saved });
      draft = next;
    }
    if (draft === before) {
      const techniques = names.flatMap((name) => savings.get(name) ?? []);
      return { text: draft.text, originalTokens, compressedTokens: draft.tokens, techniques };
    }
  }
  return unchanged;
}

/**
 * The segments of a text, as far as they may change: below `FREE`, only instructions are prose, and only JSON that
 * stands alone is JSON.
 */
function splitAt(text: string, profile: CompressionProfile, { allowed, mayInstruct }: TextContext): Segment[] {
  const segments = splitSegments(text, profile.protectedPhrases);
  const isFree = profile.aggressiveness >= FREE;
  const proseEnd = isFree ? text.length : mayInstruct && allowed.prose ? endOfInstructions(text) : 0;
  const result: Segment[] = [];
  const add = (kind: Segment['kind'], part: string) => {
    const last = result.at(-1);
    if (part === '') return;
    if (last?.kind === 'protected' && kind === 'protected') last.text += part;
    else result.push({ kind, text: part });
  };
  let at = 0;
  let json = null;
  for (const { kind, text: part } of segments) {
    const extent = { start: at, end: at + part.length };
    at = extent.end;
    if (kind === 'json') {
      const mayChange = isFree ? allowed.unlessAsked : allowed.json && standsAlone(text, extent, json);
      add(mayChange ? 'json' : 'protected', part);
      json = extent;
    } else if (kind === 'prose') {
      const length = Math.max(0, proseEnd - extent.start);
      add('prose', part.slice(0, length));
      add('protected', part.slice(length));
    } else add('protected', part);
  }
  return result;
}

/** The draft after one technique, or `null` if the technique changes nothing or may not be applied. */
function improved(
  draft: Draft,
  technique: Technique,
  profile: CompressionProfile,
  split: Split,
  countTokens: CountTokens,
): Draft | null {
  const { protectedPhrases: phrases, aggressiveness } = profile;
  const intended =
    technique.on === 'prose'
      ? rewriteProse(draft.segments, technique, aggressiveness)
      : rewriteJson(draft.segments, technique, phrases, countTokens);
  if (!intended) return null;
  const text = joinSegments(intended);
  // No model takes an empty prompt.
  if (text === draft.text || text.length > draft.text.length || isBlank(text)) return null;
  const tokens = countTokens(text);
  if (tokens > draft.tokens) return null;
  const segments = split(text);
  return readsAsIntended(intended, segments) ? { text, tokens, segments } : null;
}

type ProseTechnique = Extract<Technique, { on: 'prose' }>;

function rewriteProse(
  segments: readonly Segment[],
  technique: ProseTechnique,
  aggressiveness: number,
): Segment[] | null {
  const masked = segments.map(({ kind, text }) => (kind === 'prose' ? text : MASK)).join('');
  const prose = technique.rewrite(masked, aggressiveness).split(MASK);
  const fixed = segments.filter(({ kind }) => kind !== 'prose');
  if (prose.length !== fixed.length + 1) return null;
  return prose.flatMap((text, index) => [{ kind: 'prose' as const, text }, ...fixed.slice(index, index + 1)]);
}

type JsonTechnique = Extract<Technique, { on: 'json' }>;

function rewriteJson(
  segments: readonly Segment[],
  technique: JsonTechnique,
  phrases: readonly string[],
  countTokens: CountTokens,
): Segment[] | null {
  let changed = false;
  const rewritten = segments.flatMap((segment, index): Segment[] => {
    if (segment.kind !== 'json') return [segment];
    const parts = technique.block ? asBlock(segments, index, technique) : [rewrittenJson(segment, technique)];
    const text = joinSegments(parts);
    if (!isShorter(text, segment.text, countTokens) || !keepsPhrases(segment.text, text, phrases)) return [segment];
    changed = true;
    return parts;
  });
  return changed ? rewritten : null;
}

function rewrittenJson(segment: Segment, technique: JsonTechnique): Segment {
  const text = technique.rewrite(segment.text);
  return text === null ? segment : { kind: technique.block ? 'protected' : 'json', text };
}

/** Punctuation on either side: the JSON is part of a larger expression and cannot become a block. */
const EXPRESSION_BEFORE = /[[({,=<\\]\s*$/;
const EXPRESSION_AFTER = /^\s*[\])},;.:\\]/;
/** Characters of the neighbours that are examined, so that the search is linear. */
const NEIGHBOUR_LENGTH_MAX = 100;

/** The rewritten JSON on lines of its own, or the original if it cannot be moved there. */
function asBlock(segments: readonly Segment[], index: number, technique: JsonTechnique): Segment[] {
  const before = segments[index - 1]?.text.slice(-NEIGHBOUR_LENGTH_MAX) ?? '';
  const after = segments[index + 1]?.text.slice(0, NEIGHBOUR_LENGTH_MAX) ?? '';
  const segment = segments.slice(index, index + 1);
  if (EXPRESSION_BEFORE.test(before) || EXPRESSION_AFTER.test(after)) return segment;
  const newline: Segment[] = [{ kind: 'prose', text: '\n' }];
  return [
    ...(before === '' || before.endsWith('\n') ? [] : newline),
    ...segment.map((json) => rewrittenJson(json, technique)),
    ...(after === '' || after.startsWith('\n') || after.startsWith('\r\n') ? [] : newline),
  ];
}

function isShorter(text: string, than: string, countTokens: CountTokens): boolean {
  return text.length < than.length && countTokens(text) <= countTokens(than);
}

/** Whether both texts have the same protected phrases in the same order. */
function keepsPhrases(before: string, after: string, phrases: readonly string[]): boolean {
  const order = (text: string) =>
    phrases
      .flatMap((phrase) => findOccurrences(text, phrase).map(({ start }) => ({ start, phrase })))
      .sort((a, b) => a.start - b.start)
      .map(({ phrase }) => phrase);
  const kept = order(after);
  const wanted = order(before);
  return kept.length === wanted.length && kept.every((phrase, index) => phrase === wanted[index]);
}

const isBlank = (text: string) => text.trim() === '';
