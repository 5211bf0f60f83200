/**
 * The request of an operation's example as a command with curl, as TypeScript and as Python.
 */
import { METHODS } from '../../../client/methods.ts';
import type { Entry } from '../../../http/openapi/entries.ts';
import type { OpenApiDocument } from '../../../http/openapi/types.ts';
import { listParameters, type Route } from '../reference.ts';
import { pythonSample } from './python.ts';
import { sampleRequest } from './request.ts';
import { typeScriptSample } from './typescript.ts';

export interface Sample {
  language: 'curl' | 'TypeScript' | 'Python';
  source: string;
}

const CLIENT_METHODS: ReadonlySet<string> = new Set(Object.keys(METHODS));

export function buildSamples(document: OpenApiDocument, { operation }: Route, entry: Entry): Sample[] {
  const query = listParameters(document, operation).filter(({ in: place }) => place === 'query');
  const schemas = Object.fromEntries(query.map(({ name, schema }) => [name, schema]));
  const origin = document.servers[0]?.url ?? '';
  const request = sampleRequest(entry, origin, schemas);
  const [curl] = operation['x-codeSamples'];
  return [
    { language: 'curl', source: curl?.source ?? '' },
    { language: 'TypeScript', source: typeScriptSample(request, CLIENT_METHODS) },
    { language: 'Python', source: pythonSample(request) },
  ];
}
