/**
 * A prompt in a form that can be compared with an earlier request: the fields that are not messages, and the messages
 * in pieces. Each piece ends at a place where an earlier request can have ended.
 *
 * A vendor counts the same tokens for requests with equal fields and equal pieces. A prompt has no such form if the
 * vendor need not count it the same way again: if the vendor cuts, edits or completes it, or if it has kinds of tools,
 * items or parts for which that is uncertain. Cache marks are left out, because no model reads them and agents move
 * them from turn to turn.
 */
import { listTools } from '../../vendors/capabilities.ts';
import { type Fields, fieldsOrEmpty, isFields, listOrEmpty, textOrEmpty } from '../../vendors/usage/figures.ts';
import { endpointAt } from './endpoints.ts';
import { AROUND_ALL } from './input.ts';

export interface Conversation {
  /** The fields that are not messages, as JSON. */
  fields: string;
  /** The messages as JSON, in their order. */
  pieces: readonly string[];
  /** The number of messages up to the end of each piece. */
  ends: readonly number[];
  /** The stored response that the messages follow. */
  follows: string | undefined;
}

/**
 * The allowance for the seam between a counted beginning and the messages that follow it. Messages are framed by tokens
 * of their own, so texts of two speakers share no token, and each following message has the allowance of its frame. The
 * rest is text that a vendor writes around the conversation, such as a date or a line for the first message of a kind:
 * it may be as long as the allowance for all of it. A vendor that leaves out thoughts of earlier turns only counts
 * less.
 */
export const SEAM_TOKENS = AROUND_ALL.atMost;

/** Longer conversations are not followed. */
const PIECES_MAX = 1_024;

const MESSAGES_AT: Readonly<Record<string, string>> = {
  chat: 'messages',
  messages: 'messages',
  responses: 'input',
  generateContent: 'contents',
};
/** Fields with which the vendor cuts or edits the prompt, or adds content of its own. */
const CHANGES_PROMPT = [
  ...['context_management', 'transforms', 'truncate_prompt_tokens', 'context_length_exceeded_behavior', 'thread'],
  ...['container', 'image', 'conversation', 'prompt', 'cachedContent', 'cached_content', 'extra_body'],
];
/** Tools that the caller runs. Their definitions are in each prompt. */
const PLAIN_TOOL =
  /^(?:function|custom|namespace|apply_patch|local_shell|computer|computer_use_preview|(?:bash|text_editor|computer|memory)_\d+)$/;
const GOOGLE_TOOL = /^function_?[dD]eclarations$/;
/** Items of OpenAI's responses that are not messages. */
const PLAIN_ITEM =
  /^(?:message|reasoning|(?:function|custom_tool|computer|local_shell|shell|apply_patch)_call(?:_output)?)$/;
/** Items that the model made. */
const ITEM_OF_MODEL = /^reasoning$|_call$/;
const PLAIN_PART =
  /^(?:(?:input_|output_)?text|refusal|image|image_url|input_image|computer_screenshot|input_audio|file|input_file|document|thinking|redacted_thinking|tool_use|tool_result|search_result|summary_text|reasoning_text)$/;
const GOOGLE_PART =
  /^(?:text|thought|thought_?[sS]ignature|inline_?[dD]ata|function_?[cC]all|function_?[rR]esponse|media_?[rR]esolution)$/;

/** `path` is the path of an address; `null` for a request without such a form. */
export function readConversation(path: string, body: Fields): Conversation | null {
  const endpoint = endpointAt(path)?.name ?? '';
  const place = MESSAGES_AT[endpoint];
  if (place === undefined || CHANGES_PROMPT.some((name) => isSet(body[name]))) return null;
  if (isSet(body.truncation) && body.truncation !== 'disabled') return null;
  const { [place]: given, previous_response_id: follows, ...fields } = body;
  const messages = typeof given === 'string' && endpoint === 'responses' ? [given] : given;
  if (!Array.isArray(messages) || messages.length === 0) return null;
  if (!listTools(body).every(isPlainTool) || !messages.every((message) => isPlain(message, endpoint))) return null;
  const isAnthropic = endpoint === 'messages';
  if (isAnthropic && dropsThoughts(body.thinking, messages)) return null;
  const plain = messages.map((message) => withoutMarks(message, isAnthropic));
  const ends = plain.flatMap((message, index) => {
    const next = plain[index + 1];
    return next === undefined || (!isOfModel(message) && isOfModel(next)) ? [index + 1] : [];
  });
  if (ends.length > PIECES_MAX) return null;
  return {
    fields: JSON.stringify({
      ...fields,
      ...(Array.isArray(fields.tools) && { tools: fields.tools.map(withoutMark) }),
      ...(isAnthropic && isSet(fields.system) && { system: withListedText(fields.system, true) }),
    }),
    pieces: ends.map((end, index) => JSON.stringify(plain.slice(ends[index - 1] ?? 0, end))),
    ends,
    follows: typeof follows === 'string' ? follows : undefined,
  };
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** A tool that is loaded later is in the prompt only from then on. */
function isPlainTool(tool: Fields): boolean {
  const { type, defer_loading: isLater } = tool;
  if (isLater !== undefined && isLater !== false) return false;
  if (type !== undefined) return typeof type === 'string' && PLAIN_TOOL.test(type);
  return 'input_schema' in tool || 'function' in tool || Object.keys(tool).every((name) => GOOGLE_TOOL.test(name));
}

function isPlain(message: unknown, endpoint: string): boolean {
  if (typeof message === 'string') return true;
  const { type, role, content, output, parts, clear_at: clearAt } = fieldsOrEmpty(message);
  if (isSet(clearAt) || (type !== undefined && !PLAIN_ITEM.test(textOrEmpty(type)))) return false;
  if (endpoint !== 'responses' && typeof role !== 'string' && endpoint !== 'generateContent') return false;
  if (endpoint === 'generateContent')
    return (
      Array.isArray(parts) &&
      parts.every((part) => Object.keys(fieldsOrEmpty(part)).every((name) => GOOGLE_PART.test(name)))
    );
  return [content, output].every(isPlainContent);
}

function isPlainContent(content: unknown): boolean {
  return listOrEmpty(content).every((part) => {
    const { type, content: inside } = fieldsOrEmpty(part);
    return PLAIN_PART.test(textOrEmpty(type)) && (type !== 'tool_result' || isPlainContent(inside));
  });
}

function isOfModel(message: unknown): boolean {
  const { role, type } = fieldsOrEmpty(message);
  return role === undefined ? ITEM_OF_MODEL.test(textOrEmpty(type)) : role === 'assistant' || role === 'model';
}

/**
 * Anthropic may drop all thoughts from a request if one of its turns uses tools and does not begin with a thought, and
 * may keep them in the next request (platform.claude.com/docs/en/build-with-claude/extended-thinking, "graceful
 * degradation"). Adaptive thinking asks for no thought.
 */
function dropsThoughts(thinking: unknown, messages: readonly unknown[]): boolean {
  if (!isSet(thinking) || ['adaptive', 'disabled'].includes(textOrEmpty(fieldsOrEmpty(thinking).type))) return false;
  const partTypes = (message: unknown) =>
    listOrEmpty(fieldsOrEmpty(message).content).map((part) => textOrEmpty(fieldsOrEmpty(part).type));
  const isThought = (type: string) => type === 'thinking' || type === 'redacted_thinking';
  const beginsTurn = (message: unknown) =>
    !isOfModel(message) && !partTypes(message).every((type) => type === 'tool_result');
  const openings = messages.filter((message, index) => isOfModel(message) && beginsTurn(messages[index - 1]));
  const isThoughtless = (message: unknown) => !partTypes(message).some(isThought);
  return messages.some((message) => !isThoughtless(message)) && openings.some((message) => isThoughtless(message));
}

function withoutMarks(message: unknown, isAnthropic: boolean): unknown {
  if (!isFields(message) || !('content' in message)) return withoutMark(message);
  return withoutMark({ ...message, content: withListedText(message.content, isAnthropic) });
}

/** To Anthropic, a text stands for a list with one text block (its API reference, `content` of messages). */
function withListedText(content: unknown, isAnthropic: boolean): unknown {
  if (isAnthropic && typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return content;
  return content.map((part) => {
    if (!isFields(part) || part.type !== 'tool_result' || !Array.isArray(part.content)) return withoutMark(part);
    return withoutMark({ ...part, content: part.content.map(withoutMark) });
  });
}

const MARKS = ['cache_control', 'prompt_cache_breakpoint'];
/** The longest word of a mark. */
const MARK_LENGTH_MAX = 32;

/** Removes the value's own marks. The model reads deeper marks, such as those in the arguments of a tool. */
function withoutMark(value: unknown): unknown {
  if (!isFields(value) || !MARKS.some((name) => isMark(value[name]))) return value;
  return Object.fromEntries(Object.entries(value).filter(([name, member]) => !MARKS.includes(name) || !isMark(member)));
}

function isMark(value: unknown): boolean {
  return (
    isFields(value) && Object.values(value).every((word) => typeof word === 'string' && word.length <= MARK_LENGTH_MAX)
  );
}
