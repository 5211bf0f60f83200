/**
 * Portkey's gateway as npm publishes it, for comparison: installed once, at a fixed version, into a cache beside the
 * packages, and run as its own server.
 *
 * It is not a dependency of this project. Only the first run needs the npm registry.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort, HOST, PROJECT_DIR } from '../../src/cli/server.ts';
import { npmInstall } from '../support/npm-install.ts';
import type { Endpoint } from './gateway-service.ts';
import type { Options } from './suite.ts';

export const PORTKEY = { name: '@portkey-ai/gateway', version: '1.15.2' };
/** With newer ones, which npm would choose, every stream fails (Portkey-AI/gateway issue 1389). */
const OVERRIDES = { '@hono/node-server': '1.14.1' };

/**
 * The Node that runs npm, as with `npx`. Portkey's own image has Node 20; on 26 that HTTP server cannot write an answer
 * in one piece, because it does not find the body in Node's internal state.
 */
const NODE = process.env.npm_node_execpath ?? process.execPath;
const CACHE = join('node_modules', '.cache', 'callmeter-peers');
const SCRIPT = join('node_modules', PORTKEY.name, 'build', 'start-server.js');
const START_MS_MAX = 20_000;
const START_POLL_MS = 100;

/** Starts it with that vendor as its OpenAI. It does not look at the customer of a request. */
export async function startPortkey(
  { scope, progress }: Options,
  vendorUrl: string,
): Promise<Endpoint & { node: string }> {
  const script = await installed(progress);
  const port = await freePort(0);
  const args = [script, `--port=${port}`, '--headless'];
  const env = { ...process.env, NODE_ENV: 'production' };
  const server = spawn(NODE, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const kill = () => void server.kill();
  // When this process ends before the scope does.
  process.once('exit', kill);
  scope.defer(kill);
  const url = `http://${HOST}:${port}`;
  await answering(server, url);
  const headers = {
    'Content-Type': 'application/json',
    Authorization: 'Bearer sk-bench',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${vendorUrl}/v1`,
  };
  const { stdout } = await promisify(execFile)(NODE, ['--version']);
  return { url, pid: server.pid as number, headers, node: stdout.trim() };
}

/** The server's script, in a folder that is there only if all of it was installed. */
async function installed(progress: Options['progress']): Promise<string> {
  const folder = join(PROJECT_DIR, CACHE, `portkey-${PORTKEY.version}`);
  if (!existsSync(folder)) {
    const unfinished = `${folder}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    const { name, version } = PORTKEY;
    await npmInstall(unfinished, { dependencies: { [name]: version }, overrides: OVERRIDES }, (seconds) =>
      progress(`installing ${name} ${version} into ${CACHE}, once, from the npm registry (${seconds} s)`),
    );
    await rename(unfinished, folder);
  }
  return join(folder, SCRIPT);
}

async function answering(server: ChildProcess, url: string): Promise<void> {
  for (const giveUpAtMs = Date.now() + START_MS_MAX; Date.now() < giveUpAtMs; await sleep(START_POLL_MS)) {
    if (server.exitCode !== null) throw new Error(`${PORTKEY.name} ended with ${server.exitCode} at its start`);
    const answer = await fetch(url).catch(() => null);
    if (answer?.ok) return;
  }
  throw new Error(`${PORTKEY.name} did not answer in ${START_MS_MAX} ms`);
}
