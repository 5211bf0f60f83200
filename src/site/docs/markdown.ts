/**
 * Documents as HTML. The text is the project's own, yet the only HTML that passes is an anchor: everything else is
 * escaped.
 *
 * Headings have the same anchors as on GitHub; links between documents lead to their pages.
 */
import { Marked, type MarkedExtension, type Token, type Tokens } from 'marked';
import { DOCS_PATH, guidePath } from './paths.ts';

export interface Markdown {
  /** The tokens of a document. */
  tokens: Token[];
  /** The text of its first heading. */
  title: string;
  /** Its first paragraph, as plain text. */
  description: string;
}

/** A part of a document below a heading. */
export interface Section {
  anchor: string;
  heading: string;
  text: string;
}

/** `pages` are the documents that have a page, by their path in the repository. */
export class MarkdownPages {
  readonly #marked: Marked;
  readonly #pages: ReadonlyMap<string, string>;

  constructor(names: readonly string[]) {
    const own = names.map((name) => [name === 'README' ? 'README.md' : `docs/${name}.md`, guidePath(name)] as const);
    this.#pages = new Map(own);
    this.#marked = new Marked(this.#rendering());
  }

  read(text: string): Markdown {
    const tokens = this.#marked.lexer(text);
    const heading = tokens.find((token) => token.type === 'heading');
    const paragraph = tokens.find((token) => token.type === 'paragraph');
    return { tokens, title: plain(heading), description: plain(paragraph) };
  }

  html(tokens: Token[]): string {
    return this.#marked.parser(tokens);
  }

  inline(tokens: Token[]): string {
    return this.#marked.Parser.parseInline(tokens, { renderer: this.#marked.defaults.renderer as never });
  }

  #rendering(): MarkedExtension {
    const address = (href: string) => this.#address(href);
    return {
      renderer: {
        html: ({ text }) => anchorIn(text) ?? escaped(text),
        heading({ tokens, depth, text }) {
          const content = this.parser.parseInline(tokens);
          const id = slug(text);
          return depth === 1
            ? `<h1 id="${id}">${content}</h1>\n`
            : `<h${depth} id="${id}"><a class="anchor" href="#${id}">${content}</a></h${depth}>\n`;
        },
        link({ href, tokens }) {
          const content = this.parser.parseInline(tokens);
          const to = address(href);
          return to === null ? content : `<a href="${escaped(to)}">${content}</a>`;
        },
        image: ({ href, text }) => {
          const to = `${DOCS_PATH}/${href.replace(/^docs\//, '')}`;
          return `<img src="${escaped(to)}" alt="${escaped(text)}" loading="lazy">`;
        },
        code: ({ text, lang = '' }) =>
          `<pre class="code" tabindex="0"><code>${escaped(text)}</code></pre>\n`.replace(
            '<pre',
            `<pre data-language="${escaped(lang.split(' ')[0] ?? '')}"`,
          ),
        table(token) {
          const head = token.header.map((cell) => this.parser.parseInline(cell.tokens));
          // A table without words in its head has no head.
          const isNamed = head.some((cell) => cell !== '');
          const row = (cells: Tokens.TableCell[]) =>
            `<tr>${cells.map((cell) => `<td>${this.parser.parseInline(cell.tokens)}</td>`).join('')}</tr>\n`;
          const names = isNamed ? `<thead><tr>${head.map((cell) => `<th>${cell}</th>`).join('')}</tr></thead>\n` : '';
          return `<div class="scroll" tabindex="0"><table>${names}<tbody>\n${token.rows.map(row).join('')}</tbody></table></div>\n`;
        },
      },
    };
  }

  /** The destination of a link; `null` if it leads to a file of the repository that has no page. */
  #address(href: string): string | null {
    if (/^(?:https?:|#)/.test(href)) return href;
    const [path = '', anchor] = href.split('#');
    // Documents in docs/ name each other without the folder; the README names them with it.
    const file = path.replace(/^(?:\.\/)?(?:\.\.\/)?/, '');
    const page = this.#pages.get(file) ?? (path.startsWith('../') ? undefined : this.#pages.get(`docs/${file}`));
    return page === undefined ? null : page + (anchor === undefined ? '' : `#${anchor}`);
  }
}

/** The sections of a document, for the search. */
export function splitSections({ tokens }: Markdown): Section[] {
  const sections: Section[] = [];
  for (const token of tokens) {
    if (token.type === 'heading') sections.push({ anchor: slug(token.text), heading: plain(token), text: '' });
    const last = sections.at(-1);
    if (last) last.text += ` ${token.raw}`;
  }
  return sections;
}

/** Makes the same anchors from headings as GitHub. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** `<a id="...">` and its end: the one piece of HTML that documents have. */
function anchorIn(text: string): string | null {
  const [, id] = /^<a id="([\w-]+)">$/.exec(text.trim()) ?? [];
  if (id !== undefined) return `<span id="${id}">`;
  return text.trim() === '</a>' ? '</span>' : null;
}

/** The text of a token without marks. */
function plain(token: Token | undefined): string {
  if (!token) return '';
  if ('tokens' in token && token.tokens) return token.tokens.map(plain).join('');
  return 'text' in token ? String(token.text) : '';
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
