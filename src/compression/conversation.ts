/**
 * Reads a stored input as a conversation.
 */

/**
 * A sample's input as a conversation: applications store a text, a list of messages, or the whole request to a vendor.
 * Any other value counts as its JSON text.
 */
export function readMessages(input: unknown): object[] {
  if (typeof input === 'string') return [user(input)];
  if (Array.isArray(input) && input.every((item) => typeof item === 'string' || isRecord(item))) {
    return input.map((item) => (typeof item === 'string' ? user(item) : item));
  }
  if (isRecord(input)) {
    const conversation = input.messages ?? input.input ?? input.prompt;
    if (conversation !== undefined)
      return [...systemMessages(input.system), ...systemMessages(input.instructions), ...readMessages(conversation)];
  }
  return [user(JSON.stringify(input))];
}

const user = (content: string) => ({ role: 'user', content });

/** A system prompt beside the messages: a text, or a list of text parts. */
function systemMessages(system: unknown): object[] {
  return typeof system === 'string' || Array.isArray(system) ? [{ role: 'system', content: system }] : [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
