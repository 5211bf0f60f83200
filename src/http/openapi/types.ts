/**
 * The types of the OpenAPI 3.1 document, as far as Callmeter uses them.
 */

/** A JSON Schema (2020-12), as in OpenAPI 3.1. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  additionalProperties?: JsonSchema | boolean;
  [keyword: string]: unknown;
}

export interface OpenApiDocument {
  openapi: '3.1.0';
  info: {
    title: string;
    version: string;
    summary: string;
    description: string;
    license: { name: string; identifier: string };
  };
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, OpenApiOperation>>;
  components: {
    schemas: Record<string, JsonSchema>;
    parameters: Record<string, Parameter>;
    responses: Record<string, AnswerObject>;
    headers: Record<string, { description: string; schema: JsonSchema }>;
    securitySchemes: Record<string, { type: string; description: string; [field: string]: string }>;
  };
}

export interface OpenApiOperation {
  operationId: string;
  summary: string;
  description?: string;
  tags: [string];
  security: Record<string, string[]>[];
  parameters: (Parameter | Reference)[];
  requestBody?: { required: boolean; description?: string; content: Record<string, MediaType> };
  responses: Record<string, AnswerObject | AnswerReference>;
  'x-codeSamples': { lang: string; label: string; source: string }[];
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  description: string;
  required?: boolean;
  style?: 'form';
  explode?: boolean;
  schema: JsonSchema;
  example?: unknown;
}

interface MediaType {
  schema: JsonSchema;
  example?: unknown;
}

export interface AnswerObject {
  description: string;
  headers?: Record<string, Reference>;
  content?: Record<string, MediaType>;
  links?: Record<string, { operationId: string; parameters: Record<string, string>; description: string }>;
}

export interface Reference {
  $ref: string;
}

/** Its description takes the place of the component's own. */
export interface AnswerReference extends Reference {
  description?: string;
}
