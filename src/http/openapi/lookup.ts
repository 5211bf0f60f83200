/**
 * The public lookup's operations for the OpenAPI document. The routes themselves read raw paths.
 */
import { z } from 'zod';
import { FullResolution, LightResolution, LOOKUP_PATH, LookupQuery, PROVIDERS } from '../../contract/model-lookup.ts';

export interface LookupOperation {
  operationId: string;
  summary: string;
  path: string;
  params?: z.ZodObject;
  query?: z.ZodType;
  answer: z.ZodType;
}

const model = z.string().min(1).max(300).describe('Model identifier or alias, percent-encoded');

const LookupResolution = z
  .union([FullResolution, LightResolution])
  .describe('The complete inspection, or with `response=light` the compact decision');

const Discovery = z
  .looseObject({
    schemaVersion: z.literal(1).describe('Version of this shape'),
    catalogVersion: z.string().describe('Catalog release'),
    generatedAt: z.iso.datetime().describe("Start of the answer's validity"),
    purposes: z.array(z.string()).describe('What a ranking may be for'),
    responses: z.array(z.string()).describe('Forms of an answer'),
    defaults: z.record(z.string(), z.unknown()).describe('Values of parameters that are left out'),
    parameters: z
      .array(z.looseObject({ name: z.string().describe('Parameter') }))
      .describe('Query parameters, as JSON Schema'),
    providers: z.array(z.string()).describe('Provider namespaces'),
    capabilities: z.array(z.string()).describe('Names that `requiredParameters` takes'),
    endpoints: z.array(z.string()).describe('Routes'),
    lifecycle: z
      .looseObject({
        statuses: z.array(z.string()).describe('Lifecycle statuses'),
        actions: z.array(z.string()).describe('Actions'),
        transitions: z
          .array(z.record(z.string(), z.unknown()))
          .describe('Lifecycle changes, past and announced, with their sources'),
      })
      .describe('What is known of lifecycles'),
  })
  .describe('What the lookup takes and knows');

export const lookupOperations = {
  discoverModels: {
    operationId: 'discoverModels',
    summary: 'Read what the lookup offers: parameters, capabilities, every lifecycle transition',
    path: LOOKUP_PATH,
    answer: Discovery,
  },
  resolveModel: {
    operationId: 'resolveModel',
    summary: 'Look up a model: its status, what to do, and its replacement',
    path: `${LOOKUP_PATH}/{provider}/{model}`,
    params: z.object({ provider: z.enum(PROVIDERS).describe('Provider namespace'), model }),
    query: LookupQuery,
    answer: LookupResolution,
  },
  resolveModelKey: {
    operationId: 'resolveModelKey',
    summary: 'The same by one provider-qualified key, which may contain slashes',
    path: `${LOOKUP_PATH}/{modelKey}`,
    params: z.object({ modelKey: model.describe('`provider/model`, percent-encoded or not') }),
    query: LookupQuery,
    answer: LookupResolution,
  },
} as const satisfies Record<string, LookupOperation>;

export type LookupOperationId = keyof typeof lookupOperations;
