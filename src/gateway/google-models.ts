/**
 * Use cases: list the models and read one, in Google's form, for clients of its API. Only models that `generateContent` or
 * `embedContent` can be asked for are there, under the names that its clients use.
 */
import { matchModel } from '../catalog/matching.ts';
import type { Catalog } from '../catalog/model.ts';
import { currentCatalog } from '../config/catalog.ts';
import type { GoogleModel, GoogleModelList } from '../contract/gateway/answers.ts';
import type { Caller } from '../metering/caller.ts';
import { candidatesFor } from '../metering/model-names.ts';
import type { GatewayAnswer } from './answer.ts';
import { generateContent } from './dialects/generate-content.ts';
import { googleError } from './dialects/google.ts';
import { refusalAnswer, refuseCall } from './error-envelope.ts';
import { type DescribedModel, found, modelsAt, retrieveModelAt } from './list-models.ts';

/** Source: ai.google.dev/api/models, `pageSize` of models.list: more than the most is the most. */
const PAGE_SIZE = { usual: 50, most: 1_000 };

/** The page that a query asks for, as it came. */
export interface GooglePage {
  pageSize?: string | string[] | undefined;
  pageToken?: string | string[] | undefined;
}

export async function listGoogleModels(caller: Caller, { pageSize, pageToken }: GooglePage): Promise<GatewayAnswer> {
  const size = readPageSize(pageSize);
  if (size === null) return wrong('pageSize', 'must be a whole number of 0 or more');
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const models = googleModels(caller, catalog, Date.now());
  const last = pageToken === undefined || pageToken === '' ? -1 : models.findIndex(({ name }) => name === pageToken);
  if (last < 0 && pageToken) return wrong('pageToken', 'must be the nextPageToken of an earlier page');
  const page = models.slice(last + 1, last + 1 + size);
  const isLast = last + 1 + size >= models.length;
  const list: GoogleModelList = { models: page, ...(!isLast && { nextPageToken: page.at(-1)?.name }) };
  return found(list);
}

export function retrieveGoogleModel(caller: Caller, name: string): Promise<GatewayAnswer> {
  return retrieveModelAt(caller, generateContent, name, (model, catalog, nowMs) =>
    present(caller, catalog, model, nowMs),
  );
}

function googleModels(caller: Pick<Caller, 'organization' | 'limits'>, catalog: Catalog, nowMs: number): GoogleModel[] {
  return modelsAt(caller, catalog, generateContent, nowMs).map((model) => present(caller, catalog, model, nowMs));
}

function present(
  { organization }: Pick<Caller, 'organization'>,
  catalog: Catalog,
  { id, displayName, contextTokens, maxOutputTokens }: DescribedModel,
  nowMs: number,
): GoogleModel {
  const [model] = candidatesFor(organization, catalog, id, nowMs);
  const kind = model && matchModel(catalog, `${model.provider}/${model.model}`, nowMs)?.model.kind;
  return {
    name: `models/${id}`,
    displayName,
    ...(contextTokens !== undefined && { inputTokenLimit: contextTokens }),
    ...(maxOutputTokens !== undefined && { outputTokenLimit: maxOutputTokens }),
    supportedGenerationMethods:
      kind === 'embedding'
        ? ['embedContent', 'batchEmbedContents', 'countTokens']
        : ['generateContent', 'streamGenerateContent', 'countTokens'],
  };
}

/** As Google reads it: 0 is the usual size; `null` if it is no size. */
function readPageSize(asked: string | string[] | undefined): number | null {
  if (asked === undefined || asked === '') return PAGE_SIZE.usual;
  if (typeof asked !== 'string' || !/^\d{1,9}$/.test(asked)) return null;
  return Math.min(Number(asked) || PAGE_SIZE.usual, PAGE_SIZE.most);
}

function wrong(param: string, rule: string): GatewayAnswer {
  return refusalAnswer(refuseCall('BAD_REQUEST', `${param}: ${rule}`, { param }).refusal, googleError);
}
