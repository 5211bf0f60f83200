/**
 * The public model lookup: is a model still a good choice, and what to use instead. It takes no key and no envelope.
 */
import { encodeModelKey, queryOf } from './address.ts';
import { readPlain } from './answer.ts';
import type { RequestOptions } from './methods.ts';
import { type Connection, request } from './request.ts';
import type { FullModelResolution, LightModelResolution, LookUpQuery, ModelTransition } from './wire.ts';

/** What the lookup knows and takes. */
export interface ModelDiscovery {
  schemaVersion: 1;
  catalogVersion: string;
  generatedAt: string;
  purposes: string[];
  responses: string[];
  /** Of the query's parameters. */
  defaults: Record<string, unknown>;
  /** Each with its name, its description and its bounds, as JSON Schema. */
  parameters: { name: string; [keyword: string]: unknown }[];
  providers: string[];
  /** What `requiredParameters` takes. */
  capabilities: string[];
  endpoints: string[];
  lifecycle: { statuses: string[]; actions: string[]; transitions: ModelTransition[] };
}

/** A lookup changes nothing, so it has no idempotency key. */
export type LookUpOptions = Omit<RequestOptions, 'idempotencyKey'>;

export interface ModelLookup {
  /**
   * The status of a model (`provider/model`), what to do, and candidates. `response: 'light'` gives the decision alone.
   */
  lookUpModel(
    modelKey: string,
    query: LookUpQuery & { response: 'light' },
    options?: LookUpOptions,
  ): Promise<LightModelResolution>;
  lookUpModel(
    modelKey: string,
    query?: LookUpQuery & { response?: 'full' },
    options?: LookUpOptions,
  ): Promise<FullModelResolution>;
  /** Purposes, parameters, capabilities, and every lifecycle transition that is known. */
  discoverModels(options?: LookUpOptions): Promise<ModelDiscovery>;
}

const PATH = '/v1/model-alternatives';

export function modelLookup(connection: Connection): ModelLookup {
  const get = (operation: string, path: string, has: string[], options: LookUpOptions = {}) => {
    const headers = { Accept: 'application/json' };
    return request(
      connection,
      { operation, method: 'GET', path, headers, read: (answer) => readPlain(answer, has) },
      options,
    );
  };
  const lookUpModel = async (modelKey: string, query: LookUpQuery = {}, options?: LookUpOptions) =>
    get(
      'lookUpModel',
      `${PATH}/${encodeModelKey(modelKey)}${queryOf(query)}`,
      ['requested', 'lifecycle', 'action'],
      options,
    );
  return {
    lookUpModel: lookUpModel as ModelLookup['lookUpModel'],
    discoverModels: (options) =>
      get('discoverModels', PATH, ['lifecycle', 'capabilities'], options) as Promise<ModelDiscovery>,
  };
}
