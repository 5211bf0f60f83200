/**
 * The output tokens that a request to a vendor asks for, and the same request limited to fewer.
 *
 * The bound has its own name at every endpoint, and a request may contain names that its endpoint ignores. So the
 * vendor keeps the requested bound only after `withOutputBound` has set the endpoint's own field.
 */
import type { VendorKind } from '../../domain/vendor-kind.ts';
import { ACCEPTED } from '../../vendors/kind.ts';
import { COUNT_MAX, type Fields, fieldsOrEmpty, isFields } from '../../vendors/usage/figures.ts';
import { type Endpoint, type EndpointName, endpointAt } from './endpoints.ts';

export interface OutputAsked {
  /** The most tokens of one answer; `null` if the request names no bound. */
  perAnswer: number | null;
  /** Answers that are made and billed. */
  answers: number;
  /** The most answers of text that a field asks for, if that is more than one, and its path. */
  choices?: { count: number; param: string };
}

/** The endpoints' own names of the bound, newest first. The endpoint ignores other names. */
const NAMES: Partial<Record<EndpointName, readonly string[]>> = {
  chat: ['max_completion_tokens', 'max_tokens'],
  responses: ['max_output_tokens'],
  messages: ['max_tokens'],
  completions: ['max_tokens'],
};
/** Google's names, inside the configuration; its JSON takes both spellings. */
const GOOGLE_NAMES = ['maxOutputTokens', 'max_output_tokens'] as const;
const GOOGLE_HOLDERS = ['generationConfig', 'generation_config'] as const;
const GOOGLE_CHOICES = ['candidateCount', 'candidate_count'] as const;

const BOUND_NAMES: ReadonlySet<string> = new Set([...Object.values(NAMES).flat(), ...GOOGLE_NAMES]);

/** The bound of a text completion that names none. Source: OpenAI's API reference, `max_tokens` of completions. */
const TEXT_COMPLETION_TOKENS = 16;

/** Anthropic's lowest budget for thinking (platform.claude.com/docs/en/build-with-claude/extended-thinking). */
const THINKING_TOKENS_MIN = 1_024;

/** `path` is the path of the address, with or without its origin. */
export function outputAsked(body: unknown, path: string): OutputAsked {
  const fields = fieldsOrEmpty(body);
  const choices = countChoices(fields);
  const answers = Math.min(COUNT_MAX, choices.count * promptCount(fields));
  const endpoint = endpointAt(path);
  if (endpoint?.answers === 'nothing') return { perAnswer: 0, answers };
  const figures = (
    endpoint?.name === 'generateContent'
      ? GOOGLE_HOLDERS.flatMap((holder) =>
          GOOGLE_NAMES.map((name) => readPositive(fieldsOrEmpty(fields[holder])[name])),
        )
      : namesAt(endpoint).map((name) => readPositive(fields[name]))
  ).filter((figure) => figure !== null);
  const usual = endpoint?.name === 'completions' ? TEXT_COMPLETION_TOKENS : null;
  return {
    perAnswer: figures.length === 0 ? usual : Math.min(...figures),
    answers,
    ...(endpoint?.answers === 'text' && choices.count > 1 && { choices }),
  };
}

/**
 * The body with its endpoint's own bound lowered to `perAnswer`, or added if it has none; never raised. Returns the
 * same object if nothing changes, and for endpoints that have no such bound.
 */
export function withOutputBound<Body extends Fields>(
  body: Body,
  { kind, path }: { kind: VendorKind; path: string },
  perAnswer: number,
): Body {
  const endpoint = endpointAt(path);
  if (endpoint?.name === 'generateContent') return withGoogleBound(body, perAnswer);
  const names = namesAt(endpoint);
  if (names.length === 0) return body;
  const present = names.filter((name) => readPositive(body[name]) !== null);
  const own = names.find((name) => name === ACCEPTED[kind].chatBound) ?? names.at(-1);
  if (own === names[0]) return withOneBound(body, present[0] ?? own, names, perAnswer);
  // A vendor that knows only the oldest name would ignore the newest, so it gets that too. A value that is not a bound,
  // such as 0, is also replaced.
  const set = names.filter((name) => body[name] !== undefined && body[name] !== null);
  const bounds = boundFields(body, [...set, own], perAnswer);
  return bounds === null ? body : withThinkingBelow({ ...body, ...bounds });
}

/**
 * The body without any name of the bound. The bound is not part of the prompt: the prompt is the same with another
 * bound.
 */
export function withoutOutputBound(body: Fields): Fields {
  const bare: Record<string, unknown> = without(body, BOUND_NAMES);
  for (const holder of GOOGLE_HOLDERS) {
    const config = bare[holder];
    if (!isFields(config)) continue;
    bare[holder] = without(config, BOUND_NAMES);
    if (Object.keys(fieldsOrEmpty(bare[holder])).length === 0) delete bare[holder];
  }
  return bare;
}

function without(fields: Fields, names: ReadonlySet<string>): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => typeof value !== 'number' || !names.has(name)),
  );
}

/**
 * Whether the output of an endpoint has a bound: one that `withOutputBound` sets, or an endpoint that needs none. At
 * any other endpoint, only the model limits the output.
 */
export function hasOutputBound(path: string): boolean {
  const endpoint = endpointAt(path);
  return endpoint?.answers === 'nothing' || endpoint?.name === 'generateContent' || namesAt(endpoint).length > 0;
}

function namesAt(endpoint: Endpoint | undefined): readonly string[] {
  return (endpoint && NAMES[endpoint.name]) ?? [];
}

/** Keeps the bound under this name alone: a vendor that knows several names refuses a request with two of them. */
function withOneBound<Body extends Fields>(
  body: Body,
  name: string | undefined,
  names: readonly string[],
  perAnswer: number,
): Body {
  const others = names.filter((other) => other !== name && other in body);
  const least = Math.min(perAnswer, ...others.map((other) => readPositive(body[other]) ?? perAnswer));
  const bounds = boundFields(body, [name], least);
  if (bounds === null && others.length === 0) return body;
  const rest = Object.fromEntries(Object.entries(body).filter(([member]) => !others.includes(member)));
  return withThinkingBelow({ ...rest, ...bounds } as Body);
}

/** The fields that must change so that each of `names` is at most `perAnswer`; `null` if no field must change. */
function boundFields(holder: Fields, names: readonly (string | undefined)[], perAnswer: number): Fields | null {
  const figures = names.map((name) => readPositive(holder[String(name)])).filter((figure) => figure !== null);
  // A name that is added must not allow more than the others.
  const least = Math.min(perAnswer, ...figures);
  const changed = [...new Set(names)].filter((name) => {
    const figure = readPositive(holder[String(name)]);
    return figure === null || figure > perAnswer;
  });
  return changed.length === 0 ? null : Object.fromEntries(changed.map((name) => [String(name), least]));
}

/** Thoughts count towards Google's bound, and Google accepts a thinking budget above it. */
function withGoogleBound<Body extends Fields>(body: Body, perAnswer: number): Body {
  const present = GOOGLE_HOLDERS.filter((holder) => isFields(body[holder]));
  const holders = present.length === 0 ? [GOOGLE_HOLDERS[0]] : present;
  const changed = holders.flatMap((holder): [string, Fields][] => {
    const config = fieldsOrEmpty(body[holder]);
    const names = GOOGLE_NAMES.filter((name) => config[name] !== undefined && config[name] !== null);
    const bounds = boundFields(config, names.length === 0 ? [GOOGLE_NAMES[0]] : names, perAnswer);
    return bounds === null ? [] : [[holder, { ...config, ...bounds }]];
  });
  return changed.length === 0 ? body : { ...body, ...Object.fromEntries(changed) };
}

/**
 * Anthropic refuses a thinking budget that is not below `max_tokens`: the budget becomes half of the bound. If that is
 * less than the vendor's minimum, the model does not think.
 */
function withThinkingBelow<Body extends Fields>(body: Body): Body {
  const { thinking } = body;
  const bound = readPositive(body.max_completion_tokens) ?? readPositive(body.max_tokens);
  const budget = readPositive(fieldsOrEmpty(thinking).budget_tokens);
  if (budget === null || bound === null || budget < bound) return body;
  if (bound <= THINKING_TOKENS_MIN) {
    const { thinking: _thinking, ...rest } = body;
    return rest as Body;
  }
  const lowered = Math.max(THINKING_TOKENS_MIN, Math.floor(bound / 2));
  return { ...body, thinking: { ...fieldsOrEmpty(thinking), budget_tokens: lowered } };
}

/**
 * The number of answers for each prompt, and the field that asks for the most: OpenAI's `n` and `best_of`, all of which
 * are made and billed, and Google's `candidateCount`.
 */
function countChoices(body: Fields): { count: number; param: string } {
  const fields: [string, unknown][] = [
    ['n', body.n],
    ['best_of', body.best_of],
    ...GOOGLE_HOLDERS.flatMap((holder) =>
      GOOGLE_CHOICES.map((name): [string, unknown] => [`${holder}.${name}`, fieldsOrEmpty(body[holder])[name]]),
    ),
  ];
  return fields
    .map(([param, value]) => ({ param, count: readPositive(value) ?? 1 }))
    .reduce((most, other) => (other.count > most.count ? other : most));
}

/** The prompts of one request: a completion of text can have several. */
function promptCount({ prompt }: Fields): number {
  return Array.isArray(prompt) && typeof prompt[0] !== 'number' ? Math.max(1, prompt.length) : 1;
}

/**
 * A number of tokens or answers; `null` if it is absent or not positive: some vendors take 0 or -1 for no bound. Google
 * reads digits in a text as a number.
 */
export function readPositive(value: unknown): number | null {
  const figure = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof figure !== 'number' || !(figure >= 1)) return null;
  return Math.min(COUNT_MAX, Math.floor(figure));
}
