/**
 * The frame of a page of the API reference: the list beside it, with the shown page marked, and the content.
 *
 * On a narrow screen the list is closed, and opens without a script.
 */

import { raw } from 'hono/html';
import type { Child, FC } from 'hono/jsx';
import scripts from '#scripts';
import { publicPage, SearchForm } from '../shell.tsx';
import { DOCS_PATH, ERRORS_PATH, operationPath, SCHEMAS_PATH, toAnchor } from './paths.ts';
import { type Group, operationTitle } from './reference.ts';
import { ORIGIN } from './template.ts';

/** The group of the documents, in the list. */
export const GUIDES = 'Guides';

export interface Guide {
  path: string;
  title: string;
}

export interface Contents {
  guides: readonly Guide[];
  groups: readonly Group[];
  stylesheetPath: string;
}

export interface DocsPage {
  title: string;
  description: string;
  /** Absent on pages that search engines should leave out. */
  path?: string;
  /** The group whose operations are listed open. */
  group?: string | undefined;
  /** In place of the page's own path: the entry of the list that is marked. */
  entry?: string;
  /** The text in the search form. */
  query?: string;
  content: Child;
}

/** Renders pages with the same list beside them, which is rendered once. */
export async function docsPages(contents: Contents): Promise<(page: DocsPage) => Promise<string>> {
  const list = String(await (<List {...contents} />));
  return ({ title, description, path, group, entry = path, query = '', content }) =>
    publicPage(
      {
        title,
        description,
        ...(path !== undefined && { canonical: ORIGIN + path }),
        section: 'docs',
        beside: (
          <aside class="docs-side">
            <SearchForm action={DOCS_PATH} label="Search" value={query} placeholder="call_end, credit …" />
            {raw(marked(list, entry, group))}
          </aside>
        ),
      },
      <>
        <link rel="stylesheet" href={contents.stylesheetPath} precedence="pages" />
        <script src={scripts.docs} async />
        {content}
      </>,
    );
}

function marked(list: string, path: string | undefined, group: string | undefined): string {
  const withPage = path === undefined ? list : list.replace(`href="${path}"`, `href="${path}" aria-current="page"`);
  return group === undefined ? withPage : withPage.replace(`id="list-${toAnchor(group)}"`, '$& open');
}

const List: FC<Contents> = ({ guides, groups }) => (
  <details class="docs-list">
    <summary>All pages</summary>
    <nav aria-label="Documentation">
      <ul>
        <li>
          <a href={DOCS_PATH}>All operations</a>
        </li>
        <li>
          <a href={ERRORS_PATH}>Error codes</a>
        </li>
        <li>
          <a href={SCHEMAS_PATH}>Schemas</a>
        </li>
      </ul>
      <details id={`list-${toAnchor(GUIDES)}`}>
        <summary>{GUIDES}</summary>
        <ul>
          {guides.map(({ path, title }) => (
            <li>
              <a href={path}>{title}</a>
            </li>
          ))}
        </ul>
      </details>
      {groups.map(({ name, routes }) => (
        <details id={`list-${toAnchor(name)}`}>
          <summary>{name}</summary>
          <ul>
            {routes.map(({ method, operation }) => (
              <li>
                <a href={operationPath(operation.operationId)}>
                  <span>{operationTitle(operation)}</span> <span class={`method ${method}`}>{method}</span>
                </a>
              </li>
            ))}
          </ul>
        </details>
      ))}
    </nav>
  </details>
);
