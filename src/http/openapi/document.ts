/**
 * The OpenAPI 3.1 document, generated from the contract's tables. zod-openapi renders the schemas; names, examples,
 * error answers and permissions are added here.
 *
 * Rendering takes some tenths of a second, so it runs once per isolate, at the first request; documents for different
 * origins differ only in the origin.
 */
import type { z } from 'zod';
import { createDocument, type ZodOpenApiObject } from 'zod-openapi';
import { ErrorEnvelope } from '../../contract/envelope.ts';
import { AnthropicError, GatewayError, GoogleError } from '../../contract/gateway/answers.ts';
import { LookupError } from '../../contract/model-lookup.ts';
import { type Entry, entries, nameSchemas } from './entries.ts';
import { errorResponses, otherErrorResponses } from './errors.ts';
import { buildOperation, HEADERS, PARAMETERS } from './operation.ts';
import { exportedSchemas, RENDERING, usedComponents } from './schemas.ts';
import { INTRODUCTION, SECURITY_SCHEMES, TAGS } from './text.ts';
import type { OpenApiDocument } from './types.ts';

/** The placeholder for the origin in the rendered document. */
const ORIGIN = 'https://origin.invalid';
const VERSION = '0.0.0-version';

/** `version` is the service's version, `origin` its address. */
const OTHER_ERRORS = { openAi: GatewayError, anthropic: AnthropicError, google: GoogleError, lookup: LookupError };

export function openApiDocument(version: string, origin: string): OpenApiDocument {
  rendered ??= JSON.stringify(render());
  return JSON.parse(rendered.replaceAll(ORIGIN, origin).replace(VERSION, version));
}

let rendered: string | undefined;

function render(): OpenApiDocument {
  const all = [...entries().values()];
  const paths: Record<string, Record<string, unknown>> = {};
  for (const entry of all) addTo(paths, entry);
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Callmeter',
      version: VERSION,
      summary: 'Metering, entitlements and exact cost for AI calls, at the edge.',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: ORIGIN, description: 'This service' }],
    tags: TAGS.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      schemas: listSchemas(all),
      parameters: PARAMETERS,
      responses: { ...errorResponses(ErrorEnvelope, all), ...otherErrorResponses(OTHER_ERRORS) },
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
  const made = createDocument(document as unknown as ZodOpenApiObject, RENDERING) as unknown as OpenApiDocument;
  return usedComponents(made);
}

/** All schemas with a name of their own or of their operation. */
function listSchemas(all: readonly Entry[]): Record<string, z.ZodType> {
  const names = exportedSchemas();
  for (const [schema, name] of all.flatMap(nameSchemas)) if (!names.has(schema)) names.set(schema, name);
  return Object.fromEntries([...names].map(([schema, name]) => [name, schema]));
}

function addTo(paths: Record<string, Record<string, unknown>>, entry: Entry): void {
  const { path, method } = entry;
  paths[path] = { ...paths[path], [method.toLowerCase()]: buildOperation(entry, ORIGIN) };
}
