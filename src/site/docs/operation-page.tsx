/**
 * The page of an operation: its request in three languages, a form to send it, an answer, and the meaning of every
 * field.
 */
import type { FC } from 'hono/jsx';
import type { Entry } from '../../http/openapi/entries.ts';
import type { AnswerObject, JsonSchema, OpenApiDocument, Parameter } from '../../http/openapi/types.ts';
import { Badge, Card } from '../../ui/parts.tsx';
import { Inline, Prose } from '../shell.tsx';
import ANSWERS from './answers.json' with { type: 'json' };
import type { DocsPage } from './layout.tsx';
import { DOCS_PATH, ERRORS_PATH, operationPath, schemaPath, toAnchor } from './paths.ts';
import { errorCodes, listParameters, type Route, referenceName, resolved } from './reference.ts';
import type { Sample } from './samples/samples.ts';
import { Fields } from './schema-view.tsx';
import { canBeTried, TryIt } from './try-it.tsx';

interface Shown {
  document: OpenApiDocument;
  route: Route;
  entry: Entry;
  samples: readonly Sample[];
}

export function operationPage({ document, route, entry, samples }: Shown): DocsPage {
  const { method, path, operation } = route;
  const { operationId, summary, description, tags, requestBody } = operation;
  const parameters = listParameters(document, operation);
  return {
    title: `${method} ${path}`,
    description: summary.replaceAll('`', ''),
    path: operationPath(operationId),
    group: tags[0],
    content: (
      <>
        <Crumbs group={tags[0]} here={operationId} />
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
        <Card title="Request">
          <Samples samples={samples} />
        </Card>
        {canBeTried(entry) && <TryIt entry={entry} parameters={parameters} />}
        <Card title="Example of an answer">
          <Code text={exampleAnswer(operationId)} label="Answer, as it is sent" />
        </Card>
        {parameters.length > 0 && (
          <Card title="Parameters">
            <Fields schema={asSchema(parameters)} label="Parameters" />
          </Card>
        )}
        {requestBody && (
          <Card
            title="Body"
            note={
              <Inline text={requestBody.description ?? (requestBody.required ? 'JSON' : 'JSON; may be left out')} />
            }
          >
            {Object.values(requestBody.content).map(({ schema }) => (
              <Named document={document} schema={schema} label="Body" />
            ))}
          </Card>
        )}
        <Answer document={document} route={route} />
        <Refusals document={document} route={route} />
      </>
    ),
  };
}

/**
 * The recorded answer of a server to the example; a test compares it with today's answer. A new operation has none
 * until it is recorded, which needs a server with these pages.
 */
function exampleAnswer(operationId: string): string {
  const answer = (ANSWERS as Record<string, unknown>)[operationId] ?? '';
  return typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2);
}

/** The samples follow one another; the page's script makes tabs of them. */
const Samples: FC<{ samples: readonly Sample[] }> = ({ samples }) => (
  <div class="samples">
    {samples.map(({ language, source }) => (
      <div class="sample" data-language={language}>
        <h3>{language}</h3>
        <Code text={source} label={language} />
      </div>
    ))}
  </div>
);

/** A text to read; the page's script copies it. */
export const Code: FC<{ text: string; label: string }> = ({ text, label }) => (
  <section class="copied" aria-label={label}>
    <pre class="code" tabindex={0}>
      {text}
    </pre>
  </section>
);

/** Parameters look like the fields of an object, with their place in the request as an additional word. */
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

const Answer: FC<{ document: OpenApiDocument; route: Route }> = ({ document, route }) => {
  const answer = route.operation.responses['200'] as AnswerObject;
  const schema = Object.values(answer.content ?? {})[0]?.schema;
  return (
    <Card title="Answer" note={<Inline text={`200: ${answer.description}`} />}>
      {schema && <Named document={document} schema={schema} label="Answer" />}
    </Card>
  );
};

const Refusals: FC<{ document: OpenApiDocument; route: Route }> = ({ document, route: { operation } }) => {
  const { '200': _success, ...refusals } = operation.responses;
  return (
    <Card title="Errors">
      <ul class="list">
        {Object.entries(refusals).map(([status, refusal]) => {
          const { description: meaning } = resolved<AnswerObject>(refusal, document.components.responses);
          return (
            <li>
              <Badge>{status}</Badge> <Inline text={meaning} />{' '}
              {errorCodes(document, operation, status).map((code) => (
                <>
                  <a class="code-name" href={`${ERRORS_PATH}#${code}`}>
                    {code}
                  </a>{' '}
                </>
              ))}
            </li>
          );
        })}
      </ul>
      <p class="quiet">
        <a href={ERRORS_PATH}>Error codes</a> says what each means and what to do.
      </p>
    </Card>
  );
};

/** The fields of a named schema; for an envelope, also those of its data. */
const Named: FC<{ document: OpenApiDocument; schema: JsonSchema; label: string }> = ({ document, schema, label }) => {
  const { schemas } = document.components;
  const shown = resolved(schema, schemas);
  const data = shown.properties?.data?.$ref;
  const dataSchema = data && schemas[referenceName(data)];
  return (
    <div class="stack">
      <Fields schema={shown} label={label} />
      {data && dataSchema && (
        <div>
          <h3>
            data: <a href={schemaPath(referenceName(data))}>{referenceName(data)}</a>
          </h3>
          <Fields schema={dataSchema} label={`${label}, data`} />
        </div>
      )}
    </div>
  );
};

export const Crumbs: FC<{ group: string | null; here: string }> = ({ group, here }) => (
  <nav class="crumbs" aria-label="Breadcrumb">
    <ol>
      <li>
        <a href={DOCS_PATH}>API reference</a>
      </li>
      {group && (
        <li>
          <a href={`${DOCS_PATH}#${toAnchor(group)}`}>{group}</a>
        </li>
      )}
      <li aria-current="page">{here}</li>
    </ol>
  </nav>
);
