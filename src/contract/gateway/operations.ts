/**
 * All operations of the gateway in one table. Its routes accept any media type in `Accept`.
 */
import { z } from 'zod';
import type { Security } from '../operations/operation.ts';
import { AnthropicModel, AnthropicModelList, ModelList, ModelObject } from './answers.ts';
import {
  BatchEmbedContentsRequest,
  BatchRequest,
  ChatCompletionRequest,
  CompleteUploadRequest,
  CompletionRequest,
  CountTokensRequest,
  EmbedContentRequest,
  EmbeddingRequest,
  FILE_BODY_BYTES_MAX,
  GenerateContentRequest,
  ImageEditForm,
  ImageRequest,
  InputItemsQuery,
  type LabelledFields,
  MessageRequest,
  MessageTokensRequest,
  ModerationRequest,
  PART_BODY_BYTES_MAX,
  ResponseRequest,
  RetrieveResponseQuery,
  SpeechRequest,
  TranscriptionForm,
  TranslationForm,
  UploadRequest,
} from './requests.ts';

export interface GatewayOperation {
  operationId: string;
  summary: string;
  method: 'GET' | 'POST' | 'DELETE';
  /** Parameters as `{name}`; a model's id may contain slashes. */
  path: string;
  security: Security & { kind: 'apiKey' };
  query?: z.ZodObject;
  body?: z.ZodType;
  /** The body is a form: with a schema its fields are read, without one it is a file that passes as it comes. */
  form?: true;
  /** The largest body, where it is not that of the others. */
  bodyBytesMax?: number;
  /** The body of a success; answers of vendors pass unchanged. */
  answer: z.ZodType;
}

/** An operation that runs a model. */
export interface ModelOperation extends GatewayOperation {
  body: z.ZodType<z.infer<typeof LabelledFields>>;
}

const invoke = { kind: 'apiKey', scopes: ['gateway:invoke'] } as const;
/** Session tokens of browsers may call these too. */
const chat = { ...invoke, clientScope: 'gateway:chat' } as const;
const vendorAnswer = z
  .looseObject({})
  .describe("The vendor's answer, byte for byte; server-sent events where a stream was asked for");

const audio = z.unknown().describe('The audio, as the vendor sends it; server-sent events with `stream_format: "sse"`');

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
  createCompletion: {
    operationId: 'createCompletion',
    summary: 'Completion of a text (legacy), metered',
    method: 'POST',
    path: '/v1/completions',
    security: invoke,
    body: CompletionRequest,
    answer: vendorAnswer,
  },
  createModeration: {
    operationId: 'createModeration',
    summary: 'Judgement of texts and images, metered',
    method: 'POST',
    path: '/v1/moderations',
    security: invoke,
    body: ModerationRequest,
    answer: vendorAnswer,
  },
  createImage: {
    operationId: 'createImage',
    summary: 'Images, metered',
    method: 'POST',
    path: '/v1/images/generations',
    security: invoke,
    body: ImageRequest,
    answer: vendorAnswer,
  },
  createImageEdit: {
    operationId: 'createImageEdit',
    summary: 'Edited images, metered',
    method: 'POST',
    path: '/v1/images/edits',
    security: invoke,
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
    body: SpeechRequest,
    answer: audio,
  },
  createTranscription: {
    operationId: 'createTranscription',
    summary: 'Transcription of a recording, metered',
    method: 'POST',
    path: '/v1/audio/transcriptions',
    security: invoke,
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
    summary: "Models that the organization can use; in Anthropic's form for a request with `anthropic-version`",
    method: 'GET',
    path: '/v1/models',
    security: invoke,
    answer: z.union([ModelList, AnthropicModelList]),
  },
  retrieveModel: {
    operationId: 'retrieveModel',
    summary: "One model; in Anthropic's form for a request with `anthropic-version`",
    method: 'GET',
    path: '/v1/models/{model}',
    security: invoke,
    answer: z.union([ModelObject, AnthropicModel]),
  },
  retrieveResponse: {
    operationId: 'retrieveResponse',
    summary: 'One response that the vendor `openai` keeps; not metered',
    method: 'GET',
    path: '/v1/responses/{id}',
    security: invoke,
    query: RetrieveResponseQuery,
    answer: vendorAnswer,
  },
  deleteResponse: {
    operationId: 'deleteResponse',
    summary: 'Delete a response that the vendor `openai` keeps',
    method: 'DELETE',
    path: '/v1/responses/{id}',
    security: invoke,
    answer: z.unknown().describe("The vendor's answer, which may be empty"),
  },
  cancelResponse: {
    operationId: 'cancelResponse',
    summary: 'Cancel a response that runs in the background at the vendor `openai`',
    method: 'POST',
    path: '/v1/responses/{id}/cancel',
    security: invoke,
    answer: vendorAnswer,
  },
  listInputItems: {
    operationId: 'listInputItems',
    summary: 'The input of a response that the vendor `openai` keeps',
    method: 'GET',
    path: '/v1/responses/{id}/input_items',
    security: invoke,
    query: InputItemsQuery,
    answer: vendorAnswer,
  },
  uploadFile: {
    operationId: 'uploadFile',
    summary:
      'Upload a file to the vendor `openai`; the lines of a batch are checked, and their models named as the vendor does, on their way',
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
  createUpload: {
    operationId: 'createUpload',
    summary: 'Begin a file at the vendor `openai` that comes in parts',
    method: 'POST',
    path: '/v1/uploads',
    security: invoke,
    body: UploadRequest,
    answer: vendorAnswer,
  },
  addUploadPart: {
    operationId: 'addUploadPart',
    summary: 'Add a part of a file, up to 64 MiB',
    method: 'POST',
    path: '/v1/uploads/{id}/parts',
    security: invoke,
    form: true,
    bodyBytesMax: PART_BODY_BYTES_MAX,
    answer: vendorAnswer,
  },
  completeUpload: {
    operationId: 'completeUpload',
    summary: 'Make the file of its parts; the lines of a batch are checked when the batch begins',
    method: 'POST',
    path: '/v1/uploads/{id}/complete',
    security: invoke,
    body: CompleteUploadRequest,
    answer: vendorAnswer,
  },
  cancelUpload: {
    operationId: 'cancelUpload',
    summary: 'Give a file up that was not complete',
    method: 'POST',
    path: '/v1/uploads/{id}/cancel',
    security: invoke,
    answer: vendorAnswer,
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
