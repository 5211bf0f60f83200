/**
 * Installs a Node of a given range from the npm registry into a folder, from the same packages as this project's own
 * (optionalDependencies).
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { npmInstall } from './npm-install.ts';

/** Such as `-linux-x64`, the end of a package's name. */
const PLATFORM = `-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

/** Resolves with the path of its program. `range` is one of npm's, such as `^24.0.0`. */
export async function installNode(folder: string, range: string, progress: (seconds: number) => void): Promise<string> {
  const name = packageOfNode();
  await npmInstall(folder, { dependencies: { [name]: range } }, progress);
  return programIn(folder, name);
}

/** The same, from a folder that keeps it: it is installed the first time. */
export async function keptNode(folder: string, range: string): Promise<string> {
  const program = programIn(folder, packageOfNode());
  return existsSync(program) ? program : installNode(folder, range, () => undefined);
}

function packageOfNode(): string {
  const name = Object.keys(manifest.optionalDependencies).find((one) => one.endsWith(PLATFORM));
  if (name === undefined) throw new Error(`npm has no package with a Node for ${process.platform} ${process.arch}`);
  return name;
}

function programIn(folder: string, name: string): string {
  return join(folder, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
}
