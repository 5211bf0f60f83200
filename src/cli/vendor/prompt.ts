/**
 * A request to a model, in the terms that all three vendors share, and the words of a prompt that control the vendor
 * for trying out.
 */
import type { VendorName } from '../../vendors/usage/figures.ts';

export interface Tool {
  name: string;
  /** JSON schema of its arguments. */
  schema: unknown;
  /** The group that a call of it must name; only OpenAI's responses have groups. */
  namespace?: string;
}

export interface Prompt {
  vendor: VendorName;
  model: string;
  /** All text that was sent: its tokens are the input. */
  text: string;
  /** The last message, by the user or by a tool that was called. */
  last: { by: 'user' | 'tool'; text: string };
  /** The tools that the application runs; a vendor's own tools are ignored. */
  tools: readonly Tool[];
  toolChoice: ToolChoice;
  /** The answer must be JSON, of this schema if there is one. */
  json: { schema: unknown } | null;
  outputTokensMax: number | null;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { name: string };

/** A request that was understood, or its error. */
export type Read = { ok: true; prompt: Prompt } | { ok: false; field: string; message: string };

export interface Words {
  /** Answer with this HTTP status. */
  status: number | null;
  slow: boolean;
  cut: boolean;
  long: boolean;
  tool: boolean;
}

export const NO_WORDS: Words = { status: null, slow: false, cut: false, long: false, tool: false };

const WORDS_LINE = /^\s*(?:(?:error [45]\d\d|slow|cut|long|tool)(?:[\s,.]+|$))+$/i;

/** The words count only if the first line of the last message has no other word. */
export function readWords({ by, text }: Prompt['last']): Words {
  const [first = ''] = text.trimStart().split('\n', 1);
  const line = by === 'user' && WORDS_LINE.test(first) ? first.toLowerCase() : '';
  const status = /error (\d{3})/.exec(line)?.[1];
  return {
    status: status === undefined ? null : Number(status),
    slow: line.includes('slow'),
    cut: line.includes('cut'),
    long: line.includes('long'),
    tool: line.includes('tool'),
  };
}

/** Members whose text no model reads as words: names, and the bytes of images and sounds. */
const NOT_READ = new Set([
  ...['type', 'id', 'role', 'status', 'detail', 'cache_control', 'signature', 'thoughtSignature', 'encrypted_content'],
  ...['call_id', 'tool_call_id', 'tool_use_id', 'image_url', 'input_audio', 'file', 'file_data', 'file_id', 'source'],
  ...['inlineData', 'fileData', 'inline_data'],
]);

/** All text in messages, parts, or the arguments and results of tools. */
export function collectText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return joined(value.map(collectText));
  if (typeof value !== 'object' || value === null) return '';
  return joined(Object.entries(value).map(([name, member]) => (NOT_READ.has(name) ? '' : collectText(member))));
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n');
}

/** The texts of a request, and of the definitions of its tools. */
export function sentText(parts: readonly unknown[], tools: readonly Tool[]): string {
  return joined([
    ...parts.map(collectText),
    ...tools.map(({ name, schema }) => `${name} ${JSON.stringify(schema ?? {})}`),
  ]);
}

export function positiveInteger(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
}
