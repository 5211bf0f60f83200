/**
 * All operations of the gateway in one table. Its routes accept any media type in `Accept`.
 */
import { z } from 'zod';
import { AnthropicModel, AnthropicModelList, GoogleModel, GoogleModelList, ModelList, ModelObject } from './answers.ts';
import { openPathOperations } from './open-path-operations.ts';
import { type GatewayOperation, invoke, vendorAnswer } from './operation.ts';
import {
  BatchEmbedContentsRequest,
  ChatCompletionRequest,
  CompactRequest,
  CompletionRequest,
  CountTokensRequest,
  EmbedContentRequest,
  EmbeddingRequest,
  GenerateContentRequest,
  ImageEditForm,
  ImageRequest,
  type LabelledFields,
  MessageRequest,
  MessageTokensRequest,
  ModelsQuery,
  ModerationRequest,
  ResponseRequest,
  ResponseTokensRequest,
  SpeechRequest,
  TranscriptionForm,
  TranslationForm,
} from './requests.ts';
import { storedOperations } from './stored-operations.ts';

export type { GatewayOperation } from './operation.ts';

/** An operation that runs a model. */
export interface ModelOperation extends GatewayOperation {
  body: z.ZodType<z.infer<typeof LabelledFields>>;
}

/** Session tokens of browsers may call these too. */
const chat = { ...invoke, clientScope: 'gateway:chat' } as const;

const audio = z.unknown().describe('The audio, as the vendor sends it; server-sent events with `stream_format: "sse"`');

/** The operations that run a model; each has a dialect (src/gateway/dialects). */
export const modelOperations = {
  createChatCompletion: {
    operationId: 'createChatCompletion',
    summary: 'Chat completion, metered',
    method: 'POST',
    path: '/v1/chat/completions',
    security: chat,
    beginsCall: true,
    body: ChatCompletionRequest,
    answer: vendorAnswer,
  },
  createResponse: {
    operationId: 'createResponse',
    summary: 'Response, metered',
    method: 'POST',
    path: '/v1/responses',
    security: chat,
    beginsCall: true,
    body: ResponseRequest,
    answer: vendorAnswer,
  },
  compactResponse: {
    operationId: 'compactResponse',
    summary: 'Compact a conversation into one item, metered',
    method: 'POST',
    path: '/v1/responses/compact',
    security: invoke,
    beginsCall: true,
    body: CompactRequest,
    answer: vendorAnswer,
  },
  createEmbedding: {
    operationId: 'createEmbedding',
    summary: 'Embeddings, metered',
    method: 'POST',
    path: '/v1/embeddings',
    security: invoke,
    beginsCall: true,
    body: EmbeddingRequest,
    answer: vendorAnswer,
  },
  createCompletion: {
    operationId: 'createCompletion',
    summary: 'Completion of a text (legacy), metered',
    method: 'POST',
    path: '/v1/completions',
    security: invoke,
    beginsCall: true,
    body: CompletionRequest,
    answer: vendorAnswer,
  },
  createModeration: {
    operationId: 'createModeration',
    summary: 'Moderation of texts and images, metered',
    method: 'POST',
    path: '/v1/moderations',
    security: invoke,
    beginsCall: true,
    body: ModerationRequest,
    answer: vendorAnswer,
  },
  createImage: {
    operationId: 'createImage',
    summary: 'Images, metered',
    method: 'POST',
    path: '/v1/images/generations',
    security: invoke,
    beginsCall: true,
    body: ImageRequest,
    answer: vendorAnswer,
  },
  createImageEdit: {
    operationId: 'createImageEdit',
    summary: 'Edited images, metered',
    method: 'POST',
    path: '/v1/images/edits',
    security: invoke,
    beginsCall: true,
    form: true,
    body: ImageEditForm,
    answer: vendorAnswer,
  },
  createSpeech: {
    operationId: 'createSpeech',
    summary: 'Spoken text, metered',
    method: 'POST',
    path: '/v1/audio/speech',
    security: invoke,
    beginsCall: true,
    body: SpeechRequest,
    answer: audio,
  },
  createTranscription: {
    operationId: 'createTranscription',
    summary: 'Transcription of a recording, metered',
    method: 'POST',
    path: '/v1/audio/transcriptions',
    security: invoke,
    beginsCall: true,
    form: true,
    body: TranscriptionForm,
    answer: vendorAnswer,
  },
  createTranslation: {
    operationId: 'createTranslation',
    summary: 'Translation of a recording into English, metered',
    method: 'POST',
    path: '/v1/audio/translations',
    security: invoke,
    beginsCall: true,
    form: true,
    body: TranslationForm,
    answer: vendorAnswer,
  },
  createMessage: {
    operationId: 'createMessage',
    summary: "Message in Anthropic's form, metered",
    method: 'POST',
    path: '/v1/messages',
    security: invoke,
    beginsCall: true,
    body: MessageRequest,
    answer: vendorAnswer,
  },
  generateContent: {
    operationId: 'generateContent',
    summary: "Content in Google's form, metered",
    method: 'POST',
    path: '/v1beta/models/{model}:generateContent',
    security: invoke,
    beginsCall: true,
    body: GenerateContentRequest,
    answer: vendorAnswer,
  },
  streamGenerateContent: {
    operationId: 'streamGenerateContent',
    summary: "Streamed content in Google's form, metered: server-sent events with `alt=sse`, else a JSON array",
    method: 'POST',
    path: '/v1beta/models/{model}:streamGenerateContent',
    security: invoke,
    beginsCall: true,
    body: GenerateContentRequest,
    answer: z.array(z.looseObject({})).describe("The chunks of the vendor's answer"),
  },
  embedContent: {
    operationId: 'embedContent',
    summary: "Embedding in Google's form, metered",
    method: 'POST',
    path: '/v1beta/models/{model}:embedContent',
    security: invoke,
    beginsCall: true,
    body: EmbedContentRequest,
    answer: vendorAnswer,
  },
  batchEmbedContents: {
    operationId: 'batchEmbedContents',
    summary: "Several embeddings in Google's form, metered as one call",
    method: 'POST',
    path: '/v1beta/models/{model}:batchEmbedContents',
    security: invoke,
    beginsCall: true,
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
  countResponseTokens: {
    operationId: 'countResponseTokens',
    summary: 'Tokens of the input of a response; not metered',
    method: 'POST',
    path: '/v1/responses/input_tokens',
    security: invoke,
    body: ResponseTokensRequest,
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
    summary:
      "Models that the organization can use; in Anthropic's form for a request with `anthropic-version`, in Google's with `x-goog-api-key`",
    method: 'GET',
    path: '/v1/models',
    security: invoke,
    query: ModelsQuery,
    answer: z.union([ModelList, AnthropicModelList, GoogleModelList]),
  },
  retrieveModel: {
    operationId: 'retrieveModel',
    summary:
      "Read a model; in Anthropic's form for a request with `anthropic-version`, in Google's with `x-goog-api-key`",
    method: 'GET',
    path: '/v1/models/{model}',
    security: invoke,
    answer: z.union([ModelObject, AnthropicModel, GoogleModel]),
  },
  listGoogleModels: {
    operationId: 'listGoogleModels',
    summary: "Models of Google's form that the organization can use",
    method: 'GET',
    path: '/v1beta/models',
    security: invoke,
    query: ModelsQuery,
    answer: GoogleModelList,
  },
  retrieveGoogleModel: {
    operationId: 'retrieveGoogleModel',
    summary: "Read a model in Google's form",
    method: 'GET',
    path: '/v1beta/models/{model}',
    security: invoke,
    answer: GoogleModel,
  },
  ...storedOperations,
  ...openPathOperations,
} as const satisfies Record<string, GatewayOperation>;
