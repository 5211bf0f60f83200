/**
 * The corpus of requests on credit: those that are refused at the catalog's prices, and the holds of the others.
 */
import { BUILT_IN_CATALOG as catalog } from '../../src/catalog/built-in.ts';
import { findModelLimits } from '../../src/catalog/limits.ts';
import { resolvePrice } from '../../src/catalog/prices.ts';
import type { CallBound } from '../../src/domain/bound.ts';
import { callBound } from '../../src/gateway/demand/call-bound.ts';
import { CORPUS_PATHS, CORPUS_UPLOADS, type CorpusDialect, type CorpusRequest } from './request-corpus.ts';

/** The time of the prices. */
const NOW = Date.UTC(2026, 10, 27);

/** The refused requests, by the component without a rate or a bound, with their number in the corpus. */
export const REFUSED_OF_CORPUS: Record<string, number> = {
  // A price without the rate.
  'chat: MODEL_NOT_PRICED audioOutput': 1,
  'chat: MODEL_NOT_PRICED model': 6,
  'chat: MODEL_NOT_PRICED webSearch': 1,
  'completions: MODEL_NOT_PRICED model': 4,
  'generateContent: MODEL_NOT_PRICED fileSearch': 1,
  'generateContent: MODEL_NOT_PRICED imageInput': 1,
  'generateContent: MODEL_NOT_PRICED model': 1,
  'imageEdits: MODEL_NOT_PRICED imageOutput': 1,
  'transcriptions: MODEL_NOT_PRICED audioInput': 1,
  'transcriptions: MODEL_NOT_PRICED model': 1,
  // Containers that run code, maps, pictures drawn by a tool, and models besides the one that is asked.
  'chat: MODEL_NOT_PRICED otherModel': 1,
  'generateContent: MODEL_NOT_PRICED codeMinutes': 2,
  'generateContent: MODEL_NOT_PRICED maps': 1,
  'messages: BOUND_UNKNOWN field:messages/fallback_credit_token': 1,
  'messages: MODEL_NOT_PRICED codeMinutes': 4,
  'messages: MODEL_NOT_PRICED otherModel': 1,
  'responses: MODEL_NOT_PRICED codeMinutes': 3,
  'responses: MODEL_NOT_PRICED imageGeneration': 1,
  'responses: MODEL_NOT_PRICED otherModel': 1,
  // Google bills each search that the model makes, and takes no bound of them.
  'generateContent: BOUND_UNKNOWN webSearch': 4,
  // A stored prompt brings its own tools.
  'responses: BOUND_UNKNOWN storedPrompt': 2,
  // For llama.cpp's server it stands above the bound that is sent.
  'chat: BOUND_UNKNOWN field:chat/n_predict': 1,
  // Plugins have fees of their own; several agents and compactions are runs of the model that nothing bounds; the last one
  // is a setting of an SDK that leaks into its request.
  'chat: BOUND_UNKNOWN field:chat/plugins': 2,
  'messages: BOUND_UNKNOWN field:messages/context_management.edits.*.type': 1,
  'responses: BOUND_UNKNOWN field:responses/multi_agent': 1,
  'messages: BOUND_UNKNOWN field:messages/compactionControl': 2,
};

export async function boundOfCorpus(dialect: CorpusDialect, { kind, model, body }: CorpusRequest): Promise<CallBound> {
  const provider = kind === 'compatible' ? undefined : kind;
  const price = await resolvePrice(catalog, new Map(), { modelUsed: model, providerUsed: provider }, NOW);
  const limits = findModelLimits(catalog, model, NOW);
  const read = CORPUS_UPLOADS.has(dialect) ? asFormIsRead(body) : body;
  const request = { provider, kind, model, path: CORPUS_PATHS[dialect], body: read, price, limits, asIs: false };
  const opened = { allowUnpricedModels: false, creditOpen: [] };
  return callBound({ ...request, tier: null, onDowngrade: false, inSteps: false }, 'standard', opened);
}

/** Forms write a list as `include[]`. */
function asFormIsRead(body: CorpusRequest['body']): CorpusRequest['body'] {
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name.replace(/\[\]$/, ''), value]));
}
