/**
 * The ids of tool calls in a history that goes to Anthropic, which takes letters, digits, `_` and `-` alone. In another
 * vendor's id, such as `functions.now:0`, any other character becomes its code. The same id is always the same, so that a
 * cached prompt stays the same; two ids are never one; and the id can be told from its substitute.
 */
import { isFields } from './usage/figures.ts';

const TAKEN = /^[a-zA-Z0-9_-]+$/;
/** How substitutes begin. An id of the caller's that begins like that gets a substitute too. */
const PREFIX = 'callmeter_';

export function anthropicToolId(id: string): string {
  if (TAKEN.test(id) && !id.startsWith(PREFIX)) return id;
  return PREFIX + id.replace(/[^a-zA-Z0-9-]/g, (character) => `_${character.charCodeAt(0).toString(16)}_`);
}

/** The id for which a substitute stands; any other stays as it is. */
export function callerToolId(id: string): string {
  if (!id.startsWith(PREFIX)) return id;
  return id
    .slice(PREFIX.length)
    .replace(/_([0-9a-f]{1,4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** The members of blocks that have such an id. */
const ID_MEMBERS = new Map<unknown, string>([
  ['tool_use', 'id'],
  ['tool_result', 'tool_use_id'],
]);

/** Messages of Anthropic's own form with ids that it takes; the same list if it takes all. */
export function withTakenToolIds(messages: readonly unknown[]): readonly unknown[] {
  return changedItems(messages, (message) => {
    if (!isFields(message) || !Array.isArray(message.content)) return message;
    const content = changedItems(message.content, withTakenToolId);
    return content === message.content ? message : { ...message, content };
  });
}

export function withTakenToolId(block: unknown): unknown {
  if (!isFields(block)) return block;
  const name = ID_MEMBERS.get(block.type);
  const id = name === undefined ? undefined : block[name];
  if (name === undefined || typeof id !== 'string') return block;
  const taken = anthropicToolId(id);
  return taken === id ? block : { ...block, [name]: taken };
}

/** The same list if no item changes. */
function changedItems(items: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  const changed = items.map(change);
  return changed.every((item, index) => item === items[index]) ? items : changed;
}
