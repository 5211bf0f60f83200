/**
 * Pastes every `sh` block of the README and docs into the shells of their readers, each on a server like that of `npm
 * start`: all of a page in order, and each alone. Runs every `ts` block. For commands that cannot run here, it checks
 * that every flag exists.
 *
 * A block's need of another one is found without a server for each block: in order it may need an earlier block, and
 * backwards, on another fresh server, a later one; a block that runs both ways needs neither.
 */
import { execFile, spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { experimental_getWranglerCommands } from 'wrangler';
import manifest from '../../package.json' with { type: 'json' };
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';
import { readDevVars } from '../../src/cli/dev-vars.ts';
import { freePort } from '../../src/cli/server.ts';
import {
  BLOCKS,
  type Block,
  blockPlace,
  blocksOf,
  DOCUMENTS,
  PROGRAMS,
  ROOT,
  typescriptPrograms,
} from '../support/documents.ts';
import { keptNode } from '../support/node-install.ts';
import { type FreshClone, freshClone, type Ran, runShell, SHELLS, type Shell } from './fresh-clone.ts';
import { sharedServer } from './shared-servers.ts';

/** A shell that is missing on a developer's machine is left out; CI has all of them. */
const [installed, missing] = (Object.keys(SHELLS) as Shell[]).reduce<[Shell[], Shell[]]>(
  ([found, absent], shell) =>
    spawnSync(shell, ['-c', ':']).error ? [found, [...absent, shell]] : [[...found, shell], absent],
  [[], []],
);

/** The addresses, and the token of the deployed service, as they are in a clone. */
function localized(text: string, { server, vendor }: FreshClone): string {
  return text
    .replaceAll("//p' .secrets)", "//p' .dev.vars)")
    .replaceAll(/http:\/\/(127\.0\.0\.1|localhost):8787/g, server.url)
    .replaceAll('http://127.0.0.1:8788', vendor.url)
    .replaceAll('https://callmeter.YOUR-SUBDOMAIN.workers.dev', server.url)
    .replaceAll('https://api.openai.com', vendor.url);
}

/** Pastes blocks into one shell; each prints its beginning on both outputs. */
async function pasteAll(clone: FreshClone, shell: Shell, blocks: readonly Block[]): Promise<void> {
  const lines = blocks.flatMap((block) => [
    `printf '%s\\n' '--- ${blockPlace(block)}'; printf '%s\\n' '--- ${blockPlace(block)}' >&2`,
    localized(block.text, clone),
  ]);
  const { exitCode, reachedEnd, out, err } = await clone.paste(shell, lines.join('\n'));
  const went = exitCode === 0 && reachedEnd;
  expect([shell, exitCode, reachedEnd, went ? '' : `${out}\n${err}`]).toEqual([shell, 0, true, '']);
  expect(out + err).not.toMatch(/"status":"ERROR"/);
}

const pages = DOCUMENTS.map(({ path, blocks }) => ({
  path,
  commands: blocks.filter(({ language, words }) => language === 'sh' && words.length === 0),
})).filter(({ commands }) => commands.length > 0);

test.runIf(missing.length > 0 || process.env.CI)('every shell is installed', (context) => {
  const said = `not installed, so no block is pasted into it: ${missing.join(', ')}`;
  if (process.env.CI) expect(missing, said).toEqual([]);
  else context.skip(said);
});

describe('pasted into each shell, a page at a time', () => {
  let clones: [Shell, FreshClone][];
  beforeAll(async () => {
    clones = await Promise.all(installed.map(async (shell) => [shell, await freshClone()] as [Shell, FreshClone]));
  });
  afterAll(async () => {
    await Promise.all((clones ?? []).map(([, clone]) => clone.stop()));
  });

  test.each(pages)('the blocks of $path run in order', async ({ commands }) => {
    await Promise.all(clones.map(([shell, clone]) => pasteAll(clone, shell, commands)));
  });

  test('and leave nothing behind that git would take', async () => {
    for (const [shell, clone] of clones) expect([shell, await clone.leftBehind()]).toEqual([shell, '']);
  });

  test.each(installed)('those that are not run are whole commands for %s', async (shell) => {
    for (const block of blocksOf('sh', 'unrun')) {
      const { exitCode, out, err } = await runShell(shell, ['-n'], { cwd: ROOT, env: process.env }, block.text);
      expect([blockPlace(block), exitCode, out + err]).toEqual([blockPlace(block), 0, '']);
    }
  });
});

describe('pasted alone, into each shell by turns', () => {
  let clone: FreshClone;
  beforeAll(async () => {
    clone = await freshClone();
  });
  afterAll(() => clone?.stop());

  test.each(pages.toReversed())('each block of $path runs', async ({ commands }) => {
    for (const block of commands.toReversed()) {
      const shell = installed[BLOCKS.indexOf(block) % installed.length] as Shell;
      await pasteAll(clone, shell, [block]);
    }
  });

  test('a deployment keeps its secrets, and its plan limits every meter', async () => {
    const secrets = parseEnv(await readFile(join(clone.folder, '.secrets'), 'utf8'));
    expect(Object.keys(secrets).toSorted()).toEqual(['OPERATOR_TOKEN', 'SESSION_SECRET', 'VENDOR_KEY_SECRET']);
    for (const secret of Object.values(secrets)) expect(secret).toMatch(/^[\w-]{43}$/);
    const { items } = (await clone.server.operator.send('listOrganizations')).data;
    const { organizationId: org, defaultPlanId } = items.find(({ name }) => name === 'My company') ?? {};
    const params = { org: org ?? '', planId: defaultPlanId ?? '' };
    const { plan } = (await clone.server.operator.send('readPlan', { params })).data;
    expect(Object.values(plan.limits)).not.toContain(null);
  });
});

describe('npm run operator', () => {
  let clone: FreshClone;
  let org: string;
  beforeAll(async () => {
    clone = await freshClone();
    org = (await clone.server.operator.send('createOrganization', { body: { name: 'npm' } })).data.organizationId;
  });
  afterAll(() => clone?.stop());

  /**
   * A script, with the clone's programs first in the path, or without them. Bash would read its startup files if
   * standard input were a socket.
   */
  const runScript = (script: string, withOwn = true): Promise<Ran> =>
    runShell(
      'bash',
      ['--norc', '-euo', 'pipefail', '-c', script],
      { cwd: clone.folder, env: clone.environment(withOwn) },
      '',
    );

  test.each([
    [
      'quotes, line breaks and other letters of an argument, and exit code 2',
      `npm run -s operator -- $'it\\'s "one"\n\t\\\\ $HOME \`id\` %s * é' ''`,
    ],
    ['a document from standard input', 'echo "{\\"rate\\":0.5}" | npm run -s operator -- sampling put $ORG - --json'],
    [
      'a document in a file',
      'echo "{\\"rate\\":0.25}" > policy.json; npm run -s operator -- sampling put $ORG policy.json',
    ],
    ['variables, and exit code 1', 'CALLMETER_URL=http://127.0.0.1:9 OPERATOR_TOKEN=x npm run -s operator -- health'],
    ['a refusal', 'OPERATOR_TOKEN=wrong-token npm run -s operator -- health'],
    ['both outputs', 'npm run -s operator -- events list --limit 1'],
  ])('does with %s what it does in these tests', async (_name, script) => {
    const [own, ran] = [`ORG=${org}\n${script}`, clone.npm.ran];
    const real = await runScript(own, false);
    expect([real.out + real.err, clone.npm.ran]).toEqual([expect.stringMatching(/./), ran]);
    expect([await runScript(own), clone.npm.ran]).toEqual([real, ran + 1]);
  });

  test('says what npm took for itself, and what npm says of the script', async () => {
    const taken = await runScript('npm run -s operator --json -- health');
    expect([taken.exitCode, taken.err]).toEqual([1, 'npm took --json for itself; write npm run operator -- --json\n']);
    const { exitCode, out } = await runScript('npm run operator health');
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^\n> .*\n> node .*operator\.ts health\n\nStatus +ok/)]);
  });
});

test('npm run example says what to do if no server answers', async () => {
  const env = { ...process.env, PORT: String(await freePort(0)), CALLMETER_KEY: 'utk-any' };
  const { exitCode, out, err } = await runShell('sh', [], { cwd: ROOT, env }, 'npm run -s example -- begin-end');
  expect([exitCode, out]).toEqual([1, '']);
  expect(err).toContain(`Nothing answers at http://127.0.0.1:${env.PORT}. Start a server with \`npm start\``);
});

/** By name, with its range and the target to which unknown syntax is compiled. */
const NODES = {
  'Node 20': { range: '^20.20.0', target: 'es2022' },
  'Node 24': { range: '^24.0.0', target: 'node24' },
};

/** Imports the programs that it is given, one after the other. */
const RUNNER = 'for (const file of process.argv.slice(2)) await import(file);';

describe.each([
  ['Node 20', 'in order and then backwards', [1, -1]],
  ['Node 24', 'backwards and then in order', [-1, 1]],
] as const)('the programs of each page, on a fresh server in %s, %s', (name, _ways, ways) => {
  const { range, target } = NODES[name];
  let clone: FreshClone;
  let node: string;
  beforeAll(async () => {
    const folder = join(tmpdir(), 'callmeter-nodes', range);
    [clone, node] = await Promise.all([freshClone(), keptNode(folder, range)]);
    await writeFile(join(clone.folder, 'runner.mjs'), RUNNER);
  });
  afterAll(() => clone?.stop());

  test.each(PROGRAMS)('those of $path run', async (document) => {
    const files = await Promise.all(
      typescriptPrograms(document).map(async ({ place, source }) => {
        const outfile = join(clone.folder, `${place.replaceAll(/[/:]/g, '-')}.mjs`);
        await build({
          stdin: { contents: localized(source, clone), loader: 'ts', resolveDir: ROOT },
          alias: { 'callmeter/client': join(ROOT, 'src/client') },
          ...{ bundle: true, packages: 'external', format: 'esm', platform: 'node', target, outfile },
        });
        return outfile;
      }),
    );
    const { DEMO_API_KEY } = await readDevVars(clone.devVars);
    const body = { name: 'widget', prefix: 'ek-' } as const;
    const params = { org: DEMO_ORGANIZATION_ID };
    const { key } = (await clone.server.operator.send('createKey', { params, body })).data;
    const env = {
      ...clone.environment(),
      ...{ CALLMETER_KEY: DEMO_API_KEY, CALLMETER_EMBED_KEY: key, OPENAI_BASE_URL: `${clone.vendor.url}/v1` },
      ...{ OPENAI_API_KEY: 'any', ANTHROPIC_API_KEY: 'any', GEMINI_API_KEY: 'any' },
      CALLMETER_FOLDER: ROOT,
    };
    for (const way of ways) {
      const programs = way > 0 ? files : files.toReversed();
      const { stderr } = await promisify(execFile)(node, ['runner.mjs', ...programs], { cwd: clone.folder, env });
      expect(stderr).toBe('');
    }
  });
});

test("html blocks name the widget's script, and attributes that it reads", async () => {
  const server = await sharedServer();
  const script = await readFile(join(ROOT, 'src/site/embed/browser/embed.ts'), 'utf8');
  const [, members = ''] = /\{ (.+) \} = script\.dataset/.exec(script) ?? [];
  const read = members.split(', ').map((member) => member.split(' ')[0]);
  for (const block of blocksOf('html')) {
    const [, source = ''] = /^<script src="https:\/\/[^/"]+(\/[^"]*)"/.exec(block.text) ?? [];
    expect((await fetch(server.url + source)).status).toBe(200);
    const attributes = [...block.text.matchAll(/ data-([\w-]+)=/g)].map(([, name = '']) =>
      name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
    );
    expect(attributes.length).toBeGreaterThan(0);
    const unread = attributes.filter((name) => !read.includes(name));
    expect([blockPlace(block), unread]).toEqual([blockPlace(block), []]);
  }
});

describe('commands that are not run', () => {
  test('every flag of wrangler exists', async () => {
    const { registry, globalFlags } = experimental_getWranglerCommands();
    const commands = blocksOf('sh', 'unrun').flatMap((block) =>
      [...block.text.matchAll(/\bwrangler (?:-- )?([^#&|\n]+)/g)].map(
        ([, words = '']) => [blockPlace(block), words.trim()] as const,
      ),
    );
    expect(commands.length).toBeGreaterThan(3);
    for (const [place, words] of commands) {
      let found: typeof registry | undefined;
      for (const word of words.split(' ')) found = (found ?? registry).subtree.get(word) ?? found;
      const command = found?.definition;
      if (command?.type !== 'command') throw new Error(`${place}: wrangler has no command ${words}`);
      const known = new Set(Object.keys({ ...globalFlags, ...command.args }));
      const flags = [...words.matchAll(/--([a-z-]+)/g)].map(([, flag = '']) => flag);
      expect([place, words, flags.filter((flag) => !known.has(flag))]).toEqual([place, words, []]);
    }
  });

  test('every suite and flag of the test and bench commands exists', async () => {
    const commands = DOCUMENTS.flatMap(({ path, text }) =>
      [...text.matchAll(/\bnpm run (?:-s )?((?:test|bench)[:\w]*) -- ([^#&|`\n]+)/g)].map(
        ([, script = '', words = '']) => ({ place: path, script, words: words.trim() }),
      ),
    );
    expect(commands.length).toBeGreaterThan(10);
    const helps = await helpsOf([...new Set(commands.map(({ script }) => script))]);
    for (const { place, script, words } of commands) {
      const help = helps.get(script) ?? '';
      expect([script, help]).toEqual([script, expect.stringContaining('--help')]);
      const named = words.split(' ').filter((word) => /^(--)?[a-z][a-z-]+$/.test(word));
      expect([place, words, named.filter((word) => !help.includes(word))]).toEqual([place, words, []]);
    }
  });
});

/** The `--help` output of package.json's scripts: our own programs in one process, others by npm. */
async function helpsOf(scripts: readonly string[]): Promise<Map<string, string>> {
  const run = promisify(execFile);
  const programs = new Map(
    scripts.flatMap((name) => {
      const [, program] =
        /node\.mjs (test\/\S+\.ts)$/.exec(manifest.scripts[name as keyof typeof manifest.scripts]) ?? [];
      return program ? [[name, join(ROOT, program)] as const] : [];
    }),
  );
  const { stdout } = await run(process.execPath, ['test/support/helps.ts', ...programs.values()], { cwd: ROOT });
  const helps = stdout.split('\0');
  const found = new Map([...programs.keys()].map((name, index) => [name, helps[index] ?? '']));
  for (const name of scripts.filter((one) => !programs.has(one)))
    found.set(name, (await run('npm', ['run', '-s', name, '--', '--help'], { cwd: ROOT })).stdout);
  return found;
}
