/**
 * The message of a chat completion with the content of the blocks of Anthropic's answer.
 *
 * `reasoning_content` is for people. Callers send `thinking_blocks` back with the message, as with other gateways. An answer
 * that searched the web, or that was thinking between its parts, cannot be rebuilt from thinking blocks, text and tool
 * calls: `content_blocks` has its blocks unchanged.
 */
import type { ChatCompletionMessage } from 'openai/resources/chat/completions';
import { callerToolId } from '../../vendors/tool-ids.ts';
import { type Fields, fieldsOrEmpty, listOrEmpty, textOrEmpty } from '../../vendors/usage/figures.ts';

/** Anthropic takes it back only unchanged and with its signature. */
type ThinkingBlock =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string };

export interface TranslatedMessage extends ChatCompletionMessage {
  reasoning_content?: string;
  thinking_blocks?: ThinkingBlock[];
  content_blocks?: Fields[];
}

type Calls = NonNullable<ChatCompletionMessage['tool_calls']>;
type UrlCitation = ChatCompletionMessage.Annotation;

/** `ending` has the members that explain why the answer stopped. */
export function buildMessage(blocks: readonly Fields[], ending: Fields): TranslatedMessage {
  let content = '';
  let characters = 0;
  const annotations: UrlCitation[] = [];
  const thinking: ThinkingBlock[] = [];
  const calls: Calls = [];
  for (const block of blocks) {
    const { type, text, citations, id, name, input } = block;
    if (type === 'text') {
      const start = characters;
      content += textOrEmpty(text);
      characters += countCharacters(textOrEmpty(text));
      annotations.push(...urlCitations(citations, start, characters));
    } else if (type === 'tool_use') {
      const called = { name: textOrEmpty(name), arguments: JSON.stringify(input ?? {}) };
      calls.push({ id: callerToolId(textOrEmpty(id)), type: 'function', function: called });
    } else if (type === 'thinking') {
      thinking.push({ type, thinking: textOrEmpty(block.thinking), signature: textOrEmpty(block.signature) });
    } else if (type === 'redacted_thinking') thinking.push({ type, data: textOrEmpty(block.data) });
  }
  const reasoning = thinking.map((block) => (block.type === 'thinking' ? block.thinking : '')).join('');
  return {
    role: 'assistant',
    content: content === '' ? null : content,
    refusal: refusalText(ending),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(thinking.length > 0 && { thinking_blocks: thinking }),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(annotations.length > 0 && { annotations }),
    ...(!isPlain(blocks) && { content_blocks: blocks.filter(isFull) }),
  };
}

/** Anthropic takes no empty text back. */
function isFull({ type, text }: Fields): boolean {
  return type !== 'text' || textOrEmpty(text) !== '';
}

const ORDER: readonly unknown[] = ['thinking', 'redacted_thinking', 'text', 'tool_use'];

/**
 * Whether the blocks are thinking, then at most one text without citations, then tool calls: a request can rebuild
 * these.
 */
function isPlain(blocks: readonly Fields[]): boolean {
  const full = blocks.filter(isFull);
  const places = full.map(({ type }) => ORDER.indexOf(type)).map((place) => (place === 1 ? 0 : place));
  const texts = full.filter(({ type }) => type === 'text');
  const inOrder = places.every((place, index) => place >= (places[index - 1] ?? 0));
  return inOrder && texts.length <= 1 && texts.every(({ citations }) => listOrEmpty(citations).length === 0);
}

/** The words of a refusal; `null` if the answer is not one. */
function refusalText({ stop_reason: reason, stop_details: details }: Fields): string | null {
  if (reason !== 'refusal') return null;
  const { explanation, category } = fieldsOrEmpty(details);
  if (typeof explanation === 'string' && explanation !== '') return explanation;
  return typeof category === 'string' ? `The model refused to answer (${category}).` : 'The model refused to answer.';
}

/** Unicode characters, as most languages count them. */
function countCharacters(text: string): number {
  let low = 0;
  for (let index = 0; index < text.length; index += 1) if ((text.charCodeAt(index) & 0xfc00) === 0xdc00) low += 1;
  return text.length - low;
}

/** The web pages that a block of text cites; the block lies between the two positions of the content. */
function urlCitations(citations: unknown, start: number, end: number): UrlCitation[] {
  return listOrEmpty(citations)
    .map(fieldsOrEmpty)
    .filter(({ type }) => type === 'web_search_result_location')
    .map(({ url, title }) => ({
      type: 'url_citation',
      url_citation: { url: textOrEmpty(url), title: textOrEmpty(title), start_index: start, end_index: end },
    }));
}
