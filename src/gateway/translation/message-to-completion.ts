/**
 * A whole answer of Anthropic's messages API as a chat completion. Tools that Anthropic runs itself have no form there:
 * of a web search, the text and the pages that it cites stay.
 */
import type { ChatCompletion, ChatCompletionMessage } from 'openai/resources/chat/completions';
import { isMessage, readMessage } from '../../vendors/usage/anthropic.ts';
import { type Fields, fieldsOf, isFields, listOf } from '../../vendors/usage/figures.ts';
import {
  charactersOf,
  finishReasonOf,
  refusalOf,
  serviceTierOf,
  type ThinkingBlock,
  textOf,
  thinkingBlockOf,
  type UrlCitation,
  urlCitations,
  usageOf,
} from './answer-parts.ts';

export interface TranslatedMessage extends ChatCompletionMessage {
  /** The text of the thinking. */
  reasoning_content?: string;
  /** The thinking itself, to be sent back with the message. */
  thinking_blocks?: ThinkingBlock[];
}

export interface TranslatedChoice extends ChatCompletion.Choice {
  message: TranslatedMessage;
  /** Anthropic's own word, which tells a pause from the bound of the output. */
  native_finish_reason: string | null;
}

export interface TranslatedCompletion extends ChatCompletion {
  choices: [TranslatedChoice];
}

/** `null` where the body is no message, as of an error. `created` is in seconds. */
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
        message: messageOf(body),
        logprobs: null,
        finish_reason: finishReasonOf(body.stop_reason),
        native_finish_reason: typeof body.stop_reason === 'string' ? body.stop_reason : null,
      },
    ],
    ...serviceTierOf(body.usage),
    ...(usage && { usage }),
  };
}

function messageOf(body: Fields): TranslatedMessage {
  let content = '';
  let characters = 0;
  const annotations: UrlCitation[] = [];
  const thinking: ThinkingBlock[] = [];
  const calls: NonNullable<TranslatedMessage['tool_calls']> = [];
  for (const block of listOf(body.content).map(fieldsOf)) {
    const { type, text, citations, id, name, input } = block;
    if (type === 'text') {
      const start = characters;
      content += textOf(text);
      characters += charactersOf(textOf(text));
      annotations.push(...urlCitations(citations, start, characters));
    } else if (type === 'tool_use') {
      const called = { name: textOf(name), arguments: JSON.stringify(input ?? {}) };
      calls.push({ id: textOf(id), type: 'function', function: called });
    } else {
      const thought = thinkingBlockOf(block);
      if (thought) thinking.push(thought);
    }
  }
  const reasoning = thinking.map((block) => (block.type === 'thinking' ? block.thinking : '')).join('');
  return {
    role: 'assistant',
    content: content === '' ? null : content,
    refusal: refusalOf(body),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(thinking.length > 0 && { thinking_blocks: thinking }),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(annotations.length > 0 && { annotations }),
  };
}
