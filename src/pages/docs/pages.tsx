/**
 * The API reference: what there is and how to ask for it, each operation, each schema. Made of the contract's own
 * reference alone, and of no more of it than the page shows.
 */
import type { FC } from 'hono/jsx';
import type { ApiReference, RouteSummary } from '../../contract/openapi/document.ts';
import type { JsonSchema } from '../../contract/openapi/schemas.ts';
import type { AnswerObject, Parameter } from '../../contract/openapi/types.ts';
import { Badge, Card, Empty } from '../../ui/parts.tsx';
import { Inline, Prose, publicPage, SearchForm } from '../shell.tsx';
import { findRoutes, findSchemas, nameOf } from './find.ts';
import { Fields, schemaPath } from './schema-view.tsx';

const DOCS_PATH = '/docs';
/** Schemas that one search lists. */
const SCHEMAS_MAX = 20;

export function operationPath(operationId: string): string {
  return `${DOCS_PATH}/${operationId}`;
}

/** Everything that there is, or what a search finds of it: that looks at every field, and so at the whole document. */
export function overviewPage(reference: ApiReference, query: string): Promise<string> {
  const all = reference.routes();
  const routes = query === '' ? all : findRoutes(reference.document(), query);
  const schemas = query === '' ? [] : findSchemas(reference.document(), query).slice(0, SCHEMAS_MAX);
  const props = {
    title: query === '' ? 'API reference' : `“${query}” in the API reference`,
    description: 'Every operation of Callmeter: what it takes, what it answers, and a line to try it with.',
    ...(query === '' && { canonical: reference.origin + DOCS_PATH }),
    section: 'docs' as const,
  };
  return publicPage(
    props,
    <>
      <header class="page-head">
        <div>
          <h1>API reference</h1>
          <p class="sub">
            Version {reference.info.version} · <a href="/openapi.json">OpenAPI document</a>
          </p>
        </div>
      </header>
      <SearchForm
        action={DOCS_PATH}
        label="Find an operation or a field"
        value={query}
        placeholder="call_end, credit, rolling limit …"
      />
      {query === '' ? (
        <Introduction text={reference.info.description} />
      ) : (
        <p role="status">
          {routes.length} of {all.length} operations and {schemas.length} schemas say “{query}”.{' '}
          <a href={DOCS_PATH}>Show everything</a>
        </p>
      )}
      {query === '' && <Contents reference={reference} />}
      {reference.tags.map(({ name, description }) => {
        const own = routes.filter(({ tag }) => tag === name);
        return (
          own.length > 0 && (
            <Card title={name} id={anchorOf(name)} note={description}>
              <RouteList routes={own} />
            </Card>
          )
        );
      })}
      {schemas.length > 0 && (
        <Card title="Schemas">
          <ul class="list">
            {schemas.map((name) => (
              <li>
                <a href={schemaPath(name)}>{name}</a>
              </li>
            ))}
          </ul>
        </Card>
      )}
      {routes.length === 0 && schemas.length === 0 && (
        <Empty title="Nothing says that">
          Fewer words find more: a search means every word, somewhere in an operation or its fields.
        </Empty>
      )}
    </>,
  );
}

const Introduction: FC<{ text: string }> = ({ text }) => (
  <Card title="How to ask">
    <Prose text={text} />
    <p>The examples take their credentials from variables. On a machine with a server of its own, this sets them:</p>
    <Shell text="set -a; . ./.dev.vars; set +a" label="Command that sets the credentials" />
    <p class="quiet">Elsewhere, export DEMO_API_KEY and OPERATOR_TOKEN with your own.</p>
  </Card>
);

const Contents: FC<{ reference: ApiReference }> = ({ reference }) => (
  <nav aria-label="Groups of operations" class="tags">
    {reference.tags.map(({ name }) => (
      <a class="button" href={`#${anchorOf(name)}`}>
        {name}
      </a>
    ))}
  </nav>
);

const RouteList: FC<{ routes: readonly RouteSummary[] }> = ({ routes }) => (
  <ul class="list">
    {routes.map(({ method, path, operationId, summary }) => (
      <li>
        <a class="route" href={operationPath(operationId)}>
          <span class={`method ${method}`}>{method}</span>
          <span class="path">{path}</span>
          <span class="quiet">
            <Inline text={summary} />
          </span>
        </a>
      </li>
    ))}
  </ul>
);

/** One operation; `null` where there is none of that name. */
export function operationPage(reference: ApiReference, operationId: string): Promise<string> | null {
  const route = reference.operation(operationId);
  if (!route) return null;
  const { method, path, operation } = route;
  const { summary, description, tags, parameters, requestBody, responses } = operation;
  const given = parameters.map((parameter) =>
    '$ref' in parameter ? (reference.parameter(nameOf(parameter.$ref)) as Parameter) : (parameter as Parameter),
  );
  const props = {
    title: `${method} ${path}`,
    description: summary.replaceAll('`', ''),
    canonical: reference.origin + operationPath(operationId),
    section: 'docs' as const,
    narrow: true,
  };
  return publicPage(
    props,
    <>
      <Crumbs tag={tags[0]} here={operationId} />
      <header class="page-head">
        <div>
          <h1>
            <Inline text={summary} />
          </h1>
          <p class="sub address">
            <span class={`method ${method}`}>{method}</span>
            <code>{path}</code>
          </p>
        </div>
      </header>
      {description && <Prose text={description} />}
      <Card title="Example">
        {operation['x-codeSamples'].map(({ source }) => (
          <Shell text={source} label="Command to try it with" />
        ))}
      </Card>
      {given.length > 0 && (
        <Card title="Parameters">
          <Fields schema={asSchema(given)} label="Parameters" />
        </Card>
      )}
      {requestBody && (
        <Card
          title="Body"
          note={<Inline text={requestBody.description ?? (requestBody.required ? 'JSON' : 'JSON; may be left out')} />}
        >
          {Object.values(requestBody.content).map(({ schema }) => (
            <Named reference={reference} schema={schema} label="Body" />
          ))}
        </Card>
      )}
      <Answers reference={reference} responses={responses} />
    </>,
  );
}

/** Parameters look like the fields of an object, with where they go for a word more. */
function asSchema(parameters: readonly Parameter[]): JsonSchema {
  const fields = parameters.map(({ name, in: place, description, schema }) => {
    const text = place === 'path' ? description : `${description} (${place})`;
    return [name, { ...schema, description: text }] as const;
  });
  return {
    properties: Object.fromEntries(fields),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
  };
}

const Answers: FC<{ reference: ApiReference; responses: Record<string, AnswerObject | { $ref: string }> }> = ({
  reference,
  responses,
}) => {
  const { '200': success, ...refusals } = responses;
  const answer = success as AnswerObject;
  const schema = Object.values(answer.content ?? {})[0]?.schema;
  return (
    <>
      <Card title="Answer" note={<Inline text={`200: ${answer.description}`} />}>
        {schema && <Named reference={reference} schema={schema} label="Answer" />}
      </Card>
      <Card title="Otherwise">
        <ul class="list">
          {Object.entries(refusals).map(([status, refusal]) => (
            <li>
              <Badge>{status}</Badge> <Inline text={resolved(reference, refusal).description} />
            </li>
          ))}
        </ul>
      </Card>
    </>
  );
};

function resolved(reference: ApiReference, answer: AnswerObject | { $ref: string }): AnswerObject {
  if (!('$ref' in answer)) return answer;
  const found = reference.response(nameOf(answer.$ref));
  if (!found) throw new Error(`${answer.$ref} points nowhere`);
  return found;
}

/** The fields of a schema with a name; of an envelope, those of its data too. */
const Named: FC<{ reference: ApiReference; schema: JsonSchema; label: string }> = ({ reference, schema, label }) => {
  const name = schema.$ref === undefined ? null : nameOf(schema.$ref);
  const shown = (name && reference.schema(name)) || schema;
  const data = shown.properties?.data?.$ref;
  const dataSchema = data && reference.schema(nameOf(data));
  return (
    <div class="stack">
      <Fields schema={shown} label={label} />
      {data && dataSchema && (
        <div>
          <h3>
            data: <a href={schemaPath(nameOf(data))}>{nameOf(data)}</a>
          </h3>
          <Fields schema={dataSchema} label={`${label}, data`} />
        </div>
      )}
    </div>
  );
};

/** One schema; `null` where there is none of that name. */
export function schemaPage(reference: ApiReference, name: string): Promise<string> | null {
  const schema = reference.schema(name);
  if (!schema) return null;
  const props = {
    title: name,
    description: schema.description ?? `The schema ${name} of the API.`,
    canonical: reference.origin + schemaPath(name),
    section: 'docs' as const,
    narrow: true,
  };
  return publicPage(
    props,
    <>
      <Crumbs tag={null} here={name} />
      <h1>{name}</h1>
      {schema.description && <Prose text={schema.description} />}
      <Card title="Fields">
        <Fields schema={schema} label={`Fields of ${name}`} />
      </Card>
    </>,
  );
}

export function docsNotFoundPage(): Promise<string> {
  return publicPage(
    {
      title: 'Not found',
      description: 'There is no such page in the API reference.',
      section: 'docs',
      narrow: true,
    },
    <>
      <h1>Not found</h1>
      <p>
        There is no such operation or schema. <a href={DOCS_PATH}>The API reference</a> lists what there is.
      </p>
    </>,
  );
}

const Crumbs: FC<{ tag: string | null; here: string }> = ({ tag, here }) => (
  <nav class="crumbs" aria-label="Where this is">
    <ol>
      <li>
        <a href={DOCS_PATH}>API reference</a>
      </li>
      {tag && (
        <li>
          <a href={`${DOCS_PATH}#${anchorOf(tag)}`}>{tag}</a>
        </li>
      )}
      <li aria-current="page">{here}</li>
    </ol>
  </nav>
);

/** To be read, and to be selected as a whole with one click. */
const Shell: FC<{ text: string; label: string }> = ({ text, label }) => (
  <section tabindex={0} aria-label={label}>
    <pre class="shell">{text}</pre>
  </section>
);

function anchorOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]+/g, '-');
}
