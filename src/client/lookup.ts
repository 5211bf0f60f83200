/**
 * The public model lookup: whether a model is still a good choice, and what to use instead. It needs no API key, and
 * its responses have no envelope.
 */
import { encodeModelKey, formatQuery } from './address.ts';
import { readPlain } from './answer.ts';
import type { RequestOptions } from './methods.ts';
import { type Connection, request } from './request.ts';
import type { FullModelResolution, LightModelResolution, LookUpQuery, ModelTransition } from './wire.ts';

/** The purposes, parameters and capabilities of the lookup. */
export interface ModelDiscovery {
  schemaVersion: 1;
  catalogVersion: string;
  generatedAt: string;
  purposes: string[];
  responses: string[];
  /** Default value of each query parameter. */
  defaults: Record<string, unknown>;
  /** Each query parameter with its name, description and limits, as JSON Schema. */
  parameters: { name: string; [keyword: string]: unknown }[];
  providers: string[];
  /** Valid values for `requiredParameters`. */
  capabilities: string[];
  endpoints: string[];
  lifecycle: { statuses: string[]; actions: string[]; transitions: ModelTransition[] };
}

/** A lookup only reads, so it takes no idempotency key. */
export type LookUpOptions = Omit<RequestOptions, 'idempotencyKey'>;

export interface ModelLookup {
  /**
   * Reads the status of a model (`provider/model`), the recommended action, and candidates for replacement. `response:
   * 'light'` returns only the decision.
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
  /** Lists purposes, parameters, capabilities, and every known lifecycle transition. */
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
      `${PATH}/${encodeModelKey(modelKey)}${formatQuery(query)}`,
      ['requested', 'lifecycle', 'action'],
      options,
    );
  return {
    lookUpModel: lookUpModel as ModelLookup['lookUpModel'],
    discoverModels: (options) =>
      get('discoverModels', PATH, ['lifecycle', 'capabilities'], options) as Promise<ModelDiscovery>,
  };
}
