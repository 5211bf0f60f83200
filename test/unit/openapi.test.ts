/**
 * Promise: the OpenAPI document is valid, names every route of the contract, describes every field, and its examples
 * match its own schemas.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';
import { type GatewayOperation, gatewayOperations } from '../../src/contract/gateway/operations.ts';
import { LOOKUP_PATH } from '../../src/contract/model-lookup.ts';
import { type Operation, operations } from '../../src/contract/operations.ts';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import * as examples from '../../src/http/openapi/examples.ts';
import type { OpenApiOperation, Parameter, Reference } from '../../src/http/openapi/types.ts';
import { brokenRules } from '../support/json-schema.ts';

const document = openApiDocument('1.2.3', 'https://callmeter.example');
const entries = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
);

function pointed(reference: string): unknown {
  const found = reference
    .replace(/^#\//, '')
    .split('/')
    .reduce<unknown>((node, step) => (node as Record<string, unknown> | undefined)?.[step], document);
  if (found === undefined) throw new Error(`${reference} points nowhere`);
  return found;
}

function parametersOf({ parameters }: OpenApiOperation): Parameter[] {
  return parameters.map((parameter) =>
    '$ref' in parameter ? (pointed((parameter as Reference).$ref) as Parameter) : parameter,
  );
}

test('documents for two origins differ in the origin alone', () => {
  const other = JSON.stringify(openApiDocument('1.2.3', 'https://other.example'));
  expect(other).not.toContain('https://callmeter.example');
  expect(JSON.parse(other.replaceAll('https://other.example', 'https://callmeter.example'))).toEqual(document);
  expect(JSON.stringify(document)).not.toContain('origin.invalid');
  expect(document.info.version).toBe('1.2.3');
});

describe('is OpenAPI 3.1', () => {
  const name = z.string().regex(/^[a-zA-Z0-9._-]+$/);
  const schema = z.record(z.string(), z.unknown());
  const reference = z.strictObject({
    $ref: z.string().startsWith('#/components/'),
    description: z.string().min(1).optional(),
  });
  const media = z.record(
    z.string().regex(/^[\w.+-]+\/[\w.+-]+$/),
    z.strictObject({ schema, example: z.unknown().optional() }),
  );
  const parameter = z
    .strictObject({
      name: z.string(),
      in: z.enum(['path', 'query', 'header']),
      description: z.string().min(1),
      required: z.literal(true).optional(),
      style: z.literal('form').optional(),
      explode: z.boolean().optional(),
      schema,
      example: z.unknown().optional(),
    })
    .refine((value) => value.in !== 'path' || value.required === true);
  const link = z.strictObject({
    operationId: z.string(),
    parameters: z.record(z.string(), z.string().startsWith('$response.body#/')),
    description: z.string(),
  });
  const response = z.strictObject({
    description: z.string().min(1),
    headers: z.record(z.string(), reference).optional(),
    content: media.optional(),
    links: z.record(name, link).optional(),
  });
  const operation = z.strictObject({
    operationId: name,
    summary: z.string().min(1),
    description: z.string().optional(),
    tags: z.tuple([z.string()]),
    security: z.array(z.record(z.string(), z.array(z.string()))),
    parameters: z.array(z.union([reference, parameter])),
    requestBody: z
      .strictObject({ required: z.boolean(), description: z.string().optional(), content: media })
      .optional(),
    responses: z.record(z.string().regex(/^([1-5]\d\d|default)$/), z.union([reference, response])),
    'x-codeSamples': z.array(z.strictObject({ lang: z.string(), label: z.string(), source: z.string() })).min(1),
  });
  const shape = z.strictObject({
    openapi: z.string().regex(/^3\.1\.\d+$/),
    info: z.strictObject({
      title: z.string(),
      version: z.string(),
      summary: z.string(),
      description: z.string(),
      license: z.strictObject({ name: z.string(), identifier: z.string() }),
    }),
    servers: z.array(z.strictObject({ url: z.url(), description: z.string() })),
    tags: z.array(z.strictObject({ name: z.string(), description: z.string() })),
    paths: z.record(
      z.string().startsWith('/'),
      z.partialRecord(z.enum(['get', 'post', 'put', 'patch', 'delete']), operation),
    ),
    components: z.strictObject({
      schemas: z.record(name, schema),
      parameters: z.record(name, parameter),
      responses: z.record(name, response),
      headers: z.record(name, z.strictObject({ description: z.string(), schema })),
      securitySchemes: z.record(name, z.looseObject({ type: z.enum(['http', 'apiKey']), description: z.string() })),
    }),
  });

  test('by the shape of every object in it', () => {
    expect(shape.safeParse(document).error?.issues.slice(0, 5)).toBeUndefined();
  });

  test('every reference leads to something', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, target]) => target ?? '');
    expect(references.length).toBeGreaterThan(500);
    for (const target of new Set(references)) expect(pointed(target)).toBeTypeOf('object');
  });

  test('a schema that refers to another adds words or a default, and no rule', () => {
    const siblings = new Set<string>();
    JSON.stringify(document, (_, node) => {
      if (node?.$ref?.startsWith('#/components/schemas/'))
        for (const keyword of Object.keys(node)) siblings.add(keyword);
      return node;
    });
    expect([...siblings].toSorted()).toEqual(['$ref', 'default', 'description']);
  });

  test('every component is used', () => {
    const text = JSON.stringify(document);
    for (const kind of ['schemas', 'parameters', 'responses', 'headers'] as const) {
      for (const known of Object.keys(document.components[kind]))
        expect(text).toContain(`"#/components/${kind}/${known}"`);
    }
  });

  test('operation ids are unique, and so are parameters of an operation', () => {
    const ids = entries.map(({ operation: { operationId } }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { operation: one } of entries) {
      const names = parametersOf(one).map((value) => `${value.in} ${value.name}`);
      expect(new Set(names).size, one.operationId).toBe(names.length);
    }
  });

  test('every name in a path is a parameter, and every path parameter is in the path', () => {
    for (const { path, operation: one } of entries) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, part]) => part);
      const declared = parametersOf(one)
        .filter((value) => value.in === 'path')
        .map((value) => value.name);
      expect(declared, path).toEqual(inPath);
    }
  });

  test('security, tags and links name what there is', () => {
    const tags = new Set(document.tags.map((tag) => tag.name));
    const ids = new Set(entries.map(({ operation: one }) => one.operationId));
    for (const { operation: one } of entries) {
      expect(tags).toContain(one.tags[0]);
      for (const scheme of one.security.flatMap(Object.keys))
        expect(Object.keys(document.components.securitySchemes)).toContain(scheme);
      const links = Object.values(one.responses).flatMap((answer) =>
        'links' in answer ? Object.values(answer.links ?? {}) : [],
      );
      for (const { operationId, parameters } of links) {
        expect(ids).toContain(operationId);
        const target = entries.find(({ operation: other }) => other.operationId === operationId);
        for (const parameter of Object.keys(parameters)) expect(target?.path).toContain(`{${parameter}}`);
      }
    }
    expect(new Set(entries.map(({ operation: one }) => one.tags[0])).size).toBe(tags.size);
  });
});

test('names every route of the contract, with its permissions, and no other', () => {
  const known = new Map<string, string[]>();
  for (const entry of Object.values<Operation | GatewayOperation>({ ...operations, ...gatewayOperations })) {
    known.set(`${entry.method} ${entry.path}`, entry.security.kind === 'apiKey' ? [...entry.security.scopes] : []);
  }
  for (const rest of ['', '/{provider}/{model}', '/{modelKey}']) known.set(`GET ${LOOKUP_PATH}${rest}`, []);
  expect(entries.map(({ method, path }) => `${method.toUpperCase()} ${path}`).toSorted()).toEqual(
    [...known.keys()].toSorted(),
  );
  for (const { method, path, operation } of entries) {
    const scopes = new Set(operation.security.flatMap(({ apiKey = [] }) => apiKey));
    expect([...scopes].toSorted(), path).toEqual(known.get(`${method.toUpperCase()} ${path}`)?.toSorted());
  }
});

test('says of every field and parameter what it is', () => {
  const silent: string[] = [];
  const visit = (where: string, node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [keyword, part] of Object.entries(node)) {
      if (keyword === 'properties') {
        for (const [name, property] of Object.entries(
          part as Record<string, { description?: string; $ref?: string }>,
        )) {
          const target = property.$ref === undefined ? undefined : (pointed(property.$ref) as { description?: string });
          if (!property.description && !target?.description) silent.push(`${where}.${name}`);
        }
      }
      visit(`${where}.${keyword}`, part);
    }
  };
  visit('', document.components.schemas);
  for (const { operation } of entries) {
    silent.push(
      ...parametersOf(operation)
        .filter(({ name, description }) => description === name)
        .map(({ name }) => `${operation.operationId} ${name}`),
    );
  }
  expect(silent).toEqual([]);
});

describe('examples', () => {
  test.each(entries.map(({ operation }) => [operation.operationId, operation] as const))(
    'of %s hold the schemas',
    (_id, operation) => {
      for (const { schema, example, name, required } of parametersOf(operation)) {
        if (required && document.components.parameters[name] === undefined) expect(example, name).toBeDefined();
        if (example !== undefined) expect(brokenRules(schema, example, pointed), name).toEqual([]);
      }
      const body = operation.requestBody?.content['application/json'];
      if (!body) return;
      if (operation.requestBody?.required) expect(body.example).toBeDefined();
      if (body.example !== undefined) expect(brokenRules(body.schema, body.example, pointed)).toEqual([]);
    },
  );

  test('are of the organization that the demo makes', () => {
    expect(examples.DEMO_ORGANIZATION_ID).toBe(DEMO_ORGANIZATION_ID);
  });

  test('name no credential but by its variable', () => {
    expect(JSON.stringify(document)).not.toMatch(/Bearer (?!\$|<key>)/);
  });
});

test('what a default makes optional is optional to send, and always there in an answer', () => {
  const { PlanInput, Plan } = document.components.schemas;
  expect(PlanInput?.required).toEqual(['name', 'limitType']);
  expect(Plan?.required).toContain('replenish');
});
