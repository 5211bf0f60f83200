/**
 * The type of the body of each form of request, as the SDKs declare it.
 *
 * Google's SDK has one flat configuration, from which it makes several fields of the body; its types are put together here
 * as it does that.
 */
import type { CorpusDialect } from './request-corpus.ts';
import { type Member, membersOf, type Shape, sdkType } from './sdk-types.ts';

export type RequestForm = CorpusDialect | 'translations';

const OPENAI = 'openai/resources';
const ANTHROPIC = '@anthropic-ai/sdk/resources';
const GENAI = '@google/genai/dist/genai.d.ts';

/** The members that the SDK moves from Google's configuration to the place beside `generationConfig`. */
const BESIDE_CONFIG = new Set([
  ...['systemInstruction', 'safetySettings', 'tools', 'toolConfig', 'labels', 'cachedContent', 'serviceTier'],
  ...['modelArmorConfig', 'store'],
]);
/** The members of Google's configuration that never leave the SDK. */
const NOT_SENT = new Set([
  ...['httpOptions', 'abortSignal', 'automaticFunctionCalling', 'automaticContinuation', 'shouldReturnHttpResponse'],
]);

/** A form may have several types: the SDK's ordinary one and its beta. */
export const REQUEST_TYPES: Readonly<Record<RequestForm, () => Shape[]>> = {
  chat: () => [sdkType(`${OPENAI}/chat/completions/completions.d.ts`, 'ChatCompletionCreateParamsBase')],
  responses: () => [sdkType(`${OPENAI}/responses/responses.d.ts`, 'ResponseCreateParamsBase')],
  compact: () => [sdkType(`${OPENAI}/responses/responses.d.ts`, 'ResponseCompactParams')],
  messages: () => [
    sdkType(`${ANTHROPIC}/messages/messages.d.ts`, 'MessageCreateParamsBase'),
    without(sdkType(`${ANTHROPIC}/beta/messages/messages.d.ts`, 'MessageCreateParamsBase'), ['betas']),
  ],
  generateContent: () => [generateContent()],
  completions: () => [sdkType(`${OPENAI}/completions.d.ts`, 'CompletionCreateParamsBase')],
  embeddings: () => [sdkType(`${OPENAI}/embeddings.d.ts`, 'EmbeddingCreateParams')],
  embedContent: () => [embedOne()],
  batchEmbedContents: () => [
    objectShape('BatchEmbedContents', { model: TEXT, requests: { kind: 'list', item: embedOne } }),
  ],
  images: () => [sdkType(`${OPENAI}/images.d.ts`, 'ImageGenerateParamsBase')],
  imageEdits: () => [sdkType(`${OPENAI}/images.d.ts`, 'ImageEditParamsBase')],
  speech: () => [sdkType(`${OPENAI}/audio/speech.d.ts`, 'SpeechCreateParams')],
  transcriptions: () => [sdkType(`${OPENAI}/audio/transcriptions.d.ts`, 'TranscriptionCreateParamsBase')],
  translations: () => [sdkType(`${OPENAI}/audio/translations.d.ts`, 'TranslationCreateParams')],
  moderations: () => [sdkType(`${OPENAI}/moderations.d.ts`, 'ModerationCreateParams')],
};

const TEXT: Shape = { kind: 'text' };

function generateContent(): Shape {
  const config = [...membersOf(sdkType(GENAI, 'GenerateContentConfig'))].filter(([name]) => !NOT_SENT.has(name));
  // The SDK makes these of whatever it is given.
  const contents: Record<string, Shape> = {
    contents: { kind: 'list', item: () => sdkType(GENAI, 'Content') },
    systemInstruction: sdkType(GENAI, 'Content'),
    tools: { kind: 'list', item: () => sdkType(GENAI, 'Tool') },
  };
  const beside = config.filter(([name]) => BESIDE_CONFIG.has(name)).map(([name, { shape }]) => [name, shape] as const);
  const inside = config.filter(([name]) => !BESIDE_CONFIG.has(name));
  return objectShape('GenerateContent', {
    ...Object.fromEntries(beside),
    ...contents,
    generationConfig: { kind: 'object', name: 'GenerationConfig', members: () => new Map(inside) },
  });
}

function embedOne(): Shape {
  const config = without(sdkType(GENAI, 'EmbedContentConfig'), [...NOT_SENT]);
  return objectShape('EmbedContent', {
    model: TEXT,
    content: sdkType(GENAI, 'Content'),
    ...Object.fromEntries([...membersOf(config)].map(([name, { shape }]) => [name, shape])),
  });
}

function objectShape(name: string, shapes: Record<string, Shape>): Shape {
  const members = new Map(
    Object.entries(shapes).map(([key, shape]): [string, Member] => [key, { shape, optional: true }]),
  );
  return { kind: 'object', name, members: () => members };
}

function without(shape: Shape, names: readonly string[]): Shape {
  const members = new Map([...membersOf(shape)].filter(([name]) => !names.includes(name)));
  return { kind: 'object', name: 'name' in shape ? shape.name : '', members: () => members };
}
