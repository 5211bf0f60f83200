/**
 * The messages of a chat as a conversation of Anthropic: system messages before the first turn become its `system`,
 * results of tools become turns of the user, and neighbours of the same role become one turn.
 */
import type {
  ContentBlockParam,
  MessageParam,
  TextBlockParam,
  ToolResultBlockParam,
  ToolUseBlockParam,
} from '@anthropic-ai/sdk/resources/messages';
import { canonicalJson } from '../../domain/canonical.ts';
import { parseJsonText } from '../../platform/json.ts';
import { type Fields, fieldsOrEmpty, isFields, listOrEmpty } from '../../vendors/usage/figures.ts';
import { buildMessage } from './answer-message.ts';
import { contentBlocks, readCacheMark, textBlocks } from './messages-content.ts';
import type { Refusals } from './refusals.ts';
import { anthropicToolId, withTakenToolId } from './tool-ids.ts';

interface Turn {
  role: 'user' | 'assistant' | 'system';
  content: ContentBlockParam[];
  /** The path of its last message, for refusals. */
  at: string;
}

export interface ConversationParts {
  system: TextBlockParam[];
  messages: MessageParam[];
}

/**
 * Members of an earlier answer that repeat what other members say, or that only people read. `reasoning_content` is one
 * of them: Anthropic takes reasoning back with its signature alone, as in `thinking_blocks`.
 */
const REPEATED = ['annotations', 'parsed', 'reasoning_content'];

/** The search that Anthropic runs itself. */
const SEARCH_BLOCKS: readonly unknown[] = ['server_tool_use', 'web_search_tool_result'];
/** The kinds of blocks of an answer. */
const ANSWER_BLOCKS: readonly unknown[] = ['text', 'thinking', 'redacted_thinking', 'tool_use', ...SEARCH_BLOCKS];

/** `systemLater` is whether the model takes system messages within the conversation. */
export function translateMessages(messages: unknown, systemLater: boolean, refusals: Refusals): ConversationParts {
  const system: TextBlockParam[] = [];
  const turns: Turn[] = [];
  for (const [index, value] of refusals.list(messages, 'messages').entries()) {
    const message = fieldsOrEmpty(value);
    const at = `messages[${index}]`;
    const read = readMessage(message, at, refusals);
    if (read.content.length === 0) continue;
    if (read.role === 'system' && turns.length === 0) system.push(...read.content.filter(isText));
    else addTurn(turns, read, systemLater, refusals);
  }
  if (turns.length === 0) refusals.add('messages', 'must have a message with content besides the system messages');
  return { system, messages: turns.map(({ role, content }) => ({ role, content }) as MessageParam) };
}

function isText(block: ContentBlockParam): block is TextBlockParam {
  return block.type === 'text';
}

/**
 * Within the conversation, Anthropic takes system messages before a turn of the assistant and after a turn of the user,
 * or after a turn of the assistant that ends with a search. Source:
 * platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.
 */
function addTurn(turns: Turn[], turn: Turn, systemLater: boolean, refusals: Refusals): void {
  const before = turns.at(-1);
  if (turn.role === 'system' && !systemLater)
    refusals.add(turn.at, 'must come before the conversation: the model takes no system messages within it');
  if (turn.role === 'system' && before?.role === 'assistant' && !SEARCH_BLOCKS.includes(before.content.at(-1)?.type))
    refusals.add(turn.at, "must come before the conversation, or after a message of the user or a tool's result");
  if (turn.role === 'user' && before?.role === 'system')
    refusals.add(before.at, 'must come before the conversation, or before an answer or its end');
  if (before?.role === turn.role) {
    before.content.push(...turn.content);
    before.at = turn.at;
  } else turns.push(turn);
}

function readMessage(message: Fields, at: string, refusals: Refusals): Turn {
  const { role, name } = message;
  // A tool's name is known from its call.
  if (name != null && role !== 'tool')
    refusals.add(`${at}.name`, 'cannot be told apart at Anthropic: write the name into the text');
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: marked(readPlain(message, 'system', at, refusals), message, at, refusals), at };
    case 'user':
      return { role, content: marked(readPlain(message, role, at, refusals), message, at, refusals), at };
    case 'assistant':
      return { role, content: marked(readAnswer(message, at, refusals), message, at, refusals), at };
    case 'tool':
      return { role: 'user', content: [readResult(message, at, refusals)], at };
    default:
      refusals.add(`${at}.role`, 'must be one of system, developer, user, assistant, tool');
      return { role: 'user', content: [], at };
  }
}

function readPlain(message: Fields, role: 'system' | 'user', at: string, refusals: Refusals): ContentBlockParam[] {
  refusals.unknown(message, ['role', 'content', 'name', 'cache_control'], at);
  return contentBlocks(message.content, role, `${at}.content`, refusals);
}

/** Thinking comes first and tool calls last, as in most answers of the model; `content_blocks` has the others. */
function readAnswer(message: Fields, at: string, refusals: Refusals): ContentBlockParam[] {
  const { content, refusal, tool_calls: calls, thinking_blocks: thinking, content_blocks: blocks } = message;
  const own = [
    'role',
    'content',
    'name',
    'cache_control',
    'refusal',
    'tool_calls',
    'thinking_blocks',
    'content_blocks',
  ];
  refusals.unknown(message, [...own, ...REPEATED], at);
  const thoughts = refusals
    .list(thinking, `${at}.thinking_blocks`)
    .flatMap((block, index) => readThinking(fieldsOrEmpty(block), `${at}.thinking_blocks[${index}]`, refusals));
  const texts = textBlocks(content, 'assistant', `${at}.content`, refusals);
  const refused = textBlocks(refusal, 'assistant', `${at}.refusal`, refusals);
  const called = refusals
    .list(calls, `${at}.tool_calls`)
    .flatMap((call, index) => readCall(fieldsOrEmpty(call), `${at}.tool_calls[${index}]`, refusals));
  if (blocks == null) return [...thoughts, ...texts, ...refused, ...called];
  return [...readBlocks(message, at, refusals), ...refused];
}

/** The blocks of an unchanged answer, as they came. */
function readBlocks(message: Fields, at: string, refusals: Refusals): ContentBlockParam[] {
  const param = `${at}.content_blocks`;
  const blocks = refusals.list(message.content_blocks, param).map(fieldsOrEmpty);
  for (const [index, { type }] of blocks.entries()) {
    if (!ANSWER_BLOCKS.includes(type))
      refusals.add(`${param}[${index}].type`, `must be one of ${ANSWER_BLOCKS.join(', ')}`);
  }
  const come = buildMessage(blocks, {});
  const thinking_blocks = message.thinking_blocks ?? come.thinking_blocks;
  if (messageWords({ ...come }) !== messageWords({ ...message, thinking_blocks }))
    refusals.add(param, 'must say what the rest of the message says; leave it out if you have changed the rest');
  return blocks.map(withTakenToolId) as ContentBlockParam[];
}

/** The content of a message as a text that is equal for equal messages. */
function messageWords({ content, thinking_blocks: thinking, tool_calls: calls }: Fields): string {
  const called = listOrEmpty(calls).map((call) => {
    const { name, arguments: given } = fieldsOrEmpty(fieldsOrEmpty(call).function);
    const parsed = parseJsonText(typeof given === 'string' ? given : '');
    return { id: fieldsOrEmpty(call).id, name, given: parsed.ok ? parsed.value : given };
  });
  return canonicalJson({ content: content ?? '', thinking: thinking ?? [], called });
}

function readThinking(block: Fields, at: string, refusals: Refusals): ContentBlockParam[] {
  if (block.type === 'redacted_thinking') {
    refusals.unknown(block, ['type', 'data'], at);
    return [{ type: 'redacted_thinking', data: refusals.text(block.data, `${at}.data`) }];
  }
  if (block.type !== 'thinking') refusals.add(`${at}.type`, 'must be `thinking` or `redacted_thinking`');
  refusals.unknown(block, ['type', 'thinking', 'signature'], at);
  const thinking = refusals.text(block.thinking, `${at}.thinking`);
  const signature = refusals.text(block.signature, `${at}.signature`);
  return [{ type: 'thinking', thinking, signature }];
}

function readCall(call: Fields, at: string, refusals: Refusals): ToolUseBlockParam[] {
  if (call.type !== 'function') {
    refusals.add(`${at}.type`, 'must be `function`: Anthropic has no calls of another kind');
    return [];
  }
  refusals.unknown(call, ['id', 'type', 'index', 'function'], at);
  const called = refusals.object(call.function, `${at}.function`);
  refusals.unknown(called, ['name', 'arguments', 'parsed_arguments'], `${at}.function`);
  const given = refusals.text(called.arguments, `${at}.function.arguments`);
  // Models write no arguments at all for a function without parameters.
  const parsed = given.trim() === '' ? { ok: true as const, value: {} } : parseJsonText(given);
  if (!parsed.ok || !isFields(parsed.value))
    refusals.add(`${at}.function.arguments`, 'must be the text of a JSON object');
  return [
    {
      type: 'tool_use',
      id: anthropicToolId(refusals.text(call.id, `${at}.id`)),
      name: refusals.text(called.name, `${at}.function.name`),
      input: parsed.ok ? parsed.value : {},
    },
  ];
}

function readResult(message: Fields, at: string, refusals: Refusals): ToolResultBlockParam {
  refusals.unknown(message, ['role', 'content', 'name', 'tool_call_id', 'cache_control'], at);
  const content = contentBlocks(message.content, 'tool', `${at}.content`, refusals);
  return {
    type: 'tool_result',
    tool_use_id: anthropicToolId(refusals.text(message.tool_call_id, `${at}.tool_call_id`)),
    ...(content.length > 0 && { content }),
    ...readCacheMark(message, at, refusals),
  };
}

/** A mark on a message becomes a mark on its last block; thinking takes no mark. */
function marked(blocks: ContentBlockParam[], message: Fields, at: string, refusals: Refusals): ContentBlockParam[] {
  const mark = readCacheMark(message, at, refusals);
  const last = blocks.at(-1);
  if (last === undefined || last.type === 'thinking' || last.type === 'redacted_thinking') return blocks;
  return [...blocks.slice(0, -1), { ...mark, ...last }];
}
