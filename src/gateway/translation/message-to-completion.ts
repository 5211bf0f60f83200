/**
 * A whole answer of Anthropic's messages API as a chat completion.
 */
import type { ChatCompletion } from 'openai/resources/chat/completions';
import { isMessage, readMessage } from '../../vendors/usage/anthropic.ts';
import { fieldsOf, isFields, listOf, textOf } from '../../vendors/usage/figures.ts';
import { messageOf, type TranslatedMessage } from './answer-message.ts';
import { finishReasonOf, serviceTierOf, type TranslatedUsage, usageOf } from './answer-parts.ts';

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
  const usage = usageOf(readMessage(body));
  return {
    id: textOf(body.id),
    object: 'chat.completion',
    created,
    model: textOf(body.model),
    choices: [
      {
        index: 0,
        message: messageOf(listOf(body.content).map(fieldsOf), body),
        logprobs: null,
        finish_reason: finishReasonOf(body.stop_reason),
        native_finish_reason: typeof body.stop_reason === 'string' ? body.stop_reason : null,
      },
    ],
    ...serviceTierOf(body.usage),
    ...(usage && { usage }),
  };
}
