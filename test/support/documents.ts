/**
 * The README, the client package's README and the pages of `docs/`, with their code blocks; and the examples in the
 * comments of the client's sources.
 *
 * The first word after a fence is the language, the others say how the block is checked:
 *
 * - `sh`: pasted into three shells with a started server (test/e2e/documents.test.ts), alone and after those before it
 * - `sh unrun`: not run, because it installs, deploys, runs for minutes or has a placeholder; it must be whole, and its
 *   commands and flags must exist
 * - `ts`: the first of a document is its setup; each other one is a program with it, which is compiled and run
 * - `py WORD`: the blocks of a document with the same word are programs for Python: the first one is their setup, which each
 *   other one runs after. `requests` and `openai` are the packages that they need (test/e2e/documents-python.test.ts)
 * - `json NAME`: parsed by the schema of that name
 * - `html`: its script and attributes must be the widget's
 * - `yaml`: a workflow; its npm scripts must exist
 * - `text`: not checked
 */
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

export interface Block {
  /** Path of the document in the repository. */
  document: string;
  /** Line of the opening fence, from 1. */
  line: number;
  language: string;
  words: string[];
  text: string;
}

export interface Document {
  path: string;
  text: string;
  blocks: Block[];
}

/** The page of the client at npm. */
export const PACKAGE_README = 'src/client/package/README.md';

export const DOCUMENTS: readonly Document[] = ['README.md', PACKAGE_README, ...filesIn('docs', '.md')].map((path) =>
  documentOf(path, readFileSync(join(ROOT, path), 'utf8')),
);

/** The sources of the client whose comments have `ts` blocks, each read as a document of its comments. */
export const COMMENTED_SOURCES: readonly Document[] = filesIn('src/client', '.ts')
  .map((path) => documentOf(path, commentsOf(readFileSync(join(ROOT, path), 'utf8'))))
  .filter(({ blocks }) => blocks.length > 0);

export const BLOCKS: readonly Block[] = DOCUMENTS.flatMap(({ blocks }) => blocks);

export function blocksOf(language: string, ...words: string[]): Block[] {
  return BLOCKS.filter((block) => block.language === language && block.words.join() === words.join());
}

export interface Program {
  /** The position of its last block. */
  place: string;
  source: string;
}

/**
 * The `ts` blocks of a document as programs: the first, which is the setup, and each other one with the setup. Each block
 * is on its lines of the document; all else is blank.
 */
export function typescriptPrograms({ text, blocks }: Document): Program[] {
  const [setup, ...others] = blocks.filter(({ language }) => language === 'ts');
  if (!setup) return [];
  return [[setup], ...others.map((block) => [setup, block])].map((parts) => {
    const lines = text.split('\n').map(() => '');
    for (const { line, text: code } of parts) lines.splice(line, code.split('\n').length, ...code.split('\n'));
    return { place: blockPlace(parts.at(-1) ?? setup), source: lines.join('\n') };
  });
}

export const PROGRAMS: readonly Document[] = DOCUMENTS.filter(({ blocks }) =>
  blocks.some(({ language }) => language === 'ts'),
);

export const blockPlace = ({ document, line }: Block) => `${document}:${line}`;

function filesIn(folder: string, extension: string): string[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith(extension))
    .map((name) => `${folder}/${name}`)
    .toSorted();
}

/** The text of the comments of a source, on the lines of the source. */
function commentsOf(source: string): string {
  return source
    .split('\n')
    .map((line) => /^ *\* ?(?!\/)(.*)$/.exec(line)?.[1] ?? '')
    .join('\n');
}

/** A document of a clone. `path` is the path in the repository. */
export async function readDocument(path: string, clone: string): Promise<Document> {
  return documentOf(path, await readFile(join(clone, path), 'utf8'));
}

function documentOf(path: string, text: string): Document {
  const blocks: Block[] = [];
  let open: { fence: string; block: Block; lines: string[] } | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    const [, fence = '', info = ''] = /^\s*(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (open && fence.startsWith(open.fence) && info.trim() === '') {
      blocks.push({ ...open.block, text: open.lines.join('\n') });
      open = null;
    } else if (open) open.lines.push(line);
    else if (fence !== '') {
      const [language = '', ...words] = info.trim().split(/\s+/);
      open = { fence, block: { document: path, line: index + 1, language, words, text: '' }, lines: [] };
    }
  }
  if (open) throw new Error(`${blockPlace(open.block)}: the code block has no end`);
  return { path, text, blocks };
}
