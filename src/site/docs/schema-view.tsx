/**
 * A schema as a list of its fields: name, kind, whether it is required, description. Named schemas are linked.
 */
import type { Child, FC } from 'hono/jsx';
import type { JsonSchema } from '../../http/openapi/types.ts';
import { count } from '../../ui/format.ts';
import { Inline } from '../shell.tsx';
import { schemaPath } from './paths.ts';
import { referenceName } from './reference.ts';

/** Nested nameless objects; the contract has only a few levels. */
const DEPTH_MAX = 6;

export const Fields: FC<{ schema: JsonSchema; label: string; depth?: number }> = ({ schema, label, depth = 0 }) => {
  const { properties, required = [] } = schema;
  if (!properties) return <Alternatives schema={schema} label={label} depth={depth} />;
  const entries = Object.entries(properties);
  const inOrder = [
    ...entries.filter(([name]) => required.includes(name)),
    ...entries.filter(([name]) => !required.includes(name)),
  ];
  return (
    <ul class="fields" aria-label={label}>
      {inOrder.map(([name, field]) => (
        <li>
          <div class="head">
            <span class="name">{name}</span>
            <span class="kind">
              <Kind schema={field} />
            </span>
            {required.includes(name) && <span class="must">required</span>}
          </div>
          <Words schema={field} />
          {depth < DEPTH_MAX && <Inside schema={field} name={name} depth={depth} />}
        </li>
      ))}
    </ul>
  );
};

/** A schema that is not an object: a union or a plain value. */
const Alternatives: FC<{ schema: JsonSchema; label: string; depth: number }> = ({ schema, label, depth }) => {
  const choices = schema.oneOf ?? schema.anyOf;
  if (!choices?.some(({ properties, $ref }) => properties ?? $ref)) {
    return (
      <p class="fields">
        <span class="kind">
          <Kind schema={schema} />
        </span>
        <Words schema={schema} />
      </p>
    );
  }
  return (
    <div class="stack">
      {choices.map((choice, index) =>
        choice.properties ? (
          <div>
            <h3>{index === 0 ? 'Either' : 'Or'}</h3>
            <Fields schema={choice} label={`${label}, alternative ${index + 1}`} depth={depth} />
          </div>
        ) : (
          <p>
            {index === 0 ? 'Either ' : 'Or '}
            <Kind schema={choice} /> <Words schema={choice} inline />
          </p>
        ),
      )}
    </div>
  );
};

/** The fields of a nameless object, also as items of a list or values of a map. */
const Inside: FC<{ schema: JsonSchema; name: string; depth: number }> = ({ schema, name, depth }) => {
  const parts = [
    schema,
    schema.items,
    asObjectSchema(schema.additionalProperties),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
  ];
  return (
    <>
      {parts
        .filter((part) => part?.properties)
        .map((part) => (
          <Fields schema={part as JsonSchema} label={`Fields of ${name}`} depth={depth + 1} />
        ))}
    </>
  );
};

const Words: FC<{ schema: JsonSchema; inline?: boolean }> = ({ schema, inline }) => {
  const { description } = schema;
  const rules = listRules(schema);
  if (!description && rules.length === 0) return null;
  const text = (
    <>
      {description && <Inline text={description} />}
      {rules.length > 0 && <span class="quiet hint"> {rules.join(', ')}</span>}
    </>
  );
  return inline ? <span>{text}</span> : <div>{text}</div>;
};

const Kind: FC<{ schema: JsonSchema }> = ({ schema }) => <>{typeName(schema)}</>;

/** `string`, `Meter`, `list of Candidate`, `number or null`. */
function typeName(schema: JsonSchema): Child {
  const { $ref, items, anyOf, oneOf, enum: values, type } = schema;
  if ($ref !== undefined) return <a href={schemaPath(referenceName($ref))}>{referenceName($ref)}</a>;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (values) return values.map((value) => JSON.stringify(value)).join(' | ');
  const choices = anyOf ?? oneOf;
  if (choices) return choices.map((choice, index) => [index > 0 ? ' or ' : '', typeName(choice)]);
  if (type === 'array') return items ? ['list of ', typeName(items)] : 'list';
  const mapped = asObjectSchema(schema.additionalProperties);
  if (type === 'object' && mapped) return ['map to ', typeName(mapped)];
  const format = typeof schema.format === 'string' ? ` (${schema.format})` : '';
  return `${Array.isArray(type) ? type.join(' or ') : (type ?? 'any JSON')}${format}`;
}

function asObjectSchema(schema: JsonSchema | boolean | undefined): JsonSchema | undefined {
  return typeof schema === 'object' && Object.keys(schema).length > 0 ? schema : undefined;
}

function listRules(schema: JsonSchema): string[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern } = schema as Record<string, unknown>;
  const bounds = (low: unknown, high: unknown, unit: string) => {
    const [from, to] = [low, high].map((bound) => (typeof bound === 'number' ? count(bound) : undefined));
    if (from === undefined && to === undefined) return [];
    return [`${from ?? 'up'}${to === undefined ? ' or more' : ` to ${to}`}${unit}`];
  };
  return [
    ...bounds(minimum, maximum, ''),
    ...bounds(minLength, maxLength, ' characters'),
    ...bounds(minItems, maxItems, ' items'),
    ...(typeof pattern === 'string' ? [`pattern ${pattern}`] : []),
    ...(schema.default !== undefined ? [`default ${JSON.stringify(schema.default)}`] : []),
  ];
}
