/**
 * The dialects of `generateContent` and `streamGenerateContent`, Google's own API. The path names the model and says
 * whether the answer is a stream; streams pass byte for byte.
 */
import type { z } from 'zod';
import { modelOperations } from '../../contract/gateway/operations.ts';
import type { GenerateContentRequest } from '../../contract/gateway/requests.ts';
import { type Effort, isEffort, thinkingWithin } from '../../vendors/effort.ts';
import { type Fields, fieldsOrEmpty, isFields, textOrEmpty } from '../../vendors/usage/figures.ts';
import type { AttemptTerms, Dialect, VendorBody } from './dialect.ts';
import { GenerateContentClosing } from './generate-content-closing.ts';
import { googleEndpoint } from './google.ts';

/** Google's JSON takes both spellings of every name. */
const CONFIGS = ['generationConfig', 'generation_config'] as const;
const THINKING_CONFIGS = ['thinkingConfig', 'thinking_config'] as const;
const LEVELS = ['thinkingLevel', 'thinking_level'] as const;
const BUDGETS = ['thinkingBudget', 'thinking_budget'] as const;

/** The members that name a request's model and form, which travel in the path. */
interface Addressed {
  model: string;
  stream?: unknown;
}

type Request = z.infer<typeof GenerateContentRequest>;

const shared = {
  alternative: '/v1/chat/completions',
  userOf: () => undefined,

  effortAsked(request: Request): Effort | undefined {
    const level = textOrEmpty(thinkingLevel(thinkingConfig(request))).toLowerCase();
    if (isEffort(level)) return level;
    return thinksNot(request) ? 'none' : undefined;
  },

  thinksNot,

  vendorBody(request: Request, terms: AttemptTerms): VendorBody {
    const { model: _model, stream: _stream, ...body } = request as Request & Addressed;
    const asked = shared.effortAsked(request);
    const config = CONFIGS.find((name) => isFields(body[name])) ?? CONFIGS[0];
    const holder = fieldsOrEmpty(body[config]);
    const name = THINKING_CONFIGS.find((spelling) => isFields(holder[spelling])) ?? THINKING_CONFIGS[0];
    const thinking = withEffort(fieldsOrEmpty(holder[name]), asked, terms);
    return thinking === null ? body : { ...body, [config]: { ...holder, [name]: thinking } };
  },

  streamTransform: () => undefined,
};

export const generateContent: Dialect<typeof modelOperations.generateContent> = {
  operation: modelOperations.generateContent,
  ...googleEndpoint('generateContent'),
  ...shared,
  addressed: (model) => ({ model }),
  streamClosing: () => undefined,
};

export const streamGenerateContent: Dialect<typeof modelOperations.streamGenerateContent> = {
  operation: modelOperations.streamGenerateContent,
  ...googleEndpoint('streamGenerateContent'),
  ...shared,
  addressed: (model, query) => ({ model, ...(query('alt') === 'sse' && { stream: true }) }),
  // Without events the stream is a JSON array, which is passed on when it is complete.
  vendorUrl: (address, request) =>
    `${googleEndpoint('streamGenerateContent').vendorUrl(address)}${(request as Partial<Addressed>).stream === true ? '?alt=sse' : ''}`,
  streamClosing: (request) =>
    new GenerateContentClosing((request as Request & Addressed).model, countCandidates(request)),
};

function thinkingConfig(request: Fields): Fields {
  const configs = CONFIGS.map((name) => fieldsOrEmpty(request[name]));
  return Object.assign({}, ...configs.flatMap((config) => THINKING_CONFIGS.map((name) => fieldsOrEmpty(config[name]))));
}

function thinkingLevel(thinking: Fields): unknown {
  return LEVELS.map((name) => thinking[name]).find((value) => value != null);
}

/** The request allows no thinking token. A level beside that is another wish. */
function thinksNot(request: Request): boolean {
  const thinking = thinkingConfig(request);
  return thinkingLevel(thinking) === undefined && BUDGETS.some((name) => thinking[name] === 0);
}

function countCandidates(request: Fields): number {
  const config = fieldsOrEmpty(CONFIGS.map((name) => request[name]).find(isFields));
  const count = config.candidateCount ?? config.candidate_count;
  return typeof count === 'number' ? count : 1;
}

/** The thinking configuration with the chosen effort; `null` if nothing changes. */
function withEffort(thinking: Fields, asked: Effort | undefined, { effort, ceiling }: AttemptTerms): Fields | null {
  const changed: Fields = {};
  for (const name of BUDGETS) {
    const tokens = thinking[name];
    // The model decides if the budget is negative, so the ceiling has to limit it.
    const most = typeof tokens === 'number' && tokens >= 0 ? tokens : Number.MAX_SAFE_INTEGER;
    const allowed = thinkingWithin(most, ceiling);
    if (tokens != null && allowed < most) changed[name] = allowed;
  }
  const level = LEVELS.find((name) => thinking[name] != null);
  const byLevel = level !== undefined || (asked === undefined && effort !== undefined);
  if (byLevel && effort !== asked)
    changed[level ?? LEVELS[0]] = effort === undefined ? undefined : effort.toUpperCase();
  return Object.keys(changed).length === 0 ? null : { ...thinking, ...changed };
}
