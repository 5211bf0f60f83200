/**
 * The pages of the API reference: an overview with a search, each operation, each schema. They show the OpenAPI
 * document and nothing else.
 */
import type { FC } from 'hono/jsx';
import type { AnswerObject, JsonSchema, OpenApiDocument, Parameter } from '../../contract/openapi/types.ts';
import { Badge, Card, Empty } from '../../ui/parts.tsx';
import { Inline, Prose, publicPage, SearchForm } from '../shell.tsx';
import { findRoutes, findSchemas, nameOf, type Route, resolved, routesOf } from './find.ts';
import { Fields, schemaPath } from './schema-view.tsx';

const DOCS_PATH = '/docs';
/** Schemas that one search lists. */
const SCHEMAS_MAX = 20;

export function operationPath(operationId: string): string {
  return `${DOCS_PATH}/${operationId}`;
}

/** Everything that there is, or what a search finds of it: that looks at every field, and so at the whole document. */
export function overviewPage(document: OpenApiDocument, query: string): Promise<string> {
  const routes = findRoutes(document, query);
  const schemas = query === '' ? [] : findSchemas(document, query).slice(0, SCHEMAS_MAX);
  const props = {
    title: query === '' ? 'API reference' : `“${query}” in the API reference`,
    description: 'Every operation of Callmeter: what it takes, what it answers, and a line to try it with.',
    ...(query === '' && { canonical: originOf(document) + DOCS_PATH }),
    section: 'docs' as const,
  };
  return publicPage(
    props,
    <>
      <header class="page-head">
        <div>
          <h1>API reference</h1>
          <p class="sub">
            Version {document.info.version} · <a href="/openapi.json">OpenAPI document</a>
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
        <Introduction text={document.info.description} />
      ) : (
        <p role="status">
          {routes.length} of {routesOf(document).length} operations and {schemas.length} schemas say “{query}”.{' '}
          <a href={DOCS_PATH}>Show everything</a>
        </p>
      )}
      {query === '' && <Contents document={document} />}
      {document.tags.map(({ name, description }) => {
        const own = routes.filter(({ operation }) => operation.tags[0] === name);
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

const Contents: FC<{ document: OpenApiDocument }> = ({ document }) => (
  <nav aria-label="Groups of operations" class="tags">
    {document.tags.map(({ name }) => (
      <a class="button" href={`#${anchorOf(name)}`}>
        {name}
      </a>
    ))}
  </nav>
);

const RouteList: FC<{ routes: readonly Route[] }> = ({ routes }) => (
  <ul class="list">
    {routes.map(({ method, path, operation: { operationId, summary } }) => (
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
export function operationPage(document: OpenApiDocument, operationId: string): Promise<string> | null {
  const route = routesOf(document).find(({ operation }) => operation.operationId === operationId);
  if (!route) return null;
  const { method, path, operation } = route;
  const { summary, description, tags, parameters, requestBody, responses } = operation;
  const given = parameters.map((parameter) => resolved(parameter, document.components.parameters));
  const props = {
    title: `${method} ${path}`,
    description: summary.replaceAll('`', ''),
    canonical: originOf(document) + operationPath(operationId),
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
            <Named document={document} schema={schema} label="Body" />
          ))}
        </Card>
      )}
      <Answers document={document} responses={responses} />
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

const Answers: FC<{ document: OpenApiDocument; responses: Record<string, AnswerObject | { $ref: string }> }> = ({
  document,
  responses,
}) => {
  const { '200': success, ...refusals } = responses;
  const answer = success as AnswerObject;
  const schema = Object.values(answer.content ?? {})[0]?.schema;
  return (
    <>
      <Card title="Answer" note={<Inline text={`200: ${answer.description}`} />}>
        {schema && <Named document={document} schema={schema} label="Answer" />}
      </Card>
      <Card title="Otherwise">
        <ul class="list">
          {Object.entries(refusals).map(([status, refusal]) => (
            <li>
              <Badge>{status}</Badge> <Inline text={resolved(refusal, document.components.responses).description} />
            </li>
          ))}
        </ul>
      </Card>
    </>
  );
};

/** The fields of a schema with a name; of an envelope, those of its data too. */
const Named: FC<{ document: OpenApiDocument; schema: JsonSchema; label: string }> = ({ document, schema, label }) => {
  const { schemas } = document.components;
  const shown = resolved(schema, schemas);
  const data = shown.properties?.data?.$ref;
  const dataSchema = data && schemas[nameOf(data)];
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
export function schemaPage(document: OpenApiDocument, name: string): Promise<string> | null {
  const { schemas } = document.components;
  const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
  if (!schema) return null;
  const props = {
    title: name,
    description: schema.description ?? `The schema ${name} of the API.`,
    canonical: originOf(document) + schemaPath(name),
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
      description: 'The API reference has no page with this address.',
      section: 'docs',
      narrow: true,
    },
    <>
      <h1>Not found</h1>
      <p>
        No operation or schema has this name. <a href={DOCS_PATH}>The API reference</a> lists all of them.
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

function originOf({ servers }: OpenApiDocument): string {
  return servers[0]?.url ?? '';
}

function anchorOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]+/g, '-');
}
