/**
 * The README, the client package's README and the pages of `docs/`, with their code blocks; and the examples in the
 * comments of the client's sources.
 *
 * The first word after a fence is the language, the others say how the block is checked:
 *
 * - `sh`: run against a started server (test/e2e/documents.test.ts)
 * - `sh unrun`: not run, because it installs, deploys or runs for minutes; its commands and flags must exist
 * - `ts`: the blocks of a document are one program, which is compiled, and run against a started server
 * - `json NAME`: parsed by the schema of that name
 * - `html`: its script and attributes must be the widget's
 * - `yaml`: a workflow; its npm scripts must exist
 * - `text`: not checked
 */
import { readdirSync, readFileSync } from 'node:fs';
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

/** What npm shows of the client. */
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

/** The `ts` blocks of a document as one program, each on its own lines: all else is blank. */
export function programOf({ text, blocks }: Document): string {
  const lines = text.split('\n').map(() => '');
  for (const { line, text: code } of blocks.filter(({ language }) => language === 'ts')) {
    lines.splice(line, code.split('\n').length, ...code.split('\n'));
  }
  return lines.join('\n');
}

export const PROGRAMS: readonly Document[] = DOCUMENTS.filter(({ blocks }) =>
  blocks.some(({ language }) => language === 'ts'),
);

export const placeOf = ({ document, line }: Block) => `${document}:${line}`;

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
  if (open) throw new Error(`${placeOf(open.block)}: the code block has no end`);
  return { path, text, blocks };
}
