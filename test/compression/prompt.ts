/**
 * A prompt whose parts state their permitted changes. Joined, the parts are the text of a message.
 */
export type Part =
  /** An instruction: its wording may change as the published list says, and its white space. */
  | { say: string }
  /** Payload, or words that mean something else when they are shorter: stays byte for byte. */
  | { keep: string }
  /** JSON as data: may lose the white space between its tokens. */
  | { json: string };

export interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  parts: Part[];
}

export interface Prompt {
  /** The technique's weakness that it targets. */
  kind: string;
  /** A text, or a conversation. */
  of: Part[] | Message[];
}

export const isConversation = (of: Prompt['of']): of is Message[] => of.some((item) => 'role' in item);

export const joinParts = (parts: readonly Part[]): string =>
  parts.map((part) => ('say' in part ? part.say : 'keep' in part ? part.keep : part.json)).join('');

export const renderMessages = (of: Message[]) => of.map(({ role, parts }) => ({ role, content: joinParts(parts) }));
