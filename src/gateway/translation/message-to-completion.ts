/**
 * A whole answer of Anthropic's messages API as a chat completion.
 */
import type { ChatCompletion } from 'openai/resources/chat/completions';
import { isMessage, readMessage } from '../../vendors/usage/anthropic.ts';
import { fieldsOrEmpty, isFields, listOrEmpty, textOrEmpty } from '../../vendors/usage/figures.ts';
import { buildMessage, type TranslatedMessage } from './answer-message.ts';
import { answeredTier, type TranslatedUsage, toFinishReason, toTranslatedUsage } from './answer-parts.ts';

interface TranslatedChoice extends ChatCompletion.Choice {
  message: TranslatedMessage;
  /** Anthropic's own word, which distinguishes a pause from the bound of the output. */
  native_finish_reason: string | null;
}

export interface TranslatedCompletion extends ChatCompletion {
  choices: [TranslatedChoice];
  usage?: TranslatedUsage;
}

/** `null` if the body is not a message, such as an error. `created` is in seconds. */
export function messageToCompletion(body: unknown, created: number): TranslatedCompletion | null {
  if (!isFields(body) || !isMessage(body)) return null;
  const usage = toTranslatedUsage(readMessage(body));
  return {
    id: textOrEmpty(body.id),
    object: 'chat.completion',
    created,
    model: textOrEmpty(body.model),
    choices: [
      {
        index: 0,
        message: buildMessage(listOrEmpty(body.content).map(fieldsOrEmpty), body),
        logprobs: null,
        finish_reason: toFinishReason(body.stop_reason),
        native_finish_reason: typeof body.stop_reason === 'string' ? body.stop_reason : null,
      },
    ],
    ...answeredTier(body.usage),
    ...(usage && { usage }),
  };
}
