/**
 * The request of an operation's example, with plausible values: the samples in TypeScript and Python send it.
 */
import { MEDIA_TYPE } from '../../../contract/envelope.ts';
import { type Entry, findRoute } from '../../../http/openapi/entries.ts';
import { EXAMPLES, type Example, type ExampleId } from '../../../http/openapi/examples.ts';
import { exampleAddress } from '../../../http/openapi/shell.ts';
import { concrete } from '../../../http/openapi/steps.ts';
import type { JsonSchema } from '../../../http/openapi/types.ts';

export interface SampleRequest {
  id: ExampleId;
  method: string;
  origin: string;
  /** With the query. */
  path: string;
  params: Record<string, string>;
  /** With the types that the operation reads. */
  query: Record<string, unknown>;
  body: unknown;
  upload: Example['upload'];
  /** The variable of the environment that has the credential. */
  credential: string | undefined;
  headers: Record<string, string>;
}

export function sampleRequest(entry: Entry, origin: string, query: Record<string, JsonSchema>): SampleRequest {
  const { id, method } = entry;
  const { credential, vendorType } = findRoute(id);
  const example = EXAMPLES[id];
  const { params = {}, query: sent = {}, body, upload } = concrete(example) as Example;
  return {
    id,
    method,
    origin,
    path: exampleAddress(entry, { params, ...(example.query && { query: sent }) }),
    params,
    query: Object.fromEntries(Object.entries(sent).map(([name, text]) => [name, typed(text, query[name])])),
    body,
    upload,
    credential: example.credential?.slice(1) ?? credential,
    headers: {
      ...(vendorType && { Accept: MEDIA_TYPE }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
  };
}

/** A parameter is sent as text, and clients have the value itself. */
function typed(text: string, schema: JsonSchema = {}): unknown {
  const types = [schema, ...(schema.anyOf ?? [])].flatMap(({ type = [] }) => type);
  if (types.includes('integer') || types.includes('number')) return Number(text);
  if (types.includes('boolean')) return text === 'true';
  return types.includes('array') ? text.split(',') : text;
}

/** The contents of an upload's file. */
export function fileText({ file }: NonNullable<Example['upload']>): string {
  return file.lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
}
