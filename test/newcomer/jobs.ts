/**
 * Ten common jobs, each done only by the lines of a document, on a fresh start of the server.
 *
 * A job is one shell that gets the blocks of the document's sections in their order: commands unchanged, and a program
 * if the document names its file.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Block, Document } from '../support/documents.ts';
import { readDocument } from '../support/documents.ts';
import type { Machine } from './machine.ts';

/** With the fresh start of the server. */
export const JOB_MS_MAX = 180_000;

interface Section {
  document: string;
  /** The headings whose blocks are run, each up to the next heading; without any, the whole document. */
  headings?: readonly string[];
  /** Commands that the tests of documents do not run, because they install or build, are done too. */
  withUnrun?: boolean;
  /** Its commands are for the folder of the application, which stands beside the clone. */
  inApplication?: boolean;
  /** The blocks are programs for Python. */
  python?: boolean;
}

export interface Job {
  name: string;
  sections: readonly Section[];
  /** Matches the output of a success. */
  prints: RegExp;
}

/** Done first, on the server that the newcomer has just started. */
export const FIRST_CALL: Job = {
  name: 'meter a first call',
  sections: [{ document: 'README.md', headings: ['Start'] }],
  prints: /"costUSD":[\d.]+/,
};

/** The other nine, each on a fresh start. */
export const JOBS: readonly Job[] = [
  {
    name: 'meter the SDK of an application',
    sections: [{ document: 'README.md', headings: ['In your application'], withUnrun: true }],
    prints: /\d+$/m,
  },
  {
    name: 'write a program with the client library',
    sections: [{ document: 'docs/client.md', headings: ['Install it'], withUnrun: true }],
    prints: /customerId: 'alice'/,
  },
  {
    name: 'test an application',
    sections: [
      { document: 'docs/client.md', headings: ['Install it'], withUnrun: true },
      { document: 'docs/testing.md', headings: ['A first test'], withUnrun: true, inApplication: true },
    ],
    prints: /pass 2$/m,
  },
  {
    name: 'ask through the gateway',
    sections: [{ document: 'docs/gateway.md' }],
    prints: /"object": ?"chat\.completion"/,
  },
  {
    name: 'call it from Python',
    sections: [
      { document: 'docs/python.md', headings: ['With requests', 'Begin and end', 'What is left'], python: true },
    ],
    prints: /cost \d+ nano-USD/,
  },
  {
    name: 'sell a plan and credit',
    sections: [{ document: 'docs/operate.md', headings: ['Plans and migrations', 'Customers and credits', 'Usage'] }],
    prints: /invoice 7/,
  },
  { name: 'show customers what they used', sections: [{ document: 'docs/widget.md' }], prints: /app\.example\.com/ },
  { name: 'hear of events', sections: [{ document: 'docs/events.md' }], prints: /whsec_/ },
  { name: 'answer a dispute', sections: [{ document: 'docs/disputes.md' }], prints: /goodwill/i },
];

/** The input of the shell, for the machine's own ports. Throws if a document has no such section. */
export async function buildScript({ sections }: Job, { clone, port, vendorPort }: Machine): Promise<string> {
  const parts = await Promise.all(
    sections.map(async (section) => {
      const document = await readDocument(section.document, clone);
      const blocks = blocksIn(document, section.headings);
      return section.python
        ? [pythonProgram(blocks)]
        : blocks.flatMap((block) => commandLines(document, block, section));
    }),
  );
  return parts
    .flat()
    .join('\n')
    .replaceAll('127.0.0.1:8787', `127.0.0.1:${port}`)
    .replaceAll('127.0.0.1:8788', `127.0.0.1:${vendorPort}`);
}

function blocksIn({ path, text, blocks }: Document, headings: readonly string[] | undefined): Block[] {
  if (headings === undefined) return blocks;
  const lines = text.split('\n');
  return headings.flatMap((heading) => {
    const from = lines.findIndex((line) => line.replace(/^#+ /, '') === heading && line.startsWith('#'));
    if (from < 0) throw new Error(`${path} has no heading "${heading}"`);
    const inBlock = (index: number) =>
      blocks.some(({ line, text: code }) => index >= line && index < line + code.split('\n').length);
    const next = lines.findIndex((line, index) => index > from && /^#+ /.test(line) && !inBlock(index));
    return blocks.filter(({ line }) => line > from && (next < 0 || line <= next));
  });
}

const PROGRAM_END = 'END-OF-PROGRAM';

/** A command as it is; a program as the file that the document names; nothing of any other block. */
function commandLines(
  { text }: Document,
  block: Block,
  { withUnrun = false, inApplication = false }: Section,
): string[] {
  if (block.language === 'sh') {
    if (block.words[0] === 'unrun' && !withUnrun) return [];
    return [inApplication ? `(cd ../my-app\n${block.text}\n)` : block.text];
  }
  const [, name] =
    /Save this[^`]* as `([\w.]+)`[^`]*$/.exec(
      text
        .split('\n')
        .slice(0, block.line - 1)
        .join('\n'),
    ) ?? [];
  if (block.language !== 'ts' || name === undefined) return [];
  return [`cat > ../my-app/${name} <<'${PROGRAM_END}'\n${block.text}\n${PROGRAM_END}`];
}

function pythonProgram(blocks: readonly Block[]): string {
  const program = blocks.filter(({ language, words }) => language === 'py' && words[0] === 'requests');
  return [
    "export CALLMETER_KEY=$(sed -n 's/^DEMO_API_KEY=//p' .dev.vars)",
    `${pythonWithRequests() ?? 'python3'} - <<'${PROGRAM_END}'`,
    ...program.map(({ text }) => text),
    PROGRAM_END,
  ].join('\n');
}

/**
 * The user's own, or the system's, whose packages come with it; `undefined` if neither has the packages of the page.
 */
export function pythonWithRequests(): string | undefined {
  return ['python3', join('/usr/bin', 'python3')].find(
    (python) => spawnSync(python, ['-c', 'import requests']).status === 0,
  );
}
