/**
 * A newcomer's machine in a folder: a Node and an npm, an empty home, an empty folder for temporary files, and of the
 * real environment nothing but the way to git and curl and to the npm registry.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdir, symlink } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../src/cli/server.ts';
import { installNode } from '../support/node-install.ts';
import { npmInstall } from '../support/npm-install.ts';

/** Ranges of npm's. */
export interface Kind {
  id: string;
  node: string;
  npm: string;
}

export const KINDS: readonly Kind[] = [
  { id: 'node20-npm10', node: '^20.20.0', npm: '^10.0.0' },
  { id: 'node20-npm11', node: '^20.20.0', npm: '^11.0.0' },
  { id: 'node24', node: '^24.0.0', npm: '^11.0.0' },
];

export interface Machine {
  /** Versions of its Node and its npm. */
  versions: { node: string; npm: string };
  /** Everything that a newcomer may write is in it. */
  folder: string;
  home: string;
  temporary: string;
  /** The clone of the repository. */
  clone: string;
  port: number;
  vendorPort: number;
  env: Record<string, string>;
}

/** How a machine reaches the registry, beside npm's own setting. */
const NETWORK = /^((https?|no|all)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|CURL_CA_BUNDLE|GIT_SSL_CAINFO)$/i;

export async function setUpMachine(
  folder: string,
  { node, npm }: Kind,
  progress: (line: string) => void,
): Promise<Machine> {
  const [tools, home, temporary, bin] = ['tools', 'home', 'tmp', 'bin'].map((name) => join(folder, name)) as [
    ...[string, string, string, string],
  ];
  await Promise.all([tools, home, temporary, bin].map((path) => mkdir(path, { recursive: true })));
  const nodeFile = await installNode(join(tools, 'node'), node, (seconds) =>
    progress(`installing Node (${seconds} s)`),
  );
  await npmInstall(join(tools, 'npm'), { dependencies: { npm } }, (seconds) =>
    progress(`installing npm (${seconds} s)`),
  );
  const npmBin = join(tools, 'npm', 'node_modules', 'npm', 'bin');
  await Promise.all([
    symlink(nodeFile, join(bin, 'node')),
    symlink(join(npmBin, 'npm-cli.js'), join(bin, 'npm')),
    symlink(join(npmBin, 'npx-cli.js'), join(bin, 'npx')),
  ]);
  // Without the folders that the npm which runs this suite has put there.
  const inherited = (process.env.PATH ?? '').split(delimiter).filter((path) => !path.includes('node_modules'));
  const port = await freePort(0);
  const vendorPort = await freePort(0);
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => NETWORK.test(name))),
    ...{ PATH: [bin, ...inherited].join(delimiter), HOME: home, TMPDIR: temporary, LANG: 'C.UTF-8', TERM: 'dumb' },
    ...{ PORT: String(port), VENDOR_PORT: String(vendorPort), npm_config_registry: await registry() },
  };
  const version = async (program: string) =>
    (await promisify(execFile)(join(bin, program), ['--version'], { env, cwd: folder })).stdout.trim();
  const versions = { node: (await version('node')).replace('v', ''), npm: await version('npm') };
  return { versions, folder, home, temporary, clone: join(folder, 'callmeter'), port, vendorPort, env };
}

/** The one that npm is configured with here. */
async function registry(): Promise<string> {
  const { npm_execpath: npm } = process.env;
  if (npm === undefined) throw new Error('npm did not start this command; use npm run');
  return (await promisify(execFile)(process.execPath, [npm, 'config', 'get', 'registry'])).stdout.trim();
}

/** The most output of each command that is kept; the rest is dropped. */
const PRINTED_LENGTH_MAX = 1_000_000;

export interface Running {
  /** The output so far, on both streams. */
  printed(): string;
  /** Resolves when the output contains the text. Throws if the command ends, or takes longer. */
  prints(text: string, msMax: number): Promise<void>;
  /** Resolves with its exit code, `null` after a signal that it did not handle. Throws if it takes longer. */
  ends(msMax: number): Promise<number | null>;
  /** To the command alone, or as Ctrl+C of a terminal to whatever it started too. */
  signal(name: NodeJS.Signals, to: 'command' | 'group'): void;
}

/** Ends everything that still runs, in whatever way this process ends. */
const kills = new Set<() => void>();
process.once('exit', () => {
  for (const kill of kills) kill();
});

/** Starts a command in the clone. It is ended by force when the scope or the signal ends it. */
export function start(
  machine: Pick<Machine, 'env'>,
  command: { file: string; args: string[]; cwd: string },
  { scope, abort }: { scope: AsyncDisposableStack; abort: AbortSignal },
): Running {
  abort.throwIfAborted();
  const { file, args, cwd } = command;
  const child = spawn(file, args, { cwd, env: machine.env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let printed = '';
  let ended: { code: number | null } | { error: Error } | null = null;
  const changed = new EventTarget();
  const change = () => changed.dispatchEvent(new Event('change'));
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      printed = (printed + chunk).slice(0, PRINTED_LENGTH_MAX);
      change();
    });
  }
  child.once('error', (error) => {
    ended = { error };
    change();
  });
  /** Says whether a process of the group was there to get it; signal 0 asks only that. */
  const toGroup = (name: NodeJS.Signals | 0): boolean => {
    try {
      return child.pid !== undefined && process.kill(-child.pid, name);
    } catch {
      return false;
    }
  };
  let isOurs = true;
  const kill = () => void toGroup('SIGKILL');
  const forget = () => {
    abort.removeEventListener('abort', kill);
    kills.delete(kill);
  };
  child.once('close', (code) => {
    ended ??= { code };
    // Processes that outlive the command keep the number of its group; otherwise another program may get it.
    isOurs = toGroup(0);
    if (!isOurs) forget();
    change();
  });
  abort.addEventListener('abort', kill);
  kills.add(kill);
  scope.defer(() => {
    if (isOurs) kill();
    forget();
  });
  const until = async (isSo: () => boolean, msMax: number) => {
    const limit = AbortSignal.timeout(msMax);
    while (!isSo()) {
      abort.throwIfAborted();
      if (limit.aborted) throw new Error(`it took longer than ${msMax / 1_000} s:\n${printed.slice(-2_000)}`);
      await new Promise<void>((resolve) => {
        const wake = () => {
          changed.removeEventListener('change', wake);
          limit.removeEventListener('abort', wake);
          resolve();
        };
        changed.addEventListener('change', wake);
        limit.addEventListener('abort', wake);
      });
    }
  };
  return {
    printed: () => printed,
    async prints(text, msMax) {
      await until(() => printed.includes(text) || ended !== null, msMax);
      if (!printed.includes(text)) throw new Error(`it ended and did not print "${text}":\n${printed.slice(-2_000)}`);
    },
    async ends(msMax) {
      await until(() => ended !== null, msMax);
      abort.throwIfAborted();
      if (ended !== null && 'error' in ended) throw (ended as { error: Error }).error;
      return (ended as unknown as { code: number | null }).code;
    },
    signal: (name, to) => void (to === 'group' ? toGroup(name) : child.kill(name)),
  };
}
