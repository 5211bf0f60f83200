/**
 * A real Callmeter for the tests of an application, from a clone of it, on Node:
 *
 * ```ts
 * import { createClient } from 'callmeter/client';
 * import { startCallmeter } from 'callmeter/client/testing';
 *
 * export async function testsWithCallmeter(): Promise<void> {
 *   await using server = await startCallmeter({ folder: '../callmeter' });
 *   const callmeter = createClient({ apiKey: server.apiKey, baseUrl: server.url });
 *   console.log(await callmeter.beginCall({ customerId: 'alice', requested: { premium: true } }));
 * }
 * ```
 *
 * Each server has free ports, and a state and secrets of its own that are removed when it ends. It ends with `stop`, at the
 * latest with this process, also if that is killed.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** The first start of a clone bundles the service, which takes long on a loaded machine. */
const START_MS_MAX = 180_000;
const STOP_MS_MAX = 15_000;
/** The part of its output that is kept, for the message of a failed start. */
const PRINTED_LENGTH_MAX = 10_000;

export interface StartCallmeterOptions {
  /** The folder of a clone of Callmeter in which `npm ci` has run, from the working directory. */
  folder: string;
}

export interface CallmeterServer {
  /** Address of the service, such as `http://127.0.0.1:40001`; add `/v1` for the gateway in the form of OpenAI. */
  url: string;
  /** Address of the vendor for trying out, which answers in place of OpenAI, Anthropic and Google. */
  vendorUrl: string;
  /** An API key of the organization. */
  apiKey: string;
  /** Credential of the operator API. */
  operatorToken: string;
  /** The demo organization, with the plans `free` and `pro`; new customers have `pro`. */
  organizationId: string;
  /** Ends the server and removes its state. A second call waits for the same end. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

type Running = Omit<CallmeterServer, 'stop' | typeof Symbol.asyncDispose>;
type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Starts a server. If it does not start, throws an error with its output. */
export async function startCallmeter({ folder }: StartCallmeterOptions): Promise<CallmeterServer> {
  const clone = resolve(folder);
  if (!existsSync(join(clone, 'src', 'cli', 'start.ts')))
    throw new Error(`folder must be a clone of Callmeter, and ${clone} is none`);
  if (!existsSync(join(clone, 'node_modules')))
    throw new Error(`folder must have its packages: run npm ci in ${clone}`);
  // Options for the Node of the tests, such as a loader, do not apply to this one. It caches compiled modules, one
  // entry for each, so that the next start need not compile them again.
  const { NODE_OPTIONS: _options, ...env } = process.env;
  const child: Child = spawn(process.execPath, ['src/cli/node.mjs', 'src/cli/start.ts', '--temporary'], {
    cwd: clone,
    env: { NODE_COMPILE_CACHE: join(clone, 'node_modules', '.cache', 'callmeter', 'compiled'), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // Closing its input ends the server; if it has ended by itself, nothing can be written to it.
  child.stdin.on('error', () => undefined);
  const ended = new Promise<void>((resolveEnd) => child.once('exit', () => resolveEnd()));
  let running: Running;
  try {
    running = await untilReady(child);
  } catch (error) {
    child.stdin.destroy();
    child.kill();
    throw error;
  }
  hold(child, false);
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= endChild(child, ended);
    return stopping;
  };
  return { ...running, stop, [Symbol.asyncDispose]: stop };
}

/** Resolves with the line of JSON that contains its addresses. */
function untilReady(child: Child): Promise<Running> {
  return new Promise((resolveReady, reject) => {
    let printed = '';
    const fail = (why: string) => reject(new Error(`Callmeter did not start: ${why}\n${printed}`.trimEnd()));
    const timer = setTimeout(() => fail(`it took longer than ${START_MS_MAX / 1_000} s`), START_MS_MAX);
    child.once('error', ({ message }) => fail(message));
    child.once('close', (code) => {
      clearTimeout(timer);
      fail(`it ended with ${code ?? 'a signal'}`);
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed = (printed + text).slice(-PRINTED_LENGTH_MAX);
        const [line] = /^\{.*\}$/m.exec(printed) ?? [];
        if (line === undefined) return;
        clearTimeout(timer);
        resolveReady(JSON.parse(line) as Running);
      });
    }
  });
}

/** Whether the server keeps this process from ending by itself. */
function hold(child: Child, isHeld: boolean): void {
  const handles = [child, child.stdin, child.stdout, child.stderr] as unknown as { ref(): void; unref(): void }[];
  for (const handle of handles) {
    if (isHeld) handle.ref();
    else handle.unref();
  }
}

async function endChild(child: Child, ended: Promise<void>): Promise<void> {
  hold(child, true);
  child.stdin.end();
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
  await ended;
  clearTimeout(timer);
}
