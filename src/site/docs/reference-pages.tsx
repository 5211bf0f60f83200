/**
 * The pages of the API reference beside those of operations and guides: the overview, schemas, the search results,
 * which are filled in for a request, and the page for an unknown address.
 */
import { raw } from 'hono/html';
import type { FC } from 'hono/jsx';
import type { OpenApiDocument } from '../../http/openapi/types.ts';
import { Card } from '../../ui/parts.tsx';
import { Prose } from '../shell.tsx';
import { type DocsPage, GUIDES } from './layout.tsx';
import { Code, Crumbs } from './operation-page.tsx';
import { DOCS_PATH, operationPath, SCHEMAS_PATH, schemaPath, toAnchor } from './paths.ts';
import { type Group, groupRoutes, type Route } from './reference.ts';
import { EntryList } from './results.tsx';
import { Fields } from './schema-view.tsx';
import { QUERY, RESULTS } from './template.ts';

export function overviewPage(document: OpenApiDocument): DocsPage {
  const groups = groupRoutes(document);
  return {
    title: 'API reference',
    description: 'Every operation of Callmeter: what it takes, what it answers, and a request to try it with.',
    path: DOCS_PATH,
    group: GUIDES,
    content: (
      <>
        <header class="page-head">
          <div>
            <h1>API reference</h1>
            <p class="sub">
              Version {document.info.version} · <a href="/openapi.json">OpenAPI document</a>
            </p>
          </div>
        </header>
        <Card title="How to ask">
          <Prose text={document.info.description} />
          <p>
            The examples take their credentials from variables. On a machine with a server of its own, this sets them:
          </p>
          <Code text="set -a; . ./.dev.vars; set +a" label="Command that sets the credentials" />
          <p class="quiet">Elsewhere, export DEMO_API_KEY and OPERATOR_TOKEN with your own.</p>
        </Card>
        <nav aria-label="Groups of operations" class="tags">
          {groups.map(({ name }) => (
            <a class="button" href={`#${toAnchor(name)}`}>
              {name}
            </a>
          ))}
        </nav>
        {groups.map((group) => (
          <GroupCard {...group} />
        ))}
      </>
    ),
  };
}

const GroupCard: FC<Group> = ({ name, description, routes }) => (
  <Card title={name} id={toAnchor(name)} note={description}>
    <EntryList entries={routes.map(listEntry)} />
  </Card>
);

export function listEntry({ method, path, operation: { operationId, summary } }: Route) {
  return { kind: 'operation' as const, href: operationPath(operationId), method, name: path, summary };
}

export function schemaPages(document: OpenApiDocument): DocsPage[] {
  const schemas = Object.entries(document.components.schemas);
  const list: DocsPage = {
    title: 'Schemas',
    description: 'Every schema of the API by its name.',
    path: SCHEMAS_PATH,
    content: (
      <>
        <h1>Schemas</h1>
        <Card>
          <ul class="names">
            {schemas.map(([name]) => (
              <li>
                <a href={schemaPath(name)}>{name}</a>
              </li>
            ))}
          </ul>
        </Card>
      </>
    ),
  };
  const pages = schemas.map(([name, schema]) => ({
    title: name,
    description: schema.description ?? `The schema ${name} of the API.`,
    path: schemaPath(name),
    entry: SCHEMAS_PATH,
    content: (
      <>
        <Crumbs group={null} here={name} />
        <h1>{name}</h1>
        {schema.description && <Prose text={schema.description} />}
        <Card title="Fields">
          <Fields schema={schema} label={`Fields of ${name}`} />
        </Card>
      </>
    ),
  }));
  return [list, ...pages];
}

export const SEARCH_PAGE: DocsPage = {
  title: `“${QUERY}” in the documentation`,
  description: 'What a search of the documentation found.',
  query: QUERY,
  content: (
    <>
      <h1>Search</h1>
      {raw(RESULTS)}
    </>
  ),
};

export const NOT_FOUND_PAGE: DocsPage = {
  title: 'Not found',
  description: 'The API reference has no page with this address.',
  content: (
    <>
      <h1>Not found</h1>
      <p>
        No operation, schema or guide has this name. <a href={DOCS_PATH}>The API reference</a> lists all operations.
      </p>
    </>
  ),
};
