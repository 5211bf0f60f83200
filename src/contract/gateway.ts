/**
 * The gateway on the wire: requests and answers of OpenAI, Anthropic and Google with a few fields of our own, and all
 * operations in one table.
 *
 * A schema checks only what the service itself reads; the vendor judges the rest of a body. Session tokens are the
 * exception: only some fields are open to them (the tables in src/gateway/dialects). Our own fields (`customer`,
 * `feature`, `tags`, `models`) are removed before the vendor gets the body. The routes accept any media type in
 * `Accept`, and errors are in the form of the endpoint's vendor.
 */
import { z } from 'zod';
import { CustomerIdentity, ReasoningFields } from './calls.ts';
import { TAGS_MAX, TEXT_LENGTH_MAX, text } from './fields.ts';
import { isRecord, resolveIdentity } from './identity.ts';
import type { Security } from './operations/operation.ts';

/** The largest body of a request. */
export const GATEWAY_BODY_BYTES_MAX = 32 * 1024 * 1024;
/** The largest file, and what its form has besides it. */
export const FILE_BODY_BYTES_MAX = 200 * 1024 * 1024 + 64 * 1024;
/** The longest list of fallback models in one request. */
export const FALLBACK_MODELS_MAX = 10;
/** Headers for clients whose body is fixed: the customer and the labels of a request whose body does not say them. */
export const LABEL_HEADERS = {
  customerId: 'x-usage-customer-id',
  customerUserId: 'x-usage-customer-user-id',
  feature: 'x-usage-feature',
  tags: 'x-usage-tags',
} as const;
/** The customer that is metered when a request names none. */
export const DEFAULT_CUSTOMER_ID = 'default';

/** Headers of the gateway's answers. */
export const GATEWAY_HEADERS = {
  callId: 'x-service-call-id',
  modelKey: 'x-llm-model-key',
  requestId: 'x-request-id',
  costUsd: 'x-service-cost-usd',
  maxOutputTokens: 'x-service-max-output-tokens',
  shouldRetry: 'x-should-retry',
  attempts: 'x-service-attempts',
} as const;

const label = text(TEXT_LENGTH_MAX);
const modelName = text(330);
const effort = ReasoningFields.shape.reasoningEffort.nullable();

/** The metered customer: an id, or the customer object of the metering interface in any of its spellings. */
export const GatewayCustomer = z.preprocess(
  (customer) =>
    typeof customer === 'string'
      ? { customerId: customer }
      : isRecord(customer)
        ? resolveIdentity({ customer: withoutNulls(customer) })
        : customer,
  CustomerIdentity.partial({ customerId: true }).extend({
    customerName: label.optional().describe('Display name for first provisioning'),
    customerFriendlyName: label.optional().describe('Preferred name of `customerName`'),
    customerEmail: label.optional().describe('E-mail address for first provisioning'),
    stripeCustomerId: label.optional().describe('Customer id at Stripe'),
  }),
);

/** Many libraries write `null` for what is absent. */
function withoutNulls(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** Our own fields, which no vendor sees. */
const ownFields = {
  customer: GatewayCustomer.nullish().describe(
    'Who is metered: an id or an object; else the header x-usage-customer-id, else `default`. With a session token only its own id',
  ),
  feature: label.nullish().describe('Feature of the application that calls; a session token has its own'),
  tags: z.array(label).max(TAGS_MAX).nullish().describe('Labels to report by; a session token has its own'),
};

/** What the headers say, with several tags between commas. */
export const HeaderLabels = z.object({
  customerId: CustomerIdentity.shape.customerId.optional().describe('Who is metered, where the body does not say it'),
  customerUserId: CustomerIdentity.shape.customerUserId.describe(
    "The customer's user, where the body does not say it; not with a session token",
  ),
  feature: label
    .optional()
    .describe('Feature of the application that calls, where the body does not say it; not with a session token'),
  tags: z
    .preprocess(
      (tags) => (typeof tags === 'string' ? tags.split(',').map((tag) => tag.trim()) : tags),
      z.array(label).max(TAGS_MAX),
    )
    .optional()
    .describe('Labels to report by, with commas between them, where the body has none; not with a session token'),
});

/** What every request to a model has, wherever it names the model. */
const LabelledRequest = z.looseObject({
  ...ownFields,
  models: z
    .array(modelName)
    .max(FALLBACK_MODELS_MAX)
    .nullish()
    .describe(
      'Tried in order after `model` when a vendor fails for a passing reason; with a session token two at most',
    ),
});

/** A request to a model. The routes of Google name it in the path. */
export const ModelRequest = LabelledRequest.extend({
  model: modelName.describe(
    '`provider/model`, a bare name that the catalog knows, `service/standard` or `service/premium`',
  ),
  user: z.string().nullish().describe("The customer's user"),
});

/** Fields of the service's other clients; they have no meaning for a vendor. */
const CLIENT_FIELDS = ['conversationId', 'conversationTitle', 'projectId', 'compress'];

/** What no vendor gets of a body. */
export const OWN_FIELDS = [...Object.keys(ownFields), 'models', ...CLIENT_FIELDS];

const stream = z.boolean().nullish().describe('Answer with server-sent events');

export const ChatCompletionRequest = ModelRequest.extend({
  messages: z.array(z.unknown()).min(1).describe('The conversation'),
  stream,
  stream_options: z
    .looseObject({ include_usage: z.boolean().nullish() })
    .nullish()
    .describe('With `include_usage`: usage and cost at the end'),
  reasoning_effort: effort.describe('Lowered to what plan and model admit'),
  n: z.number().int().min(1).max(128).nullish().describe('Answers to make'),
});

export const ResponseRequest = ModelRequest.extend({
  stream,
  reasoning: z.looseObject({ effort }).nullish().describe('`effort` is lowered to what plan and model admit'),
  background: z
    .literal(false, { error: 'is not offered: what a background response uses would not be known' })
    .nullish()
    .describe('Only false'),
});

export const EmbeddingRequest = ModelRequest.extend({ input: z.unknown().describe('What is to be embedded') });

const messages = z.array(z.unknown()).min(1).describe('The conversation');

export const MessageRequest = ModelRequest.extend({
  messages,
  stream,
  thinking: z
    .looseObject({
      type: z.string().describe('`enabled`, `adaptive` or `disabled`'),
      budget_tokens: z.number().nullish().describe('Tokens of thinking, at most'),
    })
    .nullish()
    .describe('Lowered to what the plan admits'),
  output_config: z
    .looseObject({ effort: z.string().nullish() })
    .nullish()
    .describe('`effort` is lowered to what plan and model admit'),
  metadata: z
    .looseObject({ user_id: z.string().nullish().describe("The customer's user") })
    .nullish()
    .describe('Of the request'),
});

export const MessageTokensRequest = ModelRequest.extend({ messages });

const contents = z.unknown().describe('The conversation');

export const GenerateContentRequest = LabelledRequest.extend({ contents });

export const EmbedContentRequest = LabelledRequest.extend({ content: z.unknown().describe('What is to be embedded') });

export const BatchEmbedContentsRequest = LabelledRequest.extend({
  requests: z.array(z.looseObject({})).min(1).describe('What is to be embedded, each as a request of its own'),
});

export const CountTokensRequest = LabelledRequest.extend({
  contents: z.unknown().optional().describe('The conversation'),
  generateContentRequest: z.looseObject({}).nullish().describe('A whole request in its place'),
});

export const BatchRequest = z.looseObject({
  ...ownFields,
  input_file_id: z
    .string()
    .regex(/^[\w.-]{1,200}$/, 'must be the id of a file')
    .describe('The uploaded file; its lines name models as the vendor does'),
  endpoint: z.string().min(1).max(200).describe('What each line asks for'),
});

export const GatewayError = z.object({
  error: z.looseObject({
    message: z.string().describe('Why, for people'),
    type: z
      .string()
      .describe(
        "OpenAI's word for the kind of error; insufficient_quota where the customer's plan does not allow the call",
      ),
    code: z.string().nullable().describe("The service's code, or the vendor's own"),
    param: z.string().nullable().describe('The field that is wrong'),
    requiredScope: z.string().optional().describe('The scope that the credential lacks'),
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
    requiredScope: z.string().optional().describe('The scope that the credential lacks'),
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
      .describe("The vendor's own, or an `ErrorInfo` whose `reason` is the service's code"),
  }),
});

export const ModelObject = z.object({
  id: z.string().describe('`provider/model`, or `service/standard`, `service/premium`'),
  object: z.literal('model'),
  created: z.number().int().describe('Release date, in seconds; 0 where it is not known'),
  owned_by: z.string().describe('The vendor'),
});

export type ModelObject = z.infer<typeof ModelObject>;

export const ModelList = z.object({ object: z.literal('list'), data: z.array(ModelObject) });

export type ModelList = z.infer<typeof ModelList>;

export interface GatewayOperation {
  operationId: string;
  summary: string;
  method: 'GET' | 'POST' | 'DELETE';
  /** Parameters as `{name}`; a model's id may contain slashes. */
  path: string;
  security: Security & { kind: 'apiKey' };
  body?: z.ZodType;
  /** The body is an uploaded form. */
  form?: true;
  /** The largest body, where it is not that of the others. */
  bodyBytesMax?: number;
  /** The body of a success; answers of vendors pass unchanged. */
  answer: z.ZodType;
}

/** An operation that runs a model. */
export interface ModelOperation extends GatewayOperation {
  body: z.ZodType<z.infer<typeof LabelledRequest>>;
}

const invoke = { kind: 'apiKey', scopes: ['gateway:invoke'] } as const;
/** Session tokens of browsers may call these too. */
const chat = { ...invoke, clientScope: 'gateway:chat' } as const;
const vendorAnswer = z
  .looseObject({})
  .describe("The vendor's answer, byte for byte; server-sent events where a stream was asked for");

/** The operations that run a model; each has a dialect (src/gateway/dialects). */
export const modelOperations = {
  createChatCompletion: {
    operationId: 'createChatCompletion',
    summary: 'Chat completion, metered',
    method: 'POST',
    path: '/v1/chat/completions',
    security: chat,
    body: ChatCompletionRequest,
    answer: vendorAnswer,
  },
  createResponse: {
    operationId: 'createResponse',
    summary: 'Response, metered',
    method: 'POST',
    path: '/v1/responses',
    security: chat,
    body: ResponseRequest,
    answer: vendorAnswer,
  },
  createEmbedding: {
    operationId: 'createEmbedding',
    summary: 'Embeddings, metered',
    method: 'POST',
    path: '/v1/embeddings',
    security: invoke,
    body: EmbeddingRequest,
    answer: vendorAnswer,
  },
  createMessage: {
    operationId: 'createMessage',
    summary: "Message in Anthropic's form, metered",
    method: 'POST',
    path: '/v1/messages',
    security: invoke,
    body: MessageRequest,
    answer: vendorAnswer,
  },
  generateContent: {
    operationId: 'generateContent',
    summary: "Content in Google's form, metered",
    method: 'POST',
    path: '/v1beta/models/{model}:generateContent',
    security: invoke,
    body: GenerateContentRequest,
    answer: vendorAnswer,
  },
  streamGenerateContent: {
    operationId: 'streamGenerateContent',
    summary: "Streamed content in Google's form, metered: server-sent events with `alt=sse`, else a JSON array",
    method: 'POST',
    path: '/v1beta/models/{model}:streamGenerateContent',
    security: invoke,
    body: GenerateContentRequest,
    answer: z.array(z.looseObject({})).describe("The chunks of the vendor's answer"),
  },
  embedContent: {
    operationId: 'embedContent',
    summary: "Embedding in Google's form, metered",
    method: 'POST',
    path: '/v1beta/models/{model}:embedContent',
    security: invoke,
    body: EmbedContentRequest,
    answer: vendorAnswer,
  },
  batchEmbedContents: {
    operationId: 'batchEmbedContents',
    summary: "Several embeddings in Google's form, metered as one call",
    method: 'POST',
    path: '/v1beta/models/{model}:batchEmbedContents',
    security: invoke,
    body: BatchEmbedContentsRequest,
    answer: vendorAnswer,
  },
} as const satisfies Record<string, ModelOperation>;

/** The operations that count the tokens of a request without running a model: they are free and not metered. */
export const countingOperations = {
  countMessageTokens: {
    operationId: 'countMessageTokens',
    summary: "Tokens of a message in Anthropic's form; not metered",
    method: 'POST',
    path: '/v1/messages/count_tokens',
    security: invoke,
    body: MessageTokensRequest,
    answer: vendorAnswer,
  },
  countTokens: {
    operationId: 'countTokens',
    summary: "Tokens of content in Google's form; not metered",
    method: 'POST',
    path: '/v1beta/models/{model}:countTokens',
    security: invoke,
    body: CountTokensRequest,
    answer: vendorAnswer,
  },
} as const satisfies Record<string, ModelOperation>;

export const gatewayOperations = {
  ...modelOperations,
  ...countingOperations,
  listModels: {
    operationId: 'listModels',
    summary: 'Models that the organization can use',
    method: 'GET',
    path: '/v1/models',
    security: invoke,
    answer: ModelList,
  },
  retrieveModel: {
    operationId: 'retrieveModel',
    summary: 'One model',
    method: 'GET',
    path: '/v1/models/{model}',
    security: invoke,
    answer: ModelObject,
  },
  uploadFile: {
    operationId: 'uploadFile',
    summary: 'Upload a file to the vendor `openai`; the lines of a batch are checked on their way',
    method: 'POST',
    path: '/v1/files',
    security: invoke,
    form: true,
    bodyBytesMax: FILE_BODY_BYTES_MAX,
    answer: vendorAnswer,
  },
  listFiles: {
    operationId: 'listFiles',
    summary: 'List files of the vendor `openai`',
    method: 'GET',
    path: '/v1/files',
    security: invoke,
    answer: vendorAnswer,
  },
  retrieveFile: {
    operationId: 'retrieveFile',
    summary: 'One file of the vendor `openai`',
    method: 'GET',
    path: '/v1/files/{id}',
    security: invoke,
    answer: vendorAnswer,
  },
  deleteFile: {
    operationId: 'deleteFile',
    summary: 'Delete a file of the vendor `openai`',
    method: 'DELETE',
    path: '/v1/files/{id}',
    security: invoke,
    answer: vendorAnswer,
  },
  readFileContent: {
    operationId: 'readFileContent',
    summary: 'Content of a file of the vendor `openai`',
    method: 'GET',
    path: '/v1/files/{id}/content',
    security: invoke,
    answer: z.unknown().describe('The content, as the vendor has it'),
  },
  createBatch: {
    operationId: 'createBatch',
    summary:
      'Begin a batch at the vendor `openai`; each line is metered once, at batch price, when its answer is there',
    method: 'POST',
    path: '/v1/batches',
    security: invoke,
    body: BatchRequest,
    answer: vendorAnswer,
  },
  listBatches: {
    operationId: 'listBatches',
    summary: 'List batches of the vendor `openai`',
    method: 'GET',
    path: '/v1/batches',
    security: invoke,
    answer: vendorAnswer,
  },
  retrieveBatch: {
    operationId: 'retrieveBatch',
    summary: 'One batch; where it is finished, its lines are metered at once',
    method: 'GET',
    path: '/v1/batches/{id}',
    security: invoke,
    answer: vendorAnswer,
  },
  cancelBatch: {
    operationId: 'cancelBatch',
    summary: 'Cancel a batch; lines that were answered before are metered',
    method: 'POST',
    path: '/v1/batches/{id}/cancel',
    security: invoke,
    answer: vendorAnswer,
  },
} as const satisfies Record<string, GatewayOperation>;
