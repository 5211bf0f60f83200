/**
 * The dialects of `POST /v1/images/generations` and `POST /v1/images/edits`: no effort, and no output bound. If the
 * vendor reports no tokens, the images of the answer are counted.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import type { BilledUses } from '../../domain/bound.ts';
import { offering } from '../../vendors/kind.ts';
import { type Fields, fieldsOrEmpty, isFields, listOrEmpty } from '../../vendors/usage/figures.ts';
import type { Dialect } from './dialect.ts';
import { openAiStreamError, plainOpenAiEndpoint } from './openai.ts';

const shared = {
  answerForm: () => 'large' as const,
  counted: (_request: unknown, answer: unknown) => imagesIn(fieldsOrEmpty(answer)),
  streamError: openAiStreamError,
};

export const imageGenerations: Dialect<typeof modelOperations.createImage> = {
  operation: modelOperations.createImage,
  ...plainOpenAiEndpoint('images/generations'),
  ...shared,
  isOfferedBy: offering('images'),
};

export const imageEdits: Dialect<typeof modelOperations.createImageEdit> = {
  operation: modelOperations.createImageEdit,
  ...plainOpenAiEndpoint('images/edits'),
  ...shared,
  isOfferedBy: offering('others'),
};

/** The images of an answer. Only an answer with images shows their number. */
function imagesIn({ data }: Fields): BilledUses {
  return Array.isArray(data) ? { images: listOrEmpty(data).filter(isFields).length } : {};
}
