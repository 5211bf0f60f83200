/**
 * Promise: the files of the API reference are whole: every operation, schema, document and error code has its place,
 * every link has a target, and nothing of a document but its text reaches a page.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ERROR_STATUS } from '../../src/contract/errors.ts';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import { entries } from '../../src/http/openapi/entries.ts';
import { EXAMPLES } from '../../src/http/openapi/examples.ts';
import { SERVICE_VERSION } from '../../src/platform/version.ts';
import { MarkdownPages } from '../../src/site/docs/markdown.ts';
import { errorCodes, listRoutes } from '../../src/site/docs/reference.ts';
import type { SearchEntry } from '../../src/site/docs/search.ts';
import { siteFiles } from '../../src/site/docs/site.ts';
import { ORIGIN } from '../../src/site/docs/template.ts';
import { canBeTried } from '../../src/site/docs/try-it.tsx';
import { DOCUMENTS, ROOT } from '../support/documents.ts';

const document = openApiDocument(SERVICE_VERSION, ORIGIN);
const documents = new Map(DOCUMENTS.map(({ path, text }) => [basename(path, '.md'), text]));
let files: Map<string, string>;
let pages: [path: string, html: string][];
beforeAll(async () => {
  files = await siteFiles(documents);
  pages = [...files].filter(([path]) => path.endsWith('.html')).map(([path, html]) => [path.slice(0, -5), html]);
});

const pageAt = (path: string) => files.get(`${path}.html`) ?? '';

test('every operation, schema and document has a page, and no two differ in case alone', () => {
  const ids = listRoutes(document).map(({ operation }) => operation.operationId);
  expect(ids.sort()).toEqual(Object.keys(EXAMPLES).sort());
  for (const id of ids) expect(pageAt(`/docs/${id}`), id).toContain('Example of an answer');
  for (const name of Object.keys(document.components.schemas))
    expect(pageAt(`/docs/schemas/${name}`), name).not.toBe('');
  for (const name of documents.keys())
    expect(pageAt(name === 'errors' ? '/docs/errors' : `/docs/guides/${name}`), name).not.toBe('');
  const small = [...files.keys()].map((path) => path.toLowerCase());
  expect(new Set(small).size).toBe(files.size);
});

test('the OpenAPI document is the contract’s', () => {
  expect(JSON.parse(files.get('/openapi.json') ?? '')).toEqual(JSON.parse(JSON.stringify(document)));
});

test('every link has a target, and every page is in the list beside the pages or leads from one that is', () => {
  const pictures = new Set(readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }));
  const elsewhere = new Set(['/', '/models', '/console', '/openapi.json']);
  const linked = new Set<string>();
  const broken: string[] = [];
  const idsOf = new Map(
    pages.map(([path, html]) => [path, new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id))]),
  );
  for (const [path, html] of pages) {
    for (const [, address = ''] of html.matchAll(/\s(?:href|src)="([^"]*)"/g)) {
      const [to = '', anchor] = address.split('#');
      if (/^https?:/.test(address) || elsewhere.has(to) || to.startsWith('/assets/')) continue;
      const target = to === '' ? path : to;
      if (target !== path) linked.add(target);
      if (pictures.has(target.replace('/docs/', ''))) continue;
      const ids = idsOf.get(target);
      if (!ids || (anchor !== undefined && !ids.has(anchor))) broken.push(`${path}: ${address}`);
    }
  }
  expect(broken).toEqual([]);
  const unlinked = pages.map(([path]) => path).filter((path) => !linked.has(path));
  expect(unlinked.sort()).toEqual(['/docs/not-found', '/docs/search']);
});

test('one entry of the list is marked on each page: its own, and that of all schemas on each of those', () => {
  for (const [path, html] of pages) {
    const current = [...html.matchAll(/href="([^"]+)" aria-current="page"/g)].map(([, href]) => href);
    const expected = path.startsWith('/docs/schemas') ? ['/docs/schemas'] : [path];
    const isFilledIn = ['/docs/not-found', '/docs/search'].includes(path);
    expect([path, current]).toEqual([path, isFilledIn ? [] : expected]);
  }
});

test('no id stands twice on a page', () => {
  for (const [path, html] of pages) {
    const ids = [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
    expect([path, ids.filter((id, index) => ids.indexOf(id) !== index)]).toEqual([path, []]);
  }
});

describe('error codes', () => {
  const codeSection = (code: string) =>
    pageAt('/docs/errors').split(`<section id="${code}"`)[1]?.split('</section>')[0] ?? '';

  test('each has an anchor, its status, its meaning, what to do, and the operations that may answer it', () => {
    for (const [code, status] of Object.entries(ERROR_STATUS)) {
      const section = codeSection(code);
      expect(section, code).toContain(`>${status}</span>`);
      expect(section, code).toContain('What to do:');
      // A method that a path does not have is no operation.
      if (code !== 'METHOD_NOT_ALLOWED') expect(section, code).toContain('may answer so');
    }
    expect(codeSection('CALL_NOT_FOUND')).toContain('href="/docs/endCall"');
    expect(codeSection('CALL_NOT_FOUND')).not.toContain('href="/docs/putPlan"');
    expect(codeSection('INVALID_MODEL_KEY')).not.toContain('href="/docs/createChatCompletion"');
    expect(codeSection('ENTITLEMENT_DENIED')).toContain('href="/docs/createChatCompletion"');
  });

  test('each code that an operation names leads there', () => {
    for (const { operation } of listRoutes(document)) {
      const named = Object.keys(operation.responses).flatMap((status) => errorCodes(document, operation, status));
      const page = pageAt(`/docs/${operation.operationId}`);
      for (const code of named)
        expect(page, `${operation.operationId} ${code}`).toContain(`href="/docs/errors#${code}"`);
    }
  });
});

test('what a key may send can be tried: no operation of the operator, and no upload', () => {
  for (const [id, entry] of entries()) {
    const { upload, credential } = EXAMPLES[entry.id];
    const expected = entry.security?.kind !== 'operator' && upload === undefined && credential === undefined;
    expect([id, canBeTried(entry), pageAt(`/docs/${id}`).includes('class="form try"')]).toEqual([
      id,
      expected,
      expected,
    ]);
  }
});

test('the search index has operations, sections of guides, codes and schemas', () => {
  const index = JSON.parse(files.get('/docs/search.json') ?? '[]') as SearchEntry[];
  const kinds = new Set(index.map(({ kind }) => kind));
  expect(kinds).toEqual(new Set(['operation', 'guide', 'error', 'schema']));
  expect(index.find(({ name }) => name === 'BALANCE_HELD')?.href).toBe('/docs/errors#BALANCE_HELD');
});

describe('a document', () => {
  const markdown = new MarkdownPages(['README', 'plans', 'errors']);
  const html = (text: string) => markdown.html(markdown.read(text).tokens);

  test('has no HTML of its own but an anchor', () => {
    const hostile =
      '<script>alert(1)</script>\n\n<img src=x onerror=alert(1)> <a id="here"></a> <a href="javascript:alert(1)">x</a>';
    const made = html(hostile);
    expect(made).not.toMatch(/<script|<img|<a /);
    expect(made).toContain('<span id="here"></span>');
    expect(html('[x](javascript:alert(1)) [y](//evil.example) [z](data:text/html,x)')).not.toMatch(/href=/);
    expect(html('```sh\n</code><script>\n```\n\n`<b>` **x** "quoted"')).not.toMatch(/<script|<b>/);
  });

  test('has headings with the anchors of GitHub, tables, code, and links that lead to pages', () => {
    expect(html('# A title\n\n## It’s `code`, and more')).toContain('<h2 id="its-code-and-more">');
    expect(
      html('[a](plans.md#fields) [b](../README.md) [c](errors.md) [d](https://example.com) [e](../src/x.ts)'),
    ).toBe(
      '<p><a href="/docs/guides/plans#fields">a</a> <a href="/docs/guides/README">b</a> <a href="/docs/errors">c</a> <a href="https://example.com">d</a> e</p>\n',
    );
    expect(html('| a | b |\n|---|---|\n| 1 | `2` |')).toContain('<td><code>2</code></td>');
  });

  test('of the repository shows no mark of Markdown as text', () => {
    for (const [path, page] of pages.filter(([name]) => name.startsWith('/docs/guides/'))) {
      const text = page.replaceAll(/<pre[\s\S]*?<\/pre>|<code>[\s\S]*?<\/code>/g, '').replaceAll(/<[^>]*>/g, '');
      expect([path, /\]\(|\*\*|^#{1,4} |&lt;a id/m.exec(text)?.[0]]).toEqual([path, undefined]);
    }
  });
});

test('no page loads anything from another origin, and none has a script in it', () => {
  for (const [path, html] of pages) {
    expect(
      html.match(/<script(?! src="\/assets\/docs-[0-9a-f]+\.js" async="">)|\sstyle="|\son\w+="/g),
      path,
    ).toBeNull();
    const loaded = [
      ...html.matchAll(/<(?:link rel="(?:stylesheet|icon)"[^>]*\shref|img[^>]*\ssrc|script[^>]*\ssrc)="([^"]*)"/g),
    ];
    for (const [, address = ''] of loaded) expect(address, path).toMatch(/^\/(?:assets|docs)\//);
  }
  expect(readFileSync(join(ROOT, 'src/site/docs/browser/try.ts'), 'utf8')).not.toMatch(
    /localStorage|sessionStorage|document\.cookie/,
  );
});
