/**
 * The gateway's answers besides those of vendors: errors in the form of each endpoint's vendor, and models.
 */
import { z } from 'zod';
import { DenialFigures } from '../denial.ts';
import { closedComponent } from '../envelope.ts';

/** The members that the service adds to an error of its own. */
const ownMembers = {
  requiredScope: z.string().optional().describe('The missing scope'),
  reason: z
    .string()
    .optional()
    .describe("ROLLING_LIMIT if the plan's rolling limit allows no further call until `Retry-After` is over"),
  component: closedComponent,
  ...DenialFigures.shape,
};

export const GatewayError = z.object({
  error: z.looseObject({
    message: z.string().describe('Why, for people'),
    type: z
      .string()
      .describe(
        "OpenAI's word for the kind of error; insufficient_quota if the customer's plan does not allow the call",
      ),
    code: z.string().nullable().describe("The service's code, or the vendor's own"),
    param: z.string().nullable().describe('The field that is wrong'),
    ...ownMembers,
  }),
});

/** An error of Anthropic's own API. */
export const AnthropicError = z.object({
  type: z.literal('error').describe('Always `error`'),
  error: z.looseObject({
    type: z.string().describe("Anthropic's word for the kind of error, or the vendor's own"),
    message: z.string().describe('Why, for people'),
    code: z.string().optional().describe("The service's code, or the vendor's own"),
    param: z.string().optional().describe('The field that is wrong'),
    ...ownMembers,
  }),
});

/** An error of Google's own API. */
export const GoogleError = z.object({
  error: z.looseObject({
    code: z.number().int().describe('The HTTP status'),
    message: z.string().describe('Why, for people'),
    status: z.string().describe("Google's word for the status"),
    details: z
      .array(z.looseObject({ '@type': z.string().optional().describe('What kind of detail it is') }))
      .describe(
        "The vendor's own, and if none of these is an `ErrorInfo` one whose `reason` is the service's code, with the figures of a denial as texts in `metadata`, of which `also` is JSON",
      ),
  }),
});

export const ModelObject = z.object({
  id: z.string().describe('`provider/model`, or `service/standard`, `service/premium`, `service/<alias>`'),
  object: z.literal('model'),
  created: z.number().int().describe('Release date, in seconds; 0 if it is not known'),
  owned_by: z.string().describe('The vendor'),
});

export type ModelObject = z.infer<typeof ModelObject>;

export const ModelList = z.object({ object: z.literal('list'), data: z.array(ModelObject) });

export type ModelList = z.infer<typeof ModelList>;

/** A model as Anthropic's own API describes it (docs.claude.com/en/api/models-list). */
export const AnthropicModel = z.object({
  type: z.literal('model').describe('Always `model`'),
  id: z.string().describe("The vendor's own name, or `service/standard`, `service/premium`, `service/<alias>`"),
  display_name: z.string().describe('Name for people'),
  created_at: z.iso.datetime().describe('Release date; 1970-01-01 if it is not known'),
  max_input_tokens: z.number().int().nullable().describe('Tokens of the context; null if they are not known'),
  max_tokens: z.number().int().nullable().describe('The most tokens of an answer; null if they are not known'),
});

export type AnthropicModel = z.infer<typeof AnthropicModel>;

export const AnthropicModelList = z.object({
  data: z.array(AnthropicModel).describe('All models that `/v1/messages` can be asked for, the newest first'),
  has_more: z.literal(false).describe('Always false: the list is whole'),
  first_id: z.string().nullable().describe('The first id; null if there is none'),
  last_id: z.string().nullable().describe('The last id; null if there is none'),
});

export type AnthropicModelList = z.infer<typeof AnthropicModelList>;

/** A model as Google's own API describes it (ai.google.dev/api/models). */
export const GoogleModel = z.object({
  name: z
    .string()
    .describe("`models/` and the vendor's own name, or `service/standard`, `service/premium`, `service/<alias>`"),
  displayName: z.string().describe('Name for people'),
  inputTokenLimit: z.number().int().optional().describe('Tokens of the context; absent if they are not known'),
  outputTokenLimit: z.number().int().optional().describe('The most tokens of an answer; absent if they are not known'),
  supportedGenerationMethods: z.array(z.string()).describe('What it can be asked for, as in the paths'),
});

export type GoogleModel = z.infer<typeof GoogleModel>;

export const GoogleModelList = z.object({
  models: z
    .array(GoogleModel)
    .describe('A page of the models that `generateContent` or `embedContent` can be asked for'),
  nextPageToken: z.string().optional().describe('`pageToken` of the next page; absent on the last one'),
});

export type GoogleModelList = z.infer<typeof GoogleModelList>;

/** The vendor in whose form a request and its answer are. */
export type ErrorForm = 'openai' | 'anthropic' | 'google';

/** The first match counts; all other paths are OpenAI's. */
const ERROR_FORMS: readonly (readonly [RegExp, ErrorForm])[] = [
  [/^\/v1\/passthrough\//, 'openai'],
  [/^\/v1\/messages(?:\/|$)/, 'anthropic'],
  [/^\/v1beta\/|:\w+(?:Contents?|Tokens)$/, 'google'],
];
/** The paths that all three have. */
const MODELS_PATH = /^\/v1\/models(?:\/|$)/;

/** The form of a client, by what only the clients of one vendor send: a version in a header, a key in a header or the query. */
export function clientForm({
  header,
  query,
}: Record<'header' | 'query', (name: string) => string | undefined>): ErrorForm {
  if (header('anthropic-version') !== undefined) return 'anthropic';
  return (header('x-goog-api-key') ?? query('key')) === undefined ? 'openai' : 'google';
}

/** The form of errors at a route. */
export function errorFormAt(path: string, client: ErrorForm = 'openai'): ErrorForm {
  return errorFormBeside(path, MODELS_PATH.test(path) ? client : 'openai');
}

/** The form of errors at a path that no route has: that of the client, if no vendor has such paths alone. */
export function errorFormBeside(path: string, client: ErrorForm): ErrorForm {
  return ERROR_FORMS.find(([pattern]) => pattern.test(path))?.[1] ?? client;
}
