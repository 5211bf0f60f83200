/**
 * The documents of the repository as pages: the README and everything in `docs/`, and the page of error codes, which
 * lists the possible operations for each code of `docs/errors.md`.
 */
import { raw } from 'hono/html';
import type { FC } from 'hono/jsx';
import type { OpenApiDocument } from '../../http/openapi/types.ts';
import { Badge } from '../../ui/parts.tsx';
import { type DocsPage, GUIDES, type Guide } from './layout.tsx';
import { type Markdown, MarkdownPages, splitSections } from './markdown.ts';
import { ERRORS_PATH, guidePath, operationPath } from './paths.ts';
import { errorCodes, listRoutes, operationTitle, type Route } from './reference.ts';
import type { SearchEntry } from './search.ts';

/** The order of the list; documents that are not named here follow by their titles. */
const ORDER = [
  'README',
  'concepts',
  'client',
  'testing',
  'gateway',
  'python',
  'plans',
  'credit',
  'events',
  'readings',
  'widget',
];
const OPERATION_ORDER = [
  'operate',
  'disputes',
  'deploy',
  'security',
  'performance',
  'performance-method',
  'changelog',
  'contributing',
];

export class Guides {
  readonly #pages: MarkdownPages;
  readonly #documents: ReadonlyMap<string, Markdown>;

  /** The texts of the documents by their names without an ending. */
  constructor(texts: ReadonlyMap<string, string>) {
    const names = [...texts.keys()];
    this.#pages = new MarkdownPages(names);
    const rank = [...ORDER, ...OPERATION_ORDER];
    const last = (name: string) => (rank.includes(name) ? rank.indexOf(name) : rank.length);
    const inOrder = names.toSorted((a, b) => last(a) - last(b) || a.localeCompare(b, 'en'));
    this.#documents = new Map(inOrder.map((name) => [name, this.#pages.read(texts.get(name) ?? '')]));
  }

  /** The entries of the list beside the pages; the error codes have a line of their own there. */
  list(): Guide[] {
    const shown = [...this.#documents].filter(([name]) => name !== 'errors');
    return shown.map(([name, { title }]) => ({ path: guidePath(name), title: name === 'README' ? 'Start' : title }));
  }

  pages(document: OpenApiDocument): DocsPage[] {
    return [...this.#documents].map(([name, markdown]) => ({
      title: markdown.title,
      description: markdown.description,
      path: guidePath(name),
      group: GUIDES,
      content: (
        <article class="guide">
          {name === 'errors' ? this.#errors(markdown, document) : raw(this.#pages.html(markdown.tokens))}
        </article>
      ),
    }));
  }

  searchEntries(): SearchEntry[] {
    return [...this.#documents].flatMap(([name, markdown]) =>
      splitSections(markdown).map(({ anchor, heading, text }) => ({
        kind: 'guide' as const,
        href: `${guidePath(name)}#${anchor}`,
        name: heading,
        summary: heading === markdown.title ? '' : `in ${markdown.title}`,
        text: text.toLowerCase(),
      })),
    );
  }

  errorEntries(): SearchEntry[] {
    const { tokens } = this.#documents.get('errors') ?? { tokens: [] };
    return tokens.flatMap((token) =>
      errorRows(token).map(({ code, cells }) => ({
        kind: 'error' as const,
        href: `${ERRORS_PATH}#${code}`,
        name: code,
        summary: (cells[2]?.text ?? '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'),
        text: cells.map(({ text }) => text.toLowerCase()).join(' '),
      })),
    );
  }

  /** The document, with its tables of codes as lists in which each code has an anchor. */
  #errors({ tokens }: Markdown, document: OpenApiDocument) {
    return tokens.map((token) => {
      const rows = errorRows(token);
      if (rows.length === 0) return raw(this.#pages.html([token]));
      return (
        <div class="codes">
          {rows.map(({ code, cells: [, status, cause, action] }) => (
            <section id={code} aria-labelledby={`name-${code}`}>
              <h3 id={`name-${code}`}>
                <a class="anchor" href={`#${code}`}>
                  <code>{code}</code>
                </a>{' '}
                <Badge>{status?.text}</Badge>
              </h3>
              <p>{raw(this.#pages.inline(cause?.tokens ?? []))}</p>
              <p>
                <strong>What to do:</strong> {raw(this.#pages.inline(action?.tokens ?? []))}
              </p>
              <Operations routes={routesWith(document, code)} />
            </section>
          ))}
        </div>
      );
    });
  }
}

interface ErrorRow {
  code: string;
  cells: { text: string; tokens: Markdown['tokens'] }[];
}

/** The rows of a table whose first column has codes. */
function errorRows(token: Markdown['tokens'][number]): ErrorRow[] {
  if (token.type !== 'table' || token.header[0]?.text !== 'Code') return [];
  return (token.rows as ErrorRow['cells'][]).map((cells) => ({
    code: (cells[0]?.text ?? '').replaceAll('`', ''),
    cells,
  }));
}

/** The operations that may answer a code: those that name it, or, if none does, the gateway's, which name none. */
function routesWith(document: OpenApiDocument, code: string): Route[] {
  const routes = listRoutes(document);
  const naming = routes.filter(({ operation }) =>
    Object.keys(operation.responses).some((status) => errorCodes(document, operation, status).includes(code)),
  );
  // A method that a path does not have is no operation.
  if (naming.length > 0 || code === 'METHOD_NOT_ALLOWED') return naming;
  return routes.filter(({ operation }) => 'default' in operation.responses);
}

const Operations: FC<{ routes: readonly Route[] }> = ({ routes }) =>
  routes.length > 0 && (
    <details>
      <summary>{routes.length === 1 ? 'One operation' : `${routes.length} operations`} may answer so</summary>
      <ul class="names">
        {routes.map(({ operation }) => (
          <li>
            <a href={operationPath(operation.operationId)}>{operationTitle(operation)}</a>
          </li>
        ))}
      </ul>
    </details>
  );
