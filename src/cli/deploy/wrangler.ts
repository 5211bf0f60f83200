/**
 * wrangler's commands, run one after the other without a terminal: they ask no questions, and an error contains the
 * output of its command.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';

const PROJECT_DIR = join(import.meta.dirname, '..', '..', '..');
const SCRIPT = join(PROJECT_DIR, 'node_modules', 'wrangler', 'bin', 'wrangler.js');
const TIMEOUT_MS = 600_000;

/** A command that failed; the message has its output. */
export class WranglerFailed extends Error {
  readonly output: string;

  constructor(args: readonly string[], output: string) {
    super(`wrangler ${args.join(' ')} failed:\n${output.trim() || 'it printed nothing'}`);
    this.output = output;
  }

  /** Whether Cloudflare answered with this error code. */
  has(code: number): boolean {
    return this.output.includes(`[code: ${code}]`);
  }
}

export class Wrangler {
  readonly #config: string;
  readonly #signal: AbortSignal;

  /** `config` is the configuration's file. The signal ends the running command. */
  constructor(config: string, signal: AbortSignal) {
    this.#config = config;
    this.#signal = signal;
  }

  /** With another configuration. */
  with(config: string): Wrangler {
    return new Wrangler(config, this.#signal);
  }

  /** Returns standard output. Throws `WranglerFailed`, or the signal's reason. */
  async run(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
    const child = spawn(process.execPath, [SCRIPT, ...args, '--config', this.#config], {
      cwd: PROJECT_DIR,
      env: { ...process.env, ...ENVIRONMENT, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: AbortSignal.any([this.#signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]).catch(
      (error: Error) => {
        this.#signal.throwIfAborted();
        throw new WranglerFailed(args, error.name === 'AbortError' ? 'it took too long' : error.message);
      },
    );
    this.#signal.throwIfAborted();
    if (code !== 0)
      throw new WranglerFailed(args, stripVTControlCharacters(`${out}\n${err}`).replace(/\n\s*\n/g, '\n'));
    return out;
  }

  async json<Answer>(args: readonly string[]): Promise<Answer> {
    const out = await this.run(args);
    try {
      return JSON.parse(out) as Answer;
    } catch {
      throw new WranglerFailed(args, `it printed no JSON: ${out}`);
    }
  }

  /** `wrangler deploy`, and the addresses that then serve the Worker: wrangler calls them targets. */
  async deploy(flags: readonly string[]): Promise<string[]> {
    const folder = await mkdtemp(join(tmpdir(), 'callmeter-deploy-'));
    try {
      const file = join(folder, 'output.ndjson');
      await this.run(['deploy', ...flags], { WRANGLER_OUTPUT_FILE_PATH: file });
      const entries = (await readFile(file, 'utf8')).split('\n').filter(Boolean);
      const deployed = entries.map((line) => JSON.parse(line) as { type: string; targets?: string[] });
      return deployed.find(({ type }) => type === 'deploy')?.targets ?? [];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

const ENVIRONMENT = {
  NO_COLOR: '1',
  FORCE_COLOR: '0',
  WRANGLER_HIDE_BANNER: 'true',
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_WRITE_LOGS: 'false',
  WRANGLER_LOG: 'log',
};
