/**
 * The README and the pages of `docs/`, with their code blocks.
 *
 * The first word after a fence is the language, the others say how the block is checked:
 *
 * - `sh`: run against a started server (test/e2e/documents.test.ts)
 * - `sh unrun`: not run, because it installs, deploys or runs for minutes; its commands and flags must exist
 * - `ts`: the blocks of a document are one program, which is compiled, and run against a started server
 * - `json NAME`: parsed by the schema of that name
 * - `html`: its script and attributes must be the widget's
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

export const DOCUMENTS: readonly Document[] = ['README.md', ...markdownIn('docs')].map(readDocument);

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

function markdownIn(folder: string): string[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
    .toSorted();
}

function readDocument(path: string): Document {
  const text = readFileSync(join(ROOT, path), 'utf8');
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
