/**
 * All files of the API reference: pages, the search index, the OpenAPI document, styles and the script. They are made
 * from the contract and the documents when the Worker is bundled (`src/cli/build-site.ts`), never in the Worker itself,
 * which only fills in the facts of a request (template.ts).
 */
import { openApiDocument } from '../../http/openapi/document.ts';
import { entries } from '../../http/openapi/entries.ts';
import type { OpenApiDocument } from '../../http/openapi/types.ts';
import { contentHash } from '../../platform/content-hash.ts';
import { SERVICE_VERSION } from '../../platform/version.ts';
import { Guides } from './guide-pages.tsx';
import { type DocsPage, docsPages } from './layout.tsx';
import { operationPage } from './operation-page.tsx';
import { schemaPath } from './paths.ts';
import { fieldTexts, groupRoutes, listRoutes, type Route, referenceName } from './reference.ts';
import { listEntry, NOT_FOUND_PAGE, overviewPage, SEARCH_PAGE, schemaPages } from './reference-pages.tsx';
import { buildSamples } from './samples/samples.ts';
import type { SearchEntry } from './search.ts';
import { DOCS_STYLESHEET } from './stylesheet.ts';
import { INDEX_FILE, NOT_FOUND_FILE, ORIGIN, SEARCH_FILE } from './template.ts';

/**
 * The files by their paths, which begin with a slash. Pictures of documents and scripts are not among them. `documents` has
 * the README and those in `docs/` by their names without an ending.
 */
export async function siteFiles(documents: ReadonlyMap<string, string>): Promise<Map<string, string>> {
  const document = openApiDocument(SERVICE_VERSION, ORIGIN);
  const guides = new Guides(documents);
  const stylesheetPath = `/assets/docs-${contentHash(DOCS_STYLESHEET)}.css`;
  const render = await docsPages({ guides: guides.list(), groups: groupRoutes(document), stylesheetPath });
  const files = new Map([
    ['/openapi.json', JSON.stringify(document)],
    [stylesheetPath, DOCS_STYLESHEET],
    [INDEX_FILE, JSON.stringify(searchIndex(document, guides))],
    [SEARCH_FILE, await render(SEARCH_PAGE)],
    [NOT_FOUND_FILE, await render(NOT_FOUND_PAGE)],
  ]);
  const pages: DocsPage[] = [
    overviewPage(document),
    ...listRoutes(document).map((route) => buildPage(document, route)),
    ...schemaPages(document),
    ...guides.pages(document),
  ];
  for (const page of pages) files.set(`${page.path}.html`, await render(page));
  return files;
}

function buildPage(document: OpenApiDocument, route: Route): DocsPage {
  const entry = entries().get(route.operation.operationId);
  if (!entry) throw new Error(`the contract has no ${route.operation.operationId}`);
  return operationPage({ document, route, entry, samples: buildSamples(document, route, entry) });
}

function searchIndex(document: OpenApiDocument, guides: Guides): SearchEntry[] {
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => ({
    kind: 'schema' as const,
    href: schemaPath(name),
    name,
    summary: schema.description ?? '',
    text: `${name} ${fieldTexts(schema)}`.toLowerCase(),
  }));
  const operations = listRoutes(document).map((route) => ({ ...listEntry(route), text: searchText(document, route) }));
  return [...operations, ...guides.searchEntries(), ...guides.errorEntries(), ...schemas];
}

/** The searchable text of an operation: its texts, and the names of its fields. */
function searchText(document: OpenApiDocument, { method, path, operation }: Route): string {
  const { operationId, summary, description = '', tags, parameters, requestBody, responses } = operation;
  const schemas = [requestBody, responses['200']].flatMap((part) =>
    part && 'content' in part ? Object.values(part.content ?? {}).map(({ schema }) => schema) : [],
  );
  const named = schemas.map(({ $ref = '' }) => {
    const schema = document.components.schemas[referenceName($ref)];
    const data = schema?.properties?.data?.$ref;
    const parts = [schema, data && document.components.schemas[referenceName(data)]];
    return parts.map((part) => part && fieldTexts(part)).join(' ');
  });
  const given = parameters.map((parameter) =>
    'name' in parameter ? `${parameter.name} ${parameter.description}` : '',
  );
  return [method, path, operationId, summary, description, tags[0], ...given, ...named].join(' ').toLowerCase();
}
