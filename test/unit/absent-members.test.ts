/**
 * Promise: `null` is absent for every optional field of every request body, unless the field takes null as a value.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Operation, type OperationId, operations } from '../../src/contract/operations.ts';
import { withoutAbsent } from '../../src/http/middleware/absent-members.ts';
import { EXAMPLES } from '../../src/http/openapi/examples.ts';
import type { JsonSchema } from '../../src/http/openapi/types.ts';

const withBody = Object.values<Operation>(operations).flatMap(({ operationId, body: schema }) => {
  const { body: example } = EXAMPLES[operationId as OperationId];
  return schema && example !== undefined ? [[operationId, schema, concrete(example)] as const] : [];
});

/** The example without its variables. */
function concrete(example: unknown): unknown {
  return JSON.parse(JSON.stringify(example).replaceAll(/\$[A-Z_]+/g, 'x1'));
}

const takesNull = ({ type, anyOf, enum: values, ...rest }: JsonSchema) =>
  type === 'null' ||
  anyOf?.some(takesNull) ||
  (!type && !anyOf && !values && !rest.oneOf && !rest.const && !rest.allOf);

/** The example with null for each optional member that it lacks, at every depth. */
function padded(schema: JsonSchema, example: unknown): unknown {
  if (Array.isArray(example)) return example.map((item) => padded(schema.items ?? {}, item));
  if (typeof example !== 'object' || example === null) return example;
  const given = example as Record<string, unknown>;
  const options = schema.oneOf ?? schema.anyOf ?? [schema];
  const option = options.find(({ properties = {} }) =>
    Object.entries(properties).every(([name, { const: value }]) => value === undefined || value === given[name]),
  );
  const names = new Set([...Object.keys(option?.properties ?? {}), ...Object.keys(given)]);
  return Object.fromEntries(
    [...names].flatMap((name) => {
      const field = option?.properties?.[name] ?? (option?.additionalProperties as JsonSchema | undefined) ?? {};
      if (name in given) return [[name, padded(field, given[name])]];
      return takesNull(field) ? [] : [[name, null]];
    }),
  );
}

describe.each(withBody)('%s', (_, schema, example) => {
  test('takes null for every optional field that the body lacks, and reads the same', () => {
    const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as JsonSchema;
    const sent = padded(json, example);
    expect(schema.parse(withoutAbsent(schema, sent))).toEqual(schema.parse(example));
  });
});

test('the bodies above had nulls of many fields', () => {
  const nulls = withBody.map(([, schema, example]) => {
    const sent = padded(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema, example);
    return JSON.stringify(sent).split(':null').length - 1;
  });
  expect(nulls.filter((count) => count > 0).length).toBeGreaterThan(20);
  expect(nulls.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(150);
});

test.each(['beginCall', 'makeCall', 'incrementMeter', 'decideSampling', 'storeSample', 'createClientSession'] as const)(
  'an empty feature of %s is absent',
  (id) => {
    const schema: z.ZodType = operations[id].body;
    const { feature: _, ...example } = concrete(EXAMPLES[id].body) as Record<string, unknown>;
    expect(schema.parse(withoutAbsent(schema, { ...example, feature: '' }))).toEqual(schema.parse(example));
  },
);

test('null stays where it is a value', () => {
  const plan = { name: 'P', limitType: 'NONE', replenish: null, payg: { enabled: true, maxOutputTokens: null } };
  expect(withoutAbsent(operations.putPlan.body, { ...plan, limits: { premiumCalls: null } })).toEqual({
    ...plan,
    limits: { premiumCalls: null },
  });
  expect(withoutAbsent(operations.updateOrganization.body, { defaultPlanId: null })).toEqual({ defaultPlanId: null });
  const sample = { provider: 'openai', input: null, output: { a: null }, error: null };
  expect(withoutAbsent(operations.storeSample.body, sample)).toEqual(sample);
  const vendor = { url: 'https://a.example', body: { stop: null } };
  expect(withoutAbsent(operations.makeCall.body, { customerId: 'a', vendor })).toEqual({ customerId: 'a', vendor });
});

test('a null that no field explains is refused where unknown members are', () => {
  const plan = { name: 'P', limitType: 'NONE', limit: null };
  expect(operations.putPlan.body.safeParse(withoutAbsent(operations.putPlan.body, plan)).success).toBe(false);
});

test('a required field that is null is missing', () => {
  const body = withoutAbsent(operations.provisionCustomer.body, { customerId: null, customer_id: 'alice' });
  expect(operations.provisionCustomer.body.parse(body)).toEqual({ customerId: 'alice' });
  expect(operations.provisionCustomer.body.safeParse({}).success).toBe(false);
});
