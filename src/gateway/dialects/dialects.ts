/**
 * The dialects, each under its operation in the contract. An operation that runs a model and has no dialect here does
 * not compile.
 */
import type { modelOperations } from '../../contract/gateway/operations.ts';
import { chatCompletions } from './chat-completions.ts';
import { compact } from './compact.ts';
import { completions } from './completions.ts';
import type { Dialect } from './dialect.ts';
import { batchEmbedContents, embedContent } from './embed-content.ts';
import { embeddings } from './embeddings.ts';
import { generateContent, streamGenerateContent } from './generate-content.ts';
import { imageEdits, imageGenerations } from './images.ts';
import { messages } from './messages.ts';
import { moderations } from './moderations.ts';
import { responses } from './responses.ts';
import { speech } from './speech.ts';
import { transcriptions, translations } from './transcriptions.ts';

export const DIALECTS: { readonly [Id in keyof typeof modelOperations]: Dialect<(typeof modelOperations)[Id]> } = {
  createChatCompletion: chatCompletions,
  createResponse: responses,
  compactResponse: compact,
  createEmbedding: embeddings,
  createCompletion: completions,
  createModeration: moderations,
  createImage: imageGenerations,
  createImageEdit: imageEdits,
  createSpeech: speech,
  createTranscription: transcriptions,
  createTranslation: translations,
  createMessage: messages,
  generateContent,
  streamGenerateContent,
  embedContent,
  batchEmbedContents,
};
